"""Do two runs on the same gold differ? Paired tests over units, and Holm's correction for asking many times.

The test is the randomisation test (Fisher 1935; Noreen 1989, Computer-Intensive Methods for Testing
Hypotheses): if both runs were equally good, either run's rows of a unit could as well be the other's. It is
exact, by trying every exchange, where few units differ, and approximate elsewhere. The interval of the
difference comes from its jackknife error: the same unit is left out of both runs.
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
from scoring.stats.resampling import BLOCK, LEVEL, Bounds, on_grid

#: The chance of naming any difference of a family where there is none.
ALPHA = 0.05
#: Up to this number of differing units, the test tries all 2**units exchanges.
MAX_EXACT_UNITS = 16
EXACT, APPROXIMATE = "exact randomisation", "approximate randomisation"
#: A pair is tried further where at most so many of its first exchanges were extreme.
FEW_EXTREME = 20
#: Exchanges of one comparison; fewer where there are so many units that it would take minutes.
TRIALS, MIN_TRIALS = 10_000, 1_000
MAX_DRAWS = 200_000_000
#: Exchanges for each comparison that Holm's correction is over: the smallest p-value stays below 0.05.
TRIALS_PER_COMPARISON = 25
SEED = 0


@dataclass(frozen=True)
class Paired:
    """A metric and what two runs have: (units, m) rows each, row i of both belonging to the same unit. Rows
    that can be compared are kept in the form in which they can be exchanged.
    """

    metric: Metric
    a: Floats
    b: Floats
    #: Why the runs are not compared, if they are not.
    refused: jackknife.NoInterval | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        if self.a.shape != self.b.shape:
            raise ValueError(
                f"rows of {self.metric.name} do not line up: {self.a.shape}, {self.b.shape}"
            )
        if not all(map(self.metric.can_be_compared, (self.a, self.b))):
            object.__setattr__(self, "refused", jackknife.NoInterval.TOO_FAR)
            return
        object.__setattr__(self, "a", self.metric.paired_rows(self.a))
        object.__setattr__(self, "b", self.metric.paired_rows(self.b))


@dataclass(frozen=True, kw_only=True)
class PairedTest:
    """The two-sided p-value of a difference of 0, how it was found, and the number of exchanges tried. ``p``
    is NaN where a value of the metric is undefined.
    """

    p: float
    kind: str
    trials: int


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Two runs by one metric. ``difference`` is a minus b, on the metric's scale, ``error`` its standard
    error; the error is NaN and the interval None where they are undefined, and where both runs are the same
    in every unit, which ``no_interval`` says.
    """

    a: float
    b: float
    difference: float
    error: float
    low: float | None
    high: float | None
    test: PairedTest
    units: int
    no_interval: jackknife.NoInterval | None = None


def differences(
    pairs: Sequence[Paired],
    *,
    trials: int,
    seed: int,
    max_trials: int = 0,
    level: float = LEVEL,
) -> list[Difference]:
    """Each pair's difference with interval and p-value, the p-values as in ``randomisation_tests``."""
    tests = randomisation_tests(pairs, trials=trials, seed=seed, max_trials=max_trials)
    results = []
    for pair, test in zip(pairs, tests, strict=True):
        a, b = _values(pair)
        spread = _spread(pair)
        low, high = _interval(pair, a - b, spread, level) or (None, None)
        difference = Difference(
            a=a,
            b=b,
            difference=a - b,
            error=spread.error,
            low=low,
            high=high,
            test=test,
            units=len(pair.a),
            no_interval=spread.no_interval
            or (jackknife.NoInterval.UNDEFINED if low is None else None),
        )
        results.append(difference)
    return results


def randomisation_tests(
    pairs: Sequence[Paired], *, trials: int, seed: int, max_trials: int = 0
) -> list[PairedTest]:
    """The randomisation test of each pair; the approximate ones share one pass over their exchanges. Pairs of
    which hardly any exchange is extreme are tried up to ``max_trials`` times, where that is more, so that
    their p-values are small enough for a correction for many comparisons.
    """
    tests: dict[int, PairedTest] = {}
    # Exchanges are shared by pairs that have as many units.
    by_units: dict[int, list[int]] = {}
    for place, pair in enumerate(pairs):
        if pair.refused:
            tests[place] = PairedTest(p=math.nan, kind=APPROXIMATE, trials=trials)
            continue
        if isinstance(pair.metric, WeightedMetric):
            tests[place] = _weighted_test(pair, pair.metric, trials=trials, seed=seed)
            continue
        differing = np.flatnonzero((pair.a != pair.b).any(axis=1))
        if len(differing) <= MAX_EXACT_UNITS:
            tests[place] = _exact_test(pair, differing)
        else:
            by_units.setdefault(len(pair.a), []).append(place)
    for places in by_units.values():
        chosen = [pairs[place] for place in places]
        tests.update(
            zip(
                places,
                _approximate_tests(chosen, trials=trials, seed=seed),
                strict=True,
            )
        )
        few = [
            place
            for place in places
            if may_need_more(tests[place].p, trials, max_trials)
        ]
        chosen = [pairs[place] for place in few]
        tests.update(
            zip(
                few,
                _approximate_tests(chosen, trials=max_trials, seed=seed),
                strict=True,
            )
        )
    return [tests[place] for place in range(len(pairs))]


