from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import (
    CASCADE,
    PROTECT,
    SET_NULL,
    Exists,
    F,
    OuterRef,
    Q,
    UniqueConstraint,
)
from django.utils import timezone
from django.utils.translation import gettext

from citeboard.core.models import build_json_field_with_default
from citeboard.teams.models import Membership, Team, User
from tasks.models.seasons import Season


class RegistrationQuerySet(models.QuerySet["Registration"]):
    def approved(self) -> RegistrationQuerySet:
        return self.filter(is_approved=True)

    def waiting(self) -> RegistrationQuerySet:
        return self.filter(is_approved=False, decided_at=None)

    def refused(self) -> RegistrationQuerySet:
        return self.filter(is_approved=False, decided_at__isnull=False)

    def marked(self) -> RegistrationQuerySet:
        own = Membership.objects.filter(
            team=OuterRef("team"), user__organises__season=OuterRef("season")
        )
        return self.annotate(has_organiser=Exists(own))

    def not_refused(self) -> RegistrationQuerySet:
        return self.filter(Q(is_approved=True) | Q(decided_at=None))


def format_team_pseudonym(alias: int | None) -> str | None:
    return None if alias is None else f"Team {alias}"


def get_team_name_for_others(season: Season, team: Team) -> str:
    """Return the team's name, or its pseudonym if the season hides the names of teams
    from other teams.
    """
    if season.shows_team_names():
        return team.name
    entry = Registration.objects.filter(season=season, team=team).first()
    return entry.pseudonym if entry else gettext("a team")


class Registration(models.Model):
    """The entry (registration) of a team in a season. An entry is refused if organisers
    have decided on the entry without approving it.
    """

    season = models.ForeignKey(Season, on_delete=CASCADE, related_name="registrations")
    team = models.ForeignKey(Team, on_delete=PROTECT, related_name="registrations")
    is_approved = models.BooleanField(default=True)
    registered_at = models.DateTimeField(default=timezone.now)
    message = models.TextField(
        blank=True,
        default="",
        db_default="",
        help_text="What the team tells who decides on its entry.",
    )
    decided_at = models.DateTimeField(null=True, blank=True)
    decided_by = models.ForeignKey(
        User, on_delete=SET_NULL, null=True, blank=True, related_name="+"
    )
    reason = models.TextField(
        blank=True, help_text="Why it was refused; its team reads it."
    )
    alias = models.PositiveIntegerField(
        null=True,
        blank=True,
        editable=False,
        help_text="The number that stands for its name.",
    )

    objects = RegistrationQuerySet.as_manager()

    class Meta:
        constraints = [
            UniqueConstraint(fields=["season", "team"], name="registration_once"),
            UniqueConstraint(
                fields=["season", "alias"], name="registration_alias_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.team} in {self.season}"

    @property
    def pseudonym(self) -> str:
        return format_team_pseudonym(self.alias) or gettext("a team")

    @property
    def is_waiting(self) -> bool:
        return not self.is_approved and self.decided_at is None

    @property
    def is_refused(self) -> bool:
        return not self.is_approved and self.decided_at is not None


class JoinRequest(models.Model):
    """A user's request to join a team of a season, which any member of the team may
    answer.
    """

    team = models.ForeignKey(Team, on_delete=CASCADE, related_name="join_requests")
    user = models.ForeignKey(User, on_delete=CASCADE, related_name="join_requests")
    season = models.ForeignKey(Season, on_delete=CASCADE, related_name="+")
    message = models.TextField(blank=True, default="")
    asked_at = models.DateTimeField(default=timezone.now)
    declined_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["asked_at", "id"]
        constraints = [
            UniqueConstraint(
                fields=["team", "user"], name="join_request_once_a_person_and_team"
            )
        ]

    def __str__(self) -> str:
        return f"{self.user} asks to join {self.team}"

    @property
    def event(self) -> str:
        return f"join-{self.pk}-{self.asked_at.timestamp()}"


class MergeProposal(models.Model):
    """A proposal to merge a team into another team, on which the other team's lead
    decides. The proposal is deleted after the decision or when it is withdrawn.
    """

    season = models.ForeignKey(
        Season, on_delete=CASCADE, related_name="merge_proposals"
    )
    team = models.ForeignKey(Team, on_delete=CASCADE, related_name="merges_proposed")
    into = models.ForeignKey(Team, on_delete=CASCADE, related_name="merges_asked")
    proposed_by = models.ForeignKey(
        User, on_delete=SET_NULL, null=True, related_name="+"
    )
    proposed_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering: ClassVar[list[str]] = ["proposed_at", "id"]
        constraints = [
            UniqueConstraint(
                fields=["season", "team"], name="merge_proposal_once_a_team"
            ),
            models.CheckConstraint(
                condition=~Q(team=F("into")), name="merge_of_two_teams"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.team} into {self.into}"

    @property
    def event(self) -> str:
        return f"merge-{self.pk}-{self.proposed_at.timestamp()}"

    @property
    def is_asked(self) -> bool:
        return getattr(self, "answers", False)

    @property
    def other(self) -> str:
        return "team" if self.is_asked else "into"

    @property
    def names(self) -> dict[str, str]:
        others = get_team_name_for_others(self.season, getattr(self, self.other))
        return {"team": self.team.name, "into": self.into.name, self.other: others}

    @property
    def slugs_shown_to_asking_team(self) -> dict[str, str | None]:
        hidden = {} if self.season.shows_team_names() else {self.other: None}
        return {"team": self.team.slug, "into": self.into.slug, **hidden}


class Terms(models.Model):
    """A version of the terms of participation in a season. The text of a version never
    changes, because participants accept a certain text.
    """

    season = models.ForeignKey(Season, on_delete=CASCADE, related_name="terms")
    number = models.PositiveIntegerField()
    text = models.TextField(help_text="Markdown.")
    published_at = models.DateTimeField(default=timezone.now)
    counts_from = models.DateTimeField(
        null=True,
        help_text="Until then the version before holds for who has accepted that; null: at once.",
    )
    published_by = models.ForeignKey(
        User, on_delete=SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        verbose_name_plural = "terms"
        ordering = ["-number"]
        constraints = [
            UniqueConstraint(fields=["season", "number"], name="terms_number_once")
        ]

    def __str__(self) -> str:
        return f"version {self.number} of the terms"


class TermsAcceptance(models.Model):
    """A person's acceptance of a version of the terms. ``name`` is the person's name at
    the time of the acceptance.
    """

    terms = models.ForeignKey(Terms, on_delete=CASCADE, related_name="acceptances")
    user = models.ForeignKey(
        User, on_delete=SET_NULL, null=True, blank=True, related_name="+"
    )
    name = models.CharField(max_length=120)
    accepted_at = models.DateTimeField(default=timezone.now)
    given: models.JSONField[dict[str, str]] = build_json_field_with_default(
        dict,
        "What the season asked of the person with it, by field; organisers alone read it.",
        blank=True,
    )

    class Meta:
        constraints = [
            UniqueConstraint(fields=["terms", "user"], name="terms_accepted_once")
        ]

    def __str__(self) -> str:
        return f"{self.name} accepted {self.terms}"
