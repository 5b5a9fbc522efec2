"""Facets and systems of leaderboards are marked by measures; stored marks never rest on equal texts."""

import pytest

from scoring.metrics.clsumm import Facet, WeightedFacet
from scoring.metrics.leaderboards import (
    LeaderboardCorrelation,
    RankDistance,
    TopicCorrelation,
)
from scoring.offline.marking import iterate_instances_with_marks
from scoring.offline.sample import iterate_sample_instances
from scoring.results.comparison.drawing import build_parts_of_whole_instance
from scoring.results.comparison.pieces import (
    GOLD,
    IN_GOLD_AND_ANSWER,
    ONLY_IN_ANSWER,
    PARTLY_RIGHT,
)
from tasks.types import Pairs, task_type
from tasks.types.base import AnswerPart, MeasureCredits, ShownInstance
from tasks.types.clsumm_1b import FacetAnswer
from tasks.types.judge_leaderboards.leaderboards import SystemScore


def facet_f1(*, is_conditional: bool = True) -> Facet:
    return Facet(
        "facet_f1_micro",
        "corrected",
        part="f1",
        average="micro",
        is_conditional=is_conditional,
    )


#: Gold and answer of a row, and the marks if what task 1A found is the condition, and if it is not.
ROWS = [
    ("Aim", FacetAnswer("Aim", True), ((1.0,), (1.0,)), ((1.0,), (1.0,))),
    ("Aim", FacetAnswer(None, True), ((0.0,), ()), ((0.0,), ())),
    (None, FacetAnswer("Aim", True), ((), (0.0,)), ((), (0.0,))),
    ("Aim", FacetAnswer("Aim", False), ((0.0,), (None,)), ((1.0,), (1.0,))),
    (None, FacetAnswer("Aim", False), ((), (None,)), ((), (0.0,))),
    (None, FacetAnswer("Aim", None), ((), (0.0,)), ((), (0.0,))),
]


@pytest.mark.parametrize(("gold", "answer", "conditional", "unconditional"), ROWS)
def test_a_facet_has_the_mark_of_its_counts(gold, answer, conditional, unconditional):
    for is_conditional, marks in ((True, conditional), (False, unconditional)):
        weighted = WeightedFacet(
            "facet_f1_weighted", "corrected", is_conditional=is_conditional
        )
        for metric in (facet_f1(is_conditional=is_conditional), weighted):
            assert metric.marks([gold], [answer]) == [MeasureCredits(*marks)]


def of_annotators(*rows: tuple[str | None, FacetAnswer]) -> MeasureCredits:
    """Return the stored marks of one citance that has these rows."""
    gold, answers = zip(*rows, strict=True)
    pairs = Pairs(
        gold=gold,
        answers=answers,
        units=["topic"] * len(rows),
        features={},
        names=["citance"] * len(rows),
    )
    parts = (AnswerPart("Aim"), AnswerPart("Method"))
    shown = ShownInstance(name="citance", gold_parts=parts, answer_parts=parts)
    [marked] = iterate_instances_with_marks(
        task_type("clsumm-1b"), [shown], [facet_f1()], pairs
    )
    [marks] = marked.marks
    return marks


def test_a_facet_that_one_of_two_annotators_has_is_half_right():
    marks = of_annotators(
        ("Aim", FacetAnswer("Aim", True, file=0)),
        (None, FacetAnswer("Method", True, file=0)),
        ("Method", FacetAnswer("Method", True, file=1)),
        (None, FacetAnswer("Aim", True, file=1)),
    )
    assert marks == MeasureCredits((1.0, 1.0), (0.5, 0.5), ("facet_f1_micro",))


def kinds_by_part(shown: ShownInstance, slug: str) -> dict[str, list[str]]:
    return {
        part.kind: [line.kind for line in part.lines]
        for part in build_parts_of_whole_instance(task_type(slug), shown)
    }


