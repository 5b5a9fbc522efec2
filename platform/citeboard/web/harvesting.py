"""Files that search engines and other crawlers read, such as the sitemap, feeds, and
released data of tasks.
"""

import tempfile
from collections.abc import Callable, Iterator
from typing import IO
from xml.sax.saxutils import escape

from django.core.exceptions import PermissionDenied
from django.http import (
    FileResponse,
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    JsonResponse,
)
from django.utils.cache import get_conditional_response
from django.utils.timezone import now
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from citeboard.core.api import allow_any_origin
from citeboard.teams.api import find_user_of_request
from citeboard.web.pages import ViewResult, task_reader_pages
from scoring.exchange import data_sets, feeds, linked_data, mounted
from scoring.exchange.results import (
    build_absolute_site_address,
    list_season_task_and_phase_slugs,
)
from scoring.models import Paper
from scoring.results.board import cache, visibility
from scoring.results.board.standings import load_cached_board
from tasks.models import Phase, Season, Task
from tasks.seasons.access import (
    get_visible_phase_or_404,
    get_visible_season_or_404,
    get_visible_task_or_404,
    list_visible_entries,
)

SITEMAP_SCHEMA = "http://www.sitemaps.org/schemas/sitemap/0.9"
#: robots.txt forbids crawlers to read ROBOTS_DISALLOWED_PATHS pages, and boards with URL parameters.
ROBOTS_DISALLOWED_PATHS = (
    "/accounts/",
    "/admin/",
    "/annotate/",
    "/join/",
    "/submissions/",
    "/teams/",
    "/*?",
)
#: In robots.txt, the longer rules of ROBOTS_ALLOWED_PATHS override the rules of ROBOTS_DISALLOWED_PATHS.
ROBOTS_ALLOWED_PATHS = ("/teams/*/results/", "/teams/*/systems/")


@allow_any_origin
@task_reader_pages.page()
def download_croissant_metadata(request: HttpRequest, task: Task) -> ViewResult:
    if not (releases := data_sets.load_data_set_releases(task)):
        raise Http404(_("This task has released no data."))
    described, written = (
        data_sets.build_croissant_description(task, releases),
        {"ensure_ascii": False, "indent": 1},
    )
    return JsonResponse(
        described,
        content_type=linked_data.JSON_LD_CONTENT_TYPE,
        json_dumps_params=written,
    )


@require_safe
def show_robots_txt(request: HttpRequest) -> HttpResponse:
    lines = [
        "User-agent: *",
        *(f"Disallow: {path}" for path in ROBOTS_DISALLOWED_PATHS),
        *(f"Allow: {path}" for path in ROBOTS_ALLOWED_PATHS),
        f"Sitemap: {build_absolute_site_address('sitemap')}",
    ]
    return HttpResponse(
        "\n".join(lines) + "\n", content_type="text/plain; charset=utf-8"
    )


@require_safe
def show_sitemap(request: HttpRequest) -> HttpResponse:
    """List the public pages in a sitemap."""
    urls = "".join(
        f"<url><loc>{escape(address)}</loc></url>\n"
        for address in _list_public_page_addresses()
    )
    content = f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="{SITEMAP_SCHEMA}">\n{urls}</urlset>\n'
    return HttpResponse(content, content_type="application/xml; charset=utf-8")


def _list_public_page_addresses() -> Iterator[str]:
    public = Season.objects.visible_to(None)
    yield from map(build_absolute_site_address, ("home", "about", "papers"))
    for season in public.values_list("slug", flat=True):
        yield build_absolute_site_address("season", season)
    teams = {
        entry.team.slug
        for season in public
        for entry in list_visible_entries(None, season).approved()
    }
    for team in sorted(teams):
        yield build_absolute_site_address("team-results", team)
    for task in Task.objects.filter(season__in=public.values("pk")).select_related(
        "season"
    ):
        yield build_absolute_site_address("task", task.season.slug, task.slug)
        if task.published:
            yield build_absolute_site_address("published", task.season.slug, task.slug)
    for phase in Phase.objects.visible_to(None).select_related("task__season"):
        yield build_absolute_site_address(
            "board", *list_season_task_and_phase_slugs(phase)
        )
    for archive in mounted.list_mounted_archives():
        yield build_absolute_site_address("archive", archive.slug)
        for name, _board in archive.boards:
            yield build_absolute_site_address("archive-board", archive.slug, name)
    for paper in Paper.objects.all():
        yield build_absolute_site_address("paper", paper.key)


