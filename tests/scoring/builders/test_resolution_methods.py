"""The paper's methods: whose words are evidence, what a query is, runs of all methods, the printed table."""

import json
import tomllib
from pathlib import Path

import pytest

from scoring.__main__ import main
from scoring.tools.baselines.resolution import (
    SentenceWindow,
    WordWindow,
    make_query_text,
)
from tasks.types import InputRefused, task_type
from tasks.types.files import open_input_files
from tests.scoring.builders.corpora import unarxive_paper, write_lines
from tests.scoring.builders.test_resolution_builder import TOPICS, write_collection
from tests.scoring.offline import score

ROOT = Path(__file__).resolve().parents[3]
PUBLISHED = ROOT / "examples" / "citation-resolution-2014" / "duma-klein-2014.json"


@pytest.fixture
def corpus(tmp_path) -> Path:
    """Two tested papers, x and y, and z of a single reference, which says what nobody else says."""
    folder = write_collection(tmp_path / "corpus")
    with (folder / "references.jsonl").open("a") as file:
        file.write(
            json.dumps(
                {"paper_id": "z", "ref_id": "z-tides", "cited_paper_id": "tides"}
            )
            + "\n"
        )
    with (folder / "contexts.jsonl").open("a") as file:
        said = {
            "sentence": "The moon pulls <REF> twice a day.",
            "before": "Ships wait.",
            "after": "So be it.",
        }
        file.write(
            json.dumps(
                {"context_id": "z_0", "paper_id": "z", "gold": ["z-tides"], **said}
            )
            + "\n"
        )
    return folder


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def build(corpus: Path, out: Path, *more: str) -> Path:
    assert (
        main(
            [
                "build-resolution",
                str(corpus),
                "--out",
                str(out),
                "--fewest-references",
                "4",
                *more,
            ]
        )
        == 0
    )
    return out


def sweep(capsys, corpus: Path, *more: str) -> dict:
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
                *more,
            ]
        )
        == 0
    )
    return json.loads(capsys.readouterr().out)


def test_what_tested_papers_say_is_evidence_only_where_that_is_asked_for(
    capsys, corpus
):
    """Nine contexts. Of x and y each names the subject for the other; what z says of tides in other words
    makes those two a longer text that loses. z alone shares no word with a query: the first candidate wins.
    """
    shares = {
        whose: {
            row["system"]: row["values"]["success@n"]
            for row in sweep(capsys, corpus, "--inlinks-without", whose)["rows"]
            if row["window"] == "10-10"
        }
        for whose in ("tested", "citing")
    }
    assert shares["citing"]["inlink context 10"] == pytest.approx(7 / 9)
    assert shares["tested"]["inlink context 10"] == pytest.approx(3 / 9)
    others = [row for row in lines(corpus / "contexts.jsonl") if row["paper_id"] != "z"]
    write_lines(corpus / "contexts.jsonl", others)
    left = {row["system"] for row in sweep(capsys, corpus)["rows"]}
    assert not any(name.startswith("inlink") for name in left)


def test_a_query_is_words_on_unequal_sides_or_whole_sentences():
    record = {
        "before": "First one. Then two.",
        "sentence": "Three <REF>, and <OTHERREF> four.",
        "after": "Five. Six.",
    }
    assert make_query_text(record, WordWindow(3, 2)) == "Then two. Three , and"
    assert make_query_text(record, SentenceWindow(0)) == "Three , and four."
    assert (
        make_query_text(record, SentenceWindow(1))
        == "Then two. Three , and four. Five."
    )
    assert (
        make_query_text(record, SentenceWindow(9))
        == "First one. Then two. Three , and four. Five. Six."
    )
    assert make_query_text({"sentence": "Alone <REF>."}, SentenceWindow(1)) == "Alone ."
    assert [str(SentenceWindow(around)) for around in (0, 1, 2)] == [
        "sentence",
        "3 sentences",
        "5 sentences",
    ]


def test_as_many_sentences_as_asked_for_stand_around_a_citation(tmp_path):
    words = [f"Sentence number {place} says something" for place in range(7)]
    words[3] += " {{cite:aa}}"
    paper = unarxive_paper()
    paper["body_text"] = [
        {"section": "All", "content_type": "paragraph", "text": ". ".join(words) + "."}
    ]
    corpus = write_lines(tmp_path / "corpus" / "papers.jsonl", [paper]).parent
    found = {}
    for around in ("0", "1", "2", "9"):
        out = tmp_path / around / "season"
        more = [
            "--collection",
            "references",
            "--fewest-references",
            "2",
            "--around",
            around,
        ]
        assert main(["build-resolution", str(corpus), "--out", str(out), *more]) == 0
        [context] = lines(out / "gold" / "contexts.jsonl")
        found[around] = (
            context["before"].count("number"),
            context["after"].count("number"),
        )
    assert found == {"0": (0, 0), "1": (1, 1), "2": (2, 2), "9": (3, 3)}


