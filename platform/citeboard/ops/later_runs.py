"""Save and resubmit the runs that teams submitted after a backup. The runs are saved
before the backup is restored, and submitted again after the restore.

The saved folder contains `runs.jsonl`, with a line of JSON for each run, and the files
of the runs in `files/`.
"""

from __future__ import annotations

import datetime as dt
import json
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from citeboard.core import storage
from citeboard.core.confined.turns import SandboxPoolFull
from citeboard.core.refusals import ActionRefused
from citeboard.ops.backups import (
    SQLITE_BACKUP_FILE,
    TABLE_DUMPS_FOLDER,
    BackupNotPossible,
    read_manifest,
)
from citeboard.teams.models import Team, User
from tasks.models import Phase, Submission
from tasks.submissions.run_card import RunDetails, RunMetadata
from tasks.submissions.submit import submit_dated_run
from tasks.submissions.uploads import UploadedRunFile, compute_sha256_of_file

SAVED_RUNS_LIST_FILE, SAVED_RUNS_FILES_FOLDER = "runs.jsonl", "files"
#: Runs with a status in WITHDRAWN_STATUSES were withdrawn and are not submitted again.
WITHDRAWN_STATUSES = (Submission.Status.WITHDRAWN, Submission.Status.CANCELLED)


@dataclass(frozen=True, kw_only=True)
class SavedRun:
    """A run that was saved before a backup is restored.

    The season, task, phase and team are stored as slugs, which are equal on the
    restored site. ``path`` is the path of the run's file in the saved folder.
    """

    season: str
    task: str
    phase: str
    team: str
    submitted_by: str
    submitted_at: str
    begun_at: str | None
    is_late: bool
    system: str
    kind: str
    description: str
    card: Mapping[str, str]
    figures: Mapping[str, float]
    seeds_of: str
    idempotency_key: str
    filename: str
    sha256: str
    path: str

    def __str__(self) -> str:
        place = f"{self.season}/{self.task}/{self.phase}"
        return f"{self.submitted_at[:19]} {place} {self.team}: {self.system}"


def find_runs_missing_in_backup(backup: Path) -> list[Submission]:
    """Return the teams' runs that the backup lacks, oldest first.

    Raises BackupNotPossible if the backup cannot be used.
    """
    there = _find_runs_in_backup(backup)
    runs = Submission.objects.filter(team__isnull=False).exclude(
        status__in=WITHDRAWN_STATUSES
    )
    runs = runs.select_related("team", "phase__task__season", "submitted_by")
    return [
        run
        for run in runs.order_by("submitted_at", "pk")
        if (run.pk, run.sha256) not in there
    ]


def _find_runs_in_backup(backup: Path) -> set[tuple[int, str]]:
    """Return the id and SHA-256 of each run in a backup, which may be from another
    release.
    """
    manifest, table = read_manifest(backup), Submission._meta.db_table  # noqa: SLF001  (public by name)
    try:
        if manifest.database["vendor"] == "sqlite":
            address = f"{(backup / SQLITE_BACKUP_FILE).absolute().as_uri()}?mode=ro"
            with closing(sqlite3.connect(address, uri=True)) as database:
                rows = database.execute(f"SELECT id, sha256 FROM {table}")  # noqa: S608
                return {(int(number), digest) for number, digest in rows}
        columns = manifest.database["tables"][table]
        number, digest = columns.index("id"), columns.index("sha256")
        with (backup / TABLE_DUMPS_FOLDER / f"{table}.copy").open(
            encoding="utf-8"
        ) as lines:
            # PostgreSQL's COPY writes a tab or a line break in a text as \t or \n.
            cells = (line.rstrip("\n").split("\t") for line in lines)
            return {(int(cell[number]), cell[digest]) for cell in cells}
    except (OSError, sqlite3.Error, KeyError, ValueError, IndexError) as reason:
        raise BackupNotPossible(
            f"the runs of the backup cannot be read: {reason}"
        ) from reason


