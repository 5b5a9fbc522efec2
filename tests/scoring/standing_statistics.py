"""Every number that the statistics have of drawn rows, at their bounds too, as the file beside says them.

    python -m tests.scoring.standing_statistics

writes the file anew, for a change that is meant.
"""

import dataclasses
import itertools
import json
import math
import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from scoring.metrics.base import build_unit_rows
from scoring.metrics.classification import Accuracy
from scoring.metrics.weighted import Kendall, RankCorrelation
from scoring.stats import (
    breakdown,
    correlation,
    jackknife,
    leakage,
    people_and_labels,
    resampling,
    significance,
)
from scoring.stats.finding import summarise_differences
from scoring.stats.interval_methods import RESAMPLING_METHODS
from tests.scoring.standing_numbers import drawn, metrics_of_form, rounded, written
from tests.scoring.toys import Mean

FILE = Path(__file__).with_suffix(".json")
RANGES = (
    (0.0, 1.0),
    (0.0, 100.0),
    (-1.0, 1.0),
    (2.0, math.inf),
    jackknife.UNBOUNDED_RANGE,
)


def told(call: Any, *arguments: Any, **named: Any) -> Any:
    """What it returns, or the words with which it refuses."""
    try:
        value = call(*arguments, **named)
    except ValueError as refused:
        return str(refused)
    if dataclasses.is_dataclass(value):
        return dataclasses.astuple(value)
    return value.tolist() if isinstance(value, np.ndarray) else value


def ends(bounds: tuple[Any, Any]) -> list[Any]:
    return [np.asarray(end).tolist() for end in bounds]


def of_bounds() -> Iterator[tuple[str, Any]]:
    for low, high in RANGES:
        top = high if math.isfinite(high) else 9.0
        bottom = low if math.isfinite(low) else -9.0
        values = bottom + (top - bottom) * np.array(
            [0.0, 0.0, 0.04, 0.3, 0.3, 0.5, 0.97, 1.0, 1.0]
        )
        errors = (top - bottom) * np.array(
            [0.0, 0.1, 0.02, 1e-13, 0.05, 0.6, 0.02, 0.0, 1e-11]
        )
        for units, level in (
            (3, 0.95),
            (10.5, 0.95),
            (40, 0.8),
            (np.linspace(1.0, 33.0, 9), 0.95),
        ):
            case = f"{low} to {high}, {'many' if isinstance(units, np.ndarray) else units}, {level}"
            if math.isinf(low) == math.isinf(high):
                found = jackknife.compute_score_bounds(
                    values, errors, units, (low, high), level=level
                )
            else:
                left_out = values[:, None] + errors[:, None] * [-0.6, 0.1, 0.5]
                found = jackknife.compute_one_ended_bounds(
                    values, left_out, units, (low, high), level=level
                )
            yield f"score {case}", ends(found)
            for same in (0.0, 0.4, 1.0):
                # As far as two values can be apart, and no farther than two ordinary ones are.
                shifted = (values - (top + bottom) / 2) * 2
                found = jackknife.compute_difference_bounds(
                    shifted, errors, units, (low, high), same=same, level=level
                )
                yield f"difference {case}, {same} the same", ends(found)
    rows = np.array([[1.0, 2], [0, 0], [3, 3], [2, 5], [0, 1]])
    for count in range(2, 6):
        yield (
            f"ratio of {count}",
            told(jackknife.compute_ratio_interval, rows[:count], (0.0, 1.0)),
        )
        left_out = [0.2, 0.3, 0.25, 0.4][: count - 1]
        yield (
            f"value of {count - 1}",
            told(jackknife.compute_jackknife_interval, 0.3, left_out, (0.0, 1.0)),
        )
    yield (
        "ratio of rows that are alike",
        told(jackknife.compute_ratio_interval, np.ones((4, 2)), (0.0, 1.0)),
    )
    yield (
        "value undefined",
        told(jackknife.compute_jackknife_interval, math.nan, [0.2, 0.3, 0.1]),
    )
    yield (
        "value undefined without one",
        told(jackknife.compute_jackknife_interval, 0.2, [0.2, math.nan, 0.1]),
    )
    yield "kish", jackknife.compute_kish_number(np.array([1.0, 2, 2, 0, 5]))
    for share, df in (
        (0.5, 1),
        (0.975, 1),
        (0.975, 1.5),
        (0.9, 30),
        (0, 5),
        (1, 5),
        (0.5, 0.9),
    ):
        yield f"quantile {share} of {df}", told(jackknife.compute_t_quantile, share, df)


