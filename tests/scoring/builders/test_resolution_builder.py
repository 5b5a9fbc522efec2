"""Building gold for Citation Resolution, and the sweep of all baselines over a corpus."""

import json
import tomllib
from pathlib import Path

import pytest

from scoring.__main__ import main
from scoring.tools.baselines.resolution import (
    WordWindow,
    join_words_around_placeholder,
    split_passages,
)
from tests.scoring.builders.corpora import write_lines
from tests.scoring.offline import score

TOPICS = ("bells", "tides", "chess", "bread")


def write_collection(folder: Path) -> Path:
    """Four papers on subjects of their own and two that cite them, naming the subject around the mark."""
    papers = [
        {
            "paper_id": name,
            "title": f"All about {name}",
            "abstract": f"We study {name}.",
            "text": f"{name} are fine. " * 20,
        }
        for name in TOPICS
    ]
    citing = [
        {"paper_id": name, "title": name, "abstract": "We cite.", "text": "Nothing."}
        for name in ("x", "y")
    ]
    references = [
        {
            "paper_id": paper,
            "ref_id": f"{paper}-{name}",
            "cited_paper_id": name,
            "raw": f"Somebody. All about {name}.",
        }
        for paper in ("x", "y")
        for name in TOPICS
    ]
    references.append(
        {"paper_id": "x", "ref_id": "x-elsewhere", "raw": "A paper that is not here."}
    )
    contexts = [
        {
            "context_id": f"{paper}_{number}",
            "paper_id": paper,
            "sentence": f"Much is known of {name} <REF>.",
            "before": "",
            "after": "",
            "gold": [f"{paper}-{name}"],
            "n_markers": 1,
        }
        for paper in ("x", "y")
        for number, name in enumerate(TOPICS)
    ]
    contexts.append(
        {
            **contexts[0],
            "context_id": "x_4",
            "gold": ["x-bells", "x-elsewhere", "x-tides"],
            "n_markers": 3,
        }
    )
    contexts.append({**contexts[0], "context_id": "x_5", "gold": ["x-elsewhere"]})
    write_lines(folder / "papers.jsonl", [*papers, *citing])
    write_lines(folder / "references.jsonl", references)
    write_lines(folder / "contexts.jsonl", contexts)
    return folder


@pytest.fixture
def corpus(tmp_path) -> Path:
    return write_collection(tmp_path / "corpus")


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_only_references_inside_the_collection_are_candidates(capsys, corpus, tmp_path):
    out = tmp_path / "season"
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
    contexts = {
        row["context_id"]: row["gold"] for row in lines(out / "gold" / "contexts.jsonl")
    }
    assert "x_5" not in contexts
    assert contexts["x_4"] == ["bells", "tides"]
    candidates = [
        row["ref_id"]
        for row in lines(out / "gold" / "references.jsonl")
        if row["paper_id"] == "x"
    ]
    assert candidates == list(TOPICS)
    assert {"citing": "x", "cited": "bells"} in lines(out / "gold" / "citations.jsonl")
    assert json.loads((out / "datasheet.json").read_text())["group_sizes"] == {
        "1": 8,
        "2": 1,
    }


def test_what_is_built_loads_and_its_baseline_scores(capsys, corpus, tmp_path):
    out = tmp_path / "season"
    main(
        ["build-resolution", str(corpus), "--out", str(out), "--fewest-references", "4"]
    )
    task = tomllib.loads((out / "season.toml").read_text())["tasks"][0]
    capsys.readouterr()
    scores = score(
        capsys, "citation-resolution", [out / "gold"], out / task["baselines"][0]["run"]
    )
    assert scores["metrics"]["success@n"]["value"] == 1
    assert scores["metrics"]["cocited_probability"]["value"] is not None


def test_papers_with_too_few_references_are_not_tested(capsys, corpus, tmp_path):
    out = tmp_path / "season"
    assert (
        main(
            [
                "build-resolution",
                str(corpus),
                "--out",
                str(out),
                "--fewest-references",
                "5",
            ]
        )
        == 0
    )
    assert (out / "gold" / "contexts.jsonl").read_text() == ""
    more = ["--collection", "references", "--fewest-references", "5"]
    assert main(["build-resolution", str(corpus), "--out", str(out), *more]) == 0
    assert {row["paper_id"] for row in lines(out / "gold" / "contexts.jsonl")} == {"x"}


