"""Seasons at a glance: their tasks and phases, when they close, who takes part, who leads."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from django.utils.timezone import now

from scoring.board.first_place import FirstPlace, public_first_places, shows_baselines_alone
from scoring.board.names import metric_label
from scoring.board.numbers import interval, shown
from scoring.publications.published import leading_of_each
from tasks.models import Phase, Season, Task


@dataclass(frozen=True, kw_only=True)
class Leader:
    """Who is first on a board; number, metric and interval are empty where ranks alone are shown.

    ``tied`` is how many others do not differ significantly, None where that is not known.
    """

    system: str
    team: str
    number: str
    metric: str
    interval: str = ""
    tied: int | None = None


@dataclass(frozen=True, kw_only=True)
class PhaseLine:
    """A phase as a list shows it; ``state`` is `open`, `ahead` or `closed`."""

    phase: Phase
    state: str
    leaders: tuple[Leader, ...]
    has_baselines_alone: bool = False


@dataclass(frozen=True, kw_only=True)
class TaskLine:
    """A task with its phases; ``current`` is the one that a reader comes for.

    ``reported`` is who is first among published results, of a task that has nothing else.
    """

    task: Task
    phases: list[PhaseLine]
    reported: Leader | None = None

    @property
    def current(self) -> PhaseLine | None:
        """The open phase that closes first, else the last one that has closed, else the first to come."""
        is_open = [line for line in self.phases if line.state == "open"]
        closed = [line for line in self.phases if line.state == "closed"]
        if is_open:
            return min(is_open, key=lambda line: line.phase.closes)
        return max(closed, key=lambda line: line.phase.closes) if closed else next(iter(self.phases), None)


@dataclass(frozen=True, kw_only=True)
class SeasonLine:
    """A season with its tasks; ``teams`` is how many take part."""

    season: Season
    teams: int
    tasks: list[TaskLine]

    @property
    def state(self) -> str:
        states = {line.state for task in self.tasks for line in task.phases}
        if self.tasks and not states and all(line.task.is_reported_only for line in self.tasks):
            return "published"
        return next((state for state in ("open", "ahead", "closed") if state in states), "ahead")

    @property
    def next_deadline(self) -> dt.datetime | None:
        return self._next.closes if self._next else None

    @property
    def next_zone(self) -> str:
        """In which the next deadline is written."""
        return self._next.time_zone if self._next else ""

    @cached_property
    def _next(self) -> Phase | None:
        ending = [line.phase for line in self._phases if line.state == "open" and line.phase.has_end]
        return min(ending, key=lambda phase: phase.closes, default=None)

    @property
    def has_baselines_alone(self) -> bool:
        """Whether boards show baselines and none of them the run of a team."""
        phases = self._phases
        return any(line.has_baselines_alone for line in phases) and not any(line.leaders for line in phases)

    @property
    def _phases(self) -> list[PhaseLine]:
        return [line for task in self.tasks for line in task.phases]


def season_lines(seasons: Sequence[Season]) -> list[SeasonLine]:
    """The seasons with all that lists show of them, in a fixed number of queries and what the cache holds.

    They come with their number of teams.
    """
    at = now()
    tasks = Task.objects.filter(season__in=seasons).select_related("season").prefetch_related("phases")
    lines: dict[int, list[TaskLine]] = {season.pk: [] for season in seasons}
    reported = _reported([task for task in tasks if task.is_reported_only])
    for task in tasks:
        phases = []
        for phase in task.phases.all():
            phase.task = task
            leaders = tuple(map(_leader, public_first_places(phase)))
            phases.append(
                PhaseLine(
                    phase=phase,
                    state=_state(phase, at),
                    leaders=leaders,
                    has_baselines_alone=not leaders and shows_baselines_alone(phase),
                )
            )
        lines[task.season_id].append(TaskLine(task=task, phases=phases, reported=reported.get(task.pk)))
    return [
        SeasonLine(season=season, teams=season.teams, tasks=lines[season.pk])  # type: ignore[attr-defined]
        for season in seasons
    ]


def _reported(tasks: Sequence[Task]) -> dict[int, Leader]:
    """Who is first in the leading published table of each task."""
    found = {}
    for task, table in leading_of_each(tasks).items():
        if not table.rows:
            continue
        figure = table.rows[0].figures.get(table.leading.name)
        found[task] = Leader(
            system=table.rows[0].system,
            team=table.table.paper.short,
            number=figure.printed if figure else "",
            metric=table.leading.label,
        )
    return found


def _leader(place: FirstPlace) -> Leader:
    return Leader(
        system=place.system,
        team=place.team or "",
        number="" if place.metric is None else shown(place.value, place.scale),
        metric=metric_label(place.metric) if place.metric else "",
        interval=interval(place.low, place.high, place.scale),
        tied=place.tied,
    )


def _state(phase: Phase, at: dt.datetime) -> str:
    if at < phase.opens:
        return "ahead"
    return "open" if at < phase.closes else "closed"