def of_power() -> Iterator[tuple[str, Any]]:
    grid = itertools.product(
        (0.0, 0.02, -0.1, 0.5), (0.0, 0.01, 0.05), (1, 3, 30), (1, 6)
    )
    for difference, error, units, comparisons in grid:
        case = f"{difference} ± {error} of {units}, {comparisons}"
        needed = significance.compute_needed_units(
            difference, error, units, comparisons=comparisons
        )
        detectable = [
            significance.compute_detectable_difference(
                error, units, at_units=at, largest=largest, comparisons=comparisons
            )
            for at, largest in ((None, math.inf), (5, 0.2), (60, 0.05))
        ]
        powers = [
            significance.power(
                difference, error, units, at_units=at, comparisons=comparisons
            )
            for at in (2, 6, 7, 8, 40, 5000)
            if error
        ]
        chance = significance.order_chance(
            difference, error, units, rows=4, squares=0.01, errors=0.002
        )
        yield case, [needed, *detectable, *powers, chance]
    yield (
        "no difference is too large or none",
        [
            significance.compute_needed_units(*values)
            for values in (
                (math.inf, 0.1, 9),
                (0.1, math.nan, 9),
                (1e-9, 0.1, 9),
                (9.0, 0.1, 9),
            )
        ],
    )
    yield (
        "of one comparison",
        [
            significance.compute_min_units(),
            significance.choose_number_of_exchanges(9),
            significance.compute_needed_units(0.1, 0.05, 9),
            significance.compute_detectable_difference(0.05, 9),
            significance.power(0.1, 0.05, 9, at_units=12),
            leakage.compute_rank_publications_per_year(256),
        ],
    )
    yield (
        "order without errors",
        significance.order_chance(0.1, 0.1, 9, rows=3, squares=0.01, errors=0.0),
    )
    yield (
        "fewest",
        [
            significance.compute_min_units(count, level)
            for count in (1, 2, 3, 10)
            for level in (0.05, 0.2)
        ],
    )
    yield (
        "smallest",
        [significance.compute_smallest_p_value(units, 99) for units in (1, 5, 16, 17)],
    )
    yield (
        "trials",
        [
            significance.choose_number_of_exchanges(units, count)
            for units in (0, 1, 20_000, 20_001, 150_000, 10**6)
            for count in (1, 40, 41, 400, 401)
        ],
    )
    yield (
        "more",
        [
            significance.may_need_more_exchanges(p, 99, most)
            for p in (None, 0.0, 0.2, 0.214, 0.2150001, 0.22)
            for most in (0, 99, 100)
        ],
    )


def of_families() -> Iterator[tuple[str, Any]]:
    draw = np.random.default_rng(3)
    for count in (1, 2, 5):
        p = np.round(draw.random((count, count)) ** 4, 3)
        p = np.triu(p, 1) + np.triu(p, 1).T
        if count == 5:
            p[1, 3] = p[3, 1] = math.nan
            p[0, 4] = p[4, 0] = 0.0125
        values = np.round(draw.random(count), 1)
        for family in (significance.ROW_FAMILY, significance.BOARD_FAMILY):
            for alpha in (0.05, 0.2):
                found = significance.compute_ranks_with_ranges(
                    values.tolist(), p, family=family, alpha=alpha
                )
                apart = significance.find_significant_differences(
                    p, family=family, alpha=alpha
                )
                case = f"{family} of {count} at {alpha}"
                yield case, [found, apart.tolist()]
    tied = significance.compute_ranks_with_ranges(
        [0.5, math.nan, 0.5, 0.1], np.full((4, 4), math.nan)
    )
    yield "tied and undefined", tied
    yield "holm", significance.adjust_by_holm([0.04, 0.01, math.nan, 0.03, 0.9, 0.01])
    yield (
        "another shape",
        told(significance.compute_ranks_with_ranges, [0.5, 0.1], np.zeros((3, 3))),
    )
    yield (
        "another family",
        told(
            significance.find_significant_differences, np.zeros((2, 2)), family="clan"
        ),
    )


