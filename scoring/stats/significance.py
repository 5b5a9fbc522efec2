"""Test the difference between two runs on the same gold by paired tests over units, and
correct the p-values of multiple tests by Holm's method.

The test is the randomisation test of Fisher 1935 and Noreen 1989 (Computer-Intensive
Methods for Testing Hypotheses). Under the null hypothesis, the two runs' rows for a
unit can be exchanged. The randomisation test tries all exchanges if few units differ
(exact), else random exchanges (approximate). The interval of the difference uses a
jackknife standard error, where each unit is left out of both runs.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scoring.metrics.base import Floats, Metric, WeightedMetric
from scoring.stats import jackknife
from scoring.stats.resampling import (
    CONFIDENCE_LEVEL,
    MAX_SAMPLED_UNITS_IN_MEMORY,
    IntervalBounds,
    round_to_summable_grid,
)

#: The familywise error rate.
FAMILYWISE_ERROR_RATE = 0.05
#: Up to this number of differing units, a test tries all 2**units exchanges.
MAX_EXACT_UNITS = 16
EXACT_TEST, APPROXIMATE_TEST = "exact randomisation", "approximate randomisation"
#: Two runs get further exchanges if at most this many first exchanges were extreme.
FEW_EXTREME_EXCHANGES = 20
#: Number of exchanges for one comparison of two runs.
#: Tests with many units would take minutes and therefore use fewer exchanges.
DEFAULT_EXCHANGES, MIN_EXCHANGES = 10_000, 1_000
MAX_DRAWN_UNITS = 200_000_000
#: This many exchanges per comparison let the smallest p-value pass Holm's correction.
EXCHANGES_PER_COMPARISON = 25
SEED = 0


@dataclass(frozen=True)
class PairedRuns:
    """A metric and the (units, m) rows of two runs. Row i of both runs belongs to the
    same unit i. Only rows that ``paired_rows`` of the metric returns can be exchanged
    between two runs.
    """

    metric: Metric
    a: Floats
    b: Floats
    #: The reason why the two runs are not compared, or None if the runs are compared.
    refused: jackknife.NoIntervalReason | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        if self.a.shape != self.b.shape:
            raise ValueError(
                f"rows of {self.metric.name} do not line up: {self.a.shape}, {self.b.shape}"
            )
        if not all(map(self.metric.can_be_compared, (self.a, self.b))):
            object.__setattr__(self, "refused", jackknife.NoIntervalReason.TOO_FAR)
            return
        object.__setattr__(self, "a", self.metric.paired_rows(self.a))
        object.__setattr__(self, "b", self.metric.paired_rows(self.b))


@dataclass(frozen=True, kw_only=True)
class PairedTest:
    """The result of a randomisation test, which contains the two-sided p-value, the
    kind of test, and the number of exchanges. The p-value ``p`` is NaN if the metric's
    value is undefined for a run.
    """

    p: float
    kind: str
    trials: int


@dataclass(frozen=True, kw_only=True)
class RunDifference:
    """The difference between two runs' values of one metric.

    ``difference`` is the value of run a minus the value of run b, on the metric's
    scale, and ``error`` is the standard error of the difference. If the difference or
    its standard error is undefined, or if both runs are equal in every unit, the
    standard error is NaN and the interval is None. ``no_interval`` gives the reason.
    """

    a: float
    b: float
    difference: float
    error: float
    low: float | None
    high: float | None
    test: PairedTest
    units: int
    no_interval: jackknife.NoIntervalReason | None = None


def compute_run_differences(
    pairs: Sequence[PairedRuns],
    *,
    trials: int,
    seed: int,
    max_trials: int = 0,
    level: float = CONFIDENCE_LEVEL,
) -> list[RunDifference]:
    """Return the difference of each pair of runs, with an interval and the p-value of
    ``run_randomisation_tests``.
    """
    tests = run_randomisation_tests(
        pairs, trials=trials, seed=seed, max_trials=max_trials
    )
    results = []
    for pair, test in zip(pairs, tests, strict=True):
        a, b = _compute_run_values(pair)
        spread = _compute_difference_spread(pair)
        low, high = _compute_interval_from_spread(pair, a - b, spread, level) or (
            None,
            None,
        )
        difference = RunDifference(
            a=a,
            b=b,
            difference=a - b,
            error=spread.error,
            low=low,
            high=high,
            test=test,
            units=len(pair.a),
            no_interval=spread.no_interval
            or (jackknife.NoIntervalReason.UNDEFINED if low is None else None),
        )
        results.append(difference)
    return results


def run_randomisation_tests(
    pairs: Sequence[PairedRuns], *, trials: int, seed: int, max_trials: int = 0
) -> list[PairedTest]:
    """Return the result of the randomisation test for each pair of runs.

    If only few exchanges are extreme, the test is repeated with up to ``max_trials``
    exchanges. The p-value of the repeated test can then be significant after a
    correction for many comparisons.
    """
    tests: dict[int, PairedTest] = {}
    # The pairs of runs with the same number of units share the random exchanges.
    by_units: dict[int, list[int]] = {}
    for index, pair in enumerate(pairs):
        if pair.refused:
            tests[index] = PairedTest(p=math.nan, kind=APPROXIMATE_TEST, trials=trials)
            continue
        if isinstance(pair.metric, WeightedMetric):
            tests[index] = _run_weighted_test(
                pair, pair.metric, trials=trials, seed=seed
            )
            continue
        differing = np.flatnonzero((pair.a != pair.b).any(axis=1))
        if len(differing) <= MAX_EXACT_UNITS:
            tests[index] = _run_exact_test(pair, differing)
        else:
            by_units.setdefault(len(pair.a), []).append(index)
    for places in by_units.values():
        chosen = [pairs[place] for place in places]
        tests.update(
            zip(
                places,
                _run_approximate_tests(chosen, trials=trials, seed=seed),
                strict=True,
            )
        )
        few = [
            place
            for place in places
            if may_need_more_exchanges(tests[place].p, trials, max_trials)
        ]
        chosen = [pairs[place] for place in few]
        tests.update(
            zip(
                few,
                _run_approximate_tests(chosen, trials=max_trials, seed=seed),
                strict=True,
            )
        )
    return [tests[place] for place in range(len(pairs))]


def may_need_more_exchanges(p: float | None, trials: int, max_trials: int) -> bool:
    """Return True if more than ``trials`` random exchanges may lower the p-value."""
    return (
        p is not None
        and max_trials > trials
        and p * (1 + trials) < FEW_EXTREME_EXCHANGES + 1.5
    )


def choose_number_of_exchanges(units: int, comparisons: int = 1) -> int:
    """Return the number of random exchanges for each test of a leaderboard. The number
    of exchanges depends only on the arguments, which makes tests reproducible.
    """
    trials = max(
        MIN_EXCHANGES, min(DEFAULT_EXCHANGES, MAX_DRAWN_UNITS // max(1, units))
    )
    while trials < EXCHANGES_PER_COMPARISON * comparisons:
        trials *= 2
    return trials


def compute_smallest_p_value(units: int, trials: int) -> float:
    """Return the smallest possible p-value of a randomisation test over this number of
    differing units.
    """
    return 2.0 / 2.0**units if units <= MAX_EXACT_UNITS else 1 / (1 + trials)


def adjust_by_holm(p_values: Sequence[float]) -> list[float]:
    """Return the p-values adjusted for multiple tests (Holm 1979). A p-value of NaN
    stays NaN and is not counted as a test.
    """
    ordered = sorted(
        (p, index) for index, p in enumerate(p_values) if not math.isnan(p)
    )
    adjusted = [math.nan] * len(p_values)
    largest = 0.0
    for rank, (p, place) in enumerate(ordered):
        largest = max(largest, min(1.0, p * (len(ordered) - rank)))
        adjusted[place] = largest
    return adjusted


def _run_weighted_test(
    pair: PairedRuns, metric: WeightedMetric, *, trials: int, seed: int
) -> PairedTest:
    """Test the difference of a weighted metric on the stacked rows of both runs. For
    each unit, weights of 0 and 1 select the row of one of the two runs.
    """
    names, units = np.unique(pair.a[:, 0], return_inverse=True)
    rows, count = np.vstack([pair.a, pair.b])[:, 1:], len(names)
    differing = np.unique(units[(pair.a != pair.b).any(axis=1)])
    is_exact = len(differing) <= MAX_EXACT_UNITS
    tried, kind = (
        (1 << len(differing), EXACT_TEST) if is_exact else (trials, APPROXIMATE_TEST)
    )
    observed = abs(metric.total(pair.a) - metric.total(pair.b))
    if math.isnan(observed):
        return PairedTest(p=math.nan, kind=kind, trials=tried)
    nearly = observed - jackknife.ROUNDING_TOLERANCE
    bits, extreme, per_block = (
        np.random.PCG64(seed),
        0,
        max(1, MAX_SAMPLED_UNITS_IN_MEMORY // max(1, len(rows))),
    )
    for start in range(0, tried, per_block):
        size = min(per_block, tried - start)
        exchanged = np.zeros((size, count), dtype=bool)
        if is_exact:
            exchanged[:, differing] = (
                np.arange(start, start + size)[:, None] >> np.arange(len(differing)) & 1
            )
        else:
            raw = (
                bits.random_raw((size * count + 63) // 64)
                .astype("<u8", copy=False)
                .view(np.uint8)
            )
            exchanged = (
                np.unpackbits(raw, count=size * count).reshape(size, count).astype(bool)
            )
        own = exchanged[:, units]
        sides = (
            np.hstack(both).astype(np.float64) for both in ((~own, own), (own, ~own))
        )
        a, b = (metric.value(rows, chosen) for chosen in sides)
        extreme += int(np.count_nonzero(~(np.abs(a - b) < nearly)))
    return PairedTest(
        p=extreme / tried if is_exact else (1 + extreme) / (1 + tried),
        kind=kind,
        trials=tried,
    )


class _ExchangeValues:
    """The values of a metric for two runs after exchanges of units, computed from sums
    of row differences over the exchanged units.
    """

    def __init__(self, pair: PairedRuns) -> None:
        self.metric = pair.metric
        units, self.width = pair.a.shape
        both = round_to_summable_grid(np.hstack([pair.a, pair.b]), 2 * units)
        a, b = both[:, : self.width], both[:, self.width :]
        self.surplus = a - b
        self.totals = a.sum(axis=0), b.sum(axis=0)
        self.observed = float(self.values(np.zeros((1, self.width)))[0])

    def values(self, exchanged: Floats) -> Floats:
        """Return the absolute difference between the two runs' values after each
        exchange. The array ``exchanged`` has the shape (trials, m).
        """
        a, b = self.totals
        return np.abs(
            compute_value_differences(self.metric, a - exchanged, b + exchanged)
        )

    def count_extreme_exchanges(self, exchanged: Floats) -> int:
        """Count the exchanges after which the absolute difference is at least the
        observed absolute difference. Undefined differences count too.
        """
        nearly = self.observed - jackknife.ROUNDING_TOLERANCE
        return int(np.count_nonzero(~(self.values(exchanged) < nearly)))


def _run_exact_test(pair: PairedRuns, differing: NDArray[np.intp]) -> PairedTest:
    """Test the difference of a pair of runs over all exchanges of the units in which
    the runs differ.
    """
    exchange = _ExchangeValues(pair)
    count = 1 << len(differing)
    if math.isnan(exchange.observed):
        return PairedTest(p=math.nan, kind=EXACT_TEST, trials=count)
    chosen = (np.arange(count)[:, None] >> np.arange(len(differing))) & 1
    extreme = exchange.count_extreme_exchanges(
        chosen.astype(np.float64) @ exchange.surplus[differing]
    )
    return PairedTest(p=extreme / count, kind=EXACT_TEST, trials=count)


def _run_approximate_tests(
    pairs: Sequence[PairedRuns], *, trials: int, seed: int
) -> list[PairedTest]:
    if not pairs:
        return []
    exchanges = [_ExchangeValues(pair) for pair in pairs]
    joined = np.hstack([exchange.surplus for exchange in exchanges])
    ends = np.cumsum([exchange.width for exchange in exchanges])[:-1]
    extreme = np.zeros(len(pairs))
    # The blocks (b, units) contain random bits, which are 1 for exchanged units.
    bits, units = np.random.PCG64(seed), len(joined)
    per_block = max(1, MAX_SAMPLED_UNITS_IN_MEMORY // units)
    for start in range(0, trials, per_block):
        count = min(per_block, trials - start)
        raw = (
            bits.random_raw((count * units + 63) // 64)
            .astype("<u8", copy=False)
            .view(np.uint8)
        )
        chosen = (
            np.unpackbits(raw, count=count * units)
            .reshape(count, units)
            .astype(np.float64)
        )
        parts = np.split(chosen @ joined, ends, axis=1)
        extreme += [
            exchange.count_extreme_exchanges(part)
            for exchange, part in zip(exchanges, parts, strict=True)
        ]
    counted = zip((exchange.observed for exchange in exchanges), extreme, strict=True)
    p_values = (
        math.nan if math.isnan(own) else (1 + int(count)) / (1 + trials)
        for own, count in counted
    )
    return [PairedTest(p=p, kind=APPROXIMATE_TEST, trials=trials) for p in p_values]


def compute_difference_interval(
    pair: PairedRuns, *, level: float = CONFIDENCE_LEVEL
) -> IntervalBounds | None:
    """Return the interval of the difference between two runs' values. The interval is
    None with fewer than three units with a value, if the difference or its standard
    error is undefined, or if the runs are equal in every unit.
    """
    a, b = _compute_run_values(pair)
    return _compute_interval_from_spread(
        pair, a - b, _compute_difference_spread(pair), level
    )


def compute_difference_error(pair: PairedRuns) -> float:
    """Return the jackknife standard error of the difference between runs a and b, or
    NaN if the standard error is undefined.
    """
    return _compute_difference_spread(pair).error


@dataclass(frozen=True)
class _DifferenceSpread:
    """The standard error of a difference between two runs, the effective (Kish) number
    of units, and the share of units in which both runs are equal. All three numbers are
    NaN if the difference has no interval.
    """

    error: float = math.nan
    units: float = math.nan
    same: float = math.nan
    no_interval: jackknife.NoIntervalReason | None = None


def _compute_difference_spread(pair: PairedRuns) -> _DifferenceSpread:
    metric, width = pair.metric, pair.a.shape[1]
    if pair.refused:
        return _DifferenceSpread(no_interval=pair.refused)
    if isinstance(metric, WeightedMetric):
        return _compute_weighted_spread(metric, pair)
    weights = metric.denominators(pair.a) + metric.denominators(pair.b)
    carries = weights > 0
    if np.count_nonzero(carries) < jackknife.MIN_INFLUENTIAL_UNITS:
        return _DifferenceSpread(no_interval=jackknife.NoIntervalReason.FEW_UNITS)
    same = (pair.a == pair.b).all(axis=1)
    if same.all():
        is_defined = math.isfinite(float(metric.aggregate(pair.a.sum(axis=0))))
        return _DifferenceSpread(
            error=0.0 if is_defined else math.nan,
            no_interval=jackknife.NoIntervalReason.SAME,
        )
    if not metric.has_honest_interval:
        return _DifferenceSpread(no_interval=jackknife.NoIntervalReason.NOT_HONEST)
    if not all(metric.has_enough_units(rows) for rows in (pair.a, pair.b)):
        return _DifferenceSpread(no_interval=jackknife.NoIntervalReason.FEW_OF_A_CLASS)
    both = round_to_summable_grid(np.hstack([pair.a, pair.b]), len(pair.a))
    without = (both.sum(axis=0) - both)[carries]
    left_out = compute_value_differences(metric, without[:, :width], without[:, width:])
    if not np.isfinite(left_out).all():
        return _DifferenceSpread(no_interval=jackknife.NoIntervalReason.UNDEFINED)
    error, number = (
        jackknife.compute_jackknife_error(left_out),
        jackknife.compute_kish_number(weights),
    )
    return _DifferenceSpread(float(error), number, float(same[carries].mean()))


def _compute_weighted_spread(
    metric: WeightedMetric, pair: PairedRuns
) -> _DifferenceSpread:
    carried = [metric.sum_carriers_by_unit(rows) for rows in (pair.a, pair.b)]
    if not all(map(jackknife.has_enough_carriers, carried)):
        return _DifferenceSpread(no_interval=jackknife.NoIntervalReason.FEW_CARRIERS)
    if (pair.a == pair.b).all():
        return _DifferenceSpread(error=0.0, no_interval=jackknife.NoIntervalReason.SAME)
    if not metric.has_interval:
        return _DifferenceSpread(no_interval=jackknife.NoIntervalReason.NOT_HONEST)
    left_out = metric.left_out(pair.a) - metric.left_out(pair.b)
    if not np.isfinite(left_out).all():
        return _DifferenceSpread(no_interval=jackknife.NoIntervalReason.UNDEFINED)
    error = float(jackknife.compute_jackknife_error(left_out))
    return _DifferenceSpread(
        error, min(map(jackknife.count_effective_carriers, carried)), 0.0
    )


def _compute_run_values(pair: PairedRuns) -> tuple[float, float]:
    if isinstance(pair.metric, WeightedMetric):
        return pair.metric.total(pair.a), pair.metric.total(pair.b)
    a, b = (float(pair.metric.aggregate(rows.sum(axis=0))) for rows in (pair.a, pair.b))
    return a, b


def _compute_interval_from_spread(
    pair: PairedRuns, difference: float, spread: _DifferenceSpread, level: float
) -> IntervalBounds | None:
    if spread.no_interval or not math.isfinite(difference):
        return None
    ends, error = pair.metric.value_range, np.asarray(spread.error)
    bounds = jackknife.compute_difference_bounds(
        difference, error, spread.units, ends, same=spread.same, level=level
    )
    return jackknife.convert_to_optional_bounds(bounds)


def compute_value_differences(metric: Metric, a: Floats, b: Floats) -> Floats:
    """Return the metric's value of run a minus the value of run b, computed from (…, m)
    sums of rows. The difference is undefined if one of the values is undefined, or if
    both values are infinite.
    """
    with np.errstate(invalid="ignore"):
        return np.asarray(metric.aggregate(a) - metric.aggregate(b))


#: Differences are called detectable if they are detected with this power.
DETECTION_POWER = 0.8
#: Maximum number of units that ``compute_needed_units`` considers.
MAX_CONSIDERED_UNITS = 10_000_000


def compute_median_error(pairs: Sequence[PairedRuns]) -> float:
    """Return the median standard error of differences over pairs of runs, or NaN if no
    pair has a positive error.
    """
    positive = [
        error for pair in pairs if (error := compute_difference_error(pair)) > 0
    ]
    return median(positive) if positive else math.nan


def power(
    difference: float, error: float, units: int, *, at_units: int, comparisons: int = 1
) -> float:
    """Return the power of a test with ``at_units`` units to detect a true difference at
    the 5 % level.

    ``error`` is the standard error of the difference over ``units`` units. The power is
    computed from the noncentral t distribution with Bonferroni's correction, the first
    step of Holm's correction. The power is 0 if a test with this number of units cannot
    have a significant result.
    """
    if at_units < compute_min_units(comparisons):
        return 0.0
    from scipy.special import nctdtr

    far = jackknife.compute_t_quantile(
        1 - FAMILYWISE_ERROR_RATE / (2 * comparisons), at_units - 1
    )
    # The effect is limited to 35 standard errors, since the power beyond is nearly 1.
    away = min(abs(difference) / error * math.sqrt(at_units / units), 35.0)
    wrong_way = nctdtr(at_units - 1, away, -far)
    # SciPy's result is NaN if the probability is too small to be computed.
    return float(1 - nctdtr(at_units - 1, away, far) + (max(0, wrong_way)))


def compute_detectable_difference(
    error: float,
    units: int,
    *,
    at_units: int | None = None,
    largest: float = math.inf,
    comparisons: int = 1,
) -> float:
    """Return the smallest true difference that is detected with power ``DETECTION_POWER``, on
    the metric's scale.

    ``error`` is the standard error of a difference over ``units`` units. ``at_units``
    is the number of units of another test set. The difference is infinite if a test
    with this number of units cannot have a significant result, or if the difference
    exceeds ``largest``. NaN if the error is NaN.
    """
    wanted = at_units or units
    if wanted < compute_min_units(comparisons):
        return math.inf
    # A detectable difference has this size in standard errors.
    shares = (1 - FAMILYWISE_ERROR_RATE / (2 * comparisons), DETECTION_POWER)
    errors = sum(jackknife.compute_t_quantile(share, wanted - 1) for share in shares)
    difference = errors * error * math.sqrt(units / wanted)
    return math.inf if difference > largest else difference


def compute_needed_units(
    difference: float, error: float, units: int, *, comparisons: int = 1
) -> int | None:
    """Return the number of units that a test needs to detect a difference of this size
    with power ``DETECTION_POWER``.

    The level of the test is corrected for the number of comparisons. The result is None
    if the difference is 0, or if ``MAX_CONSIDERED_UNITS`` units do not suffice.
    """
    if not difference or not error > 0 or not math.isfinite(difference):
        return None
    fewest, most = compute_min_units(comparisons), MAX_CONSIDERED_UNITS
    if compute_detectable_difference(
        error, units, at_units=most, comparisons=comparisons
    ) > abs(difference):
        return None
    while fewest < most:
        middle = (fewest + most) // 2
        if compute_detectable_difference(
            error, units, at_units=middle, comparisons=comparisons
        ) <= abs(difference):
            most = middle
        else:
            fewest = middle + 1
    return fewest


#: Possible shares of noise in the variance between rows, with a uniform prior.
NOISE_SHARE_GRID = (np.arange(100) + 0.5) / 100
#: All systems of a leaderboard are equally good with this prior probability.
#: `scripts/order_calibration.py` shows that this prior predicts frequencies best.
PRIOR_OF_EQUAL_SYSTEMS = 0.25


def order_chance(
    difference: float,
    error: float,
    units: int,
    *,
    rows: int,
    squares: float,
    errors: float,
    equal: float = 0.0,
) -> float:
    """Return the probability that two rows of a leaderboard keep their order if new
    units double the number of units.

    ``squares`` is the mean squared difference and ``errors`` the mean squared standard
    error, over all pairs of ``rows`` rows of the leaderboard. If the variance between
    rows is mostly noise, the expected difference in new units shrinks strongly (uniform
    shrinkage, Strawderman 1971, Proper Bayes Minimax Estimators). ``equal`` is the
    prior probability that all rows of the leaderboard are equally good. NaN without an
    error.
    """
    if not (error > 0 and errors > 0):
        return math.nan
    from scipy.special import stdtr

    noise, before = NOISE_SHARE_GRID, np.ones(len(NOISE_SHARE_GRID))
    if equal:
        noise = np.append(NOISE_SHARE_GRID, 1.0)
        before = np.append(before, len(NOISE_SHARE_GRID) * equal / (1 - equal))
    likely = (rows - 1) / 2 * np.log(noise) - (rows - 1) * squares / errors * noise / 2
    weights = before * np.exp(likely - likely.max())
    chances = stdtr(units - 1, abs(difference) * np.sqrt(2 - noise) / error)
    return float((weights * chances).sum() / weights.sum())


def compute_min_units(
    comparisons: int = 1, level: float = FAMILYWISE_ERROR_RATE
) -> int:
    """Return the minimum number of units for which the smallest corrected p-value of an
    exact test reaches the level.
    """
    return math.ceil(math.log2(2 * comparisons / level))


ROW_FAMILY, BOARD_FAMILY = "row", "board"


def adjust_p_values_by_row(p: Floats) -> Floats:
    """Return an array (rows, rows) with the p-values of pairs of leaderboard rows after
    Holm's correction in the family of each row. The p-value of a pair is the larger of
    the two p-values in the families of both rows.

    The corrected p-value of a pair is at most ``FAMILYWISE_ERROR_RATE`` if and only if
    ``find_significantly_better_rows`` separates the two rows. ``p`` contains the
    uncorrected p-values of pairs, as in ``compute_ranks_with_ranges``. The diagonal and
    pairs without a p-value contain NaN.
    """
    count = len(p)
    own = np.where(np.eye(count, dtype=bool), np.nan, p)
    order = np.argsort(own, axis=1)
    ordered = np.take_along_axis(own, order, axis=1)
    defined = count - np.isnan(own).sum(axis=1, keepdims=True)
    raised = np.minimum(1.0, ordered * (defined - np.arange(count)))
    adjusted = np.empty(p.shape)
    largest = np.maximum.accumulate(raised, axis=1)
    np.put_along_axis(adjusted, order, largest, axis=1)
    return np.asarray(np.maximum(adjusted, adjusted.T))


class RankWithRange(NamedTuple):
    """A leaderboard row's rank by value, and the range of the row's possible ranks."""

    rank: int
    low: int
    high: int


def compute_ranks_with_ranges(
    values: Sequence[float],
    p: Floats,
    *,
    family: str = ROW_FAMILY,
    alpha: float = FAMILYWISE_ERROR_RATE,
) -> list[RankWithRange]:
    """Return a standing for each leaderboard row, with the range of ranks that the
    pairwise tests do not exclude.

    The method is that of Mogstad, Romano, Shaikh and Wilhelm 2024 (Inference for Ranks,
    Review of Economic Studies). Each leaderboard row has its own family of tests, so
    Holm's correction is over the comparisons of the row. If ``family`` is ``BOARD_FAMILY``,
    the correction is over all pairs of rows instead. Two leaderboard rows differ if
    their test is significant in the families of both rows. Requiring significance in
    both families makes the ranges of ranks consistent.

    The argument ``values`` must contain higher numbers for better rows. A row whose
    value is NaN has the last rank. The symmetric matrix ``p`` contains the p-values of
    pairs of rows. A pair of rows without a comparison has the p-value NaN and counts as
    not different.
    """
    count = len(values)
    if p.shape != (count, count):
        raise ValueError(f"{count} rows and p-values of {p.shape}")
    merits = np.where(np.isnan(values), -np.inf, np.asarray(values, dtype=float))
    above = find_significantly_better_rows(merits, p, family=family, alpha=alpha)
    ranks = 1 + count - np.searchsorted(np.sort(merits), merits, side="right")
    low, high = 1 + above.sum(axis=1), count - above.sum(axis=0)
    return list(map(RankWithRange, ranks.tolist(), low.tolist(), high.tolist()))


def find_significantly_better_rows(
    merits: Floats,
    p: Floats,
    *,
    family: str = ROW_FAMILY,
    alpha: float = FAMILYWISE_ERROR_RATE,
) -> NDArray[np.bool_]:
    """Return a matrix in which ``[i, j]`` is True if leaderboard row j is better than
    row i, and the difference is significant in the families of both rows.
    """
    differs = find_significant_differences(p, family=family, alpha=alpha)
    return np.asarray(differs & differs.T & (merits[None, :] > merits[:, None]))


def find_significant_differences(
    p: Floats, *, family: str = ROW_FAMILY, alpha: float = FAMILYWISE_ERROR_RATE
) -> NDArray[np.bool_]:
    """Return a matrix in which ``[i, j]`` is True if leaderboard row i differs
    significantly from row j in the family of row i. The family ``ROW`` contains the
    comparisons of one row, so ``[i, j]`` may differ from ``[j, i]``.
    """
    count = len(p)
    others = ~np.eye(count, dtype=bool)
    if family == ROW_FAMILY:
        # P-values below the first non-significant p-value are significant (`holm`).
        # A p-value of NaN sorts last, is never significant and is not counted.
        ordered = np.sort(np.where(others, p, np.nan))
        defined = count - np.isnan(ordered).sum(axis=1, keepdims=True)
        fails = ordered * (defined - np.arange(count)) > alpha
        first = np.where(fails, ordered, np.inf).min(
            axis=1, initial=np.inf, keepdims=True
        )
        return np.asarray(others & (p < first))
    if family == BOARD_FAMILY:
        above, adjusted = np.triu(others), np.full(p.shape, np.nan)
        adjusted[above] = adjust_by_holm(p[above].tolist())
        adjusted.T[above] = adjusted[above]
        return np.asarray(adjusted <= alpha)
    raise ValueError(
        f"there is no family “{family}”; there are {ROW_FAMILY}, {BOARD_FAMILY}"
    )
