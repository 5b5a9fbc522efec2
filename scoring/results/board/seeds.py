"""Rows of a board that are means over runs which a team declared to be seeds of one system.

1. The counting rules choose evaluations (`scoring.models.counting`): of a system all runs or none.
2. Runs of one team, kind and system with two runs at least become one row; a single run stays as it is.
3. The row has the system's name and the address, date and place by priority of its first run, the one that no
   score has chosen. Its numbers are the means of the numbers of all runs; where a run has none, it has none.
4. The runs stay with their own numbers in ``runs``, and pages show them below the mean.
5. Intervals and comparisons are computed by the worker from the stored statistics (`scoring.stats.seeds`). A
   digest of runs and scorings names the system, so that numbers of other runs are never found.
6. Between two rows of single runs the comparison is the paired randomisation test as ever, and between others
   Student's t; both kinds of p-values enter Holm's correction of the ranks alike.
7. Until it is computed, a mean has no interval and the board is not compared, as after any new run.
8. Excluded and withdrawn runs have left by step 1. A frozen board keeps the evaluations that stood on it, and
   `tasks.submissions.seeds` declares no seed while it is frozen.
9. Beside means a board says of each best run among how many systems of its team it is the best.
10. A board without such rows takes none of these steps.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from django.db.models import Q

from scoring.models import SystemComparison, SystemMean
from scoring.stats.resampling import Bounds


@dataclass(frozen=True, kw_only=True)
class MeanRows:
    """The ranked rows of a board by their digests, and the places of those that are means."""

    phase: int
    metric: str
    systems: Sequence[str]
    places: frozenset[int]

    def comparisons(self) -> dict[tuple[int, int], SystemComparison]:
        """Return the comparisons of means with other rows, by the places of both."""
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
    """Return the intervals of means by the digest of the system and the metric."""
    means = SystemMean.objects.filter(phase=phase, system__in=systems)
    return {
        mean.system: {metric: (low, high) for metric, (low, high) in mean.ends.items()}
        for mean in means
    }


def mean_of(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if len(known) == len(values) else None


def shared_card(cards: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return the fields that the cards of all runs have alike."""
    first, *others = cards
    return {
        name: value
        for name, value in first.items()
        if all(card.get(name) == value for card in others)
    }
