"""Create the `Link` response headers from a page to the resource that the page
describes (signposting.org).
"""

import json
from collections.abc import Collection, Iterator
from typing import Any

from django.utils.safestring import SafeString, mark_safe

from scoring.exchange.results import (
    build_absolute_site_address,
    list_season_task_and_phase_slugs,
)
from tasks.models import Phase, Season, Task
from tasks.seasons.cards import get_task_card
from tasks.seasons.file.licences import normalise_spdx_expression

JSON_LD_CONTENT_TYPE = "application/ld+json"


def build_task_link_header(task: Task, released: Collection[Phase]) -> str:
    where = (task.season.slug, task.slug)
    links = [
        _format_link(build_absolute_site_address("task", *where), "cite-as"),
        _format_link(
            build_absolute_site_address("task-bib", *where),
            "describedby",
            "application/x-bibtex",
        ),
        *_iterate_licence_links(task.season),
    ]
    if released:
        links.append(_format_link("https://schema.org/Dataset", "type"))
        links.append(
            _format_link(
                build_absolute_site_address("croissant", *where),
                "describedby",
                JSON_LD_CONTENT_TYPE,
            )
        )
    links += [
        _format_link(
            build_absolute_site_address(
                "inputs", *list_season_task_and_phase_slugs(phase)
            ),
            "item",
            "application/zip",
        )
        for phase in released
    ]
    return ", ".join(links)


def build_season_link_header(season: Season) -> str:
    cite_as = _format_link(
        build_absolute_site_address("season", season.slug), "cite-as"
    )
    entry = _format_link(
        build_absolute_site_address("season-bib", season.slug),
        "describedby",
        "application/x-bibtex",
    )
    return ", ".join([cite_as, entry, *_iterate_licence_links(season)])


def _iterate_licence_links(season: Season) -> Iterator[str]:
    if address := find_licence_address(season.licence):
        yield _format_link(address, "license")


def _format_link(address: str, relation: str, media_type: str = "") -> str:
    return f'<{address}>; rel="{relation}"' + (
        f'; type="{media_type}"' if media_type else ""
    )


#: In JSON within an HTML page, escape sequences replace `<`, `>` and `&`.
HTML_JSON_ESCAPES = str.maketrans({sign: f"\\u{ord(sign):04x}" for sign in "<>&"})


def build_data_set_json_for_page(task: Task, released: Collection[Phase]) -> SafeString:
    text = json.dumps(build_data_set_description(task, released), ensure_ascii=False)
    return mark_safe(text.translate(HTML_JSON_ESCAPES))  # noqa: S308  (every sign that means something to HTML is escaped)


def build_data_set_description(
    task: Task, released: Collection[Phase]
) -> dict[str, Any]:
    season = task.season
    described = {
        "@context": "https://schema.org/",
        "@type": "Dataset",
        "name": f"{season}: {task}",
        "description": task.summary
        or get_task_card(task).text.partition("\n\n")[0]
        or str(task),
        "url": build_absolute_site_address("task", season.slug, task.slug),
        "license": find_licence_address(season.licence) or season.licence,
        "creator": {"@type": "Organization", "name": f"Organisers of {season}"},
        "isAccessibleForFree": True,
        "includedInDataCatalog": {
            "@type": "DataCatalog",
            "name": "Citeboard",
            "url": build_absolute_site_address("home"),
        },
        "distribution": [
            {
                "@type": "DataDownload",
                "name": f"Inputs of the split {phase.split}",
                "contentUrl": build_absolute_site_address(
                    "inputs", *list_season_task_and_phase_slugs(phase)
                ),
                "encodingFormat": "application/zip",
            }
            for phase in released
        ],
    }
    return {name: value for name, value in described.items() if value}


SPDX_LICENCE_ADDRESS = "https://spdx.org/licenses/{}.html"


def find_licence_address(licence: str) -> str | None:
    name = normalise_spdx_expression(licence)
    return SPDX_LICENCE_ADDRESS.format(name) if name and " " not in name else None
