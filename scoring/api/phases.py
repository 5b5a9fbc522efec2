"""What organisers do to a phase: its times, its board, confirmed results and tries of single teams."""

from typing import Any

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request

from citeboard.teams.access import team_for_lead
from citeboard.teams.api import person
from citeboard.teams.models import Team
from scoring.api.operations import delete, get, post
from scoring.api.own_runs import RUN_CHANGED, own_run
from scoring.api.seasons import ExtraTriesSerializer, phase_to_organise
from scoring.api.serializers import MomentField, mirror_of_model
from scoring.board.confirming import Result, official_since, results_of
from scoring.board.snapshots import save_frozen_board
from scoring.models import ResultConfirmation
from scoring.runs import confirming
from tasks.models import ExtraTries, Phase, Submission
from tasks.seasons.phase_acts import (
    BOARD_FIELDS,
    FREEZE_FIELDS,
    change_board,
    close_now,
    freeze_board,
    freeze_now,
    move_phase,
    open_now,
    reveal_frozen,
    reveal_now,
)
from tasks.submissions.run_acts import MAX_REASON, MAX_TRIES
from tasks.submissions.run_acts import give_tries as grant_tries
from tasks.submissions.run_acts import take_tries_back as revoke_tries


class TimesForm(serializers.Serializer[Any]):
    """When runs shall be accepted; what is left out stays as it is."""

    opens = MomentField(required=False)
    closes = MomentField(required=False)


class BoardForm(serializers.Serializer[Any]):
    """Who shall see the board, and from when somebody else; what is left out stays as it is."""

    board = serializers.ChoiceField(choices=Phase.Audience.choices, required=False)
    board_from = MomentField(required=False, allow_null=True)
    board_then = serializers.ChoiceField(choices=Phase.Audience.choices, required=False, allow_blank=True)


class FreezeForm(serializers.Serializer[Any]):
    """From when the board is frozen, and until when; what is left out stays as it is."""

    frozen_from = MomentField(required=False, allow_null=True)
    frozen_until = MomentField(required=False, allow_null=True)


TimesSerializer = mirror_of_model("Times", Phase, "When runs are accepted.", "id opens closes")
BoardSerializer = mirror_of_model(
    "Board",
    Phase,
    "Who sees the board: until `board_from`, and from then on.",
    "id board board_from board_then",
)
FreezeSerializer = mirror_of_model(
    "Freeze",
    Phase,
    "When others than organisers see the board as it stood at `frozen_from`.",
    "id frozen_from frozen_until is_frozen",
    is_frozen=serializers.BooleanField(help_text="Whether it is frozen now."),
)


@post("phases/<int:pk>/times/", of=phase_to_organise, form=TimesForm, answers=TimesSerializer)
def times(request: Request, phase: Phase, form: dict[str, Any]) -> Phase:
    """Move when a phase opens and closes; for organisers."""
    instants = {"opens": phase.opens, "closes": phase.closes, **form}
    return move_phase(phase=phase, by=person(request), **instants)


@post("phases/<int:pk>/open/", of=phase_to_organise, answers=TimesSerializer, operation_id="open")
def open_phase(request: Request, phase: Phase) -> Phase:
    """Accept runs from now on; for organisers."""
    return open_now(phase=phase, by=person(request))


@post("phases/<int:pk>/close/", of=phase_to_organise, answers=TimesSerializer)
def close(request: Request, phase: Phase) -> Phase:
    """Accept no more runs from now on; for organisers."""
    return close_now(phase=phase, by=person(request))


@post("phases/<int:pk>/board/", of=phase_to_organise, form=BoardForm, answers=BoardSerializer)
def board(request: Request, phase: Phase, form: dict[str, Any]) -> Phase:
    """Say who sees a phase's board, and from when somebody else; for organisers."""
    wanted = {name: getattr(phase, name) for name in BOARD_FIELDS} | form
    return change_board(phase=phase, by=person(request), **wanted)


@post("phases/<int:pk>/reveal/", of=phase_to_organise, answers=BoardSerializer)
def reveal(request: Request, phase: Phase) -> Phase:
    """Show a phase's board to everybody from now on; for organisers."""
    return reveal_now(phase=phase, by=person(request))


@post("phases/<int:pk>/freeze/", of=phase_to_organise, form=FreezeForm, answers=FreezeSerializer)
def freeze(request: Request, phase: Phase, form: dict[str, Any]) -> Phase:
    """Freeze a phase's board for others, at the instants given or now; for organisers."""
    if form:
        wanted = {name: getattr(phase, name) for name in FREEZE_FIELDS} | form
        return freeze_board(phase=phase, by=person(request), **wanted)
    frozen = freeze_now(phase=phase, by=person(request))
    save_frozen_board(frozen)
    return frozen


@post("phases/<int:pk>/unfreeze/", of=phase_to_organise, answers=FreezeSerializer)
def unfreeze(request: Request, phase: Phase) -> Phase:
    """Reveal a frozen board as it stands now; for organisers."""
    return reveal_frozen(phase=phase, by=person(request))


class ConfirmForm(serializers.Serializer[Any]):
    """The numbers as they are now, or those that were read."""

    seen = serializers.CharField(
        required=False,
        allow_blank=True,
        default="",
        max_length=64,
        help_text="The `numbers` of an answer; refused where the scores are others by now.",
    )


class ContestForm(ConfirmForm):
    """What is wrong with them."""

    message = serializers.CharField(max_length=confirming.MAX_MESSAGE, help_text="Organisers read it.")


