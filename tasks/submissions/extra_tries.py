"""More tries for one team in one phase: given with a reason, and taken back."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from citeboard.core import audit
from citeboard.core.words import counted
from citeboard.teams.models import Team, User
from tasks.models import ExtraTries, Phase
from tasks.notifications.of_runs import tell_tries
from tasks.registration.entries import lock_entry
from tasks.submissions.refusals import NotRegistered

MAX_TRIES = 1000
MAX_REASON = 500


def give_tries(*, phase: Phase, team: Team, tries: int, reason: str, by: User) -> ExtraTries:
    """Raises ValidationError by field, or NotRegistered for a team that does not take part."""
    reason = reason.strip()
    faults = {}
    if not 1 <= tries <= MAX_TRIES:
        faults["tries"] = _("give from 1 to %(number)s tries") % {"number": f"{MAX_TRIES:,}"}
    if not reason:
        faults["reason"] = _("say why: the team reads it")
    elif len(reason) > MAX_REASON:
        faults["reason"] = _("the reason has %(found)s characters; at most %(most)s fit") % {
            "found": len(reason),
            "most": MAX_REASON,
        }
    if phase.runs_per_day is None and phase.runs_in_total is None:
        faults["phase"] = _("this phase has no limit of runs")
    if faults:
        raise ValidationError(faults)
    with transaction.atomic():
        if lock_entry(phase, team) is None:
            raise NotRegistered.of(team, phase.task.season)
        given = ExtraTries.objects.create(phase=phase, team=team, tries=tries, reason=reason, given_by=by)
        _note(given, by, "given", [audit.Change("extra tries", None, tries)])
        tell_tries(given)
    return given


def take_tries_back(*, given: ExtraTries, by: User) -> None:
    """Runs that were sent with them stay. Once more changes nothing."""
    with transaction.atomic():
        lock_entry(given.phase, given.team)
        held = ExtraTries.objects.filter(pk=given.pk).first()
        if held is not None:
            _note(held, by, "taken-back", [audit.Change("extra tries", held.tries, None)])
            held.delete()


@audit.in_english()
def _note(given: ExtraTries, by: User, verb: str, changes: list[audit.Change]) -> None:
    tries = counted(given.tries, "more try", "more tries")
    did = "gave" if verb == "given" else "took back"
    to = "to" if verb == "given" else "from"
    audit.note(
        actor=by,
        action=f"tries-{verb}",
        words=f"{did} {tries} {to} {given.team} in {given.phase.task}, {given.phase}: {given.reason}",
        subject=given.team,
        place=given.phase.task.season,
        changes=changes,
    )
