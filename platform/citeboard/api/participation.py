"""API operations for participation, with registrations, terms, questions,
announcements, reports and phases.
"""

import datetime as dt
from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request

from citeboard.acts import phases as phase_acts
from citeboard.acts.announcements import (
    ANNOUNCE,
    EDIT_ANNOUNCEMENT,
    TAKE_BACK_ANNOUNCEMENT,
)
from citeboard.acts.mails import MAIL_TEAMS
from citeboard.acts.questions import ANSWER, ASK
from citeboard.acts.registration import DECIDE, ENTER, TAKE_BACK_ENTRY
from citeboard.acts.reports import ReportForm
from citeboard.acts.runs import CONFIRM, CONTEST
from citeboard.acts.terms import ACCEPT_TERMS, PUBLISH_TERMS
from citeboard.api.operations import deletes, get, makes, post, register_act_operation
from citeboard.api.own_runs import RUN_CHANGE_RESPONSES
from citeboard.api.seasons import END_FIELD, ExtraTriesSerializer, phase_to_organise
from citeboard.api.serializers import (
    build_serializer,
    serializer_for_form,
    serializer_for_model,
    text_list_field,
)
from citeboard.core.api import FORBIDDEN_RESPONSE
from citeboard.teams.api import signed_in_user
from citeboard.teams.models import Team, User
from scoring.models import ResultConfirmation
from scoring.results.board.confirming import (
    TeamResult,
    results_official_since,
    results_to_confirm,
)
from tasks import models
from tasks.models import ExtraTries, Phase
from tasks.registration import entries
from tasks.registration.entries import acceptance_of, current_terms
from tasks.seasons.access import (
    listed_entries,
    may_help,
    require_staff,
    season_for,
    season_to_organise,
)
from tasks.seasons.announcements import (
    close_report as close,
    readable_questions,
    report_abuse,
)


class RegistrationSerializer(serializers.ModelSerializer[models.Registration]):
    """A team in a season."""

    team = serializers.SlugField(source="team.slug")
    name = serializers.CharField(source="team.name")
    alias = serializers.SerializerMethodField(
        help_text="The number that stands for its name; null where names were never hidden."
    )
    state = serializers.SerializerMethodField(
        help_text="One of approved, waiting, refused."
    )

    class Meta:
        model = models.Registration
        fields = ["team", "name", "alias", "state", "registered_at", "reason"]

    def get_alias(self, entry: models.Registration) -> int | None:
        """Return a team's pseudonym, or None if the season hides team names only for
        some time.

        After that time, the pseudonym beside the name would reveal the team's systems.
        """
        return None if entry.season.anonymous_until is None else entry.alias

    def get_state(self, entry: models.Registration) -> str:
        return (
            "approved"
            if entry.is_approved
            else "waiting"
            if entry.is_waiting
            else "refused"
        )


@get(
    "seasons/<slug:slug>/registrations/", role=season_for, pages=RegistrationSerializer
)
def registrations(
    request: Request, season: models.Season
) -> QuerySet[models.Registration]:
    """List the teams of a season.

    Only organisers see refused teams. If the season hides names, only organisers see
    the whole list.
    """
    return listed_entries(request.user, season)


register_act_operation(
    ENTER,
    "seasons/<slug:slug>/registrations/",
    "enter",
    answers=RegistrationSerializer,
)
deletes(
    TAKE_BACK_ENTRY,
    "seasons/<slug:slug>/registrations/<slug:team>/",
    name="registration",
)
register_act_operation(
    DECIDE,
    "seasons/<slug:slug>/registrations/<slug:team>/decision/",
    answers=RegistrationSerializer,
    lets_out=True,
    responses={403: FORBIDDEN_RESPONSE},
)
TermsSerializer = serializer_for_model(
    models.Terms,
    "The version that holds.",
    "version text published_at accepted_at asks",
    version=serializers.IntegerField(source="number"),
    accepted_at=serializers.DateTimeField(
        allow_null=True,
        help_text="When you accepted this version; null where you have not.",
    ),
    asks=text_list_field(
        "What is given with the acceptance; left out, it is the account's.",
        source="season.asks",
    ),
)
AcceptanceSerializer = serializer_for_model(
    models.TermsAcceptance,
    "Who accepted which version, and when.",
    "version name address accepted_at given",
    "Acceptance",
    version=serializers.IntegerField(source="terms.number"),
    address=serializers.EmailField(
        source="user.email",
        default=None,
        allow_null=True,
        help_text="Null where the account is deleted.",
    ),
    given=serializers.DictField(
        child=serializers.CharField(), help_text="What the season asked with it."
    ),
)


