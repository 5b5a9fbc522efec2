"""Gold that comes to stand in a public season: what organisers read of it by then, and what is claimed of it.

Texts are compared by what is shown of them alone: an answer would be told by what follows. Hidden gold of a
public season claims the texts that it shows. The season that published them later, which is by the first gold
that it published, follows what the earlier one keeps back until staff release it.
"""

from collections.abc import Iterable, Iterator
from functools import partial

from django.db import transaction
from django.db.models import Min
from django.utils import timezone

from tasks.delivery.notifications.events import tell_claim, tell_shared
from tasks.gold.content import is_read_through, shown_by
from tasks.gold.secrecy import Kind, hidden_until, inputs_are_free, looked_up
from tasks.models import Claim, Gold, GoldOverlap, GoldPublication, Phase
from tasks.models.seasons import bump_version

#: Minimum number of shared instances in a message. Fewer would reveal single texts.
TOLD_FROM = 20
#: The share of the smaller one, in per cent, from which a gold claims what another shows too.
CLAIMED_FROM = 5


def follow() -> None:
    """Once the transaction is through: a rehearsal and whatever else is taken back publishes nothing."""
    transaction.on_commit(note_publications, robust=True)


def note_publications() -> int:
    """Compare newly published versions with those of others, once each. Return their number."""
    new = Gold.objects.filter(
        task__season__is_public=True, publication=None
    ).select_related("task")
    for gold in new.order_by("pk"):
        now = timezone.now()
        of_season = GoldPublication.objects.filter(
            gold__task__season=gold.task.season_id
        )
        first = of_season.aggregate(at=Min("first_at"))["at"] or now
        GoldPublication.objects.get_or_create(
            gold=gold, defaults={"at": now, "first_at": first}
        )
    if not is_read_through():
        return 0
    # Gold of an earlier release is read by a sweep first.
    waiting = GoldPublication.objects.filter(
        compared_at=None, gold__content__isnull=False
    )
    numbers = list(waiting.order_by("pk").values_list("pk", flat=True))
    return sum(_compare(number) for number in numbers)


def _compare(number: int) -> bool:
    with transaction.atomic():
        waiting = GoldPublication.objects.select_for_update(
            of=("self",)
        ).select_related("gold__task__season")
        publication = waiting.filter(pk=number, compared_at=None).first()
        if publication is None:
            return False
        gold = publication.gold
        for other in _with_texts_of(gold):
            earlier, later = _in_order(publication, other)
            if claims(earlier, later):
                _make_claim(earlier, later)
            elif not publication.is_of_before:
                tell_shared(gold.task.season, other.gold.task.season_id)
        publication.compared_at = timezone.now()
        publication.save(update_fields=["compared_at"])
        if GoldOverlap.objects.filter(
            gold__task=gold.task_id, gold__split=gold.split, is_claimed=True
        ).exists():
            # The previous version is independent now.
            for phase in Phase.objects.filter(
                task=gold.task_id, split=gold.split
            ).order_by("pk"):
                bump_version(phase.pk)
    return True


def _with_texts_of(gold: Gold) -> list[GoldPublication]:
    """Return gold of public seasons of other organisers that shares texts."""
    overlaps = GoldOverlap.objects.filter(gold=gold, binds=False, shown__gte=TOLD_FROM)
    publications = GoldPublication.objects.filter(
        gold__in=overlaps.values("other"), gold__task__season__is_public=True
    )
    publications = publications.exclude(gold__task__season=gold.task.season_id)
    return list(publications.select_related("gold__task__season").order_by("at", "pk"))


def claims(earlier: GoldPublication, later: GoldPublication) -> bool:
    """Return whether the earlier gold claims enough texts of the later one."""
    gold, other = earlier.gold, later.gold
    if not (
        gold.task.season.is_public and other.task.season.is_public and _is_hidden(gold)
    ):
        return False
    texts = shown_by(gold) & shown_by(other)
    for elsewhere in _given_out_before(earlier):
        texts -= shown_by(elsewhere)
    share = 100 * len(texts) / max(1, min(gold.instances, other.instances))
    return len(texts) >= TOLD_FROM and share >= CLAIMED_FROM


