"""`python -m scoring papers tagger-overlap`: training sentences that stand in gold texts."""

import json

import pytest

from scoring.__main__ import main
from tests.tasks.types.instances import write_lines


@pytest.fixture
def files(tmp_path):
    texts = (
        "We follow the model of Smith (1999) and add a parser.",
        "we follow the model of smith 1999 and add a parser",
        "Owls hunt mice at night in the deep dark woods of Sweden.",
        "Too short.",
    )
    labelled = write_lines(
        tmp_path / "train.jsonl", *({"text": text, "label": "Uses"} for text in texts)
    )
    targets = {
        "lu": (
            "Before. We follow the model of Smith [1999], and add a parser! After.",
            "Owls hunt mice at night in the deep sea.",
            "Owls hunt mice at night in the day. Too short.",
        ),
        "xing": ("Nothing of all that.",),
    }
    gold = [
        write_lines(
            tmp_path / f"{name}.jsonl",
            *({"target": text, "input": ["Cited."]} for text in own),
        )
        for name, own in targets.items()
    ]
    return labelled, gold


def overlap(capsys, files, *more: str) -> dict:
    labelled, gold = files
    assert (
        main(
            [
                "papers",
                "tagger-overlap",
                str(labelled),
                "--gold",
                *map(str, gold),
                *more,
                "--json",
            ]
        )
        == 0
    )
    return json.loads(capsys.readouterr().out)


def test_shared_runs_of_words_and_whole_sentences_are_counted_by_data_set(
    capsys, files
):
    found = overlap(capsys, files)
    assert found["words"] == 8
    lu, xing = found["data_sets"]
    assert (lu["dataset"], lu["texts"], lu["texts_sharing"], lu["texts_holding"]) == (
        "lu",
        3,
        2,
        1,
    )
    # Two sentences that differ in punctuation alone are one; one is too short.
    assert (lu["sentences"], lu["sentences_shared"], lu["sentences_held"]) == (2, 2, 1)
    assert (xing["texts_sharing"], xing["sentences_shared"]) == (0, 0)


def test_the_length_of_a_run_is_an_option(capsys, files):
    lu, _ = overlap(capsys, files, "--words", "2")["data_sets"]
    assert (lu["texts_sharing"], lu["texts_holding"], lu["sentences"]) == (3, 2, 3)
    lu, _ = overlap(capsys, files, "--words", "50")["data_sets"]
    assert (lu["texts_sharing"], lu["sentences"]) == (0, 0)


def test_no_words_at_all_are_refused(capsys, files):
    labelled, gold = files
    assert (
        main(
            [
                "papers",
                "tagger-overlap",
                str(labelled),
                "--gold",
                str(gold[0]),
                "--words",
                "0",
            ]
        )
        == 2
    )
    assert "--words 0: expected 1 or more" in capsys.readouterr().err


def test_the_figures_are_a_sentence_for_readers(capsys, files):
    labelled, gold = files
    assert (
        main(["papers", "tagger-overlap", str(labelled), "--gold", str(gold[0])]) == 0
    )
    assert capsys.readouterr().out.startswith(
        "lu: 2 of 3 texts share 8 words in a row with a training sentence"
    )
