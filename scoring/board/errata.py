"""Errata of a phase's results: published by its organisers, shown wherever the results are."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from citeboard.core import audit
from citeboard.core.words import in_decimals
from citeboard.teams.models import User
from scoring.board.visibility import Audience, Visibility, visibility_of
from tasks.models import Phase
from tasks.models.seasons import bump_version

MAX_TEXT = 2000


@dataclass(frozen=True, kw_only=True)
class Erratum:
    """What was wrong, and what holds now; it never changes."""

    text: str
    published_at: dt.datetime


def publish_erratum(*, phase: Phase, text: str, by: User) -> Erratum:
    """Raises ValidationError by field."""
    text = text.replace("\r\n", "\n").strip()
    if not text:
        raise ValidationError({"text": _("say what was wrong, and what holds now")})
    if len(text) > MAX_TEXT:
        raise ValidationError(
            {
                "text": _("the text has %(characters)s characters; at most %(most)s fit")
                % {"characters": in_decimals(f"{len(text):,}"), "most": in_decimals(f"{MAX_TEXT:,}")}
            }
        )
    at = timezone.now()
    with transaction.atomic():
        held = Phase.objects.select_for_update(of=("self",)).select_related("task__season").get(pk=phase.pk)
        held.errata.append({"at": at.isoformat(), "text": text})
        held.save(update_fields=["errata"])
        bump_version(held.pk)
        audit.note(
            actor=by,
            action="erratum",
            words=f"published an erratum of {held.task}, {held}",
            subject=held,
            place=held.task.season,
            changes=[audit.Change("erratum", None, text)],
        )
    return Erratum(text=text, published_at=at)


def all_errata(phase: Phase) -> list[Erratum]:
    """Newest first."""
    return [
        Erratum(text=one["text"], published_at=dt.datetime.fromisoformat(one["at"]))
        for one in reversed(phase.errata)
    ]


def errata_for(phase: Phase, audience: Audience, since: dt.datetime | None = None) -> list[Erratum]:
    """Whoever sees nothing of the board reads none of them."""
    if not phase.errata or visibility_of(phase, audience) == Visibility.NOTHING:
        return []
    return [one for one in all_errata(phase) if since is None or one.published_at >= since]
