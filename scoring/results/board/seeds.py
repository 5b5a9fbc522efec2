"""Rows of a board that are means over runs with different seeds, as their team declared
them.

1. The counting rules choose evaluations (`scoring.models.counting`): all runs of a
   system or none.
2. At least two runs of one team, kind and system become one row. A single run keeps its
   row.
3. The row has the system's name, and the address, date and position by priority of the
   first run, which does not depend on scores. Its values are means over all runs, and
   missing if a run has no value.
4. ``runs`` contains the runs with their own values; pages show them below the mean.
5. The worker computes intervals and comparisons from the stored statistics
   (`scoring.stats.seeds`). A digest of runs and scorings identifies the system, so that
   results for other runs are never used.
6. Two rows of single runs are compared by the paired randomisation test, other rows by
   Student's t. Holm's correction of the ranks includes both kinds of p-values.
7. Before the computation a mean has no interval, and the board is not compared, as
   after any new run.
8. Step 1 removes excluded and withdrawn runs. A frozen board keeps its evaluations, and
   `tasks.submissions.seeds` accepts no seeds while a board is frozen.
9. On a board with means, each best run shows the number of its team's systems.
10. A board without such rows skips these steps.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from django.db.models import Q

from scoring.models import SystemComparison, SystemMean
from scoring.stats.resampling import Bounds


@dataclass(frozen=True, kw_only=True)
class MeanRows:
    """The digests of a board's ranked rows, and the indices of rows that are means over
    seeds.
    """

    phase: int
    metric: str
    systems: Sequence[str]
    places: frozenset[int]

    def comparisons(self) -> dict[tuple[int, int], SystemComparison]:
        """Return the comparisons of means with other rows, keyed by the indices of both
        rows.
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


def intervals_of(phase: int, systems: Collection[str]) -> dict[str, dict[str, Bounds]]:
    """Return the intervals of means over seeds, keyed by the system's digest and the
    metric.
    """
    means = SystemMean.objects.filter(phase=phase, system__in=systems)
    return {
        mean.system: {metric: (low, high) for metric, (low, high) in mean.ends.items()}
        for mean in means
    }


def mean_of(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if len(known) == len(values) else None


def shared_card(cards: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return the fields of run cards (descriptions of runs) whose value is the same on
    all cards.
    """
    first, *others = cards
    return {
        name: value
        for name, value in first.items()
        if all(card.get(name) == value for card in others)
    }
