"""Croissant 1.0 with its fields for responsible AI: what a task has released, as a schema.org Dataset.

https://docs.mlcommons.org/croissant/. Only what has been released to everybody is described, and no gold.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from scoring.exchange.citations import of_task
from scoring.exchange.licences import licence_address
from scoring.exchange.released import Release, ReleasedFile
from scoring.exchange.results import place, site_address
from tasks.models import Task
from tasks.seasons.cards import card, section

CONFORMS_TO = ["http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0"]
JSON_LINES = "application/jsonlines"
MEDIA_TYPES = {
    ".jsonl": JSON_LINES,
    ".json": "application/json",
    ".xml": "application/xml",
    ".csv": "text/csv",
}
#: Words of the format that are its own; what others there are it takes from schema.org.
_TERMS = (
    "citeAs", "column", "equivalentProperty", "extract", "field", "fileProperty", "fileObject", "fileSet",
    "format", "includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet",
    "references", "regex", "repeated", "replace", "samplingRate", "separator", "source", "subField",
    "transform",
)  # fmt: skip
CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{term: f"cr:{term}" for term in _TERMS},
}
#: Of many files of one kind it is told that they are there, not which.
MAX_LISTED = 20


def croissant(task: Task, releases: Sequence[Release]) -> dict[str, Any]:
    season = task.season
    text = card(task.type).text
    licence = licence_address(season.licence) or season.licence
    described = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS_TO,
        "name": f"{season.slug}-{task.slug}",
        "description": task.summary or text.partition("\n\n")[0],
        "url": site_address("task", season.slug, task.slug),
        "license": licence,
        "creator": {"@type": "sc:Organization", "name": f"Organisers of {season}"},
        "datePublished": min(release.gold.created_at for release in releases).date().isoformat(),
        "version": f"{max(release.gold.number for release in releases)}.0.0",
        "citeAs": of_task(task).bibtex,
        "isLiveDataset": False,
        "inLanguage": "en",
        "isAccessibleForFree": True,
        "rai:dataCollection": section(text, "Data"),
        "rai:dataLimitations": section(text, "Limits"),
        "rai:dataUseCases": f"Evaluation of systems for {task.task_type.title.lower()}; not for training.",
        "rai:dataReleaseMaintenancePlan": (
            "A correction is a new numbered version; runs are scored again against it, and the board of "
            "every earlier version stays."
        ),
        "distribution": [entry for release in releases for entry in _distribution(release)],
        "recordSet": [
            _record_set(release, file) for release in releases for file in _listed(release) if file.fields
        ],
    }
    return {name: value for name, value in described.items() if value not in ("", [])}


def _distribution(release: Release) -> Iterator[dict[str, Any]]:
    archive = _archive_id(release)
    yield {
        "@type": "cr:FileObject",
        "@id": archive,
        "name": archive,
        "contentUrl": site_address("inputs", *place(release.phase)),
        "contentSize": f"{release.archive.size} B",
        "encodingFormat": "application/zip",
        "sha256": release.archive.sha256,
    }
    listed = _listed(release)
    for file in listed:
        yield {
            "@type": "cr:FileObject",
            "@id": _file_id(release, file),
            "name": file.name,
            "containedIn": {"@id": archive},
            "contentUrl": file.name,
            "contentSize": f"{file.size} B",
            "encodingFormat": MEDIA_TYPES.get(file.suffix, "text/plain"),
            "sha256": file.sha256,
        }
    for suffix in sorted({file.suffix for file in release.archive.files if file not in listed}):
        yield {
            "@type": "cr:FileSet",
            "@id": f"{archive}-{suffix.removeprefix('.') or 'files'}",
            "name": f"{archive}-{suffix.removeprefix('.') or 'files'}",
            "containedIn": {"@id": archive},
            "encodingFormat": MEDIA_TYPES.get(suffix, "text/plain"),
            "includes": f"**/*{suffix}",
        }


def _record_set(release: Release, file: ReleasedFile) -> dict[str, Any]:
    name = _name(f"{release.phase.split}-{file.name.removesuffix('.jsonl')}")
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"{name}/{field}",
                "name": f"{name}/{field}",
                "dataType": kind,
                "source": {"fileObject": {"@id": _file_id(release, file)}, "extract": {"column": field}},
            }
            for field, kind in file.fields.items()
        ],
    }


def _listed(release: Release) -> list[ReleasedFile]:
    files = release.archive.files
    return list(files) if len(files) <= MAX_LISTED else [file for file in files if file.fields][:MAX_LISTED]


def _archive_id(release: Release) -> str:
    return _name(f"{release.phase.split}-inputs")


def _file_id(release: Release, file: ReleasedFile) -> str:
    return f"{_archive_id(release)}/{file.name}"


def _name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text)
