"""SciXML: its papers, what their references mean, and results by rhetorical zone."""

import json

import pytest

from scoring.__main__ import main
from scoring.tools.builders.load_scixml import load
from scoring.tools.builders.reading import choose_loader
from tests.scoring.builders.corpora import Heap, write_scixml, write_scixml_corpus
from tests.scoring.offline import score

REFERENCES = """
<REFERENCE ID='1'><SURNAME>Clapper</SURNAME>, K. <DATE>1990a</DATE>. <TITLE>Bronze: its alloys</TITLE>.
</REFERENCE>
<REFERENCE><SURNAME>Yoke</SURNAME>, L. <DATE>1991</DATE>. How towers of stone swing. In Proceedings.
</REFERENCE>
"""


def read(folder) -> Heap:
    heap = Heap()
    load(folder, heap)
    return heap


def write_citing(folder, sentences: str, references: str = REFERENCES):
    body = f"<DIV DEPTH='1'><HEADER>1 Tone</HEADER><DIV DEPTH='2'><P>{sentences}</P></DIV></DIV>"
    write_scixml(folder, "alloys", title="Bronze, its alloys")
    write_scixml(folder, "towers", title="How towers of stone swing")
    return write_scixml(
        folder, "citing", title="On tone", body=body, references=references
    )


def test_sentences_marks_and_zones_are_those_of_the_file(tmp_path):
    write_citing(
        tmp_path,
        "<S AZ='BKG'>Bells were cast early (<REF REFID='1'>Clapper 1990a</REF>; <REF>Yoke 1991</REF>).</S>"
        "<S>See e.g. Fig. 3 of <REF><REFAUTHOR>Yoke</REFAUTHOR> (<DATE>1991</DATE>)</REF>.</S>"
        "<S AZ='OWN'>We count &beta; &amp; do not cite <REF>Nobody 1992</REF>.</S>",
    )
    heap = read(tmp_path)
    first, second = heap.contexts["citing"]
    assert (first.sentence, first.gold, first.markers) == (
        "Bells were cast early <REF>.",
        ("1", "r1"),
        2,
    )
    assert (first.zone, first.section, first.after) == (
        "BKG",
        "1 Tone",
        "See e.g. Fig. 3 of <OTHERREF>.",
    )
    assert (second.sentence, second.gold, second.zone) == (
        "See e.g. Fig. 3 of <REF>.",
        ("r1",),
        None,
    )
    assert second.after == "We count β & do not cite <OTHERREF>."
    assert {
        own.ref_id: (own.target, own.year) for own in heap.references["citing"]
    } == {
        "1": ("alloys", 1990),
        "r1": ("towers", 1991),
    }
    paper = heap.papers["citing"]
    assert (paper.title, paper.year, paper.abstract) == (
        "On tone",
        1997,
        "We ring α bells.",
    )
    assert paper.text.endswith("We count β & do not cite .")


@pytest.mark.parametrize(
    "zoned",
    [
        "<s sid='1'><CoreSc1 type='Met' conceptID='Met1'/>As <REF REFID='1'>Clapper</REF> did.</s>",
        "<s sid='1'><annotationART type='Met'>As <REF REFID='1'>Clapper</REF> did.</annotationART></s>",
    ],
)
def test_core_scientific_concepts_are_zones_as_well(tmp_path, zoned):
    write_citing(tmp_path, zoned)
    [context] = read(tmp_path).contexts["citing"]
    assert (context.sentence, context.zone) == ("As <REF> did.", "Met")


def test_a_title_of_two_papers_and_a_mark_of_two_references_mean_neither(tmp_path):
    twice = "<REFERENCE ID='{}'><SURNAME>Clapper</SURNAME> <DATE>1990</DATE> <TITLE>{}</TITLE></REFERENCE>"
    references = twice.format(1, "Bronze, its alloys") + twice.format(2, "Elsewhere")
    write_citing(
        tmp_path,
        "<S>As in <REF>Clapper 1990</REF>, and <REF REFID='1'>there</REF>.</S>",
        references,
    )
    write_scixml(tmp_path, "copy", title="Bronze its alloys")
    heap = read(tmp_path)
    assert [context.gold for context in heap.contexts["citing"]] == [("1",)]
    assert [own.target for own in heap.references["citing"]] == ["citing:1", "citing:2"]


def test_the_form_is_seen_and_its_gold_has_zones_that_a_board_tells_apart(
    capsys, tmp_path
):
    corpus, out = write_scixml_corpus(tmp_path / "corpus"), tmp_path / "season"
    assert choose_loader("auto", corpus).name == "scixml"
    assert (
        main(["build-resolution", str(corpus), "--form", "scixml", "--out", str(out)])
        == 0
    )
    assert json.loads((out / "datasheet.json").read_text())["zones"] == {
        "BKG": 3,
        "CTR": 2,
        "OWN": 3,
    }
    run = next(out.rglob("*10-10*.jsonl"))
    capsys.readouterr()
    found = score(capsys, "citation-resolution", [out / "gold"], run)
    zones = found["breakdowns"]["zone"]
    assert {zone: values["success@n"]["n"] for zone, values in zones.items()} == {
        "BKG": 3,
        "CTR": 2,
        "OWN": 3,
    }
    assert found["breakdowns"]["section"]["related work"]["success@n"]["value"] == 1


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (
            "<PAPER><BODY>\n<P><S>No end.</P></BODY></PAPER>",
            "broken.xml:2: not well-formed XML: mismatched tag",
        ),
        ("<article/>", "the outermost element is ARTICLE; expected PAPER"),
        (
            "<!DOCTYPE PAPER [<!ENTITY a 'b'>]><PAPER>&a;</PAPER>",
            "declares entities of its own",
        ),
        (
            "<PAPER><METADATA><FILENO>alloys</FILENO></METADATA></PAPER>",
            "paper “alloys” is the one of alloys.xml",
        ),
        ("<PAPER>" * 5000, "not well-formed XML"),
    ],
)
def test_what_is_no_paper_of_this_form_is_refused_by_file_and_line(
    capsys, tmp_path, content, words
):
    write_citing(tmp_path / "corpus", "")
    (tmp_path / "corpus" / "broken.xml").write_text(content)
    command = [
        "build-resolution",
        str(tmp_path / "corpus"),
        "--form",
        "scixml",
        "--out",
        str(tmp_path / "out"),
    ]
    assert main(command) == 2
    assert words in capsys.readouterr().err


def test_a_folder_without_papers_is_refused(capsys, tmp_path):
    (tmp_path / "corpus").mkdir()
    command = [
        "build-resolution",
        str(tmp_path / "corpus"),
        "--form",
        "scixml",
        "--out",
        str(tmp_path / "out"),
    ]
    assert main(command) == 2
    assert "expected files that end in .xml" in capsys.readouterr().err


@pytest.mark.parametrize("tag", ["S", "DIV"])
def test_elements_that_stand_in_each_other_too_deeply_are_refused_by_their_file(
    capsys, tmp_path, tag
):
    body = (
        f"<DIV><P>{'<S>' * 3000}A bell.{'</S>' * 3000}</P></DIV>" if tag == "S" else ""
    )
    write_scixml(
        tmp_path, "deep", title="Deep", body=body or "<DIV>" * 3000 + "</DIV>" * 3000
    )
    assert (
        main(
            [
                "build-topics",
                str(tmp_path),
                "--form",
                "scixml",
                "--out",
                str(tmp_path / "out"),
            ]
        )
        == 2
    )
    told = capsys.readouterr().err
    assert told.startswith(
        f"{tmp_path / 'deep.xml'}: its elements stand in each other too deeply"
    )
