"""Teams can withdraw, select, order and describe their submitted runs. Organisers can
exclude runs and acknowledge failures.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import partial
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from citeboard.core import audit, instants, plain_text, refusals, storage
from citeboard.core.words import count_with_noun
from citeboard.teams.models import Team, User
from tasks.delivery.notifications.events import (
    notify_extra_tries_granted,
    notify_run_excluded,
)
from tasks.jobs.leases import cancel_jobs_of_run
from tasks.models import (
    Acknowledgement,
    ExtraTries,
    Job,
    Phase,
    Submission,
    run_cards,
    seasons,
)
from tasks.models.jobs import MAX_ACKNOWLEDGEMENT_CHARACTERS
from tasks.registration.entries import lock_approved_entry
from tasks.submissions.refusals import TeamNotRegistered
from tasks.submissions.run_card import (
    RunMetadata,
    list_missing_required_fields,
    validate_card,
)

RunStatus = Submission.Status


class ActionImpossibleInRunState(refusals.ActionRefused):
    """An error about an action that is impossible in the present state of the run. The
    message names an action that is possible instead.
    """


class PhaseAlreadyClosed(ActionImpossibleInRunState):
    def __init__(self, phase: Phase) -> None:
        message = _(
            "%(phase)s closed at %(instant)s; from then on only organisers change "
            "anything"
        )
        super().__init__(
            message
            % {"phase": phase, "instant": instants.format_utc_minute(phase.closes)}
        )


def cancel_run(submission: Submission, user: User, reason: str = "") -> Submission:
    message = _(
        "a run that %(is_now)s cannot be cancelled; one that is scored can be withdrawn"
    )
    return _change_status_and_record(
        submission,
        RunStatus.CANCELLED,
        Submission.MOVING,
        message,
        by=user,
        reason=reason,
    )


def withdraw_run(submission: Submission, user: User, reason: str = "") -> Submission:
    message = _(
        "a run that %(is_now)s cannot be withdrawn; one that still moves can be cancelled"
    )
    own = Submission.objects.filter(phase=submission.phase_id, team=submission.team_id)
    with transaction.atomic():
        withdrawn = _change_status_and_record(
            submission,
            RunStatus.WITHDRAWN,
            (RunStatus.SCORED,),
            message,
            by=user,
            reason=reason,
        )
        # The team's failed runs before the withdrawn run need attention again.
        own.filter(status=RunStatus.FAILED, number__lt=submission.number).update(
            has_failed=True
        )
    return withdrawn


def cancel_or_withdraw_run(
    submission: Submission, user: User, reason: str = ""
) -> Submission:
    try:
        return cancel_run(submission, user, reason)
    except ActionImpossibleInRunState as refused:
        if isinstance(refused, PhaseAlreadyClosed):
            raise
        return withdraw_run(submission, user, reason)


def accept_late_run(submission: Submission, user: User, reason: str) -> Submission:
    """Treat a late run like a run that was submitted in time. A repeated call changes
    nothing.
    """
    with transaction.atomic():
        late = Submission.objects.filter(pk=submission.pk, is_late=True)
        if late.update(
            is_late=False,
            reason=f"Accepted though late by the organiser {user}: {reason}",
        ):
            record_run_change(
                submission,
                user,
                "accepted",
                reason,
                [audit.SettingChange("late", True, False)],
            )
            seasons.increment_board_version(submission.phase_id)
    submission.refresh_from_db()
    return submission


def require_open_phase(submission: Submission) -> None:
    phase = Phase.objects.get(pk=submission.phase_id)
    if phase.closes <= timezone.now():
        raise PhaseAlreadyClosed(phase)


def record_run_change(
    submission: Submission,
    by: User,
    verb: str,
    reason: str = "",
    changes: Iterable[audit.SettingChange] = (),
) -> None:
    facts = {
        name: getattr(submission, name)
        for name in ("number", "system", "team", "phase")
    }
    facts, place = {**facts, "reason": reason}, submission.phase.task.season
    audit.record_action(
        f"run-{verb}",
        actor=by,
        subject=submission,
        place=place,
        facts=facts,
        changes=changes,
    )


def withdraw_replaced_run(before: Submission, new: Submission) -> None:
    allowed = (*Submission.MOVING, RunStatus.SCORED, RunStatus.FAILED)
    with transaction.atomic():
        _set_status_if_allowed(
            before, RunStatus.WITHDRAWN, allowed, f"Replaced by run {new.number}."
        )
    before.refresh_from_db()


def _change_status_and_record(
    submission: Submission,
    status: RunStatus,
    allowed: tuple[str, ...],
    refused: str,
    *,
    by: User,
    reason: str,
) -> Submission:
    done = status.value.capitalize()
    told = f"{done} by the organiser {by}: {reason}" if reason else f"{done} by {by}."
    with transaction.atomic():
        if not reason:
            require_open_phase(submission)
        if _set_status_if_allowed(submission, status, allowed, told):
            # ``submission`` was loaded before the change and has the previous status.
            change = audit.SettingChange("status", submission.status, status.value)
            record_run_change(submission, by, status.value, reason, [change])
    submission.refresh_from_db()
    if submission.status == RunStatus.FAILED:
        raise ActionImpossibleInRunState(refused % {"is_now": _("has failed")})
    if submission.status != status:
        is_now = _("is %(status)s") % {"status": submission.get_status_display()}
        raise ActionImpossibleInRunState(refused % {"is_now": is_now})
    return submission


def _set_status_if_allowed(
    submission: Submission, status: RunStatus, allowed: tuple[str, ...], reason: str
) -> int:
    # Jobs are locked before runs, as in workers that store results, to avoid deadlocks.
    list(submission.jobs.select_for_update().order_by("pk"))
    moved = Submission.objects.filter(pk=submission.pk, status__in=allowed).update(
        status=status, status_since=timezone.now(), reason=reason
    )
    if moved:
        cancel_jobs_of_run(submission.pk)
        seasons.increment_board_version(submission.phase_id)
    return moved


RunExclusion = Submission.Exclusion


def _set_exclusion(
    submission: Submission, user: User, reason: str, exclusion: str
) -> Submission:
    if submission.team_id is None:
        raise ActionImpossibleInRunState(
            _("a run of no team is set and replaced with the season's baselines")
        )
    told = reason if exclusion else ""
    with transaction.atomic():
        run = Submission.objects.select_for_update().get(pk=submission.pk)
        if (run.exclusion, run.exclusion_reason) != (exclusion, told):
            changes = [
                audit.SettingChange(
                    "exclusion", run.exclusion or None, exclusion or None
                ),
                audit.SettingChange(
                    "reason", run.exclusion_reason or None, told or None
                ),
            ]
            Submission.objects.filter(pk=run.pk).update(
                exclusion=exclusion, exclusion_reason=told
            )
            record_run_change(
                submission, user, exclusion or "reinstated", reason, changes
            )
            notify_run_excluded(run, exclusion, reason, at=timezone.now())
            seasons.increment_board_version(run.phase_id)
    submission.refresh_from_db()
    return submission


#: `disqualify` removes a run from all boards and from comparisons.
#: `hide` removes a run only from all boards, and `reinstate` undoes both.
#: A second call with another reason replaces the reason.
disqualify_run = partial(_set_exclusion, exclusion=RunExclusion.DISQUALIFIED)
hide_from_boards = partial(_set_exclusion, exclusion=RunExclusion.HIDDEN)
reinstate_excluded_run = partial(_set_exclusion, exclusion="")

#: Teams can select runs with a status in SELECTABLE_STATUSES for the board.
#: Unscored runs can be selected, because scores may arrive after the deadline.
SELECTABLE_STATUSES = (*Submission.MOVING, Submission.Status.SCORED)


def select_run(submission: Submission, user: User, reason: str = "") -> Submission:
    if submission.phase.counting != Phase.CountedRunsRule.SELECTED:
        raise ActionImpossibleInRunState(
            _("in this phase the counting run is not chosen")
        )
    if (
        submission.status not in SELECTABLE_STATUSES
        or submission.kind != Submission.Kind.PRIMARY
    ):
        raise ActionImpossibleInRunState(
            _("a primary run that is scored, or will be, can be chosen")
        )
    if submission.exclusion:
        message = _("a run that is %(exclusion)s cannot be chosen")
        raise ActionImpossibleInRunState(
            message % {"exclusion": submission.get_exclusion_display()}
        )
    if submission.is_late:
        raise ActionImpossibleInRunState(
            _("a late run counts only once an organiser has accepted it")
        )
    with transaction.atomic():
        if not reason:
            require_open_phase(submission)
        runs = Submission.objects.select_for_update().filter(
            phase=submission.phase, team=submission.team_id
        )
        list(runs.order_by("pk"))
        others = runs.exclude(pk=submission.pk).filter(is_selected=True)
        before = others.values_list("number", flat=True).first()
        others.update(is_selected=False)
        if runs.filter(pk=submission.pk, is_selected=False).update(is_selected=True):
            change = audit.SettingChange("counting run", before, submission.number)
            record_run_change(submission, user, "chosen", reason, [change])
            seasons.increment_board_version(submission.phase_id)
    submission.refresh_from_db()
    return submission


def list_runs_by_priority(phase: Phase, team: Team | None) -> QuerySet[Submission]:
    runs = Submission.objects.filter(
        phase=phase,
        team=team,
        kind=Submission.Kind.PRIMARY,
        status__in=Submission.COUNTED,
        is_late=False,
    )
    return runs.order_by("priority", "number")


def validate_run_priority(phase: Phase, kind: str, place: int | None) -> None:
    if place is None:
        return
    if phase.counting != Phase.CountedRunsRule.PRIORITY:
        raise ValidationError({"priority": _("in this phase runs have no priority")})
    if kind != Submission.Kind.PRIMARY:
        raise ValidationError({"priority": _("a contrastive run has no priority")})
    if place < 1:
        raise ValidationError(
            {"priority": _("%(place)s is no place; 1 is the first") % {"place": place}}
        )


def insert_run_in_priority_order(submission: Submission, place: int | None) -> None:
    """Move the run to the position ``place`` among the team's runs, by default the last
    position.

    The caller must be in the transaction that stores the run.
    """
    others = list(
        list_runs_by_priority(submission.phase, submission.team).exclude(
            pk=submission.pk
        )
    )
    wanted = len(others) if place is None or submission.is_late else place - 1
    _renumber_priorities([*others[:wanted], submission, *others[wanted:]])
    if wanted < len(others):
        seasons.increment_board_version(submission.phase_id)


def set_priority(
    submission: Submission, user: User, reason: str = "", *, place: int
) -> Submission:
    if submission.phase.counting != Phase.CountedRunsRule.PRIORITY:
        raise ActionImpossibleInRunState(_("in this phase runs have no priority"))
    with transaction.atomic():
        assert submission.team is not None
        lock_approved_entry(submission.phase, submission.team)
        if not reason:
            require_open_phase(submission)
        runs = list(list_runs_by_priority(submission.phase, submission.team))
        numbers = [run.pk for run in runs]
        if submission.pk not in numbers:
            raise ActionImpossibleInRunState(
                _("a primary run that is in time and has not failed has a priority")
            )
        if not 1 <= place <= len(runs):
            message = _("the team has %(runs)s with a priority, and no place %(place)s")
            raise ActionImpossibleInRunState(
                message % {"runs": count_with_noun(len(runs), "run"), "place": place}
            )
        before = numbers.index(submission.pk) + 1
        if place != before:
            runs.insert(place - 1, runs.pop(before - 1))
            _renumber_priorities(runs)
            change = audit.SettingChange("priority", before, place)
            record_run_change(
                submission, user, "given another priority", reason, [change]
            )
            seasons.increment_board_version(submission.phase_id)
    submission.refresh_from_db()
    return submission


def _renumber_priorities(runs: list[Submission]) -> None:
    for position, run in enumerate(runs, start=1):
        if run.priority != position:
            run.priority = position
            run.save(update_fields=["priority"])


def describe_run(
    *,
    submission: Submission,
    description: str,
    links: Iterable[str],
    by: User,
    card: Mapping[str, object] | None = None,
) -> Submission:
    wanted: dict[str, Any] = {
        "description": plain_text.clean_description(description),
        "links": plain_text.clean_links(links),
        "card": submission.card if card is None else validate_card(card),
    }
    # Fields that were empty may stay empty, even if the phase now requires them.
    stood = RunMetadata(description=submission.description, card=submission.card)
    missing = list_missing_required_fields(submission.phase, stood)
    gone = list_missing_required_fields(
        submission.phase,
        RunMetadata(description=wanted["description"], card=wanted["card"]),
    )
    if lost := [name for name in gone if name not in missing]:
        message = _("this phase asks for it, so that it cannot be taken back")
        raise ValidationError(
            {
                "description" if name == run_cards.METHOD_REQUIREMENT else name: message
                for name in lost
            }
        )
    with transaction.atomic():
        run = Submission.objects.select_for_update().get(pk=submission.pk)
        changes = [
            audit.SettingChange(name, before, value)
            for name, value in wanted.items()
            if name != "card" and (before := getattr(run, name)) != value
        ]
        changes += [
            audit.SettingChange(
                run_cards.RUN_CARD_FIELDS[name].english,
                run.card.get(name),
                wanted["card"].get(name),
            )
            for name in run_cards.RUN_CARD_FIELDS
            if run.card.get(name) != wanted["card"].get(name)
        ]
        if changes:
            Submission.objects.filter(pk=run.pk).update(**wanted)
            record_run_change(submission, by, "described", changes=changes)
            seasons.increment_board_version(run.phase_id)
    submission.refresh_from_db()
    return submission


def delete_run_file(*, submission: Submission, by: User) -> Submission:
    with transaction.atomic():
        run = Submission.objects.select_for_update().get(pk=submission.pk)
        if run.status != Submission.Status.WITHDRAWN:
            raise ActionImpossibleInRunState(
                _("the file of a run that is withdrawn can be deleted, and of no other")
            )
        if run.file:
            Submission.objects.filter(pk=run.pk).update(file="")
            record_run_change(
                submission,
                by,
                "emptied",
                changes=[audit.SettingChange("file", run.filename, None)],
            )
            transaction.on_commit(lambda: _delete_unused_file(run.file))
    submission.refresh_from_db()
    return submission


def _delete_unused_file(name: str) -> None:
    if not Submission.objects.filter(file=name).exists():
        storage.run_file_storage.delete(name)


MAX_EXTRA_TRIES = 1000
MAX_REASON_CHARACTERS = 500


def give_tries(
    *, phase: Phase, team: Team, tries: int, reason: str, by: User
) -> ExtraTries:
    reason = reason.strip()
    faults = {}
    if not 1 <= tries <= MAX_EXTRA_TRIES:
        faults["tries"] = _("give from 1 to %(number)s tries") % {
            "number": f"{MAX_EXTRA_TRIES:,}"
        }
    message = _("the reason has %(found)s characters; at most %(most)s are allowed")
    if fault := plain_text.find_length_error(
        reason, MAX_REASON_CHARACTERS, message
    ) or ("" if reason else _("say why: the team reads it")):
        faults["reason"] = fault
    if phase.runs_per_day is None and phase.runs_in_total is None:
        faults["phase"] = _("this phase has no limit of runs")
    if faults:
        raise ValidationError(faults)
    with transaction.atomic():
        if lock_approved_entry(phase, team) is None:
            raise TeamNotRegistered.of(team, phase.task.season)
        extra = ExtraTries.objects.create(
            phase=phase, team=team, tries=tries, reason=reason, given_by=by
        )
        _record_extra_tries_change(
            extra, by, "tries-given", audit.SettingChange("extra tries", None, tries)
        )
        notify_extra_tries_granted(extra)
    return extra


def withdraw_extra_tries(*, given: ExtraTries, by: User) -> None:
    with transaction.atomic():
        lock_approved_entry(given.phase, given.team)
        if (extra_tries := ExtraTries.objects.filter(pk=given.pk).first()) is not None:
            _record_extra_tries_change(
                extra_tries,
                by,
                "tries-taken-back",
                audit.SettingChange("extra tries", extra_tries.tries, None),
            )
            extra_tries.delete()


def _record_extra_tries_change(
    given: ExtraTries, by: User, key: str, change: audit.SettingChange
) -> None:
    phase, place = f"{given.phase.task}, {given.phase}", given.phase.task.season
    facts = {
        "tries": given.tries,
        "team": given.team,
        "phase": phase,
        "reason": given.reason,
    }
    facts["given"] = given.pk
    audit.record_action(
        key, actor=by, subject=given.team, place=place, facts=facts, changes=[change]
    )


def acknowledge_failure(
    *, run: Submission, job: Job | None = None, note: str, by: User
) -> Acknowledgement:
    """Acknowledge that an organiser has noticed the failure of a run, or the failure of
    the scoring job ``job`` of the run. A repeated call changes nothing.
    """
    note = plain_text.clean_single_line_text(note)
    message = _("the note has %(found)s characters; at most %(most)s are allowed")
    plain_text.check_length("note", note, MAX_ACKNOWLEDGEMENT_CHARACTERS, message)
    with transaction.atomic():
        held = Submission.objects.select_for_update(of=("self",)).select_related(
            "phase__task__season"
        )
        own = held.get(pk=run.pk)
        found, is_new = Acknowledgement.objects.get_or_create(
            submission=own,
            job=job,
            failed_at=_get_failure_time(own, job),
            defaults={"note": note, "by": by},
        )
        if is_new:
            seasons.increment_board_version(own.phase_id)
            _record_acknowledgement(
                found,
                by,
                "failure-acknowledged",
                audit.SettingChange("acknowledged", None, note),
            )
    return found


def take_acknowledgement_back(*, acknowledgement: Acknowledgement, by: User) -> None:
    with transaction.atomic():
        rows = Acknowledgement.objects.select_for_update(of=("self",))
        held = rows.select_related("submission__phase__task__season", "job").filter(
            pk=acknowledgement.pk
        )
        for found in held:
            _record_acknowledgement(
                found,
                by,
                "failure-not-acknowledged",
                audit.SettingChange("acknowledged", found.note, None),
            )
            seasons.increment_board_version(found.submission.phase_id)
            found.delete()


def _get_failure_time(run: Submission, job: Job | None) -> datetime:
    if job is None:
        if run.status == Submission.Status.FAILED:
            return run.status_since
        message = _("%(run)s has not failed; it is %(status)s")
        raise refusals.ActionRefused(
            message % {"run": run, "status": run.get_status_display()}
        )
    job.refresh_from_db(fields=["state", "finished_at"])
    if job.state != Job.State.FAILED or job.finished_at is None:
        message = _(
            "the scoring of %(run)s under %(rules)s has not failed; it is %(state)s"
        )
        raise refusals.ActionRefused(
            message
            % {"run": run, "rules": job.rules, "state": Job.State(job.state).label}
        )
    return job.finished_at


def _record_acknowledgement(
    acknowledgement: Acknowledgement, by: User, action: str, change: audit.SettingChange
) -> None:
    run, job = acknowledgement.submission, acknowledgement.job
    facts: dict[str, object] = {"run": run, "rules": job.rules} if job else {"run": run}
    if action == "failure-acknowledged":
        facts["reason"] = acknowledgement.note
    key, place = f"{action}/rules" if job else action, run.phase.task.season
    audit.record_action(
        key, actor=by, subject=run, place=place, facts=facts, changes=[change]
    )
