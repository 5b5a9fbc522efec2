"""Correlation of metrics with people's ratings, over systems and over single texts."""

import datetime as dt
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from citeboard.core import storage
from scoring.human.ratings import iterate_final_ratings
from scoring.metrics import Metric, build_metric_if_known, select_instance_metrics
from scoring.models import RATING_CRITERIA, Evaluation, JudgedRun
from scoring.results.board import comparisons, formatting, human_columns, standings
from scoring.results.comparison.paired_scores import load_values_by_instance
from scoring.stats.correlation import (
    CORRELATION_FUNCTIONS,
    Correlation,
    correlate_grouped_points,
    correlate_points,
)
from scoring.stats.people_and_labels import read_judgements
from scoring.worker.local_copies import temporary_local_copy
from tasks.models import Phase

#: Mean rating of each text, by run number and instance id.
ValuesByRunAndInstance = Mapping[tuple[int, str], float]


@dataclass(frozen=True, kw_only=True)
class MetricCorrelations:
    """The correlations of a metric with people's ratings. The mappings of correlations
    have the names of coefficients as keys.

    ``over_instances`` correlates the values of single texts, with the texts of all
    systems pooled.
    """

    metric: str
    over_systems: Mapping[str, Correlation]
    over_instances: Mapping[str, Correlation]


def compute_mean_ratings_by_text(
    phase: Phase, at: dt.datetime | None = None
) -> dict[str, ValuesByRunAndInstance]:
    sheet = human_columns.find_newest_published_rating_sheet(phase, at)
    if sheet is None:
        return {}
    means: dict[str, ValuesByRunAndInstance] = {}
    for criterion in RATING_CRITERIA:
        by_text: dict[tuple[int, str], list[float]] = defaultdict(list)
        for rating in iterate_final_ratings(sheet, criterion):
            by_text[rating.run, rating.instance].append(rating.value)
        means[criterion] = {key: fmean(values) for key, values in by_text.items()}
    return means


def compute_mean_judgements_by_text(
    runs: Iterable[JudgedRun],
) -> dict[str, ValuesByRunAndInstance]:
    values: dict[str, dict[tuple[int, str], list[float]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for run in runs:
        with temporary_local_copy(storage.statistics_file_storage, run.file) as path:
            judgements = read_judgements(path, lambda item: True, shown=run.filename)
        for kind, items in judgements.answers.items():
            for item, answers in items.items():
                values[kind][run.submission_id, item[0]].append(fmean(answers.values()))
    return {
        kind: {key: fmean(one) for key, one in items.items()}
        for kind, items in values.items()
    }


def correlate_metrics_with_people(
    board: standings.Board, people: ValuesByRunAndInstance
) -> list[MetricCorrelations]:
    if board.rules is None:
        return []
    task = board.phase.task
    options = task.task_type.validate_options(task.options)
    columns: dict[str, Metric] = {}
    for column in board.columns:
        # Metrics that no longer exist and human scores are not correlated with ratings.
        is_human = column.metric.startswith("human_")
        metric = (
            None
            if is_human
            else build_metric_if_known(
                task.task_type, column.metric, board.rules, options
            )
        )
        if metric is not None:
            columns[column.name] = metric
    on_instances = _load_metric_values_by_text(board, list(columns.values()), people)
    lines = []
    for name, metric in columns.items():
        over_systems = _correlate_over_systems(board, name, people)
        values = on_instances.get(metric.name, {})
        keys = [key for key, value in values.items() if math.isfinite(value)]
        x, y = (
            np.array([side[key] for key in keys], dtype=np.float64)
            for side in (values, people)
        )
        groups = [instance for _, instance in keys]
        over_instances = {
            kind: correlate_grouped_points(kind, x, y, groups)
            for kind in CORRELATION_FUNCTIONS
        }
        correlations = [*over_systems.values(), *over_instances.values()]
        if any(not math.isnan(correlation.value) for correlation in correlations):
            label = formatting.display_name_of_metric(metric.name)
            lines.append(
                MetricCorrelations(
                    metric=label,
                    over_systems=over_systems,
                    over_instances=over_instances,
                )
            )
    return lines


def _correlate_over_systems(
    board: standings.Board, column: str, people: ValuesByRunAndInstance
) -> dict[str, Correlation]:
    by_run: dict[int, list[float]] = defaultdict(list)
    for (run, _), value in people.items():
        by_run[run].append(value)
    rows = [row for row in board.rows if row.submission in by_run]
    cells = [(row.scores.get(column), by_run[row.submission]) for row in rows]
    pairs = [
        (cell.value, fmean(values))
        for cell, values in cells
        if cell and cell.value is not None
    ]
    x, y = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
    return {name: correlate_points(name, x, y) for name in CORRELATION_FUNCTIONS}


def _load_metric_values_by_text(
    board: standings.Board, metrics: Sequence[Metric], people: ValuesByRunAndInstance
) -> dict[str, dict[tuple[int, str], float]]:
    measured = select_instance_metrics(metrics)
    runs = {run for run, _ in people}
    shown = {
        row.evaluation: row.submission for row in board.rows if row.submission in runs
    }
    named: dict[str, dict[tuple[int, str], float]] = defaultdict(dict)
    for evaluation in Evaluation.objects.filter(pk__in=shown):
        try:
            values = load_values_by_instance(evaluation, measured)
        except comparisons.UnreadableStatistics:
            continue
        run = shown[evaluation.pk]
        for metric, by_name in values.items():
            named[metric] |= {
                (run, name): value
                for name, value in by_name.items()
                if (run, name) in people
            }
    return named