@require_safe
def show_season_feed(request: HttpRequest, season: str) -> HttpResponse:
    """Return the Atom feed of a season's announcements and phases.

    Draft seasons have no feed, even for their organisers.
    """
    return HttpResponse(
        feeds.build_season_feed(get_visible_season_or_404(None, season), now()),
        content_type=feeds.ATOM_CONTENT_TYPE,
    )


@require_safe
def download_season_calendar(request: HttpRequest, season: str) -> HttpResponse:
    """Return the calendar of a season's phases and dates.

    Draft seasons have no calendar, even for their organisers.
    """
    return HttpResponse(
        feeds.build_season_calendar(get_visible_season_or_404(None, season)),
        content_type=feeds.ICALENDAR_CONTENT_TYPE,
    )


@require_safe
def show_board_feed(
    request: HttpRequest, season: str, task: str, phase: str
) -> HttpResponse:
    """Return the Atom feed of a board's runs and gold versions."""
    found = get_visible_phase_or_404(None, season, task, phase)
    if (
        visibility.determine_board_visibility(found, visibility.Audience.PUBLIC)
        == visibility.BoardVisibility.NOTHING
    ):
        raise Http404("The board of this phase is not published.")

    def render_board_feed() -> str:
        return feeds.build_board_feed(
            load_cached_board(found, None, audience=visibility.Audience.PUBLIC)
        )

    return cache.load_or_render_phase_page(
        request,
        found,
        visibility.Audience.PUBLIC,
        "",
        render_board_feed,
        content_type=feeds.ATOM_CONTENT_TYPE,
    )


#: The site writes archives of more than MAX_ARCHIVE_MEMORY_BYTES bytes to disk.
MAX_ARCHIVE_MEMORY_BYTES = 4 << 20


@require_safe
def download_trec_archive(
    request: HttpRequest, season: str, task: str
) -> HttpResponseBase:
    person = find_user_of_request(request)
    found = get_visible_task_or_404(person, season, task)
    if (form := found.task_type.trec) is None:
        raise Http404(_("The data of this task are no topics and documents."))
    splits = _find_released_splits(found, person)
    return _build_archive_response(
        request,
        found,
        splits,
        "trec",
        lambda out: data_sets.write_trec_collection(out, found, form, splits),
    )


@require_safe
def download_hugging_face_archive(
    request: HttpRequest, season: str, task: str
) -> HttpResponseBase:
    person = find_user_of_request(request)
    found = get_visible_task_or_404(person, season, task)
    splits = _find_released_splits(found, person)
    try:
        return _build_archive_response(
            request,
            found,
            splits,
            "hugging-face",
            lambda out: data_sets.write_data_set(out, found, splits),
        )
    except data_sets.TaskWithoutJsonLines:
        raise Http404(_("The data of this task are no JSON lines.")) from None


def _find_released_splits(
    task: Task, person: object
) -> list[data_sets.DownloadableSplit]:
    """Return the released splits of a task's data.

    Raises Http404 if no split of the task is released. Raises PermissionDenied if the
    user has not accepted the terms.
    """
    if splits := data_sets.list_downloadable_splits(task, person):
        return splits
    if data_sets.find_released_phases(task):
        terms = build_absolute_site_address("terms", task.season.slug)
        message = _(
            "The data come after the season's terms are accepted. They are at %(terms)s."
        )
        raise PermissionDenied(message % {"terms": terms})
    raise Http404(_("This task has released no data."))


def _build_archive_response(
    request: HttpRequest,
    task: Task,
    splits: list[data_sets.DownloadableSplit],
    form: str,
    write: Callable[[IO[bytes]], None],
) -> HttpResponseBase:
    etag = data_sets.compute_data_set_etag(
        splits, f"{form} {task.season.licence} {task} {task.hub_dataset}"
    )
    same = get_conditional_response(request, etag=etag)
    if same is not None and same.status_code == HttpResponse(status=304).status_code:
        return same
    out = tempfile.SpooledTemporaryFile(max_size=MAX_ARCHIVE_MEMORY_BYTES)  # noqa: SIM115  (the answer closes it)
    try:
        write(out)
    except BaseException:
        out.close()
        raise
    out.seek(0)
    name = f"{task.season.slug}-{task.slug}-{form}.zip"
    response = FileResponse(
        out, as_attachment=True, filename=name, content_type="application/zip"
    )
    response["ETag"] = etag
    return response
