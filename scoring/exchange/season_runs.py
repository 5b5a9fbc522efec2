"""Export all runs of a season as a CSV table, and the runs on a board as an archive of
run files.
"""

import datetime as dt
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import PurePosixPath
from typing import IO, Any

from django.conf import settings
from django.db.models import F, QuerySet

from citeboard.core import storage
from citeboard.core.plain_text import format_spreadsheet_cell
from citeboard.core.templatetags.page import format_iso_time
from scoring.exchange.results import build_zip_entry, make_safe_file_name
from scoring.models import IS_RANKING_SCORE, Evaluation, Score
from scoring.results.board.exports import format_as_csv
from scoring.results.board.standings import Board, expand_rows_to_runs
from tasks.models import Submission
from tasks.models.run_cards import RUN_CARD_FIELDS

RUN_CSV_COLUMNS = (
    "submission",
    "task",
    "phase",
    "team",
    "number",
    "system",
    "kind",
    "status",
    "exclusion",
    "exclusion_reason",
    "late",
    "selected",
    "sent",
    "filename",
    "size",
    "sha256",
    "metric",
    "value",
    "low",
    "high",
    "description",
    "priority",
    *(f"card_{name}" for name in RUN_CARD_FIELDS),
)
RUNS_PER_DATABASE_BATCH = 500


def iterate_runs_as_csv(runs: QuerySet[Submission]) -> Iterator[str]:
    """Yield the runs of a season as pieces of a CSV file, the newest runs first,
    because a season may have a hundred thousand runs.
    """
    yield format_as_csv(RUN_CSV_COLUMNS)
    lines = (
        _iterate_csv_cells(run, score)
        for run, score in _iterate_runs_with_ranking_scores(runs)
    )
    while listed := list(islice(lines, RUNS_PER_DATABASE_BATCH)):
        yield format_as_csv(*(map(format_spreadsheet_cell, line) for line in listed))


def _iterate_runs_with_ranking_scores(
    runs: QuerySet[Submission],
) -> Iterator[tuple[Submission, Any]]:
    ordered = runs.order_by("-submitted_at", "-id").iterator(
        chunk_size=RUNS_PER_DATABASE_BATCH
    )
    facts = {
        "run": "submission_id",
        "sent": "submission__submitted_at",
        "rules": "rules",
    }
    found: Any = Score.objects.filter(IS_RANKING_SCORE, evaluation__submission__in=runs)
    found = found.annotate(
        **{name: F(f"evaluation__{column}") for name, column in facts.items()}
    )
    scores = found.order_by(
        "-sent", "-run", "evaluation__gold__number", "evaluation_id"
    ).iterator(RUNS_PER_DATABASE_BATCH)
    score = next(scores, None)
    for run in ordered:
        newest = None
        while score and (score.sent, score.run) >= (run.submitted_at, run.pk):
            if score.run == run.pk and score.rules in run.phase.task.rules[:1]:
                newest = score
            score = next(scores, None)
        yield run, newest


def _iterate_csv_cells(run: Submission, score: Score | None) -> Iterator[object]:
    yield from (
        run.pk,
        run.phase.task.slug,
        run.phase.slug,
        run.team.slug if run.team else "",
        run.number,
    )
    yield from (run.system, run.kind, run.status, run.exclusion, run.exclusion_reason)
    yield from (
        "yes" if run.is_late else "",
        "yes" if run.is_selected else "",
        format_iso_time(run.submitted_at),
    )
    yield from (run.filename, run.size, run.sha256)
    yield from (
        (score.metric, score.word or score.value, score.low, score.high)
        if score
        else [""] * 4
    )
    yield from (
        run.description,
        run.priority or "",
        *(run.card.get(name, "") for name in RUN_CARD_FIELDS),
    )


def build_archive_of_runs_on_board(board: Board) -> IO[bytes]:
    """Return the files of the runs on the board as a zip archive in a temporary file,
    without runs that have no file.
    """
    rows = expand_rows_to_runs(board.systems)
    runs = Submission.objects.in_bulk([row.submission for row in rows])
    archive = tempfile.TemporaryFile(dir=settings.FILE_UPLOAD_TEMP_DIR)  # noqa: SIM115  (its reader closes it)
    try:
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as out:
            for row in rows:
                run = runs[row.submission]
                if run.file:
                    suffix = PurePosixPath(run.filename).suffix.lower()
                    name = (
                        f"{row.team_slug or row.kind}/{run.number}-"
                        f"{make_safe_file_name(run.system)}{suffix}"
                    )
                    with (
                        storage.run_file_storage.open(run.file) as source,
                        out.open(build_zip_entry(name), "w", force_zip64=True) as copy,
                    ):
                        shutil.copyfileobj(source, copy)
    except BaseException:
        archive.close()
        raise
    archive.seek(0)
    return archive


def load_ranking_scores_by_run(
    runs: Sequence[Submission], at: dt.datetime | None = None
) -> dict[int, Score]:
    """Return the newest score of each run by the ranking metric, keyed by run id.

    With ``at``, return the scores that the runs had at the time ``at``.
    """
    first = {
        run.pk: run.phase.task.ranking_rules for run in runs if run.phase.task.rules
    }
    known = Evaluation.objects.with_scores_existing_at(at).filter(
        submission__in=list(first)
    )
    found = Score.objects.filter(IS_RANKING_SCORE, evaluation__in=known).select_related(
        "evaluation"
    )
    ordered = found.order_by("evaluation__gold__number", "evaluation_id")
    by_run = ((score.evaluation.submission_id, score) for score in ordered)
    return {run: score for run, score in by_run if score.evaluation.rules == first[run]}