def sweep(capsys, corpus: Path, *more: str) -> dict:
    capsys.readouterr()
    evidence = () if "--inlinks-without" in more else ("--inlinks-without", "citing")
    command = [
        "papers",
        "sweep-resolution",
        str(corpus),
        "--fewest-references",
        "4",
        "--json",
    ]
    assert main([*command, *evidence, *more]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_sweep_has_every_method_in_every_window(capsys, corpus):
    found = sweep(capsys, corpus)
    cells = {
        (row["system"], row["window"]): row["values"]["success@n"]
        for row in found["rows"]
    }
    systems = {system for system, _ in cells}
    assert {
        "full text",
        "title and abstract",
        "passage 250",
        "inlink context 10",
        "reference string",
    } <= systems
    assert len(cells) == 17 * 7
    assert all(cells["full text", str(window)] == 1 for window in ("5-5", "30-30"))
    assert found["contexts"] == 9


def test_what_the_paper_under_test_says_itself_is_no_evidence(capsys, corpus):
    """Without the other citing paper nobody cites the candidates, and external methods know nothing."""
    rows = [row for row in lines(corpus / "contexts.jsonl") if row["paper_id"] == "x"]
    both = sweep(capsys, corpus)
    write_lines(corpus / "contexts.jsonl", rows)
    alone = sweep(capsys, corpus)
    share = {
        name: {
            row["system"]: row["values"]["success@n"]
            for row in found["rows"]
            if row["window"] == "10-10"
        }
        for name, found in (("both", both), ("alone", alone))
    }
    assert share["both"]["inlink context 10"] == 1
    # The first candidate in the list wins every tie: of five contexts it is right for two.
    assert share["alone"]["inlink context 10"] == pytest.approx(2 / 5)
    assert alone["cited_elsewhere"] == 0


def test_methods_that_a_corpus_has_nothing_for_are_left_out(capsys, corpus):
    papers = [
        {"paper_id": row["paper_id"], "title": row["title"]}
        for row in lines(corpus / "papers.jsonl")
    ]
    write_lines(corpus / "papers.jsonl", papers)
    systems = {row["system"] for row in sweep(capsys, corpus)["rows"]}
    assert systems == {
        *("reference string", "inlink context 10", "inlink context 10-5"),
        *(
            "inlink context 20",
            "inlink context 30",
            "inlink context 20 + reference string",
        ),
    }


def test_the_table_sets_off_the_best_of_each_family_and_all_that_are_as_good(
    capsys, corpus
):
    capsys.readouterr()
    more = ["--fewest-references", "4", "--inlinks-without", "citing"]
    assert main(["papers", "sweep-resolution", str(corpus), *more]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(
        "9 contexts of 2 papers, 4.0 candidates a context; 100.0% of the candidates"
    )
    assert (
        "| method | 5-5 | 10-10 | 10-5 | 20-20 | 30-30 | sentence | 3 sentences |"
        in printed
    )
    assert "| full text | **1.000** |" in printed
    assert "| inlink context 10 | **1.000** |" in printed
    assert printed.count("| **1.000** |") > 2


def test_long_commands_say_their_steps_at_a_terminal_alone(
    capsys, corpus, monkeypatch, tmp_path
):
    more = ["--fewest-references", "4", "--inlinks-without", "citing"]
    sweep = ["papers", "sweep-resolution", str(corpus), *more]
    build = ["build-resolution", str(corpus), "--out", str(tmp_path / "season")]
    capsys.readouterr()
    assert main(sweep) == 0
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert main(sweep) == 0
    assert capsys.readouterr().err.splitlines() == [
        "reading the corpus …",
        "ranking the references of paper 1 of 2 …",
        "ranking the references of paper 2 of 2 …",
    ]
    assert main([*build, "--no-baselines"]) == 0
    assert capsys.readouterr().err.splitlines() == [
        "reading the corpus …",
        "choosing papers whose references are in the collection …",
        "writing contexts …",
        "writing references and papers …",
    ]


def test_passages_overlap_by_half():
    words = " ".join(map(str, range(10)))
    assert split_passages(words, 4) == ["0 1 2 3", "2 3 4 5", "4 5 6 7", "6 7 8 9"]
    assert split_passages("a b", 4) == ["a b"]
    assert split_passages("", 4) == [""]


def test_windows_reach_over_the_sentence_and_skip_other_marks():
    record = {
        "before": "one two <OTHERREF>.",
        "sentence": "three <REF>, four",
        "after": "five six <OTHERREF> seven",
    }
    assert (
        join_words_around_placeholder(record, WordWindow(2, 3)) == ". three , four five"
    )
    assert (
        join_words_around_placeholder(record, WordWindow.of("30-30"))
        == "one two . three , four five six seven"
    )
    with pytest.raises(ValueError, match="empty"):
        WordWindow.of("0-0")
