"""Corpora in every form become the same papers, references and contexts."""

import gzip
import json
from pathlib import Path

import pytest

from scoring.__main__ import main
from scoring.tools.builders.load_clsumm import load as load_clsumm
from scoring.tools.builders.reading import choose_loader, iterate_records
from tasks.types import InputRefused
from tests.scoring.builders.corpora import (
    Heap,
    s2orc_annotated,
    s2orc_metadata,
    s2orc_parse,
    unarxive_paper,
    write_corpus,
    write_lines,
)
from tests.tasks.types.corpus import write_topic


def load(form: str, path: Path, heap: Heap) -> None:
    choose_loader(form, path).load(path, heap)


def contexts(heap: Heap, paper: str) -> list[tuple]:
    return [
        (own.sentence, own.gold, own.markers, own.style) for own in heap.contexts[paper]
    ]


def test_unarxive_papers_give_their_contexts_with_formulas_as_words(tmp_path):
    heap = Heap()
    load("unarxive", write_lines(tmp_path / "papers.jsonl", [unarxive_paper()]), heap)
    assert contexts(heap, "2101.00001") == [
        ("Bells were cast early <REF>.", ("aa",), 1, "anonymous"),
        ("Their tone FORMULA depends on the alloy <REF>.", ("aa", "bb"), 2, ""),
    ]
    second = heap.contexts["2101.00001"][1]
    assert (second.before, second.after) == (
        "Bells were cast early <OTHERREF>.",
        "We follow <OTHERREF>.",
    )
    assert second.section == "On"
    paper = heap.papers["2101.00001"]
    assert (paper.title, paper.field, paper.year, paper.abstract) == (
        "On bells",
        "Physics",
        2021,
        "We ring FORMULA.",
    )
    assert {
        reference.ref_id: reference.target
        for reference in heap.references["2101.00001"]
    } == {
        "aa": "W1",
        "bb": "1601.00002",
    }
    assert heap.lengths == [6, 9, 4]


def test_s2orc_paragraphs_and_metadata_become_one_paper(tmp_path):
    folder = tmp_path / "s2orc"
    write_lines(folder / "metadata" / "metadata_0.jsonl", s2orc_metadata())
    parses = folder / "pdf_parses" / "pdf_parses_0.jsonl.gz"
    parses.parent.mkdir()
    parses.write_bytes(gzip.compress(json.dumps(s2orc_parse()).encode() + b"\n"))
    heap = Heap()
    load("s2orc", folder, heap)
    assert contexts(heap, "77") == [
        ("Bells were cast early <REF>.", ("77:BIBREF0",), 1, "numeric"),
        ("Their tone depends on the alloy <REF>.", ("77:BIBREF1", "77:BIBREF2"), 2, ""),
        ("<REF> disagrees.", ("77:BIBREF1",), 1, "author-year"),
    ]
    targets = {
        reference.ref_id: (reference.target, reference.year, reference.raw)
        for reference in heap.references["77"]
    }
    assert targets == {
        "77:BIBREF0": ("11", 2003, "K Clapper. Bronze. Alloys. 2003"),
        "77:BIBREF1": ("77:BIBREF1", None, "Strike notes"),
        "77:BIBREF2": ("13", 1999, "Towers. 1999"),
    }
    assert heap.papers["11"].citations == 40


def test_s2orc_annotations_give_the_same(tmp_path):
    heap = Heap()
    load("s2orc", write_lines(tmp_path / "s2orc.jsonl", [s2orc_annotated()]), heap)
    own = heap.contexts["77"]
    assert [(each.sentence, each.gold, each.section, each.after) for each in own] == [
        ("Bells were cast early <REF>.", ("77:b0",), "Tone", "Nobody knows.")
    ]
    assert heap.references["77"][0].target == "11"
    assert heap.papers["77"].title == "On bells"


CITATION = {
    "citationid": 5,
    "citingcorpusid": 77,
    "citedcorpusid": 11,
    "isinfluential": False,
    "contexts": ["Bells were cast early [1].", "Nobody knows what of the rest."],
    "intents": [["methodology"], None],
}


def test_s2ag_citations_bring_intents_and_no_papers(tmp_path):
    heap = Heap()
    load(
        "s2orc",
        write_lines(tmp_path / "s2ag.jsonl", [s2orc_annotated(), CITATION]),
        heap,
    )
    assert set(heap.papers) == {"77"}
    [(citing, cited, _sentence, context_type)] = heap.intents
    assert (citing, cited, context_type) == ("77", "11", "method")


def test_a_line_of_no_known_kind_is_refused_by_what_it_holds(tmp_path):
    path = write_lines(
        tmp_path / "s2ag.jsonl",
        [s2orc_annotated(), {"publicationvenueid": "3", "issn": 9}],
    )
    with pytest.raises(InputRefused) as refused:
        load("s2orc", path, Heap())
    assert "a line of no kind that is known here, with publicationvenueid, issn" in str(
        refused.value
    )


