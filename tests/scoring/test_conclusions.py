"""The forms of conclusions, and what the five papers conclude: decided on their own printed figures."""

import math

import pytest
from scipy.stats import spearmanr

from scoring.papers.cells import papers
from scoring.stats.finding import (
    TREND_FORMS,
    UNDECIDABLE_FORM,
    PaperConclusion,
    correlate_rankings,
)

#: What the figures of its own table do not bear out, by paper.
FAILING = {
    "citation-resolution-2014": {
        "every mixed method is above every other one in every window",
        "the best external score stands at the query window 10 10",
    },
    "citation-recommendation-2024": {
        "NCN, LCR and BM25 do best on Background",
        "NCN's best low-resource field is Business",
        "LCR and Galactica do best on Engineering among low-resource fields",
        "NCN does best before an adjective",
        "BM25 does best after a pronoun",
        "BM25 does best with long contexts",
    },
    "aliice-2025": {
        "GPT-3.5 with ten passages has the best recall on ASQA",
        "LLaMA-3 with five passages is more fluent than GPT-3.5 and GPT-4",
        "citation utility and answer utility are not related, ASQA",
        "ALCE's recall does not rank systems as people do, ASQA",
        "ALCE's recall does not rank systems as people do, ELI5",
        "ALCE's precision does not rank systems as people do, ELI5",
        "ALiiCE's recall ranks systems as people do, ELI5",
    },
    "citebench-2023": {
        "texts that cite several papers are harder than those that cite one (ROUGE-L)",
        "texts that cite several papers are harder than those that cite one (BERTScore)",
    },
    "cl-summ-2014": set(),
}
#: The number of conclusions by paper, and of those that were read from a table.
LISTED = {
    "citation-resolution-2014": (11, 0),
    "citation-recommendation-2024": (35, 25),
    "aliice-2025": (41, 0),
    "citebench-2023": (21, 10),
    "cl-summ-2014": (21, 10),
}
#: Rows that sum up the other rows of their table.
SUMS = {"Average", "weighted average", "Total"}
#: Spearman's coefficients from the printed tables, computed elsewhere.
AGREEMENT = {
    "ALiiCE's recall ranks systems as people do, ASQA": 0.96,
    "ALiiCE's precision ranks systems as people do, ASQA": 1.00,
    "ALiiCE's recall ranks systems as people do, ELI5": 0.39,
    "ALiiCE's precision ranks systems as people do, ELI5": 0.93,
    "ALCE's recall does not rank systems as people do, ASQA": 0.89,
    "ALCE's precision does not rank systems as people do, ASQA": 0.67,
    "ALCE's recall does not rank systems as people do, ELI5": 0.85,
    "ALCE's precision does not rank systems as people do, ELI5": 0.99,
}


def outcomes(name: str) -> dict:
    [paper] = papers([name])
    return {
        conclusion.name: (
            conclusion,
            conclusion.finding(paper.printed(table, conclusion)),
        )
        for table, conclusion in paper.conclusions
    }


@pytest.mark.parametrize("name", FAILING)
def test_claims_fail_where_the_printed_figures_are_not_as_they_say(name):
    told = outcomes(name)
    assert {
        key for key, (conclusion, found) in told.items() if conclusion.fails(found)
    } == FAILING[name]
    for conclusion, found in told.values():
        assert conclusion.sentence.endswith(".")
        assert found.units or (conclusion.form == UNDECIDABLE_FORM and conclusion.why)


@pytest.mark.parametrize("name", LISTED)
def test_a_claim_that_was_read_from_a_table_is_as_its_table_prints_it(name):
    told = outcomes(name)
    read = {
        key: (conclusion, found)
        for key, (conclusion, found) in told.items()
        if conclusion.from_table
    }
    assert (len(told), len(read)) == LISTED[name]
    for key, (conclusion, found) in read.items():
        assert conclusion.form == UNDECIDABLE_FORM or conclusion.agrees_with_outcome(
            found
        ), key


@pytest.mark.parametrize("name", LISTED)
def test_an_average_is_no_case_beside_the_rows_that_it_averages(name):
    [paper] = papers([name])
    for table, conclusion in paper.conclusions:
        if conclusion.form in (UNDECIDABLE_FORM, *TREND_FORMS):
            assert not SUMS & set(conclusion.order)
            continue
        figures = [
            fields
            for sides in conclusion.group_compared_figures(
                paper.printed(table, conclusion)
            )
            for side in sides
            for fields, _ in side
        ]
        values = {str(value) for fields in figures for value in fields.values()}
        assert not values & SUMS or _has_sums_only(figures), conclusion.name


