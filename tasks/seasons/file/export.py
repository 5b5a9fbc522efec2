"""Export a season of the site as a season file that can be loaded again."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Any

from django.utils.text import slugify

from citeboard.core import audit, storage
from tasks.gold.gold_files import open_gold_archive
from tasks.gold.packing import write_zip_archive
from tasks.models import Gold, Phase, Season, Submission, Task
from tasks.registration.entries import get_newest_terms, normalise_terms_text
from tasks.seasons.file import entries, tables
from tasks.types.declared.folder import SAMPLE_FOLDER_NAME
from tasks.types.registry import find_task_type

GOLD, BASELINES_FOLDER, OPTION_FILES_FOLDER, TASKS_FOLDER = (
    "gold",
    "baselines",
    "files",
    "tasks",
)


FileOpenersByName = dict[str, Callable[[], Any]]


@dataclass(frozen=True)
class ExportedSeason:
    text: str
    files: FileOpenersByName

    def write(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        files: FileOpenersByName = {
            entries.SEASON_FILE_NAME: partial(BytesIO, self.text.encode()),
            **self.files,
        }
        for name, opened in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with opened() as content, path.open("wb") as copy:
                shutil.copyfileobj(content, copy)

    def write_zip_archive(self, path: Path) -> None:
        toml = partial(BytesIO, self.text.encode())
        write_zip_archive(path, [(entries.SEASON_FILE_NAME, toml), *self.files.items()])


def export_season(
    season: Season, *, names_people: bool = True, with_gold: bool = True
) -> ExportedSeason:
    """Return the season file, and the other files of the season by name.

    If ``names_people`` is False, the export is meant for another site. An export for
    another site names no people and lacks the files that options name. If ``with_gold``
    is False, the files of gold, runs of baselines and non-public samples are left out.
    """
    values = build_season_file_structure(season)
    files: FileOpenersByName = {}
    if not names_people:
        values["season"].pop("entry_list", None)
    for key, role in entries.ROLES_BY_KEY.items() if names_people else ():
        people = season.organisers.filter(role=role).values_list(
            "user__email", flat=True
        )
        values["season"] |= {key: sorted(people)} if people else {}
    for task, said in zip(season.tasks.all(), values["tasks"], strict=True):
        if "options" in said:
            said["options"] = {
                name: _export_option_file(value, files)
                if names_people
                else _make_safe_file_name(value)
                for name, value in said["options"].items()
            }
        if declared := task.task_type.declared:
            said["type"] = f"./{TASKS_FOLDER}/{task.slug}"
            for name, text in declared.files.items():
                is_secret = (
                    name.startswith(f"{SAMPLE_FOLDER_NAME}/")
                    and not declared.public_sample
                )
                if is_secret and not with_gold:
                    continue
                files[f"{TASKS_FOLDER}/{task.slug}/{name}"] = partial(
                    BytesIO, text.encode()
                )
        said["published"] = [
            _remove_empty_values(placement) for placement in task.published
        ]
        newest = {
            gold.split: gold
            for gold in Gold.objects.filter(task=task).order_by("split", "number")
        }
        said["gold"] = []
        for split, gold in newest.items():
            name = f"{GOLD}/{task.slug}-{split}{PurePosixPath(gold.file).suffix}"
            if with_gold:
                files[name] = partial(open_gold_archive, gold)
            said["gold"].append(
                {"split": split, "paths": [name], "reason": gold.reason.strip()}
            )
        said["baselines"] = list(_export_baselines(task, files if with_gold else {}))
    return ExportedSeason(tables.format_season_file(values), files)


def build_season_file_structure(season: Season) -> dict[str, Any]:
    terms = get_newest_terms(season)
    return {
        "season": _collect_settings_of_row(season)
        | ({"terms": normalise_terms_text(terms.text)} if terms else {}),
        "tasks": [
            {
                **_collect_settings_of_row(task),
                "phases": [
                    _collect_settings_of_row(phase) for phase in task.phases.all()
                ],
            }
            for task in season.tasks.all()
        ],
    }


def _collect_settings_of_row(row: Season | Task | Phase) -> dict[str, Any]:
    said: dict[str, Any] = {"slug": row.slug}
    for name in row.SETTINGS:
        value, default = getattr(row, name), row.field(name).get_default()
        if name == "rules" and isinstance(row, Task):
            known = find_task_type(row.type)
            default = list(known.rules)[:1] if known else []
        if isinstance(value, str):
            value = value.strip().replace("\r\n", "\n")
        # The key `public` is always written, since loading without it changes nothing.
        is_said = row.is_required(name) or name == "is_public"
        if value is not None and (
            is_said
            or audit.convert_to_json_value(value)
            != audit.convert_to_json_value(default)
        ):
            # The entry list is a list in the file and lines of a text on the site.
            said[row.key(name)] = value.split() if name == "entry_list" else value
    return said


def _export_baselines(task: Task, files: FileOpenersByName) -> Iterator[dict[str, Any]]:
    runs = Submission.objects.filter(
        phase__task=task, kind=Submission.Kind.BASELINE, built_in=""
    )
    standing = (
        runs.exclude(status=Submission.Status.WITHDRAWN)
        .select_related("phase")
        .order_by("pk")
    )
    by_system: dict[str, list[Submission]] = {}
    for run in standing:
        by_system.setdefault(run.system, []).append(run)
    for position, (system, own) in enumerate(sorted(by_system.items()), start=1):
        newest = own[-1]
        stem = f"{task.slug}-{position}-{slugify(system)}".rstrip("-")
        name = f"{BASELINES_FOLDER}/{stem}{PurePosixPath(newest.filename).suffix}"
        files[name] = partial(storage.run_file_storage.open, newest.file)
        said = {
            "system": system,
            "run": name,
            "phases": sorted({run.phase.slug for run in own}),
        }
        if newest.description:
            said["description"] = newest.description.strip()
        yield said


def _make_safe_file_name(value: str) -> str:
    path = Path(value)
    return path.name if path.is_absolute() and path.is_file() else value


def _export_option_file(value: str, files: FileOpenersByName) -> str:
    path = Path(value)
    if _make_safe_file_name(value) == value:
        return value
    name = f"{OPTION_FILES_FOLDER}/{path.name}"
    files[name] = partial(path.open, "rb")
    return name


def _remove_empty_values(values: dict[str, Any]) -> dict[str, Any]:
    return {
        key: _remove_empty_values(value) if isinstance(value, dict) else value
        for key, value in values.items()
        if value not in ("", [], {}, None)
    }
