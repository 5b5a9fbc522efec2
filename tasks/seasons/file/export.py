"""A season as a season file: what the site has, in the form in which it is loaded."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from django.db.models import Model
from django.utils.text import slugify

from citeboard.core import storage
from citeboard.core.audit import as_json
from tasks.models import Gold, Season, Submission, Task
from tasks.registration.entries import current_terms, terms_text
from tasks.seasons.file.entries import (
    APART,
    NAME,
    SEASON,
    Facts,
    defaults_of,
    key_of,
    phase_prefix,
    task_prefix,
)
from tasks.seasons.file.tables import document

#: Folders of an export, beside the season file.
GOLD, BASELINES, FILES = "gold", "baselines", "files"
#: What the site keeps as lines is a list in the file.
_LISTS = ("entry_list",)


@dataclass(frozen=True)
class Copied:
    """A file that the season file names: where it stands in the export, and where it is from."""

    name: str
    source: Path | tuple[Any, str]

    def write(self, folder: Path) -> None:
        path = folder / self.name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(self.source, Path):
            shutil.copyfile(self.source, path)
            return
        store, name = self.source
        with store.open(name, "rb") as stored, path.open("wb") as copy:
            shutil.copyfileobj(stored, copy)


@dataclass(frozen=True)
class Exported:
    """The text of the season file and the files that it names."""

    text: str
    files: list[Copied]

    def write(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        (folder / NAME).write_text(self.text, encoding="utf-8")
        for file in self.files:
            file.write(folder)


def export_season(season: Season) -> Exported:
    """Loaded elsewhere it makes the same season."""
    values = structure_of(season)
    files: list[Copied] = []
    organisers = sorted(season.organisers.values_list("user__email", flat=True))
    values["season"] |= {"organisers": organisers} if organisers else {}
    for task, said in zip(season.tasks.all(), values["tasks"], strict=True):
        if "options" in said:
            said["options"] = {name: _option(value, files) for name, value in said["options"].items()}
        said["published"] = [_filled(placement) for placement in task.published]
        said["gold"] = list(_gold(task, files))
        said["baselines"] = list(_baselines(task, files))
    return Exported(document(values), files)


def structure_of(season: Season) -> dict[str, Any]:
    """The season, its tasks and phases as a season file has them; without people, gold and runs."""
    defaults = defaults_of(season)
    return {
        "season": {"slug": season.slug, **_said(SEASON, season, defaults), **_terms(season)},
        "tasks": [
            {
                "slug": task.slug,
                **_said(task_prefix(task.slug), task, defaults),
                "phases": [
                    {"slug": phase.slug, **_said(phase_prefix(task.slug, phase.slug), phase, defaults)}
                    for phase in task.phases.all()
                ],
            }
            for task in season.tasks.all()
        ],
    }


def _terms(season: Season) -> dict[str, str]:
    """The version that holds."""
    terms = current_terms(season)
    return {"terms": terms_text(terms.text)} if terms else {}


def _gold(task: Task, files: list[Copied]) -> Iterator[dict[str, Any]]:
    """The newest version of each split."""
    newest = {gold.split: gold for gold in Gold.objects.filter(task=task).order_by("split", "number")}
    for split, gold in newest.items():
        name = f"{GOLD}/{task.slug}-{split}{PurePosixPath(gold.file).suffix}"
        files.append(Copied(name, (storage.gold, gold.file)))
        yield {"split": split, "paths": [name], "reason": gold.reason.strip()}


def _baselines(task: Task, files: list[Copied]) -> Iterator[dict[str, Any]]:
    """The file of each system's newest run, and the phases that have one."""
    runs = Submission.objects.filter(phase__task=task, kind=Submission.Kind.BASELINE, built_in="")
    standing = runs.exclude(status=Submission.Status.WITHDRAWN).select_related("phase").order_by("pk")
    by_system: dict[str, list[Submission]] = {}
    for run in standing:
        by_system.setdefault(run.system, []).append(run)
    for place, (system, own) in enumerate(sorted(by_system.items()), start=1):
        newest = own[-1]
        stem = f"{task.slug}-{place}-{slugify(system)}".rstrip("-")
        name = f"{BASELINES}/{stem}{PurePosixPath(newest.filename).suffix}"
        files.append(Copied(name, (storage.runs, newest.file)))
        said = {"system": system, "run": name, "phases": sorted({run.phase.slug for run in own})}
        if newest.description:
            said["description"] = newest.description.strip()
        yield said


def _option(value: str, files: list[Copied]) -> str:
    """A file that an option names goes along."""
    path = Path(value)
    if not path.is_absolute() or not path.is_file():
        return value
    name = f"{FILES}/{path.name}"
    files.append(Copied(name, path))
    return name


def _filled(values: dict[str, Any]) -> dict[str, Any]:
    return {
        key: _filled(own) if isinstance(own, dict) else own
        for key, own in values.items()
        if own not in ("", [], {}, None)
    }


def _said(prefix: str, row: Model, defaults: dict[str, Facts]) -> dict[str, Any]:
    """The settings of a row, by their keys, that are not what the file means without them."""
    found = {}
    for field, default in defaults[prefix].items():
        value = getattr(row, field)
        value = value.strip().replace("\r\n", "\n") if isinstance(value, str) else value
        if field in APART or value is None:
            continue
        if field in NEEDED or as_json(value) != as_json(default):
            found[key_of("", field).removeprefix(".")] = value.split() if field in _LISTS else value
    return found


#: Without these there is no such row.
NEEDED = ("title", "type", "opens", "closes")
