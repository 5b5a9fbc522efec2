"""When gold is published in a public season, notify organisers of seasons with the same
texts, and create claims of earlier seasons.

Only the public parts of instances are compared, since a comparison of answers could
reveal the answers. If gold of a public season is hidden, the season claims the texts of
its public inputs. If another season publishes the same texts later, the earlier
season's embargo also applies to the later season until staff release the later season.
"""

from collections.abc import Iterable, Iterator

from django.db import transaction
from django.db.models import Min
from django.utils import timezone

from citeboard.core.commits import call_after_commit
from tasks.delivery.notifications.events import notify_claim_made, notify_shared_texts
from tasks.gold.content import (
    get_public_instance_digests,
    have_all_gold_digests_current_key,
)
from tasks.gold.secrecy import (
    ContentKind,
    are_inputs_free_of_embargo,
    compute_embargo_end_of_phase,
    load_phases_with_embargoes,
)
from tasks.models import Claim, Gold, GoldOverlap, GoldPublication, Phase
from tasks.models.seasons import increment_board_version

#: Organisers are notified of MIN_SHARED_INSTANCES_TO_NOTIFY shared instances, as fewer reveal single texts.
MIN_SHARED_INSTANCES_TO_NOTIFY = 20
#: A claim needs MIN_SHARED_PERCENT_FOR_CLAIM per cent of the smaller gold as shared instances.
MIN_SHARED_PERCENT_FOR_CLAIM = 5


def compare_publications_on_commit() -> None:
    call_after_commit(compare_new_publications)


def compare_new_publications() -> int:
    """Compare each newly published version of gold once with the gold of other
    organisers. Return the number of versions that were compared.
    """
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
    if not have_all_gold_digests_current_key():
        return 0
    # Gold without digests waits until a regular job has computed the digests.
    waiting = GoldPublication.objects.filter(
        compared_at=None, gold__content__isnull=False
    )
    numbers = list(waiting.order_by("pk").values_list("pk", flat=True))
    return sum(_compare_publication(number) for number in numbers)


def _compare_publication(number: int) -> bool:
    with transaction.atomic():
        waiting = GoldPublication.objects.select_for_update(
            of=("self",)
        ).select_related("gold__task__season")
        publication = waiting.filter(pk=number, compared_at=None).first()
        if publication is None:
            return False
        gold = publication.gold
        for other in _list_publications_sharing_texts(gold):
            earlier, later = _order_by_publication(publication, other)
            if has_earlier_claim_on(earlier, later):
                _create_claim(earlier, later)
            elif not publication.is_of_before:
                notify_shared_texts(gold.task.season, other.gold.task.season_id)
        publication.compared_at = timezone.now()
        publication.save(update_fields=["compared_at"])
        if GoldOverlap.objects.filter(
            gold__task=gold.task_id, gold__split=gold.split, is_claimed=True
        ).exists():
            # The comparison can end embargoes that the gold's previous version had.
            for phase in Phase.objects.filter(
                task=gold.task_id, split=gold.split
            ).order_by("pk"):
                increment_board_version(phase.pk)
    return True


def _list_publications_sharing_texts(gold: Gold) -> list[GoldPublication]:
    overlaps = GoldOverlap.objects.filter(
        gold=gold, binds=False, shown__gte=MIN_SHARED_INSTANCES_TO_NOTIFY
    )
    publications = GoldPublication.objects.filter(
        gold__in=overlaps.values("other"), gold__task__season__is_public=True
    )
    publications = publications.exclude(gold__task__season=gold.task.season_id)
    return list(publications.select_related("gold__task__season").order_by("at", "pk"))


def has_earlier_claim_on(earlier: GoldPublication, later: GoldPublication) -> bool:
    """Return True if the earlier gold is hidden and shares enough public texts with the
    later gold.
    """
    gold, other = earlier.gold, later.gold
    if not (
        gold.task.season.is_public
        and other.task.season.is_public
        and _is_gold_hidden(gold)
    ):
        return False
    texts = get_public_instance_digests(gold) & get_public_instance_digests(other)
    for elsewhere in _list_gold_disclosed_before(earlier):
        texts -= get_public_instance_digests(elsewhere)
    share = 100 * len(texts) / max(1, min(gold.instances, other.instances))
    return (
        len(texts) >= MIN_SHARED_INSTANCES_TO_NOTIFY
        and share >= MIN_SHARED_PERCENT_FOR_CLAIM
    )


def _is_gold_hidden(gold: Gold) -> bool:
    now = timezone.now()
    phases = Phase.objects.filter(task=gold.task_id, split=gold.split)
    return any(
        compute_embargo_end_of_phase(phase, ContentKind.GOLD, now) is not None
        for phase in phases
    )


def _list_gold_disclosed_before(publication: GoldPublication) -> Iterable[Gold]:
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
        if any(
            are_inputs_free_of_embargo(phase)
            for phase in load_phases_with_embargoes(phases)
        ):
            yield other


def _create_claim(earlier: GoldPublication, later: GoldPublication) -> None:
    """Create a claim of the season that published texts first on a season that
    published the same texts later. The claim is binding at once, unless staff must
    decide which season is the earlier one.
    """
    season, other = earlier.gold.task.season, later.gold.task.season
    # A claim binds at once only if all gold of the later season was published later.
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
        notify_claim_made(claim)


def create_claims_on_commit(season: int, others: Iterable[int]) -> None:
    """Create the missing claims between two seasons that no longer have the same
    organisers.
    """
    for other in others:
        call_after_commit(_create_claims_between_seasons, season, other)


def _create_claims_between_seasons(season: int, other: int) -> None:
    with transaction.atomic():
        for earlier, later in _iterate_overlapping_publications(season, other):
            if has_earlier_claim_on(earlier, later):
                _create_claim(earlier, later)


def apply_embargo_of_claim(claim: Claim) -> None:
    """Apply the earlier season's embargo to all published gold of the later season."""
    for one, other in _iterate_overlapping_publications(
        claim.season_id, claim.later_id
    ):
        earlier, later = (
            (one, other) if one.gold.task.season_id == claim.season_id else (other, one)
        )
        of_pair = GoldOverlap.objects.filter(gold=later.gold, other=earlier.gold)
        of_pair.update(is_claimed=has_earlier_claim_on(earlier, later))


def _iterate_overlapping_publications(
    season: int, other: int
) -> Iterator[tuple[GoldPublication, GoldPublication]]:
    """Yield pairs of published gold, one from each season, that share many texts. The
    earlier publication is first in each pair.
    """
    of_both = GoldPublication.objects.filter(gold__task__season__in=(season, other))
    publications = {
        row.gold_id: row for row in of_both.select_related("gold__task__season")
    }
    overlaps = GoldOverlap.objects.filter(
        gold__task__season=season,
        other__task__season=other,
        binds=False,
        shown__gte=MIN_SHARED_INSTANCES_TO_NOTIFY,
    )
    for gold, of_other in overlaps.order_by("gold", "other").values_list(
        "gold", "other"
    ):
        if gold in publications and of_other in publications:
            yield _order_by_publication(publications[gold], publications[of_other])


def _order_by_publication(
    gold_publication: GoldPublication, other: GoldPublication
) -> tuple[GoldPublication, GoldPublication]:
    return (
        (gold_publication, other)
        if (gold_publication.at, gold_publication.pk) < (other.at, other.pk)
        else (other, gold_publication)
    )


def end_embargo_of_claim(claim: Claim) -> None:
    of_both = GoldOverlap.objects.filter(
        gold__task__season=claim.later, other__task__season=claim.season
    )
    of_both.update(is_claimed=False)
