"""Between organisers and those who take part: entries, terms, questions, announcements, reports."""

from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request

from citeboard.core.api import FORBIDDEN
from citeboard.teams.api import person
from scoring.acts import seasons as acts
from scoring.api.operations import does, get, post
from scoring.api.serializers import form_of, mirror_of_model
from tasks.models import (
    Announcement,
    AnnouncementEdit,
    Question,
    Registration,
    Report,
    Season,
    Terms,
    TermsAcceptance,
)
from tasks.registration import entries
from tasks.registration.entries import acceptance_of, current_terms
from tasks.seasons.access import listed_entries, may_help, season_for, season_to_organise, staff
from tasks.seasons.announcements import readable_questions, report_abuse


class RegistrationSerializer(serializers.ModelSerializer[Registration]):
    """A team in a season."""

    team = serializers.SlugField(source="team.slug")
    name = serializers.CharField(source="team.name")
    alias = serializers.SerializerMethodField(
        help_text="The number that stands for its name; null where names were never hidden."
    )
    state = serializers.SerializerMethodField(help_text="One of approved, waiting, refused.")

    class Meta:
        model = Registration
        fields = ["team", "name", "alias", "state", "registered_at", "reason"]

    def get_alias(self, entry: Registration) -> int | None:
        """Told beside the name before names are hidden, it would say later whose each system is."""
        return None if entry.season.anonymous_until is None else entry.alias

    def get_state(self, entry: Registration) -> str:
        return "approved" if entry.is_approved else "waiting" if entry.is_waiting else "refused"


@get("seasons/<slug:slug>/registrations/", of=season_for, pages=RegistrationSerializer)
def registrations(request: Request, season: Season) -> QuerySet[Registration]:
    """The teams of a season; refused ones, and all where their names are hidden, to organisers alone."""
    return listed_entries(request.user, season)


does(acts.ENTER, "seasons/<slug:slug>/registrations/", answers=RegistrationSerializer)
does(
    acts.TAKE_BACK_ENTRY,
    "seasons/<slug:slug>/registrations/<slug:team>/",
    method="DELETE",
    name="registration",
)
does(
    acts.DECIDE,
    "seasons/<slug:slug>/registrations/<slug:team>/decision/",
    answers=RegistrationSerializer,
    responses={403: FORBIDDEN},
)


TermsSerializer = mirror_of_model(
    "Terms",
    Terms,
    "The version that holds.",
    "version text published_at accepted_at",
    version=serializers.IntegerField(source="number"),
    accepted_at=serializers.DateTimeField(
        allow_null=True, help_text="When you accepted this version; null where you have not."
    ),
)
AcceptanceSerializer = mirror_of_model(
    "Acceptance",
    TermsAcceptance,
    "Who accepted which version, and when.",
    "version name address accepted_at",
    version=serializers.IntegerField(source="terms.number"),
    address=serializers.EmailField(
        source="user.email", default=None, allow_null=True, help_text="Null where the account is deleted."
    ),
)


@get("seasons/<slug:slug>/terms/", of=season_for, answers=TermsSerializer, is_open=True)
def terms(request: Request, season: Season) -> Terms:
    """The terms of a season, and whether you have accepted them."""
    version = current_terms(season)
    if version is None:
        raise NotFound("This season has no terms.")
    acceptance = acceptance_of(version, request.user)
    version.accepted_at = acceptance.accepted_at if acceptance else None  # type: ignore[attr-defined]
    return version


does(
    acts.ACCEPT_TERMS,
    "seasons/<slug:slug>/terms/",
    operation_id="accept_terms",
    gives=lambda request, acceptance: terms(request, acceptance.terms.season),
    answers=TermsSerializer,
)


@get("seasons/<slug:slug>/terms/acceptances/", of=season_to_organise, pages=AcceptanceSerializer)
def acceptances(request: Request, season: Season) -> QuerySet[TermsAcceptance]:
    """Who accepted which version of the terms, and when; for organisers."""
    return entries.acceptances(season)


QuestionSerializer = mirror_of_model(
    "Question",
    Question,
    "A question; who asked it is said to nobody here.",
    "id text asked_at answer answered_at is_public",
)


@get("seasons/<slug:slug>/questions/", of=season_for, pages=QuestionSerializer, is_open=True)
def questions(request: Request, season: Season) -> QuerySet[Question]:
    """Questions that were answered in public and your own; to who runs the season all."""
    if may_help(request.user, season):
        return Question.objects.filter(season=season)
    return readable_questions(season, request.user)


does(acts.ASK, "seasons/<slug:slug>/questions/", answers=QuestionSerializer, status=201)
does(
    acts.ANSWER,
    "seasons/<slug:slug>/questions/<int:question>/answer/",
    operation_id="answer",
    answers=QuestionSerializer,
)
EarlierSerializer = mirror_of_model(
    "Earlier", AnnouncementEdit, "What it said until it was edited.", "text until"
)
AnnouncedSerializer = mirror_of_model(
    "Announced",
    Announcement,
    "One announcement; ``edits`` are what it said before, newest first.",
    "id text announced_at edited_at edits",
    edits=EarlierSerializer(many=True),
)


does(
    acts.ANNOUNCE,
    "seasons/<slug:slug>/announcement/",
    operation_id="announcement",
    answers=mirror_of_model("Announcement", Season, "What stands there now.", "announcement announced_at"),
)


@get("seasons/<slug:slug>/announcements/", of=season_for, pages=AnnouncedSerializer, is_open=True)
def announcements(request: Request, season: Season) -> QuerySet[Announcement]:
    """What was announced in a season, newest first."""
    return Announcement.objects.filter(season=season).standing().prefetch_related("edits")


does(
    acts.EDIT_ANNOUNCEMENT,
    "seasons/<slug:slug>/announcements/<int:announcement>/",
    answers=AnnouncedSerializer,
    name="one-announcement",
)
does(acts.TAKE_BACK_ANNOUNCEMENT, "seasons/<slug:slug>/announcements/<int:announcement>/", method="DELETE")
ReportSerializer = mirror_of_model(
    "Report", Report, "A report of yours, or for staff of anybody.", "id address text reported_at closed_at"
)


@get("reports/", pages=ReportSerializer)
def reports(request: Request) -> QuerySet[Report]:
    """Reports of abuse, for the site's staff."""
    staff(request.user)
    return Report.objects.all()


@post("reports/", form=form_of(acts.ReportForm), answers=ReportSerializer, status=201)
def report(request: Request, form: dict[str, Any]) -> Report:
    """Report abuse to those who run the site."""
    return report_abuse(by=person(request), **form)
