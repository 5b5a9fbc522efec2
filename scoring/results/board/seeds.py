"""Merge runs of one system with different random seeds into a row with their means.

The team of the runs declares which runs are seeds of the same system.

1. The counting rules (`scoring.models.counting`) select either all runs of a system or
   no run of the system.
2. Two or more selected runs of the same team, kind and system become one row. A run
   whose system has no other selected run remains a separate row.
3. The merged row has the name of the system, and the address, date and priority of the
   earliest run, so that no score affects the choice. Each value of the row is the mean
   over all runs, and is missing if a run has no value.
4. The field ``runs`` of the merged row contains the runs with their separate values,
   which pages show below the mean.
5. A worker computes the intervals and comparisons of means from the stored matrices of
   the runs (`scoring.stats.seeds`). A digest of the runs and their scorings identifies
   the system, so that a board never shows results for other runs.
6. The paired randomisation test compares two rows of single runs, and Student's t
   compares other pairs of rows. Holm's correction of the p-values includes both tests.
7. A mean has no interval until the worker has computed the interval, and the board is
   not compared until then.
8. Excluded and withdrawn runs do not contribute to means. A frozen board keeps its
   evaluations, and `tasks.submissions.seeds` accepts no seeds for a frozen board.
9. If a board with means shows the best run of each team, the row contains the number of
   the team's systems.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from django.db.models import Q

from scoring.models import SystemComparison, SystemMean
from scoring.stats.resampling import IntervalBounds


@dataclass(frozen=True, kw_only=True)
class SeedMeanRows:
    """The digests that identify the ranked rows of a board, and the indices of the rows
    that are means over seeds.
    """

    phase: int
    metric: str
    systems: Sequence[str]
    places: frozenset[int]

    def comparisons(self) -> dict[tuple[int, int], SystemComparison]:
        """Return the comparisons between means over seeds and other rows, keyed by the
        indices of the two rows.
        """
        means = [self.systems[place] for place in self.places]
        rows = SystemComparison.objects.filter(
            Q(first__in=means) | Q(second__in=means),
            phase=self.phase,
            metric=self.metric,
        )
        place_of = {system: place for place, system in enumerate(self.systems)}
        found = {}
        for row in rows:
            one, other = place_of.get(row.first), place_of.get(row.second)
            if one is not None and other is not None:
                found[min(one, other), max(one, other)] = row
        return found


def load_seed_mean_intervals(
    phase: int, systems: Collection[str]
) -> dict[str, dict[str, IntervalBounds]]:
    """Return the confidence intervals of means over seeds, keyed by the system's digest
    and by metric.
    """
    means = SystemMean.objects.filter(phase=phase, system__in=systems)
    return {
        mean.system: {metric: (low, high) for metric, (low, high) in mean.ends.items()}
        for mean in means
    }


def compute_mean_if_complete(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if len(known) == len(values) else None


def find_shared_run_card_fields(cards: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return the fields that have the same value on all of these run cards
    (descriptions of runs).
    """
    first, *others = cards
    return {
        name: value
        for name, value in first.items()
        if all(card.get(name) == value for card in others)
    }
