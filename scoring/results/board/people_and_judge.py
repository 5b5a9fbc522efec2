"""Compare people's labels of a published sample with the judge's labels, for the runs
of a board.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from scoring.models import EstimateSheet
from scoring.results.board.estimates import PublishedEstimates
from scoring.results.board.judges import (
    NO_AGREEMENT_ONE_LABEL,
    get_or_cache_per_board_version,
    has_withheld_scores,
)
from scoring.results.board.standings import BoardRow
from scoring.stats.confusion import ConfusionMatrices, sum_confusion_matrices
from scoring.stats.jackknife import NoIntervalReason
from scoring.stats.resampling import IntervalBounds


@dataclass(frozen=True, kw_only=True)
class ConfusionOfSystem:
    row: BoardRow
    confusion: ConfusionMatrices


@dataclass(frozen=True, kw_only=True)
class PeopleJudgeComparison:
    """The labels of people and of a judge from which the estimates on a board were
    computed.

    A judgement is counted once for each system whose answer it concerns.
    """

    sheet: EstimateSheet
    systems: list[ConfusionOfSystem]

    @cached_property
    def confusion(self) -> ConfusionMatrices:
        return sum_confusion_matrices([system.confusion for system in self.systems])

    @property
    def kappa(self) -> float | None:
        return None if math.isnan(self.confusion.kappa) else self.confusion.kappa

    @cached_property
    def interval(self) -> IntervalBounds | NoIntervalReason | None:
        """Return the interval of the kappa coefficient or the reason for a missing
        interval, or None if kappa is undefined.
        """
        if self.kappa is None:
            return None
        runs = [system.row.submission for system in self.systems]
        facts = ("kappa-interval", self.sheet.pk, runs)
        confusion = self.confusion
        return get_or_cache_per_board_version(
            self.sheet.phase, facts, lambda: confusion.kappa_interval
        )

    @property
    def facts(self) -> dict[str, Any]:
        confusion, interval = self.confusion, self.interval
        low, high = interval if isinstance(interval, tuple) else (None, None)
        return {
            "of": self.sheet.of,
            "judgements": confusion.judgements,
            "same_label": confusion.same,
            "kappa": self.kappa,
            "low": low,
            "high": high,
            "why_no_kappa": NO_AGREEMENT_ONE_LABEL if self.kappa is None else None,
            "why_no_interval": str(interval)
            if isinstance(interval, NoIntervalReason)
            else None,
            "confusion": [
                {
                    "people": people,
                    "judge": judge,
                    "judgements": int(confusion.counts[row, column]),
                }
                for row, people in enumerate(confusion.labels)
                for column, judge in enumerate(confusion.labels)
            ],
            "by_label": _compute_rates_by_label(confusion),
            "systems": [
                {
                    "run": system.row.submission,
                    "judgements": system.confusion.judgements,
                    "by_label": _compute_rates_by_label(system.confusion),
                }
                for system in self.systems
            ],
        }


def _compute_rates_by_label(confusion: ConfusionMatrices) -> list[dict[str, Any]]:
    return [
        {
            "label": label,
            "by_people": confusion.by_people(label),
            "sensitivity": confusion.sensitivity(label),
            "specificity": confusion.specificity(label),
        }
        for label in confusion.labels
    ]


def compare_people_and_judge(found: PublishedEstimates) -> PeopleJudgeComparison | None:
    """Return the labels that people and the judge gave to the sample of the published
    estimates.

    The result only includes runs whose estimates the board shows. The result is None if
    labels are not stored, as in earlier releases, or if scores are withheld, because
    the labels cover the whole gold.
    """
    stored = found.sheet.result.get("people_and_judge", {})
    by_run = {one["run"]: one["topics"] for one in stored.get("systems", ())}
    rows = {
        str(line.row.submission): line.row
        for measure in found.measures
        for line in measure.lines
    }
    systems = [
        ConfusionOfSystem(
            row=row, confusion=_count_confusion_by_topic(stored["labels"], by_run[run])
        )
        for run, row in rows.items()
        if by_run.get(run)
    ]
    evaluations = {system.row.evaluation for system in systems if system.row.evaluation}
    if not systems or has_withheld_scores(evaluations):
        return None
    return PeopleJudgeComparison(sheet=found.sheet, systems=systems)


def _count_confusion_by_topic(
    labels: list[str], topics: list[Mapping[str, Any]]
) -> ConfusionMatrices:
    by_topic = {one["topic"]: np.array(one["counts"], int) for one in topics}
    return ConfusionMatrices(labels=labels, by_topic=by_topic)