@get(
    "seasons/<slug:slug>/terms/", role=season_for, answers=TermsSerializer, is_open=True
)
def terms(request: Request, season: models.Season) -> models.Terms:
    """Return the terms of a season, and whether you have accepted them."""
    if (version := current_terms(season)) is None:
        raise NotFound("This season has no terms.")
    acceptance = acceptance_of(version, request.user)
    version.accepted_at = acceptance.accepted_at if acceptance else None  # type: ignore[attr-defined]
    return version


makes(PUBLISH_TERMS, "seasons/<slug:slug>/terms/versions/", answers=TermsSerializer)
register_act_operation(
    ACCEPT_TERMS,
    "seasons/<slug:slug>/terms/",
    "accept_terms",
    gives=lambda request, acceptance: terms(request, acceptance.terms.season),
    answers=TermsSerializer,
)


@get(
    "seasons/<slug:slug>/terms/acceptances/",
    role=season_to_organise,
    pages=AcceptanceSerializer,
)
def acceptances(
    request: Request, season: models.Season
) -> QuerySet[models.TermsAcceptance]:
    """List the users who accepted the terms, with the version and the time, for
    organisers.
    """
    return entries.acceptances(season)


QuestionSerializer = serializer_for_model(
    models.Question,
    "A question; who asked it is said to nobody here.",
    "id text asked_at answer answered_at is_public",
)


@get(
    "seasons/<slug:slug>/questions/",
    role=season_for,
    pages=QuestionSerializer,
    is_open=True,
)
def questions(request: Request, season: models.Season) -> QuerySet[models.Question]:
    """List questions with public answers and your own questions.

    Organisers and helpers see all questions.
    """
    if may_help(request.user, season):
        return models.Question.objects.filter(season=season)
    return readable_questions(season, request.user)


makes(ASK, "seasons/<slug:slug>/questions/", answers=QuestionSerializer)
register_act_operation(
    ANSWER,
    "seasons/<slug:slug>/questions/<int:question>/answer/",
    "answer",
    answers=QuestionSerializer,
)
EarlierSerializer = serializer_for_model(
    models.AnnouncementEdit,
    "What it said until it was edited.",
    "text until",
    "Earlier",
)
AnnouncedSerializer = serializer_for_model(
    models.Announcement,
    "One announcement; ``edits`` are what it said before, newest first.",
    "id text announced_at edited_at edits",
    "Announced",
    edits=EarlierSerializer(many=True),
)
register_act_operation(
    ANNOUNCE,
    "seasons/<slug:slug>/announcement/",
    "announcement",
    answers=serializer_for_model(
        models.Season,
        "What stands there now.",
        "announcement announced_at",
        "Announcement",
    ),
)


@get(
    "seasons/<slug:slug>/announcements/",
    role=season_for,
    pages=AnnouncedSerializer,
    is_open=True,
)
def announcements(
    request: Request, season: models.Season
) -> QuerySet[models.Announcement]:
    """List the announcements of a season, newest first."""
    return (
        models.Announcement.objects.filter(season=season)
        .standing()
        .prefetch_related("edits")
    )


register_act_operation(
    EDIT_ANNOUNCEMENT,
    "seasons/<slug:slug>/announcements/<int:announcement>/",
    answers=AnnouncedSerializer,
    name="one-announcement",
)
deletes(TAKE_BACK_ANNOUNCEMENT, "seasons/<slug:slug>/announcements/<int:announcement>/")
register_act_operation(
    MAIL_TEAMS,
    "seasons/<slug:slug>/mails/",
    gives=lambda request, made: None,
    name="mails",
)
ReportSerializer = serializer_for_model(
    models.Report,
    "A report of yours, or for staff of anybody.",
    "id address text reported_at closed_at",
)


@get("reports/", pages=ReportSerializer)
def reports(request: Request) -> QuerySet[models.Report]:
    """List reports of abuse, for the site's staff."""
    require_staff(request.user)
    return models.Report.objects.all()


@post(
    "reports/",
    form=serializer_for_form(ReportForm),
    answers=ReportSerializer,
    status=201,
)
def report(request: Request, form: dict[str, Any]) -> models.Report:
    """Report abuse to the site's staff."""
    return report_abuse(by=signed_in_user(request), **form)


@post("reports/<int:pk>/close/", role=require_staff, rest=["pk"])
def close_report(request: Request, user: User, pk: int) -> None:
    """Close a report; for the site's staff."""
    close(report=get_object_or_404(models.Report, pk=pk), by=user)


