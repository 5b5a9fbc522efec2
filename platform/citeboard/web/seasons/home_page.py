"""The context of the home page."""

import itertools
from dataclasses import dataclass
from functools import cached_property

from django.core.paginator import Page, Paginator

from citeboard.web.seasons.season_lines import (
    ListedPhase,
    ListedSeason,
    ListedTask,
    build_listed_seasons,
)
from scoring.exchange import mounted
from scoring.models import Paper
from scoring.results.board.public_results import PublicRankOfRun
from scoring.results.comparison.examples import build_short_example
from scoring.results.comparison.pieces import DisplayedInstancePart
from tasks.models import Season, Task
from tasks.seasons import access

SEASONS_PER_PAGE = 12
#: The home page shows the examples of MAX_EXPANDED_EXAMPLES tasks.
#: Readers can open the examples of the other tasks on the home page.
MAX_EXPANDED_EXAMPLES = 3


@dataclass(frozen=True)
class HomePageTask:
    line: ListedTask
    is_example_open: bool

    @property
    def current(self) -> ListedPhase | None:
        return self.line.current

    @property
    def leader(self) -> PublicRankOfRun | None:
        leaders = self.current.leaders if self.current else ()
        return leaders[0] if leaders else None

    @property
    def example(self) -> list[DisplayedInstancePart]:
        return build_short_example(self.line.task.task_type)


@dataclass(frozen=True, kw_only=True)
class HomePagePaper:
    """A published paper and the tasks whose results are in the paper.

    ``paper`` is None if the paper's tables are not loaded.
    """

    paper: Paper | None
    tasks: list[Task]

    @property
    def seasons(self) -> list[Season]:
        return list({task.season_id: task.season for task in self.tasks}.values())


@dataclass(frozen=True)
class HomePage:
    viewer: object
    number: int

    @cached_property
    def seasons(self) -> "Page[Season]":
        seasons = (
            Season.objects.visible_to(self.viewer)
            .annotate_team_count()
            .order_by_current_first()
        )
        return Paginator(seasons, SEASONS_PER_PAGE).get_page(self.number)

    @cached_property
    def lines(self) -> list[ListedSeason]:
        return build_listed_seasons(list(self.seasons.object_list))

    def _find_seasons_in_state(self, state: str) -> list[ListedSeason]:
        return [line for line in self.lines if line.state == state]

    @property
    def open(self) -> list[ListedSeason]:
        return self._find_seasons_in_state("open")

    @property
    def ahead(self) -> list[ListedSeason]:
        return self._find_seasons_in_state("ahead")

    @property
    def closed(self) -> list[ListedSeason]:
        return self._find_seasons_in_state("closed")

    @property
    def published(self) -> list[ListedSeason]:
        return self._find_seasons_in_state("published")

    @property
    def open_seasons_with_tasks(self) -> list[tuple[ListedSeason, list[HomePageTask]]]:
        number = itertools.count(1)

        def home_page_task(task: ListedTask) -> HomePageTask:
            return HomePageTask(
                task, is_example_open=next(number) <= MAX_EXPANDED_EXAMPLES
            )

        return [
            (line, [home_page_task(task) for task in line.tasks]) for line in self.open
        ]

    @cached_property
    def papers(self) -> list[HomePagePaper]:
        """Return the papers of seasons that contain only published results."""
        tasks_by_key: dict[str, list[Task]] = {}
        for line in self.published:
            for task in (task.task for task in line.tasks):
                keys = dict.fromkeys(table["paper"] for table in task.published)
                for key in keys or [""]:
                    tasks_by_key.setdefault(key, []).append(task)
        known = {
            paper.key: paper for paper in Paper.objects.filter(key__in=tasks_by_key)
        }
        return [
            HomePagePaper(paper=known.get(key), tasks=tasks)
            for key, tasks in tasks_by_key.items()
        ]

    @property
    def archives(self) -> list[mounted.MountedArchive]:
        return [] if self.seasons.has_next() else mounted.list_mounted_archives()

    @property
    def may_create_seasons(self) -> bool:
        return access.can_create_seasons(self.viewer)
