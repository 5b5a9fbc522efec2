from __future__ import annotations

from typing import Any, ClassVar

from django.db import models
from django.db.models import (
    CASCADE,
    SET_NULL,
    CheckConstraint,
    Exists,
    OuterRef,
    Q,
    UniqueConstraint,
)
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from citeboard.core.instants import format_day
from citeboard.teams.models import Membership, Team, User
from tasks.models.jobs import Job
from tasks.models.seasons import Organiser, Phase, Season
from tasks.models.submissions import Submission


class NotificationKind(models.TextChoices):
    SCORED = "run-scored", _("A run of your team was scored")
    FAILED = "run-failed", _("A run of your team could not be scored")
    REFUSED = "run-refused", _("A run of your team was refused after it was submitted")
    RESCORED = "runs-rescored", _("Runs of your team were rescored")
    DEADLINE = "deadline-near", _("A phase closes within 48 hours")
    MOVED = "deadline-moved", _("A deadline was moved")
    LIMITS = "limits-changed", _("How many runs a team may submit was changed")
    TRIES = "tries-given", _("Your team was given more tries")
    CONFIRM = "results-to-confirm", _("Results of your team wait to be confirmed")
    EXCLUDED = (
        "run-excluded",
        _("A run of your team was hidden, disqualified or reinstated"),
    )
    ANNOUNCED = "announced", _("Announcements of your seasons")
    MAILED = "teams-mailed", _("E-mails of organisers to some of the teams")
    TERMS = "terms-published", _("The terms of a season of yours have a new version")
    DECIDED = "team-decided", _("Your team was approved for a season, or refused")
    ROLE = "role-given", _("You were made an organiser or a helper")
    SHEET = "sheet-to-rate", _("Texts wait for your ratings")
    JOIN_ASKED = "join-asked", _("Somebody asks to join your team")
    JOIN_DECIDED = "join-decided", _("A team that you asked to join has decided")
    ASKED = "team-asks", _("A team asks to enter a season that you organise")
    MERGE_ASKED = "merge-asked", _("A team asks to merge into yours")
    MERGED = "teams-merged", _("Your team was merged with another")
    QUESTION = (
        "question-asked",
        _("Somebody asks a question on a season that you organise"),
    )
    ANSWERED = "question-answered", _("A question of yours was answered")
    REPORTED = "abuse-reported", _("Abuse is reported on a site that you run")
    SHARED = "texts-shared", _("A season that you organise shares texts with another")
    CLAIM = (
        "claim-to-decide",
        _("Seasons of different organisers have the same texts on a site that you run"),
    )


class NotificationChannel(models.TextChoices):
    MAIL = "mail", _("here and by e-mail")
    SITE = "site", _("here only")
    NONE = "none", _("not at all")


SCORE_OUTCOME_KINDS = (
    NotificationKind.SCORED,
    NotificationKind.RESCORED,
    NotificationKind.CONFIRM,
)
#: The kinds of notifications in TEAM_MEMBER_KINDS are only sent to members of the team.
#: The kinds in ORGANISER_KINDS are only sent to organisers and their helpers.
TEAM_MEMBER_KINDS = (
    *SCORE_OUTCOME_KINDS,
    NotificationKind.FAILED,
    NotificationKind.REFUSED,
    NotificationKind.DECIDED,
    NotificationKind.TRIES,
    NotificationKind.EXCLUDED,
    NotificationKind.JOIN_ASKED,
    NotificationKind.MERGE_ASKED,
    NotificationKind.MERGED,
)
ORGANISER_KINDS = (
    NotificationKind.ASKED,
    NotificationKind.ROLE,
    NotificationKind.QUESTION,
    NotificationKind.REPORTED,
    NotificationKind.SHARED,
    NotificationKind.CLAIM,
)


