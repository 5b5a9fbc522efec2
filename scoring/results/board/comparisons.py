"""Compute significance tests between the evaluations of a board, and the smallest
differences that the tests can detect.
"""

import itertools
import logging
import math
import zipfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO

import numpy as np
from django.core.cache import cache
from django.db import transaction
from django.db.models import Avg, F, QuerySet
from django.utils.translation import gettext as _
from numpy.typing import NDArray

from citeboard.core import storage
from citeboard.core.release import compute_release_digest
from citeboard.core.words import (
    count_with_noun,
    format_thousands,
    join_names,
    localize_separators,
)
from scoring.metrics import Metric, base, build_metrics
from scoring.metrics.base import Floats
from scoring.models import BoardOrder, Comparison, Evaluation, RankRange
from scoring.offline.compare import align_two_runs
from scoring.offline.evaluate import RunMeasurements, StoredStatistics, load_statistics
from scoring.results.board.comparison_state import get_or_create_board_order
from scoring.results.board.formatting import display_name_of_metric, format_score
from scoring.results.board.seeds import SeedMeanRows
from scoring.stats import significance
from tasks.models import Gold, Phase, Submission

#: A batch compares one evaluation with EVALUATIONS_PER_BATCH others, with shared random exchanges.
#: Evaluations with more than MAX_ROWS_PER_BATCH rows in total make the batch smaller.
EVALUATIONS_PER_BATCH, MAX_ROWS_PER_BATCH = 32, 2_000_000

log = logging.getLogger(__name__)


class UnreadableStatistics(Exception):
    def __init__(self, evaluation: int) -> None:
        self.evaluation = evaluation
        super().__init__(f"the statistics of evaluation {evaluation} cannot be read")


class StatisticsUnavailable(UnreadableStatistics):
    """An error if the storage currently cannot provide the stored matrices of a run."""


class WithheldStatistics(UnreadableStatistics):
    """An error about stored matrices that are withheld, because the phase hides classes
    and instances of the run.
    """


@contextmanager
def open_statistics_file(evaluation: Evaluation) -> Iterator[IO[bytes]]:
    """Open the stored matrices of a run for a page. Raises WithheldStatistics."""
    if evaluation.withheld:
        raise WithheldStatistics(evaluation.pk)
    with storage.statistics_file_storage.open(evaluation.statistics) as kept:
        yield kept


def build_statistics_error(
    evaluation: Evaluation, reason: Exception
) -> UnreadableStatistics:
    is_away = isinstance(reason, OSError) and not isinstance(reason, FileNotFoundError)
    return (StatisticsUnavailable if is_away else UnreadableStatistics)(evaluation.pk)


def read_statistics_of_run(
    evaluation: Evaluation, only: Collection[str] | None = None
) -> StoredStatistics:
    try:
        with open_statistics_file(evaluation) as kept:
            return load_statistics(kept, only)
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as reason:
        raise build_statistics_error(evaluation, reason) from reason


