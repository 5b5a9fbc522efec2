"""The home page, the page of a season, and cards and downloads of its tasks."""

from functools import partial
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.timezone import now
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from citeboard.core import storage, words
from citeboard.core.query import find_permitted_value, parse_whole_number
from citeboard.core.storage.downloads import serve_opened_file, serve_stored_file
from citeboard.teams import api
from citeboard.web.pages import ViewResult, season_reader_pages, task_reader_pages
from citeboard.web.seasons.home_page import HomePage
from citeboard.web.seasons.season_page import SeasonPage
from scoring.exchange import citations, linked_data
from scoring.exchange.data_sets import find_released_phases, has_json_lines
from scoring.results.board import counting, open_gold
from scoring.results.board.cache import (
    RenderedPage,
    build_page_cache_key,
    cache_and_return_page,
    find_cached_response,
    is_signed_in,
)
from scoring.results.comparison.drawing import build_parts_of_type_example
from tasks.gold.gold_files import has_starting_kit, open_public_inputs_without_kit
from tasks.gold.secrecy import prefetch_phases_with_embargoes
from tasks.models import (
    Gold,
    Season,
    Task,
)
from tasks.registration.entries import find_terms_to_accept
from tasks.seasons import access
from tasks.seasons.cards import get_task_card
from tasks.submissions.refusals import InputsNotReleased, TermsNotAccepted
from tasks.types.citation_text.instances import (
    MAX_INPUT_TOKENS,
    MAX_OUTPUT_TOKENS,
    SELF_REFERENCES_IN_PROGRAM,
)

#: Pages expire after SEASON_PAGE_CACHE_SECONDS, since some changes do not change the cache key.
SEASON_PAGE_CACHE_SECONDS = 60


@require_safe
def show_home_page(request: HttpRequest) -> HttpResponse:
    number = parse_whole_number(request.GET.get("page", ""))
    return _render_cached_season_page(
        request,
        "seasons/home.html",
        {"home": HomePage(request.user, number or 1)},
        number,
    )


@season_reader_pages.page()
def show_season(request: HttpRequest, season: Season) -> ViewResult:
    context = {"season": season, "page": SeasonPage(season, request.user)}
    response = _render_cached_season_page(request, "seasons/season.html", context)
    response["Link"] = linked_data.build_season_link_header(season)
    return response


def _render_cached_season_page(
    request: HttpRequest,
    template: str,
    context: dict[str, Any],
    number: int | None = None,
) -> HttpResponse:
    """Render a page of a season, or return the cached page.

    Anonymous users get a cached page until any data of the site change.
    """
    if is_signed_in(request):
        return render(request, template, context)

    key = build_page_cache_key(request, number, counting.query_home_page_cache_key())
    response = find_cached_response(request, key)
    if response is not None:
        return response
    content = render_to_string(template, context, request)
    page = RenderedPage(content, hides_activity=True)
    return cache_and_return_page(
        request, key, page, is_public=True, seconds=SEASON_PAGE_CACHE_SECONDS
    )


@require_safe
def show_about_page(request: HttpRequest) -> HttpResponse:
    return render(request, "seasons/about.html")


@task_reader_pages.page()
def show_task(request: HttpRequest, task: Task) -> ViewResult:
    prefetch_phases_with_embargoes([task])
    phases = task.phases.all()
    released = find_released_phases(task)
    golds = {
        gold.split: gold for gold in Gold.objects.filter(task=task).order_by("number")
    }
    context = {
        "season": task.season,
        "task": task,
        "card": get_task_card(task).html(task),
        "example": build_parts_of_type_example(task.task_type),
        "citation": citations.build_citation_of_task(task),
        "is_released": bool(released),
        "described": linked_data.build_data_set_json_for_page(task, released)
        if released
        else "",
        "has_lines": has_json_lines(released.values()),
        "has_trec": task.task_type.trec is not None,
        "has_data_sets": task.task_type.statistics is not None,
        "phases": [
            (
                phase,
                golds.get(phase.split)
                if access.can_download_inputs(request.user, phase)
                else None,
            )
            for phase in phases
        ],
        "open_phases": [phase for phase in phases if phase.is_open()],
        "now": now(),
        "terms": find_terms_to_accept(task.season, request.user),
        "has_entered": access.list_own_teams_in_season(
            request.user, task.season
        ).exists(),
    }
    response = render(request, "seasons/task.html", context)
    response["Link"] = linked_data.build_task_link_header(task, released)
    return response


@require_safe
def download_inputs(
    request: HttpRequest, season: str, task: str, phase: str
) -> HttpResponseBase:
    """Return the inputs of a split of a task's data, without the gold. The view accepts
    participants who are signed in by a session or an API token.

    With `kit=no`, the archive lacks the organisers' files in the folder `starting-kit`.
    """
    with_kit = find_permitted_value(request.GET, "kit", ["no"]) is None
    person = api.find_user_of_request(request)
    found = access.get_visible_phase_or_404(person, season, task, phase)
    try:
        access.require_download_of_inputs(person, found)
    except InputsNotReleased:
        gold = None
    except TermsNotAccepted as refused:
        terms = f"{settings.BASE_URL}{reverse('terms', args=[found.task.season.slug])}"
        where = _("They are at %(address)s.") % {"address": terms}
        raise PermissionDenied(
            f"{words.format_as_sentence(refused)} {where}"
        ) from refused
    else:
        gold = Gold.objects.current(found)
    if gold is None:
        raise Http404(_("The inputs of this phase are not released yet."))
    name = f"{found.task.season.slug}-{found.task.slug}-{found.split}-inputs.zip"
    if not with_kit and has_starting_kit(gold):
        return serve_opened_file(
            request,
            f"{gold.public}?kit=no",
            partial(open_public_inputs_without_kit, gold),
            filename=name,
            content_type="application/zip",
        )
    return serve_stored_file(
        request,
        storage.gold_file_storage,
        gold.public,
        filename=name,
        content_type="application/zip",
    )


@task_reader_pages.page("seasons/data_sets.html")
def show_data_sets(request: HttpRequest, task: Task) -> ViewResult:
    if task.task_type.statistics is None:
        raise Http404(_("The data of this task are not described by data set."))
    return {
        "splits": open_gold.describe_visible_splits(task, request.user),
        "may_organise": access.can_organise_season(request.user, task.season),
        "max_input": MAX_INPUT_TOKENS,
        "max_output": MAX_OUTPUT_TOKENS,
        "phrases": SELF_REFERENCES_IN_PROGRAM,
    }