def of_correlations() -> Iterator[tuple[str, Any]]:
    draw = random.Random(5)
    for count in (0, 1, 2, 4, 5, 6, 12):
        x = np.array([float(draw.randint(0, 5)) for _ in range(count)])
        y = np.array([own + draw.choice((0, 0, 1, -2)) for own in x])
        for name in correlation.CORRELATION_FUNCTIONS:
            yield f"{name} of {count}", told(correlation.correlate_points, name, x, y)
            groups = [place % 6 for place in range(count)]
            yield (
                f"{name} of {count} in groups",
                told(correlation.correlate_grouped_points, name, x, y, groups),
            )
    line, flat = np.arange(6.0), np.full(6, 0.1)
    beyond = [
        values
        for values in (np.arange(7.0) * step for step in np.arange(1, 60) / 37)
        if _unclipped(values) > 1
    ]
    yield (
        "rounding beyond 1",
        [
            len(beyond) > 0,
            {correlation.compute_pearson(own, own) for own in beyond} == {1.0},
        ],
    )
    yield (
        "rounding beyond -1",
        {correlation.compute_pearson(own, -own) for own in beyond} == {-1.0},
    )
    for name in correlation.CORRELATION_FUNCTIONS:
        of = {
            "line": (line, line * 2),
            "fall": (line, -line),
            "flat": (line, flat),
            "flat too": (flat, line),
        }
        of["flat but for one"] = (line, np.array([0.0, 0, 0, 0, 0, 1]))
        for case, (x, y) in of.items():
            yield f"{name} {case}", told(correlation.correlate_points, name, x, y)
            yield (
                f"{name} {case} in groups",
                told(correlation.correlate_grouped_points, name, x, y, list("abcdef")),
            )
    for values in (
        [],
        [0.1],
        [0.1, 0.2],
        [0.1, 0.2, 0.0],
        [0.1, -0.2, 0.3, 0.0],
        [1.0, 1.1, 1.2],
        [-1.0, -1.1, -1.2],
    ):
        own = summarise_differences(values)
        yield f"finding {values}", [*dataclasses.astuple(own), own.holds]


def _unclipped(values: Any) -> float:
    own = values - values.mean()
    return float(own @ own / math.sqrt((own @ own) * (own @ own)))


def of_leakage() -> Iterator[tuple[str, Any]]:
    metric = Mean()
    for count in (2, 3, 4, 9, 100):
        for scale in (1.0, 0.0, 0.03):
            rows = np.array(
                [[0.5 + scale * (place % 2) / 2, 1] for place in range(count)]
            )
            yield f"step of {count}, {scale}", leakage.compute_ladder_step(metric, rows)
    for step in (0.001, 0.05, 0.2, 20.0, math.nan):
        yield (
            f"told on {step}",
            [
                leakage.round_score_by_ladder(value, step, best, sign)
                for value in (None, 0.123456, 0.5, 0.55, 71.0)
                for best, sign in (
                    (None, 1),
                    (0.5, 1),
                    (0.5, -1),
                    (-0.6, -1),
                    (0.45, 1),
                )
            ],
        )
    yield (
        "bits",
        [
            leakage.compute_max_bits_by_scores(tries, sizes)
            for tries in (0, 1, 7)
            for sizes in ((), (1,), (0, 63, 9))
        ],
    )
    yield (
        "by ladder",
        [
            leakage.compute_max_bits_by_ladder(tries, size)
            for tries in (0, 1, 3, 500)
            for size in (0, 1, 100)
        ],
    )
    yield (
        "by ranks",
        [
            leakage.compute_bits_by_ranks(times, teams)
            for times in (0, 2, 12)
            for teams in (1, 2, 3, 9)
        ],
    )
    yield (
        "a year",
        [
            leakage.compute_rank_publications_per_year(size, runs)
            for size in (0, 63, 64, 127, 128, 192, 256, 384, 640, 768, 9000)
            for runs in (1, 2, 3)
        ],
    )


