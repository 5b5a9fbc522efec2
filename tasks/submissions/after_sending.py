"""What a team may still do with what it says of a run, and with its file: neither changes a number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from citeboard.core import audit, storage
from citeboard.core.plain_text import checked_description, checked_links
from citeboard.teams.models import User
from tasks.models import Submission
from tasks.models.run_cards import CARD, METHOD
from tasks.models.seasons import bump_version
from tasks.submissions.run_card import checked_card, missing_from
from tasks.submissions.withdraw import NotInThisState, note_change


def describe_run(
    *,
    submission: Submission,
    description: str,
    links: Iterable[str],
    by: User,
    card: Mapping[str, object] | None = None,
) -> Submission:
    """Without a ``card`` it stays. Raises ValidationError by field, also for what the phase requires and
    would be gone. The same words once more change nothing.
    """
    wanted: dict[str, Any] = {
        "description": checked_description(description),
        "links": checked_links(links),
        "card": submission.card if card is None else checked_card(card),
    }
    _keep_required(submission, wanted["description"], wanted["card"])
    with transaction.atomic():
        run = Submission.objects.select_for_update().get(pk=submission.pk)
        changes = [
            audit.Change(name, before, value)
            for name, value in wanted.items()
            if name != "card" and (before := getattr(run, name)) != value
        ]
        changes += [
            audit.Change(CARD[name].english, run.card.get(name), wanted["card"].get(name))
            for name in CARD
            if run.card.get(name) != wanted["card"].get(name)
        ]
        if changes:
            Submission.objects.filter(pk=run.pk).update(**wanted)
            note_change(submission, by, "described", changes=changes)
            bump_version(run.phase_id)
    submission.refresh_from_db()
    return submission


def _keep_required(run: Submission, description: str, card: Mapping[str, str]) -> None:
    """What was missing before may stay so: the phase may ask for more since the run came."""
    phase = run.phase
    before = missing_from(phase, description=run.description, card=run.card, figures={})
    gone = missing_from(phase, description=description, card=card, figures={})
    if lost := [name for name in gone if name not in before]:
        words = _("this phase asks for it, so that it cannot be taken back")
        raise ValidationError({"description" if name == METHOD else name: words for name in lost})


def delete_file(*, submission: Submission, by: User) -> Submission:
    """Of a withdrawn run: its numbers, its name and its digest stay. Once more changes nothing.

    A file that entered several tasks goes with the last of its runs. Raises NotInThisState.
    """
    with transaction.atomic():
        run = Submission.objects.select_for_update().get(pk=submission.pk)
        if run.status != Submission.Status.WITHDRAWN:
            raise NotInThisState(_("the file of a run that is withdrawn can be deleted, and of no other"))
        if run.file:
            Submission.objects.filter(pk=run.pk).update(file="")
            note_change(submission, by, "emptied", changes=[audit.Change("file", run.filename, None)])
            transaction.on_commit(lambda: _remove(run.file))
    submission.refresh_from_db()
    return submission


def _remove(name: str) -> None:
    """Where this process ends before, the sweeper removes what no run names."""
    if not Submission.objects.filter(file=name).exists():
        storage.runs.delete(name)
