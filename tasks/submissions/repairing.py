"""Offer the sender of a refused run a repaired file, a choice of encodings, or another
phase that accepts the run.
"""

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
from citeboard.core.confined.turns import SandboxPoolFull
from citeboard.core.confinement import UploadUnreadable, read_upload
from citeboard.core.refusals import ActionRefused
from citeboard.teams.models import Team, User
from tasks.gold.gold_files import get_cached_index_path
from tasks.models import Gold, Phase, Season
from tasks.submissions import team_storage
from tasks.submissions.reading import REPAIRED_FILE_NAME
from tasks.submissions.run_card import RUN_READING_MODULE, make_upload_sender
from tasks.submissions.submit import check_run_for_phase
from tasks.submissions.uploads import UploadedRunFile
from tasks.types import Problem
from tasks.types.jsonlines import UNKNOWN_INSTANCE_MESSAGE_END
from tasks.types.problems import convert_dicts_to_problems
from tasks.types.repairs import ARCHIVE_SUFFIX
from tasks.types.runs import WRONG_TASK_MESSAGE_END

#: At most MAX_PHASES_TRIED other phases are tried for a refused file.
MAX_PHASES_TRIED = 6
#: A repaired file in an API response has at most MAX_REPAIRED_BYTES_IN_ANSWER bytes.
MAX_REPAIRED_BYTES_IN_ANSWER = 100_000
STORED_UPLOAD_SIGNING_SALT = "kept-run"


@dataclass(frozen=True, kw_only=True)
class RunRepair:
    """A possible repair of a refused run, or a choice of encodings. ``upload`` is the
    repaired file, and ``changes`` are sentences about the changes in this file.
    ``phase`` is another phase that accepts the file.
    """

    upload: UploadedRunFile | None = None
    changes: Sequence[str] = ()
    encodings: Sequence[str] = ()
    problems: Sequence[Problem] = field(default_factory=tuple)
    phase: Phase | None = None

    def __bool__(self) -> bool:
        return bool(self.upload or self.encodings or self.phase)

    @property
    def warnings(self) -> list[Problem]:
        name = self.upload.filename if self.upload else ""
        return [
            Problem(file=name, message=f"the file was repaired: {change}", fatal=False)
            for change in self.changes
        ]

    def content(self) -> str | None:
        """Return the text of the repaired file for an API response. Return None if the
        file is an archive or too long, or if there is no repaired file.
        """
        upload = self.upload
        if upload is None or upload.size > MAX_REPAIRED_BYTES_IN_ANSWER:
            return None
        if upload.filename.endswith(ARCHIVE_SUFFIX):
            return None
        return upload.path.read_text(encoding="utf-8")


@contextmanager
def repair_refused_run(
    phase: Phase, upload: UploadedRunFile, by: User | None, *, encoding: str = ""
) -> Iterator[RunRepair]:
    """Yield the possible repair of a refused file. The repaired copy exists until the
    end of the block.
    """
    gold = Gold.objects.current(phase)
    with TemporaryDirectory(prefix="citeboard-repaired-") as folder:
        try:
            yield (
                RunRepair()
                if gold is None
                else _repair_upload_in_sandbox(
                    phase, gold, upload, by, encoding, Path(folder)
                )
            )
        except (SandboxPoolFull, UploadUnreadable):
            yield RunRepair()


def _repair_upload_in_sandbox(
    phase: Phase,
    gold: Gold,
    upload: UploadedRunFile,
    by: User | None,
    encoding: str,
    folder: Path,
) -> RunRepair:
    task = phase.task
    given: dict[str, Any] = {
        "task_type": task.task_type.reference,
        "options": task.task_type.validate_options(task.options),
        "filename": upload.filename,
        "reading": gold.reading_version,
        "max_bytes": settings.CHECK_MAX_MB << 20,
        "encoding": encoding,
    }
    with read_upload(
        f"{RUN_READING_MODULE}:repair",
        upload.path,
        given,
        owner=make_upload_sender(by, upload, None),
        shared=get_cached_index_path(gold),
    ) as done:
        told = done.result
        if not told["name"]:
            problems = convert_dicts_to_problems(told["problems"])
            return RunRepair(encodings=told["encodings"], problems=problems)
        copy = folder / REPAIRED_FILE_NAME
        copy.write_bytes(done.file(REPAIRED_FILE_NAME).read_bytes())
    made = replace(upload, path=copy, filename=told["name"])
    return RunRepair(upload=made, changes=told["changes"])