class EndConfirmationForm(serializers.Serializer[Any]):
    """Why the results are official without every team's word."""

    reason = serializers.CharField(max_length=confirming.MAX_REASON)


class ConfirmedResultSerializer(serializers.Serializer[Any]):
    """What a team says of the result of a run that counts."""

    submission = serializers.IntegerField()
    team = serializers.CharField()
    gold = serializers.IntegerField(help_text="The version that the run was scored against.")
    numbers = serializers.CharField(help_text="A digest of its scores, which changes where one does.")
    state = serializers.ChoiceField(
        choices=["missing", *ResultConfirmation.State.values],
        help_text="Missing too where it was said of other numbers.",
    )
    message = serializers.CharField(allow_blank=True, help_text="Why it is contested.")
    said_at = serializers.DateTimeField(allow_null=True)


class ConfirmedResultsSerializer(serializers.Serializer[Any]):
    """What teams say of the results of a phase."""

    confirms_results = serializers.BooleanField(help_text="Whether teams are asked.")
    official_since = serializers.DateTimeField(allow_null=True, help_text="Null while they are preliminary.")
    ended_because = serializers.CharField(allow_blank=True, help_text="Why organisers ended it.")
    results = ConfirmedResultSerializer(many=True)


def run_of_lead(user: object, pk: int) -> Submission:
    """Raises Http404 for whoever is not in its team, and PermissionDenied for whoever does not lead it."""
    run = own_run(user, pk)
    team_for_lead(user, run.team.slug if run.team else "")
    return run


@post(
    "submissions/<int:pk>/confirm/",
    of=run_of_lead,
    form=ConfirmForm,
    answers=ConfirmedResultSerializer,
    responses=RUN_CHANGED,
)
def confirm(request: Request, run: Submission, form: dict[str, Any]) -> dict[str, Any]:
    """Confirm the result of a run that counts; for the lead of its team, once the phase has closed."""
    return _described(confirming.confirm_result(submission=run, by=person(request), **form))


@post(
    "submissions/<int:pk>/contest/",
    of=run_of_lead,
    form=ContestForm,
    answers=ConfirmedResultSerializer,
    responses=RUN_CHANGED,
)
def contest(request: Request, run: Submission, form: dict[str, Any]) -> dict[str, Any]:
    """Contest the result of a run that counts; for the lead of its team, once the phase has closed."""
    return _described(confirming.contest_result(submission=run, by=person(request), **form))


@get("phases/<int:pk>/confirmation/", of=phase_to_organise, answers=ConfirmedResultsSerializer)
def confirmation(request: Request, phase: Phase) -> dict[str, Any]:
    """What each team says of the results of a phase; for organisers."""
    results = results_of(phase)
    return {
        "confirms_results": phase.confirms_results,
        "official_since": official_since(phase, results),
        "ended_because": phase.confirmation_ended_because,
        "results": [_described(result) for result in results],
    }


@post(
    "phases/<int:pk>/confirmation/end/",
    of=phase_to_organise,
    form=EndConfirmationForm,
    answers=ConfirmedResultsSerializer,
)
def end_confirmation(request: Request, phase: Phase, form: dict[str, Any]) -> dict[str, Any]:
    """Call the results of a phase official, whatever teams have said; for organisers."""
    return confirmation(request, confirming.end_confirmation(phase=phase, by=person(request), **form))


@post("phases/<int:pk>/confirmation/reopen/", of=phase_to_organise, answers=ConfirmedResultsSerializer)
def reopen_confirmation(request: Request, phase: Phase) -> dict[str, Any]:
    """Let teams confirm their results again; for organisers."""
    return confirmation(request, confirming.reopen_confirmation(phase=phase, by=person(request)))


def _described(result: Result) -> dict[str, Any]:
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


class ExtraTriesForm(serializers.Serializer[Any]):
    """Which team gets how many, and why."""

    team = serializers.CharField(help_text="The slug of a team that takes part.")
    tries = serializers.IntegerField(min_value=1, max_value=MAX_TRIES)
    reason = serializers.CharField(max_length=MAX_REASON, help_text="The team reads it.")


@get("phases/<int:pk>/extra-tries/", of=phase_to_organise, answers=[ExtraTriesSerializer])
def extra_tries(request: Request, phase: Phase) -> Any:
    """Tries that single teams were given in a phase; for organisers."""
    return phase.extra_tries.select_related("team")


@post(
    "phases/<int:pk>/extra-tries/",
    of=phase_to_organise,
    form=ExtraTriesForm,
    answers=ExtraTriesSerializer,
    status=201,
)
def give_tries(request: Request, phase: Phase, form: dict[str, Any]) -> ExtraTries:
    """Give one team more tries in a phase; for organisers."""
    team = get_object_or_404(Team, slug=form["team"], registrations__season=phase.task.season_id)
    return grant_tries(phase=phase, team=team, tries=form["tries"], reason=form["reason"], by=person(request))


@delete("phases/<int:pk>/extra-tries/<int:given>/", of=phase_to_organise, name="extra-tries-back")
def take_tries_back(request: Request, phase: Phase, given: int) -> None:
    """Take tries back that a team was given; runs that were sent with them stay; for organisers."""
    rows = ExtraTries.objects.select_related("phase__task__season", "team")
    revoke_tries(given=get_object_or_404(rows, pk=given, phase=phase), by=person(request))
