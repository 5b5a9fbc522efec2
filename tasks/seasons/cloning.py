"""Next year's season: the structure of this one, and nobody in it."""

from __future__ import annotations

import datetime as dt
from typing import Any

from django.db import transaction

from citeboard.core import audit
from citeboard.teams.models import User
from tasks.models import Season
from tasks.models.seasons import NO_END
from tasks.seasons.file.export import structure_of
from tasks.seasons.file.load import load_values
from tasks.seasons.freezing import FREEZE_FIELDS
from tasks.seasons.organisers import add_organiser

#: The same day of the week, a year later.
A_YEAR = 364
MAX_DAYS = 20 * 365


def clone_season(*, season: Season, slug: str, title: str, days: int = A_YEAR, by: User | None) -> Season:
    """A draft with the same tasks, rules, options and phases, ``days`` later; ``by`` organises it.

    People, the list of who may enter, runs, gold, baselines, announcements and freezes of boards stay behind.
    Raises InputRefused, in the words of a season file, where the slug or the title cannot be taken.
    """
    values = structure_of(season)
    values["season"] |= {"slug": slug, "title": title, "public": False}
    values["season"].pop("entry_list", None)
    later = dt.timedelta(days=days)
    _move(values["season"], later)
    for task in values["tasks"]:
        for phase in task["phases"]:
            for name in FREEZE_FIELDS:
                phase.pop(name, None)
            _move(phase, later)
    with transaction.atomic():
        made = load_values(values, by=by).season
        if by is not None:
            add_organiser(season=made, user=by, by=by)
        words = f"cloned {season} as {made}"
        audit.note(actor=by, action="season-cloned", words=words, subject=made, place=season)
    return made


def _move(said: dict[str, Any], by: dt.timedelta) -> None:
    """Every instant of it; a phase without an end stays without."""
    no_end = dt.datetime.now(dt.UTC) + NO_END
    for name, value in said.items():
        if isinstance(value, dt.datetime) and value < no_end:
            said[name] = value + by