@pytest.mark.parametrize("around", ["-1", "some", "1.5"])
def test_a_number_of_sentences_is_a_whole_one(around, tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(
            [
                "build-resolution",
                str(tmp_path),
                "--out",
                str(tmp_path / "season"),
                f"--around={around}",
            ]
        )
    assert "is not a number of sentences" in capsys.readouterr().err


def test_participants_get_texts_and_what_others_say_and_no_word_of_tested_papers(
    corpus, tmp_path
):
    out = build(corpus, tmp_path / "season", "--with-texts", "--with-inlinks")
    own = task_type("citation-resolution")
    public = dict(
        own.public_files(open_input_files(out / "gold"), own.validate_options({}))
    )
    assert set(public) == {"contexts.jsonl", "references.jsonl", "inlinks.jsonl"}
    assert [json.loads(line) for line in public["inlinks.jsonl"].splitlines()] == [
        {
            "ref_id": "tides",
            "citing": "z",
            "before": "Ships wait.",
            "sentence": "The moon pulls <REF> twice a day.",
            "after": "So be it.",
        }
    ]
    texts = {
        row["ref_id"]: row.get("text")
        for row in map(json.loads, public["references.jsonl"].splitlines())
    }
    assert texts["bells"].startswith("bells are fine.")
    assert set(texts) == set(TOPICS)


def test_gold_whose_inlinks_are_of_a_tested_paper_is_refused(corpus, tmp_path):
    out = build(corpus, tmp_path / "season", "--with-inlinks")
    row = {
        "ref_id": "tides",
        "citing": "x",
        "sentence": "Much is known of tides <REF>.",
    }
    write_lines(out / "gold" / "inlinks.jsonl", [row, {"citing": "z"}])
    own = task_type("citation-resolution")
    with pytest.raises(InputRefused) as refused:
        own.read_gold(open_input_files(out / "gold"), own.validate_options({}))
    told = [str(problem) for problem in refused.value.problems]
    assert "“x”, which cites “tides” here, is a paper under test" in told[0]
    assert "ref_id" in told[1]


def test_every_method_that_has_something_to_go_by_is_a_run_that_scores(
    capsys, corpus, tmp_path
):
    out = build(
        corpus, tmp_path / "season", "--with-texts", "--with-inlinks", "--every-method"
    )
    entries = tomllib.loads((out / "season.toml").read_text())["tasks"][0]["baselines"]
    runs = {entry["system"]: out / entry["run"] for entry in entries}
    assert len(runs) == 2 + 17 * 7
    swept = {
        f"{row['system']}, {row['window']}": row["values"]["success@n"]
        for row in sweep(capsys, corpus, "--around", "1")["rows"]
    }
    for system in (
        "full text, 5-5",
        "inlink context 10, 30-30",
        "inlink context 20 + passage 250, sentence",
    ):
        metrics = score(capsys, "citation-resolution", [out / "gold"], runs[system])[
            "metrics"
        ]
        assert metrics["success@n"]["value"] == swept[system]
    brief = build(corpus, tmp_path / "brief", "--every-method")
    entries = tomllib.loads((brief / "season.toml").read_text())["tasks"][0][
        "baselines"
    ]
    assert {entry["system"].partition(",")[0] for entry in entries[2:]} == {
        "title and abstract",
        "reference string",
    }


def test_a_method_without_anything_to_go_by_says_what_it_needs(
    corpus, tmp_path, capsys
):
    out = build(corpus, tmp_path / "season")
    for method, needed in (
        ("full text", "--with-texts"),
        ("inlink context 10", "--with-inlinks"),
    ):
        command = [
            "baseline",
            "resolution-tfidf",
            "--gold",
            str(out / "gold"),
            "--option",
            f"method={method}",
        ]
        assert main([*command, "--out", str(tmp_path / "run.jsonl")]) != 0
        told = capsys.readouterr().err
        assert f"{method} has nothing to go by here" in told
        assert needed in told


def test_the_printed_table_is_placed_beside_the_runs_of_every_method(corpus, tmp_path):
    """One placement a window, so that Table 1 stands on the site with what is computed beside each figure."""
    out = build(
        corpus,
        tmp_path / "season",
        "--with-texts",
        "--with-inlinks",
        "--published",
        str(PUBLISHED),
    )
    season = tomllib.loads((out / "season.toml").read_text())
    [task] = season["tasks"]
    windows = [entry["where"]["window"] for entry in task["published"]]
    assert windows == ["5 5", "10 10", "10 5", "20 20", "30 30"]
    runs = {entry["system"] for entry in task["baselines"]}
    beside = task["published"][3]["recomputed"]["systems"]
    assert len(beside) == 13
    assert (
        beside["inlink context 20 passage350"]
        == "inlink context 20 + passage 350, 20-20"
    )
    assert {"full text, 20-20", "inlink context 20 + full text, 20-20"} <= runs & set(
        beside.values()
    )
    assert season["season"]["published"] == [PUBLISHED.name]


def test_published_results_of_another_paper_are_refused(corpus, tmp_path, capsys):
    other = ROOT / "examples" / "citation-recommendation-2024" / "maharjan-2024.json"
    for file in (other, tmp_path / "nothing.json"):
        command = [
            "build-resolution",
            str(corpus),
            "--out",
            str(tmp_path / "out"),
            "--published",
            str(file),
        ]
        assert main(command) != 0
        assert (
            "has no Table 1 of methods and windows; expected examples/"
            in capsys.readouterr().err
        )