def test_clsumm_topics_become_contexts_with_every_reference_paper_as_a_candidate(
    tmp_path,
):
    for name in ("D01-0001", "D01-0002"):
        topic = write_topic(tmp_path / "topics", name)
        papers = topic / "Citance_XML"
        papers.mkdir()
        for citing in ("D05-0001", "D05-0002"):
            text = '<S sid="3">They count words (Us, 2001) and not books [4].</S><S sid="7">So do we.</S>'
            (papers / f"{citing}.xml").write_text(f"<PAPER>{text}</PAPER>")
    heap = Heap()
    load_clsumm(tmp_path / "topics", heap)
    first = heap.contexts["D05-0001"][0]
    assert first.sentence == "They count words <REF> and not books <OTHERREF>."
    assert (first.gold, first.after) == (("D01-0001",), "So do we.")
    assert [reference.target for reference in heap.references["D05-0001"]] == [
        "D01-0001",
        "D01-0002",
    ]


@pytest.mark.parametrize(
    ("form", "rows"),
    [
        ("unarxive", [unarxive_paper()]),
        ("s2orc", s2orc_metadata()),
        ("s2orc", [s2orc_annotated()]),
    ],
)
def test_the_form_of_a_corpus_is_seen(tmp_path, form, rows):
    path = write_lines(tmp_path / "corpus" / "some.jsonl", rows)
    assert choose_loader("auto", path).name == form
    assert choose_loader("auto", path.parent).name == form


def test_our_own_form_is_seen_by_its_files(tmp_path):
    assert choose_loader("auto", write_corpus(tmp_path / "corpus")).name == "lines"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{}\n", "the form of this corpus is not known"),
        ("{broken\n", "corpus.jsonl:1"),
        ("3\n", "not a JSON object"),
    ],
)
def test_what_is_no_corpus_is_refused_with_its_reason(tmp_path, content, words):
    path = tmp_path / "corpus.jsonl"
    path.write_text(content)
    with pytest.raises(InputRefused) as refused:
        choose_loader("auto", path)
    assert words in str(refused.value)


def test_a_sentence_without_a_placeholder_is_refused(tmp_path):
    folder = write_corpus(tmp_path / "corpus", papers=1, contexts=1)
    write_lines(
        folder / "contexts.jsonl",
        [{"context_id": "x", "paper_id": "p", "sentence": "No mark.", "gold": []}],
    )
    load = choose_loader("auto", folder).load
    with pytest.raises(InputRefused, match="the sentence of context “x” has no <REF>"):
        load(folder, Heap())


def test_halves_of_characters_and_numbers_of_very_many_digits_stop_nobody(tmp_path):
    paper = {
        "title": "Half a \ud800 smile",
        "year": 10**30,
        "citation_count": "9" * 5000,
        "text": "It works.",
    }
    papers = [{"paper_id": f"p{number}", **paper} for number in range(3)]
    references = [
        {"paper_id": f"p{number}", "ref_id": "b0", "cited_paper_id": "p0"}
        for number in (1, 2)
    ]
    context = {"sentence": "As <REF> did.", "gold": ["b0"]}
    contexts = [
        {"paper_id": f"p{number}", "context_id": f"c{number}", **context}
        for number in (1, 2)
    ]
    for name, rows in (
        ("papers", papers),
        ("references", references),
        ("contexts", contexts),
    ):
        write_lines(tmp_path / "corpus" / f"{name}.jsonl", rows)
    assert (
        main(["build-topics", str(tmp_path / "corpus"), "--out", str(tmp_path / "out")])
        == 0
    )
    assert (
        next(iterate_records(tmp_path / "corpus" / "papers.jsonl"))["title"]
        == "Half a ? smile"
    )


@pytest.mark.parametrize(
    "content",
    [
        b"no gzip",
        gzip.compress(b"{}" * 1000, mtime=0)[:-12],
        gzip.compress(b"{}", mtime=0)[:12],
    ],
    ids=["no gzip", "without its end", "cut in its head"],
)
def test_a_packed_file_that_is_damaged_is_refused_by_its_name(
    capsys, tmp_path, content
):
    (tmp_path / "corpus.jsonl.gz").write_bytes(content)
    assert main(["build-topics", str(tmp_path), "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err.startswith(
        f"{tmp_path / 'corpus.jsonl.gz'}: it cannot be unpacked"
    )


@pytest.mark.parametrize(
    ("name", "row", "told"),
    [
        (
            "contexts",
            {"context_id": "c", "sentence": "No mark."},
            "the sentence of context “c” has no <REF>",
        ),
        ("contexts", {"sentence": "As <REF>."}, "a row without “context_id”"),
        ("references", {"paper_id": "p000"}, "a row without “ref_id”"),
        ("papers", {"title": "Nobody's"}, "a row without “paper_id”"),
    ],
)
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_row_that_cannot_be_meant_is_refused_by_file_and_line(
    capsys, tmp_path, name, row, told, jobs
):
    path = write_corpus(tmp_path / "corpus") / f"{name}.jsonl"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines, "", json.dumps(row), *lines]))
    command = [
        "build-resolution",
        str(tmp_path / "corpus"),
        "--out",
        str(tmp_path / "out"),
        "--jobs",
        jobs,
    ]
    assert main([*command, "--no-baselines"]) == 2
    assert f"{path}:{len(lines) + 2}: {told}" in capsys.readouterr().err
