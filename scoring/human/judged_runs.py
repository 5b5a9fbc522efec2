"""People's judgements of a run: kept, and what they say of its whole responses put on the board."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from django.core.files.base import File
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from citeboard.core import audit, storage
from citeboard.teams.models import User
from scoring.board.human_columns import joined, judged_parts, signed
from scoring.human.claim_review import agreement_of, read_agreement
from scoring.human.outcome import NotPublished
from scoring.metrics.entailment.judgements import RATINGS
from scoring.models import HumanScore, JudgedRun
from scoring.stats.interval_methods import WILSON_JACKKNIFE
from scoring.stats.signature import DIGEST_LENGTH
from tasks.models import Submission
from tasks.models.seasons import bump_version
from tasks.submissions.uploads import safe_filename


def keep_judgements(
    *, submission: Submission, path: Path, filename: str, by: User | None
) -> dict[str, dict[str, Any]]:
    """Keep the annotators' file of a run in place of an earlier one, and say how far it agrees.

    Raises JudgementsRefused with every line that says nothing, or of something that the run does not have.
    """
    found = read_agreement(submission, path, filename, by)
    keep_file(submission=submission, path=path, filename=filename, by=by)
    return found


def keep_file(*, submission: Submission, path: Path, filename: str, by: User | None) -> JudgedRun:
    """In place of an earlier one, which goes off the board; it has been read."""
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        file.seek(0)
        name = storage.statistics.save(f"{submission.pk}/judgements.jsonl", File(file))
    with transaction.atomic():
        before = JudgedRun.objects.select_for_update().filter(submission=submission).first()
        if before is not None:
            if before.published_at is not None:
                _take_off(before, by)
            old = before.file
            transaction.on_commit(lambda: storage.statistics.delete(old), robust=True)
            before.delete()
        judged = JudgedRun.objects.create(
            submission=submission,
            filename=safe_filename(filename),
            sha256=sha256,
            file=name,
            imported_by=by,
        )
        _note(judged, by, "judgements-imported")
    return judged


def publish(*, submission: Submission, by: User | None) -> None:
    """Put the ratings of its responses on the board. Raises NotPublished, JudgementsRefused or PoolFull."""
    judged = JudgedRun.objects.filter(submission=submission).first()
    if judged is None:
        raise NotPublished(_("nobody has judged the run yet"))
    found = agreement_of(judged)
    with transaction.atomic():
        locked = JudgedRun.objects.select_for_update().filter(pk=judged.pk).first()
        if locked is None:
            raise NotPublished(_("another file has taken the place of these judgements meanwhile"))
        if locked.published_at is not None:
            raise NotPublished(_("the ratings stand on the board already"))
        scores = HumanScore.objects.bulk_create(_scores(locked, found))
        if not scores:
            raise NotPublished(_("no whole response is rated in the file"))
        locked.published_at = timezone.now()
        locked.save(update_fields=["published_at"])
        bump_version(submission.phase_id)
        _note(locked, by, "judgements-imported/published")


def revoke(*, submission: Submission, by: User) -> None:
    """Take the ratings off the board; the judgements stay. Raises NotPublished."""
    with transaction.atomic():
        locked = JudgedRun.objects.select_for_update().published().filter(submission=submission).first()
        if locked is None:
            raise NotPublished(_("the ratings are not on the board"))
        _take_off(locked, by)


def _take_off(judged: JudgedRun, by: User | None) -> None:
    judged.scores.all().delete()
    judged.published_at = None
    judged.save(update_fields=["published_at"])
    bump_version(judged.submission.phase_id)
    _note(judged, by, "judgements-imported/removed")


def _note(judged: JudgedRun, by: User | None, key: str) -> None:
    run = judged.submission
    audit.record(key, actor=by, subject=judged, place=run.phase.task.season, facts={"run": run})


def _scores(judged: JudgedRun, found: Mapping[str, Mapping[str, Any]]) -> Iterator[HumanScore]:
    for kind in RATINGS:
        own = found[kind]
        if not own["items"]:
            continue
        parts = {
            **judged_parts(kind),
            "responses": own["items"],
            "n": own["ratings"],
            "annotators": own["annotators"],
            "fleiss": signed(own["fleiss"]),
            "alpha": signed(own["krippendorff"]),
            "file": judged.sha256[:DIGEST_LENGTH],
            "interval": WILSON_JACKKNIFE,
            "numpy": version("numpy"),
        }
        yield HumanScore(
            judged=judged,
            submission=judged.submission,
            criterion=kind,
            value=own["people"],
            low=own["low"],
            high=own["high"],
            n=own["items"],
            signature=joined(f"human_{kind}", parts),
        )
