"""Create the `Link` response headers from a page to the resource that the page
describes (signposting.org).
"""

import json
from collections.abc import Collection, Iterator
from typing import Any

from django.utils.safestring import SafeString, mark_safe

from scoring.exchange.results import phase_slugs, site_address
from tasks.models import Phase, Season, Task
from tasks.seasons.cards import card
from tasks.seasons.file.licences import spdx

JSON_LD_CONTENT_TYPE = "application/ld+json"


def task_link_header(task: Task, released: Collection[Phase]) -> str:
    where = (task.season.slug, task.slug)
    links = [
        _link_header(site_address("task", *where), "cite-as"),
        _link_header(
            site_address("task-bib", *where), "describedby", "application/x-bibtex"
        ),
        *_licence_links(task.season),
    ]
    if released:
        links.append(_link_header("https://schema.org/Dataset", "type"))
        links.append(
            _link_header(
                site_address("croissant", *where), "describedby", JSON_LD_CONTENT_TYPE
            )
        )
    links += [
        _link_header(
            site_address("inputs", *phase_slugs(phase)), "item", "application/zip"
        )
        for phase in released
    ]
    return ", ".join(links)


def season_link_header(season: Season) -> str:
    cite_as = _link_header(site_address("season", season.slug), "cite-as")
    entry = _link_header(
        site_address("season-bib", season.slug), "describedby", "application/x-bibtex"
    )
    return ", ".join([cite_as, entry, *_licence_links(season)])


def _licence_links(season: Season) -> Iterator[str]:
    if address := licence_address(season.licence):
        yield _link_header(address, "license")


def _link_header(address: str, relation: str, media_type: str = "") -> str:
    return f'<{address}>; rel="{relation}"' + (
        f'; type="{media_type}"' if media_type else ""
    )


#: In JSON within an HTML page, escape sequences replace `<`, `>` and `&`.
HTML_JSON_ESCAPES = str.maketrans({sign: f"\\u{ord(sign):04x}" for sign in "<>&"})


def data_set_json_for_page(task: Task, released: Collection[Phase]) -> SafeString:
    text = json.dumps(describe_data_set(task, released), ensure_ascii=False)
    return mark_safe(text.translate(HTML_JSON_ESCAPES))  # noqa: S308  (every sign that means something to HTML is escaped)


def describe_data_set(task: Task, released: Collection[Phase]) -> dict[str, Any]:
    season = task.season
    described = {
        "@context": "https://schema.org/",
        "@type": "Dataset",
        "name": f"{season}: {task}",
        "description": task.summary
        or card(task).text.partition("\n\n")[0]
        or str(task),
        "url": site_address("task", season.slug, task.slug),
        "license": licence_address(season.licence) or season.licence,
        "creator": {"@type": "Organization", "name": f"Organisers of {season}"},
        "isAccessibleForFree": True,
        "includedInDataCatalog": {
            "@type": "DataCatalog",
            "name": "Citeboard",
            "url": site_address("home"),
        },
        "distribution": [
            {
                "@type": "DataDownload",
                "name": f"Inputs of the split {phase.split}",
                "contentUrl": site_address("inputs", *phase_slugs(phase)),
                "encodingFormat": "application/zip",
            }
            for phase in released
        ],
    }
    return {name: value for name, value in described.items() if value}


ADDRESS = "https://spdx.org/licenses/{}.html"


def licence_address(licence: str) -> str | None:
    name = spdx(licence)
    return ADDRESS.format(name) if name and " " not in name else None