class NotificationQuerySet(models.QuerySet["Notification"]):
    def unread(self) -> NotificationQuerySet:
        return self.filter(read_at=None)

    def readable(self) -> NotificationQuerySet:
        member = Membership.objects.filter(team=OuterRef("team"), user=OuterRef("user"))
        runs_it = Q(
            Exists(
                Organiser.objects.filter(
                    season=OuterRef("season"), user=OuterRef("user")
                )
            )
        )
        runs_it |= Q(user__is_staff=True)
        has_changed = Q(
            phase__board_from__isnull=False, phase__board_from__lte=timezone.now()
        )
        open_boards = (Phase.Audience.EVERYONE, Phase.Audience.RANKS)
        is_open = (has_changed & Q(phase__board_then__in=open_boards)) | (
            ~has_changed & Q(phase__board__in=open_boards)
        )
        hides = Q(phase__own_scores=Phase.OwnRunDetail.NOTHING) & ~is_open
        return (
            self.filter(
                Q(season__is_public=True) | runs_it | Q(kind=NotificationKind.SHEET)
            )
            .filter(~Q(kind__in=TEAM_MEMBER_KINDS) | Q(Exists(member)))
            .filter(~Q(kind__in=ORGANISER_KINDS) | runs_it)
            .filter(~Q(kind__in=SCORE_OUTCOME_KINDS) | ~hides)
        )


