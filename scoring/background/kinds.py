"""The kinds of background work: sheets for human evaluation, imports, and the zip for an overview paper."""

from __future__ import annotations

import datetime as dt
import hashlib
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from django.core.files.base import ContentFile
from django.db import connection
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_noop

from citeboard.core import storage
from citeboard.core.release import release
from citeboard.teams.models import User
from scoring.board.visibility import (
    audience_of,
    frozen_at,
    may_see_instances,
    shows_run_counts,
    shows_teams,
    visibility_of,
)
from scoring.exchange import overview_paper
from scoring.exchange.figure_files import file_forms
from scoring.exchange.overview_paper import OverviewPaper
from scoring.human.claim_review import keep_file, read_agreement
from scoring.human.sheets import SheetRefused, check_size, draw_sheet, keep_sheet, runs_on_board
from scoring.models import BackgroundJob
from scoring.worker import background
from scoring.worker.background import Kind, State, ask, new_name
from scoring.worker.entailment_labels import Imported, go_on, read_labels, store_labels
from scoring.worker.local_copies import storage_in_use
from tasks.gold.secrecy import secrecy_of
from tasks.jobs import engine, interruptions
from tasks.jobs.interruptions import DATABASE_ERRORS
from tasks.models import Phase, Season, Submission
from tasks.submissions.uploads import Upload


def ask_for_sheet(
    *, phase: Phase, runs: Sequence[Submission], instances: int, seed: int, by: User
) -> BackgroundJob:
    check_size(len(runs), instances)
    given = {"runs": [run.pk for run in runs], "instances": instances, "seed": seed}
    return ask(Kind.SHEET, phase.task.season, given, by=by, phase=phase)


def prepared_sheet(job: BackgroundJob, by: User) -> Outcome:
    assert job.phase is not None
    on_board = {run.pk: run for run in runs_on_board(job.phase, by)}
    if gone := [number for number in job.given["runs"] if number not in on_board]:
        raise SheetRefused(f"a chosen run does not stand on the board any more: {len(gone)} of them")
    drawn = draw_sheet(
        phase=job.phase,
        runs=[on_board[number] for number in job.given["runs"]],
        instances=job.given["instances"],
        seed=job.given["seed"],
        tell=partial(told, job),
    )
    return Outcome(lambda: {"sheet": keep_sheet(drawn, by=by).pk})


def ask_for_labels(*, season: Season, model: str, upload: Upload, by: User) -> BackgroundJob:
    return ask(Kind.LABELS, season, {"model": model}, by=by, upload=upload)


def ask_for_judgements(*, submission: Submission, upload: Upload, by: User) -> BackgroundJob:
    season = submission.phase.task.season
    return ask(Kind.JUDGEMENTS, season, {}, by=by, submission=submission, upload=upload)


def prepared_labels(job: BackgroundJob, by: User) -> Outcome:
    told(job, 0, gettext_noop("reading the file"))
    with _sent(job) as path:
        given = read_labels(path, job.filename, job.given["model"], by)
    told(job, 0.5, f"keeping {len(given.labels.entailed)} labels")
    stored: list[Imported] = []

    def keep() -> Mapping[str, Any]:
        labels = store_labels(given, season=job.season, by=by)
        stored.append(labels)
        return {"added": labels.added, "known": labels.known, "resumed": go_on(labels, given)}

    # Runs that began to wait meanwhile have seen no label.
    return Outcome(keep, after=lambda: [go_on(labels, given) for labels in stored])


def prepared_judgements(job: BackgroundJob, by: User) -> Outcome:
    submission = job.submission
    assert submission is not None
    told(job, 0, gettext_noop("reading the file"))
    with _sent(job) as path:
        read_agreement(submission, path, job.filename, by)
    told(job, 0.5, gettext_noop("keeping the judgements"))

    def keep() -> Mapping[str, Any]:
        with _sent(job) as path:
            return {"judged": keep_file(submission=submission, path=path, filename=job.filename, by=by).pk}

    return Outcome(keep)


@contextmanager
def _sent(job: BackgroundJob) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="citeboard-sent-") as folder:
        with storage_in_use():
            path = storage.local_copy(storage.statistics, job.file, Path(folder))
        yield path


#: An archive of an earlier state may be had for so long, as long as who may see what is the same.
STILL_GIVEN = dt.timedelta(hours=1)


def ask_for_paper(paper: OverviewPaper) -> BackgroundJob:
    """The kept one where the season shows what it showed then, otherwise a job that makes it."""
    found = kept_paper(paper)
    if found is not None and found.result["state"] == state_of(paper):
        return found
    if (moving := moving_paper(paper)) is not None:
        # One at a time, however often what it shows changes meanwhile: a worker makes it of what is then.
        return moving
    given = {"state": state_of(paper)}
    return ask(Kind.PAPER, paper.season, given, by=_viewer(paper))