def test_facets_are_drawn_by_their_marks_and_without_marks_by_none():
    shown = ShownInstance(
        name="citance",
        given="A sentence.",
        gold="Aim",
        answer="Aim\nMethod",
        gold_parts=(AnswerPart("Aim"),),
        answer_parts=(AnswerPart("Aim"), AnswerPart("Method")),
        marks=(MeasureCredits((0.0,), (None, 0.0), ("facet_f1_micro",)),),
    )
    drawn = kinds_by_part(shown, "clsumm-1b")
    assert drawn == {"given": [""], "gold": [GOLD], "answer": ["", ONLY_IN_ANSWER]}
    before = ShownInstance(name="citance", gold="Aim", answer="Aim\nMethod")
    assert kinds_by_part(before, "clsumm-1b") == {"gold": [""], "answer": ["", ""]}


def test_the_sample_of_1b_has_marks_and_answers_in_the_order_of_the_facets():
    shown = list(iterate_sample_instances(task_type("clsumm-1b"), {}))
    assert any(own.marks for own in shown)
    for own in shown:
        names = [part.name for part in own.answer_parts]
        assert names == own.answer.split("\n") if names else not own.answer
        for marks in own.marks:
            assert len(marks.gold) == len(own.gold_parts)
            assert len(marks.answer) == len(own.answer_parts)


def scores(*values: float | None) -> list[SystemScore | None]:
    return [None if value is None else SystemScore(value, {}) for value in values]


def kendall(best: int = 0) -> LeaderboardCorrelation:
    return LeaderboardCorrelation(
        "kendall", "corrected", coefficient="kendall", best=best
    )


@pytest.mark.parametrize(
    ("truth", "judge", "credits_"),
    [
        ((4, 3, 2, 1), (4, 3, 2, 1), (1, 1, 1, 1)),
        ((4, 3, 2, 1), (4, 2, 3, 1), (1, 2 / 3, 2 / 3, 1)),
        ((4, 3, 2, 1), (1, 2, 3, 4), (0, 0, 0, 0)),
        # A pair that the truth ties is in no order; a pair that the judge ties is not in the truth's.
        ((4, 3, 3, 1), (4, 3, 2, 1), (1, 1, 1, 1)),
        ((4, 3, 2, 1), (4, 3, 3, 1), (1, 2 / 3, 2 / 3, 1)),
        ((2, 2, 2, 2), (4, 3, 2, 1), (None, None, None, None)),
        # A system that the judge leaves out counts as 0 and has no answer to mark.
        ((4, 3, 2, 1), (4, None, 2, 1), (2 / 3 + 1 / 3, "no answer", 1 / 2 + 1 / 6, 1 / 3 + 1 / 3)),
    ],
)  # fmt: skip
def test_a_system_has_the_share_of_its_pairs_that_the_judge_orders_alike(
    truth, judge, credits_
):
    marks = kendall().marks(scores(*truth), scores(*judge))
    for own, credit in zip(marks, credits_, strict=True):
        if credit == "no answer":
            assert own is None
        else:
            assert own.gold == ()
            assert own.answer == pytest.approx((credit,))


def test_of_the_best_systems_alone_the_others_have_no_mark():
    marks = kendall(best=2).marks(scores(4, 3, 2), scores(4, 3, 9))
    assert [own.answer for own in marks] == [(1.0,), (1.0,), (None,)]


def test_measures_without_a_credit_for_a_system_mark_nothing():
    truth, judge = scores(3, 2, 1), scores(3, 2, 1)
    silent = [
        LeaderboardCorrelation("pearson", "corrected", coefficient="pearson"),
        TopicCorrelation("kendall_by_topic", "corrected", coefficient="kendall"),
        RankDistance("rank_distance", "corrected", column="distance"),
    ]
    for metric in silent:
        assert list(metric.marks(truth, judge)) == [None, None, None]


def test_the_sample_of_leaderboards_is_drawn_by_pairs_and_not_by_equal_ranks():
    shown = list(iterate_sample_instances(task_type("judge-leaderboards"), {}))
    drawn = [kinds_by_part(own, "judge-leaderboards") for own in shown]
    kinds = {kind for own in drawn for kind in own["answer"]}
    assert kinds <= {IN_GOLD_AND_ANSWER, PARTLY_RIGHT, ONLY_IN_ANSWER}
    assert {"kendall"} <= {name for marks in shown[0].marks for name in marks.metrics}
    assert all(own["gold"] == [""] for own in drawn)