def may_need_more(p: float | None, trials: int, max_trials: int) -> bool:
    """Return whether more trials may lower a p-value from ``trials`` random exchanges."""
    return (
        p is not None and max_trials > trials and p * (1 + trials) < FEW_EXTREME + 1.5
    )


def trials_for(units: int, comparisons: int = 1) -> int:
    """Of the comparisons of a board; the same for every two runs with so many units, so that anybody can
    compute it again.
    """
    trials = max(MIN_TRIALS, min(TRIALS, MAX_DRAWS // max(1, units)))
    while trials < TRIALS_PER_COMPARISON * comparisons:
        trials *= 2
    return trials


def smallest_p(units: int, trials: int) -> float:
    """The smallest p-value that any two runs with so many units can have."""
    return 2.0 / 2.0**units if units <= MAX_EXACT_UNITS else 1 / (1 + trials)


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values adjusted for having been asked together (Holm 1979); NaN stays NaN and is not counted."""
    ordered = sorted(
        (p, place) for place, p in enumerate(p_values) if not math.isnan(p)
    )
    adjusted = [math.nan] * len(p_values)
    largest = 0.0
    for rank, (p, place) in enumerate(ordered):
        largest = max(largest, min(1.0, p * (len(ordered) - rank)))
        adjusted[place] = largest
    return adjusted


def _weighted_test(
    pair: Paired, metric: WeightedMetric, *, trials: int, seed: int
) -> PairedTest:
    """The rows of both runs one below the other, of which weights choose either run's for each unit."""
    names, units = np.unique(pair.a[:, 0], return_inverse=True)
    rows, count = np.vstack([pair.a, pair.b])[:, 1:], len(names)
    differing = np.unique(units[(pair.a != pair.b).any(axis=1)])
    is_exact = len(differing) <= MAX_EXACT_UNITS
    tried, kind = (1 << len(differing), EXACT) if is_exact else (trials, APPROXIMATE)
    observed = abs(metric.total(pair.a) - metric.total(pair.b))
    if math.isnan(observed):
        return PairedTest(p=math.nan, kind=kind, trials=tried)
    nearly = observed - jackknife.ROUNDING
    bits, extreme, per_block = (
        np.random.PCG64(seed),
        0,
        max(1, BLOCK // max(1, len(rows))),
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


class _Exchange:
    """One pair ready for exchanges: from sums of a's surplus over the exchanged units to both values."""

    def __init__(self, pair: Paired) -> None:
        self.metric = pair.metric
        units, self.width = pair.a.shape
        both = on_grid(np.hstack([pair.a, pair.b]), 2 * units)
        a, b = both[:, : self.width], both[:, self.width :]
        self.surplus = a - b
        self.totals = a.sum(axis=0), b.sum(axis=0)
        self.observed = float(self.values(np.zeros((1, self.width)))[0])

    def values(self, exchanged: Floats) -> Floats:
        """|a minus b| after each exchange; ``exchanged`` is (trials, m)."""
        a, b = self.totals
        return np.abs(differences_of(self.metric, a - exchanged, b + exchanged))

    def extreme(self, exchanged: Floats) -> int:
        """In how many trials the difference is at least the observed one; undefined ones count as such."""
        nearly = self.observed - jackknife.ROUNDING
        return int(np.count_nonzero(~(self.values(exchanged) < nearly)))


def _exact_test(pair: Paired, differing: NDArray[np.intp]) -> PairedTest:
    """Every exchange of the units that differ: exchanging the others changes nothing."""
    exchange = _Exchange(pair)
    count = 1 << len(differing)
    if math.isnan(exchange.observed):
        return PairedTest(p=math.nan, kind=EXACT, trials=count)
    chosen = (np.arange(count)[:, None] >> np.arange(len(differing))) & 1
    extreme = exchange.extreme(chosen.astype(np.float64) @ exchange.surplus[differing])
    return PairedTest(p=extreme / count, kind=EXACT, trials=count)


def _approximate_tests(
    pairs: Sequence[Paired], *, trials: int, seed: int
) -> list[PairedTest]:
    if not pairs:
        return []
    exchanges = [_Exchange(pair) for pair in pairs]
    joined = np.hstack([exchange.surplus for exchange in exchanges])
    ends = np.cumsum([exchange.width for exchange in exchanges])[:-1]
    extreme = np.zeros(len(pairs))
    # Blocks of (b, units) zeros and ones: which units each trial exchanges, a fair coin for each.
    bits, units = np.random.PCG64(seed), len(joined)
    per_block = max(1, BLOCK // units)
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
            exchange.extreme(part)
            for exchange, part in zip(exchanges, parts, strict=True)
        ]
    counted = zip((exchange.observed for exchange in exchanges), extreme, strict=True)
    p_values = (
        math.nan if math.isnan(own) else (1 + int(count)) / (1 + trials)
        for own, count in counted
    )
    return [PairedTest(p=p, kind=APPROXIMATE, trials=trials) for p in p_values]


def difference_interval(pair: Paired, *, level: float = LEVEL) -> Bounds | None:
    """None with fewer than three units that carry it, where the difference or its error is undefined, and of
    runs that are the same in every unit.
    """
    a, b = _values(pair)
    return _interval(pair, a - b, _spread(pair), level)


def difference_error(pair: Paired) -> float:
    """The jackknife's standard error of a minus b; NaN where it is undefined."""
    return _spread(pair).error


@dataclass(frozen=True)
class _Spread:
    """How a difference varies over the units that carry either value: its error, their number by Kish, and
    the share of them in which both runs are the same; of both nothing is known without an interval.
    """

    error: float = math.nan
    units: float = math.nan
    same: float = math.nan
    no_interval: jackknife.NoInterval | None = None


def _spread(pair: Paired) -> _Spread:
    metric, width = pair.metric, pair.a.shape[1]
    if pair.refused:
        return _Spread(no_interval=pair.refused)
    if isinstance(metric, WeightedMetric):
        return _spread_of_weighted(metric, pair)
    weights = metric.denominators(pair.a) + metric.denominators(pair.b)
    carries = weights > 0
    if np.count_nonzero(carries) < jackknife.MIN_UNITS:
        return _Spread(no_interval=jackknife.NoInterval.FEW_UNITS)
    same = (pair.a == pair.b).all(axis=1)
    if same.all():
        is_defined = math.isfinite(float(metric.aggregate(pair.a.sum(axis=0))))
        return _Spread(
            error=0.0 if is_defined else math.nan, no_interval=jackknife.NoInterval.SAME
        )
    if not metric.has_honest_interval:
        return _Spread(no_interval=jackknife.NoInterval.NOT_HONEST)
    if not all(metric.has_enough_units(rows) for rows in (pair.a, pair.b)):
        return _Spread(no_interval=jackknife.NoInterval.FEW_OF_A_CLASS)
    both = on_grid(np.hstack([pair.a, pair.b]), len(pair.a))
    without = (both.sum(axis=0) - both)[carries]
    left_out = differences_of(metric, without[:, :width], without[:, width:])
    if not np.isfinite(left_out).all():
        return _Spread(no_interval=jackknife.NoInterval.UNDEFINED)
    error, number = jackknife.jackknife_error(left_out), jackknife.kish_number(weights)
    return _Spread(float(error), number, float(same[carries].mean()))


def _spread_of_weighted(metric: WeightedMetric, pair: Paired) -> _Spread:
    carried = [metric.carried_by_unit(rows) for rows in (pair.a, pair.b)]
    if not all(map(jackknife.has_enough_carriers, carried)):
        return _Spread(no_interval=jackknife.NoInterval.FEW_CARRIERS)
    if (pair.a == pair.b).all():
        return _Spread(error=0.0, no_interval=jackknife.NoInterval.SAME)
    if not metric.has_interval:
        return _Spread(no_interval=jackknife.NoInterval.NOT_HONEST)
    left_out = metric.left_out(pair.a) - metric.left_out(pair.b)
    if not np.isfinite(left_out).all():
        return _Spread(no_interval=jackknife.NoInterval.UNDEFINED)
    error = float(jackknife.jackknife_error(left_out))
    return _Spread(error, min(map(jackknife.number_of_carriers, carried)), 0.0)


def _values(pair: Paired) -> tuple[float, float]:
    if isinstance(pair.metric, WeightedMetric):
        return pair.metric.total(pair.a), pair.metric.total(pair.b)
    a, b = (float(pair.metric.aggregate(rows.sum(axis=0))) for rows in (pair.a, pair.b))
    return a, b


def _interval(
    pair: Paired, difference: float, spread: _Spread, level: float
) -> Bounds | None:
    if spread.no_interval or not math.isfinite(difference):
        return None
    ends, error = pair.metric.value_range, np.asarray(spread.error)
    bounds = jackknife.difference_bounds(
        difference, error, spread.units, ends, same=spread.same, level=level
    )
    return jackknife.as_bounds(bounds)


def differences_of(metric: Metric, a: Floats, b: Floats) -> Floats:
    """a minus b from (…, m) sums of either; undefined where either is, or both are infinite."""
    with np.errstate(invalid="ignore"):
        return np.asarray(metric.aggregate(a) - metric.aggregate(b))


#: The chance with which a difference of the size that is told is found significant.
CHANCE = 0.8
#: More units than this nobody adds.
MAX_UNITS = 10_000_000


def typical_error(pairs: Sequence[Paired]) -> float:
    """The median error of a difference over pairs of runs; NaN where no two of them differ measurably."""
    positive = [error for pair in pairs if (error := difference_error(pair)) > 0]
    return median(positive) if positive else math.nan


def power(
    difference: float, error: float, units: int, *, at_units: int, comparisons: int = 1
) -> float:
    """The chance that so many units show a true difference at 5 %, whose ``error`` is that over ``units``. Of
    Student's t around the difference in errors, corrected for so many comparisons (Bonferroni, the first step
    of Holm's correction); 0 where so few units cannot show any.
    """
    if at_units < min_units(comparisons):
        return 0.0
    from scipy.special import nctdtr

    far = jackknife.t_quantile(1 - ALPHA / (2 * comparisons), at_units - 1)
    # At this distance every difference is found; the distribution is not computed.
    away = min(abs(difference) / error * math.sqrt(at_units / units), 35.0)
    wrong_way = nctdtr(at_units - 1, away, -far)
    # NaN where it is too small to be computed.
    return float(1 - nctdtr(at_units - 1, away, far) + (max(0, wrong_way)))


def detectable_difference(
    error: float,
    units: int,
    *,
    at_units: int | None = None,
    largest: float = math.inf,
    comparisons: int = 1,
) -> float:
    """The smallest true difference that is found with the usual chance, on the metric's scale. ``error`` is
    that of a difference over ``units``; with ``at_units`` for a test set of that size. Infinite where so few
    units cannot show any, or none but one beyond the ``largest``; NaN where the error is.
    """
    wanted = at_units or units
    if wanted < min_units(comparisons):
        return math.inf
    # Standard errors of the level and of the chance.
    shares = (1 - ALPHA / (2 * comparisons), CHANCE)
    errors = sum(jackknife.t_quantile(share, wanted - 1) for share in shares)
    difference = errors * error * math.sqrt(units / wanted)
    return math.inf if difference > largest else difference


def units_needed(
    difference: float, error: float, units: int, *, comparisons: int = 1
) -> int | None:
    """The units with which a difference of this size and error is found with the usual chance. Corrected for
    so many comparisons, and never so few that no p-value is significant then. None where there is no
    difference, or no test set shows it.
    """
    if not difference or not error > 0 or not math.isfinite(difference):
        return None
    fewest, most = min_units(comparisons), MAX_UNITS
    if detectable_difference(
        error, units, at_units=most, comparisons=comparisons
    ) > abs(difference):
        return None
    while fewest < most:
        middle = (fewest + most) // 2
        if detectable_difference(
            error, units, at_units=middle, comparisons=comparisons
        ) <= abs(difference):
            most = middle
        else:
            fewest = middle + 1
    return fewest


#: Shares of the variance between rows that may be noise, all as likely before the board is seen.
NOISE = (np.arange(100) + 0.5) / 100
#: The probability, before a board is seen, that all its systems are equal. With this one, predicted and
#: observed frequencies differ least over the boards of ``scripts/order_calibration.py``.
EQUAL = 0.25


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
    """The chance that two rows of a board keep their order with as many units again, old and new together.
    ``squares`` and ``errors`` are the means over all pairs of the ``rows`` of the squared differences and of
    their squared errors: how far rows are apart beyond noise shrinks what is expected of new units (uniform
    shrinkage, Strawderman 1971, Proper Bayes Minimax Estimators). ``equal`` is the probability that no row
    is better than another, before the board is seen. NaN without an error.
    """
    if not (error > 0 and errors > 0):
        return math.nan
    from scipy.special import stdtr

    noise, before = NOISE, np.ones(len(NOISE))
    if equal:
        noise = np.append(NOISE, 1.0)
        before = np.append(before, len(NOISE) * equal / (1 - equal))
    likely = (rows - 1) / 2 * np.log(noise) - (rows - 1) * squares / errors * noise / 2
    weights = before * np.exp(likely - likely.max())
    chances = stdtr(units - 1, abs(difference) * np.sqrt(2 - noise) / error)
    return float((weights * chances).sum() / weights.sum())


def min_units(comparisons: int = 1, level: float = ALPHA) -> int:
    """The fewest units with which an exact test's smallest p-value, corrected, reaches the level."""
    return math.ceil(math.log2(2 * comparisons / level))


ROW, BOARD = "row", "board"


def adjusted_p(p: Floats) -> Floats:
    """The larger of the two p-values that each pair of rows has after Holm's correction in the family of
    either row: at most ``ALPHA`` exactly where ``surely_above`` tells the rows apart. ``p`` is that of
    ``standings_of``; the diagonal and pairs without a p-value are NaN.
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


class Standing(NamedTuple):
    """A row's rank by value, and the ranks that it may have."""

    rank: int
    low: int
    high: int


def standings_of(
    values: Sequence[float], p: Floats, *, family: str = ROW, alpha: float = ALPHA
) -> list[Standing]:
    """A standing for each row, with every rank that its comparisons with the others leave open.

    Mogstad, Romano, Shaikh and Wilhelm 2024, Inference for Ranks, Review of Economic Studies. Each row asks
    its own family of questions, so Holm's correction is over the comparisons of that row; ``BOARD`` corrects
    over all pairs of the board instead. Two rows are told apart where the families of both say so, so that
    what the ranks of one say of the other, those of the other say too.

    ``values`` are turned so that higher is better; NaN ranks last. ``p[i, j]`` is the p-value of rows i and
    j, the same as ``p[j, i]``; NaN where they have not been compared, which leaves their order open.
    """
    count = len(values)
    if p.shape != (count, count):
        raise ValueError(f"{count} rows and p-values of {p.shape}")
    merits = np.where(np.isnan(values), -np.inf, np.asarray(values, dtype=float))
    above = surely_above(merits, p, family=family, alpha=alpha)
    ranks = 1 + count - np.searchsorted(np.sort(merits), merits, side="right")
    low, high = 1 + above.sum(axis=1), count - above.sum(axis=0)
    return list(map(Standing, ranks.tolist(), low.tolist(), high.tolist()))


def surely_above(
    merits: Floats, p: Floats, *, family: str = ROW, alpha: float = ALPHA
) -> NDArray[np.bool_]:
    """``[i, j]``: whether row j is better than row i, and the families of both tell them apart."""
    differs = differing(p, family=family, alpha=alpha)
    return np.asarray(differs & differs.T & (merits[None, :] > merits[:, None]))


def differing(
    p: Floats, *, family: str = ROW, alpha: float = ALPHA
) -> NDArray[np.bool_]:
    """``[i, j]``: whether row i, in its family, differs significantly from row j. In the family ``ROW`` a row
    corrects over its own comparisons, so that the answer of i about j may differ from that of j about i.
    """
    count = len(p)
    others = ~np.eye(count, dtype=bool)
    if family == ROW:
        # `holm` of each row, all rows at once: what is smaller than the first that does not hold. NaN sorts
        # last, never differs and is not counted.
        ordered = np.sort(np.where(others, p, np.nan))
        defined = count - np.isnan(ordered).sum(axis=1, keepdims=True)
        fails = ordered * (defined - np.arange(count)) > alpha
        first = np.where(fails, ordered, np.inf).min(
            axis=1, initial=np.inf, keepdims=True
        )
        return np.asarray(others & (p < first))
    if family == BOARD:
        above, adjusted = np.triu(others), np.full(p.shape, np.nan)
        adjusted[above] = holm(p[above].tolist())
        adjusted.T[above] = adjusted[above]
        return np.asarray(adjusted <= alpha)
    raise ValueError(f"there is no family “{family}”; there are {ROW}, {BOARD}")
