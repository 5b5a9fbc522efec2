"""Measures and statistics at their edges: rounding, small numbers, nothing to count, names of models."""

import math

import numpy as np
import pytest

from scoring.metrics import select_instance_metrics
from scoring.metrics.aliice import Aliice, AliiceBySentence
from scoring.metrics.base import compute_metric_value
from scoring.metrics.citation_text import LengthRatio
from scoring.metrics.classification import Matthews
from scoring.metrics.discourse import compute_kl_divergence
from scoring.metrics.entailed import build_claim_matrix
from scoring.metrics.numbers import Concordance, Pearson
from scoring.metrics.ranking import Ranking, number_candidates
from scoring.metrics.weighted import RankCorrelation
from scoring.stats.correlation import compute_pearson
from scoring.stats.leakage import DAYS_OF_ENDLESS_PHASE, compute_ladder_step
from tasks.types import task_type
from tasks.types.ranking.lists import ListColumn

MADE = np.random.default_rng(17)


def test_rounding_takes_no_correlation_beyond_its_ends():
    lines = [
        (x, slope * x + 0.1)
        for x in MADE.normal(size=(200, 7))
        for slope in (-3.7, 0.3)
    ]
    found = np.array([compute_pearson(x, y) for x, y in lines])
    assert np.abs(found).max() == 1
    assert {round(value, 9) for value in found} == {-1, 1}


@pytest.mark.parametrize("kind", [Pearson, Concordance])
@pytest.mark.parametrize("unit", [1e-12, 1e-3, 1e6])
def test_the_unit_of_numbers_changes_no_agreement(kind, unit):
    metric = kind("m", "corrected")
    x, y = MADE.normal(size=(2, 30))
    values = [
        compute_metric_value(
            metric,
            metric.instance_stats(list(scale * x), list(scale * y)),
            np.arange(30),
        )
        for scale in (1, unit)
    ]
    assert values[1] == pytest.approx(values[0], rel=1e-9)


def test_means_over_units_and_values_that_are_not_exchanged_have_none_of_an_instance():
    plain, by_unit, whole = (
        Ranking("recall", "corrected", measure="recall", cut=10, over_units=over_units)
        for over_units in (False, True, False)
    )
    whole.is_exchangeable = False
    assert select_instance_metrics([by_unit, plain, whole]) == [plain]


def test_ranks_are_centred_under_each_set_of_weights_alone():
    metric = RankCorrelation("m", "corrected")
    rows = metric.instance_stats(*MADE.normal(size=(2, 9)).tolist())
    weights = MADE.integers(0, 4, (5, 9))
    assert metric.value(rows, weights) == pytest.approx(
        [float(metric.value(rows, own)) for own in weights]
    )


def test_ranks_of_nothing_and_of_one_value_have_no_correlation():
    metric = RankCorrelation("m", "corrected")
    for values in ([], [2.0, 2.0, 2.0]):
        rows = metric.instance_stats(
            values, [float(place) for place in range(len(values))]
        )
        assert math.isnan(compute_metric_value(metric, rows, np.arange(len(values))))


def test_a_divergence_is_undefined_where_either_side_is_and_infinite_where_something_is_ruled_out():
    none, whole, part = [math.nan, math.nan], [0.5, 0.5], [1.0, 0.0]
    found = compute_kl_divergence(
        np.array([none, whole, part, whole, part]),
        np.array([whole, none, none, part, whole]),
    )
    assert np.isnan(found[:3]).all()
    assert found[3:].tolist() == [math.inf, pytest.approx(math.log(2))]


def test_where_all_units_are_alike_the_ladders_step_is_the_largest_error_that_so_many_can_have():
    metric = Matthews("mcc", "corrected", labels=["a", "b"])
    rows = metric.instance_stats(["a", "b"] * 50, ["a", "b"] * 50)
    # From -1 to 1 at most 2 / (2 · 10) is told as 0.1.
    assert compute_ladder_step(metric, rows) == 0.1
    assert DAYS_OF_ENDLESS_PHASE == 365


def test_lists_beside_columns_are_numbered_together():
    columns = ListColumn.of([[3, 4], [5]])
    for gold, answers in ((columns, [["x"], None]), ([["x"], ["y"]], columns)):
        assert all(
            isinstance(side, ListColumn) for side in number_candidates(gold, answers)
        )


def test_texts_have_no_length_beside_gold_without_words():
    metric = LengthRatio("m", "corrected", column="words")
    assert np.array_equal(
        metric.aggregate(np.array([[5.0, 0, 1], [5, 2, 1]])),
        [math.nan, 2.5],
        equal_nan=True,
    )


def test_whole_sentences_need_no_parser_and_are_signed_by_everything_else():
    options = task_type("positional-citations").validate_options(
        {"entailment": "word-overlap"}, builds=False
    )
    by_claim, by_sentence = (
        dict(kind("m", "corrected", part="recall", options=options).parameters)
        for kind in (Aliice, AliiceBySentence)
    )
    assert by_sentence == {
        key: by_claim[key] for key in by_claim.keys() - {"groups", "parser"}
    } | {"claims": "sentences"}


@pytest.mark.parametrize(
    ("part", "per_claim", "expected"),
    [
        ("recall", False, 1),
        ("precision", False, 2),
        ("f1", False, 3),
        ("precision", True, 1),
        ("f1", True, 1),
    ],
)
def test_what_is_cited_rests_on_claims_for_recall_and_on_marks_for_precision(
    part, per_claim, expected
):
    options = task_type("positional-citations").validate_options(
        {"entailment": "word-overlap"}, builds=False
    )
    metric = Aliice("m", "corrected", part=part, per_claim=per_claim, options=options)
    assert metric.denominators(
        build_claim_matrix([{"recall_weight": 1, "precision_weight": 2}])
    ).tolist() == [expected]


@pytest.mark.parametrize(
    ("parser", "entailment", "needs"),
    [
        ("rules", "word-overlap", False),
        ("en_core_web_sm", "word-overlap", True),
        ("rules", "model:/srv/judge", True),
    ],
)
def test_a_metric_of_claims_needs_a_model_to_parse_or_to_judge(
    parser, entailment, needs
):
    kind = task_type("positional-citations")
    options = kind.validate_options(
        {"parser": parser, "entailment": entailment}, builds=False
    )
    metrics = [
        own.build_metric(kind.default_rule_set, options)
        for own in kind.list_metrics_of_rule_set(kind.default_rule_set, options)
    ]
    assert {own.needs_model for own in metrics if isinstance(own, Aliice)} == {needs}
