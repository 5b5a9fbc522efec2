"""What search engines and harvesters read: where the public pages are, and what a task has released."""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from citeboard.core.any_origin import readable_anywhere
from scoring.exchange.croissant import croissant
from scoring.exchange.mounted import mounted_archives
from scoring.exchange.released import releases_of
from scoring.exchange.results import place, site_address
from scoring.exchange.signposting import LD_JSON
from scoring.models import Paper
from tasks.models import Phase, Season, Task
from tasks.seasons.access import listed_entries, task_for

SCHEMA = "http://www.sitemaps.org/schemas/sitemap/0.9"
#: Pages of one's own, and the many forms of a board that differ by their query.
PRIVATE = ("/accounts/", "/admin/", "/annotate/", "/join/", "/submissions/", "/teams/", "/*?")
#: What everybody may read below them; the longer rule counts.
PUBLIC = ("/teams/*/results/", "/teams/*/systems/")


@readable_anywhere
@require_safe
def task_croissant(request: HttpRequest, season: str, task: str) -> HttpResponse:
    found = task_for(request.user, season, task)
    releases = releases_of(found)
    if not releases:
        raise Http404(_("This task has released no data."))
    return JsonResponse(
        croissant(found, releases),
        content_type=LD_JSON,
        json_dumps_params={"ensure_ascii": False, "indent": 1},
    )


@require_safe
def robots(request: HttpRequest) -> HttpResponse:
    lines = [
        "User-agent: *",
        *(f"Disallow: {path}" for path in PRIVATE),
        *(f"Allow: {path}" for path in PUBLIC),
        f"Sitemap: {site_address('sitemap')}",
    ]
    return HttpResponse("\n".join(lines) + "\n", content_type="text/plain; charset=utf-8")


@require_safe
def sitemap(request: HttpRequest) -> HttpResponse:
    """The pages that everybody may read."""
    urls = "".join(f"<url><loc>{escape(address)}</loc></url>\n" for address in _public_pages())
    content = f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="{SCHEMA}">\n{urls}</urlset>\n'
    return HttpResponse(content, content_type="application/xml; charset=utf-8")


def _public_pages() -> Iterator[str]:
    public = Season.objects.visible_to(None)
    yield from map(site_address, ("home", "about", "papers"))
    for season in public.values_list("slug", flat=True):
        yield site_address("season", season)
    teams = {entry.team.slug for season in public for entry in listed_entries(None, season).approved()}
    for team in sorted(teams):
        yield site_address("team-results", team)
    for task in Task.objects.filter(season__in=public.values("pk")).select_related("season"):
        yield site_address("task", task.season.slug, task.slug)
        if task.published:
            yield site_address("published", task.season.slug, task.slug)
    for phase in Phase.objects.visible_to(None).select_related("task__season"):
        yield site_address("board", *place(phase))
    for archive in mounted_archives():
        yield site_address("archive", archive.slug)
        for name, _board in archive.boards:
            yield site_address("archive-board", archive.slug, name)
    for paper in Paper.objects.all():
        yield site_address("paper", paper.key)
