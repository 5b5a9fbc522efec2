"""Between organisers and those who take part: entries, terms, questions, announcements, reports."""

from typing import Any

from django.db.models import QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request

from citeboard.core.api import FORBIDDEN
from citeboard.teams.access import team_for_member
from citeboard.teams.api import person
from scoring.api.operations import delete, get, post
from scoring.api.serializers import mirror_of_model, optional_text
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
from tasks.seasons import announcements as news
from tasks.seasons.access import listed_entries, may_help, season_for, season_to_help, season_to_organise

MAX_REASON = 500


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


class EnterForm(serializers.Serializer[Any]):
    """A team that would take part."""

    team = serializers.CharField(help_text="The slug of a team of yours.")
    message = optional_text(entries.MAX_MESSAGE, "For the organisers who decide on the entry.")


class DecisionForm(serializers.Serializer[Any]):
    """What organisers decide on a team."""

    decision = serializers.ChoiceField(choices=["approve", "refuse"])
    reason = optional_text(MAX_REASON, "Its team reads it.")


@get("seasons/<slug:slug>/registrations/", of=season_for, pages=RegistrationSerializer)
def registrations(request: Request, season: Season) -> QuerySet[Registration]:
    """The teams of a season; refused ones, and all where their names are hidden, to organisers alone."""
    return listed_entries(request.user, season)


@post("seasons/<slug:slug>/registrations/", of=season_for, form=EnterForm, answers=RegistrationSerializer)
def enter(request: Request, season: Season, form: dict[str, Any]) -> Registration:
    """Take part in a season with a team; once more changes nothing."""
    team = team_for_member(request.user, form["team"])
    return entries.register_team(season=season, team=team, by=person(request), message=form["message"])


@delete("seasons/<slug:slug>/registrations/<slug:team>/", of=season_for, name="registration")
def take_back_entry(request: Request, season: Season, team: str) -> None:
    """Leave a season in which the team has sent no run."""
    entry = get_object_or_404(Registration, season=season, team=team_for_member(request.user, team))
    entries.take_back_entry(registration=entry, by=person(request))


def entry_to_decide(user: object, slug: str, team: str) -> Registration:
    season = season_to_help(user, slug)
    return get_object_or_404(Registration.objects.select_related("team"), season=season, team__slug=team)


@post(
    "seasons/<slug:slug>/registrations/<slug:team>/decision/",
    of=entry_to_decide,
    form=DecisionForm,
    answers=RegistrationSerializer,
    responses={403: FORBIDDEN},
)
def decide(request: Request, entry: Registration, form: dict[str, Any]) -> Registration:
    """Let a team take part, or not; for organisers."""
    if form["decision"] == "approve":
        entries.approve_team(registration=entry, by=person(request))
    else:
        entries.refuse_team(registration=entry, by=person(request), reason=form["reason"].strip())
    entry.refresh_from_db()
    return entry


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


class AcceptForm(serializers.Serializer[Any]):
    """The version that was read."""

    version = serializers.IntegerField(min_value=1, max_value=2**31 - 1)


@get("seasons/<slug:slug>/terms/", of=season_for, answers=TermsSerializer, is_open=True)
def terms(request: Request, season: Season) -> Terms:
    """The terms of a season, and whether you have accepted them."""
    version = entries.current_terms(season)
    if version is None:
        raise NotFound("This season has no terms.")
    acceptance = entries.acceptance_of(version, request.user)
    version.accepted_at = acceptance.accepted_at if acceptance else None  # type: ignore[attr-defined]
    return version


@post("seasons/<slug:slug>/terms/", of=season_for, form=AcceptForm, answers=TermsSerializer)
def accept_terms(request: Request, season: Season, form: dict[str, Any]) -> Terms:
    """Accept the terms of a season."""
    entries.accept_terms(season=season, number=form["version"], user=person(request))
    return terms(request, season)


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


class QuestionForm(serializers.Serializer[Any]):
    """What you want to know."""

    text = serializers.CharField(max_length=news.MAX_TEXT)


class AnswerForm(serializers.Serializer[Any]):
    """The answer, and whether everybody reads it with the question."""

    answer = serializers.CharField(max_length=news.MAX_TEXT, help_text="Markdown.")
    is_public = serializers.BooleanField()


