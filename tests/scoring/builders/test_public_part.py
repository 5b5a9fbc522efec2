"""What participants get of a season that was built: no gold, however it is looked at. And bounded memory."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from scoring.__main__ import main
from tasks.types import task_type
from tasks.types.files import open_input_files
from tests.mass import mass
from tests.resting import rests_on_scorer
from tests.scoring.builders.corpora import write_corpus
from tests.scoring.builders.test_resolution_builder import write_collection

pytestmark = rests_on_scorer

ROOT = Path(__file__).resolve().parents[3]
#: Whoever builds sees these; so do participants, in the season's folder or as its page.
SHOWN = ("card.md", "datasheet.md", "datasheet.json", "season.toml")


@pytest.fixture
def diagnostic(tmp_path) -> Path:
    corpus = write_corpus(tmp_path / "corpus")
    out = tmp_path / "diagnostic"
    assert (
        main(["build-diagnostic", str(corpus), "--out", str(out), "--tagger", "none"])
        == 0
    )
    return out


@pytest.fixture
def resolution(tmp_path) -> Path:
    corpus = write_collection(tmp_path / "collection")
    out = tmp_path / "resolution"
    assert (
        main(
            [
                "build-resolution",
                str(corpus),
                "--out",
                str(out),
                "--fewest-references",
                "4",
            ]
        )
        == 0
    )
    return out


def public(slug: str, season: Path) -> dict[str, list[dict]]:
    own = task_type(slug)
    files = own.public_files(
        open_input_files(season / "gold"), own.validate_options({})
    )
    return {
        name: [json.loads(line) for line in content.decode().splitlines()]
        for name, content in files
    }


def gold(season: Path, name: str) -> list[dict]:
    return [
        json.loads(line) for line in (season / "gold" / name).read_text().splitlines()
    ]


def test_a_diagnostic_context_is_its_words_and_nothing_that_follows_from_the_cited_paper(
    diagnostic,
):
    given = public("citation-recommendation", diagnostic)
    assert set(given) == {"diagnostic.jsonl", "references.jsonl"}
    assert {key for row in given["diagnostic.jsonl"] for key in row} == {
        "id",
        "sentence",
        "before",
        "after",
    }
    assert {key for row in given["references.jsonl"] for key in row} <= {
        "ref_id",
        "raw",
        "title",
        "abstract",
    }
    assert all("<REF>" in row["sentence"] for row in given["diagnostic.jsonl"])


def test_the_order_of_the_candidates_tells_nothing_of_the_contexts(diagnostic):
    """They stand in the order of their names, and contexts in one that no gold gives."""
    candidates = [
        row["ref_id"]
        for row in public("citation-recommendation", diagnostic)["references.jsonl"]
    ]
    assert candidates == sorted(candidates)
    cited = [row["cited_id"] for row in gold(diagnostic, "diagnostic.jsonl")]
    assert cited != sorted(cited)


def test_a_resolution_context_has_its_candidates_and_not_which_of_them_it_cites(
    resolution,
):
    given = public("citation-resolution", resolution)
    assert set(given) == {"contexts.jsonl", "references.jsonl"}
    keys = {key for row in given["contexts.jsonl"] for key in row}
    assert keys == {
        "context_id",
        "paper_id",
        "section",
        "before",
        "sentence",
        "after",
        "n_markers",
    }
    assert {key for row in given["references.jsonl"] for key in row} <= {
        "paper_id", "ref_id", "raw", "title", "abstract",
    }  # fmt: skip


def test_what_is_shown_of_a_season_names_no_context_and_no_answer(
    diagnostic, resolution
):
    told = "".join((diagnostic / name).read_text() for name in SHOWN)
    for row in gold(diagnostic, "diagnostic.jsonl"):
        assert not any(row[part] in told for part in ("id", "context_id", "cited_id"))
    told = "".join((resolution / name).read_text() for name in SHOWN)
    assert not any(
        row["context_id"] in told for row in gold(resolution, "contexts.jsonl")
    )


@pytest.mark.parametrize("slug", ["citation-recommendation", "citation-resolution"])
def test_the_index_that_checks_uploads_holds_no_answer(request, slug):
    season = request.getfixturevalue(
        "diagnostic" if slug == "citation-recommendation" else "resolution"
    )
    own = task_type(slug)
    files = open_input_files(season / "gold")
    by_gold = own.read_gold(files, own.validate_options({})).index
    folder = season.parent / "inputs"
    folder.mkdir()
    for name, content in own.public_files(files, own.validate_options({})):
        (folder / name).write_bytes(content)
    assert (
        own.read_inputs(open_input_files(folder), own.validate_options({})) == by_gold
    )


def test_the_sweep_gives_the_same_table_twice(tmp_path, capsys):
    corpus = write_collection(tmp_path / "corpus")
    tables = []
    for _ in range(2):
        capsys.readouterr()
        assert (
            main(
                [
                    "papers",
                    "sweep-resolution",
                    str(corpus),
                    "--fewest-references",
                    "4",
                    "--json",
                ]
            )
            == 0
        )
        tables.append(capsys.readouterr().out)
    assert tables[0] == tables[1]


PEAK = """
import sys, tracemalloc
from scoring.__main__ import main
tracemalloc.start()
options = ["--out", sys.argv[2], "--tagger", "none", "--no-baselines"]
assert main(["build-diagnostic", sys.argv[1], *options]) == 0
print(tracemalloc.get_traced_memory()[1])
"""


@pytest.mark.mass
def test_memory_does_not_grow_with_the_corpus(tmp_path):
    """Eight times the contexts: what Python holds at its peak grows by far less."""
    peaks = []
    for papers in mass((20, 160), (60, 480)):
        corpus = write_corpus(tmp_path / f"corpus-{papers}", papers=papers)
        arguments = [str(corpus), str(tmp_path / f"season-{papers}")]
        done = subprocess.run(
            [sys.executable, "-c", PEAK, *arguments],
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        )
        peaks.append(int(done.stdout.split()[-1]))
    assert peaks[1] < 2 * peaks[0]