def of_people() -> Iterator[tuple[str, Any]]:  # noqa: C901  (stored digests depend on the order of its draws)
    for responses in (2, 3, 8):
        draw = random.Random(responses)
        judgements, automatic = (
            people_and_labels.AnnotatorJudgements(),
            defaultdict(dict),
        )
        for number in range(responses):
            for name in "AB" if number % 3 else "ABC":
                for kind, levels in people_and_labels.LEVELS_BY_RATING.items():
                    judgements.answers[kind][f"q{number}",][name] = draw.choice(levels)
            for claim in "xyz"[: 1 + number % 3]:
                for kind in (
                    people_and_labels.RECALL_LABELS,
                    people_and_labels.PRECISION_LABELS,
                ):
                    item = (f"q{number}", claim, 1)[
                        : 3 if kind == people_and_labels.PRECISION_LABELS else 2
                    ]
                    for name in "AB":
                        judgements.answers[kind][item][name] = int(draw.random() < 0.6)
                    if draw.random() < 0.8:
                        automatic[kind][item] = int(draw.random() < 0.6)
        found = people_and_labels.agreement(judgements, automatic)
        for kind, numbers in found.items():
            yield f"{kind} of {responses}", numbers
    for items in (
        [],
        [[1]],
        [[1, 1]],
        [[1, 2]],
        [[1, 1], [2, 2]],
        [[1, 2, 2], [3, 3], [1, 1, 1], [2]],
    ):
        alphas = [
            people_and_labels.compute_krippendorff_alpha(items, level)
            for level in ("nominal", "ordinal", "interval")
        ]
        yield (
            f"ratings {items}",
            [people_and_labels.compute_fleiss_kappa(items), *alphas],
        )
    for first, second in (
        ([], []),
        ([1], [1]),
        ([1, 2], [1, 1]),
        ([1, 2, 3, 3], [1, 3, 3, 2]),
        ([1], []),
    ):
        yield (
            f"ratings {first} {second}",
            [
                told(call, first, second)
                for call in (
                    people_and_labels.compute_cohen_kappa,
                    people_and_labels.compute_quadratic_kappa,
                )
            ],
        )


