"""The runs of a season to take away: all of them as a table, and those that count as files."""

import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from itertools import islice
from pathlib import PurePosixPath
from typing import IO

from django.conf import settings
from django.db.models import QuerySet

from citeboard.core import storage
from citeboard.core.plain_text import plain
from citeboard.core.templatetags.page import iso
from scoring.board.exports import csv_text
from scoring.board.standings import Board
from scoring.exchange.results import file_name, zip_entry
from scoring.models import OF_RANKING, Score
from tasks.models import Submission
from tasks.models.run_cards import CARD

HEADS = (
    "submission", "task", "phase", "team", "number", "system", "kind", "status", "exclusion",
    "exclusion_reason", "late", "selected", "sent", "filename", "size", "sha256", "metric", "value",
    "low", "high", "description", "priority", *(f"card_{name}" for name in CARD),
)  # fmt: skip
AT_ONCE = 500


def runs_csv(runs: QuerySet[Submission]) -> Iterator[str]:
    """In pieces: a season may have had a hundred thousand."""
    yield csv_text(HEADS)
    ordered = runs.iterator(chunk_size=AT_ONCE)
    while listed := list(islice(ordered, AT_ONCE)):
        scores = ranking_scores(listed)
        lines = (_line(run, scores.get(run.pk)) for run in listed)
        yield csv_text(*(map(plain, line) for line in lines))


def _line(run: Submission, score: Score | None) -> Iterator[object]:
    team = run.team.slug if run.team else ""
    yield from (run.pk, run.phase.task.slug, run.phase.slug, team, run.number)
    yield from (run.system, run.kind, run.status, run.exclusion, run.exclusion_reason)
    yield from ("yes" if run.is_late else "", "yes" if run.is_selected else "", iso(run.submitted_at))
    yield from (run.filename, run.size, run.sha256)
    yield from (score.metric, score.word or score.value, score.low, score.high) if score else [""] * 4
    yield from (run.description, run.priority or "", *(run.card.get(name, "") for name in CARD))


def counting_runs_archive(board: Board) -> IO[bytes]:
    """A file on disk that goes when it is closed; what has no file is left out."""
    runs = Submission.objects.in_bulk([row.submission for row in board.systems])
    archive = tempfile.TemporaryFile(dir=settings.FILE_UPLOAD_TEMP_DIR)  # noqa: SIM115  (its reader closes it)
    try:
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as out:
            for row in board.systems:
                run = runs[row.submission]
                if run.file:
                    suffix = PurePosixPath(run.filename).suffix.lower()
                    name = f"{row.team_slug or row.kind}/{run.number}-{file_name(run.system)}{suffix}"
                    with (
                        storage.runs.open(run.file) as source,
                        out.open(zip_entry(name), "w", force_zip64=True) as copy,
                    ):
                        shutil.copyfileobj(source, copy)
    except BaseException:
        archive.close()
        raise
    archive.seek(0)
    return archive


def ranking_scores(runs: list[Submission]) -> dict[int, Score]:
    first = {run.pk: run.phase.task.ranking_rules for run in runs if run.phase.task.rules}
    scores = (
        Score.objects.filter(OF_RANKING, evaluation__submission__in=list(first))
        .select_related("evaluation")
        .order_by("evaluation__gold__number", "evaluation_id")
    )
    by_run = ((score.evaluation.submission_id, score) for score in scores)
    return {run: score for run, score in by_run if score.evaluation.rules == first[run]}
