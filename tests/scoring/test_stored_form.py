"""How numbers are stored: what many runs share stands in the database once, and nothing is lost by it."""

import math

import pytest

from scoring.models import (
    Breakdown,
    BreakdownClasses,
    ClassScore,
    Score,
    Signature,
    save_breakdowns,
)
from scoring.stats.signature import (
    fill_count_placeholders,
    replace_counts_by_placeholders,
)
from tests import factories
from tests.api.sending import score as score_waiting
from tests.scoring import boards

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.fixture
def evaluation():
    phase = boards.make_phase()
    return boards.score(boards.make_run(phase, boards.make_team(phase, "Ada")), 0.5)


def saved(evaluation, said) -> Breakdown:
    save_breakdowns([Breakdown.of(evaluation, "facet", said)])
    return Breakdown.objects.get()


def test_runs_that_are_scored_alike_share_their_signatures_and_classes():
    phase = factories.make_phase()
    for sentences in (["1"], ["2"]):
        content = factories.run_bytes(factories.answers(sentences=sentences))
        printed = score_waiting(
            factories.make_submission(phase=phase, content=content)
        )["corrected"]
    assert (
        Score.objects.count()
        == 2 * Signature.objects.count()
        == 2 * len(printed["metrics"])
    )
    dimensions = len(printed["breakdowns"])
    assert (Breakdown.objects.count(), BreakdownClasses.objects.count()) == (
        2 * dimensions,
        dimensions,
    )


def test_a_signature_that_is_shared_says_the_counts_of_its_own_run():
    phase = factories.make_phase()
    few = factories.run_bytes(factories.answers()[1:])
    runs = [
        factories.make_submission(phase=phase, content=content)
        for content in (None, few)
    ]
    for run, missing in zip(runs, (0, 1), strict=True):
        printed = score_waiting(run)["corrected"]["metrics"]
        scores = {score.metric: score for score in run.evaluations.get().scores.all()}
        assert list(scores) == list(printed)
        for name, told in printed.items():
            assert scores[name].signature == told["signature"]
            assert f"|missing:{missing}|" in told["signature"]
    assert Signature.objects.count() == len(printed)


@pytest.mark.parametrize(
    "signature", ["f1|v:1|n:10|missing:3|n:11", "f1|n:1|missing:*|of:n:10", "f1"]
)
def test_a_signature_is_opened_and_filled_without_loss(signature):
    counts = {"n": 10, "missing": 3}
    if "missing:*" in signature:
        counts.pop("missing")
    assert (
        fill_count_placeholders(
            replace_counts_by_placeholders(signature, counts), counts
        )
        == signature
    )


def test_numbers_by_class_come_back_bit_by_bit(evaluation):
    numbers = [0.1 + 0.2, 1 / 3, 5e-324, 1.7e308, -0.25, 0.0]
    said = {
        f"class {place}": {"f1": {"value": x, "n": place}}
        for place, x in enumerate(numbers)
    }
    found = saved(evaluation, said).by_class()
    assert [found[label]["f1"].value for label in said] == numbers
    assert [found[label]["f1"].n for label in said] == list(range(len(numbers)))


def test_undefined_infinite_and_absent_are_three_things(evaluation):
    said = {
        "Method": {
            "f1": {"value": None, "n": 3},
            "kl": {"value": None, "infinite": True, "n": 4},
        },
        "Aim": {"f1": {"value": 0.5, "n": 0}},
    }
    row = saved(evaluation, said)
    assert row.by_class() == {
        "Method": {
            "f1": ClassScore(None, False, None, None, 3),
            "kl": ClassScore(None, True, None, None, 4),
        },
        "Aim": {"f1": ClassScore(0.5, False, None, None, 0)},
    }
    assert row.list_metrics_with_values() == ["f1", "kl"]


def test_only_numbers_with_a_value_get_an_interval(evaluation):
    said = {
        "Method": {"f1": {"value": 0.5, "n": 3}},
        "Aim": {"f1": {"value": None, "n": 4}},
        "Results": {"f1": {"value": 0.25, "n": 5}},
    }
    row = saved(evaluation, said)
    assert not row.add_intervals({"Aim": {"f1": (0.1, 0.2)}, "Method": {"f1": None}})
    assert row.add_intervals(
        {"Aim": {"f1": (0.1, 0.2)}, "Method": {"f1": (0.4, math.pi)}, "Other": {}}
    )
    row.save()
    found = Breakdown.objects.get().by_class()
    assert {label: (own["f1"].low, own["f1"].high) for label, own in found.items()} == {
        "Method": (0.4, math.pi),
        "Aim": (None, None),
        "Results": (None, None),
    }
    assert found["Results"]["f1"].value == 0.25


def test_what_is_there_is_not_added_again():
    def rows():
        return [
            Signature(metric=name, column=f"{name}|v:1", position=0, text=name)
            for name in "ab"
        ]

    first = Signature.objects.get_or_insert_ids(rows())
    assert Signature.objects.get_or_insert_ids(list(reversed(rows()))) == first[::-1]
    [*_, last] = Signature.objects.get_or_insert_ids(
        [*rows(), Signature(metric="a", column="", position=0, text="a")]
    )
    assert last not in first
    assert Signature.objects.count() == 3
