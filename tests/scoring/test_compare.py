"""`python -m scoring compare`: two runs on the same gold."""

import json
from pathlib import Path

import numpy as np
import pytest

from scoring.__main__ import main
from scoring.offline.compare import align_two_runs, compare_runs
from scoring.offline.evaluate import RunMeasurements
from tests.scoring.offline import score
from tests.scoring.toys import Counts, Mean, mean_rows

GOLD, RUNS = Path("examples/demo-season"), Path("examples/runs")


@pytest.fixture(autouse=True)
def at_root(monkeypatch, root):
    monkeypatch.chdir(root)


def compare(capsys, a: str, b: str, *more: str, task_type: str = "clsumm-1a") -> dict:
    arguments = [
        "compare",
        task_type,
        "--gold",
        str(GOLD),
        "--run",
        str(RUNS / a),
        "--run",
        str(RUNS / b),
        *more,
    ]
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_values_are_those_of_the_single_runs_and_the_difference_is_the_first_minus_the_second(
    capsys,
):
    found = compare(capsys, "lexical-top2.jsonl", "lead.jsonl")
    single = [
        score(capsys, "clsumm-1a", [GOLD], RUNS / run)
        for run in ("lexical-top2.jsonl", "lead.jsonl")
    ]
    assert list(found["metrics"]) == list(single[0]["metrics"])
    for name, metric in found["metrics"].items():
        a, b = (scores["metrics"][name]["value"] for scores in single)
        assert (metric["a"], metric["b"]) == pytest.approx((a, b), rel=1e-12)
        assert metric["difference"] == pytest.approx(a - b, rel=1e-9)
        assert metric["low"] <= metric["difference"] <= metric["high"]
        assert 0 < metric["p"] <= metric["p_holm"] <= 1


def test_four_topics_are_tested_exactly(capsys):
    """Even where one run is better in every topic, one in eight exchanges is as extreme."""
    f1 = compare(capsys, "lexical-top2.jsonl", "lead.jsonl")["metrics"][
        "overlap_f1_micro"
    ]
    assert (f1["test"], f1["trials"], f1["units"], f1["p"]) == (
        "exact randomisation",
        16,
        4,
        0.125,
    )


def test_the_other_way_round_only_the_sign_changes(capsys):
    there = compare(capsys, "lead.jsonl", "lexical-top2.jsonl", "--tests", "200")[
        "metrics"
    ]
    back = compare(capsys, "lexical-top2.jsonl", "lead.jsonl", "--tests", "200")[
        "metrics"
    ]
    for name in there:
        assert there[name]["difference"] == pytest.approx(
            -back[name]["difference"], rel=1e-12
        )
        assert there[name]["low"] == pytest.approx(-back[name]["high"], rel=1e-12)
        assert there[name]["p"] == back[name]["p"]


def test_the_same_seed_gives_the_same_numbers(capsys):
    arguments = ("lead.jsonl", "unsteady.jsonl", "--tests", "300", "--seed", "5")
    assert compare(capsys, *arguments) == compare(capsys, *arguments)


def test_without_json_every_metric_is_told_in_words(capsys):
    arguments = [
        "--gold",
        str(GOLD),
        "--run",
        str(RUNS / "lead.jsonl"),
        "--run",
        str(RUNS / "lead.jsonl"),
    ]
    assert main(["compare", "clsumm-1b", *arguments, "--rules", "official-2017"]) == 0
    printed = capsys.readouterr().out
    assert "facet_f1_micro" in printed
    assert "= 0.000000  no interval: same" in printed
    assert "p 1.000000 (exact randomisation over 4 units)" in printed


@pytest.mark.parametrize("runs", [1, 3])
def test_two_runs_are_asked_for(capsys, runs):
    given = ["--run", str(RUNS / "lead.jsonl")] * runs
    assert main(["compare", "clsumm-1a", "--gold", str(GOLD), *given]) == 2
    assert f"two runs are compared, {runs} given" in capsys.readouterr().err


def test_what_is_wrong_with_either_run_is_told_by_its_line(capsys):
    runs = [
        "--run",
        str(RUNS / "lead.jsonl"),
        "--run",
        str(RUNS / "with-mistakes.jsonl"),
    ]
    assert main(["compare", "clsumm-1a", "--gold", str(GOLD), *runs]) == 2
    told = capsys.readouterr().err.splitlines()
    assert told
    assert all("with-mistakes.jsonl:" in line for line in told)


def measured(names: list[str], rows, statistic: str) -> RunMeasurements:
    return RunMeasurements(
        matrices={statistic: rows}, units=np.arange(len(names)), unit_names=names
    )


def test_a_unit_that_one_run_lacks_counts_for_nothing_there():
    """As the official program leaves out a topic without a file: b's mean is over one topic."""
    metric = Mean(over_units=True)
    a = measured(["t1", "t2"], mean_rows([1.0, 3.0]), "numbers")
    b = measured(["t2"], mean_rows([5.0]), "numbers")
    pair = align_two_runs(metric, a, b)
    assert pair.a.tolist() == [[1, 1], [3, 1]]
    assert pair.b.tolist() == [[0, 0], [5, 1]]
    found = compare_runs([metric], a, b, trials=100, seed=0)["mean"]
    assert (found["a"], found["b"], found["difference"]) == (2, 5, -3)


def test_a_matrix_that_is_wider_in_one_run_has_nothing_there_in_the_other():
    a = measured(["t1"], np.ones((1, 3)), "counts")
    b = measured(["t1"], np.ones((1, 5)), "counts")
    assert align_two_runs(Counts(), a, b).a.tolist() == [[1, 1, 1, 0, 0]]
