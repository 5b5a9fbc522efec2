"""What organisers do to a phase: its times, its board, confirmed results and tries of single teams."""

from typing import Any

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request

from citeboard.teams.models import Team
from scoring.acts import phases as acts
from scoring.acts.runs import CONFIRM, CONTEST
from scoring.api.operations import does, get
from scoring.api.own_runs import RUN_CHANGED
from scoring.api.seasons import ExtraTriesSerializer, phase_to_organise
from scoring.api.serializers import mirror_of_model
from scoring.board.confirming import Result, official_since, results_of
from scoring.models import ResultConfirmation
from tasks.models import ExtraTries, Phase

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


does(acts.MOVE, "phases/<int:pk>/times/", operation_id="times", answers=TimesSerializer)
does(acts.OPEN, "phases/<int:pk>/open/", operation_id="open", answers=TimesSerializer)
does(acts.CLOSE, "phases/<int:pk>/close/", operation_id="close", answers=TimesSerializer)
does(acts.SHOW_BOARD, "phases/<int:pk>/board/", operation_id="board", answers=BoardSerializer)
does(acts.REVEAL, "phases/<int:pk>/reveal/", operation_id="reveal", answers=BoardSerializer)
does(
    acts.FREEZE,
    "phases/<int:pk>/freeze/",
    takes=lambda request, phase, sent: (
        {"frozen_from": phase.frozen_from, "frozen_until": phase.frozen_until} | sent if sent else {}
    ),
    answers=FreezeSerializer,
)
does(acts.UNFREEZE, "phases/<int:pk>/unfreeze/", operation_id="unfreeze", answers=FreezeSerializer)


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


for end, act in {"confirm": CONFIRM, "contest": CONTEST}.items():
    does(
        act,
        f"submissions/<int:pk>/{end}/",
        operation_id=end,
        gives=lambda request, result: _described(result),
        answers=ConfirmedResultSerializer,
        responses=RUN_CHANGED,
    )


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


for end, act in {"end": acts.END_CONFIRMATION, "reopen": acts.REOPEN_CONFIRMATION}.items():
    does(act, f"phases/<int:pk>/confirmation/{end}/", gives=confirmation, answers=ConfirmedResultsSerializer)


@get("phases/<int:pk>/extra-tries/", of=phase_to_organise, answers=[ExtraTriesSerializer])
def extra_tries(request: Request, phase: Phase) -> Any:
    """Tries that single teams were given in a phase; for organisers."""
    return phase.extra_tries.select_related("team")


def tries_to_take_back(user: object, pk: int, number: int) -> ExtraTries:
    rows = ExtraTries.objects.select_related("phase__task__season", "team")
    return get_object_or_404(rows, pk=number, phase=phase_to_organise(user, pk))


does(
    acts.GIVE_TRIES,
    "phases/<int:pk>/extra-tries/",
    takes=lambda request, phase, sent: {
        **sent,
        "team": get_object_or_404(Team, slug=sent["team"], registrations__season=phase.task.season_id),
    },
    answers=ExtraTriesSerializer,
    status=201,
)
does(
    acts.TAKE_TRIES_BACK,
    "phases/<int:pk>/extra-tries/<int:given>/",
    method="DELETE",
    of=tries_to_take_back,
    name="extra-tries-back",
)
