"""Compare the sums on the settings page with what is shown on the same content."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Iterator
from typing import Any

from attacking.besieged import (
    Besieged,
    Row,
    make_phase,
    make_season,
    make_team,
    named,
    organiser_of,
)

#: Of an open phase: at least so many bits more than a phase with a public part.
RUNS_A_DAY = 50
CELL = re.compile(r"<td[^>]*>([^<]*)</td>")


def attacks(site: Besieged) -> Iterator[Row]:
    for beside in ("phase", "task", "rule set", "season", "team"):
        yield budget(site, beside)


def budget(site: Besieged, beside: str) -> Row:
    """Set up what tells more on the same content, and read the page of the protected phase."""
    from citeboard.core.refusals import ActionRefused
    from tests import factories
    from tests.declared.small_tasks import SMALL_TASKS

    small = SMALL_TASKS["labels"]
    season = make_season("budget")
    phase = make_phase(season, small, small.gold_files(), public_part=30)
    make_team(season)
    _, before_of_five = _stated(site, phase)
    open_settings: dict[str, Any] = {
        "runs_per_day": RUNS_A_DAY, "closes": phase.closes + dt.timedelta(days=300),
        "board": "everyone",
    }  # fmt: skip
    try:
        if beside == "phase":
            settings = {**open_settings, "split": phase.split, "public_part": 60}
            factories.make_phase(task=phase.task, with_gold=False, **named(settings))
        elif beside == "task":
            make_phase(season, small, small.gold_files(), **open_settings)
        elif beside == "season":
            own = make_season("budget-beside")
            user = organiser_of(season)
            own.organisers.create(user=user, role="organiser")
            make_phase(own, small, small.gold_files(), **open_settings)
        elif beside == "rule set":
            ladder = {**open_settings, "split": phase.split, "ladder": True}
            factories.make_phase(task=phase.task, with_gold=False, **named(ladder))
        else:
            for _ in range(4):
                make_team(season)
    except ActionRefused as refusal:
        return Row(_name(beside), f"refused: {refusal}", True)
    after, after_of_five = _stated(site, phase)
    if beside == "team":
        stated = f"{after:g} bits stated for one team, {after_of_five:g} for five"
        return Row(_name(beside), stated, after_of_five >= 5 * after > 0)
    stated = f"{before_of_five:g} bits stated for five teams, then {after_of_five:g}"
    # Nothing can be added to a page that says that everything can be revealed.
    is_stated = after_of_five > before_of_five or math.isinf(after_of_five)
    return Row(_name(beside), stated, is_stated)


def _name(beside: str) -> str:
    more = {
        "phase": "a phase on the same split with a larger public part",
        "task": f"another task on the same files with {RUNS_A_DAY} runs a day",
        "rule set": "a phase with the Ladder on the same split",
        "season": "another season of the same organiser on the same files",
        "team": "five teams in place of one",
    }
    return f"the budget of a protected phase, and beside it {more[beside]}"


def _stated(site: Besieged, phase: Any) -> tuple[float, float]:
    """Return the sums of bits on the settings page of the phase: for one team, and for five."""
    season = phase.task.season
    path = f"/seasons/{season.slug}/organise/settings/phases/{phase.pk}/"
    answer = site.get_signed_in(path, organiser_of(season))
    _, _, row = answer.body.decode("utf-8", "replace").partition("Together</th>")
    one, five = (_bits(cell) for cell in CELL.findall(row)[:2])
    return one, five


def _bits(words: str) -> float:
    digits = re.sub(r"[^\d.]", "", words)
    return float(digits) if digits else math.inf
