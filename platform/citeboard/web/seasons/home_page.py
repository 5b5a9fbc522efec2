"""The context of the home page."""

from dataclasses import dataclass
from functools import cached_property

from django.core.paginator import Page, Paginator

from citeboard.web.seasons.season_lines import (
    PhaseLine,
    SeasonLine,
    TaskLine,
    season_lines,
)
from scoring.exchange import mounted
from scoring.results.board.public_results import Placing, public_top
from scoring.results.board.table import Axis, Whisker, whisker
from scoring.results.comparison.drawing import ASKED, Part, drawn_example
from tasks.models import Season
from tasks.seasons import access

SEASONS_A_PAGE = 12


@dataclass(frozen=True, kw_only=True)
class SmallRow:
    leader: Placing
    whisker: Whisker | None


@dataclass(frozen=True)
class SmallTask:
    """A task as the first page shows it: drawn by its sample, and the first rows of the board it is read for.
    ``published`` has the best of the task's own published results, or of another task of its kind.
    """

    line: TaskLine
    published: TaskLine | None

    @property
    def current(self) -> PhaseLine | None:
        return self.line.current

    @property
    def asked(self) -> str:
        return str(ASKED.get(self.line.task.task_type.drawn_as, ""))

    @property
    def example(self) -> list[Part]:
        return drawn_example(self.line.task.task_type)

    @cached_property
    def rows(self) -> list[SmallRow]:
        if self.current is None or self.current.state == "ahead":
            return []
        places = public_top(self.current.phase)
        cells = [place.cell for place in places if place.cell]
        column = places[0].column if places else None
        axis = Axis.over(cells, column.scale) if cells and column else None
        return [
            SmallRow(leader=place, whisker=whisker(place.cell, axis, place.interval))
            for place in places
        ]


@dataclass(frozen=True)
class HomePage:
    """The seasons that ``viewer`` may see, on the page of this ``number``."""

    viewer: object
    number: int

    @cached_property
    def seasons(self) -> "Page[Season]":
        seasons = Season.objects.visible_to(self.viewer).with_teams().current_first()
        return Paginator(seasons, SEASONS_A_PAGE).get_page(self.number)

    @cached_property
    def lines(self) -> list[SeasonLine]:
        return season_lines(list(self.seasons.object_list))

    def _in_state(self, state: str) -> list[SeasonLine]:
        return [line for line in self.lines if line.state == state]

    @property
    def open(self) -> list[SeasonLine]:
        return self._in_state("open")

    @property
    def ahead(self) -> list[SeasonLine]:
        return self._in_state("ahead")

    @property
    def closed(self) -> list[SeasonLine]:
        return self._in_state("closed")

    @property
    def published(self) -> list[SeasonLine]:
        return self._in_state("published")

    @property
    def in_small(self) -> list[tuple[SeasonLine, list[SmallTask]]]:
        elsewhere = {
            task.task.task_type.slug: task
            for line in reversed(self.published)
            for task in line.tasks
            if task.reported
        }

        def small(task: TaskLine) -> SmallTask:
            other = elsewhere.get(task.task.task_type.slug)
            return SmallTask(task, task if task.reported else other)

        return [(line, [small(task) for task in line.tasks]) for line in self.open]

    @property
    def archives(self) -> list[mounted.Mounted]:
        return [] if self.seasons.has_next() else mounted.mounted_archives()

    @property
    def may_create_seasons(self) -> bool:
        return access.may_create_seasons(self.viewer)
