"""Numbers, drawings and words as a board writes them."""

import datetime as dt
from dataclasses import replace

import pytest
from defusedxml.ElementTree import fromstring
from django.http import QueryDict
from django.template.loader import render_to_string

from scoring.metrics.classification import ClassAverage
from scoring.models import Score
from scoring.results.board import formatting
from scoring.results.board.formatting import (
    display_name_of_dimension,
    display_name_of_metric,
    format_interval,
    format_rank_range,
    format_score,
    format_score_note,
)
from scoring.results.board.query import BoardQuery
from scoring.results.board.standings import ScoreCell
from scoring.results.board.table import (
    WHISKER_MARGIN_PIXELS,
    WHISKER_WIDTH_PIXELS,
    IntervalAxis,
    IntervalWhisker,
    build_interval_whisker,
)
from scoring.results.runs.results import explain_unreliable_interval
from tasks.types import task_type

NAN = None


@pytest.mark.parametrize(
    ("value", "scale", "written"),
    [
        (0.31249, 1, "0.3125"),
        (0.3, 1, "0.3000"),
        (-0.2, 1, "\u22120.2000"),
        (-0.00001, 1, "0.0000"),
        (41.128, 100, "41.13"),
        (0.0, 100, "0.00"),
        (28.83333, 0, "28.83"),
        (NAN, 1, "\u2013"),
    ],
)
def test_a_number_has_the_decimals_of_its_scale_and_a_minus_sign(value, scale, written):
    assert format_score(value, scale) == written


def test_what_is_infinite_says_so():
    assert format_score(None, is_infinite=True) == "∞"


def test_an_interval_is_said_only_where_there_is_one():
    assert format_interval(0.1, 0.25) == "0.1000 to 0.2500"
    assert format_interval(None, None) == ""


@pytest.mark.parametrize(
    ("low", "high", "written"), [(3, 3, "3"), (2, 4, "2\u20134"), (None, None, "")]
)
def test_a_rank_may_be_an_interval(low, high, written):
    assert format_rank_range(low, high) == written


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("overlap_f1_micro", "Overlap F1, micro"),
        ("facet_recall_micro_unconditional", "Facet recall, micro, unconditional"),
        ("rouge_l_f1", "ROUGE-L F1"),
        ("rouge_s_star_f1", "ROUGE-S* F1"),
        ("rouge_2_f1.abstract", "ROUGE-2 F1, abstract"),
        ("recall@10", "Recall@10"),
        ("ndcg@10", "nDCG@10"),
        ("success@n_macro", "Success@n, macro"),
        ("kl_intent", "KL intent"),
        ("macro_f1", "Macro F1"),
        ("weighted_precision", "Weighted precision"),
    ],
)
def test_a_metric_has_a_name_that_people_read(name, label):
    assert display_name_of_metric(name) == label


def test_a_name_that_two_task_types_call_otherwise_is_read_as_it_is(monkeypatch):
    one, other = task_type("clsumm-1a"), task_type("clsumm-2")
    first = replace(one, display_names={"topic": "paper", "citing": "citing text"})
    monkeypatch.setattr(
        formatting, "task_types", lambda: {"one": first, "other": other}
    )
    formatting.collect_unambiguous_display_names.cache_clear()
    try:
        assert "topic" in first.dimensions
        assert "topic" in other.dimensions
        assert formatting.collect_unambiguous_display_names() == {
            "citing": "citing text"
        }
    finally:
        formatting.collect_unambiguous_display_names.cache_clear()


@pytest.mark.parametrize(
    ("name", "label"), [("dataset", "data set"), ("gold_sentences", "gold sentences")]
)
def test_a_dimension_has_a_name_that_people_read(name, label):
    assert display_name_of_dimension(name) == label


@pytest.mark.parametrize(
    ("name", "count", "said"),
    [
        ("missing_topics", 1, "1 missing topic"),
        ("missing_topics", 2, "2 missing topics"),
        ("answers_to_other_topics", 1, "1 answer to other topics"),
        ("empty_outputs", 1200, "1\u2009200 empty outputs"),
    ],
)
def test_a_note_is_counted_in_words(name, count, said):
    assert format_score_note(name, count) == said


def cell(value, low=None, high=None) -> ScoreCell:
    return ScoreCell(score=1, value=value, low=low, high=high)


