"""What a sheet comes to, and putting it on the board."""

from __future__ import annotations

import math
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

from django.db import transaction
from django.db.models import Count
from django.utils import timezone
from django.utils.translation import gettext as _

from citeboard.core import audit
from citeboard.core.refusals import Refused
from citeboard.core.words import counted
from citeboard.teams.models import User
from scoring.board.human_columns import column_parts, joined, signed
from scoring.human.adjudication import decided, disputed, final_ratings
from scoring.human.agreement import Agreement, Mean, Ratings, agreement_of, means
from scoring.human.ratings import texts_of
from scoring.models import CRITERIA, HumanScore, Rating, Sheet
from scoring.stats.interval_methods import WILSON_JACKKNIFE
from tasks.models.seasons import bump_version


class NotPublished(Refused):
    """There is nothing to publish, or nothing to take back; the message says so."""


def ratings_by_annotator(sheet: Sheet, criterion: str) -> Ratings:
    """The annotators in order, each with the ratings given so far; an adjudicator is none of them."""
    first = sheet.annotators.filter(is_adjudicator=False)
    found: dict[str, dict[int, int]] = {str(annotator): {} for annotator in first}
    rows = Rating.objects.filter(annotator__in=first).order_by("annotator", "text")
    for name, text, value in rows.values_list("annotator__name", "text", criterion):
        found[name][text] = value
    return found


def agreement(sheet: Sheet) -> dict[str, Agreement]:
    """By criterion."""
    return {criterion: agreement_of(ratings_by_annotator(sheet, criterion)) for criterion in CRITERIA}


def system_means(sheet: Sheet, criterion: str) -> dict[int, Mean]:
    """By the number of the run the mean of its ratings."""
    rated = final_ratings(sheet, criterion)
    return means([(own.run, own.position - 1, own.value) for own in rated], sheet.instances.count())


def unfinished(sheet: Sheet) -> list[str]:
    """Who has not rated every text, and how far they are: `Ada, who has rated 3 of 12`."""
    texts = texts_of(sheet).count()
    first = sheet.annotators.filter(is_adjudicator=False).annotate(rated=Count("ratings"))
    words = _("%(name)s, who has rated %(rated)s of %(texts)s")
    waiting = [
        words % {"name": own, "rated": own.rated, "texts": texts} for own in first if own.rated < texts
    ]
    in_dispute = sum(len(disputed(sheet, name)) - len(decided(sheet, name)) for name in CRITERIA)
    if in_dispute:
        words = _("an adjudicator, who has %(ratings)s to decide")
        waiting.append(words % {"ratings": counted(in_dispute, "rating")})
    return waiting


def publish(*, sheet: Sheet, by: User, is_confirmed: bool = False) -> None:
    """Close the sheet and put its outcome on the board; with annotators who have not finished only where that
    is confirmed. Raises NotPublished.
    """
    with transaction.atomic():
        locked = Sheet.objects.select_for_update().get(pk=sheet.pk)
        if not locked.is_open:
            raise NotPublished(_("the sheet is published already"))
        first = Rating.objects.filter(annotator__sheet=locked, annotator__is_adjudicator=False)
        if not first.exists():
            raise NotPublished(_("nobody has rated anything on the sheet yet"))
        waiting = unfinished(locked)
        if waiting and not is_confirmed:
            raise NotPublished(
                _("the sheet waits for %(names)s; confirm that it is published without them")
                % {"names": "; ".join(waiting)}
            )
        locked.agreement = {
            name: _described(found) | {"adjudicated": len(decided(locked, name))}
            for name, found in agreement(locked).items()
        }
        locked.published_at = timezone.now()
        locked.save(update_fields=["agreement", "published_at"])
        HumanScore.objects.bulk_create(_scores(locked))
        with audit.in_english():
            names = "; ".join(unfinished(locked))
        if waiting:
            _note(locked, by, "sheet/published early", names=names)
        else:
            _note(locked, by, "sheet/published")


def revoke(*, sheet: Sheet, by: User) -> None:
    """Take the outcome off the board and let the sheet take ratings again. Raises NotPublished."""
    with transaction.atomic():
        locked = Sheet.objects.select_for_update().get(pk=sheet.pk)
        if locked.is_open:
            raise NotPublished(_("the sheet is not published"))
        locked.scores.all().delete()
        locked.agreement, locked.published_at = {}, None
        locked.save(update_fields=["agreement", "published_at"])
        _note(locked, by, "sheet/removed")


def _note(sheet: Sheet, by: User, key: str, **facts: str) -> None:
    phase = sheet.phase
    bump_version(phase.pk)
    audit.record(key, actor=by, subject=phase, place=phase.task.season, facts=facts)


def _described(found: Agreement) -> dict[str, Any]:
    """Agreement as it is kept: without the names of people."""
    return {
        "mean": _number(found.mean_kappa),
        "alpha": _number(found.alpha),
        "pairs": [{"texts": pair.texts, "kappa": _number(pair.kappa)} for pair in found.pairs],
    }


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _adjudicated(sheet: Sheet, criterion: str) -> dict[str, int]:
    """From which distance an adjudicator decided, and on how many texts; nothing where none could."""
    if sheet.adjudicated_from is None:
        return {}
    decisions = sheet.agreement[criterion]["adjudicated"]
    return {"adjudicated_from": sheet.adjudicated_from, "adjudicated": decisions}


def _scores(sheet: Sheet) -> Iterator[HumanScore]:
    first = sheet.annotators.filter(is_adjudicator=False, ratings__isnull=False)
    annotators = first.distinct().count()
    for criterion in CRITERIA:
        found = sheet.agreement[criterion]
        for run, mean in system_means(sheet, criterion).items():
            parts = {
                **column_parts(sheet),
                "n": mean.n,
                "instances": sheet.instances.count(),
                "texts": texts_of(sheet).count(),
                "annotators": annotators,
                "kappa": signed(found["mean"]),
                "alpha": signed(found["alpha"]),
                **_adjudicated(sheet, criterion),
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
