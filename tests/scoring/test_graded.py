"""Graded measures of rankings: nDCG held to ir_measures, the others to their definitions."""

import json
import random

import numpy as np
import pytest

from scoring.metrics.ranking import GradedRanking
from tasks.types.ranking.lists import GradedListColumn, ListColumn
from tests.scoring.offline import refusals, score

TYPE = "citation-recommendation"


def drawn(seed: int, count: int = 100):
    """Grades of judged candidates by instance, and rankings of none to twenty of fifty."""
    rng = random.Random(seed)
    grades = [
        {
            candidate: rng.choice([0, 0, 1, 2, 3])
            for candidate in rng.sample(range(50), rng.randint(1, 8))
        }
        for _ in range(count)
    ]
    return grades, [
        rng.sample(range(50), rng.choice([0, 3, 10, 20])) for _ in range(count)
    ]


def values(measure: str, grades, answers, cut: int = 10) -> list[float]:
    relevant = ListColumn.of(
        [[each for each, grade in own.items() if grade] for own in grades]
    )
    numbers = np.array(
        [grade for own in grades for grade in own.values()], dtype=np.int32
    )
    gold = GradedListColumn(
        relevant, ListColumn.of([list(own) for own in grades]), numbers
    )
    metric = GradedRanking(f"{measure}@{cut}", "corrected", measure=measure, cut=cut)
    return metric.aggregate(
        metric.instance_stats(gold, ListColumn.of(answers))
    ).tolist()


@pytest.mark.parametrize("cut", [1, 5, 10])
def test_graded_ndcg_is_that_of_ir_measures(cut):
    import ir_measures
    from ir_measures import nDCG

    grades, answers = drawn(cut)
    wanted = {
        f"q{n}": {f"d{each}": grade for each, grade in own.items()}
        for n, own in enumerate(grades)
    }
    ranked = {
        f"q{n}": {f"d{each}": float(-r) for r, each in enumerate(own)}
        for n, own in enumerate(answers)
    }
    by_query = {
        each.query_id: each.value
        for each in ir_measures.iter_calc([nDCG @ cut], wanted, ranked)
    }
    found = values("ndcg_graded", grades, answers, cut)
    for place, own in enumerate(grades):
        if any(own.values()):
            assert found[place] == pytest.approx(
                by_query.get(f"q{place}", 0.0), rel=1e-12
            )
        else:
            assert np.isnan(found[place])


def test_rank_biased_precision_and_the_unjudged_share_follow_their_definitions():
    grades, answers = [{1: 2, 2: 0, 3: 1}], [[9, 1, 8, 3, 2]]
    assert values("rbp", grades, answers) == [pytest.approx(0.2 * (0.8 + 0.8**3))]
    assert values("unjudged", grades, answers) == [2 / 5]
    assert values("unjudged", grades, answers, cut=1) == [1]
    assert values("rbp", grades, [[]]) == values("unjudged", grades, [[]]) == [0]


def task(folder, **grades):
    (folder / "gold").mkdir()
    contexts = [{"id": name, "cited_id": "a", **more} for name, more in grades.items()]
    (folder / "gold" / "diagnostic.jsonl").write_text(
        "".join(json.dumps(each) + "\n" for each in contexts)
    )
    candidates = [{"ref_id": name, "raw": name} for name in "abcd"]
    (folder / "gold" / "references.jsonl").write_text(
        "".join(json.dumps(own) + "\n" for own in candidates)
    )
    run = folder / "run.jsonl"
    run.write_text(
        "".join(
            json.dumps({"id": name, "ranked": ["b", "a", "c"]}) + "\n"
            for name in grades
        )
    )
    return [folder / "gold"], run


def test_gold_with_grades_has_graded_values_and_gold_without_has_none(capsys, tmp_path):
    gold, run = task(tmp_path, x={"grades": {"a": 3, "b": 1}}, y={})
    metrics = score(
        capsys, TYPE, gold, run, "--intervals", "0", "--option", "graded=yes"
    )["metrics"]
    best = 3 + 1 / np.log2(3)
    expected = ((1 + 3 / np.log2(3)) / best + 1 / np.log2(3)) / 2
    assert metrics["ndcg_graded@10"]["value"] == pytest.approx(expected)
    assert metrics["unjudged@10"]["value"] == pytest.approx((1 / 3 + 2 / 3) / 2)
    assert metrics["ndcg@10"]["value"] == pytest.approx(1 / np.log2(3))
    (tmp_path / "plain").mkdir()
    gold, run = task(tmp_path / "plain", x={})
    metrics = score(
        capsys, TYPE, gold, run, "--intervals", "0", "--option", "graded=yes"
    )["metrics"]
    assert metrics["ndcg_graded@10"]["value"] is None
    assert metrics["rbp@10"]["value"] == pytest.approx(0.2 * 0.8)


def test_what_is_cited_and_has_no_grade_is_worth_one(capsys, tmp_path):
    gold, run = task(tmp_path, x={"grades": {"c": 3}})
    metrics = score(
        capsys, TYPE, gold, run, "--intervals", "0", "--option", "graded=yes"
    )["metrics"]
    second = 1 / np.log2(3)
    assert metrics["ndcg_graded@10"]["value"] == pytest.approx(
        (second + 3 / 2) / (3 + second)
    )


def test_grades_that_are_none_are_refused_by_line(capsys, tmp_path):
    gold, run = task(tmp_path, x={"grades": {"a": -1}}, y={"grades": {"z": 1}})
    said = "\n".join(refusals(capsys, TYPE, gold, run))
    assert "“grades” is no object of grades" in said
    assert "“z” is no candidate" in said
