"""What catalogues read of an archive, held to the schemas and readers of the formats themselves."""

import datetime as dt
import hashlib
import json
from pathlib import Path

import pytest
import yaml
from check_jsonschema.builtin_schemas import get_builtin_schema
from jsonschema.validators import validator_for
from rocrate.rocrate import ROCrate

from citeboard.archive.write import build_ro_crate_metadata, format_citation_file
from tasks.models import Season

NAMES = ("index.html", "runs/1.jsonl", "CITATION.cff", "boards/a b.svg")
ON = dt.date(2026, 11, 22)


@pytest.fixture(params=["CC-BY-4.0", "ask us", ""])
def season(request) -> Season:
    """With a title that means something to YAML, JSON and HTML."""
    return Season(
        slug="past", title='Citing: "why" & how #1 \\ <b>', licence=request.param
    )


def wrong_in(text: str) -> list[str]:
    schema = get_builtin_schema("vendor.citation-file-format")
    # As a reader of JSON's types has it: dates are texts.
    content = json.loads(json.dumps(yaml.safe_load(text), default=str))
    return [
        error.message for error in validator_for(schema)(schema).iter_errors(content)
    ]


def test_the_citation_is_what_the_schema_of_citation_files_allows(season, root):
    text = format_citation_file(season, "1.0", ON)
    assert wrong_in(text) == []
    assert yaml.safe_load(text)["title"] == f"{season.title}: runs, boards and scores"
    assert wrong_in((root / "CITATION.cff").read_text()) == []
    assert wrong_in(text.replace("authors", "writers")) != []


def test_the_crate_is_read_with_each_of_its_files_and_what_is_said_of_them(
    season, tmp_path
):
    files = []
    for name in NAMES:
        path = Path(tmp_path, name)
        path.parent.mkdir(exist_ok=True)
        path.write_text(name)
        files.append(
            (name, path.stat().st_size, hashlib.sha256(path.read_bytes()).hexdigest())
        )
    (tmp_path / "ro-crate-metadata.json").write_text(
        json.dumps(build_ro_crate_metadata(season, files, ON))
    )
    read = ROCrate(tmp_path)
    assert (read.name, read.datePublished.date()) == (season.title, ON)
    assert read.license["name"] == (season.licence or "not stated")
    assert read.root_dataset["author"]["name"] == f"Organisers of {season.title}"
    found = {entity.id: entity["sha256"] for entity in read.data_entities}
    assert found == {name.replace(" ", "%20"): digest for name, _, digest in files}
    assert {entity["encodingFormat"] for entity in read.data_entities} == {
        "text/html", "application/jsonl", "application/yaml", "image/svg+xml",
    }  # fmt: skip
