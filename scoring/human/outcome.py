"""What a sheet comes to, and putting it on the board."""

from __future__ import annotations

import math
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

from django.db import transaction
from django.db.models import Count
from django.utils import timezone

from citeboard.core import audit
from citeboard.teams.models import User
from scoring.board.human_columns import column_parts, joined
from scoring.human.agreement import Agreement, Mean, Ratings, agreement_of, means
from scoring.human.ratings import texts_of
from scoring.models import CRITERIA, HumanScore, Rating, Sheet
from scoring.stats.interval_methods import WILSON_JACKKNIFE
from tasks.models.seasons import bump_version


class NotPublished(Exception):
    """There is nothing to publish, or nothing to take back; the message says so."""


def ratings_by_annotator(sheet: Sheet, criterion: str) -> Ratings:
    """The annotators in order, each with the ratings given so far."""
    found: dict[str, dict[int, int]] = {str(annotator): {} for annotator in sheet.annotators.all()}
    rows = Rating.objects.filter(annotator__sheet=sheet).order_by("annotator", "text")
    for name, text, value in rows.values_list("annotator__name", "text", criterion):
        found[name][text] = value
    return found


def agreement(sheet: Sheet) -> dict[str, Agreement]:
    """By criterion."""
    return {criterion: agreement_of(ratings_by_annotator(sheet, criterion)) for criterion in CRITERIA}


def system_means(sheet: Sheet, criterion: str) -> dict[int, Mean]:
    """By the number of the run the mean of its ratings."""
    rows = Rating.objects.filter(annotator__sheet=sheet).order_by(
        "text__instance__position", "text", "annotator"
    )
    rated = rows.values_list("text__submission", "text__instance__position", criterion)
    return means([(run, position - 1, value) for run, position, value in rated], sheet.instances.count())


def unfinished(sheet: Sheet) -> list[str]:
    """Who has not rated every text, and how far they are: `Ada, who has rated 3 of 12`."""
    texts = texts_of(sheet).count()
    rated = sheet.annotators.annotate(rated=Count("ratings")).values_list("name", "rated")
    return [f"{name}, who has rated {own} of {texts}" for name, own in rated if own < texts]


def publish(*, sheet: Sheet, by: User, is_confirmed: bool = False) -> None:
    """Close the sheet and put its outcome on the board; with annotators who have not finished only where that
    is confirmed. Raises NotPublished.
    """
    with transaction.atomic():
        locked = Sheet.objects.select_for_update().get(pk=sheet.pk)
        if not locked.is_open:
            raise NotPublished("the sheet is published already")
        if not Rating.objects.filter(annotator__sheet=locked).exists():
            raise NotPublished("nobody has rated anything on the sheet yet")
        waiting = unfinished(locked)
        if waiting and not is_confirmed:
            raise NotPublished(
                f"the sheet waits for {'; '.join(waiting)}; confirm that it is published without them"
            )
        locked.agreement = {name: _described(found) for name, found in agreement(locked).items()}
        locked.published_at = timezone.now()
        locked.save(update_fields=["agreement", "published_at"])
        HumanScore.objects.bulk_create(_scores(locked))
        without = f" without waiting for {'; '.join(waiting)}" if waiting else ""
        _note(locked, by, f"published a human evaluation{without}")


def take_back(*, sheet: Sheet, by: User) -> None:
    """Take the outcome off the board and let the sheet take ratings again. Raises NotPublished."""
    with transaction.atomic():
        locked = Sheet.objects.select_for_update().get(pk=sheet.pk)
        if locked.is_open:
            raise NotPublished("the sheet is not published")
        locked.scores.all().delete()
        locked.agreement, locked.published_at = {}, None
        locked.save(update_fields=["agreement", "published_at"])
        _note(locked, by, "took a human evaluation off the board")


def _note(sheet: Sheet, by: User, words: str) -> None:
    phase = sheet.phase
    bump_version(phase.pk)
    audit.note(actor=by, action="sheet", words=words, subject=phase, place=phase.task.season)


def _described(found: Agreement) -> dict[str, Any]:
    """Agreement as it is kept: without the names of people."""
    return {
        "mean": _number(found.mean_kappa),
        "alpha": _number(found.alpha),
        "pairs": [{"texts": pair.texts, "kappa": _number(pair.kappa)} for pair in found.pairs],
    }


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _signed(value: float | None) -> str:
    return "none" if value is None else f"{value:.4f}"


def _scores(sheet: Sheet) -> Iterator[HumanScore]:
    annotators = sheet.annotators.filter(ratings__isnull=False).distinct().count()
    for criterion in CRITERIA:
        found = sheet.agreement[criterion]
        for run, mean in system_means(sheet, criterion).items():
            parts = {
                **column_parts(sheet),
                "n": mean.n,
                "instances": sheet.instances.count(),
                "texts": texts_of(sheet).count(),
                "annotators": annotators,
                "kappa": _signed(found["mean"]),
                "alpha": _signed(found["alpha"]),
                "seed": sheet.seed,
                "interval": WILSON_JACKKNIFE,
                "numpy": version("numpy"),
            }
            yield HumanScore(
                sheet=sheet,
                submission_id=run,
                criterion=criterion,
                value=mean.value,
                low=mean.interval[0] if mean.interval else None,
                high=mean.interval[1] if mean.interval else None,
                n=mean.n,
                signature=joined(f"human_{criterion}", parts),
            )
