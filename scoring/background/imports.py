"""Importing entailment labels and people's judgements in the background."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from django.utils.translation import gettext_noop

from citeboard.core import storage
from citeboard.teams.models import User
from scoring.background.step import Outcome, told
from scoring.human.claim_review import read_agreement
from scoring.human.judged_runs import keep_file
from scoring.models import BackgroundJob
from scoring.worker.background import Kind, ask
from scoring.worker.entailment_labels import GivenLabels, Imported, go_on, read_labels, store_labels
from scoring.worker.local_copies import storage_in_use
from tasks.models import Season, Submission
from tasks.submissions.uploads import Upload


def ask_for_labels(*, season: Season, model: str, upload: Upload, by: User) -> BackgroundJob:
    return ask(Kind.LABELS, season, {"model": model}, by=by, upload=upload)


def ask_for_judgements(*, submission: Submission, upload: Upload, by: User) -> BackgroundJob:
    season = submission.phase.task.season
    return ask(Kind.JUDGEMENTS, season, {}, by=by, submission=submission, upload=upload)


def prepared_labels(job: BackgroundJob, by: User) -> Outcome:
    """Raises LabelsRefused."""
    told(job, 0, gettext_noop("reading the file"))
    with _sent(job) as path:
        given = read_labels(path, job.filename, job.given["model"], by)
    told(job, 0.5, f"keeping {len(given.labels.entailed)} labels")
    stored: list[Imported] = []
    return Outcome(
        partial(_keep_labels, given, job.season, by, stored),
        # Runs that began to wait meanwhile have seen no label.
        after=lambda: [go_on(own, given) for own in stored],
    )


def _keep_labels(given: GivenLabels, season: Season, by: User, stored: list[Imported]) -> Mapping[str, Any]:
    own = store_labels(given, season=season, by=by)
    stored.append(own)
    return {"added": own.added, "known": own.known, "resumed": go_on(own, given)}


def prepared_judgements(job: BackgroundJob, by: User) -> Outcome:
    """Raises JudgementsRefused."""
    assert job.submission is not None
    told(job, 0, gettext_noop("reading the file"))
    with _sent(job) as path:
        read_agreement(job.submission, path, job.filename, by)
    told(job, 0.5, gettext_noop("keeping the judgements"))
    return Outcome(partial(_keep_judgements, job, by))


def _keep_judgements(job: BackgroundJob, by: User) -> Mapping[str, Any]:
    assert job.submission is not None
    with _sent(job) as path:
        judged = keep_file(submission=job.submission, path=path, filename=job.filename, by=by)
    return {"judged": judged.pk}


@contextmanager
def _sent(job: BackgroundJob) -> Iterator[Path]:
    """The file that came with it, on this machine. Raises ScorerWaits while the storage is away."""
    with tempfile.TemporaryDirectory(prefix="citeboard-sent-") as folder:
        with storage_in_use():
            path = storage.local_copy(storage.statistics, job.file, Path(folder))
        yield path
