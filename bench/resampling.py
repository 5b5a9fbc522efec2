"""Intervals and paired tests beside SciPy and a plain loop; everything the size of CiteBench's test sets."""

from __future__ import annotations

import numpy as np
from measuring import Measurements
from scipy import stats

from scoring.metrics.rouge import Rouge
from scoring.stats import jackknife
from scoring.stats.resampling import BootstrapResampler
from scoring.stats.significance import (
    PairedRuns,
    compute_run_differences,
    run_randomisation_tests,
)

INSTANCES, RESAMPLES, TRIALS = 14_000, 1000, 10_000
#: SciPy and the loop are given fewer resamples, and their time is told for as many as ours.
FEWER = 100


def main() -> None:
    measured = Measurements(
        "resampling", "Intervals and paired tests", ("numpy", "scipy")
    )
    rng = np.random.default_rng(0)
    columns = Rouge(
        "rouge_l_f1", "corrected", kind="l", part="f1", is_stemmed=False
    ).columns
    metrics = [
        Rouge(
            f"rouge_{column}",
            "corrected",
            kind=column[0],
            part=column[2:],
            is_stemmed=False,
        )
        for column in columns
    ]
    rows = np.column_stack([rng.random((INSTANCES, len(columns))), np.ones(INSTANCES)])
    other = rows + np.column_stack(
        [rng.normal(0, 0.05, (INSTANCES, len(columns))), np.zeros(INSTANCES)]
    )
    intervals(measured, metrics, rows)
    tests(measured, metrics, rows, other)
    measured.keep()


def intervals(measured: Measurements, metrics: list[Rouge], rows: np.ndarray) -> None:
    resampler = BootstrapResampler(INSTANCES, resamples=RESAMPLES, seed=0)
    measured_rows = [(metric, rows) for metric in metrics]
    measured.compare(
        f"{len(metrics)} default intervals of {INSTANCES:,} instances",
        lambda: jackknife.intervals(measured_rows),
        lambda: resampler.intervals(measured_rows),
        against=f"{RESAMPLES:,} resamples",
        wanted=10,
    )

    def loop() -> None:
        draws = np.random.default_rng(0)
        for _ in range(RESAMPLES):
            rows[draws.integers(0, INSTANCES, INSTANCES)].mean(axis=0)

    what = (
        f"{len(metrics)} intervals of {INSTANCES:,} instances, {RESAMPLES:,} resamples"
    )
    measured.compare(
        what,
        lambda: resampler.intervals([(metric, rows) for metric in metrics]),
        loop,
        against="a loop of draws",
        repeats=3,
    )

    def scipy() -> None:
        for column in range(len(metrics)):
            stats.bootstrap(
                (rows[:, column],),
                np.mean,
                n_resamples=RESAMPLES,
                batch=50,
                method="percentile",
                rng=np.random.default_rng(0),
            )

    measured.compare(
        what,
        lambda: resampler.intervals([(metric, rows) for metric in metrics]),
        scipy,
        against="SciPy",
        repeats=3,
    )
    measured.measure(
        f"one BCa interval of {INSTANCES:,} instances",
        lambda: resampler.interval(metrics[0], rows, method="bca"),
    )


def tests(
    measured: Measurements, metrics: list[Rouge], rows: np.ndarray, other: np.ndarray
) -> None:
    one = PairedRuns(metrics[0], rows, other)

    def scipy() -> None:
        stats.permutation_test(
            (rows[:, 0], other[:, 0]),
            lambda a, b, axis: a.mean(axis=axis) - b.mean(axis=axis),
            permutation_type="samples",
            vectorized=True,
            n_resamples=TRIALS // FEWER,
            batch=20,
            rng=np.random.default_rng(0),
        )

    measured.compare(
        f"one randomisation test of {INSTANCES:,} units, {TRIALS // FEWER} trials",
        lambda: run_randomisation_tests([one], trials=TRIALS // FEWER, seed=0),
        scipy,
        against="SciPy",
        repeats=3,
    )
    measured.measure(
        f"{len(metrics)} metrics of two runs compared, {TRIALS:,} trials",
        lambda: compute_run_differences(
            [PairedRuns(metric, rows, other) for metric in metrics],
            trials=TRIALS,
            seed=0,
        ),
        repeats=3,
    )


if __name__ == "__main__":
    main()
