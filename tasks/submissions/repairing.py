"""What is offered with a refused run: the repaired file, encodings to choose from, or another phase."""

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.conf import settings
from django.core import signing
from django.core.files import File

from citeboard.core import storage
from citeboard.core.confined.turns import PoolFull
from citeboard.core.confinement import UploadUnreadable, read_upload
from citeboard.core.refusals import Refused
from citeboard.teams.models import User
from tasks.gold.gold_files import index_file
from tasks.models import Gold, Phase
from tasks.submissions.reading import REPAIRED
from tasks.submissions.run_card import READING, sender_of
from tasks.submissions.submit import findings
from tasks.submissions.uploads import Upload, checksum
from tasks.types import Problem
from tasks.types.jsonlines import NOT_IN_SPLIT
from tasks.types.problems import from_values
from tasks.types.runs import RIGHT_TASK

#: Maximum number of other phases that check whether they accept the file.
MAX_PHASES = 6
#: Maximum size, in bytes, of a repaired text that an answer of the API includes.
MAX_IN_ANSWER = 100_000
#: Time in which a stored file can be submitted; it is then removed like other files without a run.
KEPT_SECONDS = 3_600
SALT = "kept-run"


@dataclass(frozen=True, kw_only=True)
class Repair:
    """``upload`` is the repaired file with its ``changes``; ``phase`` is another one that takes the file."""

    upload: Upload | None = None
    changes: Sequence[str] = ()
    encodings: Sequence[str] = ()
    #: What is wrong with the file in the encoding that its sender has named.
    problems: Sequence[Problem] = field(default_factory=tuple)
    phase: Phase | None = None

    def __bool__(self) -> bool:
        return bool(self.upload or self.encodings or self.phase)

    @property
    def warnings(self) -> list[Problem]:
        """Return the changes as warnings for the receipt of an accepted run."""
        name = self.upload.filename if self.upload else ""
        return [
            Problem(file=name, message=f"the file was repaired: {change}", fatal=False)
            for change in self.changes
        ]

    def content(self) -> str | None:
        """Return the text of the repaired file; None without one, and for a long one."""
        if self.upload is None or self.upload.size > MAX_IN_ANSWER:
            return None
        return self.upload.path.read_text(encoding="utf-8")


@contextmanager
def repaired(
    phase: Phase, upload: Upload, by: User | None, *, encoding: str = ""
) -> Iterator[Repair]:
    """Yield what can be done with a file that is refused; its repaired copy lasts as long as the block."""
    gold = Gold.objects.current(phase)
    with TemporaryDirectory(prefix="citeboard-repaired-") as folder:
        try:
            yield (
                Repair()
                if gold is None
                else _repaired(phase, gold, upload, by, encoding, Path(folder))
            )
        except (PoolFull, UploadUnreadable):
            yield Repair()


def _repaired(
    phase: Phase,
    gold: Gold,
    upload: Upload,
    by: User | None,
    encoding: str,
    folder: Path,
) -> Repair:
    task = phase.task
    given: dict[str, Any] = {
        "task_type": task.task_type.reference,
        "options": task.task_type.checked_options(task.options),
        "filename": upload.filename,
        "reading": gold.reading_version,
        "max_bytes": settings.CHECK_MAX_MB << 20,
        "encoding": encoding,
    }
    with read_upload(
        f"{READING}:repair",
        upload.path,
        given,
        owner=sender_of(by, upload, None),
        shared=index_file(gold),
    ) as done:
        told = done.result
        if not told["name"]:
            problems = from_values(told["problems"])
            return Repair(encodings=told["encodings"], problems=problems)
        copy = folder / REPAIRED
        copy.write_bytes(done.file(REPAIRED).read_bytes())
    made = replace(upload, path=copy, filename=told["name"])
    return Repair(upload=made, changes=told["changes"])


def right_phase(
    phase: Phase,
    upload: Upload,
    by: User | None,
    problems: Sequence[Problem],
    has_inputs: Callable[[User | None, Phase], bool],
) -> Phase | None:
    """Return another phase of the season that takes the file, as its instances are of other data.

    Try phases of the same task first, open before closed; skip phases unless the user ``has_inputs``.
    """
    signs = (NOT_IN_SPLIT, RIGHT_TASK)
    if not any(problem.message.endswith(signs) for problem in problems):
        return None
    others = Phase.objects.filter(task__season=phase.task.season_id).exclude(
        task=phase.task_id, split=phase.split
    )
    others = others.select_related("task__season").order_by("position", "pk")
    by_data: dict[object, Phase] = {}
    for other in sorted(others, key=lambda one: not one.is_open()):
        by_data.setdefault((other.task_id, other.split), other)
    is_of_task = lambda one: one.task_id != phase.task_id  # noqa: E731
    for other in sorted(by_data.values(), key=is_of_task)[:MAX_PHASES]:
        if has_inputs(by, other) and _takes(other, upload, by):
            return other
    return None


def _takes(phase: Phase, upload: Upload, by: User | None) -> bool:
    try:
        found = findings(phase, upload, by)
    except (PoolFull, Refused, UploadUnreadable):
        return False
    return found.is_read and not found.errors


def keep(phase: Phase, upload: Upload, by: User) -> str:
    """Store a file for an hour, and return a signed token for its sender."""
    sha256 = checksum(upload.path)
    name = f"{sha256[:2]}/{sha256}/{secrets.token_hex(4)}/{upload.filename}"
    with upload.path.open("rb") as content:
        stored = storage.runs.save(name, File(content))
    facts = {"stored": stored, "filename": upload.filename}
    return signing.dumps({**facts, "phase": phase.pk, "by": by.pk}, salt=SALT)


@contextmanager
def kept(token: str, phase: Phase, by: User) -> Iterator[Upload | None]:
    """Yield the token's stored file; None if it is gone, or the token is of another phase or user."""
    with TemporaryDirectory(prefix="citeboard-kept-") as folder:
        yield _kept(token, phase, by, Path(folder))


def _kept(token: str, phase: Phase, by: User, folder: Path) -> Upload | None:
    try:
        facts = signing.loads(token, salt=SALT, max_age=KEPT_SECONDS)
    except signing.BadSignature:
        return None
    if facts["phase"] != phase.pk or facts["by"] != by.pk:
        return None
    try:
        path = storage.local_copy(storage.runs, facts["stored"], folder)
    except storage.FileMissing:
        return None
    return Upload(path, facts["filename"])
