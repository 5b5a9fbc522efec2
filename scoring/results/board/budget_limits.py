"""Find leak budgets that a user's change would exceed, and phases whose public parts
the change would make different.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from django.utils.translation import gettext as _

from citeboard.core.words import count_with_noun
from scoring.results.board.budget_items import (
    ASSUMED_COLLUDING_TEAM_COUNT,
    LeakBudgetItem,
    format_bit_count,
    format_bits,
)
from scoring.results.board.leak_budget import LeakBudget, compute_leak_budgets_by_phase
from scoring.results.board.same_content import have_equal_public_samples
from tasks.gold.early import BudgetExcess, UnequalPublicParts
from tasks.models import GoldOverlap, Phase, Season

#: An error message lists at most MAX_BUDGET_ITEMS_LISTED budget items, the largest first.
MAX_BUDGET_ITEMS_LISTED = 8


class BitSum(NamedTuple):
    """The sum of the bits of a leak budget, which is larger than any number if an item
    of the budget is unbounded.
    """

    unbounded: int
    bits: float


class PublicPartOfPhase(NamedTuple):
    """The percentage of units in a phase's public part, and the public commitment to
    the random sample.
    """

    phase: int
    share: int | None
    draw: str

    @classmethod
    def of(cls, phase: Phase) -> "PublicPartOfPhase":
        return cls(phase.pk, phase.public_part, phase.draw)


class UnequalPublicPartPair(NamedTuple):
    """Two phases with the same gold and different public parts."""

    phase: PublicPartOfPhase
    other: PublicPartOfPhase


@dataclass(frozen=True)
class LeakBudgetsOfPhases:
    """The leak budgets of the phases of a season, and of other seasons of the same
    organisers with shared content.
    """

    budgets: dict[int, LeakBudget]

    def find_newly_exceeded_budgets(
        self, before: "LeakBudgetsOfPhases"
    ) -> list[BudgetExcess]:
        """Return the leak budgets that are exceeded now and were not exceeded
        ``before``.

        Raises UnequalPublicParts. The page of a phase shows a warning instead of an error if
        the phase shares content with no other phase, was created together with all
        phases with the content, or is in a draft season with all these phases.
        """
        self._refuse_new_unequal_public_parts(before)
        earlier = {
            item.phase.pk
            for budget in before.budgets.values()
            for item in budget.items
            if item.counts and item.phase.task.season.is_public
        }
        exceeded: dict[frozenset[int], BudgetExcess] = {}
        for pk, budget in self.budgets.items():
            tellers = _list_ids_of_revealing_phases(budget)
            is_later = len(tellers) > 1 and not tellers.isdisjoint(earlier)
            if not (
                is_later
                and budget.is_exceeded_by_colluding_teams
                and budget.is_phase_not_over
            ):
                continue
            present = before.budgets.get(pk)
            items: Iterable[LeakBudgetItem] = present.items if present else ()
            if present is None:
                items = (item for item in budget.items if item.phase.pk in earlier)
            if _sum_bits_and_unbounded_items(
                budget.items
            ) > _sum_bits_and_unbounded_items(items):
                exceeded.setdefault(
                    frozenset(tellers), _describe_exceeded_budget(budget)
                )
        return list(exceeded.values())

    def _refuse_new_unequal_public_parts(self, before: "LeakBudgetsOfPhases") -> None:
        known = {parts for _, _, parts in before.pairs_with_unequal_public_parts}
        for phase, other, parts in self.pairs_with_unequal_public_parts:
            if parts not in known:
                # The later phase must have the same public part as the earlier phase.
                later, first = sorted((phase, other), key=lambda one: -one.pk)
                raise UnequalPublicParts(
                    _format_unequal_public_parts_message(later, first)
                )

    @property
    def pairs_with_unequal_public_parts(
        self,
    ) -> Iterator[tuple[Phase, Phase, UnequalPublicPartPair]]:
        for budget in self.budgets.values():
            for other in budget.unequal:
                yield (
                    budget.phase,
                    other,
                    UnequalPublicPartPair(
                        PublicPartOfPhase.of(budget.phase), PublicPartOfPhase.of(other)
                    ),
                )


def state_of(season: Season) -> LeakBudgetsOfPhases:
    if not season.pk:
        return LeakBudgetsOfPhases({})
    overlaps = GoldOverlap.objects.filter(gold__task__season=season, binds=True)
    seasons = {season.pk, *overlaps.values_list("other__task__season", flat=True)}
    phases = Phase.objects.filter(task__season__in=seasons)
    in_order = phases.select_related("task__season").order_by("pk")
    own_first = sorted(in_order, key=lambda phase: phase.task.season_id != season.pk)
    return LeakBudgetsOfPhases(compute_leak_budgets_by_phase(own_first))


def _list_ids_of_revealing_phases(budget: LeakBudget) -> set[int]:
    return {item.phase.pk for item in budget.items if item.counts}


def _sum_bits_and_unbounded_items(items: Iterable[LeakBudgetItem]) -> BitSum:
    bits = [item.bits for item in items]
    # Rounding to 0.001 bits makes the sum independent of the order of summation.
    return BitSum(bits.count(None), round(math.fsum(filter(None, bits)), 3))


def _describe_exceeded_budget(budget: LeakBudget) -> BudgetExcess:
    facts = {
        "bits": budget.bits_for_one_team,
        "bits_colluding": budget.bits_for_colluding_teams,
        "bits_expected": budget.needed,
        "adds_up": _list_largest_budget_items(budget),
    }
    return BudgetExcess(
        budget.phase, partial(_format_exceeded_budget_message, budget), facts
    )


def _format_exceeded_budget_message(budget: LeakBudget) -> str:
    words = _(
        "%(phase)s: one team is told at most %(one)s, %(teams)s teams that collude %(all)s; at most "
        "%(needed)s are expected. These add up: %(items)s"
    )
    return words % {
        "phase": f"{budget.phase.task}, {budget.phase}",
        "one": format_bit_count(budget.bits_for_one_team),
        "teams": ASSUMED_COLLUDING_TEAM_COUNT,
        "all": format_bit_count(budget.bits_for_colluding_teams),
        "needed": count_with_noun(round(budget.needed), "bit"),
        "items": "; ".join(_list_largest_budget_items(budget)),
    }


def _list_largest_budget_items(budget: LeakBudget) -> list[str]:
    items = [item for item in budget.items if item.counts]
    items.sort(key=lambda item: math.inf if item.bits is None else item.bits)
    named = [f"{item.words} ({format_bits(item.bits)})" for item in reversed(items)]
    if (more := len(named) - MAX_BUDGET_ITEMS_LISTED) > 0:
        named[MAX_BUDGET_ITEMS_LISTED:] = [_("%(number)s more") % {"number": more}]
    return named


def _format_unequal_public_parts_message(phase: Phase, other: Phase) -> str:
    words = _(
        "%(phase)s has the public part %(found)s; expected is %(expected)s, that of %(other)s: parts of "
        "the same content must be equal"
    )
    if have_equal_public_samples(phase, other):
        words = _(
            "%(phase)s and %(other)s share a part of their instances alone, so that their public parts "
            "(%(found)s) differ; expected is gold of the same instances, or one public part"
        )
    return words % {
        "phase": f"{phase.task}, {phase}",
        "other": f"{other.task}, {other}",
        "found": _describe_public_part(phase),
        "expected": _describe_public_part(other),
    }


def _describe_public_part(phase: Phase) -> str:
    if not phase.draw:
        return f"{phase.public_part} %"
    words = _("%(share)s %% of the draw %(draw)s")
    return words % {"share": phase.public_part, "draw": phase.draw}
