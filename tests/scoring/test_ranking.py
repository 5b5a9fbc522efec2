"""Measures of rankings held to ir_measures."""

import random

import numpy as np
import pytest

from scoring.metrics.ranking import WHOLE_RANKING_CUT, Ranking
from tasks.types.ranking.lists import ListColumn
from tests.lazily import Lazily

ir_measures = Lazily("ir_measures")
MEASURES = {
    "recall": "R",
    "mrr": "RR",
    "ndcg": "nDCG",
    "success": "Success",
    "map": "AP",
}


def queries(seed: int, count: int = 200) -> tuple[list[list[str]], list[list[str]]]:
    """Gold of one to six candidates, rankings of none to forty of a hundred."""
    rng = random.Random(seed)
    candidates = [f"d{number}" for number in range(100)]
    gold = [rng.sample(candidates, rng.choice([1, 1, 1, 2, 6])) for _ in range(count)]
    return gold, [
        rng.sample(candidates, rng.choice([0, 1, 5, 10, 40])) for _ in range(count)
    ]


def theirs(measure, gold: list[list[str]], answers: list[list[str]]) -> list[float]:
    wanted = {f"q{place}": dict.fromkeys(own, 1) for place, own in enumerate(gold)}
    ranked = {
        f"q{place}": {each: float(-rank) for rank, each in enumerate(own)}
        for place, own in enumerate(answers)
    }
    by_query = {
        each.query_id: each.value
        for each in ir_measures.iter_calc([measure], wanted, ranked)
    }
    return [by_query.get(f"q{place}", 0.0) for place in range(len(gold))]


def ranking(measure: str, cut: int = WHOLE_RANKING_CUT, **arguments) -> Ranking:
    return Ranking(
        f"{measure}@{cut}", "corrected", measure=measure, cut=cut, **arguments
    )


def values(measure: str, gold, answers, cut: int = WHOLE_RANKING_CUT) -> list[float]:
    """The metric's value of each instance alone."""
    metric = ranking(measure, cut)
    return metric.aggregate(metric.instance_stats(gold, answers)).tolist()


@pytest.mark.parametrize("cut", [1, 3, 10, 100])
@pytest.mark.parametrize("name", MEASURES)
def test_every_instance_has_the_value_of_ir_measures(name, cut):
    gold, answers = queries(seed=cut)
    assert values(name, gold, answers, cut) == pytest.approx(
        theirs(getattr(ir_measures, MEASURES[name]) @ cut, gold, answers), rel=1e-12
    )


def test_without_a_cut_the_whole_ranking_counts():
    gold, answers = queries(seed=2)
    assert values("map", gold, answers) == pytest.approx(
        theirs(ir_measures.AP, gold, answers), rel=1e-12
    )
    assert values("ndcg", gold, answers) == pytest.approx(
        theirs(ir_measures.nDCG, gold, answers), rel=1e-12
    )


def test_columns_of_numbers_score_as_lists_of_ids_do():
    gold, answers = queries(seed=3)
    number = {f"d{place}": place for place in range(100)}
    columns = [
        ListColumn.of([[number[each] for each in own] for own in rows])
        for rows in (gold, answers)
    ]
    metric = ranking("ndcg", 10)
    assert (
        metric.instance_stats(*columns) == metric.instance_stats(gold, answers)
    ).all()


def test_an_instance_without_an_answer_has_nought_and_one_without_gold_does_not_count():
    metric = ranking("recall", 10)
    stats = metric.instance_stats([["a"], ["a"], [], None], [["a"], None, ["a"], ["a"]])
    assert metric.aggregate(stats.sum(axis=0)) == 0.5
    assert metric.instances(stats, np.ones(4, dtype=bool)) == 2


def test_the_macro_average_is_over_units_in_which_an_instance_counts():
    metric = ranking("success", 1, over_units=True)
    stats = metric.instance_stats(
        [*[["a"]] * 4, []], [["a"], ["b"], ["b"], ["a"], ["a"]]
    )
    units = np.add.reduceat(stats, [0, 3, 4])
    assert metric.aggregate(metric.unit_stats(units).sum(axis=0)) == pytest.approx(
        (1 / 3 + 1) / 2
    )
    assert metric.parameters == {"average": "units", "cut": 1}


def test_a_candidate_twice_in_one_answer_is_refused():
    with pytest.raises(ValueError, match="answer 1 has a candidate twice"):
        values("recall", [["a"], ["a"]], [["a"], ["b", "b"]])
