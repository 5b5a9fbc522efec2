"""Score the runs of a phase again, and draw the sample of a phase's public instances
again.
"""

from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext, gettext_lazy as _

from citeboard.acts.declared import (
    UserAction,
    build_organiser_action,
    build_rehearsed_action,
)
from citeboard.teams.models import User
from scoring.results.board.visibility import may_see_submission
from scoring.worker import drawing, rescoring
from tasks.models import Phase, Season, Submission
from tasks.seasons.access import can_organise_season


def organised_run_or_404(user: object, pk: int) -> Submission:
    run = get_object_or_404(
        Submission.objects.select_related("phase__task__season", "team"), pk=pk
    )
    if not may_see_submission(run, user) or not can_organise_season(
        user, run.phase.task.season
    ):
        raise Http404(gettext("There is no run of yours to organise at this address."))
    return run


def _cancel_phase_rescoring(*, phase: Phase, by: User) -> tuple[Phase, int]:
    return phase, rescoring.stop_rescoring(phase=phase, by=by)


def _request_season_rescoring(*, season: Season, by: User) -> int:
    return len(rescoring.request_rescoring_of_season(season=season, by=by))


def _rescoring_message(made: int, _filled: object) -> str:
    if made:
        return gettext("The run is rescored.")
    return gettext("The run is being rescored already.")


REDRAW_PUBLIC_PART = build_rehearsed_action(
    drawing.draw_again,
    "Draw the public part of a phase again, by a secret in the place of a seed; for organisers.",
    _("The public part of %(task)s, %(phase)s, is drawn again. Its runs are rescored."),
    is_final=True,
    subject="phase",
)
RESCORE_PHASE = build_organiser_action(
    rescoring.request_rescoring_of_phase,
    "Score again what is out of date in a phase; for organisers.",
    _("%(task)s, %(phase)s: what is out of date is rescored."),
    subject="phase",
)
CANCEL_PHASE_RESCORING = build_organiser_action(
    _cancel_phase_rescoring,
    "Take out of the queue what waits in a phase to be scored again; for organisers.",
    _("%(task)s, %(phase)s: %(scorings)s taken out of the queue. It can go on."),
    subject="phase",
)
RESCORE_SEASON = build_organiser_action(
    _request_season_rescoring,
    "Score again what is out of date in all phases of a season; for organisers.",
    _("Runs of %(phases)s are looked through and scored again."),
    subject="season",
)
RESCORE_RUN = UserAction(
    rescoring.rescore_run,
    "Score a run again; for organisers.",
    _rescoring_message,
    role=organised_run_or_404,
    subject="submission",
)