def compare_evaluation_with_others(
    metric: Metric,
    one: Evaluation,
    others: Sequence[Evaluation],
    *,
    comparisons: int = 1,
) -> list[Comparison]:
    """Compare an evaluation with as many of the ``others`` as fit into memory, in
    order. Return unsaved comparisons. Raises Unreadable.
    """
    ours = _read_matrix_rows_of_metric(one, metric)
    others = others[
        : max(1, MAX_ROWS_PER_BATCH // max(1, len(ours.resampled_units[0])))
    ]
    pairs = []
    for other in others:
        theirs = _read_matrix_rows_of_metric(other, metric)
        own = metric.as_stored(ours.matrices, theirs.matrices)
        if own is None:
            is_old = metric.statistic not in ours.matrices
            raise UnreadableStatistics((one if is_old else other).pk)
        pairs.append(
            align_two_runs(own, ours, theirs)
            if one.pk < other.pk
            else align_two_runs(own, theirs, ours)
        )
    by_units: dict[int, list[int]] = {}
    for place, pair in enumerate(pairs):
        by_units.setdefault(len(pair.a), []).append(place)
    rows: list[Comparison] = []
    for units, places in by_units.items():
        results = significance.compute_run_differences(
            [pairs[place] for place in places],
            trials=significance.choose_number_of_exchanges(units),
            max_trials=significance.choose_number_of_exchanges(units, comparisons),
            seed=significance.SEED,
        )
        for place, result in zip(places, results, strict=True):
            first, second = sorted(
                (one, others[place]), key=lambda evaluation: evaluation.pk
            )
            found = {
                "difference": base.finite_or_none(result.difference),
                "error": base.finite_or_none(result.error),
                "low": result.low,
                "high": result.high,
                "p": base.finite_or_none(result.test.p),
                "test": result.test.kind,
                "trials": result.test.trials,
                "units": result.units,
                "seed": significance.SEED,
            }
            rows.append(
                Comparison(first=first, second=second, metric=metric.name, **found)
            )
    return rows


def _read_matrix_rows_of_metric(
    evaluation: Evaluation, metric: Metric
) -> RunMeasurements:
    read = read_statistics_of_run(evaluation, [metric.statistic])
    if metric.as_stored(read.matrices) is None:
        raise UnreadableStatistics(evaluation.pk)
    return read


def save_comparisons(rows: Sequence[Comparison]) -> int:
    """Save the comparisons whose evaluations were not rescored in the meantime, and
    return the number of saved comparisons. The caller must have opened a database
    transaction.
    """
    assert transaction.get_connection().in_atomic_block
    read = {
        evaluation.pk: evaluation.statistics
        for pair in rows
        for evaluation in (pair.first, pair.second)
    }
    locked = Evaluation.objects.select_for_update().filter(pk__in=read).order_by("pk")
    now = dict(locked.values_list("pk", "statistics"))
    same = {pk for pk, name in now.items() if name == read[pk]}
    fresh = [
        comparison
        for comparison in rows
        if {comparison.first_id, comparison.second_id} <= same
    ]
    pairs = {(comparison.first_id, comparison.second_id) for comparison in fresh}
    if any(
        pair in pairs
        for pair in find_stored_comparisons(same, rows[0].metric).values_list(
            "first", "second"
        )
    ):
        order = get_or_create_board_order(rows[0].first.phase_id, rows[0].first.rules)
        BoardOrder.objects.filter(pk=order.pk).update(revision=F("revision") + 1)
    Comparison.objects.bulk_create(
        fresh,
        update_conflicts=True,
        unique_fields=["first", "second", "metric"],
        update_fields=[
            "difference",
            "error",
            "low",
            "high",
            "p",
            "test",
            "trials",
            "units",
            "seed",
        ],
    )
    return len(fresh)


def find_run_pairs_with_too_few_trials(
    evaluations: Collection[int], metric: str
) -> set[tuple[int, int]]:
    """Return the pairs of runs whose test needs more random trials, because the board
    has grown and the p-value could become significant.
    """
    comparisons = len(evaluations) - 1
    most = max(
        significance.DEFAULT_EXCHANGES,
        2 * significance.EXCHANGES_PER_COMPARISON * comparisons,
    )
    pairs = Comparison.objects.filter(
        first__in=evaluations, second__in=evaluations, metric=metric
    )
    few = pairs.filter(test=significance.APPROXIMATE_TEST, trials__lt=most).order_by()
    return {
        (first, second)
        for first, second, p, units, trials in few.values_list(
            "first", "second", "p", "units", "trials"
        )
        if significance.may_need_more_exchanges(
            p, trials, significance.choose_number_of_exchanges(units, comparisons)
        )
    }


#: The p-value P_VALUE_NOT_COMPUTED marks rows without a comparison, which count as not different.
P_VALUE_NOT_COMPUTED = math.inf


def find_stored_comparisons(
    evaluations: Collection[int], metric: str
) -> QuerySet[Comparison]:
    """Return the stored comparisons of each two of these evaluations, in no particular
    order.
    """
    return Comparison.objects.filter(
        metric=metric, first__in=evaluations, second__in=evaluations
    ).order_by()


def build_pairwise_p_value_matrix(
    evaluations: Sequence[int], metric: str, means: SeedMeanRows | None = None
) -> Floats:
    """Return the symmetric matrix of p-values from tests between the rows of a board.

    A p-value is `P_VALUE_NOT_COMPUTED` if the two rows are not compared yet, and NaN if undefined.
    Rows in ``means``, which are means over seeds, use their own comparisons.
    """
    count = len(evaluations)
    p = np.full((count, count), P_VALUE_NOT_COMPUTED)
    np.fill_diagonal(p, math.nan)
    # Reading values is faster than objects for the 19,900 comparisons of 200 rows.
    pairs = find_stored_comparisons(evaluations, metric).values_list(
        "first_id", "second_id", "p"
    )
    found = np.array(list(pairs), float).reshape(-1, 3)
    order = np.argsort(evaluations)
    ordered = np.asarray(evaluations, float)[order]
    i, j = (order[np.searchsorted(ordered, found[:, end])] for end in (0, 1))
    p[i, j] = p[j, i] = found[:, 2]
    if means is not None:
        for place in means.places:
            p[place, :] = p[:, place] = P_VALUE_NOT_COMPUTED
            p[place, place] = math.nan
        for (one, other), pair in means.comparisons().items():
            p[one, other] = p[other, one] = math.nan if pair.p is None else pair.p
    return p


RANK_BY_VALUE, RANK_BY_SIGNIFICANCE = "value", "significance"
RANKING_METHODS = (RANK_BY_VALUE, RANK_BY_SIGNIFICANCE)


@dataclass(frozen=True, kw_only=True)
class TopTwoComparison:
    """The comparison of the first two rows of a board, and the probability that both
    rows keep their order with twice as many units (resampled items).
    """

    units: int
    differ: bool
    p: float | None = None
    chance: float | None = None


@dataclass(frozen=True, kw_only=True)
class RanksOfBoardRows:
    """The possible ranks of each row of a board, in the order of the rows."""

    ranges: list[RankRange]
    is_complete: bool
    first_two: TopTwoComparison | None = None
    keeps_sentences: bool = False


def compute_ranks_of_board_rows(
    evaluations: Sequence[int],
    values: Sequence[float | None],
    metric: str,
    *,
    means: SeedMeanRows | None = None,
    is_settled: bool = False,
) -> RanksOfBoardRows:
    """Return the possible ranks of the rows of a board, which are sorted best first.

    Higher ``values`` are better. If ``is_settled`` is True, the probability of the
    order is computed with shrinkage over all rows, as at the time when the board became
    final.
    """
    p = build_pairwise_p_value_matrix(evaluations, metric, means)
    merits = [math.nan if value is None else value for value in values]
    standings = significance.compute_ranks_with_ranges(merits, p)
    first_two = None
    if means is not None and not means.places.isdisjoint((0, 1)):
        if pair := means.comparisons().get((0, 1)):
            first_two = TopTwoComparison(
                units=pair.units, differ=standings[1].low > 1, p=pair.p
            )
    elif len(evaluations) > 1 and p[0, 1] != P_VALUE_NOT_COMPUTED:
        of_means = () if means is None else means.places
        shrinking = [
            evaluation
            for place, (evaluation, standing) in enumerate(
                zip(evaluations, standings, strict=True)
            )
            if is_settled or standing.low <= standings[0].high
            if place not in of_means
        ]
        differ = standings[1].low > 1
        first_two = _compare_top_two(
            evaluations[:2],
            shrinking,
            metric,
            differ=differ,
            equal=0.0 if is_settled else significance.PRIOR_OF_EQUAL_SYSTEMS,
        )
    deciding = _find_p_values_against_better_rows(merits, p)
    ranges = [
        RankRange(evaluation=evaluation, low=standing.low, high=standing.high, p=own)
        for evaluation, standing, own in zip(
            evaluations, standings, deciding, strict=True
        )
    ]
    is_complete = not np.any(p == P_VALUE_NOT_COMPUTED)
    return RanksOfBoardRows(ranges=ranges, is_complete=is_complete, first_two=first_two)


def _find_p_values_against_better_rows(
    merits: Sequence[float], p: Floats
) -> list[float | None]:
    """Return the adjusted p-value of each row's test against the first row. If a row is
    significantly worse than other rows but not than the first row, return the smallest
    p-value against these other rows.
    """
    adjusted = significance.adjust_p_values_by_row(p)
    above = significance.find_significantly_better_rows(np.array(merits), p)
    deciding: list[float | None] = []
    for row, is_above in enumerate(above):
        own = adjusted[row, 0]
        if is_above.any() and not is_above[0]:
            own = adjusted[row, is_above].min()
        deciding.append(None if row == 0 else base.finite_or_none(float(own)))
    return deciding


def _compare_top_two(
    two: Sequence[int],
    shrinking: Sequence[int],
    metric: str,
    *,
    differ: bool,
    equal: float,
) -> TopTwoComparison:
    """Compare the first two rows of a board, and estimate the probability that both
    rows keep their order. ``shrinking`` are the rows whose range of possible ranks
    overlaps that of the first row.
    """
    pair = find_stored_comparisons(two, metric).get()
    chance = None
    if not differ and pair.difference and pair.error:
        pairs = find_stored_comparisons(shrinking, metric)
        chance = _estimate_order_probability(pair, pairs, len(shrinking), equal)
    return TopTwoComparison(units=pair.units, differ=differ, p=pair.p, chance=chance)


def _estimate_order_probability(
    pair: Comparison, pairs: QuerySet[Comparison], rows: int, equal: float
) -> float | None:
    assert pair.difference is not None
    assert pair.error is not None
    means = pairs.aggregate(
        squares=Avg(F("difference") * F("difference")),
        errors=Avg(F("error") * F("error")),
    )
    return significance.order_chance(
        pair.difference, pair.error, pair.units, rows=rows, equal=equal, **means
    )


def build_significantly_better_matrix(
    rows: Sequence[int],
    values: Sequence[float | None],
    metric: str,
    means: SeedMeanRows | None = None,
) -> NDArray[np.bool_]:
    """Return a matrix in which ``[i, j]`` is True if row j of the board is
    significantly better than row i.
    """
    merits = np.array([-math.inf if value is None else value for value in values])
    return significance.find_significantly_better_rows(
        merits, build_pairwise_p_value_matrix(rows, metric, means)
    )


@dataclass(frozen=True, kw_only=True)
class Separation:
    """The numbers of units and of tests from which the ranks of a board follow, and the
    test of its first two rows.

    ``unit`` is the name of the items that tests resample, for example topic. If the
    first two rows do not differ significantly, ``p`` is the p-value of their test
    without correction, and ``order_chance`` is the probability that both rows keep
    their order with twice as many units.
    """

    unit: str
    units: int
    comparisons: int
    smallest_p: float
    p: float | None = None
    order_chance: float | None = None
    more_units: int | None = None

    @property
    def smallest_corrected_p(self) -> float:
        return min(1.0, self.smallest_p * self.comparisons)

    @property
    def can_differ(self) -> bool:
        return self.smallest_corrected_p <= significance.FAMILYWISE_ERROR_RATE

    @property
    def sentences(self) -> list[str]:
        sentences = []
        if not self.can_differ:
            facts = {
                "units": format_unit_count(self.units, self.unit),
                "alpha": f"{100 * significance.FAMILYWISE_ERROR_RATE:.0f}",
                "p": localize_separators(f"{self.smallest_p:.3f}"),
                "systems": self.comparisons + 1,
                "corrected": localize_separators(f"{self.smallest_corrected_p:.3f}"),
                "comparisons": self.comparisons,
            }
            words = _(
                "With %(units)s no two of %(systems)s systems can differ at %(alpha)s %%: the smallest p is "
                "%(p)s, and %(corrected)s after Holm's correction for %(comparisons)s comparisons."
            )
            if self.smallest_p > significance.FAMILYWISE_ERROR_RATE:
                words = _(
                    "With %(units)s no two systems can differ at %(alpha)s %%: the smallest p is %(p)s."
                )
            sentences.append(words % facts)
        if self.p is not None:
            words = _("First and second could be tied (p %(p)s).")
            sentences.append(words % {"p": localize_separators(f"{self.p:.2g}")})
        if self.order_chance is not None:
            words = _(
                "If %(units)s behave like these, the first stays ahead of the second "
                "with a chance of about %(chance)s %%."
            )
            more = format_unit_count(self.units, self.unit, are_more=True)
            sentences.append(
                words % {"units": more, "chance": f"{100 * self.order_chance:.0f}"}
            )
        return sentences


def build_separation_of_top_two(
    first_two: TopTwoComparison, *, unit: str, rows: int
) -> Separation:
    comparisons = rows - 1
    trials = significance.choose_number_of_exchanges(first_two.units, comparisons)
    return Separation(
        unit=unit,
        units=first_two.units,
        comparisons=comparisons,
        smallest_p=significance.compute_smallest_p_value(first_two.units, trials),
        p=None if first_two.differ else first_two.p,
        order_chance=None if first_two.differ else first_two.chance,
    )


#: The power is computed for test sets that are larger by the factors TEST_SET_SIZE_FACTORS.
TEST_SET_SIZE_FACTORS = (1, 2, 4)
#: The estimate of power compares each two of the MAX_RUNS_FOR_POWER_ESTIMATE newest runs.
MAX_RUNS_FOR_POWER_ESTIMATE = 4


@dataclass(frozen=True, kw_only=True)
class StatisticalPowerOnGold:
    """The statistical power of paired tests on a version of the gold. ``error`` is the
    typical standard error of a difference between two runs over ``units`` units, by the
    ranking metric.
    """

    unit: str
    units: int
    runs: int
    error: float
    metric: str
    scale: float
    largest: float

    @property
    def sentences(self) -> list[str]:
        by_units: dict[int, str] = {}
        for units in (times * self.units for times in TEST_SET_SIZE_FACTORS):
            least = significance.compute_detectable_difference(
                self.error, self.units, at_units=units, largest=self.largest
            )
            if math.isfinite(least):
                by_units[units] = format_score(least, self.scale)
        sentences = []
        if self.units not in by_units:
            few = _("%(units)s cannot show that two systems differ at 5 %%.")
            sentences.append(few % {"units": format_unit_count(self.units, self.unit)})
        if by_units:
            (units, first), *more = by_units.items()
            words = _("%(units)s show a difference in %(metric)s of %(difference)s")
            shows = {
                "units": format_unit_count(units, self.unit),
                "metric": self.metric,
                "difference": first,
            }
            sizes = [words % shows]
            words = _("%(units)s one of %(difference)s")
            sizes += [
                words % {"units": format_thousands(further), "difference": least}
                for further, least in more
            ]
            words = _(
                "With a chance of 80 %%, %(sizes)s (from the differences between %(runs)s)."
            )
            sentences.append(
                words
                % {
                    "sizes": join_names(sizes),
                    "runs": count_with_noun(self.runs, "run"),
                }
            )
        return sentences


def estimate_power_on_gold(
    gold: Gold, phase: Phase | None = None
) -> StatisticalPowerOnGold | None:
    """Return the power of paired tests by the ranking metric, estimated from runs of
    the phase or of all phases. The result is None unless at least two runs have a
    measurable difference.
    """
    task = gold.task
    if not task.rules:
        return None
    rules = task.ranking_rules
    known = Evaluation.objects.filter(gold=gold, rules=rules).exclude(
        submission__kind=Submission.Kind.HUMAN
    )
    if phase:
        known = known.filter(
            submission__phase=phase, submission__status=Submission.Status.SCORED
        )
    evaluations = list(known.order_by("-pk")[:MAX_RUNS_FOR_POWER_ESTIMATE])
    if len(evaluations) < 2:
        return None
    metric = build_metrics(
        task.task_type, rules, task.task_type.validate_options(task.options)
    )[0]
    if not metric.is_exchangeable:
        return None
    key = (
        f"gold-power:{compute_release_digest()}:{metric.name}:"
        f"{','.join(run.statistics for run in evaluations)}"
    )
    measured: tuple[int, float] | None = cache.get(key)
    if measured is None:
        try:
            runs = [
                read_statistics_of_run(evaluation, [metric.statistic])
                for evaluation in evaluations
            ]
            # Do not compare matrices that different versions of a metric computed.
            own = metric.as_stored(*(run.matrices for run in runs))
            both = itertools.combinations(runs if own else (), 2)
            pairs = [align_two_runs(own or metric, a, b) for a, b in both]
            measured = (
                max((len(pair.a) for pair in pairs), default=0),
                significance.compute_median_error(pairs),
            )
        except UnreadableStatistics as reason:
            log.warning("What gold %s can show is not known: %s", gold.pk, reason)
            measured = 0, math.nan
        cache.set(key, measured, 24 * 3600)
    units, error = measured
    if math.isnan(error):
        return None
    low, high = metric.value_range
    return StatisticalPowerOnGold(
        unit=task.unit,
        units=units,
        runs=len(evaluations),
        error=error,
        metric=display_name_of_metric(metric.name),
        scale=metric.scale,
        largest=high - low,
    )


def format_unit_count(number: int, unit: str, *, are_more: bool = False) -> str:
    words = {
        "instance": (
            count_with_noun(number, "instance"),
            count_with_noun(number, "more instance"),
        ),
        "paper": (
            count_with_noun(number, "paper"),
            count_with_noun(number, "more paper"),
        ),
        "question": (
            count_with_noun(number, "question"),
            count_with_noun(number, "more question"),
        ),
        "system": (
            count_with_noun(number, "system"),
            count_with_noun(number, "more system"),
        ),
        "text": (count_with_noun(number, "text"), count_with_noun(number, "more text")),
        "topic": (
            count_with_noun(number, "topic"),
            count_with_noun(number, "more topic"),
        ),
    }
    return words.get(
        unit, (count_with_noun(number, unit), count_with_noun(number, f"more {unit}"))
    )[are_more]