def test_the_scale_of_the_drawings_holds_every_number_and_ends_at_round_ones():
    axis = IntervalAxis.from_score_cells(
        [cell(0.31, 0.27, 0.36), cell(0.52), cell(None)], 1.0
    )
    assert axis is not None
    assert axis.ends == ["0.25", "0.55"]
    assert (
        WHISKER_MARGIN_PIXELS
        < axis.place(0.27)
        < axis.place(0.52)
        < WHISKER_WIDTH_PIXELS - WHISKER_MARGIN_PIXELS
    )


def test_the_scale_of_counts_ends_at_round_ones_too():
    axis = IntervalAxis.from_score_cells([cell(28.8, 24.2, 33.1)], 0.0)
    assert axis is not None
    assert axis.ends == ["20", "35"]


def test_a_board_without_numbers_has_no_scale():
    assert IntervalAxis.from_score_cells([cell(None)], 1.0) is None


def test_a_single_value_has_a_scale_around_it():
    axis = IntervalAxis.from_score_cells([cell(0.5)], 1.0)
    assert axis is not None
    assert (
        WHISKER_MARGIN_PIXELS
        <= axis.place(0.5)
        <= WHISKER_WIDTH_PIXELS - WHISKER_MARGIN_PIXELS
    )


def drawn(shown: IntervalWhisker | None):
    return fromstring(render_to_string("boards/_whisker.html", {"whisker": shown}))


def test_an_interval_is_drawn_from_end_to_end_and_said_to_those_who_do_not_see_it():
    axis = IntervalAxis(0.0, 1.0, 1.0)
    drawing = drawn(
        build_interval_whisker(cell(0.5, 0.25, 0.75), axis, "0.2500 to 0.7500")
    )
    assert drawing.attrib["aria-label"] == "0.2500 to 0.7500"
    assert float(drawing.find("circle").attrib["cx"]) == pytest.approx(
        WHISKER_WIDTH_PIXELS / 2
    )
    start = (
        WHISKER_MARGIN_PIXELS + (WHISKER_WIDTH_PIXELS - 2 * WHISKER_MARGIN_PIXELS) / 4
    )
    assert drawing.find("path").attrib["d"].startswith(f"M{start:.1f} ")


def test_a_value_without_an_interval_is_a_dot():
    drawing = drawn(build_interval_whisker(cell(0.5), IntervalAxis(0.0, 1.0, 1.0), ""))
    assert drawing.find("path") is None
    assert drawing.attrib["aria-hidden"] == "true"


@pytest.mark.parametrize(
    "query",
    [
        "",
        "rules=official-2017&sort=-date&q=lead",
        "gold=2&baselines=no",
        "dimension=facet&system=3&system=9",
    ],
)
def test_an_address_says_what_is_shown_and_nothing_else(query):
    assert BoardQuery.of(QueryDict(query)).build_query_string() == f"?{query}"


def test_an_address_that_means_nothing_shows_the_usual_board():
    assert (
        BoardQuery.of(QueryDict("gold=x&baselines=&sort=&system=-1&q=%20%20"))
        == BoardQuery()
    )


def test_a_second_click_on_a_head_turns_the_order_round():
    query = BoardQuery.of(QueryDict("sort=date&q=a"))
    assert query.query_string_sorted_by("date") == "?sort=-date&q=a"
    assert query.query_string_sorted_by("system") == "?sort=system&q=a"


def test_seconds_are_told_in_the_unit_that_says_enough():
    from citeboard.core.words import format_duration

    told = [
        format_duration(seconds)
        for seconds in (0.2, 3, 100, 7200, dt.timedelta(days=3).total_seconds())
    ]
    assert told == ["a second", "3 seconds", "2 minutes", "2 hours", "3 days"]


@pytest.mark.parametrize(
    ("n", "average", "told"),
    [
        (10, "micro", ["15"]),
        (200, "micro", []),
        (10, "macro", ["15", "1 %"]),
        (200, "macro", ["1 %"]),
    ],
)
def test_a_number_says_why_its_interval_may_hold_less_often(n, average, told):
    metric = ClassAverage(f"{average}_f1", "corrected", part="f1", average=average)
    words = explain_unreliable_interval(metric, Score(n=n))
    assert [part for part in ("15", "1 %") if part in words] == told