def kept_paper(paper: OverviewPaper) -> BackgroundJob | None:
    made = BackgroundJob.objects.filter(
        kind=Kind.PAPER, job__state=State.DONE, season=paper.season, asked_by=_viewer(paper)
    ).select_related("job")
    rights, state = rights_of(paper), state_of(paper)
    allowed = [
        job for job in made.order_by("-finished_at", "-pk") if job.result["rights"] == rights and job.file
    ]
    exact = next((job for job in allowed if job.result["state"] == state), None)
    recent = (job for job in allowed if job.finished_at and timezone.now() - job.finished_at < STILL_GIVEN)
    return exact or next(recent, None)


def is_current(job: BackgroundJob, paper: OverviewPaper) -> bool:
    return job.state == State.DONE and bool(job.result["state"] == state_of(paper))


def moving_paper(paper: OverviewPaper) -> BackgroundJob | None:
    moving = BackgroundJob.objects.filter(kind=Kind.PAPER, finished_at=None, season=paper.season)
    return moving.filter(asked_by=_viewer(paper)).select_related("job").first()


def paper_of(job: BackgroundJob) -> OverviewPaper:
    return OverviewPaper.for_viewer(job.season, job.asked_by)


def prepared_paper(job: BackgroundJob) -> Outcome:
    paper = paper_of(job)
    # Before anything is read: of what changes meanwhile the archive is no longer the current one.
    facts = {"rights": rights_of(paper), "state": state_of(paper)}
    content = paper.archive(partial(told, job))
    told(job, 1, gettext_noop("keeping the archive"))
    with storage_in_use():
        name = storage.statistics.save(new_name("zip"), ContentFile(content))
    return Outcome(lambda: {**facts, "bytes": len(content)}, file=name)


def rights_of(paper: OverviewPaper) -> str:
    rights = []
    for phase in _phases(paper):
        audience = audience_of(phase, paper.viewer)
        classes = 1 if may_see_instances(phase, audience) else secrecy_of(phase).min_class_size
        shown = shows_teams(phase, audience), shows_run_counts(phase, audience)
        stood = str(frozen_at(phase, audience) or "")
        rights.append((phase.pk, audience, visibility_of(phase, audience), *shown, stood, classes))
    # The runs that were scored and may stand on no board any more.
    gone = ~Q(exclusion="") | Q(status=Submission.Status.WITHDRAWN)
    runs = Submission.objects.filter(gone, phase__task__season=paper.season).order_by("pk")
    return _digest(
        rights,
        paper.season.shows_overall,
        list(runs.values_list("pk", flat=True)),
        overview_paper.participants_csv(paper.teams),
    )


def state_of(paper: OverviewPaper) -> str:
    season = paper.season
    tasks = {phase.task_id: phase.task for phase in _phases(paper)}
    facts = [
        [(column.attname, getattr(row, column.attname)) for column in row._meta.concrete_fields]  # noqa: SLF001
        for row in (season, *tasks.values(), *_phases(paper))
    ]
    return _digest(rights_of(paper), facts, release(), file_forms())


def _phases(paper: OverviewPaper) -> list[Phase]:
    phases = Phase.objects.filter(task__season=paper.season).select_related("task__season")
    return list(phases.order_by("pk"))


def _viewer(paper: OverviewPaper) -> User | None:
    return paper.viewer if isinstance(paper.viewer, User) else None


def _digest(*facts: object) -> str:
    return hashlib.sha256(repr(facts).encode()).hexdigest()


#: The lease is renewed so often within its time.
BEATS = 4


@dataclass(frozen=True)
class Outcome:
    """`record` writes what came out in the transaction that ends the job, and returns what its page says."""

    record: Callable[[], Mapping[str, Any]]
    file: str = ""
    after: Callable[[], object] = lambda: None


def told(job: BackgroundJob, share: float, doing: str) -> None:
    """Raises JobLost, or Stopping where the worker is to end."""
    interruptions.check()
    if not background.tell(job, share, doing):
        raise engine.JobLost


@contextmanager
def heartbeat(job: BackgroundJob) -> Iterator[None]:
    """Renew the lease as long as the block runs: reading a large file takes minutes."""
    ended = threading.Event()

    def renew() -> None:
        while not ended.wait(background.BACKGROUND.lease / BEATS):
            # The next one may come through; without any the lease ends, and the job begins again.
            with suppress(*DATABASE_ERRORS):
                engine.heartbeat(job.job)
            connection.close()

    beating = threading.Thread(target=renew, name="heartbeat", daemon=True)
    beating.start()
    try:
        yield
    finally:
        ended.set()
        beating.join()
