"""What a season file says of rows of which it names nothing but what it must: read from such a file."""

from __future__ import annotations

import datetime as dt
from functools import cache

from django.db.models import Model

from tasks.models import Phase, Season, Task
from tasks.seasons.file.entries import FileAlone, parse_season_file
from tasks.seasons.file.facts import SEASON, Facts, facts_of, phase_prefix, task_prefix
from tasks.seasons.file.writing import document
from tasks.types import task_types

#: What a file says by its order, or in tables of its own.
APART = ("position", "published")


def defaults_of(season: Season) -> dict[str, Facts]:
    """By the prefix of each row that the season has."""
    return _defaults(
        season.slug,
        {(task.slug, task.type): [phase.slug for phase in task.phases.all()] for task in season.tasks.all()},
    )


@cache
def settings_of(model: type[Model]) -> Facts:
    """The fields of a season, a task or a phase that can be set, in order, with their defaults."""
    kind = next(iter(task_types()))
    found = _defaults("season", {("task", kind): ["phase"]})
    prefix = {Season: SEASON, Task: task_prefix("task"), Phase: phase_prefix("task", "phase")}[model]
    return {name: value for name, value in found[prefix].items() if name not in APART}


def _defaults(season: str, tasks: dict[tuple[str, str], list[str]]) -> dict[str, Facts]:
    opens, closes = (dt.datetime(year, 1, 1, tzinfo=dt.UTC) for year in (2020, 2030))
    least = {
        "season": {"slug": season, "title": "-"},
        "tasks": [
            {
                "slug": task,
                "title": "-",
                "type": kind,
                "phases": [{"slug": slug, "title": "-", "opens": opens, "closes": closes} for slug in phases],
            }
            for (task, kind), phases in tasks.items()
        ],
    }
    entry = parse_season_file(document(least).encode(), FileAlone())
    return facts_of(entry, {task.slug: [] for task in entry.tasks})
