"""Settings that are chosen in the site: checked and written by what loads a season file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from citeboard.core.refusals import Refused
from citeboard.teams.models import User
from tasks.models import Season
from tasks.seasons.file.export import structure_of
from tasks.seasons.file.facts import rows_of
from tasks.seasons.file.lines import KeyLines, KeyPath
from tasks.seasons.file.load import Loaded, load_values
from tasks.seasons.file.writing import document
from tasks.types import InputRefused, Problem

_KEY = re.compile(
    r"(?:season|tasks\.(?P<task>[^.]+)(?:\.phases\.(?P<phase>[^.]+))?)\.(?P<name>[^.]+)", re.DOTALL
)
#: What is said of people, of files beside the season's or by an address, and is not a setting.
_NO_SETTINGS = ("slug", "organisers", "published", "card", "phases", "gold", "baselines", "terms")


@dataclass(frozen=True)
class Fault:
    """What is wrong with a setting; the key is empty where it is no single one."""

    key: str
    message: str
    expected: str = ""


class SettingsRefused(Refused):
    """Nothing was changed; every fault is told at once."""

    status = 422

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = list(faults)
        super().__init__("; ".join(f"{fault.key}: {fault.message}" for fault in faults))

    def answer(self) -> dict[str, object]:
        faults = [asdict(fault) for fault in self.faults]
        return {"detail": "The settings are refused; nothing has changed.", "faults": faults}


def change_settings(*, season: Season, values: Mapping[str, Any], by: User | None) -> Loaded:
    """Give settings their values, by keys such as `tasks.1a.phases.final.closes`; None takes one back to its
    default. Of a task or phase that is not there yet a new one is made. Raises SettingsRefused.
    """
    with transaction.atomic():
        held = Season.objects.select_for_update().get(pk=season.pk)
        rows_of(held)
        said = structure_of(held)
        unknown = [key for key, value in values.items() if not _set(said, key, value)]
        if unknown:
            raise SettingsRefused([Fault(key, _("there is no such setting")) for key in unknown])
        return _loaded(said, by, held.slug)


def make_season(*, values: dict[str, Any], by: User | None) -> Season:
    """A new season of these settings, in the form of a season file. Raises SettingsRefused."""
    return _loaded(values, by, "").season


def _loaded(said: dict[str, Any], by: User | None, slug: str) -> Loaded:
    try:
        return load_values(said, by=by, slug=slug)
    except InputRefused as refused:
        lines = KeyLines(document(said))
        raise SettingsRefused([_fault(problem, lines, said) for problem in refused.problems]) from refused


def _fault(problem: Problem, lines: KeyLines, said: Mapping[str, Any]) -> Fault:
    path = lines.path_at(problem.line) if problem.line else ()
    return Fault(_dotted(path, said), problem.message, problem.expected)


def _dotted(path: KeyPath, said: Mapping[str, Any]) -> str:
    """As differences call it: tasks and phases by their names instead of their numbers."""
    parts, below = [], said
    for part in path:
        below = below[part]  # type: ignore[index]
        parts.append(str(below["slug"]) if isinstance(part, int) else str(part))
    return ".".join(parts)


def _set(said: dict[str, Any], key: str, value: Any) -> bool:
    """False where there is no such key."""
    found = _KEY.fullmatch(key)
    if found is None or found["name"] in _NO_SETTINGS:
        return False
    table = said["season"]
    if found["task"]:
        table = _named(said.setdefault("tasks", []), found["task"])
    if found["phase"]:
        table = _named(table.setdefault("phases", []), found["phase"])
    if value is None:
        table.pop(found["name"], None)
    else:
        table[found["name"]] = value
    return True


def _named(tables: list[dict[str, Any]], slug: str) -> dict[str, Any]:
    for table in tables:
        if table["slug"] == slug:
            return table
    tables.append({"slug": slug})
    return tables[-1]
