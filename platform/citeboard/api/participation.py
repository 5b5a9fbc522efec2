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
    EDIT_ANNOUNCEMENT,
    PUBLISH_ANNOUNCEMENT,
    WITHDRAW_ANNOUNCEMENT,
)
from citeboard.acts.mails import SEND_MAIL_TO_TEAMS
from citeboard.acts.questions import ANSWER_QUESTION, ASK_ORGANISERS
from citeboard.acts.registration import (
    DECIDE_ON_REGISTRATION,
    REGISTER_TEAM,
    WITHDRAW_REGISTRATION,
)
from citeboard.acts.reports import ReportForm
from citeboard.acts.runs import CONFIRM_RESULT, CONTEST_RESULT
from citeboard.acts.terms import ACCEPT_TERMS, PUBLISH_TERMS
from citeboard.api.operations import (
    get,
    post,
    register_action_operation,
    register_creating_action,
    register_deleting_action,
)
from citeboard.api.own_runs import RUN_CHANGE_ERROR_RESPONSES
from citeboard.api.seasons import (
    PHASE_END_FIELD,
    ExtraTriesSerializer,
    organised_phase_or_404,
)
from citeboard.api.serializers import (
    build_form_serializer,
    build_model_serializer,
    build_serializer,
    build_text_list_field,
)
from citeboard.core.api import FORBIDDEN_RESPONSE
from citeboard.teams.api import require_signed_in_user
from citeboard.teams.models import Team, User
from scoring.models import ResultConfirmation
from scoring.results.board.confirming import (
    ResultToConfirm,
    find_results_to_confirm,
    find_time_results_became_official,
)
from tasks import models
from tasks.models import ExtraTries, Phase
from tasks.registration import entries
from tasks.registration.entries import find_terms_acceptance, get_newest_terms
from tasks.seasons.access import (
    can_help_season,
    get_organised_season_or_404,
    get_visible_season_or_404,
    list_visible_entries,
    require_staff,
)
from tasks.seasons.announcements import (
    close_abuse_report as close,
    list_readable_questions,
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
    "seasons/<slug:slug>/registrations/",
    role=get_visible_season_or_404,
    pages=RegistrationSerializer,
)
def registrations(
    request: Request, season: models.Season
) -> QuerySet[models.Registration]:
    """List the teams of a season.

    Only organisers see refused teams. If the season hides names, only organisers see
    the whole list.
    """
    return list_visible_entries(request.user, season)


register_action_operation(
    REGISTER_TEAM,
    "seasons/<slug:slug>/registrations/",
    "enter",
    answers=RegistrationSerializer,
)
register_deleting_action(
    WITHDRAW_REGISTRATION,
    "seasons/<slug:slug>/registrations/<slug:team>/",
    name="registration",
)
register_action_operation(
    DECIDE_ON_REGISTRATION,
    "seasons/<slug:slug>/registrations/<slug:team>/decision/",
    answers=RegistrationSerializer,
    lets_out=True,
    responses={403: FORBIDDEN_RESPONSE},
)
SeasonTermsSerializer = build_model_serializer(
    models.Terms,
    "The version that holds.",
    "version text published_at accepted_at asks",
    version=serializers.IntegerField(source="number"),
    accepted_at=serializers.DateTimeField(
        allow_null=True,
        help_text="When you accepted this version; null where you have not.",
    ),
    asks=build_text_list_field(
        "What is given with the acceptance; left out, it is the account's.",
        source="season.asks",
    ),
)
TermsAcceptanceSerializer = build_model_serializer(
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
    "seasons/<slug:slug>/terms/",
    role=get_visible_season_or_404,
    answers=SeasonTermsSerializer,
    is_open=True,
)
def terms(request: Request, season: models.Season) -> models.Terms:
    """Return the terms of a season, and whether you have accepted them."""
    if (version := get_newest_terms(season)) is None:
        raise NotFound("This season has no terms.")
    acceptance = find_terms_acceptance(version, request.user)
    version.accepted_at = acceptance.accepted_at if acceptance else None  # type: ignore[attr-defined]
    return version