def _has_sums_only(figures: list) -> bool:
    return all(SUMS & {str(value) for value in fields.values()} for fields in figures)


def test_a_claim_that_was_read_from_a_table_is_no_failing_claim_of_the_paper():
    figures = [({"of": "a"}, 0.1), ({"of": "b"}, 0.2)]
    sides = {"by": [], "more": {"of": ["a"]}, "less": {"of": ["b"]}}
    stated = PaperConclusion(name="a is above b", **sides)
    read = PaperConclusion(name="a is above b", from_table=True, **sides)
    assert stated.finding(figures) == read.finding(figures)
    assert stated.agrees_with_outcome(stated.finding(figures)) is False
    assert (
        stated.fails(stated.finding(figures)),
        read.fails(read.finding(figures)),
    ) == (
        True,
        False,
    )


def test_an_interval_that_ends_at_zero_neither_confirms_nor_contradicts_a_claim():
    figures = [({"of": side, "field": n}, 0.5) for side in "ab" for n in range(3)]
    claim = PaperConclusion(
        name="a is above b", by=["field"], more={"of": ["a"]}, less={"of": ["b"]}
    )
    finding = claim.finding(figures)
    assert (finding.units, finding.low, finding.high) == (3, 0, 0)
    assert claim.holds(finding) is None


def test_a_trend_may_be_along_numbers():
    _, found = outcomes("cl-summ-2014")["recall falls as the threshold rises"]
    assert (found.units, found.is_exact) == (7, True)
    assert found.coefficient == pytest.approx(25 / 28)


def test_rankings_of_systems_agree_as_far_as_was_computed_elsewhere():
    told = outcomes("aliice-2025")
    for name, coefficient in AGREEMENT.items():
        found = told[name][1]
        assert found.units == 7
        assert found.is_exact
        assert found.coefficient == pytest.approx(coefficient, abs=0.0051)


def test_a_trend_is_told_by_its_direction():
    conclusion, found = outcomes("citation-recommendation-2024")[
        "BM25's recall falls as papers are cited more often"
    ]
    assert found.units == 10
    assert conclusion.holds(found) is True
    rising = PaperConclusion(
        name="x", form="rises", along="n", order=["1", "2", "3", "4", "5"]
    )
    figures = [({"n": str(n)}, -float(n)) for n in range(1, 6)]
    assert rising.holds(rising.finding(figures)) is False
    assert rising.agrees_with_outcome(rising.finding(figures)) is False
    assert rising.agrees_with_outcome(rising.finding(figures[:4])) is None


def test_the_exact_p_is_the_share_of_all_orders():
    """Of five: the coefficient is .8, as far from 0 as those of 16 of the 120 orders (Zar 1972: p .133)."""
    found = correlate_rankings((1, 2, 3, 4, 5), (2, 1, 4, 3, 5))
    assert (found.coefficient, found.p) == pytest.approx((0.8, 16 / 120))
    assert correlate_rankings(range(6), range(6)).p == pytest.approx(2 / 720)


def test_equal_values_share_their_rank_and_too_few_pairs_tell_nothing():
    first, second = (1, 2, 2, 4, 6, 5), (3, 3, 1, 5, 6, 4)
    found = correlate_rankings(first, second)
    assert found.coefficient == pytest.approx(spearmanr(first, second).statistic)
    assert 0 < found.p < 1
    assert math.isnan(correlate_rankings((1, 2, 3, 4), (1, 2, 3, 4)).p)
    assert math.isnan(correlate_rankings((1, 1, 1, 1, 1), (1, 2, 3, 4, 5)).p)


def test_the_p_of_more_than_eight_pairs_is_that_of_another_library():
    first, second = list(range(10)), [3, 1, 2, 6, 4, 5, 9, 8, 7, 10]
    expected = spearmanr(first, second)
    found = correlate_rankings(first, second)
    assert not found.is_exact
    assert (found.coefficient, found.p) == pytest.approx(
        (expected.statistic, expected.pvalue)
    )
