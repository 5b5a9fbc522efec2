"""Create notifications about events, in the transaction of the event. A person gets one
notification of an event, even if the event is reported repeatedly.
"""

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from django.db import transaction
from django.utils import timezone

from citeboard.core.audit import convert_to_json_value
from citeboard.core.instants import convert_setting_for_api
from citeboard.teams.models import Membership, Team, User
from tasks import models
from tasks.delivery.notifications.reading import load_channels_by_person
from tasks.delivery.webhooks.services import (
    compute_message_send_time,
    delay_messages_until_undo_ends,
    queue_webhook_event,
)
from tasks.models.notifications import NotificationChannel, NotificationKind
from tasks.models.registrations import get_team_name_for_others

PHASE_DATE_NOTIFICATION_KINDS = (NotificationKind.DEADLINE, NotificationKind.MOVED)


def notify_people(
    kind: NotificationKind,
    event: str,
    people: Iterable[int],
    *,
    season: models.Season | None = None,
    phase: models.Phase | None = None,
    team: Team | None = None,
    submission: models.Submission | None = None,
    facts: Mapping[str, Any] | None = None,
) -> int:
    """Notify people of an event. ``people`` are ids of users. The function skips a
    person who was already notified of the event.
    """
    if submission is not None:
        phase, team = submission.phase, submission.team
    already = models.Notification.objects.filter(event=event).values_list(
        "user", flat=True
    )
    told = load_channels_by_person(sorted(set(people).difference(already)), kind)
    now = timezone.now()
    place = season.pk if season else phase.task.season_id if phase else None
    columns: dict[str, Any] = {
        "kind": kind,
        "event": event,
        "season_id": place,
        "phase": phase,
        "team": team,
    }
    columns |= {"submission": submission, "facts": dict(facts or {}), "created_at": now}
    mails = [
        person
        for person, channel in told.items()
        if channel == NotificationChannel.MAIL
    ]
    with transaction.atomic():
        due = (
            now
            if kind in PHASE_DATE_NOTIFICATION_KINDS
            else compute_message_send_time(event, now)
        )
        jobs = dict(
            zip(
                mails,
                models.Job.create_webhook_or_mail_jobs(
                    models.Job.Kind.MAIL, len(mails), now, due
                ),
                strict=True,
            )
        )
        rows = [
            models.Notification(user_id=person, job=jobs.get(person), **columns)
            for person, channel in told.items()
            if channel != NotificationChannel.NONE
        ]
        models.Notification.objects.bulk_create(rows, ignore_conflicts=True)
    return len(rows)


def delete_notifications(event: str, **of: int) -> None:
    models.Notification.objects.filter(event=event, **of).delete()


def list_member_ids(team: Team) -> list[int]:
    return list(Membership.objects.filter(team=team).values_list("user_id", flat=True))


def list_lead_ids(team: Team) -> list[int]:
    lead = Membership.objects.filter(team=team, role=Membership.Role.LEAD)
    return list(lead.values_list("user_id", flat=True))


def list_organiser_ids(season: models.Season) -> list[int]:
    return list(
        models.Organiser.objects.filter(season=season).values_list("user_id", flat=True)
    )


def list_participant_ids(season: models.Season) -> list[int]:
    entries = models.Registration.objects.filter(season=season).not_refused()
    teams = Membership.objects.filter(
        team__in=entries.values("team"), user__is_active=True
    )
    return list(teams.values_list("user_id", flat=True))


def exclude_person(people: Iterable[int], person: User | None) -> list[int]:
    return [own for own in people if person is None or own != person.pk]


Status = models.Submission.Status


