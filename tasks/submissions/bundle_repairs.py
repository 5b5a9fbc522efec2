"""Repair an uploaded file with runs for several tasks. The runs that were refused are
repaired one after the other, and then all runs are checked.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import PurePosixPath

from citeboard.core.confined.turns import SandboxPoolFull
from citeboard.core.confinement import UploadUnreadable
from citeboard.core.refusals import ActionRefused
from citeboard.teams.models import User
from tasks.models import Season
from tasks.submissions.bundles import BundleRunResult, read_bundle_for_each_task
from tasks.submissions.refusals import RunRejected
from tasks.submissions.repairing import RunRepair, repair_refused_run
from tasks.submissions.uploads import UploadedRunFile


@contextmanager
def repair_bundle(
    season: Season,
    parts: Sequence[BundleRunResult],
    upload: UploadedRunFile,
    by: User | None,
    *,
    phase: str = "",
    encoding: str = "",
) -> Iterator[RunRepair]:
    """Yield the repair of a file in which the runs for some tasks were refused. The
    repaired copy exists until the end of the block.

    The repaired copy is only offered if each task of ``parts`` can score its run.
    ``phase`` is the slug of a phase, which each task must have.
    """
    with ExitStack() as copies:
        repair = _repair_each_part(parts, upload, by, encoding, copies)
        if repair.upload and not _are_all_parts_scorable(
            season, parts, repair.upload, by, phase
        ):
            repair = RunRepair()
        yield repair


def _repair_each_part(
    parts: Sequence[BundleRunResult],
    upload: UploadedRunFile,
    by: User | None,
    encoding: str,
    copies: ExitStack,
) -> RunRepair:
    file, changes = upload, list[str]()
    for part in parts:
        if not isinstance(part.refusal, RunRejected):
            continue
        named = encoding if file is upload else ""
        repair = copies.enter_context(
            repair_refused_run(part.phase, file, by, encoding=named)
        )
        if repair.upload is None:
            if file is upload:
                return repair
            # The repair for an earlier task may also have repaired this task's run.
            continue
        suffix = PurePosixPath(repair.upload.filename).suffix
        name = f"{PurePosixPath(upload.filename).stem}-repaired{suffix}"
        file = replace(repair.upload, filename=name)
        changes += [f"{part.phase.task}: {change}" for change in repair.changes]
    return RunRepair() if file is upload else RunRepair(upload=file, changes=changes)


def _are_all_parts_scorable(
    season: Season,
    parts: Sequence[BundleRunResult],
    file: UploadedRunFile,
    by: User | None,
    phase: str,
) -> bool:
    tasks = [part.phase.task.slug for part in parts]
    try:
        again = read_bundle_for_each_task(
            season=season, upload=file, phase=phase, tasks=tasks, by=by
        )
    except (SandboxPoolFull, ActionRefused, UploadUnreadable):
        return False
    return all(part.is_good and part.findings.is_read for part in again)
