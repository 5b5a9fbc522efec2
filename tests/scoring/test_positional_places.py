"""Marks in other places: at sentence ends, found anew by words or labels, and mixed."""

import json
from pathlib import Path

import pytest

from scoring.__main__ import main
from scoring.papers.mark_places import move_marks_to_sentence_ends
from tests.tasks.types.citations import write_gold, write_run

OUTPUTS = {
    "q1": "It rains [1] in Oslo. Rome [2] is dry [1].",
    "q2": "Wind [1] is air that moves.",
}


def placed(folder: Path, how: str, *more: str) -> dict[str, str]:
    gold, run, out = (
        write_gold(folder),
        write_run(folder, OUTPUTS),
        folder / "placed.jsonl",
    )
    words = [
        "papers",
        "place-marks",
        "--gold",
        str(gold),
        "--run",
        str(run),
        "--how",
        how,
        "--out",
        str(out),
        *more,
    ]
    assert main(words) == 0
    return {
        own["id"]: own["output"]
        for own in map(json.loads, out.read_text().splitlines())
    }


@pytest.mark.parametrize(
    ("output", "moved"),
    [
        (
            "Bells ring [2] and sway [1][2]. So it is.",
            "Bells ring and sway [2][1]. So it is.",
        ),
        ("Bells ring.[3] Towers sway", "Bells ring [3]. Towers sway"),
        ("Bells, [1] he said [2], ring!", "Bells, he said, ring [1][2]!"),
        ("", ""),
    ],
)
def test_each_mark_goes_once_to_the_end_of_its_sentence(output, moved):
    assert move_marks_to_sentence_ends(output) == moved


def test_a_run_is_written_with_its_marks_at_sentence_ends(tmp_path):
    assert placed(tmp_path, "sentence-ends") == {
        "q1": "It rains in Oslo [1]. Rome is dry [2][1].",
        "q2": "Wind is air that moves [1].",
    }


def test_by_overlap_a_sentence_has_the_passage_with_most_of_its_words(tmp_path):
    assert placed(tmp_path, "overlap")["q1"] == "It rains in Oslo [1]. Rome is dry [2]."


def test_by_labels_a_sentence_has_every_passage_that_entails_it(tmp_path):
    found = placed(tmp_path, "labels", "--option", "entailment=word-overlap")
    assert found["q1"] == "It rains in Oslo [1]. Rome is dry [2]."


def test_labels_are_asked_for_by_name(tmp_path, capsys):
    gold, run = write_gold(tmp_path), write_run(tmp_path, OUTPUTS)
    words = [
        "papers",
        "place-marks",
        "--gold",
        str(gold),
        "--run",
        str(run),
        "--how",
        "labels",
    ]
    assert main([*words, "--out", str(tmp_path / "x")]) == 2
    assert "needs --option entailment=labels:PATH" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_a_mixture_holds_each_smaller_one_and_ends_with_the_run_itself(
    tmp_path, capsys
):
    gold, run = write_gold(tmp_path), write_run(tmp_path, OUTPUTS)
    words = [
        "papers",
        "mix-positions",
        "--gold",
        str(gold),
        "--run",
        str(run),
        "--steps",
        "2",
        "--json",
    ]
    assert main(words) == 0
    found = json.loads(capsys.readouterr().out)["mixtures"]
    assert [(own["share"], own["positional"], own["answers"]) for own in found] == [
        (0.0, 0, 2),
        (0.5, 1, 2),
        (1.0, 2, 2),
    ]
    # One mark, or two side by side: nothing is spread.
    assert found[0]["cvcp"] == 0
    # In q1's second sentence marks stand at 2 and 5 of 6 units: deviation 1.5 over mean 3.5, and 0 in the
    # first; the mean over sentences is that of q1, then the one of q1 and q2.
    assert found[2]["cvcp"] == pytest.approx((1.5 / 3.5) / 2 / 2)


def test_the_built_in_answer_says_what_the_passages_begin_with_and_marks_them(tmp_path):
    out = tmp_path / "own.jsonl"
    assert (
        main(
            [
                "baseline",
                "positional-passages",
                "--gold",
                str(write_gold(tmp_path)),
                "--out",
                str(out),
            ]
        )
        == 0
    )
    found = {
        own["id"]: own["output"]
        for own in map(json.loads, out.read_text().splitlines())
    }
    assert found == {
        "q1": "It rains in Oslo [1]. Rome is dry [2].",
        "q2": "Wind is air that moves [1].",
    }