def notify_run_scored(job: models.Job, *, is_first: bool) -> None:
    if (run := _get_team_run_of_job(job)) is None:
        return
    if is_first:
        _queue_webhook_of_run(
            NotificationKind.SCORED, f"run-{run.pk}-scored-{job.pk}", run
        )
    if run.phase.visible_detail_of_own_runs == models.Phase.OwnRunDetail.NOTHING:
        return
    if is_first:
        _notify_members_of_run_team(
            NotificationKind.SCORED, f"run-{run.pk}-scored-{job.pk}", run
        )
    elif run.status == Status.SCORED:
        assert run.team is not None
        event = f"phase-{run.phase_id}-team-{run.team_id}-rescored-{job.gold_id}-{job.options_digest[:16]}"
        facts = {"gold": job.gold.number, "changed": _describe_rescoring_cause(job)}
        event += f"-{job.rules}" if facts["changed"] == "rules" else ""
        with delay_messages_until_undo_ends(job.gold.created_at):
            notify_people(
                NotificationKind.RESCORED,
                event,
                list_member_ids(run.team),
                phase=run.phase,
                team=run.team,
                facts=facts,
            )


def _describe_rescoring_cause(job: models.Job) -> str:
    before = models.Job.objects.filter(submission=job.submission).exclude(pk=job.pk)
    of_rules = before.filter(rules=job.rules)
    if (
        of_rules.filter(gold=job.gold)
        .exclude(options_digest=job.options_digest)
        .exists()
    ):
        return "options"
    if of_rules.exclude(gold=job.gold).exists():
        return "gold"
    return (
        "rules" if before.filter(finished_at__lt=job.created_at).exists() else "nothing"
    )


def notify_run_failed(job: models.Job, *, has_problems: bool) -> None:
    run = _get_team_run_of_job(job)
    if run is not None and run.status == Status.FAILED:
        attempt = "" if job.started_at is None else f"-{job.started_at:%Y%m%d%H%M%S%f}"
        kind, event = (
            NotificationKind.REFUSED if has_problems else NotificationKind.FAILED,
            f"run-{run.pk}-failed-{job.pk}{attempt}",
        )
        _queue_webhook_of_run(kind, event, run)
        _notify_members_of_run_team(kind, event, run)


def notify_extra_tries_granted(given: models.ExtraTries) -> None:
    people, facts = (
        list_member_ids(given.team),
        {"tries": given.tries, "reason": given.reason},
    )
    notify_people(
        NotificationKind.TRIES,
        f"tries-{given.pk}",
        people,
        phase=given.phase,
        team=given.team,
        facts=facts,
    )


def notify_run_excluded(
    run: models.Submission, exclusion: str, reason: str, *, at: dt.datetime
) -> None:
    _notify_members_of_run_team(
        NotificationKind.EXCLUDED,
        f"run-{run.pk}-excluded-{at.timestamp()}",
        run,
        exclusion=exclusion,
        reason=reason,
    )


def _get_team_run_of_job(job: models.Job) -> models.Submission | None:
    if not job.sets_status:
        return None
    runs = models.Submission.objects.select_related("phase__task", "team")
    return runs.filter(pk=job.submission.pk, team__isnull=False).first()


def _queue_webhook_of_run(
    kind: NotificationKind, event: str, run: models.Submission
) -> None:
    assert run.team is not None
    where = {
        "task": run.phase.task.slug,
        "phase": run.phase.slug,
        "team": run.team.slug,
    }
    queue_webhook_event(
        kind, event, run.phase.task.season_id, run=run.pk, number=run.number, **where
    )


def _notify_members_of_run_team(
    kind: NotificationKind, event: str, run: models.Submission, **facts: str
) -> None:
    assert run.team is not None
    notify_people(kind, event, list_member_ids(run.team), submission=run, facts=facts)


def notify_question_asked(question: models.Question, *, by: User) -> None:
    season, event = question.season, f"question-{question.pk}"
    queue_webhook_event(NotificationKind.QUESTION, event, season, question=question.pk)
    people = exclude_person(list_organiser_ids(season), by)
    notify_people(
        NotificationKind.QUESTION,
        event,
        people,
        season=season,
        facts={"text": question.text},
    )


