"""Let the lead of a team confirm or contest the results of the team's runs. The
organisers of a season can end or reopen the confirmation of results.
"""

from collections import defaultdict

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Exists, F, OuterRef
from django.utils import timezone
from django.utils.translation import gettext as _

from citeboard.core import audit, plain_text
from citeboard.teams.models import Team, User
from scoring.models import ResultConfirmation
from scoring.results.board.confirming import (
    ResultToConfirm,
    explain_closed_confirmation,
    find_results_to_confirm,
)
from scoring.results.board.snapshots import RUN_STATES_BEFORE_RESULT
from tasks.delivery.notifications.events import (
    delete_confirmation_requests,
    notify_results_to_confirm,
)
from tasks.models import Phase, Submission, seasons
from tasks.seasons.phase_acts import lock_phase
from tasks.submissions.run_acts import ActionImpossibleInRunState

MAX_CONTEST_MESSAGE_CHARACTERS = 2000
MAX_END_REASON_CHARACTERS = 500
ConfirmationState = ResultConfirmation.State


def find_result_to_confirm(submission: Submission) -> ResultToConfirm | None:
    results = (
        result
        for result in find_results_to_confirm(submission.phase)
        if result.run.submission == submission.pk
    )
    return next(results, None)


def confirm_result(
    *, submission: Submission, by: User, seen: str = ""
) -> ResultToConfirm:
    """Confirm the result of a run on behalf of the team. ``seen`` is the digest of the
    scores that the team lead has seen. If the result is already confirmed, the function
    changes nothing.

    Raises ActionImpossibleInRunState.
    """
    return _record_confirmation(submission, ConfirmationState.CONFIRMED, "", by, seen)


def contest_result(
    *, submission: Submission, message: str, by: User, seen: str = ""
) -> ResultToConfirm:
    """Contest the result of a run that the team considers wrong, and send a message to
    the organisers. Raises ValidationError or ActionImpossibleInRunState.
    """
    message = message.replace("\r\n", "\n").strip()
    if not message:
        raise ValidationError({"message": _("say what is wrong with the result")})
    words = _("the message has %(characters)s characters; at most %(most)s are allowed")
    plain_text.check_length("message", message, MAX_CONTEST_MESSAGE_CHARACTERS, words)
    return _record_confirmation(
        submission, ConfirmationState.CONTESTED, message, by, seen
    )


def _record_confirmation(
    submission: Submission, state: ConfirmationState, message: str, by: User, seen: str
) -> ResultToConfirm:
    with transaction.atomic():
        submission.phase = phase = lock_phase(submission.phase)
        if refused := explain_closed_confirmation(phase):
            raise ActionImpossibleInRunState(refused)
        if (result := find_result_to_confirm(submission)) is None:
            raise ActionImpossibleInRunState(
                _(
                    "this run does not count on the board, so that its result is not confirmed"
                )
            )
        if seen and seen != result.numbers:
            raise ActionImpossibleInRunState(
                _("the scores have changed since you read them; look at them again")
            )
        before = result.said
        if before is not None and (before.state, before.message) == (state, message):
            return result
        said = {"state": state, "message": message, "by": by, "at": timezone.now()}
        numbers = {"gold": result.gold, "numbers": result.numbers}
        ResultConfirmation.objects.update_or_create(
            submission=submission, defaults={**numbers, **said}
        )
        seasons.increment_board_version(phase.pk)
        earlier = before.message if before else ""
        changes = [
            audit.SettingChange("result", before.state if before else None, state.value)
        ]
        if earlier != message:
            changes.append(
                audit.SettingChange("message", earlier or None, message or None)
            )
        facts = {
            name: getattr(submission, name)
            for name in ("number", "system", "team", "phase")
        }
        facts["version"], key, place = (
            result.gold.number,
            f"result-{state.value}",
            phase.task.season,
        )
        audit.record_action(
            key, actor=by, subject=submission, place=place, facts=facts, changes=changes
        )
    fresh = find_result_to_confirm(submission)
    assert fresh is not None
    return fresh