register_creating_action(
    PUBLISH_TERMS, "seasons/<slug:slug>/terms/versions/", answers=SeasonTermsSerializer
)
register_action_operation(
    ACCEPT_TERMS,
    "seasons/<slug:slug>/terms/",
    "accept_terms",
    gives=lambda request, acceptance: terms(request, acceptance.terms.season),
    answers=SeasonTermsSerializer,
)


@get(
    "seasons/<slug:slug>/terms/acceptances/",
    role=get_organised_season_or_404,
    pages=TermsAcceptanceSerializer,
)
def acceptances(
    request: Request, season: models.Season
) -> QuerySet[models.TermsAcceptance]:
    """List the users who accepted the terms, with the version and the time, for
    organisers.
    """
    return entries.list_terms_acceptances(season)


QuestionSerializer = build_model_serializer(
    models.Question,
    "A question; who asked it is said to nobody here.",
    "id text asked_at answer answered_at is_public",
)


@get(
    "seasons/<slug:slug>/questions/",
    role=get_visible_season_or_404,
    pages=QuestionSerializer,
    is_open=True,
)
def questions(request: Request, season: models.Season) -> QuerySet[models.Question]:
    """List questions with public answers and your own questions.

    Organisers and helpers see all questions.
    """
    if can_help_season(request.user, season):
        return models.Question.objects.filter(season=season)
    return list_readable_questions(season, request.user)


register_creating_action(
    ASK_ORGANISERS, "seasons/<slug:slug>/questions/", answers=QuestionSerializer
)
register_action_operation(
    ANSWER_QUESTION,
    "seasons/<slug:slug>/questions/<int:question>/answer/",
    "answer",
    answers=QuestionSerializer,
)
AnnouncementEditSerializer = build_model_serializer(
    models.AnnouncementEdit,
    "What it said until it was edited.",
    "text until",
    "Earlier",
)
AnnouncementSerializer = build_model_serializer(
    models.Announcement,
    "One announcement; ``edits`` are what it said before, newest first.",
    "id text announced_at edited_at edits",
    "Announced",
    edits=AnnouncementEditSerializer(many=True),
)
register_action_operation(
    PUBLISH_ANNOUNCEMENT,
    "seasons/<slug:slug>/announcement/",
    "announcement",
    answers=build_model_serializer(
        models.Season,
        "What stands there now.",
        "announcement announced_at",
        "Announcement",
    ),
)