def notify_question_answered(question: models.Question) -> None:
    """Notify the person who asked a question. An edited answer is a new event."""
    if question.asked_by_id is None:
        return
    event = (
        f"question-{question.pk}-answered-{convert_to_json_value(question.answered_at)}"
    )
    facts = {"question": question.text, "answer": question.answer}
    notify_people(
        NotificationKind.ANSWERED,
        event,
        [question.asked_by_id],
        season=question.season,
        facts=facts,
    )


def notify_abuse_reported(report: models.Report) -> None:
    staff = User.objects.filter(is_staff=True, is_active=True).values_list(
        "pk", flat=True
    )
    facts = {"text": report.text, "address": report.address}
    notify_people(NotificationKind.REPORTED, f"report-{report.pk}", staff, facts=facts)


def notify_shared_texts(season: models.Season, other: int) -> None:
    """Notify a season's organisers once that another organiser's season contains many
    of the same texts. The text of the notification does not name the other season.
    """
    theirs = models.Organiser.objects.filter(season=other).values("user")
    people = models.Organiser.objects.filter(
        season=season, role=models.Organiser.Role.ORGANISER
    )
    readers = people.exclude(user__in=theirs).values_list("user_id", flat=True)
    notify_people(
        NotificationKind.SHARED,
        f"season-{season.pk}-shares-{other}",
        readers,
        season=season,
    )


def notify_claim_made(claim: models.Claim) -> None:
    """Notify the organisers of both seasons of a claim, without naming the other
    season. Site staff are also notified, since staff decide on the claim.
    """
    _notify_organisers_of_claim(claim, "made")
    staff = User.objects.filter(is_staff=True, is_active=True).values_list(
        "pk", flat=True
    )
    facts = {"season": claim.season.title, "later": claim.later.title}
    notify_people(NotificationKind.CLAIM, f"claim-{claim.pk}", staff, facts=facts)


def notify_claim_decided(claim: models.Claim) -> None:
    assert claim.decided_at is not None
    _notify_organisers_of_claim(claim, f"decided-{claim.decided_at.timestamp()}")


def _notify_organisers_of_claim(claim: models.Claim, what: str) -> None:
    for side, season in (("earlier", claim.season), ("later", claim.later)):
        people = models.Organiser.objects.filter(
            season=season, role=models.Organiser.Role.ORGANISER
        )
        facts = {"side": side, "state": str(claim.state), "reason": claim.reason}
        event = f"claim-{claim.pk}-{side}-{what}"
        notify_people(
            NotificationKind.SHARED,
            event,
            people.values_list("user_id", flat=True),
            season=season,
            facts=facts,
        )


def notify_results_to_confirm(
    phase: models.Phase,
    runs: Mapping[Team, list[models.Submission]],
    *,
    gold: int,
    by: User | None = None,
) -> int:
    """Notify the leads of teams whose runs have results that a lead must confirm.
    Return the number of notified leads.
    """
    prefix = f"{_format_confirmation_event_prefix(phase)}{phase.confirmation_reopened}"
    event = f"{prefix}-{phase.closes.timestamp()}-{gold}"
    where = {"task": phase.task.slug, "phase": phase.slug}
    is_reopened = by is not None
    season = phase.task.season
    sent = models.Notification.objects.filter(event__startswith=f"{event}-")
    known = set(sent.values_list("event", flat=True))
    if not known:
        queue_webhook_event(
            NotificationKind.CONFIRM, event, season, **where, is_reopened=is_reopened
        )
    return sum(
        notify_people(
            NotificationKind.CONFIRM,
            f"{event}-{team.pk}",
            exclude_person(list_lead_ids(team), by),
            phase=phase,
            team=team,
            facts={
                "is_reopened": is_reopened,
                "runs": {str(run.number): run.pk for run in own},
            },
        )
        for team, own in runs.items()
        if f"{event}-{team.pk}" not in known
    )


def delete_confirmation_requests(phase: models.Phase) -> None:
    models.Notification.objects.filter(
        kind=NotificationKind.CONFIRM,
        event__startswith=_format_confirmation_event_prefix(phase),
    ).delete()


