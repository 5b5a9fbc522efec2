"""From pairs of gold and answers to every number of a run, without files."""

import math

import numpy as np
import pytest

from scoring.offline import evaluate as evaluation
from scoring.offline.evaluate import IntervalSettings, evaluate_pairs
from scoring.stats.interval_methods import METHODS
from scoring.stats.resampling import BootstrapResampler, NonFiniteStatistics
from tasks.types import MetricRef, Pairs, TaskType
from tests.scoring.toys import Counts, Divergence, Mean

METRICS = {
    "f1_micro": Counts("f1", "micro"),
    "precision_micro": Counts("precision", "micro"),
    "f1_macro": Counts("f1", "macro"),
    "mean": Mean(),
    "kl": Divergence(),
}


def refuse(*_):
    raise AssertionError("nothing is read")


def task_type(*names: str) -> TaskType:
    return TaskType(
        slug="toy",
        title="Toy",
        rules={
            "corrected": tuple(MetricRef(name, "tests.scoring.toys") for name in names)
        },
        dimensions=("half",),
        read_gold=refuse,
        read_inputs=refuse,
        read_run=refuse,
        pair=refuse,
        public_files=refuse,
        is_gold_file=refuse,
    )


@pytest.fixture(autouse=True)
def toys(monkeypatch):
    monkeypatch.setattr(
        evaluation,
        "build_metrics",
        lambda own, rules, _: [METRICS[m.name] for m in own.rules[rules]],
    )


def score(
    pairs: Pairs,
    *names: str,
    resamples: int = 50,
    seed: int = 3,
    method: str = "percentile",
):
    return evaluate_pairs(
        task_type(*names),
        pairs,
        rules="corrected",
        options={},
        gold="0123456789abcdef" * 4,
        resampling=IntervalSettings(resamples=resamples, seed=seed, method=method),
    )


def counted(answers, units=None, gold=None) -> Pairs:
    count = len(answers)
    return Pairs(
        gold=gold or ["gold"] * count,
        answers=answers,
        units=units or [f"i{place}" for place in range(count)],
        features={
            "half": [
                ("first" if place < count / 2 else "second",) for place in range(count)
            ]
        },
        notes={"odd": np.int64(2)},
    )


ROWS = [(3, 1, 0), (0, 2, 2), (5, 0, 1), (1, 1, 1)]


def test_one_matrix_serves_all_metrics_that_name_it(monkeypatch):
    calls = []
    looked = Counts.instance_stats
    monkeypatch.setattr(
        Counts,
        "instance_stats",
        lambda self, gold, answers: (
            calls.append(self.name) or looked(self, gold, answers)
        ),
    )
    scores = score(counted(ROWS), "f1_micro", "precision_micro", "f1_macro")
    assert calls == ["f1_micro"]
    assert list(scores.matrices) == ["counts"]
    assert scores.metrics["precision_micro"].value == 9 / 13


def test_units_are_what_is_resampled_in_the_order_of_their_names():
    scores = score(
        counted(ROWS, units=["t2", "t1", "t2", "t1"]), "f1_micro", "f1_macro"
    )
    assert scores.unit_names == ["t1", "t2"]
    by_topic = np.array([[1.0, 3, 3], [8, 1, 1]])
    resampler = BootstrapResampler(2, resamples=50, seed=3)
    own = scores.metrics["f1_micro"]
    assert (own.low, own.high) == resampler.intervals(
        [(METRICS["f1_micro"], by_topic)]
    )[0]
    macro = METRICS["f1_macro"]
    assert (
        scores.metrics["f1_macro"].low,
        scores.metrics["f1_macro"].high,
    ) == resampler.intervals([(macro, macro.unit_stats(by_topic))])[0]
    assert "|units:2|" in own.signature


def test_answers_without_gold_are_scored_but_not_counted():
    gold = ["gold", None, "gold", "gold"]
    value = score(counted(ROWS, gold=gold), "precision_micro").metrics[
        "precision_micro"
    ]
    assert value.n == 3
    assert value.value == 9 / 13
    assert "|n:3|" in value.signature


def test_undefined_is_null_and_infinite_says_so():
    nothing = score(counted([]), "mean").metrics["mean"]
    assert math.isnan(nothing.value)
    assert nothing.as_dict()["value"] is None
    assert "infinite" not in nothing.as_dict()
    lacking = score(counted([0, 1, 1, 0]), "kl").metrics["kl"]
    assert lacking.as_dict()["value"] is None
    assert lacking.as_dict()["infinite"] is True
    assert lacking.low is lacking.high is None


@pytest.mark.parametrize("method", METHODS)
def test_no_resamples_give_no_intervals_under_any_method_and_other_values_stay(method):
    without = score(counted(ROWS), "f1_micro", resamples=0, method=method).metrics[
        "f1_micro"
    ]
    with_some = score(counted(ROWS), "f1_micro", method=method).metrics["f1_micro"]
    assert without.low is None
    assert with_some.low is not None
    assert without.value == with_some.value
    assert "|resamples:0|" in without.signature


def test_the_way_intervals_are_made_is_signed_and_not_part_of_the_column():
    jackknife, percentile, bca = (
        score(counted(ROWS), "f1_micro", method=method).metrics["f1_micro"]
        for method in METHODS
    )
    assert jackknife.column == percentile.column == bca.column
    assert "|resamples:50|interval:bca|seed:3|" in bca.signature
    assert percentile.signature != bca.signature


def test_an_interval_without_draws_depends_on_no_seed_and_signs_none():
    first, second = (
        score(
            counted(ROWS),
            "f1_micro",
            method="wilson-jackknife",
            seed=seed,
            resamples=20 + seed,
        )
        for seed in (1, 2)
    )
    assert first.metrics == second.metrics
    signed = first.metrics["f1_micro"].signature
    assert "|missing:0|interval:wilson-jackknife|interval_v:2|numpy:" in signed
    assert "seed" not in signed


def test_a_row_that_is_no_number_is_named():
    with pytest.raises(
        NonFiniteStatistics,
        match="the rows of mean: column 0 of row 2 is infinite or not a number",
    ):
        score(counted([0.5, 0.25, math.nan, 1.0]), "mean")


def test_breakdowns_and_notes_are_plain_numbers():
    scores = score(counted(ROWS), "f1_micro", "f1_macro")
    assert scores.breakdowns["half"]["first"]["f1_micro"] == {
        "value": 2 * 3 / (2 * 3 + 3 + 2),
        "n": 2,
    }
    assert scores.notes == {"odd": 2}
    assert type(scores.notes["odd"]) is int
