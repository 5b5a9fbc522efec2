"""Links in the head of an answer that lead programs from a page to what it is about (signposting.org)."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from scoring.exchange.licences import licence_address
from scoring.exchange.results import place, site_address
from tasks.models import Phase, Season, Task

LD_JSON = "application/ld+json"


def of_task(task: Task, released: Collection[Phase]) -> str:
    return ", ".join(_of_task(task, released))


def _of_task(task: Task, released: Collection[Phase]) -> Iterator[str]:
    where = (task.season.slug, task.slug)
    yield _link(site_address("task", *where), "cite-as")
    yield _link(site_address("task-bib", *where), "describedby", "application/x-bibtex")
    yield from _licence(task.season)
    if released:
        yield _link("https://schema.org/Dataset", "type")
        yield _link(site_address("croissant", *where), "describedby", LD_JSON)
    for phase in released:
        yield _link(site_address("inputs", *place(phase)), "item", "application/zip")


def of_season(season: Season) -> str:
    return ", ".join(
        [
            _link(site_address("season", season.slug), "cite-as"),
            _link(site_address("season-bib", season.slug), "describedby", "application/x-bibtex"),
            *_licence(season),
        ]
    )


def _licence(season: Season) -> Iterator[str]:
    if address := licence_address(season.licence):
        yield _link(address, "license")


def _link(address: str, relation: str, media_type: str = "") -> str:
    return f'<{address}>; rel="{relation}"' + (f'; type="{media_type}"' if media_type else "")