def _format_confirmation_event_prefix(phase: models.Phase) -> str:
    return f"phase-{phase.pk}-confirm-"


#: Participants get a reminder `REMINDER_LEAD_TIME` before the end of a phase.
REMINDER_LEAD_TIME = dt.timedelta(hours=48)


@dataclass(frozen=True)
class PhaseDeadlineAndLimits:
    closes: dt.datetime
    runs_per_day: int | None
    runs_in_total: int | None

    @classmethod
    def of(cls, phase: models.Phase) -> Self:
        return cls(phase.closes, phase.runs_per_day, phase.runs_in_total)

    @property
    def limits(self) -> tuple[int | None, int | None]:
        return self.runs_per_day, self.runs_in_total


def notify_phase_changed(
    phase: models.Phase,
    before: PhaseDeadlineAndLimits,
    *,
    at: dt.datetime,
    by: User | None,
) -> None:
    season = phase.task.season
    if not season.is_public:
        return
    if phase.closes != before.closes and max(phase.closes, before.closes) > at:
        facts = {
            "before": convert_to_json_value(before.closes),
            "after": convert_to_json_value(phase.closes),
        }
        event = f"phase-{phase.pk}-moved-{at.timestamp()}"
        ends = {
            name: convert_setting_for_api("closes", end) for name, end in facts.items()
        }
        queue_webhook_event(
            NotificationKind.MOVED,
            event,
            season,
            task=phase.task.slug,
            phase=phase.slug,
            **ends,
        )
        people = exclude_person(list_participant_ids(season), by)
        notify_people(
            NotificationKind.MOVED,
            event,
            people,
            season=season,
            phase=phase,
            facts=facts,
        )
    after = PhaseDeadlineAndLimits.of(phase).limits
    if after != before.limits and phase.closes > at:
        event = f"phase-{phase.pk}-limits-{at.timestamp()}"
        limits = {"before": list(before.limits), "after": list(after)}
        people = exclude_person(list_participant_ids(season), by)
        notify_people(
            NotificationKind.LIMITS,
            event,
            people,
            season=season,
            phase=phase,
            facts=limits,
        )


def send_deadline_reminders(at: dt.datetime | None = None) -> int:
    """Remind participants once of each phase that closes within 48 hours. Return the
    number of reminders.
    """
    at = at or timezone.now()
    soon = models.Phase.objects.open(at).filter(
        closes__lte=at + REMINDER_LEAD_TIME,
        task__season__is_public=True,
        task__is_reported_only=False,
    )
    told = 0
    for phase in soon.select_related("task__season"):
        event = f"phase-{phase.pk}-closes-{phase.closes.timestamp()}"
        if not models.Notification.objects.filter(event=event).exists():
            people = list_participant_ids(phase.task.season)
            told += notify_people(
                NotificationKind.DEADLINE,
                event,
                people,
                phase=phase,
                facts={"closes": convert_to_json_value(phase.closes)},
            )
    return told


def notify_announcement_published(
    season: models.Season, announcement: models.Announcement, *, by: User | None
) -> None:
    people = exclude_person(
        [*list_participant_ids(season), *list_organiser_ids(season)], by
    )
    notify_people(
        NotificationKind.ANNOUNCED,
        announcement.event,
        people,
        season=season,
        facts={"text": announcement.text},
    )
    queue_webhook_event(
        NotificationKind.ANNOUNCED, announcement.event, season, text=announcement.text
    )


def notify_group_mail(
    season: models.Season, number: int, people: Iterable[int], **facts: str
) -> None:
    notify_people(
        NotificationKind.MAILED,
        f"season-{season.pk}-mailed-{number}",
        people,
        season=season,
        facts=facts,
    )


def update_announcement_text(announcement: models.Announcement) -> None:
    models.Notification.objects.filter(event=announcement.event).update(
        facts={"text": announcement.text}
    )


