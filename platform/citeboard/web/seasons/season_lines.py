"""The data that lists of seasons show, with tasks, phases and the first rows of boards."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from django.utils.timezone import now

from scoring.results.board.public_results import (
    PublicRankOfRun,
    load_public_first_ranks,
    load_public_verdict,
    shows_only_baselines_publicly,
)
from scoring.results.board.verdict import BoardVerdict
from scoring.results.comparison.drawing import QUESTIONS_BY_TASK_FORM
from scoring.results.publications import published
from tasks.gold.secrecy import prefetch_phases_with_embargoes
from tasks.models import Phase, Season, Task
from tasks.seasons.cards import get_one_sentence_description


@dataclass(frozen=True)
class ListedPhase:
    """A phase in a list of seasons. The attribute ``state`` of a phase is `open`,
    `ahead` or `closed`.
    """

    phase: Phase
    state: str
    leaders: tuple[PublicRankOfRun, ...]
    has_baselines_alone: bool
    verdict: BoardVerdict | None = None


@dataclass(frozen=True, kw_only=True)
class ListedTask:
    """A task in a list of seasons.

    ``reported`` contains the best published result of the task and the source of the
    result.
    """

    task: Task
    phases: list[ListedPhase]
    reported: dict[str, str] | None = None

    @property
    def sentence(self) -> str:
        return get_one_sentence_description(self.task) or str(
            QUESTIONS_BY_TASK_FORM.get(self.task.task_type.drawn_as, "")
        )

    @property
    def current(self) -> ListedPhase | None:
        """Return the task's open phase with the earliest end.

        If no phase is open, return the phase that closed last, or else the first future
        phase.
        """
        is_open = [line for line in self.phases if line.state == "open"]
        closed = [line for line in self.phases if line.state == "closed"]
        if is_open:
            return min(is_open, key=lambda line: line.phase.closes)
        return (
            max(closed, key=lambda line: line.phase.closes)
            if closed
            else next(iter(self.phases), None)
        )


@dataclass(frozen=True, kw_only=True)
class ListedSeason:
    season: Season
    teams: int
    tasks: list[ListedTask]

    @property
    def state(self) -> str:
        states = {line.state for task in self.tasks for line in task.phases}
        if (
            self.tasks
            and not states
            and all(line.task.is_reported_only for line in self.tasks)
        ):
            return "published"
        return next(
            (state for state in ("open", "ahead", "closed") if state in states), "ahead"
        )

    @cached_property
    def next_phase_to_close(self) -> Phase | None:
        ending = [
            line.phase
            for line in self._all_phases
            if line.state == "open" and line.phase.has_end
        ]
        return min(ending, key=lambda phase: phase.closes, default=None)

    @property
    def has_baselines_alone(self) -> bool:
        """Return True if the boards of this task show only baselines."""
        phases = self._all_phases
        return any(line.has_baselines_alone for line in phases) and not any(
            line.leaders for line in phases
        )

    @property
    def _all_phases(self) -> list[ListedPhase]:
        return [line for task in self.tasks for line in task.phases]


def build_listed_seasons(seasons: Sequence[Season]) -> list[ListedSeason]:
    """Return seasons with the data that a list of seasons shows.

    If the boards are cached, the number of queries does not depend on the number of
    seasons.
    """
    at = now()
    tasks = Task.objects.filter(season__in=seasons).select_related("season")
    lines: dict[int, list[ListedTask]] = {season.pk: [] for season in seasons}
    reported = _find_best_published_by_task(list(tasks))
    prefetch_phases_with_embargoes(tasks)
    for task in tasks:
        phases = []
        for phase in task.phases.all():
            leaders = load_public_first_ranks(phase)
            state = (
                "ahead"
                if at < phase.opens
                else "open"
                if at < phase.closes
                else "closed"
            )
            phases.append(
                ListedPhase(
                    phase,
                    state,
                    leaders,
                    not leaders and shows_only_baselines_publicly(phase),
                    load_public_verdict(phase),
                )
            )
        lines[task.season_id].append(
            ListedTask(task=task, phases=phases, reported=reported.get(task.pk))
        )
    return [
        ListedSeason(season=season, teams=season.teams, tasks=lines[season.pk])  # type: ignore[attr-defined]
        for season in seasons
    ]


def _find_best_published_by_task(tasks: Sequence[Task]) -> dict[int, dict[str, str]]:
    found = {}
    for task, table in published.find_leading_table_by_task(tasks).items():
        for best in table.rows[:1]:
            figure = best.figures.get(table.leading.name)
            found[task] = {
                "system": best.system,
                "team": table.table.paper.short,
                "number": figure.printed if figure else "",
                "metric": table.leading.label,
            }
    return found
