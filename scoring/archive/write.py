"""Writing a season's archive: a new folder, whole or not there."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from django.conf import settings
from django.template.loader import render_to_string
from django.utils import timezone

from citeboard.core import storage
from scoring.api.printed import printed_evaluations
from scoring.archive.boards import ArchivedBoard, public_boards
from scoring.archive.metadata import citation, crate, zenodo
from scoring.archive.option_files import OptionFiles
from scoring.board.exports import as_json
from scoring.board.team_reported import figures_of
from scoring.board.visibility import Audience, shows_teams
from scoring.distribution.backend import wheel
from scoring.models import Evaluation
from scoring.offline.archive_files import CHECKSUMS, FORMAT, FORMAT_VERSION, SEASON
from tasks.models import Gold, Phase, Season, Submission, Task

CRATE = "ro-crate-metadata.json"


class FolderInUse(Exception):
    """There is something at the place where the archive would be."""


@dataclass(frozen=True)
class Written:
    """What stands in an archive. ``withheld`` names phases without their runs and their splits' gold."""

    boards: int
    runs: int
    gold: int
    files: int
    withheld: Sequence[str]


def write_archive(season: Season, folder: Path, *, version: str, with_gold: bool) -> Written:
    """``with_gold`` is the organisers' word that the gold is released. Raises FolderInUse."""
    if folder.exists():
        raise FolderInUse(f"{folder} exists; an archive is written into a new folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        base = Path(scratch) / "archive"
        written = _Writing(season, base, with_gold=with_gold).write(version)
        base.rename(folder)
    return written


class _Writing:
    def __init__(self, season: Season, base: Path, *, with_gold: bool) -> None:
        self.season, self.base, self.with_gold = season, base, with_gold
        self.tasks = list(season.tasks.prefetch_related("phases"))
        phases = list(Phase.objects.filter(task__season=season).select_related("task__season"))
        self.boards = {phase.pk: list(public_boards(phase)) for phase in phases}
        self.shown = [board for own in self.boards.values() for board in own]
        self.runs = _runs(self.shown)
        self.golds = list(
            Gold.objects.filter(evaluations__submission__in=self.runs).distinct().order_by("pk")
        )
        self.withheld = [phase for phase in phases if not _is_released(phase)]
        self.option_files = OptionFiles(base, season)

    def write(self, version: str) -> Written:
        for name in ("boards", "runs", "scores", "gold", "wheel"):
            (self.base / name).mkdir(parents=True)
        facts: dict[str, Any] = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "version": version,
            "written": timezone.now().isoformat(),
            "wheel": self._wheel(),
            "season": {"slug": self.season.slug, "title": self.season.title, "licence": self.season.licence},
            "tasks": [self._task(task) for task in self.tasks],
            "runs": [self._run(run) for run in self.runs],
        }
        for board in self.shown:
            self._board(board)
        self._about(facts, version)
        files = list(_files(self.base))
        self._text(CHECKSUMS, "".join(f"{digest}  {name}\n" for name, _, digest in files))
        return Written(
            boards=len(self.shown),
            runs=len(list((self.base / "runs").iterdir())),
            gold=len(list((self.base / "gold").iterdir())),
            files=len(files) + 1,
            withheld=[f"{phase.task.slug}/{phase.slug}" for phase in self.withheld],
        )

    def _wheel(self) -> str:
        """The program that wrote the archive and verifies it; its name."""
        name, content = wheel(settings.BASE_DIR)
        (self.base / "wheel" / name).write_bytes(content)
        return name

    def _about(self, facts: Mapping[str, Any], version: str) -> None:
        """The pages that lead to everything else, and what catalogues read."""
        season, today = self.season, timezone.now().date()
        context = {"season": season, "facts": facts, "boards": self.shown}
        self._text("index.html", render_to_string("archive/index.html", context))
        self._text("style.css", render_to_string("archive/style.css"))
        self._text("README.md", render_to_string("archive/README.md", context))
        self._text(SEASON, _json(facts))
        self._text("CITATION.cff", citation(season, version, today))
        self._text(".zenodo.json", _json(zenodo(season, version, today)))
        self._text(CRATE, _json(crate(season, list(_files(self.base)), today)))

    def _task(self, task: Task) -> dict[str, Any]:
        return {
            "slug": task.slug,
            "title": task.title,
            "type": task.type,
            "rules": task.rules,
            "phases": [
                {
                    "slug": phase.slug,
                    "title": phase.title,
                    "split": phase.split,
                    "opens": phase.opens.isoformat(),
                    "closes": phase.closes.isoformat(),
                    "boards": [board.json_path for board in self.boards[phase.pk]],
                }
                for phase in task.phases.all()
            ],
            "gold": [self._gold(task, gold) for gold in self.golds if gold.task_id == task.pk],
        }

    def _gold(self, task: Task, gold: Gold) -> dict[str, Any]:
        name = f"gold/{task.slug}-{gold.split}-v{gold.number}{PurePosixPath(gold.file).suffix}"
        return {
            "split": gold.split,
            "number": gold.number,
            "sha256": gold.digest,
            "instances": gold.instances,
            "reason": gold.reason,
            "file": self._copied(storage.gold, gold.file, name) if self._has_gold(gold) else None,
        }

    def _has_gold(self, gold: Gold) -> bool:
        """Only where the organisers say so, and no phase that it decides is still to come or open."""
        withheld = {(phase.task_id, phase.split) for phase in self.withheld}
        return self.with_gold and (gold.task_id, gold.split) not in withheld

    def _run(self, run: Submission) -> dict[str, Any]:
        scores = f"scores/{run.pk}.json"
        self._text(
            scores, _json([self._evaluation(*found) for found in printed_evaluations(run, Audience.PUBLIC)])
        )
        suffix = PurePosixPath(run.filename).suffix.lower()
        name = f"runs/{run.pk}{suffix if suffix.isascii() and suffix[1:].isalnum() else ''}"
        # What annotators answered is gold.
        has_file = run.file and run.kind != Submission.Kind.HUMAN and run.phase not in self.withheld
        return {
            "id": run.pk,
            "task": run.phase.task.slug,
            "phase": run.phase.slug,
            "team": self._team(run),
            "system": run.system,
            "kind": run.kind,
            "description": run.description if self._is_named(run) else "",
            "file": self._copied(storage.runs, run.file, name) if has_file else None,
            "sha256": run.sha256,
            "scores": scores,
        }

    def _team(self, run: Submission) -> str | None:
        """Its name, or the number that stands for it."""
        if run.team is None or not run.phase.shows_teams:
            return None
        if self._is_named(run):
            return run.team.name
        return self.season.registrations.get(team=run.team).pseudonym

    def _is_named(self, run: Submission) -> bool:
        return run.team is None or shows_teams(run.phase, Audience.PUBLIC)

    def _evaluation(self, kept: Evaluation, found: Mapping[str, Any]) -> dict[str, Any]:
        """Of a file that an option names, the archive has a copy and not where the site keeps it."""
        options = kept.submission.phase.task.task_type.checked_options(kept.options)
        files = self.option_files.of(options) if self._decides(kept.gold.digest) else {}
        return {**found, "files": files}

    def _decides(self, digest: str) -> bool:
        """Labels say something of the gold, so they go with it."""
        return any(gold.digest == digest and self._has_gold(gold) for gold in self.golds)

    def _board(self, board: ArchivedBoard) -> None:
        rows = board.board.rows
        self._text(board.json_path, as_json(board.board, rows, figures_of(rows)))
        has_chart = board.board.ranking is not None
        if has_chart:
            self._text(board.chart_path, board.chart())
        context = {
            "season": self.season,
            "shown": board,
            "board": board.board,
            "chart": PurePosixPath(board.chart_path).name,
            "has_chart": has_chart,
        }
        self._text(board.page_path, render_to_string("archive/board.html", context))

    def _copied(self, kept: storage.FolderStorage, name: str, path: str) -> str:
        with kept.open(name) as source, (self.base / path).open("wb") as file:
            shutil.copyfileobj(source, file)
        return path

    def _text(self, name: str, text: str) -> None:
        (self.base / name).write_text(text, encoding="utf-8")


def _is_released(phase: Phase) -> bool:
    """Whether runs and gold of the phase tell nobody anything that its teams could still use."""
    return not phase.is_frozen() and (phase.closes <= timezone.now() or phase.shows_instances)


def _runs(boards: Sequence[ArchivedBoard]) -> list[Submission]:
    """Those that stand on a board: what teams sent besides stays theirs."""
    numbers = {row.submission for board in boards for row in board.board.rows}
    found = Submission.objects.filter(pk__in=numbers).select_related("team", "phase__task__season")
    return list(found.order_by("pk"))


def _files(base: Path) -> Iterator[tuple[str, int, str]]:
    """Each file's name, size and SHA-256."""
    for path in sorted(base.rglob("*")):
        if path.is_file():
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            yield path.relative_to(base).as_posix(), path.stat().st_size, digest


def _json(content: object) -> str:
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"
