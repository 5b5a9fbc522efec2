"""Find the phases that reveal the same secret content, and count the shared instances.

Two phases reveal the same content if both have the same split, or if some instances of
their gold are the same. The gold of both phases must belong to the same organisers, or
to seasons that a claim of shared texts connects.
"""

from collections import defaultdict
from dataclasses import dataclass

from django.db.models import Q

from tasks.gold.content import get_public_instance_digests
from tasks.gold.publishing import MIN_SHARED_INSTANCES_TO_NOTIFY
from tasks.gold.secrecy import TaskIdAndSplitName, load_phases_with_embargoes
from tasks.models import Claim, Gold, GoldOverlap, Phase

#: A leak budget counts other gold with at least this share of the phase's instances.
#: Smaller overlaps do not count, because a budget may reveal 5 % of the gold.
MIN_SHARED_INSTANCE_SHARE = 0.05


@dataclass(frozen=True, kw_only=True)
class PhaseRevealingSecretContent:
    """A phase whose scores reveal secret content of the phase of a leak budget, in
    ``shared`` instances.
    """

    phase: Phase
    gold: Gold
    shared: int
    is_foreign: bool = False

    @property
    def split(self) -> TaskIdAndSplitName:
        return build_split_key(self.phase)

    @property
    def public(self) -> int:
        return self.gold.instances * (self.phase.public_part or 0) // 100


def find_source_with_known_public_part(
    sources: list[PhaseRevealingSecretContent],
) -> PhaseRevealingSecretContent | None:
    """Return the source whose public part teams are assumed to know when a budget for
    the first source's phase is computed.
    """
    own = sources[0]
    if own.phase.public_part:
        return own
    of_others = (
        other
        for other in sources[1:]
        if other.phase.public_part and _have_same_instances(own, other)
    )
    return next(of_others, None)


def have_equal_public_samples(one: Phase, other: Phase) -> bool:
    """Return True if both phases have the same random sample as public part, or if a
    sample is not drawn yet.
    """
    draws = {one.draw, other.draw} - {""}
    return one.public_part == other.public_part and len(draws) < 2


def have_same_public_part(
    one: PhaseRevealingSecretContent, other: PhaseRevealingSecretContent
) -> bool:
    return have_equal_public_samples(one.phase, other.phase) and _have_same_instances(
        one, other
    )


def _have_same_instances(
    one: PhaseRevealingSecretContent, other: PhaseRevealingSecretContent
) -> bool:
    if one.split == other.split:
        return True
    return (
        not other.is_foreign
        and get_public_instance_digests(one.gold)
        == get_public_instance_digests(other.gold)
        != set()
    )


def build_split_key(phase: Phase) -> TaskIdAndSplitName:
    return phase.task_id, phase.split


def find_leak_sources_by_phase(
    phases: list[Phase],
) -> dict[int, list[PhaseRevealingSecretContent]]:
    """Return the phases that reveal the secret content of each phase with gold,
    including the phase itself.
    """
    golds = _find_newest_golds_by_split({phase.task_id for phase in phases})
    scored = [phase for phase in phases if build_split_key(phase) in golds]
    asked = [golds[build_split_key(phase)] for phase in scored]
    shared, joined = (
        _count_shared_instances_by_split(asked),
        _find_foreign_splits_by_gold(asked),
    )
    splits = {build_split_key(phase) for phase in scored}
    splits = splits.union(*shared.values(), *joined.values())
    golds |= _find_newest_golds_by_split(
        {task for task, _name in splits} - {task for task, _name in golds}
    )
    others: dict[TaskIdAndSplitName, list[Phase]] = defaultdict(list)
    of_tasks = Phase.objects.filter(task__in={task for task, _name in splits})
    in_order = of_tasks.select_related("task__season").order_by("opens", "pk")
    for row in load_phases_with_embargoes(
        row for row in in_order if build_split_key(row) in splits
    ):
        others[build_split_key(row)].append(row)
    found: dict[int, list[PhaseRevealingSecretContent]] = {}
    for phase in scored:
        gold = golds[build_split_key(phase)]
        counts = {build_split_key(phase): gold.instances} | {
            split: min(count, gold.instances)
            for split, count in shared[gold.pk].items()
            if count >= MIN_SHARED_INSTANCE_SHARE * gold.instances
        }
        found[phase.pk] = [
            PhaseRevealingSecretContent(phase=phase, gold=gold, shared=gold.instances),
            *(
                PhaseRevealingSecretContent(phase=row, gold=golds[split], shared=count)
                for split, count in counts.items()
                for row in others[split]
                if row.pk != phase.pk and _adds_to_leak_budget(row, phase)
            ),
            # Count all instances, because the number of shared instances is secret.
            *(
                PhaseRevealingSecretContent(
                    phase=row, gold=gold, shared=gold.instances, is_foreign=True
                )
                for split in sorted(joined[gold.pk])
                for row in others[split]
            ),
        ]
    return found