class Notification(models.Model):
    user = models.ForeignKey(User, on_delete=CASCADE, related_name="notifications")
    kind = models.CharField(max_length=30)
    event = models.CharField(max_length=160, help_text="What happened, once.")
    season = models.ForeignKey(
        Season, on_delete=CASCADE, related_name="+", null=True, blank=True
    )
    phase = models.ForeignKey(
        Phase, on_delete=CASCADE, related_name="+", null=True, blank=True
    )
    team = models.ForeignKey(
        Team, on_delete=CASCADE, related_name="+", null=True, blank=True
    )
    submission = models.ForeignKey(
        Submission, on_delete=CASCADE, related_name="+", null=True, blank=True
    )
    facts: models.JSONField[dict[str, Any]] = models.JSONField(
        default=dict,
        help_text="What the rows do not say later: the deadline before, the reason given.",
    )
    created_at = models.DateTimeField(default=timezone.now)
    read_at = models.DateTimeField(null=True, blank=True)
    job = models.OneToOneField(
        Job, on_delete=SET_NULL, null=True, blank=True, related_name="+"
    )

    objects = NotificationQuerySet.as_manager()

    class Meta:
        ordering: ClassVar[list[str]] = ["-created_at", "-id"]
        indexes = [
            models.Index(
                fields=["user", "read_at", "-created_at"],
                name="notification_of_a_person",
            ),
            models.Index(fields=["event"], name="notification_event"),
        ]
        constraints = [
            UniqueConstraint(
                fields=["user", "event"], name="notification_once_an_event"
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} to {self.user}"


class NotificationChoice(models.Model):
    """A user's choice how to be notified of one kind of event. If a user has made no
    choice, the default of the kind of event applies.
    """

    user = models.ForeignKey(
        User, on_delete=CASCADE, related_name="notification_choices"
    )
    kind = models.CharField(max_length=30)
    channel = models.CharField(max_length=4, choices=NotificationChannel)

    class Meta:
        constraints = [
            UniqueConstraint(
                fields=["user", "kind"], name="notification_choice_once_a_kind"
            )
        ]

    def __str__(self) -> str:
        return f"{self.user}, {self.kind}: {self.channel}"


class Webhook(models.Model):
    """A URL to which the site posts events of a season. The secret that signs requests
    is derived from ``nonce`` and the site's key, and is not stored.
    """

    season = models.ForeignKey(Season, on_delete=CASCADE, related_name="webhooks")
    url = models.URLField(max_length=400)
    nonce = models.CharField(max_length=32)
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(default=timezone.now)
    created_by = models.ForeignKey(
        User, on_delete=SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        ordering: ClassVar[list[str]] = ["id"]
        constraints = [
            UniqueConstraint(fields=["season", "url"], name="webhook_once_an_address")
        ]

    def __str__(self) -> str:
        return self.url


class Delivery(models.Model):
    """The delivery of one event to one webhook. The row is created in the transaction
    of the event, and a job posts the event at least once.
    """

    class State(models.TextChoices):
        QUEUED = "queued", _("queued")
        SENDING = "sending", _("being sent")
        DELIVERED = "delivered", _("delivered")
        FAILED = "failed", _("given up")

    webhook = models.ForeignKey(Webhook, on_delete=CASCADE, related_name="deliveries")
    event = models.CharField(max_length=160)
    kind = models.CharField(max_length=30)
    payload: models.JSONField[dict[str, Any]] = models.JSONField()
    created_at = models.DateTimeField(default=timezone.now)
    job = models.OneToOneField(Job, on_delete=CASCADE, related_name="delivery")
    response_code = models.PositiveSmallIntegerField(null=True, blank=True)
    error = models.CharField(max_length=300, blank=True, default="")
    answered_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["-created_at", "-id"]
        verbose_name_plural = "deliveries"
        constraints = [
            UniqueConstraint(fields=["webhook", "event"], name="delivery_once_an_event")
        ]

    def __str__(self) -> str:
        return f"{self.kind} to {self.webhook}"

    @property
    def state(self) -> Delivery.State:
        posted = {
            Job.State.RUNNING: self.State.SENDING,
            Job.State.DONE: self.State.DELIVERED,
        }
        return posted.get(Job.State(self.job.state)) or self.State(self.job.state)

    @property
    def attempts(self) -> int:
        return self.job.attempt


class AnnouncementQuerySet(models.QuerySet["Announcement"]):
    def standing(self) -> AnnouncementQuerySet:
        return self.filter(taken_back_at=None)


class Announcement(models.Model):
    season = models.ForeignKey(Season, on_delete=CASCADE, related_name="announcements")
    text = models.TextField(help_text="Markdown.")
    announced_at = models.DateTimeField(default=timezone.now)
    announced_by = models.ForeignKey(
        User, on_delete=SET_NULL, null=True, blank=True, related_name="+"
    )
    edited_at = models.DateTimeField(null=True, blank=True)
    taken_back_at = models.DateTimeField(null=True, blank=True)

    objects = AnnouncementQuerySet.as_manager()

    class Meta:
        ordering: ClassVar[list[str]] = ["-announced_at", "-id"]

    def __str__(self) -> str:
        return f"announcement of {format_day(self.announced_at)} in {self.season}"

    @property
    def event(self) -> str:
        return f"announcement-{self.pk}"


class AnnouncementEdit(models.Model):
    announcement = models.ForeignKey(
        Announcement, on_delete=CASCADE, related_name="edits"
    )
    text = models.TextField()
    until = models.DateTimeField(default=timezone.now)
    edited_by = models.ForeignKey(
        User, on_delete=SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        ordering: ClassVar[list[str]] = ["-until", "-id"]

    def __str__(self) -> str:
        return f"{self.announcement} until {format_day(self.until)}"


class QuestionQuerySet(models.QuerySet["Question"]):
    def unanswered(self) -> QuestionQuerySet:
        return self.filter(answered_at=None)

    def public(self) -> QuestionQuerySet:
        return self.filter(is_public=True, answered_at__isnull=False)


class Question(models.Model):
    season = models.ForeignKey(Season, on_delete=CASCADE, related_name="questions")
    text = models.TextField()
    asked_by = models.ForeignKey(
        User, on_delete=SET_NULL, null=True, blank=True, related_name="+"
    )
    asked_at = models.DateTimeField(default=timezone.now)
    answer = models.TextField(blank=True, default="", help_text="Markdown.")
    answered_by = models.ForeignKey(
        User, on_delete=SET_NULL, null=True, blank=True, related_name="+"
    )
    answered_at = models.DateTimeField(null=True, blank=True)
    is_public = models.BooleanField(
        default=False, help_text="Everybody reads question and answer."
    )

    objects = QuestionQuerySet.as_manager()

    class Meta:
        ordering: ClassVar[list[str]] = ["-asked_at", "-id"]
        constraints = [
            CheckConstraint(
                condition=Q(answered_at=None, answer="", is_public=False)
                | (Q(answered_at__isnull=False) & ~Q(answer="")),
                name="question_public_once_answered",
            )
        ]

    def __str__(self) -> str:
        return f"question {self.pk} on {self.season}"


class Report(models.Model):
    address = models.CharField(
        max_length=400, blank=True, help_text="The page that it is about."
    )
    text = models.TextField()
    reported_by = models.ForeignKey(
        User, on_delete=SET_NULL, null=True, blank=True, related_name="+"
    )
    reported_at = models.DateTimeField(default=timezone.now)
    closed_by = models.ForeignKey(
        User, on_delete=SET_NULL, null=True, blank=True, related_name="+"
    )
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["-reported_at", "-id"]

    def __str__(self) -> str:
        return f"report {self.pk}"
