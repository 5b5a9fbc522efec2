"""Find leak budgets that a user's change would exceed, and phases whose public parts
the change would make different.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from django.utils.translation import gettext as _

from citeboard.core.words import counted
from scoring.results.board.budget_items import (
    COLLUDING,
    Item,
    amount_in_words,
    bits_in_words,
)
from scoring.results.board.leak_budget import Budget, budgets_of
from scoring.results.board.same_content import is_equal_draw
from tasks.gold.early import OverBudget, UnequalPart
from tasks.models import GoldOverlap, Phase, Season

#: An error message lists at most MAX_NAMED budget items, the largest first.
MAX_NAMED = 8


class Sum(NamedTuple):
    """The sum of the bits of a leak budget, which is larger than any number if an item
    of the budget is unbounded.
    """

    unbounded: int
    bits: float


class Part(NamedTuple):
    """The percentage of units in a phase's public part, and the public commitment to
    the random sample.
    """

    phase: int
    share: int | None
    draw: str

    @classmethod
    def of(cls, phase: Phase) -> "Part":
        return cls(phase.pk, phase.public_part, phase.draw)


class Parts(NamedTuple):
    """Two phases with the same gold and different public parts."""

    phase: Part
    other: Part


@dataclass(frozen=True)
class BudgetState:
    """The leak budgets of the phases of a season, and of other seasons of the same
    organisers with shared content.
    """

    budgets: dict[int, Budget]

    def exceeded_since(self, before: "BudgetState") -> list[OverBudget]:
        """Return the leak budgets that are exceeded now and were not exceeded
        ``before``.

        Raises UnequalPart. The page of a phase shows a warning instead of an error if
        the phase shares content with no other phase, was created together with all
        phases with the content, or is in a draft season with all these phases.
        """
        self._refuse_unequal(before)
        earlier = {
            item.phase.pk
            for budget in before.budgets.values()
            for item in budget.items
            if item.counts and item.phase.task.season.is_public
        }
        exceeded: dict[frozenset[int], OverBudget] = {}
        for pk, budget in self.budgets.items():
            tellers = _tellers(budget)
            is_later = len(tellers) > 1 and not tellers.isdisjoint(earlier)
            if not (is_later and budget.is_exceeded and budget.is_running):
                continue
            present = before.budgets.get(pk)
            items: Iterable[Item] = present.items if present else ()
            if present is None:
                items = (item for item in budget.items if item.phase.pk in earlier)
            if _sum_of_bits(budget.items) > _sum_of_bits(items):
                exceeded.setdefault(frozenset(tellers), _over(budget))
        return list(exceeded.values())

    def _refuse_unequal(self, before: "BudgetState") -> None:
        known = {parts for _, _, parts in before.unequal}
        for phase, other, parts in self.unequal:
            if parts not in known:
                # The later phase must have the same public part as the earlier phase.
                later, first = sorted((phase, other), key=lambda one: -one.pk)
                raise UnequalPart(_unequal_in_words(later, first))

    @property
    def unequal(self) -> Iterator[tuple[Phase, Phase, Parts]]:
        for budget in self.budgets.values():
            for other in budget.unequal:
                yield budget.phase, other, Parts(Part.of(budget.phase), Part.of(other))


def state_of(season: Season) -> BudgetState:
    if not season.pk:
        return BudgetState({})
    overlaps = GoldOverlap.objects.filter(gold__task__season=season, binds=True)
    seasons = {season.pk, *overlaps.values_list("other__task__season", flat=True)}
    phases = Phase.objects.filter(task__season__in=seasons)
    in_order = phases.select_related("task__season").order_by("pk")
    own_first = sorted(in_order, key=lambda phase: phase.task.season_id != season.pk)
    return BudgetState(budgets_of(own_first))


def _tellers(budget: Budget) -> set[int]:
    return {item.phase.pk for item in budget.items if item.counts}


def _sum_of_bits(items: Iterable[Item]) -> Sum:
    bits = [item.bits for item in items]
    # Rounding to 0.001 bits makes the sum independent of the order of summation.
    return Sum(bits.count(None), round(math.fsum(filter(None, bits)), 3))


def _over(budget: Budget) -> OverBudget:
    facts = {
        "bits": budget.by_team,
        "bits_colluding": budget.by_colluding,
        "bits_expected": budget.needed,
        "adds_up": _named_items(budget),
    }
    return OverBudget(budget.phase, partial(_over_in_words, budget), facts)


def _over_in_words(budget: Budget) -> str:
    words = _(
        "%(phase)s: one team is told at most %(one)s, %(teams)s teams that collude %(all)s; at most "
        "%(needed)s are expected. These add up: %(items)s"
    )
    return words % {
        "phase": f"{budget.phase.task}, {budget.phase}",
        "one": amount_in_words(budget.by_team),
        "teams": COLLUDING,
        "all": amount_in_words(budget.by_colluding),
        "needed": counted(round(budget.needed), "bit"),
        "items": "; ".join(_named_items(budget)),
    }


def _named_items(budget: Budget) -> list[str]:
    items = [item for item in budget.items if item.counts]
    items.sort(key=lambda item: math.inf if item.bits is None else item.bits)
    named = [f"{item.words} ({bits_in_words(item.bits)})" for item in reversed(items)]
    if (more := len(named) - MAX_NAMED) > 0:
        named[MAX_NAMED:] = [_("%(number)s more") % {"number": more}]
    return named


def _unequal_in_words(phase: Phase, other: Phase) -> str:
    words = _(
        "%(phase)s has the public part %(found)s; expected is %(expected)s, that of %(other)s: parts of "
        "the same content must be equal"
    )
    if is_equal_draw(phase, other):
        words = _(
            "%(phase)s and %(other)s share a part of their instances alone, so that their public parts "
            "(%(found)s) differ; expected is gold of the same instances, or one public part"
        )
    return words % {
        "phase": f"{phase.task}, {phase}",
        "other": f"{other.task}, {other}",
        "found": _part_in_words(phase),
        "expected": _part_in_words(other),
    }


def _part_in_words(phase: Phase) -> str:
    if not phase.draw:
        return f"{phase.public_part} %"
    words = _("%(share)s %% of the draw %(draw)s")
    return words % {"share": phase.public_part, "draw": phase.draw}
