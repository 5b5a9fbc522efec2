"""How many units a difference needs: held to simulated tests."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from scoring.__main__ import main
from scoring.stats.significance import (
    DETECTION_POWER,
    PairedRuns,
    compute_detectable_difference,
    compute_min_units,
    compute_needed_units,
    power,
    run_randomisation_tests,
)
from tests.lazily import Lazily
from tests.scoring.toys import Mean, mean_rows

stats = Lazily("scipy.stats")


def test_the_units_that_are_needed_find_the_difference_as_often_as_is_said():
    difference, spread = 0.05, 0.12
    needed = compute_needed_units(difference, spread / math.sqrt(10), 10)
    rng = np.random.default_rng(8)
    found = 0
    for _ in range(300):
        changes = rng.normal(difference, spread, needed)
        pair = PairedRuns(
            Mean(), mean_rows(0.5 + changes), mean_rows(np.full(needed, 0.5))
        )
        found += run_randomisation_tests([pair], trials=400, seed=0)[0].p <= 0.05
    assert found / 300 == pytest.approx(DETECTION_POWER, abs=0.08)


def test_the_power_is_the_share_of_simulated_tests_that_find_the_difference():
    difference, spread, units = 0.05, 0.12, 30
    told = power(difference, spread / math.sqrt(10), 10, at_units=units)
    rng, found = np.random.default_rng(9), 0
    for _ in range(300):
        pair = PairedRuns(
            Mean(),
            mean_rows(0.5 + rng.normal(difference, spread, units)),
            mean_rows([0.5] * units),
        )
        found += run_randomisation_tests([pair], trials=400, seed=0)[0].p <= 0.05
    assert found / 300 == pytest.approx(told, abs=0.08)


def test_the_power_is_that_of_a_t_test_and_what_is_detectable_has_the_usual_one():
    t = stats.t.ppf(1 - 0.05 / 2 / 3, 19)
    wanted = stats.nct.sf(t, 19, 2.5 * 2**0.5) + stats.nct.cdf(-t, 19, 2.5 * 2**0.5)
    assert power(0.05, 0.02, 10, at_units=20, comparisons=3) == pytest.approx(
        wanted, rel=1e-6
    )
    assert power(0.0, 0.02, 10, at_units=20) == pytest.approx(0.05, rel=1e-6)
    for comparisons in (1, 9):
        least = compute_detectable_difference(
            0.02, 10, at_units=40, comparisons=comparisons
        )
        assert power(
            least, 0.02, 10, at_units=40, comparisons=comparisons
        ) == pytest.approx(DETECTION_POWER, abs=0.02)
    assert (
        power(1.0, 0.02, 10, at_units=5)
        == power(1.0, 0.02, 10, at_units=6, comparisons=2)
        == 0
    )
    assert power(1e6, 0.02, 10, at_units=10) == 1
    for effect in (0.02, 0.05, 0.1, 0.2):
        by_size = [
            power(effect, 0.02, 10, at_units=units)
            for units in (10, 30, 100, 1000, 5000, 20_000)
        ]
        assert by_size == sorted(by_size)
        assert by_size[-1] == pytest.approx(1)


def test_what_is_detectable_is_as_many_errors_as_the_level_and_the_chance_take():
    for units in (6, 17):
        errors = stats.t.ppf(0.975, units - 1) + stats.t.ppf(0.8, units - 1)
        assert compute_detectable_difference(0.02, units) == pytest.approx(
            0.02 * errors, rel=1e-9
        )


def test_the_largest_difference_there_can_be_is_detectable_itself_and_none_beyond_it():
    own = compute_detectable_difference(0.02, 17)
    assert compute_detectable_difference(0.02, 17, largest=own) == own
    assert (
        compute_detectable_difference(0.02, 17, largest=math.nextafter(own, 0))
        == math.inf
    )


def test_what_is_detectable_needs_the_units_that_there_are():
    detectable = compute_detectable_difference(0.02, 40)
    assert compute_needed_units(detectable, 0.02, 40) == 40
    assert compute_needed_units(detectable / 2, 0.02, 40) == pytest.approx(160, abs=6)


def test_four_times_the_units_show_half_the_difference():
    assert compute_detectable_difference(0.02, 100, at_units=400) == pytest.approx(
        compute_detectable_difference(0.02, 100) / 2, rel=0.02
    )


def test_no_difference_and_no_error_need_no_number_of_units():
    assert compute_needed_units(0.0, 0.1, 10) is None
    assert compute_needed_units(0.2, 0.0, 10) is None
    assert compute_needed_units(0.2, math.nan, 10) is None
    assert compute_needed_units(1e-9, 0.1, 10) is None


@pytest.mark.parametrize(
    ("comparisons", "fewest"), [(1, 6), (2, 7), (20, 10), (501, 15)]
)
def test_fewer_units_cannot_reach_the_level_after_the_correction(comparisons, fewest):
    assert compute_min_units(comparisons) == fewest
    assert comparisons * 2 / 2**fewest <= 0.05 < comparisons * 2 / 2 ** (fewest - 1)


def test_with_so_few_units_that_no_test_can_tell_nothing_is_detectable():
    assert compute_detectable_difference(0.001, 5) == math.inf
    assert compute_needed_units(0.9, 0.001, 4) == 6


GOLD, RUNS = Path("examples/demo-season"), Path("examples/runs")


def told(capsys, *names: str, more=("--json",)) -> str:
    runs = [word for name in names for word in ("--run", str(RUNS / name))]
    assert main(["power", "clsumm-1a", "--gold", str(GOLD), *runs, *more]) == 0
    return capsys.readouterr().out


def test_the_command_says_how_small_a_difference_the_test_set_can_show(capsys):
    found = json.loads(
        told(capsys, "lead.jsonl", "unsteady.jsonl", "lexical-top2.jsonl")
    )
    assert (found["unit"], found["units"], found["smallest_p"]) == ("topic", 4, 0.125)
    metric = found["metrics"]["overlap_f1_micro"]
    assert metric["detectable"]["1"] is None
    assert metric["detectable"]["4"] == compute_detectable_difference(
        metric["error"], 4, at_units=16
    )
    assert metric["detectable"]["4"] < metric["detectable"]["2"]


def test_in_words_it_is_a_table_of_metrics(capsys):
    printed = told(capsys, "lead.jsonl", "unsteady.jsonl", more=())
    assert "4 topics; the smallest p of two runs is 0.125" in printed
    assert "overlap_f1_micro" in printed
    assert "none" in printed


def test_a_single_run_shows_no_difference_and_is_refused(capsys):
    assert (
        main(
            [
                "power",
                "clsumm-1a",
                "--gold",
                str(GOLD),
                "--run",
                str(RUNS / "lead.jsonl"),
            ]
        )
        == 2
    )
    assert "give two or more" in capsys.readouterr().err
