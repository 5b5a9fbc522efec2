"""What a corpus says of authors: on the candidates, and as a dimension."""

import json
from pathlib import Path

import pytest

from scoring.__main__ import main
from tasks.types import task_type
from tasks.types.files import open_input_files
from tests.scoring.builders.corpora import write_corpus, write_lines
from tests.scoring.builders.test_diagnostic import build, facts, rows, s2ag
from tests.scoring.offline import score

SLUG = "citation-recommendation"


@pytest.fixture
def corpus(tmp_path) -> Path:
    """S2AG's papers with two authors each, of whom the files of authors know one more and one less."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    lines = [json.loads(line) for line in s2ag(tmp_path).read_text().splitlines()]
    for line in lines:
        if "title" in line:
            number = line["corpusid"] - 100
            line["authors"] = [
                {"authorId": str(number), "name": f"A{number}"},
                {"authorId": "x", "name": "X"},
            ]
    write_lines(folder / "papers.jsonl", lines)
    people = [
        {
            "authorid": str(n),
            "name": f"A{n}",
            "hindex": n,
            "papercount": 2 * n,
            "citationcount": None,
        }
        for n in range(10, 50)
    ]
    write_lines(folder / "authors.jsonl", [*people, {"authorid": "x", "name": "X"}])
    return folder


def test_the_highest_h_index_of_the_cited_paper_stands_with_a_context(corpus, tmp_path):
    out = build(corpus, tmp_path / "season", "--every-context", "--no-baselines")
    for row in rows(out):
        number = int(row["cited_id"]) - 100
        assert row.get("h_index") == (number if 10 <= number < 50 else None)
        assert ("h_index" in row) == ("h_index_group" in row)
    assert set(facts(out)["classes"]["h_index_group"]) == {"0", "1", "2", "3"}
    sheet = (out / "datasheet.md").read_text()
    assert (
        "| h-index | highest of an author of the cited paper; 4 equal groups within field |"
        in sheet
    )


def test_groups_rise_with_the_h_index_within_a_field(corpus, tmp_path):
    out = build(corpus, tmp_path / "season", "--every-context", "--no-baselines")
    known = [row for row in rows(out) if "h_index" in row]
    for field in {row["field"] for row in known}:
        own = sorted(
            {
                (row["h_index"], row["h_index_group"])
                for row in known
                if row["field"] == field
            }
        )
        groups = [group for _, group in own]
        assert groups == sorted(groups)
        assert max(map(groups.count, groups)) - min(map(groups.count, groups)) <= 1


def test_candidates_have_what_is_known_of_their_authors_and_participants_see_it(
    corpus, tmp_path
):
    out = build(corpus, tmp_path / "season", "--every-context", "--no-baselines")
    own = task_type(SLUG)
    public = dict(
        own.public_files(open_input_files(out / "gold"), own.validate_options({}))
    )
    shown = {
        line["ref_id"]: line
        for line in map(json.loads, public["references.jsonl"].splitlines())
    }
    assert shown["120"]["author_metadata"] == [
        {"name": "A20", "h_index": 20, "paper_count": 40},
        {"name": "X"},
    ]
    assert shown["105"]["author_metadata"] == [{"name": "X"}]
    assert b"h_index" not in public["diagnostic.jsonl"]


def test_the_h_index_is_a_dimension_that_is_sampled_and_scored(
    corpus, tmp_path, capsys
):
    out = build(corpus, tmp_path / "season")
    capsys.readouterr()
    found = score(capsys, SLUG, [out / "gold"], out / "baselines" / "bm25-okapi.jsonl")[
        "breakdowns"
    ]
    assert list(found["h_index_group"]) == ["0", "1", "2", "3"]


def test_authors_are_the_same_however_many_processes_read_them(corpus, tmp_path):
    alone = build(corpus, tmp_path / "one" / "season", "--no-baselines")
    two = build(corpus, tmp_path / "two" / "season", "--no-baselines", "--jobs", "2")
    for path in alone.rglob("*"):
        assert (
            path.is_dir()
            or path.read_bytes() == (two / path.relative_to(alone)).read_bytes()
        )


def test_our_own_form_has_authors_too(tmp_path):
    folder = write_corpus(tmp_path / "corpus", papers=3)
    more = [{"paper_id": f"w{n:03d}", "author_ids": ["a", "b"]} for n in range(9)]
    with (folder / "papers.jsonl").open("a") as file:
        file.writelines(json.dumps(line) + "\n" for line in more)
    write_lines(
        folder / "authors.jsonl",
        [{"author_id": "a", "h_index": 3}, {"author_id": "b", "h_index": 7}],
    )
    out = build(folder, tmp_path / "season", "--every-context", "--no-baselines")
    assert {row["h_index"] for row in rows(out)} == {7}


def test_a_corpus_without_authors_has_no_such_dimension(tmp_path):
    out = build(
        write_corpus(tmp_path / "corpus"), tmp_path / "season", "--no-baselines"
    )
    assert "h_index_group" not in facts(out)["classes"]
    assert "h_index" not in (out / "gold" / "diagnostic.jsonl").read_text()
    assert "h_index" not in (out / "datasheet.md").read_text()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"hindex": "many"}, "“hindex” of the author “x” is"),
        ({"papercount": 1.5}, "“papercount” of the author “x” is"),
        ({"citationcount": -1}, "“citationcount” of the author “x” is"),
        ({"hindex": True}, "“hindex” of the author “x” is"),
        ({"authorid": ""}, "an author without “authorid”"),
    ],
)
def test_a_number_of_an_author_that_is_none_is_refused(
    corpus, tmp_path, capsys, change, told
):
    write_lines(corpus / "authors.jsonl", [{"authorid": "x", **change}])
    assert (
        main(
            [
                "build-diagnostic",
                str(corpus),
                "--out",
                str(tmp_path / "out"),
                "--tagger",
                "none",
            ]
        )
        == 2
    )
    said = capsys.readouterr().err
    assert told in said
    assert "authors.jsonl" in said
