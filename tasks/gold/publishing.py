"""Gold that comes to stand in a public season: since when, and what organisers read of it by then."""

from django.db import transaction
from django.utils import timezone

from tasks.delivery.notifications.events import tell_shared
from tasks.models import Gold, GoldOverlap, GoldPublication, Season

#: So many instances that two golds show alike are told of; fewer would tell of single texts.
TOLD_FROM = 20


def follow() -> None:
    """Once the transaction is through: a rehearsal and whatever else is taken back publishes nothing."""
    transaction.on_commit(note_publications, robust=True)


def note_publications() -> int:
    """How many versions were held against those of others, which each is once: when it is published."""
    new = Gold.objects.filter(task__season__is_public=True, publication=None)
    publications = [
        GoldPublication(gold_id=gold) for gold in new.values_list("pk", flat=True)
    ]
    GoldPublication.objects.bulk_create(publications, ignore_conflicts=True)
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
        season = publication.gold.task.season
        for other in _seasons_with_texts_of(publication.gold):
            tell_shared(season, other)
        publication.compared_at = timezone.now()
        publication.save(update_fields=["compared_at"])
    return True


def _seasons_with_texts_of(gold: Gold) -> list[int]:
    """Public ones of other organisers; by what is shown alone, since answers would be told by it."""
    overlaps = GoldOverlap.objects.filter(
        gold=gold,
        binds=False,
        shown__gte=TOLD_FROM,
        other__publication__isnull=False,
        other__task__season__in=Season.objects.filter(is_public=True).values("pk"),
    )
    return list(
        overlaps.values_list("other__task__season", flat=True).order_by().distinct()
    )
