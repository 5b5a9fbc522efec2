"""The coverage table by shape: complete, and short of the aim nowhere without a written reason."""

import dataclasses
import sys
from pathlib import Path

import numpy as np
import pytest

from scoring.metrics.base import Metric
from scoring.stats.people_and_labels import (
    compute_fleiss_kappa,
    compute_gwet_ac1,
    compute_krippendorff_alpha,
)

ROOT = Path(__file__).resolve().parents[2]
#: Test sets of a cell in `make proofs`, where two processes take some minutes.
TEST_SETS, SEED = 1200, 3


@pytest.fixture(scope="module")
def simulation():
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        import interval_coverage
    finally:
        sys.path.pop(0)
    return interval_coverage


def test_each_measure_of_forms_and_types_has_a_shape_of_which_populations_are_drawn(
    simulation,
):
    assert len(simulation.measured_classes()) > 60
    assert simulation.without_population() == []


@pytest.mark.parametrize("shape", ["", "unheard of"])
def test_a_measure_without_a_known_shape_fails_the_check(
    simulation, shape, monkeypatch
):
    kind = type("Unshaped", (Metric,), {"shape": shape})
    monkeypatch.setattr(simulation, "measured_classes", lambda: {kind: "form: name"})
    assert len(simulation.without_population()) == 1
    assert "Unshaped" in simulation.faults({})[0]


SHORT = {
    "classes": "macro F1 over 4 classes, unit paper",
    "corpus": "BLEU of a corpus",
    "deviation": "deviation of lengths",
    "divergence": "KL of intents, unit text",
    "error": "log loss of beta(5, 1)",
    "kappa": "kappa of 4 classes, unit paper",
    "mean": "mean like ROUGE, unit instance",
    "moments": "R² of normal pairs",
    "rank": "nDCG, unit paper",
    "ratio": "micro F1, unit topic",
    "weighted": "AUROC .92, by positives",
    "agreement": "AC1, labels 95:5",
}


@pytest.mark.parametrize("shape", SHORT)
def test_a_population_of_each_shape_holds_in_the_short_form(
    simulation, shape, monkeypatch
):
    monkeypatch.setattr(simulation, "POPULATION", 100_000)
    [family] = [own for own in simulation.families() if own.name == SHORT[shape]]
    assert family.shape == shape
    size = 100 if shape == "deviation" else 10
    one = dataclasses.replace(family, sizes=(size,))
    [cell] = simulation.simulated(one, 200, seed=5)
    assert cell.is_counted
    assert cell.is_held, cell


def test_each_shape_is_in_the_short_form(simulation):
    assert {own.shape for own in simulation.families()} == SHORT.keys()


def test_a_cell_fails_more_than_three_standard_errors_below_93(simulation):
    cells = {
        held: simulation.Cell(held=held, width=0.1, given=1.0, repetitions=1200)
        for held in (90.7, 90.9)
    }
    assert [cell.is_held for cell in cells.values()] == [False, True]
    family = next(own for own in simulation.families() if not own.not_held)
    row = [cells[90.7], *[cells[90.9]] * (len(family.sizes) - 1)]
    assert simulation.faults({family.name: row}) == [
        f"{family.name} at {family.sizes[0]}: 90.7 % of 1200"
    ]
    known = next(own for own in simulation.families() if own.not_held)
    assert simulation.faults({known.name: [cells[90.7]] * len(known.sizes)}) == []
    rarely = dataclasses.replace(cells[90.7], given=0.05)
    assert simulation.faults({family.name: [rarely] * len(family.sizes)}) == []


def test_at_most_eight_cells_may_be_known_not_to_hold(simulation):
    low = simulation.Cell(held=80.0, width=0.1, given=1.0, repetitions=1200)
    known = [own for own in simulation.families() if own.not_held][:2]
    found = simulation.faults({own.name: [low] * len(own.sizes) for own in known})
    assert found == ["14 cells are not held; at most 8 may be"]


def test_vectorized_coefficients_of_people_are_those_of_single_test_sets(simulation):
    rng = np.random.default_rng(2)
    ratings = rng.integers(0, 5, (12, simulation.RATERS))
    ratings[:7, 1] = ratings[:7, 0]
    items = ratings.tolist()
    sums = simulation.rated_rows(ratings).sum(axis=0)
    assert simulation.fleiss_of(sums) == pytest.approx(compute_fleiss_kappa(items))
    assert simulation.ordinal_alpha_of(sums) == pytest.approx(
        compute_krippendorff_alpha(items, "ordinal")
    )
    binary = np.minimum(ratings, 1)
    sums = simulation.rated_rows(binary).sum(axis=0)
    assert simulation.ac1_of_two_labels(sums) == pytest.approx(
        compute_gwet_ac1(binary.tolist(), (0, 1))
    )


def test_kappas_of_judges_hold_in_the_short_form(simulation, monkeypatch):
    monkeypatch.setattr(simulation, "POPULATION", 100_000)
    for family in simulation.measures_of_judges():
        one = dataclasses.replace(family, sizes=(30,))
        [cell] = simulation.simulated(one, 100, seed=5)
        assert cell.is_counted, family.name
        assert cell.is_held, (family.name, cell)


def test_rare_labels_leave_few_topics_without_an_interval_of_kappa(simulation):
    [family] = [
        own
        for own in simulation.measures_of_judges()
        if own.name == "kappa of two judges, labels 95:5"
    ]
    rows = family.rows(np.random.default_rng(3), (50, 5))
    low, high = family.bounds(rows)
    assert np.isnan(low).all()
    assert np.isnan(high).all()


@pytest.mark.proof
def test_every_cell_of_the_table_holds_or_has_a_reason(simulation):
    found = simulation.counted_cells(TEST_SETS, SEED, None, has_percentiles=False)
    assert simulation.faults(found["default"]) == []