TimesSerializer = serializer_for_model(
    Phase, "When runs are accepted.", "id opens closes", "Times", closes=END_FIELD
)
BoardSerializer = serializer_for_model(
    Phase,
    "Who sees the board: until `board_from`, and from then on.",
    "id board board_from board_then",
    "Board",
)
FreezeSerializer = serializer_for_model(
    Phase,
    "When others than organisers see the board as it stood at `frozen_from`.",
    "id frozen_from frozen_until is_frozen",
    "Freeze",
    is_frozen=serializers.BooleanField(help_text="Whether it is frozen now."),
)
register_act_operation(
    phase_acts.MOVE, "phases/<int:pk>/times/", "times", answers=TimesSerializer
)
register_act_operation(
    phase_acts.OPEN, "phases/<int:pk>/open/", "open", answers=TimesSerializer
)
register_act_operation(
    phase_acts.CLOSE, "phases/<int:pk>/close/", "close", answers=TimesSerializer
)
register_act_operation(
    phase_acts.SHOW_BOARD, "phases/<int:pk>/board/", "board", answers=BoardSerializer
)
register_act_operation(
    phase_acts.REVEAL, "phases/<int:pk>/reveal/", "reveal", answers=BoardSerializer
)
register_act_operation(
    phase_acts.FREEZE,
    "phases/<int:pk>/freeze/",
    takes=lambda request, phase, sent: (
        {"frozen_from": phase.frozen_from, "frozen_until": phase.frozen_until} | sent
        if sent
        else {}
    ),
    answers=FreezeSerializer,
)
register_act_operation(
    phase_acts.UNFREEZE,
    "phases/<int:pk>/unfreeze/",
    "unfreeze",
    answers=FreezeSerializer,
)
ConfirmedResultSerializer = build_serializer(
    "ConfirmedResult",
    "What a team says of the result of a run that counts.",
    submission=int,
    team=str,
    gold=(int, "The version that the run was scored against."),
    numbers=(str, "A digest of its scores, which changes where one does."),
    state=serializers.ChoiceField(
        choices=["missing", *ResultConfirmation.State.values],
        help_text="Missing too where it was said of other numbers.",
    ),
    message=serializers.CharField(allow_blank=True, help_text="Why it is contested."),
    said_at=dt.datetime | None,
)
ConfirmedResultsSerializer = build_serializer(
    "ConfirmedResults",
    "What teams say of the results of a phase.",
    confirms_results=(bool, "Whether teams are asked."),
    official_since=(dt.datetime | None, "Null while they are preliminary."),
    ended_because=serializers.CharField(
        allow_blank=True, help_text="Why organisers ended it."
    ),
    results=ConfirmedResultSerializer(many=True),
)


def _confirmation_members(result: TeamResult) -> dict[str, Any]:
    said = result.said
    return {
        "submission": result.run.submission,
        "team": result.run.team_slug,
        "gold": result.gold.number,
        "numbers": result.numbers,
        "state": said.state if said else "missing",
        "message": said.message if said else "",
        "said_at": said.at if said else None,
    }


for end, act in {"confirm": CONFIRM, "contest": CONTEST}.items():
    register_act_operation(
        act,
        f"submissions/<int:pk>/{end}/",
        end,
        gives=lambda request, result: _confirmation_members(result),
        answers=ConfirmedResultSerializer,
        responses=RUN_CHANGE_RESPONSES,
    )


@get(
    "phases/<int:pk>/confirmation/",
    role=phase_to_organise,
    answers=ConfirmedResultsSerializer,
)
def confirmation(request: Request, phase: Phase) -> dict[str, Any]:
    """List each team's confirmation of the results of a phase, for organisers."""
    results = results_to_confirm(phase)
    return {
        "confirms_results": phase.confirms_results,
        "official_since": results_official_since(phase, results),
        "ended_because": phase.confirmation_ended_because,
        "results": [_confirmation_members(result) for result in results],
    }


for end, act in {
    "end": phase_acts.END_CONFIRMATION,
    "reopen": phase_acts.REOPEN_CONFIRMATION,
}.items():
    register_act_operation(
        act,
        f"phases/<int:pk>/confirmation/{end}/",
        gives=confirmation,
        answers=ConfirmedResultsSerializer,
    )


@get(
    "phases/<int:pk>/extra-tries/",
    role=phase_to_organise,
    answers=[ExtraTriesSerializer],
)
def extra_tries(request: Request, phase: Phase) -> Any:
    """List the extra tries that organisers have granted to teams in a phase, for
    organisers.
    """
    return phase.extra_tries.select_related("team")


def tries_to_take_back(user: object, pk: int, number: int) -> ExtraTries:
    rows = ExtraTries.objects.select_related("phase__task__season", "team")
    return get_object_or_404(rows, pk=number, phase=phase_to_organise(user, pk))


makes(
    phase_acts.GIVE_TRIES,
    "phases/<int:pk>/extra-tries/",
    takes=lambda request, phase, sent: {
        **sent,
        "team": get_object_or_404(
            Team, slug=sent["team"], registrations__season=phase.task.season_id
        ),
    },
    answers=ExtraTriesSerializer,
)
deletes(
    phase_acts.TAKE_TRIES_BACK,
    "phases/<int:pk>/extra-tries/<int:given>/",
    role=tries_to_take_back,
    name="extra-tries-back",
)