def export_runs(runs: list[Submission], folder: Path) -> list[str]:
    """Save runs of teams in a new folder.

    Returns a message for each run whose file is missing in the storage.
    """
    folder.mkdir(mode=0o700, parents=True)
    (folder / SAVED_RUNS_FILES_FOLDER).mkdir()
    lost = []
    with (folder / SAVED_RUNS_LIST_FILE).open("w", encoding="utf-8") as lines:
        for number, run in enumerate(runs, start=1):
            saved = _build_saved_run(
                run, f"{SAVED_RUNS_FILES_FOLDER}/{number:05}-{run.filename}"
            )
            try:
                with (
                    storage.run_file_storage.open(run.file, "rb") as source,
                    (folder / saved.path).open("wb") as target,
                ):
                    shutil.copyfileobj(source, target)
            except FileNotFoundError:
                lost.append(f"{saved}: its file is missing")
                continue
            lines.write(json.dumps(asdict(saved), ensure_ascii=False) + "\n")
    return lost


def _build_saved_run(run: Submission, path: str) -> SavedRun:
    assert run.team is not None
    task = run.phase.task
    return SavedRun(
        season=task.season.slug,
        task=task.slug,
        phase=run.phase.slug,
        team=run.team.slug,
        submitted_by=run.submitted_by.email if run.submitted_by else "",
        submitted_at=run.submitted_at.isoformat(),
        begun_at=run.begun_at.isoformat() if run.begun_at else None,
        is_late=run.is_late,
        system=run.system,
        kind=run.kind,
        description=run.description,
        card=run.card,
        figures=dict(run.team_figures.values_list("name", "value")),
        seeds_of=run.seeds_of,
        idempotency_key=run.idempotency_key,
        filename=run.filename,
        sha256=run.sha256,
        path=path,
    )


class RunNotAccepted(Exception):
    """This site cannot accept a saved run, for the reason in the exception's message."""


def read_saved_runs(folder: Path) -> Iterator[SavedRun]:
    """Yield the runs in a folder of saved runs.

    Raises RunNotAccepted if a line of the list of saved runs is unreadable.
    """
    path = folder / SAVED_RUNS_LIST_FILE
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                yield SavedRun(**json.loads(line))
            except (ValueError, TypeError) as reason:
                raise RunNotAccepted(f"{path}, line {number}: {reason}") from reason


def submit_saved_run(saved: SavedRun, folder: Path) -> Submission | None:
    """Submit a saved run with its original submission time, even if the phase is closed
    or the team's limit is reached.

    Return None if the team has already sent the same file with the same system name to
    the phase. Raises RunNotAccepted if this site cannot accept the run.
    """
    phase = Phase.objects.filter(
        slug=saved.phase, task__slug=saved.task, task__season__slug=saved.season
    ).first()
    team = Team.objects.filter(slug=saved.team).first()
    if phase is None or team is None:
        lacking = "phase" if phase is None else "team"
        raise RunNotAccepted(f"{saved}: this site has no such {lacking}")
    path = folder / saved.path
    if not path.is_file() or compute_sha256_of_file(path) != saved.sha256:
        raise RunNotAccepted(f"{saved}: {path} is not the file that was saved")
    if Submission.objects.filter(
        phase=phase, team=team, sha256=saved.sha256, system=saved.system
    ).exists():
        return None
    try:
        return submit_dated_run(
            phase=phase,
            team=team,
            upload=UploadedRunFile(path, saved.filename),
            details=RunDetails(
                system=saved.system,
                description=saved.description,
                kind=saved.kind,
                idempotency_key=saved.idempotency_key,
                seeds_of=saved.seeds_of,
            ),
            said=RunMetadata(
                description=saved.description, card=saved.card, figures=saved.figures
            ),
            facts=_build_submission_fields(saved),
        )
    except (ActionRefused, SandboxPoolFull) as reason:
        raise RunNotAccepted(f"{saved}: {reason}") from reason


def _build_submission_fields(saved: SavedRun) -> dict[str, Any]:
    return {
        "submitted_by": User.objects.filter(email__iexact=saved.submitted_by).first()
        if saved.submitted_by
        else None,
        "submitted_at": dt.datetime.fromisoformat(saved.submitted_at),
        "begun_at": dt.datetime.fromisoformat(saved.begun_at)
        if saved.begun_at
        else None,
        "is_late": saved.is_late,
    }
