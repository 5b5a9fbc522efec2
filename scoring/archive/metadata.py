"""What repositories and catalogues read of an archive: how it is cited, licensed, and what is in it."""

from __future__ import annotations

import datetime as dt
import json
import mimetypes
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from scoring.exchange.licences import licence_address
from tasks.models import Season

ROCRATE = "https://w3id.org/ro/crate/1.1"
#: A word of schema.org that the context of this version of RO-Crate does not have.
CHECKSUM = {"sha256": "https://schema.org/sha256"}
MEDIA_TYPES = {
    ".jsonl": "application/jsonl",
    ".md": "text/markdown",
    ".cff": "application/yaml",
    ".whl": "application/zip",
}


def citation(season: Season, version: str, on: dt.date) -> str:
    """CITATION.cff, whose strings are JSON's, which YAML reads as well."""
    lines = {
        "cff-version": "1.2.0",
        "message": quoted("If you use this archive, please cite it."),
        "type": "dataset",
        "title": quoted(f"{season.title}: runs, boards and scores"),
        "authors": "\n  - name: " + quoted(f"The organisers and participants of {season.title}"),
        "version": quoted(version),
        "date-released": quoted(on.isoformat()),
    }
    return "".join(f"{name}: {value}\n" for name, value in lines.items())


def quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def zenodo(season: Season, version: str, on: dt.date) -> Mapping[str, Any]:
    """`.zenodo.json`; the licence stands in the notes as the organisers wrote it."""
    return {
        "title": f"{season.title}: runs, boards and scores",
        "upload_type": "dataset",
        "description": season.summary or season.title,
        "creators": [{"name": f"The organisers and participants of {season.title}"}],
        "publication_date": on.isoformat(),
        "version": version,
        "keywords": ["citation research", "shared task", "leaderboard", "evaluation"],
        "notes": f"Licence: {season.licence or 'not stated'}",
    }


def crate(season: Season, files: Sequence[tuple[str, int, str]], on: dt.date) -> Mapping[str, Any]:
    """`ro-crate-metadata.json` (RO-Crate 1.1) with each file's size and SHA-256."""
    organisers = {"@id": "#organisers", "@type": "Organization", "name": f"Organisers of {season.title}"}
    licence = {
        "@id": licence_address(season.licence) or "#licence",
        "@type": "CreativeWork",
        "name": season.licence or "not stated",
    }
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": season.title,
        "description": season.summary or season.title,
        "datePublished": on.isoformat(),
        "license": {"@id": licence["@id"]},
        "author": {"@id": organisers["@id"]},
        "hasPart": [{"@id": quote(name)} for name, _, _ in files],
    }
    about = {
        "@id": "ro-crate-metadata.json",
        "@type": "CreativeWork",
        "conformsTo": {"@id": ROCRATE},
        "about": {"@id": "./"},
    }
    parts = [
        {
            "@id": quote(name),
            "@type": "File",
            "name": name,
            "encodingFormat": _media_type(name),
            "contentSize": str(size),
            "sha256": digest,
        }
        for name, size, digest in files
    ]
    return {
        "@context": [f"{ROCRATE}/context", CHECKSUM],
        "@graph": [about, root, organisers, licence, *parts],
    }


def _media_type(name: str) -> str:
    suffix = name[name.rfind(".") :]
    return MEDIA_TYPES.get(suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