@get(
    "seasons/<slug:slug>/announcements/",
    role=get_visible_season_or_404,
    pages=AnnouncementSerializer,
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


register_action_operation(
    EDIT_ANNOUNCEMENT,
    "seasons/<slug:slug>/announcements/<int:announcement>/",
    answers=AnnouncementSerializer,
    name="one-announcement",
)
register_deleting_action(
    WITHDRAW_ANNOUNCEMENT, "seasons/<slug:slug>/announcements/<int:announcement>/"
)
register_action_operation(
    SEND_MAIL_TO_TEAMS,
    "seasons/<slug:slug>/mails/",
    gives=lambda request, made: None,
    name="mails",
)
ProblemReportSerializer = build_model_serializer(
    models.Report,
    "A report of yours, or for staff of anybody.",
    "id address text reported_at closed_at",
)


@get("reports/", pages=ProblemReportSerializer)
def reports(request: Request) -> QuerySet[models.Report]:
    """List reports of abuse, for the site's staff."""
    require_staff(request.user)
    return models.Report.objects.all()


@post(
    "reports/",
    form=build_form_serializer(ReportForm),
    answers=ProblemReportSerializer,
    status=201,
)
def report(request: Request, form: dict[str, Any]) -> models.Report:
    """Report abuse to the site's staff."""
    return report_abuse(by=require_signed_in_user(request), **form)


@post("reports/<int:pk>/close/", role=require_staff, rest=["pk"])
def close_report(request: Request, user: User, pk: int) -> None:
    """Close a report; for the site's staff."""
    close(report=get_object_or_404(models.Report, pk=pk), by=user)


PhaseTimesSerializer = build_model_serializer(
    Phase, "When runs are accepted.", "id opens closes", "Times", closes=PHASE_END_FIELD
)
BoardAudienceSerializer = build_model_serializer(
    Phase,
    "Who sees the board: until `board_from`, and from then on.",
    "id board board_from board_then",
    "Board",
)
BoardFreezeSerializer = build_model_serializer(
    Phase,
    "When others than organisers see the board as it stood at `frozen_from`.",
    "id frozen_from frozen_until is_frozen",
    "Freeze",
    is_frozen=serializers.BooleanField(help_text="Whether it is frozen now."),
)
register_action_operation(
    phase_acts.MOVE_PHASE,
    "phases/<int:pk>/times/",
    "times",
    answers=PhaseTimesSerializer,
)
register_action_operation(
    phase_acts.OPEN_PHASE_NOW,
    "phases/<int:pk>/open/",
    "open",
    answers=PhaseTimesSerializer,
)
register_action_operation(
    phase_acts.CLOSE_PHASE_NOW,
    "phases/<int:pk>/close/",
    "close",
    answers=PhaseTimesSerializer,
)
register_action_operation(
    phase_acts.CHANGE_BOARD_AUDIENCE,
    "phases/<int:pk>/board/",
    "board",
    answers=BoardAudienceSerializer,
)
register_action_operation(
    phase_acts.REVEAL_BOARD_NOW,
    "phases/<int:pk>/reveal/",
    "reveal",
    answers=BoardAudienceSerializer,
)
register_action_operation(
    phase_acts.FREEZE_BOARD,
    "phases/<int:pk>/freeze/",
    takes=lambda request, phase, sent: (
        {"frozen_from": phase.frozen_from, "frozen_until": phase.frozen_until} | sent
        if sent
        else {}
    ),
    answers=BoardFreezeSerializer,
)
register_action_operation(
    phase_acts.UNFREEZE_BOARD,
    "phases/<int:pk>/unfreeze/",
    "unfreeze",
    answers=BoardFreezeSerializer,
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


def _serialize_team_result(result: ResultToConfirm) -> dict[str, Any]:
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


for end, act in {"confirm": CONFIRM_RESULT, "contest": CONTEST_RESULT}.items():
    register_action_operation(
        act,
        f"submissions/<int:pk>/{end}/",
        end,
        gives=lambda request, result: _serialize_team_result(result),
        answers=ConfirmedResultSerializer,
        responses=RUN_CHANGE_ERROR_RESPONSES,
    )


@get(
    "phases/<int:pk>/confirmation/",
    role=organised_phase_or_404,
    answers=ConfirmedResultsSerializer,
)
def confirmation(request: Request, phase: Phase) -> dict[str, Any]:
    """List each team's confirmation of the results of a phase, for organisers."""
    results = find_results_to_confirm(phase)
    return {
        "confirms_results": phase.confirms_results,
        "official_since": find_time_results_became_official(phase, results),
        "ended_because": phase.confirmation_ended_because,
        "results": [_serialize_team_result(result) for result in results],
    }


for end, act in {
    "end": phase_acts.END_RESULT_CONFIRMATION,
    "reopen": phase_acts.REOPEN_RESULT_CONFIRMATION,
}.items():
    register_action_operation(
        act,
        f"phases/<int:pk>/confirmation/{end}/",
        gives=confirmation,
        answers=ConfirmedResultsSerializer,
    )


@get(
    "phases/<int:pk>/extra-tries/",
    role=organised_phase_or_404,
    answers=[ExtraTriesSerializer],
)
def extra_tries(request: Request, phase: Phase) -> Any:
    """List the extra tries that organisers have granted to teams in a phase, for
    organisers.
    """
    return phase.extra_tries.select_related("team")


def revocable_extra_tries_or_404(user: object, pk: int, number: int) -> ExtraTries:
    rows = ExtraTries.objects.select_related("phase__task__season", "team")
    return get_object_or_404(rows, pk=number, phase=organised_phase_or_404(user, pk))


register_creating_action(
    phase_acts.GRANT_EXTRA_TRIES,
    "phases/<int:pk>/extra-tries/",
    takes=lambda request, phase, sent: {
        **sent,
        "team": get_object_or_404(
            Team, slug=sent["team"], registrations__season=phase.task.season_id
        ),
    },
    answers=ExtraTriesSerializer,
)
register_deleting_action(
    phase_acts.WITHDRAW_EXTRA_TRIES,
    "phases/<int:pk>/extra-tries/<int:given>/",
    role=revocable_extra_tries_or_404,
    name="extra-tries-back",
)
