"""The words that let others recompute a number, and that they do."""

import json
import shlex
from pathlib import Path

import pytest

from scoring.__main__ import main
from scoring.metrics.rouge import Rouge
from scoring.stats.interval_methods import METHODS
from scoring.stats.signature import (
    build_column_key,
    build_signature,
    format_compare_command,
    format_score_command,
    parse_signature,
)
from tasks.types import TaskType, task_types
from tasks.types.base import replace_paths_by_file_names
from tests.scoring.offline import score
from tests.tasks.test_every_type import sample, sample_options

TYPES = list(task_types().values())


def test_a_column_key_holds_whatever_decides_about_sharing_a_column():
    metric = Rouge(
        "rouge_l_f1_stemmed", "corrected", kind="l", part="f1", is_stemmed=True
    )
    assert build_column_key(metric, gold="0123456789abcdef") == (
        "rouge_l_f1_stemmed|rules:corrected|average:instances|stemmer:porter|tokenizer:rouge-score|"
        "unicode:nfc|gold:0123456789ab|v:2"
    )


@pytest.mark.parametrize(
    ("reading", "part"), [(1, ""), (2, "|reading:2"), (3, "|reading:3")]
)
def test_a_column_key_names_the_rules_for_reading_from_version_2_on(reading, part):
    metric = Rouge("rouge_1_f1", "corrected", kind="1", part="f1", is_stemmed=False)
    key = build_column_key(metric, gold="0123456789abcdef", reading=reading)
    assert key.endswith(f"|gold:0123456789ab{part}|v:{metric.version}")


def test_a_signature_adds_where_the_number_came_from():
    signed = build_signature("name|v:1", {"n": 5, "seed": 0}, ("rapidfuzz",))
    assert signed.startswith("name|v:1|n:5|seed:0|numpy:")
    parts = parse_signature(signed)
    assert parts["seed"] == "0"
    assert {"numpy", "rapidfuzz", "python"} <= parts.keys()


def test_a_bar_in_a_value_begins_no_other_part():
    assert (
        parse_signature(build_signature("name", {"labels": "a|b:c"}))["labels"]
        == "a/b:c"
    )


def recomputed(capsys, scores: dict, signed: str, gold: list[Path], run: Path) -> dict:
    """What the command prints that the site would show beside a score."""
    command = format_score_command(
        scores["task_type"],
        rules=scores["rules"],
        options=scores["options"],
        signature=signed,
        gold=[str(path) for path in gold],
        run=str(run),
    )
    words = shlex.split(command)
    assert words[:3] == ["python", "-m", "scoring"]
    assert main([*words[3:], "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("task_type", TYPES, ids=[kind.slug for kind in TYPES])
def test_the_command_of_a_signature_gives_the_same_numbers(
    capsys, task_type: TaskType, method
):
    """Counts exactly, values to 12 digits, intervals to 10, under every rule set."""
    gold, run, expected = sample(task_type)
    drawn = ("--seed", "11", "--intervals", "200", "--method", method)
    for rules in expected:
        scores = score(
            capsys,
            task_type.slug,
            gold,
            run,
            *sample_options(task_type),
            "--rules",
            rules,
            *drawn,
        )
        signed = next(iter(scores["metrics"].values()))["signature"]
        again = recomputed(capsys, scores, signed, gold, run)
        assert again["gold"]["sha256"].startswith(parse_signature(signed)["gold"])
        assert parse_signature(signed)["rules"] == rules
        for name, metric in scores["metrics"].items():
            own = again["metrics"][name]
            assert own["signature"] == metric["signature"]
            assert own["n"] == metric["n"]
            for part, digits in (("value", 1e-12), ("low", 1e-10), ("high", 1e-10)):
                assert (own[part] is None) == (metric[part] is None)
                assert metric[part] is None or own[part] == pytest.approx(
                    metric[part], rel=digits
                )


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        ("/srv/parses.jsonl", "parses.jsonl"),
        ("labels:/srv/l.jsonl", "labels:l.jsonl"),
        (r"C:\data\l.jsonl", "l.jsonl"),
        ("C:/data/l.jsonl", "l.jsonl"),
        (r"labels:C:\data\l.jsonl", "labels:l.jsonl"),
        ("store:google/t5", "store:google/t5"),
        ("some/model", "some/model"),
        ("word-overlap", "word-overlap"),
    ],
)
def test_of_a_path_in_an_option_the_file_alone_is_printed(value, printed):
    assert replace_paths_by_file_names({"option": value}) == {"option": printed}


def test_the_command_that_compares_two_runs_names_each_of_them():
    asked = {
        "options": {"annotation": "annv2"},
        "gold": "GOLD",
        "runs": ("A", "B b"),
        "trials": 9,
        "seed": 4,
    }
    assert format_compare_command(
        "clsumm-1a", rules="corrected", **asked, part="private"
    ) == (
        "python -m scoring compare clsumm-1a --gold GOLD --run A --run 'B b' --rules corrected "
        "--option annotation=annv2 --part private --tests 9 --seed 4"
    )
