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
from citeboard.teams.api import user_of_request
from citeboard.web.pages import Answer, task_readers
from scoring.exchange import data_sets, feeds, linked_data, mounted
from scoring.exchange.results import phase_slugs, site_address
from scoring.models import Paper
from scoring.results.board import cache, visibility
from scoring.results.board.standings import cached_board
from tasks.models import Phase, Season, Task
from tasks.seasons.access import listed_entries, phase_for, season_for, task_for

SITEMAP_SCHEMA = "http://www.sitemaps.org/schemas/sitemap/0.9"
#: robots.txt forbids crawlers to read DISALLOWED_PATHS pages, and boards with URL parameters.
DISALLOWED_PATHS = (
    "/accounts/",
    "/admin/",
    "/annotate/",
    "/join/",
    "/submissions/",
    "/teams/",
    "/*?",
)
#: In robots.txt, the longer rules of the ALLOWED_PATHS pages override the rules of DISALLOWED_PATHS.
ALLOWED_PATHS = ("/teams/*/results/", "/teams/*/systems/")


@allow_any_origin
@task_readers.page()
def task_croissant(request: HttpRequest, task: Task) -> Answer:
    if not (releases := data_sets.releases_of(task)):
        raise Http404(_("This task has released no data."))
    described, written = (
        data_sets.croissant_description(task, releases),
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
        *(f"Disallow: {path}" for path in DISALLOWED_PATHS),
        *(f"Allow: {path}" for path in ALLOWED_PATHS),
        f"Sitemap: {site_address('sitemap')}",
    ]
    return HttpResponse(
        "\n".join(lines) + "\n", content_type="text/plain; charset=utf-8"
    )


@require_safe
def list_public_pages(request: HttpRequest) -> HttpResponse:
    """List the public pages in a sitemap."""
    urls = "".join(
        f"<url><loc>{escape(address)}</loc></url>\n"
        for address in _public_page_addresses()
    )
    content = f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="{SITEMAP_SCHEMA}">\n{urls}</urlset>\n'
    return HttpResponse(content, content_type="application/xml; charset=utf-8")


def _public_page_addresses() -> Iterator[str]:
    public = Season.objects.visible_to(None)
    yield from map(site_address, ("home", "about", "papers"))
    for season in public.values_list("slug", flat=True):
        yield site_address("season", season)
    teams = {
        entry.team.slug
        for season in public
        for entry in listed_entries(None, season).approved()
    }
    for team in sorted(teams):
        yield site_address("team-results", team)
    for task in Task.objects.filter(season__in=public.values("pk")).select_related(
        "season"
    ):
        yield site_address("task", task.season.slug, task.slug)
        if task.published:
            yield site_address("published", task.season.slug, task.slug)
    for phase in Phase.objects.visible_to(None).select_related("task__season"):
        yield site_address("board", *phase_slugs(phase))
    for archive in mounted.mounted_archives():
        yield site_address("archive", archive.slug)
        for name, _board in archive.boards:
            yield site_address("archive-board", archive.slug, name)
    for paper in Paper.objects.all():
        yield site_address("paper", paper.key)


@require_safe
def show_season_feed(request: HttpRequest, season: str) -> HttpResponse:
    """Return the Atom feed of a season's announcements and phases.

    Draft seasons have no feed, even for their organisers.
    """
    return HttpResponse(
        feeds.season_feed(season_for(None, season), now()),
        content_type=feeds.ATOM_CONTENT_TYPE,
    )


@require_safe
def download_season_calendar(request: HttpRequest, season: str) -> HttpResponse:
    """Return the calendar of a season's phases and dates.

    Draft seasons have no calendar, even for their organisers.
    """
    return HttpResponse(
        feeds.season_calendar(season_for(None, season)),
        content_type=feeds.ICALENDAR_CONTENT_TYPE,
    )


@require_safe
def show_board_feed(
    request: HttpRequest, season: str, task: str, phase: str
) -> HttpResponse:
    """Return the Atom feed of a board's runs and gold versions."""
    found = phase_for(None, season, task, phase)
    if (
        visibility.visibility_of(found, visibility.Audience.PUBLIC)
        == visibility.Visibility.NOTHING
    ):
        raise Http404("The board of this phase is not published.")

    def render_board_feed() -> str:
        return feeds.board_feed(
            cached_board(found, None, audience=visibility.Audience.PUBLIC)
        )

    return cache.cached_phase_page(
        request,
        found,
        visibility.Audience.PUBLIC,
        "",
        render_board_feed,
        content_type=feeds.ATOM_CONTENT_TYPE,
    )


#: The site writes archives of more than MAX_MEMORY_BYTES bytes to disk.
MAX_MEMORY_BYTES = 4 << 20


@require_safe
def download_trec_archive(
    request: HttpRequest, season: str, task: str
) -> HttpResponseBase:
    person = user_of_request(request)
    found = task_for(person, season, task)
    if (form := found.task_type.trec) is None:
        raise Http404(_("The data of this task are no topics and documents."))
    splits = _released_splits(found, person)
    return _archive_response(
        request,
        found,
        splits,
        "trec",
        lambda out: data_sets.write_trec(out, found, form, splits),
    )


@require_safe
def download_hugging_face_archive(
    request: HttpRequest, season: str, task: str
) -> HttpResponseBase:
    person = user_of_request(request)
    found = task_for(person, season, task)
    splits = _released_splits(found, person)
    try:
        return _archive_response(
            request,
            found,
            splits,
            "hugging-face",
            lambda out: data_sets.write_data_set(out, found, splits),
        )
    except data_sets.NoJsonLines:
        raise Http404(_("The data of this task are no JSON lines.")) from None


def _released_splits(task: Task, person: object) -> list[data_sets.DownloadableSplit]:
    """Return the released splits of a task's data.

    Raises Http404 if no split of the task is released. Raises PermissionDenied if the
    user has not accepted the terms.
    """
    if splits := data_sets.downloadable_splits(task, person):
        return splits
    if data_sets.released_phases(task):
        terms = site_address("terms", task.season.slug)
        message = _(
            "The data come after the season's terms are accepted. They are at %(terms)s."
        )
        raise PermissionDenied(message % {"terms": terms})
    raise Http404(_("This task has released no data."))


def _archive_response(
    request: HttpRequest,
    task: Task,
    splits: list[data_sets.DownloadableSplit],
    form: str,
    write: Callable[[IO[bytes]], None],
) -> HttpResponseBase:
    etag = data_sets.etag_of(
        splits, f"{form} {task.season.licence} {task} {task.hub_dataset}"
    )
    same = get_conditional_response(request, etag=etag)
    if same is not None and same.status_code == HttpResponse(status=304).status_code:
        return same
    out = tempfile.SpooledTemporaryFile(max_size=MAX_MEMORY_BYTES)  # noqa: SIM115  (the answer closes it)
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
