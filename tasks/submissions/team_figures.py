"""The numbers that a team may give with a run: read with care, kept beside the run, never ranked.

What a run cost its team (wall time, CPU time, memory, GPU time), and measures that a task type leaves to
teams because they need a model of their own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from django.core.exceptions import ValidationError
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from tasks.models import Submission, TeamFigure
from tasks.types import TaskType


@dataclass(frozen=True, kw_only=True)
class TeamMeasure:
    """What a number is of; ``highest`` is the largest that can be meant, in ``unit``.

    ``english`` and ``asks`` are English; ``label`` and ``help`` are the same in the language of who reads.
    """

    name: str
    english: str
    unit: str
    highest: float
    asks: str
    is_cost: bool = True

    @property
    def label(self) -> str:
        return gettext(self.english)

    @property
    def help(self) -> str:
        return gettext(self.asks)

    @property
    def titled(self) -> str:
        """`Wall time (s)`."""
        return f"{self.label} ({self.unit})" if self.unit else self.label


_CENTURY = 100 * 365.25 * 24 * 3600
COSTS = (
    TeamMeasure(
        name="wall_seconds", english=_("Wall time"), unit="s", highest=_CENTURY,
        asks=_("Seconds from the start of the system to its last answer, on the whole split."),
    ),
    TeamMeasure(
        name="cpu_seconds", english=_("CPU time"), unit="s", highest=1000 * _CENTURY,
        asks=_("Seconds, over all cores."),
    ),
    TeamMeasure(
        name="memory_mib", english=_("Peak memory"), unit="MiB", highest=2.0**40,
        asks=_("Mebibytes, at the highest, without the memory of GPUs."),
    ),
    TeamMeasure(
        name="gpu_seconds", english=_("GPU time"), unit="s", highest=1000 * _CENTURY,
        asks=_("Seconds, over all GPUs; say in the description which they are."),
    ),
)  # fmt: skip
#: What a task type may leave to teams, by name.
SCORES = {
    "mauve": TeamMeasure(
        name="mauve", english="MAUVE", unit="", highest=100, is_cost=False,
        asks=_("From 0 to 100, as the team computed it; say in the description with which model."),
    ),
}  # fmt: skip
#: By name, those of every task type.
EVERY = {cost.name: cost for cost in (*COSTS, *SCORES.values())}


def measures_for(task_type: TaskType) -> tuple[TeamMeasure, ...]:
    """What runs for the task type may be given with."""
    return (*COSTS, *(SCORES[name] for name in task_type.team_scores))


def checked_figures(task_type: TaskType, given: Mapping[str, object]) -> dict[str, float]:
    """By name, without those that are left empty. Raises ValidationError with every field that is refused."""
    known = {measure.name: measure for measure in measures_for(task_type)}
    found: dict[str, float] = {}
    faults: dict[str, str] = {}
    for name, value in given.items():
        if value is None or (isinstance(value, str) and not value.strip()):
            continue
        if name not in known:
            faults[name] = gettext("runs for %(task_type)s are not given with this; there are %(names)s") % {
                "task_type": task_type.slug,
                "names": ", ".join(known),
            }
            continue
        number = _number(value)
        if number is None:
            faults[name] = gettext("“%(found)s” is not a number") % {"found": str(value)[:40]}
        elif not 0 <= number <= known[name].highest:
            highest = f"{known[name].highest:g} {known[name].unit}".rstrip()
            words = gettext("%(found)s is not from 0 to %(highest)s")
            faults[name] = words % {"found": f"{number:g}", "highest": highest}
        else:
            found[name] = number
    if faults:
        raise ValidationError(faults)
    return found


def readable_figures(task_type: TaskType, given: Mapping[str, object]) -> dict[str, float]:
    """The same of what nobody typed: what cannot be meant is passed over."""
    found: dict[str, float] = {}
    for name, value in given.items():
        try:
            found |= checked_figures(task_type, {name: value})
        except ValidationError:
            continue
    return found


def keep_figures(submission: Submission, figures: Mapping[str, float]) -> None:
    """In the transaction that takes the run."""
    TeamFigure.objects.bulk_create(
        TeamFigure(submission=submission, phase_id=submission.phase_id, name=name, value=value)
        for name, value in figures.items()
    )


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
