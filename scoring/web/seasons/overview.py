"""The first page, and a season's own."""

import datetime as dt
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.core.paginator import Paginator
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.timezone import now
from django.views.decorators.http import require_safe

from citeboard.core.query import whole_number
from citeboard.teams.access import teams_of
from citeboard.teams.models import Team, User
from scoring.board.cache import is_visitor, kept_for_visitors, tag_of
from scoring.board.counting import site_facts
from scoring.board.formatting import interval, metric_label, shown
from scoring.board.public_results import FirstPlace, public_first_places, shows_baselines_alone
from scoring.board.visibility import viewer_of
from scoring.exchange import linked_data
from scoring.exchange.citations import of_season
from scoring.exchange.mounted import mounted_archives
from scoring.models import Sheet
from scoring.publications.published import leading_of_each
from scoring.publications.reproduced import is_reproduced
from scoring.web.pages import Answer, season_readers
from scoring.web.shared_pages import page_alike
from tasks.gold.secrecy import with_phases
from tasks.models import JoinRequest, Organiser, Phase, Registration, Season, Submission, Task
from tasks.registration.entries import current_terms, requests_of, terms_to_accept
from tasks.seasons.access import entered_teams, listed_entries, may_create_seasons, may_help, teams_to_ask

SEASONS_A_PAGE = 12


#: What no history tells of, such as a person's new affiliation, is on a kept page so late at most.
KEPT_SECONDS = 60


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    number = whole_number(request.GET.get("page", ""))
    reader = viewer_of(request.user)
    sees = (reader.is_staff, reader.seasons)
    return _page(request, "seasons/home.html", number, lambda: _home(request, number), sees)


@season_readers.page()
def season(request: HttpRequest, season: Season) -> Answer:
    reader = viewer_of(request.user)
    response = _page(request, "seasons/season.html", None, lambda: _season(request, season), reader.key)
    response["Link"] = linked_data.season_links(season)
    return response


def _page(
    request: HttpRequest,
    template: str,
    query: int | None,
    context: Callable[[], dict[str, Any]],
    reader: tuple[object, ...],
) -> HttpResponse:
    """Kept until something changes on the site: for visitors, and for all who have signed in and are the
    same ``reader``.
    """
    if isinstance(request.user, User):
        facts = (request.path, query, site_facts(), reader)
        return HttpResponse(page_alike(request, template, context, facts, KEPT_SECONDS))
    if not is_visitor(request):
        return HttpResponse(render_to_string(template, context(), request))

    def body() -> str:
        return render_to_string(template, context(), request)

    return kept_for_visitors(request, tag_of(request, query, *site_facts()), body, KEPT_SECONDS)


def _home(request: HttpRequest, number: int) -> dict[str, Any]:
    seasons = Season.objects.visible_to(request.user).with_teams().current_first()
    page = Paginator(seasons, SEASONS_A_PAGE).get_page(number or 1)
    lines = season_lines(list(page.object_list))
    by_state = {
        state: [line for line in lines if line.state == state]
        for state in ("open", "ahead", "closed", "published")
    }
    return {
        **by_state,
        "page": page,
        "archives": [] if page.has_next() else mounted_archives(),
        "may_create_seasons": may_create_seasons(request.user),
    }


def _season(request: HttpRequest, found: Season) -> dict[str, Any]:
    entries = Registration.objects.filter(season=found).select_related("team").order_by("team__name")
    sent = Submission.objects.filter(team=OuterRef("team"), phase__task__season=found)
    mine = list(teams_of(request.user))
    line = season_lines(list(Season.objects.with_teams().filter(pk=found.pk)))[0]
    registrations = list(listed_entries(request.user, found).not_refused().marked())
    is_helper = may_help(request.user, found)
    return {
        "season": found,
        "line": line,
        "citation": of_season(found),
        "is_reproduced": any(is_reproduced(task.task) for task in line.tasks),
        "registrations": registrations,
        "public_teams": _public_teams(found, registrations, is_everybodys=not is_helper),
        "organisers": Organiser.objects.filter(season=found, role=Organiser.Role.ORGANISER).select_related(
            "user"
        ),
        "may_help": is_helper,
        "own": entries.filter(team__in=mine).annotate(has_sent=Exists(sent)),
        "could_enter": [team for team in mine if not entries.filter(team=team).exists()],
        "could_ask": _could_ask(request, found),
        "asked": requests_of(request.user).filter(season=found),
        "terms": current_terms(found),
        "terms_to_accept": terms_to_accept(found, request.user),
        "to_rate": _sheets_to_rate(request, found),
    }


def _could_ask(request: HttpRequest, season: Season) -> QuerySet[Team]:
    if not isinstance(request.user, User):
        return Team.objects.none()
    if not season.allows_several_teams and entered_teams(request.user, season).exists():
        return Team.objects.none()
    asked = JoinRequest.objects.filter(user=request.user).values("team")
    return teams_to_ask(request.user, season).exclude(pk__in=asked).order_by("name")


def _public_teams(
    season: Season, registrations: Sequence[Registration], *, is_everybodys: bool
) -> Collection[int]:
    """Those that have a public page to be led to; who helps reads of teams that others do not."""
    if is_everybodys:
        return {entry.team_id for entry in registrations if entry.is_approved}
    if not season.is_public:
        return ()
    return set(listed_entries(None, season).approved().values_list("team_id", flat=True))


def _sheets_to_rate(request: HttpRequest, season: Season) -> QuerySet[Sheet]:
    if not request.user.is_authenticated:
        return Sheet.objects.none()
    own = Sheet.objects.open().filter(annotators__user=request.user.pk, phase__task__season=season)
    return own.select_related("phase__task")


@require_safe
def about(request: HttpRequest) -> HttpResponse:
    return render(request, "seasons/about.html")


@dataclass(frozen=True, kw_only=True)
class Leader:
    """Who is first on a board; number, metric and interval are empty where ranks alone are shown."""

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
    """A task with its phases; ``current`` is the one that a reader comes for."""

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
    """The seasons with all that lists show of them, in a fixed number of queries and what the cache holds."""
    at = now()
    tasks = Task.objects.filter(season__in=seasons).select_related("season")
    lines: dict[int, list[TaskLine]] = {season.pk: [] for season in seasons}
    reported = _reported([task for task in tasks if task.is_reported_only])
    with_phases(tasks)
    for task in tasks:
        phases = []
        for phase in task.phases.all():
            leaders = tuple(map(_leader, public_first_places(phase)))
            state = "ahead" if at < phase.opens else "open" if at < phase.closes else "closed"
            phases.append(
                PhaseLine(
                    phase=phase,
                    state=state,
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