def _is_hidden(gold: Gold) -> bool:
    now = timezone.now()
    phases = Phase.objects.filter(task=gold.task_id, split=gold.split)
    return any(hidden_until(phase, Kind.GOLD, now) is not None for phase in phases)


def _given_out_before(publication: GoldPublication) -> Iterable[Gold]:
    """Golds of other seasons whose texts were public before these were published."""
    gold = publication.gold
    overlaps = GoldOverlap.objects.filter(
        gold=gold,
        shown__gt=0,
        other__publication__at__lt=publication.at,
        other__task__season__is_public=True,
    )
    for overlap in overlaps.exclude(
        other__task__season=gold.task.season_id
    ).select_related("other"):
        other = overlap.other
        phases = Phase.objects.filter(
            task=other.task_id, split=other.split
        ).select_related("task__season")
        if any(inputs_are_free(phase) for phase in looked_up(phases)):
            yield other


def _make_claim(earlier: GoldPublication, later: GoldPublication) -> None:
    """It binds at once whom it may bind, unless the two seasons are for staff to decide on."""
    season, other = earlier.gold.task.season, later.gold.task.season
    # Gold that was public before cannot be restricted by a later season.
    is_later = earlier.at < later.first_at and not (
        earlier.is_of_before and later.is_of_before
    )
    state = Claim.State.BINDING if is_later else Claim.State.OPEN
    claim, is_new = Claim.objects.get_or_create(
        season=season, later=other, defaults={"state": state}
    )
    if claim.state == Claim.State.BINDING and (
        is_later or claim.decided_at is not None
    ):
        GoldOverlap.objects.filter(gold=later.gold, other=earlier.gold).update(
            is_claimed=True
        )
    if is_new:
        tell_claim(claim)


def follow_parting(season: int, others: Iterable[int]) -> None:
    """Seasons that were of the same organisers, and held for each other: what is hidden is claimed by now."""
    for other in others:
        transaction.on_commit(partial(_claim_between, season, other), robust=True)


def _claim_between(season: int, other: int) -> None:
    with transaction.atomic():
        for earlier, later in _pairs(season, other):
            if claims(earlier, later):
                _make_claim(earlier, later)


def bind(claim: Claim) -> None:
    """All that is published of the later season follows the earlier one from now on."""
    for one, other in _pairs(claim.season_id, claim.later_id):
        earlier, later = (
            (one, other) if one.gold.task.season_id == claim.season_id else (other, one)
        )
        of_pair = GoldOverlap.objects.filter(gold=later.gold, other=earlier.gold)
        of_pair.update(is_claimed=claims(earlier, later))


def _pairs(
    season: int, other: int
) -> Iterator[tuple[GoldPublication, GoldPublication]]:
    """Return pairs of published gold of both seasons that share many texts, the earlier first."""
    of_both = GoldPublication.objects.filter(gold__task__season__in=(season, other))
    publications = {
        row.gold_id: row for row in of_both.select_related("gold__task__season")
    }
    overlaps = GoldOverlap.objects.filter(
        gold__task__season=season,
        other__task__season=other,
        binds=False,
        shown__gte=TOLD_FROM,
    )
    for gold, of_other in overlaps.order_by("gold", "other").values_list(
        "gold", "other"
    ):
        if gold in publications and of_other in publications:
            yield _in_order(publications[gold], publications[of_other])


def _in_order(
    one: GoldPublication, other: GoldPublication
) -> tuple[GoldPublication, GoldPublication]:
    return (one, other) if (one.at, one.pk) < (other.at, other.pk) else (other, one)


def release(claim: Claim) -> None:
    of_both = GoldOverlap.objects.filter(
        gold__task__season=claim.later, other__task__season=claim.season
    )
    of_both.update(is_claimed=False)
