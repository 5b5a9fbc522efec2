"""Compare the labels that systems assign with the labels of the gold, by frequency and
in confusion matrices.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.core.cache import caches
from django.utils.translation import gettext as _, gettext_lazy

from citeboard.core.release import compute_release_digest
from citeboard.core.words import join_names
from scoring.figures import BarChart, FigureValue, HeatMap, ValueSeries
from scoring.metrics import (
    base,
    build_label_metrics,
    build_metric_if_known,
    build_metrics,
)
from scoring.metrics.classification import Classification
from scoring.metrics.discourse import (
    GOLD,
    RUN_SIDE,
    Divergence,
    LabelSource,
    compute_kl_divergence,
    compute_label_shares,
    compute_macro_average,
    count_texts_by_source,
    reshape_label_counts,
)
from scoring.models import Evaluation
from scoring.results.board.charts import build_score_axis
from scoring.results.board.comparisons import (
    UnreadableStatistics,
    read_statistics_of_run,
)
from scoring.results.board.formatting import format_score
from scoring.results.board.standings import Board
from tasks.types import TaskType


@dataclass(frozen=True, kw_only=True)
class ConfusionMatrix:
    """A confusion matrix. In the array ``counts``, rows are labels of the gold, and
    columns are labels of the system's answers. The last column of the confusion matrix
    counts instances without an answer.
    """

    system: str
    submission: int
    labels: Sequence[str]
    counts: Sequence[Sequence[int]]

    @property
    def title(self) -> str:
        return _("Gold and answers of “%(system)s”") % {"system": self.system}

    @property
    def heads(self) -> list[str]:
        return [*self.labels, _("no label")]

    @property
    def lines(self) -> list[tuple[str, int, Sequence[tuple[str, int]]]]:
        """Return each label of the gold with the number of instances, and with the
        outcome and count of each cell of its row.
        """
        return [
            (
                label,
                sum(row),
                [
                    (f"{label} → {answer}" if place < len(self.labels) else "", count)
                    for place, (answer, count) in enumerate(
                        zip(self.heads, row, strict=True)
                    )
                ],
            )
            for label, row in zip(self.labels, self.counts, strict=True)
        ]

    @property
    def outcomes(self) -> list[str]:
        """Return the outcomes (gold label and answer) of the non-empty cells of the
        matrix, as page URLs name the outcomes.
        """
        return [
            kind
            for _label, _size, counts in self.lines
            for kind, count in counts
            if kind and count
        ]

    @property
    def as_heat_map(self) -> HeatMap:
        """Return the confusion matrix as a heat map, in which the share of a gold
        label's instances is the intensity.
        """
        return HeatMap(
            title=self.title,
            rows=self.labels,
            columns=self.heads,
            values=[[count / max(1, sum(row)) for count in row] for row in self.counts],
            texts=[[str(count) for count in row] for row in self.counts],
        )


def has_single_label_answers(task_type: TaskType) -> bool:
    form = task_type.declared.form if task_type.declared else ""
    if form == "tags":
        return False
    return form == "labels" or bool(task_type.label_dimensions)


def load_confusion_matrix(evaluation: Evaluation) -> ConfusionMatrix | None:
    """Return the confusion matrix of a run, or None if instances have several labels,
    or if no matrices of the run are stored.
    """
    task_type = evaluation.phase.task.task_type
    metrics = build_metrics(
        task_type, evaluation.rules, task_type.validate_options(evaluation.options)
    )
    own = next(iter(build_label_metrics(metrics)), None)
    try:
        matrix = (
            read_statistics_of_run(evaluation, [own.statistic]).matrices[own.statistic]
            if own
            else None
        )
    except (UnreadableStatistics, KeyError):
        return None
    if own is None or matrix is None or own.kind != Classification.kind:
        return None
    size = len(own.labels or ())
    wanted, answered = matrix[:, :size], matrix[:, size : 2 * size]
    if (wanted.sum(axis=1) > 1).any():
        return None
    table = (wanted.T @ answered).astype(int).tolist()
    support = wanted.sum(axis=0).astype(int).tolist()
    return ConfusionMatrix(
        system=evaluation.submission.system,
        submission=evaluation.submission_id,
        labels=[str(label) for label in own.labels or ()],
        counts=[
            [*row, count - sum(row)] for row, count in zip(table, support, strict=True)
        ],
    )


#: LABEL_SCHEME_NAMES maps a metric, whose matrix counts labels, to the name of the label scheme.
LABEL_SCHEME_NAMES = {
    "kl_intent": gettext_lazy("citation intents"),
    "kl_corwa": gettext_lazy("discourse tags"),
    "kl_intent_supplied": gettext_lazy("citation intents, as supplied"),
    "kl_corwa_supplied": gettext_lazy("discourse tags, as supplied"),
}
#: Labels that come with runs and gold determine the metrics in SCHEMES_OF_SUPPLIED_LABELS.
#: Metrics of supplied labels never determine the ranks of a board.
SCHEMES_OF_SUPPLIED_LABELS = frozenset({"kl_intent_supplied", "kl_corwa_supplied"})
#: Pages show labels outside of the task's label set under the name OTHER_LABELS_NAME.
OTHER_LABELS_NAME = "other labels"
DATASET_DIMENSION = "dataset"
LABEL_COUNTS_CACHE_SECONDS = 24 * 3600


@dataclass(frozen=True)
class LabelCounts:
    """The number of times that each label occurs in one run and in the gold. The array
    ``counts`` has shape (D, 2, L+1), with axes for data set, run or gold, and label.
    ``sources`` contains the numbers of labelled texts of run and gold.
    """

    labels: tuple[str, ...]
    datasets: tuple[str, ...]
    counts: base.Floats
    sources: Mapping[tuple[str, LabelSource], int]

    def shares(self, side: int, dataset: str = "") -> list[float | None]:
        return [
            None if math.isnan(share) else float(share)
            for share in compute_label_shares(
                self._select_counts_of_side(side, dataset)
            )
        ]

    def sentences(self, side: int, dataset: str = "") -> int:
        return int(self._select_counts_of_side(side, dataset).sum())

    def compute_divergence_from_gold(self, dataset: str = "") -> float:
        return float(
            compute_kl_divergence(
                compute_label_shares(self._select_counts_of_side(RUN_SIDE, dataset)),
                compute_label_shares(self._select_counts_of_side(GOLD, dataset)),
            )
        )

    def compute_macro_averaged_divergence(self, dataset: str) -> float:
        """Return the divergence between the run's label frequencies, averaged over data
        sets, and the label frequencies in the gold of a data set, or NaN if undefined.
        """
        return float(
            compute_kl_divergence(
                compute_macro_average(self.counts[:, RUN_SIDE]),
                compute_label_shares(self._select_counts_of_side(GOLD, dataset)),
            )
        )

    def _select_counts_of_side(self, side: int, dataset: str) -> base.Floats:
        side_counts: base.Floats = self.counts[:, side]
        if not dataset:
            return np.asarray(side_counts.sum(axis=0))
        if dataset not in self.datasets:
            return np.zeros(side_counts.shape[1])
        return np.asarray(side_counts[self.datasets.index(dataset)])


def select_label_schemes(metrics: Sequence[str]) -> list[str]:
    return [scheme for scheme in LABEL_SCHEME_NAMES if scheme in metrics]


def list_label_schemes_on_board(board: Board) -> list[str]:
    """Return the label schemes whose label frequencies the board shows, including
    supplied labels only if a run supplies labels.
    """
    return [
        scheme
        for scheme in select_label_schemes([column.name for column in board.columns])
        if scheme not in SCHEMES_OF_SUPPLIED_LABELS or _has_column_value(board, scheme)
    ]


def _has_column_value(board: Board, name: str) -> bool:
    cells = (row.scores.get(name) for row in board.rows)
    return any(cell and (cell.value is not None or cell.is_infinite) for cell in cells)


def load_label_counts(evaluation: Evaluation, scheme: str) -> LabelCounts | None:
    """Return the label frequencies of a run under a label scheme, or None if no
    matrices of the run are stored.
    """
    key = f"labels:{compute_release_digest()}:{evaluation.statistics}:{scheme}"
    kept: LabelCounts | None = caches["results"].get(key)
    if kept is not None:
        return kept
    task_type = evaluation.phase.task.task_type
    metric = build_metric_if_known(
        task_type,
        scheme,
        evaluation.rules,
        task_type.validate_options(evaluation.options),
    )
    if not isinstance(metric, Divergence):
        return None
    try:
        statistics = read_statistics_of_run(evaluation, [metric.statistic])
        stats = statistics.matrices[metric.statistic]
    except (UnreadableStatistics, KeyError):
        return None
    labels = metric.labelling.labels
    counts = reshape_label_counts(stats.sum(axis=0), len(labels))
    # The data sets in the matrix have the order of their first instances.
    classes = statistics.features.get(DATASET_DIMENSION, [])
    datasets = tuple(
        dict.fromkeys(labels_of[0] if labels_of else "" for labels_of in classes)
    )
    if len(datasets) != len(counts):
        return None
    has_others = bool(counts[..., -1].any())
    counted = LabelCounts(
        labels=(*labels, OTHER_LABELS_NAME) if has_others else labels,
        datasets=datasets,
        counts=counts if has_others else counts[..., :-1],
        sources=count_texts_by_source(stats),
    )
    caches["results"].set(key, counted, LABEL_COUNTS_CACHE_SECONDS)
    return counted


def describe_label_sources(counts: LabelCounts, side: str) -> str:
    words = {
        LabelSource.SUPPLIED: _("its own labels"),
        LabelSource.TAGGED: _("the tagger's"),
        LabelSource.NOBODY: _("none"),
    }
    counted = {word: counts.sources[side, source] for source, word in words.items()}
    named = [f"{word} ({count})" for word, count in counted.items() if count]
    return (
        join_names(named)
        if len(named) > 1
        else next((word for word, n in counted.items() if n), _("none"))
    )


#: In a chart, the gold and at most MAX_RUNS_COLOURED runs have their own colour.
MAX_RUNS_COLOURED = 6


def build_label_share_chart(
    counts: Sequence[tuple[str, LabelCounts, int]], dataset: str = ""
) -> dict[str, Any]:
    labels = list(dict.fromkeys(label for _, one, _ in counts for label in one.labels))
    lines: list[tuple[str, list[float | None], int]] = []
    for name, part, side in counts:
        # The share of a label is None if the data set has no sentence.
        by_label: dict[str, Any] = dict(
            zip(part.labels, part.shares(side, dataset), strict=True)
        )
        total = part.sentences(side, dataset)
        values = [by_label.get(label, 0.0 if total else None) for label in labels]
        lines.append((name, values, total))
    named = [
        _("other labels") if label == OTHER_LABELS_NAME else label for label in labels
    ]
    bars = BarChart(
        title=_("Share of sentences by label"),
        labels=named,
        series=[
            ValueSeries(
                name=name, values=[FigureValue(value=value) for value in values]
            )
            for name, values, _total in lines
        ],
        axis=build_score_axis(_("Share of sentences"), 1.0, has_zero=True),
    )
    told = [
        {"name": name, "sentences": total, "cells": list(map(format_score, values))}
        for name, values, total in lines
    ]
    return {"labels": named, "bars": bars, "share_lines": told}


def build_label_share_charts_of_run(
    evaluation: Evaluation, *, shows_gold: bool
) -> list[dict[str, Any]]:
    """Return the bars of label frequencies over all data sets under each label scheme,
    for the run and, with ``shows_gold``, for the gold.
    """
    shares_by_scheme = []
    for scheme in select_label_schemes(
        [score.metric for score in evaluation.scores.all()]
    ):
        counts = load_label_counts(evaluation, scheme)
        if counts is None or not counts.sentences(RUN_SIDE):
            continue
        gold = [(_("gold"), counts, GOLD)] if shows_gold else []
        shares_by_scheme.append(
            {
                "id": f"shares-{scheme}",
                "caption": _("Share of sentences by %(labels)s")
                % {"labels": LABEL_SCHEME_NAMES[scheme]},
                "labelled": describe_label_sources(counts, "run"),
                **build_label_share_chart([*gold, (_("this run"), counts, RUN_SIDE)]),
            }
        )
    return shares_by_scheme


def build_divergence_heat_map(
    systems: Sequence[str],
    datasets: Sequence[str],
    values: Sequence[Sequence[float | None]],
) -> HeatMap:
    finite = [
        value
        for line in values
        for value in line
        if value is not None and math.isfinite(value)
    ]
    top = max([*finite, 0.1])
    return HeatMap(
        title=_("Divergence from the gold by data set"),
        rows=[f"{place}. {name}" for place, name in enumerate(systems, start=1)],
        columns=datasets,
        values=[
            [None if value is None else min(value, top) for value in line]
            for line in values
        ],
        texts=[
            ["" if value is None else format_score(value) for value in line]
            for line in values
        ],
        low=min([*finite, 0.0]),
        high=top,
    )
