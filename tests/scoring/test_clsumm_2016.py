"""The program of 2016 compares sets of ids and of facets, citance by citance."""

import json

import pytest

from scoring.__main__ import main
from tests.tasks.types.corpus import answer_line, write_topic

TOPIC = "D01-0001"
FACET = "Method_Citation"


@pytest.fixture
def score(capsys, tmp_path):
    def scored(
        *lines: str, task: str = "clsumm-1a", topics: tuple[str, ...] = (TOPIC,)
    ):
        for topic in topics:
            write_topic(tmp_path / "gold", topic)
        run = tmp_path / f"{TOPIC}.annv3.txt"
        run.write_text("\n".join(lines))
        command = [
            "score",
            task,
            "--gold",
            str(tmp_path / "gold"),
            "--run",
            str(run),
            "--intervals",
            "0",
        ]
        assert main([*command, "--rules", "official-2016", "--json"]) == 0
        return {
            name: found["value"]
            for name, found in json.loads(capsys.readouterr().out)["metrics"].items()
        }

    return scored


def test_a_wrong_sentence_given_twice_is_wrong_once(score):
    """Gold has 1 and then 2, 3."""
    found = score(answer_line(TOPIC, "D05-0001", "3", ["1", "4", "4"]))
    assert found["overlap_precision_micro"] == pytest.approx(1 / 2)
    assert found["overlap_recall_micro"] == pytest.approx(1 / 3)


def test_an_empty_list_of_sentences_brings_none(score):
    line = answer_line(TOPIC, "D05-0002", "7", ["2"]).replace("['2']", "[]")
    found = score(answer_line(TOPIC, "D05-0001", "3", ["1"]), line)
    assert found["overlap_precision_micro"] == 1


def test_a_reference_paper_is_known_by_the_files_name_and_of_two_lines_the_last_counts(
    score,
):
    first = answer_line(TOPIC, "D05-0001", "3", ["4"])
    last = answer_line(TOPIC, "D05-0001", "3", ["1"]).replace(
        f"Reference Article: {TOPIC}", "Reference Article: X"
    )
    found = score(first, last)
    assert found["overlap_precision_micro"] == 1


def test_a_topic_that_the_run_lacks_is_missed(score):
    lines = (
        answer_line(TOPIC, "D05-0001", "3", ["1"]),
        answer_line(TOPIC, "D05-0002", "7", ["2", "3"]),
    )
    assert score(*lines, topics=(TOPIC, "D01-0002"))[
        "overlap_recall_micro"
    ] == pytest.approx(1 / 2)


def test_facets_count_where_a_sentence_was_found_and_those_of_unknown_citances_are_wrong(
    score,
):
    found = score(
        answer_line(TOPIC, "D05-0001", "3", ["1"], FACET),
        answer_line(TOPIC, "D05-0002", "7", ["4"], "Aim_Citation"),
        answer_line(TOPIC, "D05-0009", "1", ["1"], FACET),
        task="clsumm-1b",
    )
    assert found["facet_precision_micro"] == pytest.approx(1 / 2)
    assert found["facet_recall_micro"] == pytest.approx(1 / 2)


def test_an_answer_without_a_facet_has_a_wrong_one(score):
    found = score(
        answer_line(TOPIC, "D05-0001", "3", ["1"], ""),
        answer_line(TOPIC, "D05-0002", "7", ["2"], "Results_Citation"),
        task="clsumm-1b",
    )
    assert found["facet_precision_micro"] == pytest.approx(1 / 2)