def end_confirmation(*, phase: Phase, reason: str, by: User) -> Phase:
    """End the time in which teams can confirm the results of a phase. If the result is
    already confirmed, the function changes nothing. Raises ValidationError or
    ActionImpossibleInRunState.
    """
    reason = reason.strip()
    if not reason:
        raise ValidationError(
            {
                "reason": _(
                    "say why the results are official before every team has confirmed"
                )
            }
        )
    words = _("the reason has %(characters)s characters; at most %(most)s are allowed")
    plain_text.check_length("reason", reason, MAX_END_REASON_CHARACTERS, words)
    now = timezone.now()
    with transaction.atomic():
        locked = lock_phase(phase)
        if not locked.confirms_results:
            raise ActionImpossibleInRunState(
                _("%(phase)s does not ask teams to confirm their results")
                % {"phase": locked}
            )
        if now < locked.closes:
            raise ActionImpossibleInRunState(
                _("%(phase)s has not closed yet") % {"phase": locked}
            )
        if locked.confirmation_ended_at is not None:
            return locked
        locked.confirmation_ended_at, locked.confirmation_ended_because = now, reason
        delete_confirmation_requests(locked)
        return _save_confirmation_change(
            locked, "ended", by, [("ended", None, now), ("reason", None, reason)]
        )


def reopen_confirmation(*, phase: Phase, by: User) -> Phase:
    """Reopen the time in which teams can confirm the results of a phase, and notify the
    team leads who can confirm results now. Raises ActionImpossibleInRunState.
    """
    with transaction.atomic():
        locked = lock_phase(phase)
        if locked.confirmation_ended_at is None:
            raise ActionImpossibleInRunState(_("the confirmation has not been ended"))
        ended, because = locked.confirmation_ended_at, locked.confirmation_ended_because
        locked.confirmation_ended_at, locked.confirmation_ended_because = None, ""
        locked.confirmation_reopened += 1
        reopened = _save_confirmation_change(
            locked, "reopened", by, [("ended", ended, None), ("reason", because, None)]
        )
        if reopened.task.season.is_public and not explain_closed_confirmation(reopened):
            notify_leads_of_phase(reopened, by=by)
        return reopened


def _save_confirmation_change(
    phase: Phase, verb: str, by: User, changes: list[tuple[str, object, object]]
) -> Phase:
    phase.save(
        update_fields=[
            "confirmation_ended_at",
            "confirmation_ended_because",
            "confirmation_reopened",
        ]
    )
    seasons.increment_board_version(phase.pk)
    told, facts = (
        [audit.SettingChange(*change) for change in changes],
        {"phase": f"{phase.task}, {phase}"},
    )
    key, place = f"confirmation-{verb}", phase.task.season
    audit.record_action(
        key, actor=by, subject=phase, place=place, facts=facts, changes=told
    )
    return phase


def notify_leads_of_due_phases() -> int:
    """Notify the leads of teams whose results wait for confirmation, once for each
    lead, and return the number of notified leads.
    """
    asking = Phase.objects.filter(
        ~Exists(
            Submission.objects.filter(
                phase=OuterRef("pk"), status__in=RUN_STATES_BEFORE_RESULT
            )
        ),
        confirms_results=True,
        confirmation_ended_at=None,
        closes__lte=timezone.now(),
        task__season__is_public=True,
    ).exclude(confirmation_told=F("version"))
    count = 0
    for number in list(asking.values_list("pk", flat=True)):
        with transaction.atomic():
            phase = lock_phase(Phase(pk=number))
            if phase.confirmation_ended_at is None and not explain_closed_confirmation(
                phase
            ):
                count += notify_leads_of_phase(phase)
    return count


def notify_leads_of_phase(phase: Phase, *, by: User | None = None) -> int:
    """Notify the leads of teams whose results wait for confirmation, or with ``by`` the
    leads of all teams with a result.
    """
    results = find_results_to_confirm(phase)
    waiting = {
        result.run.submission
        for result in results
        if by is not None or result.said is None
    }
    runs: dict[Team, list[Submission]] = defaultdict(list)
    runs_here = Submission.objects.filter(
        pk__in=waiting, team__isnull=False
    ).select_related("team")
    for run in runs_here.order_by("team_id", "number"):
        assert run.team is not None
        runs[run.team].append(run)
    count = (
        notify_results_to_confirm(phase, runs, gold=results[0].gold.number, by=by)
        if runs
        else 0
    )
    if results:
        Phase.objects.filter(pk=phase.pk).update(confirmation_told=F("version"))
    return count
