"""E-mails from organisers to a group of teams. The group's teams are looked up when the
e-mail is sent.
"""

from collections.abc import Sequence
from typing import Any

from django.db import models, transaction
from django.db.models import Count, Exists, Max, OuterRef, Q
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy

from citeboard.core import audit
from citeboard.core.refusals import ActionRefused
from citeboard.core.words import join_names
from citeboard.ops.undoing import SENT_MESSAGE_IDS_KEY, UNDO_ACTION_NAME
from citeboard.teams.models import Membership, Team, User
from scoring.results.board.confirming import find_results_to_confirm
from tasks.delivery.notifications.events import notify_group_mail
from tasks.models import Job, Notification, Phase, Registration, Season, Submission

TEAMS_MAILED_ACTION = "teams-mailed"
MAX_MAIL_SUBJECT_LENGTH, MAX_MAIL_TEXT_LENGTH, MAX_SENT_MAILS_LISTED = 120, 4000, 50


class TeamGroup(models.TextChoices):
    ALL = "all", gettext_lazy("all teams")
    WITHOUT_RUN = "without-run", gettext_lazy("teams without a run")
    LATE = "late", gettext_lazy("teams with a late run that is not accepted")
    NOT_CONFIRMED = (
        "not-confirmed",
        gettext_lazy("teams with a result that is not confirmed"),
    )


def find_teams_in_group(
    season: Season, group: str, phase: Phase | None = None
) -> Sequence[Team]:
    phases = Phase.objects.filter(task__season=season).select_related("task__season")
    phases = phases.filter(pk=phase.pk) if phase else phases
    standing = Submission.objects.filter(
        phase__in=phases, team=OuterRef("team"), exclusion=""
    )
    standing = standing.filter(
        status__in=[*Submission.MOVING, Submission.Status.SCORED]
    )
    entries = (
        Registration.objects.filter(season=season).approved().select_related("team")
    )
    if group == TeamGroup.WITHOUT_RUN:
        entries = entries.exclude(Exists(standing))
    elif group == TeamGroup.LATE:
        entries = entries.filter(Exists(standing.filter(is_late=True)))
    elif group == TeamGroup.NOT_CONFIRMED:
        asking = phases.filter(
            confirms_results=True,
            confirmation_ended_at=None,
            closes__lte=timezone.now(),
        )
        results = (
            result for phase in asking for result in find_results_to_confirm(phase)
        )
        slugs = {result.run.team_slug for result in results if not result.is_confirmed}
        entries = entries.filter(team__slug__in=slugs)
    return [entry.team for entry in entries.order_by("team__name")]


def mail_teams(
    *,
    season: Season,
    group: str,
    subject: str,
    text: str,
    by: User,
    phase: int | None = None,
) -> Season:
    """Send a message from organisers to the members of a group of teams.

    Each member gets a notification, and an e-mail if the member wants e-mails. Raises
    Refused without recipients.
    """
    of_phase = phase and get_object_or_404(Phase, pk=phase, task__season=season)
    if not season.is_public:
        raise ActionRefused(_("the season is a draft, which its teams do not see yet"))
    teams = find_teams_in_group(season, group, of_phase or None)
    members = Membership.objects.filter(team__in=teams, user__is_active=True)
    if not (people := set(members.values_list("user_id", flat=True)) - {by.pk}):
        message = _(
            "nobody gets the e-mail: there are no %(group)s now, or you are the only "
            "member"
        )
        raise ActionRefused(message % {"group": TeamGroup(group).label})
    said = {"subject": " ".join(subject.split()), "text": text.strip()}
    facts = {
        "group": TeamGroup(group).label,
        "phase": f"{of_phase.task}, {of_phase}" if of_phase else "",
        "teams": join_names([team.name for team in teams]),
        **said,
    }
    with transaction.atomic():
        entry = audit.record_action(
            TEAMS_MAILED_ACTION, actor=by, subject=season, place=season, facts=facts
        )
        notify_group_mail(season, entry.pk, people, **said)
    return season


def find_sent_mails(season: Season) -> list[dict[str, Any]]:
    """Return the messages that organisers of the season sent to teams, newest first.

    Each message has the number of notified people and the states of their e-mails.
    """
    back = set(
        audit.find_history_of_place(season)
        .filter(action=UNDO_ACTION_NAME)
        .values_list("subject_id", flat=True)
    )
    lines = []
    for entry in audit.find_history_of_place(season).filter(action=TEAMS_MAILED_ACTION)[
        :MAX_SENT_MAILS_LISTED
    ]:
        counts = Notification.objects.filter(
            event__in=(entry.facts or {}).get(SENT_MESSAGE_IDS_KEY, [])
        ).aggregate(
            people=Count("pk"),
            waiting=Count("pk", filter=Q(job__state__in=Job.MOVING)),
            sent=Count("pk", filter=Q(job__state=Job.State.DONE)),
            failed=Count("pk", filter=Q(job__state=Job.State.FAILED)),
            due=Max("job__due_at", filter=Q(job__state=Job.State.QUEUED)),
        )
        lines.append({"entry": entry, "is_taken_back": entry.pk in back, **counts})
    return lines