def of_resampling() -> Iterator[tuple[str, Any]]:
    labels = metrics_of_form("labels")
    gold, runs = drawn("labels", 12)
    units = np.arange(12) // 2
    chosen = [
        own
        for own in labels
        if own.name in ("accuracy", "macro_f1", "brier_score", "auroc", "mcc")
    ]
    for metric in chosen:
        rows = [
            build_unit_rows(metric, metric.instance_stats(gold, run), units)
            for run in runs
        ]
        for count, resamples in ((6, 40), (6, 1), (6, 0), (1, 9)):
            sampler = resampling.BootstrapResampler(count, resamples=resamples, seed=2)
            own = [
                row[row[:, 0] < count] if metric.name == "auroc" else row[:count]
                for row in rows
            ]
            yield (
                f"{metric.name} {count} {resamples}",
                [
                    sampler.intervals([(metric, row)], level=level, method=method)[0]
                    for row in own
                    for method, level in itertools.product(
                        RESAMPLING_METHODS, (0.95, 0.5)
                    )
                ],
            )
        [found] = significance.compute_run_differences(
            [significance.PairedRuns(metric, *rows)], trials=30, seed=4, level=0.9
        )
        yield f"difference by {metric.name}", dataclasses.astuple(found)
        same = significance.PairedRuns(metric, rows[0], rows[0])
        yield (
            f"no difference by {metric.name}",
            dataclasses.astuple(
                significance.compute_run_differences([same], trials=9, seed=4)[0]
            ),
        )
    features = [("A",) if place % 3 else ("B", "A") for place in range(11)] + [()]
    clusters = np.arange(12) // 4
    tables = {
        metric.statistic: metric.instance_stats(gold, runs[1]) for metric in chosen
    }
    has_gold = np.arange(12) != 4
    yield "classes", breakdown.compute_breakdown(chosen, tables, features, has_gold)
    for by in (None, clusters):
        yield (
            f"intervals of classes {'alone' if by is None else 'in clusters'}",
            breakdown.compute_intervals_by_class(
                chosen, tables, np.arange(12), features, by
            ),
        )
    crossed = breakdown.cross_class_labels(
        [("a", "b"), (), ("c",)], [("x",), ("y",), ()]
    )
    yield (
        "crossed",
        [
            crossed,
            {
                name: rows.tolist()
                for name, rows in breakdown.find_instances_by_class(crossed).items()
            },
        ],
    )
    yield "support", [breakdown.has_enough_instances(count) for count in (9, 10, 11)]
    yield (
        "numbers",
        [
            breakdown.encode_value_as_json(value)
            for value in (0.5, math.nan, math.inf, -math.inf)
        ],
    )
    grid = resampling.round_to_summable_grid(
        np.array([[0.1, 2.0**51, 0.0], [1 / 3, 1.5, 0.0]]), 3
    )
    yield "grid", [repr(value) for value in grid.ravel().tolist()]
    yield (
        "not finite",
        told(
            resampling.round_to_summable_grid,
            np.array([[0.0, 1], [1, math.nan], [math.inf, 0]]),
            3,
        ),
    )
    yield "many units", told(resampling.BootstrapResampler, 2**32, resamples=1, seed=1)
    yield "less than none", told(resampling.BootstrapResampler, -1, resamples=1, seed=1)
    one = [(chosen[0], np.ones((2, 2)))]
    yield (
        "a method",
        told(
            resampling.BootstrapResampler(2, resamples=1, seed=1).intervals,
            one,
            method="guess",
        ),
    )
    for units_ in (17, 30):
        own_gold, own_runs = drawn("labels", 2 * units_)
        metric = Accuracy("accuracy", "corrected")
        rows = [metric.instance_stats(own_gold, run)[:units_] for run in own_runs]
        far = significance.PairedRuns(metric, rows[0], 1 - rows[0])
        tests = significance.run_randomisation_tests(
            [significance.PairedRuns(metric, *rows), far],
            trials=40,
            seed=3,
            max_trials=90,
        )
        yield (
            f"further trials of {units_}",
            [dataclasses.astuple(test) for test in tests],
        )
    numbers = [float(place % 7) for place in range(20)]
    other = [value + (place % 3) for place, value in enumerate(numbers)]
    for weighted in (
        RankCorrelation("spearman", "corrected"),
        Kendall("kendall", "corrected"),
    ):
        rows = [
            build_unit_rows(
                weighted, weighted.instance_stats(numbers, run), np.arange(20) // size
            )
            for size in (1, 2)
            for run in (other, other[::-1])
        ]
        pairs = [
            significance.PairedRuns(weighted, *rows[:2]),
            significance.PairedRuns(weighted, *rows[2:]),
        ]
        yield (
            f"by {weighted.name}",
            [
                dataclasses.astuple(found)
                for found in significance.compute_run_differences(
                    pairs, trials=30, seed=1
                )
            ],
        )


PARTS = {
    "bounds": of_bounds, "power": of_power, "families": of_families, "correlations": of_correlations,
    "leakage": of_leakage, "people": of_people, "resampling": of_resampling,
}  # fmt: skip


def of_part(part: str) -> Any:
    return json.loads(json.dumps(rounded(dict(PARTS[part]()))))


if __name__ == "__main__":
    FILE.write_text(written({part: of_part(part) for part in PARTS}) + "\n")
