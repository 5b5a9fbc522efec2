"""Save the scores of a run as an evaluation, in the same transaction that ends the job."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Q
from django.utils import timezone

from citeboard.core import storage
from citeboard.core.commits import call_after_commit
from scoring.models import (
    Breakdown,
    Comparison,
    Evaluation,
    Score,
    Signature,
    save_breakdowns,
)
from scoring.receipts.log import save_receipt
from scoring.results.board import comparison_state
from scoring.stats.signature import (
    LABEL_DIGEST_KEY_BY_KIND,
    parse_signature,
    replace_counts_by_placeholders,
)
from scoring.worker.gathering import CollectedJudgementsOfRun
from scoring.worker.release import (
    PublishedScores,
    find_ranking_metric_name,
    withhold_scores_by_ladder,
)
from scoring.worker.same_answers import (
    mark_runs_with_same_answers,
    warn_of_same_answers,
)
from tasks.models import Job, Submission


def record_scores(
    *,
    job: Job,
    result: Mapping[str, Any],
    statistics: str,
    seconds: float,
    told: PublishedScores | None = None,
    answers: str = "",
    gathered: CollectedJudgementsOfRun | None = None,
) -> Evaluation:
    """Save the scores that a job has computed. If ``told`` is None, publish all scores
    of the result.
    """
    if told is None:
        told = PublishedScores(
            metrics=result["metrics"], breakdowns=result["breakdowns"]
        )
    told = withhold_scores_by_ladder(job, told)
    same = {
        name: getattr(job, name)
        for name in ("submission", "gold", "rules", "options_digest")
    }
    before = _load_stored_score_values(same)
    evaluation, is_new = Evaluation.objects.update_or_create(
        **same,
        defaults={
            "options": job.options,
            "phase_id": job.submission.phase_id,
            "team_id": _lock_and_read_team(job.submission),
            "rank_value": compute_rank_value(
                told.metrics, job.submission.phase.task.rank_by
            ),
            "submitted_at": job.submission.submitted_at,
            "statistics": statistics,
            "run_sha256": result["run"]["sha256"],
            "answers_digest": answers,
            "notes": result["notes"],
            "seconds": seconds,
            "attempt": job.attempt,
            "has_class_intervals": False,
            "release": told.release,
            "withheld": told.withheld,
            "untold": dict(told.untold),
            "probe": told.probe,
            **_parse_signed_values(told.metrics),
        },
    )
    evaluation.scores.all().delete()
    evaluation.breakdowns.all().delete()
    save_scores(evaluation, told.metrics)
    save_breakdowns(
        [
            Breakdown.of(evaluation, dimension, classes)
            for dimension, classes in told.breakdowns.items()
            if any(classes.values())
        ]
    )
    if not is_new and _load_stored_score_values(same) != before:
        Evaluation.objects.filter(pk=evaluation.pk).update(replaced_at=timezone.now())
    warn_of_same_answers(evaluation)
    receipt = save_receipt(evaluation, {**result, "metrics": told.metrics})
    if gathered is not None:
        gathered.record(evaluation, receipt)
    Comparison.objects.filter(Q(first=evaluation) | Q(second=evaluation)).delete()
    _queue_actions_after_commit(evaluation)
    return evaluation


def _lock_and_read_team(submission: Submission) -> int | None:
    rows = Submission.objects.select_for_update().filter(pk=submission.pk)
    return rows.values_list("team_id", flat=True).get()


def _parse_signed_values(metrics: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    provenance = [parse_signature(metric["signature"]) for metric in metrics.values()]
    missing = provenance[0].get("missing", "")
    return {
        "missing": int(missing) if missing.isdecimal() else None,
        "labels_digest": _build_labels_digest(provenance),
    }


def _build_labels_digest(provenance: Sequence[Mapping[str, str]]) -> str:
    digests = {
        part: parts[part]
        for part in LABEL_DIGEST_KEY_BY_KIND.values()
        for parts in provenance
        if part in parts
    }
    if len(digests) == 1:
        return next(iter(digests.values()))
    return " ".join(f"{part}:{digest}" for part, digest in digests.items())


def _load_stored_score_values(same: Mapping[str, Any]) -> set[tuple[Any, ...]]:
    scores = Score.objects.filter(
        **{f"evaluation__{name}": value for name, value in same.items()}
    ).order_by()
    return set(
        scores.values_list("shared_id", "value", "is_infinite", "low", "high", "n")
    )


def _queue_actions_after_commit(evaluation: Evaluation) -> None:
    call_after_commit(_delete_statistics_of_other_attempts, evaluation.statistics)
    call_after_commit(mark_runs_with_same_answers, evaluation)
    call_after_commit(
        comparison_state.queue_board_comparison, evaluation.phase_id, evaluation.rules
    )


def _delete_statistics_of_other_attempts(statistics: str) -> None:
    folder, _, current = statistics.partition("/")
    job_prefix = "-".join(current.split("-")[:2])
    for other in storage.statistics_file_storage.listdir(folder)[1]:
        if other != current and other.startswith(f"{job_prefix}-"):
            storage.statistics_file_storage.delete(f"{folder}/{other}")


def compute_rank_value(
    metrics: Mapping[str, Mapping[str, Any]], rank_by: str = ""
) -> float | None:
    """Return the value by which a board ranks the run, with the sign changed if lower
    values are better.

    Return None if the value of the ranking metric is undefined or infinite.
    """
    metric = metrics[find_ranking_metric_name(metrics, rank_by)]
    value: float | None = metric["value"]
    return (
        -value if value is not None and metric["higher_is_better"] is False else value
    )


def save_scores(
    evaluation: Evaluation, metrics: Mapping[str, Mapping[str, Any]]
) -> None:
    signatures = [
        Signature(
            metric=name,
            column=metric["column"],
            scale=float(0 if metric.get("is_count") else metric["scale"]),
            position=position,
            text=replace_counts_by_placeholders(
                metric["signature"],
                evaluation.run_specific_signature_parts | {"n": metric["n"]},
            ),
        )
        for position, (name, metric) in enumerate(metrics.items())
    ]
    keys = Signature.objects.get_or_insert_ids(signatures)
    Score.objects.bulk_create(
        Score(
            evaluation=evaluation,
            shared_id=key,
            value=metric["value"],
            is_infinite=metric.get("infinite", False),
            low=metric["low"],
            high=metric["high"],
            n=metric["n"],
            withheld=metric.get("withheld", ""),
        )
        for key, metric in zip(keys, metrics.values(), strict=True)
    )
