"""Where annotators differ by as much as organisers chose, one more person decides; and what comes of it.

Agreement is that of the first ratings, whatever was decided.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from citeboard.core import audit
from citeboard.core.refusals import Refused
from citeboard.teams.models import User
from scoring.models import CRITERIA, HIGHEST, LOWEST, Annotator, Rating, Sheet, SheetText

DISTANCES = range(1, HIGHEST - LOWEST + 1)


class AdjudicationRefused(Refused):
    """The distance stays as it is; the message says why."""


class FinalRating(NamedTuple):
    """One value that counts for a text: an annotator's, or the adjudicator's in the place of all of them."""

    text: int
    run: int
    position: int
    instance: str
    value: int


def disputed(sheet: Sheet, criterion: str) -> set[int]:
    """The texts whose first ratings lie so far apart that an adjudicator decides; none without a distance."""
    if sheet.adjudicated_from is None:
        return set()
    given: dict[int, list[int]] = defaultdict(list)
    first = Rating.objects.filter(annotator__sheet=sheet, annotator__is_adjudicator=False)
    for text, value in first.order_by().values_list("text", criterion):
        given[text].append(value)
    return {text for text, own in given.items() if max(own) - min(own) >= sheet.adjudicated_from}


def all_disputed(sheet: Sheet) -> set[int]:
    """On whichever criterion."""
    return set().union(*(disputed(sheet, criterion) for criterion in CRITERIA))


def decided(sheet: Sheet, criterion: str) -> dict[int, int]:
    """By disputed text what the adjudicator says; texts that wait are left out."""
    open_texts = disputed(sheet, criterion)
    said = Rating.objects.filter(annotator__sheet=sheet, annotator__is_adjudicator=True)
    rows = said.order_by("annotator").values_list("text", criterion)
    return {text: value for text, value in rows if text in open_texts}


def final_ratings(sheet: Sheet, criterion: str) -> Iterator[FinalRating]:
    """In the order of the sheet: of a text that was decided that value alone, of others all first ratings."""
    by_adjudicator = decided(sheet, criterion)
    first = Rating.objects.filter(annotator__sheet=sheet, annotator__is_adjudicator=False)
    rows = first.order_by("text__instance__position", "text", "annotator").values_list(
        "text", "text__submission", "text__instance__position", "text__instance__name", criterion
    )
    told: set[int] = set()
    for rating in map(FinalRating._make, rows):
        if rating.text not in by_adjudicator:
            yield rating
        elif rating.text not in told:
            told.add(rating.text)
            yield rating._replace(value=by_adjudicator[rating.text])


def texts_for(annotator: Annotator) -> QuerySet[SheetText]:
    """What the annotator rates, in the order of the pages: an adjudicator what is in dispute alone."""
    texts = SheetText.objects.filter(instance__sheet=annotator.sheet_id)
    if annotator.is_adjudicator:
        texts = texts.filter(pk__in=all_disputed(annotator.sheet))
    return texts.order_by("instance__position", "position")


def change_distance(*, sheet: Sheet, distance: int | None, by: User) -> None:
    """From which distance between two ratings an adjudicator decides; None for never.

    Raises AdjudicationRefused once the sheet is published.
    """
    with transaction.atomic():
        locked = Sheet.objects.select_for_update().get(pk=sheet.pk)
        if not locked.is_open:
            raise AdjudicationRefused(
                _("the sheet is published; take it back before you change what it rests on")
            )
        before = locked.adjudicated_from
        if before == distance:
            return
        locked.adjudicated_from = distance
        locked.save(update_fields=["adjudicated_from"])
        facts = {"sheet": sheet.pk}
        audit.record(
            "sheet-adjudication/none" if distance is None else "sheet-adjudication",
            actor=by,
            subject=locked.phase,
            place=locked.phase.task.season,
            facts=facts if distance is None else {**facts, "distance": distance},
            changes=[audit.Change("adjudicated_from", before, distance)],
        )
