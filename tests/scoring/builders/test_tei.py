"""GROBID's TEI and doc2json's JSON, of which `samples` has a small file each."""

import json
import shutil
from pathlib import Path

import pytest

from scoring.__main__ import main
from scoring.tools.builders.load_tei import load
from scoring.tools.builders.reading import choose_loader
from tests.scoring.builders.corpora import Heap

SAMPLES = Path(__file__).parent / "samples"


@pytest.fixture
def corpus(tmp_path) -> Path:
    """The sample, and a paper that it cites by its title."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    sample = (SAMPLES / "bells.tei.xml").read_text()
    (folder / "bells.tei.xml").write_text(sample)
    (folder / "alloys.tei.xml").write_text(
        sample.replace("On bells", "Bronze, its alloys")
    )
    return folder


def read(folder: Path) -> Heap:
    heap = Heap()
    load(folder, heap)
    return heap


def test_papers_marks_and_references_are_those_of_the_file(corpus):
    assert choose_loader("auto", corpus).name == "tei"
    heap = read(corpus)
    paper = heap.papers["bells"]
    assert (paper.title, paper.authors, paper.year, paper.abstract) == (
        "On bells",
        "Ada Ringer",
        2019,
        "We ring bells.",
    )
    first, *_, last = heap.contexts["bells"]
    assert (first.sentence, first.gold, first.style, first.section) == (
        "Bells were cast early <REF>.",
        ("bells:b0",),
        "author-year",
        "Tone",
    )
    assert first.after == "As Fig. 1 shows, nobody knows why <OTHERREF>."
    assert (last.sentence, last.gold) == ("Towers swing <REF>.", ("bells:b1",))
    assert last.after == "They stand."


def test_a_reference_means_the_paper_of_the_collection_with_its_title(corpus):
    alloys, towers = read(corpus).references["bells"]
    assert (alloys.target, alloys.title, alloys.year) == (
        "alloys",
        "Bronze: its alloys",
        2003,
    )
    assert (towers.target, towers.raw, towers.year) == (
        "bells:b1",
        "L. Yoke. Towers of stone. 1991.",
        1991,
    )


def test_an_element_of_another_kind_and_entities_are_refused(capsys, corpus, tmp_path):
    out = ["--out", str(tmp_path / "out")]
    assert main(["build-resolution", str(corpus), "--form", "scixml", *out]) == 2
    assert "GROBID's TEI is read with `--form tei`" in capsys.readouterr().err
    (corpus / "bells.tei.xml").write_text("<PAPER/>")
    assert main(["build-resolution", str(corpus), "--form", "tei", *out]) == 2
    assert "the outermost element is PAPER; expected TEI" in capsys.readouterr().err
    (corpus / "bells.tei.xml").write_text('<!DOCTYPE TEI [<!ENTITY a "b">]><TEI/>')
    assert main(["build-resolution", str(corpus), "--form", "tei", *out]) == 2
    assert "declares entities of its own" in capsys.readouterr().err


def test_the_file_of_doc2json_is_read_as_s2orc(tmp_path):
    shutil.copy(SAMPLES / "bells.doc2json.json", tmp_path / "bells.json")
    form = choose_loader("auto", tmp_path)
    assert form.name == "s2orc"
    heap = Heap()
    form.load(tmp_path, heap)
    [context] = heap.contexts["bells"]
    told = json.loads((tmp_path / "bells.json").read_text())
    entry = told["pdf_parse"]["bib_entries"]["BIBREF0"]
    assert context.sentence == "Bells were cast early <REF>."
    assert [one.raw for one in heap.references["bells"]] == [entry["raw_text"]]
    assert heap.papers["bells"].year == 2019
