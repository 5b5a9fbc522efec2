"""Plan comparisons of systems, which means that two systems, an instance and judges are
chosen for each pair of texts.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeVar

from django.utils.translation import gettext as _

from citeboard.core.words import count_with_noun
from scoring.human.sheets import SheetRefused

MAX_PLANNED_PAIRS, MAX_SHARES_OF_PLAN = 5000, 50
#: With one judge per pair, every tenth pair gets a second judge for agreement.
INTERVAL_OF_TWICE_JUDGED_PAIRS = 10
ShuffledItem = TypeVar("ShuffledItem")


@dataclass(frozen=True)
class PlannedPair:
    """A comparison of two systems on one instance, each given by an index."""

    instance: int
    left: int
    right: int


def plan_pairs(
    instances: int, systems: int, battles: int, seed: str
) -> list[PlannedPair]:
    """Plan which systems are compared on which instances. The plan depends only on the
    arguments of the function.

    Each pair of systems is compared on ``battles`` different instances. The numbers of
    times that a system is shown on the left and on the right differ by at most one, and
    so do the numbers of pairs per instance. All pairs of systems are compared once
    before any pair is compared again.
    """
    pairs = _shuffle_by_seed([*combinations(range(systems), 2)], seed, "pairs")
    order = _shuffle_by_seed(range(instances), seed, "instances")
    rounds: list[list[PlannedPair]] = [[] for _ in range(battles)]
    for place, (one, other) in enumerate(pairs):
        first = _hash_seed_and_values(seed, "side", place)[0] % 2
        for number, planned in enumerate(rounds):
            left, right = (one, other) if (first + number) % 2 else (other, one)
            instance = order[(place * battles + number) % instances]
            planned.append(PlannedPair(instance, left, right))
    return [
        pair
        for number, planned in enumerate(rounds)
        for pair in _shuffle_by_seed(planned, seed, f"round {number}")
    ]


def _hash_seed_and_values(seed: str, *parts: object) -> bytes:
    return hashlib.sha256(" ".join(map(str, (seed, *parts))).encode()).digest()


def _shuffle_by_seed(
    items: Iterable[ShuffledItem], seed: str, what: str
) -> list[ShuffledItem]:
    return sorted(items, key=lambda item: _hash_seed_and_values(seed, what, item))


@dataclass(frozen=True)
class PairPlanDivision:
    """The division of a plan of pairs into ``shares``, one share for each judge.

    Each pair is part of ``judges_of_pair`` shares.
    """

    shares: int
    judges_of_pair: int

    def check(self, pairs: int) -> None:
        if not 2 <= self.shares <= min(MAX_SHARES_OF_PLAN, pairs):
            words = _("%(judges)s for %(pairs)s: a plan is divided among 2 to %(most)s")
            facts = {
                "judges": count_with_noun(self.shares, "judge"),
                "pairs": count_with_noun(pairs, "pair"),
                "most": min(MAX_SHARES_OF_PLAN, pairs),
            }
            raise SheetRefused(words % facts)
        if not 1 <= self.judges_of_pair <= self.shares:
            words = _("%(asked)s of each pair: there are %(judges)s")
            facts = {
                "asked": count_with_noun(self.judges_of_pair, "judge"),
                "judges": count_with_noun(self.shares, "judge"),
            }
            raise SheetRefused(words % facts)


def assign_pairs_to_shares(
    plan: Sequence[PlannedPair], division: PairPlanDivision, seed: str
) -> list[list[int]]:
    """Return for each pair of the plan the numbers of the shares to which the pair
    belongs, counted from 1.

    Each pair of texts is added to the share in which its two systems have been compared
    least often. Among such shares, a pair is added to the smallest share, and then to
    the share that has fewest pairs in common with the shares of the pair's other
    judges.
    """
    sizes: Counter[int] = Counter()
    met: Counter[tuple[int, frozenset[int]]] = Counter()
    seen: Counter[tuple[int, int]] = Counter()
    together: Counter[tuple[int, int]] = Counter()
    shares = []
    for place, pair in enumerate(plan):
        systems = frozenset((pair.left, pair.right))
        is_shared = (
            division.judges_of_pair == 1 and place % INTERVAL_OF_TWICE_JUDGED_PAIRS == 0
        )
        chosen: list[int] = []
        for _judge in range(2 if is_shared else division.judges_of_pair):
            share = min(
                (own for own in range(1, division.shares + 1) if own not in chosen),
                key=lambda own: (
                    met[own, systems],
                    sizes[own],
                    sum(together[own, other] for other in chosen),
                    seen[own, pair.left] + seen[own, pair.right],
                    _hash_seed_and_values(seed, "share", place, own),
                ),
            )
            sizes[share] += 1
            met[share, systems] += 1
            for system in systems:
                seen[share, system] += 1
            for other in chosen:
                together[share, other] += 1
                together[other, share] += 1
            chosen.append(share)
        shares.append(sorted(chosen))
    return shares


def count_planned_pairs(runs: int, instances: int, battles: int) -> int:
    """Return the number of pairs that a plan would have. Raises SheetRefused if the
    plan would be too large or is impossible.
    """
    if runs < 2:
        raise SheetRefused(_("a sheet of pairs needs two systems or more"))
    if not 1 <= battles <= instances:
        words = _(
            "%(battles)s of every two systems on %(instances)s: two systems meet at most once an instance"
        )
        facts = {
            "battles": count_with_noun(battles, "battle"),
            "instances": count_with_noun(instances, "instance"),
        }
        raise SheetRefused(words % facts)
    pairs = runs * (runs - 1) // 2 * battles
    if pairs > MAX_PLANNED_PAIRS:
        words = _("%(pairs)s: a sheet has at most %(most)s")
        facts = {
            "pairs": count_with_noun(pairs, "pair"),
            "most": count_with_noun(MAX_PLANNED_PAIRS, "pair"),
        }
        raise SheetRefused(words % facts)
    return pairs
