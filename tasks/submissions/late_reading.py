"""Runs that came when no reader was free: what their check has still to read, and what it fills in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from django.core.exceptions import ValidationError

from citeboard.core.confinement import UploadUnreadable, read_upload
from tasks.models import LateReading, Submission
from tasks.submissions.reading import MAX_FILE
from tasks.submissions.refusals import CardIncomplete, RunRejected
from tasks.submissions.run_card import (
    READING,
    Findings,
    Metadata,
    checked_later,
    keep_figures,
    metadata_of_header,
    read_metadata,
    require_card,
)
from tasks.submissions.uploads import Upload
from tasks.types import Problem

HEADER = f"{READING}:header"


@dataclass(frozen=True, kw_only=True)
class Unread:
    """The file of ir_metadata, and whether the sender has named the task."""

    metadata: bytes = b""
    name: str = ""
    is_named: bool = True

    @classmethod
    def of(cls, metadata: Upload | None, *, is_named: bool = True) -> Unread:
        if metadata is None:
            return cls(is_named=is_named)
        with metadata.path.open("rb") as file:
            # A byte more than it may have, so that its reader says so.
            content = file.read(MAX_FILE + 1)
        return cls(metadata=content, name=metadata.filename, is_named=is_named)


def unread_findings() -> Findings:
    return Findings(problems=[checked_later(is_busy=True)], is_read=False)


def keep_unread(submission: Submission, unread: Unread) -> None:
    LateReading.objects.create(
        submission=submission, metadata=unread.metadata, metadata_name=unread.name, is_named=unread.is_named
    )


def read_late(submission: Submission, run: Path, folder: Path) -> Callable[[], None] | None:
    """What fills in what header and metadata say of a run; None where all was read when it came.

    Raises RunRejected.
    """
    late = LateReading.objects.filter(submission=submission).first()
    if late is None:
        return None
    phase, figures = submission.phase, submission.team_figures.values_list("name", "value")
    said = Metadata(description=submission.description, card=submission.card, figures=dict(figures))
    try:
        if late.metadata_name:
            path = folder / "metadata"
            path.write_bytes(late.metadata)
            said = said.before(read_metadata(Upload(path, late.metadata_name), phase.task.task_type, None))
        with read_upload(HEADER, run, {"filename": submission.filename}, owner=None) as done:
            said = said.before(metadata_of_header(phase.task.task_type, done.result))
        if submission.team_id:
            require_card(phase, said)
    except ValidationError as faults:
        raise RunRejected([Problem(message=words) for words in faults.messages]) from faults
    except (CardIncomplete, UploadUnreadable) as reason:
        raise RunRejected([Problem(message=str(reason))]) from reason
    return partial(_fill_in, submission, said, late)


def _fill_in(submission: Submission, said: Metadata, late: LateReading) -> None:
    Submission.objects.filter(pk=submission.pk).update(description=said.description, card=dict(said.card))
    known = set(submission.team_figures.values_list("name", flat=True))
    keep_figures(submission, {name: value for name, value in said.figures.items() if name not in known})
    late.delete()