def find_accepting_phase(
    phase: Phase,
    upload: UploadedRunFile,
    by: User | None,
    problems: Sequence[Problem],
    has_inputs: Callable[[User | None, Phase], bool],
) -> Phase | None:
    """Return another phase of the season that accepts the file, because the file
    contains answers to the instances of this other phase.

    Phases of the same task are tried first, and open phases before closed phases.
    Phases whose inputs the user may not have are skipped.
    """
    signs = (UNKNOWN_INSTANCE_MESSAGE_END, WRONG_TASK_MESSAGE_END)
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
    for other in sorted(by_data.values(), key=is_of_task)[:MAX_PHASES_TRIED]:
        if has_inputs(by, other) and _does_phase_accept_file(other, upload, by):
            return other
    return None


def _does_phase_accept_file(
    phase: Phase, upload: UploadedRunFile, by: User | None
) -> bool:
    try:
        found = check_run_for_phase(phase, upload, by)
    except (SandboxPoolFull, ActionRefused, UploadUnreadable):
        return False
    return found.is_read and not found.errors


PhaseOrSeason = Phase | Season


def _format_phase_or_season_key(place: PhaseOrSeason) -> str:
    return f"{place._meta.model_name}-{place.pk}"  # noqa: SLF001  (public by name)


def store_repairable_upload(
    place: PhaseOrSeason, upload: UploadedRunFile, by: User, team: Team
) -> str:
    """Store a refused or repaired file for an hour, and return a signed token with
    which the sender can submit the file. Return an empty text if the team's storage is
    full.
    """
    if not team_storage.has_storage_room_for(team, upload.size):
        return ""
    name = f"{team_storage.get_temporary_uploads_folder(team)}/{secrets.token_hex(16)}/{upload.filename}"
    with upload.path.open("rb") as content:
        stored = storage.run_file_storage.save(name, File(content))
    facts = {"stored": stored, "filename": upload.filename}
    return signing.dumps(
        {**facts, "place": _format_phase_or_season_key(place), "by": by.pk},
        salt=STORED_UPLOAD_SIGNING_SALT,
    )


def delete_stored_upload(token: str) -> None:
    """Remove the stored file after it was submitted as a run.

    The caller must first call `open_stored_upload`, which checks the user and the phase or season of
    the token.
    """
    storage.run_file_storage.delete(
        signing.loads(token, salt=STORED_UPLOAD_SIGNING_SALT)["stored"]
    )


@contextmanager
def open_stored_upload(
    token: str, place: PhaseOrSeason, by: User
) -> Iterator[UploadedRunFile | None]:
    """Yield the stored file to which the token belongs. Yield None if the file was
    removed, or if the token belongs to another user, phase or season.
    """
    with TemporaryDirectory(prefix="citeboard-kept-") as folder:
        yield _load_stored_upload(token, place, by, Path(folder))


def _load_stored_upload(
    token: str, place: PhaseOrSeason, by: User, folder: Path
) -> UploadedRunFile | None:
    try:
        facts = signing.loads(
            token,
            salt=STORED_UPLOAD_SIGNING_SALT,
            max_age=team_storage.TEMPORARY_UPLOADS_LIFETIME_SECONDS,
        )
    except signing.BadSignature:
        return None
    if facts.get("place") != _format_phase_or_season_key(place) or facts["by"] != by.pk:
        return None
    try:
        path = storage.copy_to_local_folder(
            storage.run_file_storage, facts["stored"], folder
        )
    except storage.StoredFileMissing:
        return None
    return UploadedRunFile(path, facts["filename"])