@get("seasons/<slug:slug>/questions/", of=season_for, pages=QuestionSerializer, is_open=True)
def questions(request: Request, season: Season) -> QuerySet[Question]:
    """Questions that were answered in public and your own; to who runs the season all."""
    if may_help(request.user, season):
        return Question.objects.filter(season=season)
    return news.readable_questions(season, request.user)


@post(
    "seasons/<slug:slug>/questions/", of=season_for, form=QuestionForm, answers=QuestionSerializer, status=201
)
def ask(request: Request, season: Season, form: dict[str, Any]) -> Question:
    """Ask the organisers of a season."""
    return news.ask(season=season, text=form["text"], by=person(request))


def question_to_answer(user: object, slug: str, number: int) -> Question:
    return get_object_or_404(Question, season=season_to_help(user, slug), pk=number)


@post(
    "seasons/<slug:slug>/questions/<int:question>/answer/",
    of=question_to_answer,
    form=AnswerForm,
    answers=QuestionSerializer,
)
def answer(request: Request, question: Question, form: dict[str, Any]) -> Question:
    """Answer a question; for organisers."""
    return news.answer(
        question=question, text=form["answer"], is_public=form["is_public"], by=person(request)
    )


class AnnouncementForm(serializers.Serializer[Any]):
    """What stands at the top of a season's page."""

    text = serializers.CharField(
        allow_blank=True, max_length=news.MAX_TEXT, help_text="Markdown; empty to take it away."
    )


class EditForm(serializers.Serializer[Any]):
    """What it shall say."""

    text = serializers.CharField(max_length=news.MAX_TEXT, help_text="Markdown.")


AnnouncementSerializer = mirror_of_model(
    "Announcement", Season, "What stands there now.", "announcement announced_at"
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


@post(
    "seasons/<slug:slug>/announcement/",
    of=season_to_help,
    form=AnnouncementForm,
    answers=AnnouncementSerializer,
)
def announcement(request: Request, season: Season, form: dict[str, Any]) -> Season:
    """Announce something on a season's page; for organisers."""
    return news.announce(season=season, text=form["text"], by=person(request))


@get("seasons/<slug:slug>/announcements/", of=season_for, pages=AnnouncedSerializer, is_open=True)
def announcements(request: Request, season: Season) -> QuerySet[Announcement]:
    """What was announced in a season, newest first."""
    return Announcement.objects.filter(season=season).standing().prefetch_related("edits")


def announcement_to_change(user: object, slug: str, number: int) -> Announcement:
    season = season_to_help(user, slug)
    return get_object_or_404(Announcement.objects.standing(), pk=number, season=season)


@post(
    "seasons/<slug:slug>/announcements/<int:announcement>/",
    of=announcement_to_change,
    form=EditForm,
    answers=AnnouncedSerializer,
    name="one-announcement",
)
def edit_announcement(request: Request, announcement: Announcement, form: dict[str, Any]) -> Announcement:
    """Change what an announcement says; for organisers."""
    return news.edit_announcement(announcement=announcement, text=form["text"], by=person(request))


@delete("seasons/<slug:slug>/announcements/<int:announcement>/", of=announcement_to_change)
def take_back_announcement(request: Request, announcement: Announcement) -> None:
    """Take an announcement back; for organisers."""
    news.take_back_announcement(announcement=announcement, by=person(request))


class ReportForm(serializers.Serializer[Any]):
    """What is wrong, and where."""

    text = serializers.CharField(max_length=news.MAX_TEXT)
    address = optional_text(news.MAX_ADDRESS, "The page.")


ReportSerializer = mirror_of_model(
    "Report", Report, "A report of yours, or for staff of anybody.", "id address text reported_at closed_at"
)


@get("reports/", pages=ReportSerializer)
def reports(request: Request) -> QuerySet[Report]:
    """Reports of abuse, for the site's staff."""
    if not person(request).is_staff:
        raise Http404
    return Report.objects.all()


@post("reports/", form=ReportForm, answers=ReportSerializer, status=201)
def report(request: Request, form: dict[str, Any]) -> Report:
    """Report abuse to those who run the site."""
    return news.report_abuse(by=person(request), **form)
