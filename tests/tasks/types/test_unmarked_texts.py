"""Texts in UTF-16 and UTF-32 without a byte order mark are refused by line, in runs and in gold."""

import gzip
import struct

import pytest

from tasks.types import InputRefused
from tasks.types.files import open_input_files
from tasks.types.guarded.encodings import detect_kind_of_binary_file
from tests.scoring.offline import refusals, score
from tests.tasks.types.rankings import (
    write_lines,
    write_recommendation,
    write_resolution,
)

RUN = '{"id": "q1", "ranked": ["a"]}\n{"id": "q2", "ranked": ["b"]}\n'
ENCODINGS = ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]
COMPOSED, DECOMPOSED = "M\u00fcller", "Mu\u0308ller"


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_run_without_its_mark_is_refused_by_name(tmp_path, capsys, encoding, pack):
    gold = write_recommendation(tmp_path / "gold")
    run = tmp_path / "run.jsonl"
    run.write_bytes(pack(RUN.encode(encoding)))
    [told] = refusals(capsys, "citation-recommendation", [gold], run)
    name = encoding[:6].upper()
    assert f":1: this is a text in {name} without a byte order mark" in told
    assert "expected a text in UTF-8" in told


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_gold_without_its_mark_is_refused_by_name(tmp_path, encoding):
    path = tmp_path / "gold.csv"
    path.write_bytes("id,text,label\nx,Да,yes\n".encode(encoding))
    [file] = open_input_files(path)
    with pytest.raises(InputRefused) as refused:
        file.read()
    assert refused.value.problems[0].line == 1
    assert "without a byte order mark" in refused.value.problems[0].message
    [earlier] = open_input_files(path, reading=1)
    assert earlier.read() == path.read_bytes()


@pytest.mark.parametrize(
    "content",
    [
        b"\0" * 100,
        bytes(range(256)),
        "Plain text, Да und 中文.\n".encode(),
        b"with one \0 byte in it, as some programs write them",
        struct.pack("<40d", *(n / 7 for n in range(40))),
        # Two bytes behind the last four: they belong to no code unit of UTF-32.
        b"a\0bcdefgh\0",
    ],
)
def test_other_bytes_are_no_text_without_its_mark(content):
    assert "byte order mark" not in (detect_kind_of_binary_file(content) or "")


def test_a_reference_that_gold_cites_in_another_unicode_form_is_found(tmp_path, capsys):
    contexts = [("p1_0", "p1", [DECOMPOSED, COMPOSED]), ("p1_1", "p1", ["a"])]
    gold = write_resolution(tmp_path / "r", contexts, [("p1", (COMPOSED, "a", "b"))])
    answers = [
        {"id": "p1_0", "ranked": [DECOMPOSED]},
        {"id": "p1_1", "ranked": ["a"]},
    ]
    run = write_lines(tmp_path / "run.jsonl", answers)
    scores = score(capsys, "citation-resolution", [gold], run)
    assert scores["gold"]["instances"] == scores["gold"]["rows"] == 2
    assert scores["metrics"]["success@n"]["value"] == 1
    earlier = score(capsys, "citation-resolution", [gold], run, "--reading", "2")
    assert earlier["metrics"]["success@n"]["value"] == 1


def test_a_recommendation_cites_a_candidate_in_another_unicode_form(tmp_path, capsys):
    gold = write_recommendation(tmp_path / "gold", cited=(("q1", DECOMPOSED),))
    write_lines(gold / "references.jsonl", [{"ref_id": COMPOSED}, {"ref_id": "a"}])
    run = write_lines(tmp_path / "run.jsonl", [{"id": "q1", "ranked": [COMPOSED]}])
    scores = score(capsys, "citation-recommendation", [gold], run)
    assert scores["metrics"]["mrr@10"]["value"] == 1
    told = refusals(capsys, "citation-recommendation", [gold], run, "--reading", "2")
    assert "is no candidate" in told[0]
