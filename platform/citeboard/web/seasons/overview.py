"""The first page, a season's own, and the cards and downloads of its tasks."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import Exists, OuterRef, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.timezone import now
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from citeboard.core import storage, words
from citeboard.core.query import whole_number
from citeboard.core.storage.downloads import download
from citeboard.teams import api, models
from citeboard.teams.access import teams_of
from citeboard.web.pages import Answer, page_alike, season_readers, task_readers
from scoring.exchange import citations, linked_data, mounted
from scoring.exchange.data_sets import released_phases
from scoring.models import Sheet
from scoring.results.board import counting, open_gold, visibility
from scoring.results.board.cache import answered, is_visitor, tag_of
from scoring.results.board.public_results import (
    Placing,
    public_first_places,
    public_top,
    shows_baselines_alone,
)
from scoring.results.board.table import Axis, whisker
from scoring.results.comparison.drawing import ASKED, drawn_example
from scoring.results.publications import published, reproduced
from tasks.gold.secrecy import with_phases
from tasks.models import (
    Gold,
    JoinRequest,
    Organiser,
    Phase,
    Registration,
    Season,
    Submission,
    Task,
)
from tasks.registration.entries import current_terms, requests_of, terms_to_accept
from tasks.seasons import access, timeline
from tasks.seasons.cards import card
from tasks.submissions.refusals import InputsNotReleased, TermsNotAccepted
from tasks.types.citation_text.instances import MAX_INPUT, MAX_OUTPUT, SELF_REFERENCES

SEASONS_A_PAGE = 12

#: What no history tells of, such as a person's new affiliation, is on a kept page so late at most.
KEPT_SECONDS = 60


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    number = whole_number(request.GET.get("page", ""))
    reader = visibility.viewer_of(request.user)
    sees = (reader.is_staff, reader.seasons)
    return _page(
        request, "seasons/home.html", number, lambda: _home(request, number), sees
    )


@season_readers.page()
def season(request: HttpRequest, season: Season) -> Answer:
    reader = visibility.viewer_of(request.user)
    response = _page(
        request,
        "seasons/season.html",
        None,
        lambda: _season(request, season),
        reader.key,
    )
    response["Link"] = linked_data.season_links(season)
    return response


def _page(
    request: HttpRequest,
    template: str,
    query: int | None,
    context: Callable[[], dict[str, Any]],
    reader: tuple[object, ...],
) -> HttpResponse:
    """Kept until something changes on the site, for visitors and for each ``reader``."""
    if isinstance(request.user, models.User):
        facts = (request.path, query, counting.site_facts(), reader)
        return HttpResponse(page_alike(request, template, context, facts, KEPT_SECONDS))

    def body() -> str:
        return render_to_string(template, context(), request)

    if not is_visitor(request):
        return HttpResponse(body())
    tag = tag_of(request, query, *counting.site_facts())
    return answered(
        request, tag, body, is_public=True, hides=lambda: True, seconds=KEPT_SECONDS
    )


def _home(request: HttpRequest, number: int) -> dict[str, Any]:
    seasons = Season.objects.visible_to(request.user).with_teams().current_first()
    page = Paginator(seasons, SEASONS_A_PAGE).get_page(number or 1)
    lines = season_lines(list(page.object_list))
    states = ("open", "ahead", "closed", "published")
    by_state = {
        state: [line for line in lines if line.state == state] for state in states
    }
    elsewhere = {
        task.task.task_type.slug: task
        for line in reversed(by_state["published"])
        for task in line.tasks
        if task.reported
    }
    return {
        **by_state,
        "shown": [
            (
                line,
                [
                    _in_small(task, elsewhere.get(task.task.task_type.slug))
                    for task in line.tasks
                ],
            )
            for line in by_state["open"]
        ],
        "page": page,
        "archives": [] if page.has_next() else mounted.mounted_archives(),
        "may_create_seasons": access.may_create_seasons(request.user),
    }


def _season(request: HttpRequest, found: Season) -> dict[str, Any]:
    entries = (
        Registration.objects.filter(season=found)
        .select_related("team")
        .order_by("team__name")
    )
    sent = Submission.objects.filter(team=OuterRef("team"), phase__task__season=found)
    mine = list(teams_of(request.user))
    line = season_lines(list(Season.objects.with_teams().filter(pk=found.pk)))[0]
    registrations = list(
        access.listed_entries(request.user, found).not_refused().marked()
    )
    is_helper = access.may_help(request.user, found)
    return {
        "season": found,
        "line": line,
        "citation": citations.of_season(found),
        "is_reproduced": any(
            reproduced.is_reproduced(task.task) for task in line.tasks
        ),
        "registrations": registrations,
        "public_teams": _public_teams(
            found, registrations, is_everybodys=not is_helper
        ),
        "organisers": found.organisers.filter(
            role=Organiser.Role.ORGANISER
        ).select_related("user"),
        "may_help": is_helper,
        "own": entries.filter(team__in=mine).annotate(has_sent=Exists(sent)),
        "could_enter": [
            team for team in mine if not entries.filter(team=team).exists()
        ],
        "could_ask": _could_ask(request, found),
        "asked": requests_of(request.user).filter(season=found),
        "terms": current_terms(found),
        "terms_to_accept": terms_to_accept(found, request.user),
        "to_rate": _sheets_to_rate(request, found),
        **timeline.time_line(found),
    }


def _could_ask(request: HttpRequest, season: Season) -> QuerySet[models.Team]:
    if not isinstance(request.user, models.User):
        return models.Team.objects.none()
    if (
        not season.allows_several_teams
        and access.entered_teams(request.user, season).exists()
    ):
        return models.Team.objects.none()
    asked = JoinRequest.objects.filter(user=request.user).values("team")
    return (
        access.teams_to_ask(request.user, season).exclude(pk__in=asked).order_by("name")
    )


def _public_teams(
    season: Season, registrations: Sequence[Registration], *, is_everybodys: bool
) -> Collection[int]:
    """Those that have a public page to be led to; who helps reads of teams that others do not."""
    if is_everybodys:
        return {entry.team_id for entry in registrations if entry.is_approved}
    if not season.is_public:
        return ()
    return set(
        access.listed_entries(None, season).approved().values_list("team_id", flat=True)
    )


def _sheets_to_rate(request: HttpRequest, season: Season) -> QuerySet[Sheet]:
    if not request.user.is_authenticated:
        return Sheet.objects.none()
    own = Sheet.objects.open().filter(
        annotators__user=request.user.pk, phase__task__season=season
    )
    return own.select_related("phase__task")


@require_safe
def about(request: HttpRequest) -> HttpResponse:
    return render(request, "seasons/about.html")


@dataclass(frozen=True)
class PhaseLine:
    """A phase as a list shows it; ``state`` is `open`, `ahead` or `closed`."""

    phase: Phase
    state: str
    leaders: tuple[Placing, ...]
    has_baselines_alone: bool


@dataclass(frozen=True, kw_only=True)
class TaskLine:
    """A task with its phases; ``reported`` is the best published result and whose it is."""

    task: Task
    phases: list[PhaseLine]
    reported: dict[str, str] | None = None

    @property
    def current(self) -> PhaseLine | None:
        """The open phase that closes first, else the last one that has closed, else the first to come."""
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
class SeasonLine:
    season: Season
    teams: int
    tasks: list[TaskLine]

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
    def next_to_close(self) -> Phase | None:
        ending = [
            line.phase
            for line in self._phases
            if line.state == "open" and line.phase.has_end
        ]
        return min(ending, key=lambda phase: phase.closes, default=None)

    @property
    def has_baselines_alone(self) -> bool:
        """Whether boards show baselines and none of them the run of a team."""
        phases = self._phases
        return any(line.has_baselines_alone for line in phases) and not any(
            line.leaders for line in phases
        )

    @property
    def _phases(self) -> list[PhaseLine]:
        return [line for task in self.tasks for line in task.phases]


def season_lines(seasons: Sequence[Season]) -> list[SeasonLine]:
    """The seasons with all that lists show of them, in a fixed number of queries and what the cache holds."""
    at = now()
    tasks = Task.objects.filter(season__in=seasons).select_related("season")
    lines: dict[int, list[TaskLine]] = {season.pk: [] for season in seasons}
    reported = _reported(list(tasks))
    with_phases(tasks)
    for task in tasks:
        phases = []
        for phase in task.phases.all():
            leaders = public_first_places(phase)
            state = (
                "ahead"
                if at < phase.opens
                else "open"
                if at < phase.closes
                else "closed"
            )
            phases.append(
                PhaseLine(
                    phase, state, leaders, not leaders and shows_baselines_alone(phase)
                )
            )
        lines[task.season_id].append(
            TaskLine(task=task, phases=phases, reported=reported.get(task.pk))
        )
    return [
        SeasonLine(season=season, teams=season.teams, tasks=lines[season.pk])  # type: ignore[attr-defined]
        for season in seasons
    ]


def _in_small(line: TaskLine, elsewhere: TaskLine | None) -> dict[str, Any]:
    """A task as the first page shows it: drawn by its sample, and the first rows of the board it is read for.
    ``published`` has the best of the task's own published results, or of another task of its kind.
    """
    kind, current = line.task.task_type, line.current
    places = public_top(current.phase) if current and current.state != "ahead" else ()
    cells = [place.cell for place in places if place.cell]
    axis = (
        Axis.over(cells, places[0].column.scale) if cells and places[0].column else None
    )
    return {
        "line": line,
        "published": line if line.reported else elsewhere,
        "asked": str(ASKED.get(kind.drawn_as, "")),
        "example": drawn_example(kind),
        "rows": [
            {
                "leader": place,
                "whisker": SafeString(whisker(place.cell, axis, place.interval)),
            }
            for place in places
        ],
    }


def _reported(tasks: Sequence[Task]) -> dict[int, dict[str, str]]:
    found = {}
    for task, table in published.leading_of_each(tasks).items():
        for best in table.rows[:1]:
            figure = best.figures.get(table.leading.name)
            found[task] = {
                "system": best.system,
                "team": table.table.paper.short,
                "number": figure.printed if figure else "",
                "metric": table.leading.label,
            }
    return found


@task_readers.page()
def task(request: HttpRequest, task: Task) -> Answer:
    with_phases([task])
    phases = task.phases.all()
    released = released_phases(task)
    golds = {
        gold.split: gold for gold in Gold.objects.filter(task=task).order_by("number")
    }
    context = {
        "season": task.season,
        "task": task,
        "card": card(task).html(task),
        "example": drawn_example(task.task_type),
        "citation": citations.of_task(task),
        "is_released": bool(released),
        "described": linked_data.data_set_in_page(task, released) if released else "",
        "has_trec": task.task_type.trec is not None,
        "has_data_sets": task.task_type.statistics is not None,
        "phases": [
            (
                phase,
                golds.get(phase.split)
                if access.may_have_inputs(request.user, phase)
                else None,
            )
            for phase in phases
        ],
        "open_phases": [phase for phase in phases if phase.is_open()],
        "now": now(),
        "terms": terms_to_accept(task.season, request.user),
        "has_entered": access.entered_teams(request.user, task.season).exists(),
    }
    response = render(request, "seasons/task.html", context)
    response["Link"] = linked_data.task_links(task, released)
    return response


@require_safe
def inputs(
    request: HttpRequest, season: str, task: str, phase: str
) -> HttpResponseBase:
    """What participants may have of a split, by session or token: never its gold."""
    person = api.asking_user(request)
    found = access.phase_for(person, season, task, phase)
    try:
        access.require_inputs(person, found)
    except InputsNotReleased:
        gold = None
    except TermsNotAccepted as refused:
        terms = f"{settings.BASE_URL}{reverse('terms', args=[found.task.season.slug])}"
        where = _("They are at %(address)s.") % {"address": terms}
        raise PermissionDenied(f"{words.sentence(refused)} {where}") from refused
    else:
        gold = Gold.objects.current(found)
    if gold is None:
        raise Http404(_("The inputs of this phase are not published yet."))
    name = f"{found.task.season.slug}-{found.task.slug}-{found.split}-inputs.zip"
    return download(
        request,
        storage.gold,
        gold.public,
        filename=name,
        content_type="application/zip",
    )


@task_readers.page("seasons/data_sets.html")
def data_sets(request: HttpRequest, task: Task) -> Answer:
    if task.task_type.statistics is None:
        raise Http404(_("The data of this task are not described by data set."))
    return {
        "splits": open_gold.described_splits(task, request.user),
        "may_organise": access.may_organise(request.user, task.season),
        "max_input": MAX_INPUT,
        "max_output": MAX_OUTPUT,
        "phrases": SELF_REFERENCES,
    }
