"""How small a difference a version of the gold can show, from the runs that were scored on it."""

from __future__ import annotations

import itertools
import logging
import math
from dataclasses import dataclass

from django.core.cache import cache
from django.utils.translation import gettext as _

from citeboard.core.release import release
from citeboard.core.words import counted, listed, thousands
from scoring.board.comparisons import Unreadable, statistics_of
from scoring.board.names import metric_label
from scoring.board.numbers import shown
from scoring.board.units import counted_units
from scoring.metrics import Metric, metrics_of
from scoring.models import Evaluation
from scoring.offline.compare import paired
from scoring.stats.power import detectable_difference, typical_error
from tasks.models import Gold, Submission

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
        """For the organisers' page."""
        known = {times: self._difference(times) for times in TIMES}
        by_units = {times * self.units: difference for times, difference in known.items() if difference}
        few = _("%(units)s cannot show that two systems differ at 5 %%.") % {
            "units": counted_units(self.units, self.unit)
        }
        told = [] if known[1] else [few]
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
            told.append(
                _("With a chance of 80 %%, %(sizes)s (from the differences between %(runs)s).")
                % {"sizes": listed(sizes), "runs": counted(self.runs, "run")}
            )
        return told

    def _difference(self, times: int) -> str:
        """Nothing where so few units can show none."""
        wanted = times * self.units
        found = detectable_difference(self.error, self.units, at_units=wanted, largest=self.largest)
        return shown(found, self.scale) if math.isfinite(found) else ""


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
    found: tuple[int, float] | None = cache.get(key)
    if found is None:
        found = _measured(gold, metric, evaluations)
        cache.set(key, found, SECONDS)
    units, error = found
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


def _measured(gold: Gold, metric: Metric, evaluations: list[Evaluation]) -> tuple[int, float]:
    """The number of units and the typical error, NaN where the matrices cannot be read."""
    try:
        runs = [statistics_of(evaluation, [metric.statistic]) for evaluation in evaluations]
    except Unreadable as reason:
        log.warning("What gold %s can show is not known: %s", gold.pk, reason)
        return 0, math.nan
    pairs = [paired(metric, a, b) for a, b in itertools.combinations(runs, 2)]
    return max(len(pair.a) for pair in pairs), typical_error(pairs)