def notify_new_terms_published(terms: models.Terms, *, by: User | None) -> None:
    season = terms.season
    if season.is_public:
        facts = {
            "version": terms.number,
            "counts_from": terms.counts_from
            and convert_to_json_value(terms.counts_from),
        }
        people = exclude_person(list_participant_ids(season), by)
        notify_people(
            NotificationKind.TERMS,
            f"terms-{terms.pk}",
            people,
            season=season,
            facts=facts,
        )


def notify_entry_requested(
    registration: models.Registration, *, by: User | None
) -> None:
    season, event = registration.season, f"registration-{registration.pk}-asked"
    queue_webhook_event(
        NotificationKind.ASKED, event, season, team=registration.team.slug
    )
    people, facts = (
        exclude_person(list_organiser_ids(season), by),
        {"message": registration.message},
    )
    notify_people(
        NotificationKind.ASKED,
        event,
        people,
        season=season,
        team=registration.team,
        facts=facts,
    )


def notify_entry_decided(registration: models.Registration) -> None:
    assert registration.decided_at is not None
    event = (
        f"registration-{registration.pk}-decided-{registration.decided_at.timestamp()}"
    )
    decided = {"team": registration.team.slug, "is_approved": registration.is_approved}
    queue_webhook_event(NotificationKind.DECIDED, event, registration.season, **decided)
    people = list_member_ids(registration.team)
    facts = {"is_approved": registration.is_approved, "reason": registration.reason}
    notify_people(
        NotificationKind.DECIDED,
        event,
        people,
        season=registration.season,
        team=registration.team,
        facts=facts,
    )


def notify_role_changed(
    season: models.Season, user: User, role: str, *, at: dt.datetime, by: User | None
) -> None:
    event = f"season-{season.pk}-role-{role}-{at.timestamp()}"
    notify_people(
        NotificationKind.ROLE,
        event,
        exclude_person([user.pk], by),
        season=season,
        facts={"role": role},
    )


def format_sheet_event_key(sheet: int) -> str:
    return f"sheet-{sheet}"


def notify_sheet_assigned(
    sheet: int, phase: models.Phase, person: int, *, has_pairs: bool = False
) -> None:
    facts = {"sheet": sheet, **({"pairs": True} if has_pairs else {})}
    notify_people(
        NotificationKind.SHEET,
        format_sheet_event_key(sheet),
        [person],
        phase=phase,
        facts=facts,
    )


def notify_join_requested(asked: models.JoinRequest) -> None:
    people, facts = (
        list_member_ids(asked.team),
        {"person": str(asked.user), "message": asked.message},
    )
    notify_people(
        NotificationKind.JOIN_ASKED,
        asked.event,
        people,
        season=asked.season,
        team=asked.team,
        facts=facts,
    )


def notify_join_decided(asked: models.JoinRequest, *, is_accepted: bool) -> None:
    event, facts = f"{asked.event}-decided", {"is_accepted": is_accepted}
    notify_people(
        NotificationKind.JOIN_DECIDED,
        event,
        [asked.user_id],
        season=asked.season,
        team=asked.team,
        facts=facts,
    )


def notify_merge_proposed(proposal: models.MergeProposal) -> None:
    into, facts = (
        proposal.into,
        {"other": get_team_name_for_others(proposal.season, proposal.team)},
    )
    notify_people(
        NotificationKind.MERGE_ASKED,
        proposal.event,
        list_lead_ids(into),
        season=proposal.season,
        team=into,
        facts=facts,
    )


def notify_teams_merged(
    season: models.Season, team: Team, into: Team, *, at: dt.datetime, reason: str
) -> None:
    event = f"season-{season.pk}-merged-{team.pk}-{at.timestamp()}"
    facts = {"other": team.name, "reason": reason}
    notify_people(
        NotificationKind.MERGED,
        event,
        list_member_ids(into),
        season=season,
        team=into,
        facts=facts,
    )