def _adds_to_leak_budget(other: Phase, phase: Phase) -> bool:
    season = other.task.season
    return season.is_public or season.pk == phase.task.season_id


def _find_foreign_splits_by_gold(
    golds: list[Gold],
) -> dict[int, set[TaskIdAndSplitName]]:
    """Return the splits of other organisers that have the same texts as each gold, if a
    claim on these texts connects both seasons.

    A released claim affects both seasons, because the organisers of both seasons
    agreed. A binding claim only affects the leak budget of the later season, so that
    nobody can restrict an existing season. Gold that is not published is ignored,
    because the result must not reveal that other organisers have the same texts.
    """
    seasons = {gold.task.season_id for gold in golds}
    claims = Claim.objects.filter(Q(season__in=seasons) | Q(later__in=seasons))
    pairs: set[tuple[int, int]] = set()
    for claim in claims.exclude(state=Claim.State.OPEN):
        pairs.add((claim.later_id, claim.season_id))
        if claim.state == Claim.State.RELEASED:
            pairs.add((claim.season_id, claim.later_id))
    joined: dict[int, set[TaskIdAndSplitName]] = {gold.pk: set() for gold in golds}
    if not pairs:
        return joined
    overlaps = GoldOverlap.objects.filter(
        gold__in=joined,
        binds=False,
        shown__gte=MIN_SHARED_INSTANCES_TO_NOTIFY,
        gold__publication__compared_at__isnull=False,
        other__publication__compared_at__isnull=False,
        other__task__season__is_public=True,
    )
    for overlap in overlaps.select_related("gold__task", "other__task"):
        own, other = overlap.gold, overlap.other
        if (own.task.season_id, other.task.season_id) in pairs:
            joined[own.pk].add((other.task_id, other.split))
    return joined


def _find_newest_golds_by_split(tasks: set[int]) -> dict[TaskIdAndSplitName, Gold]:
    golds = (
        Gold.objects.filter(task__in=tasks).select_related("task").order_by("number")
    )
    return {(gold.task_id, gold.split): gold for gold in golds}


def _count_shared_instances_by_split(
    golds: list[Gold],
) -> dict[int, dict[TaskIdAndSplitName, int]]:
    """Return the number of instances that each gold shares with each other split of the
    same organisers.
    """
    own = {gold.pk: (gold.task_id, gold.split) for gold in golds}
    shared: dict[int, dict[TaskIdAndSplitName, int]] = {pk: {} for pk in own}
    overlaps = GoldOverlap.objects.filter(gold__in=own, binds=True)
    rows = overlaps.filter(Q(shown__gt=0) | Q(held__gt=0)).values_list(
        "gold", "other__task", "other__split", "shown", "held"
    )
    for gold, task, name, shown, held in rows:
        split = (task, name)
        if split != own[gold]:
            shared[gold][split] = max(shown, held, shared[gold].get(split, 0))
    return shared
