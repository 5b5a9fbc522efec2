"""What a task has released as a schema.org Dataset, small enough to stand in its page for search engines."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from django.utils.safestring import SafeString, mark_safe

from scoring.exchange.licences import licence_address
from scoring.exchange.results import place, site_address
from tasks.models import Phase, Task
from tasks.seasons.cards import card

#: Signs that mean something to HTML, as JSON writes them too.
IN_A_PAGE = str.maketrans({sign: f"\\u{ord(sign):04x}" for sign in "<>&"})


def in_page(task: Task, released: Collection[Phase]) -> SafeString:
    """The content of a `script` of type `application/ld+json`, which holds data and is never run."""
    text = json.dumps(data_set(task, released), ensure_ascii=False)
    return mark_safe(text.translate(IN_A_PAGE))  # noqa: S308  (every sign that means something to HTML is escaped)


def data_set(task: Task, released: Collection[Phase]) -> dict[str, Any]:
    season = task.season
    described = {
        "@context": "https://schema.org/",
        "@type": "Dataset",
        "name": f"{season}: {task}",
        "description": task.summary or card(task.type).text.partition("\n\n")[0] or str(task),
        "url": site_address("task", season.slug, task.slug),
        "license": licence_address(season.licence) or season.licence,
        "creator": {"@type": "Organization", "name": f"Organisers of {season}"},
        "isAccessibleForFree": True,
        "includedInDataCatalog": {"@type": "DataCatalog", "name": "Citeboard", "url": site_address("home")},
        "distribution": [
            {
                "@type": "DataDownload",
                "name": f"Inputs of the split {phase.split}",
                "contentUrl": site_address("inputs", *place(phase)),
                "encodingFormat": "application/zip",
            }
            for phase in released
        ],
    }
    return {name: value for name, value in described.items() if value}
