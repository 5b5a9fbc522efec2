"""What the test set behind a board can show, and what it would take to tell the first two apart."""

from __future__ import annotations

import itertools
import logging
import math
from dataclasses import dataclass

from django.core.cache import cache
from django.utils.translation import gettext as _

from citeboard.core.release import release
from citeboard.core.words import counted, in_decimals, listed, thousands
from scoring.board.comparisons import FirstTwo, Unreadable, statistics_of, trials_for
from scoring.board.names import metric_label
from scoring.board.numbers import shown
from scoring.metrics import metrics_of
from scoring.models import Evaluation
from scoring.offline.compare import paired
from scoring.stats.significance import ALPHA, detectable_difference, smallest_p, typical_error, units_needed
from tasks.models import Gold, Submission

#: Nobody makes a test set so much larger to tell two systems apart.
MANY_TIMES = 20


@dataclass(frozen=True, kw_only=True)
class Separation:
    """``unit`` is what the field draws; ``more_units`` would probably separate the first two."""

    unit: str
    units: int
    comparisons: int
    smallest_p: float
    more_units: int | None

    @property
    def smallest_corrected_p(self) -> float:
        return min(1.0, self.smallest_p * self.comparisons)

    @property
    def can_differ(self) -> bool:
        return self.smallest_corrected_p <= ALPHA

    @property
    def sentences(self) -> list[str]:
        sentences = []
        if not self.can_differ:
            facts = {
                "units": counted_units(self.units, self.unit),
                "alpha": f"{100 * ALPHA:.0f}",
                "p": in_decimals(f"{self.smallest_p:.3f}"),
                "systems": self.comparisons + 1,
                "corrected": in_decimals(f"{self.smallest_corrected_p:.3f}"),
                "comparisons": self.comparisons,
            }
            words = _(
                "With %(units)s no two of %(systems)s systems can differ at %(alpha)s %%: the smallest p is "
                "%(p)s, and %(corrected)s after Holm's correction for %(comparisons)s comparisons."
            )
            if self.smallest_p > ALPHA:
                words = _(
                    "With %(units)s no two systems can differ at %(alpha)s %%: the smallest p is %(p)s."
                )
            sentences.append(words % facts)
        if self.more_units:
            # An estimate has two digits.
            digits = len(str(self.more_units))
            more = counted_more(round(self.more_units, min(0, 2 - digits)), self.unit)
            if self.more_units > MANY_TIMES * self.units:
                words = _("First and second are all but equal: only about %(units)s would separate them.")
            else:
                words = _("About %(units)s would separate first and second.")
            sentences.append(words % {"units": more})
        return sentences


def separation(first_two: FirstTwo, *, unit: str, rows: int) -> Separation:
    comparisons = rows - 1
    trials = trials_for(first_two.units, comparisons)
    needed = None
    if not first_two.differ and first_two.difference is not None and first_two.error is not None:
        needed = units_needed(first_two.difference, first_two.error, first_two.units, comparisons=comparisons)
    more = needed - first_two.units if needed is not None and needed > first_two.units else None
    return Separation(
        unit=unit,
        units=first_two.units,
        comparisons=comparisons,
        smallest_p=smallest_p(first_two.units, trials),
        more_units=more,
    )


#: Test sets of so many times the units are told of as well.
TIMES = (1, 2, 4)
#: The newest runs that are compared with one another.
MAX_RUNS = 4
SECONDS = 24 * 3600

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class GoldPower:
    """``error`` is the typical one of a difference over ``units``, by the metric that ranks."""

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
        for units in (times * self.units for times in TIMES):
            least = detectable_difference(self.error, self.units, at_units=units, largest=self.largest)
            if math.isfinite(least):
                by_units[units] = shown(least, self.scale)
        sentences = []
        if self.units not in by_units:
            few = _("%(units)s cannot show that two systems differ at 5 %%.")
            sentences.append(few % {"units": counted_units(self.units, self.unit)})
        if by_units:
            (units, first), *more = by_units.items()
            sizes = [
                _("%(units)s show a difference in %(metric)s of %(difference)s")
                % {"units": counted_units(units, self.unit), "metric": self.metric, "difference": first},
                *(
                    _("%(units)s one of %(difference)s")
                    % {"units": thousands(further), "difference": difference}
                    for further, difference in more
                ),
            ]
            sentences.append(
                _("With a chance of 80 %%, %(sizes)s (from the differences between %(runs)s).")
                % {"sizes": listed(sizes), "runs": counted(self.runs, "run")}
            )
        return sentences


def gold_power(gold: Gold) -> GoldPower | None:
    """By the ranking metric and rules; None until two runs have been scored that differ measurably by it."""
    task = gold.task
    if not task.rules:
        return None
    rules = task.ranking_rules
    evaluations = list(
        Evaluation.objects.filter(gold=gold, rules=rules)
        .exclude(submission__kind=Submission.Kind.HUMAN)
        .order_by("-pk")[:MAX_RUNS]
    )
    if len(evaluations) < 2:
        return None
    metric = metrics_of(task.task_type, rules, task.task_type.checked_options(task.options))[0]
    if not metric.is_exchangeable:
        return None
    key = f"gold-power:{release()}:{metric.name}:{','.join(run.statistics for run in evaluations)}"
    measured: tuple[int, float] | None = cache.get(key)
    if measured is None:
        try:
            runs = [statistics_of(evaluation, [metric.statistic]) for evaluation in evaluations]
            pairs = [paired(metric, a, b) for a, b in itertools.combinations(runs, 2)]
            measured = max(len(pair.a) for pair in pairs), typical_error(pairs)
        except Unreadable as reason:
            log.warning("What gold %s can show is not known: %s", gold.pk, reason)
            measured = 0, math.nan
        cache.set(key, measured, SECONDS)
    units, error = measured
    if math.isnan(error):
        return None
    low, high = metric.value_range
    return GoldPower(
        unit=task.task_type.unit,
        units=units,
        runs=len(evaluations),
        error=error,
        metric=metric_label(metric.name),
        scale=metric.scale,
        largest=high - low,
    )


def counted_units(number: int, unit: str) -> str:
    known = {
        "instance": counted(number, "instance"),
        "paper": counted(number, "paper"),
        "question": counted(number, "question"),
        "text": counted(number, "text"),
        "topic": counted(number, "topic"),
    }
    return known.get(unit) or counted(number, unit)


def counted_more(number: int, unit: str) -> str:
    known = {
        "instance": counted(number, "more instance"),
        "paper": counted(number, "more paper"),
        "question": counted(number, "more question"),
        "text": counted(number, "more text"),
        "topic": counted(number, "more topic"),
    }
    return known.get(unit) or counted(number, f"more {unit}")
