"""What holds after every fault."""

from __future__ import annotations

import tempfile
from pathlib import Path

from citeboard.core import storage
from scoring.models import Evaluation, LogEntry
from scoring.offline.scoring import ScoringRequest, score as score_offline
from scoring.receipts import log
from scoring.results.board.standings import compute_board
from tasks.models import Job, Submission
from tests.faults.serving import until


def settled(submission: Submission) -> bool:
    submission.refresh_from_db()
    return not submission.is_moving


def wait_until_settled(*submissions: Submission) -> float:
    return until(
        lambda: all(settled(submission) for submission in submissions),
        "every run has come to an end",
    )


def assert_scored_exactly_once(*submissions: Submission, receipts: int = 1) -> None:
    """Each is there, scored, with one evaluation for each rule set, equal to one computed from scratch.

    Of each scoring that was published there is a receipt.
    """
    for submission in submissions:
        assert_is_scored_once(submission, receipts)
    for phase in {submission.phase for submission in submissions}:
        assert_board_is_in_order(phase)
    assert_log_has_no_hole()


def assert_is_scored_once(submission: Submission, receipts: int = 1) -> None:
    submission.refresh_from_db()
    assert submission.status == "scored", submission.reason
    assert {job.state for job in submission.jobs.all()} == {Job.State.DONE}
    evaluations = list(submission.evaluations.order_by("rules"))
    assert [evaluation.rules for evaluation in evaluations] == sorted(
        submission.phase.task.rules
    )
    for evaluation in evaluations:
        assert kept(evaluation) == recomputed(evaluation)
        assert storage.statistics_file_storage.exists(evaluation.statistics)
        assert evaluation.receipts.count() == receipts


def assert_log_has_no_hole() -> None:
    log.create_or_extend_receipt_log()
    indexes = list(LogEntry.objects.values_list("index", flat=True))
    assert indexes == list(range(len(indexes)))
    assert log.read_signed_log_head()["size"] == len(indexes)


def is_sound(submission: Submission) -> bool:
    try:
        assert_is_scored_once(submission)
    except AssertionError as broken:
        print(f"{submission.pk}: {broken}")  # noqa: T201  (for the measurement that counts them)
        return False
    return True


def assert_board_is_in_order(phase) -> None:
    """Each team's best scored run stands on it, in the order of its recomputed value."""
    staff = phase.task.season.organisers.first()
    board = compute_board(phase, staff.user if staff else None)
    best = {}
    for evaluation in Evaluation.objects.filter(
        phase=phase, rules=board.rules, submission__status="scored"
    ):
        value = next(iter(recomputed(evaluation).values()))
        best[evaluation.team_id] = max(value, best.get(evaluation.team_id, value))
    assert [row.value for row in board.rows] == sorted(best.values(), reverse=True)


def kept(evaluation: Evaluation) -> dict[str, float | None]:
    return dict(evaluation.scores.values_list("shared__metric", "value"))


_known: dict[tuple[str, str, str], dict[str, float | None]] = {}


def recomputed(evaluation: Evaluation) -> dict[str, float | None]:
    """By the offline scorer, from the stored files alone."""
    submission, task = evaluation.submission, evaluation.phase.task
    key = (submission.sha256, evaluation.gold.digest, evaluation.rules)
    if key not in _known:
        with tempfile.TemporaryDirectory() as folder:
            run = storage.copy_to_local_folder(
                storage.run_file_storage, submission.file, Path(folder)
            )
            gold = storage.copy_to_local_folder(
                storage.gold_file_storage, evaluation.gold.file, Path(folder)
            )
            asked = ScoringRequest(
                task_type=task.task_type,
                gold=[gold],
                run=run,
                rules=evaluation.rules,
                options=task.task_type.validate_options(evaluation.options),
                resamples=0,
            )
            metrics = score_offline(asked)["metrics"]
        _known[key] = {name: value["value"] for name, value in metrics.items()}
    return _known[key]
