"""Score the runs of a phase again, and draw the sample of a phase's public instances
again.
"""

from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext, gettext_lazy as _

from citeboard.acts.declared import Act, by_organisers, with_rehearsal
from citeboard.teams.models import User
from scoring.results.board.visibility import may_see_submission
from scoring.worker import drawing, rescoring
from tasks.models import Phase, Season, Submission
from tasks.seasons.access import may_organise


def run_to_organise(user: object, pk: int) -> Submission:
    run = get_object_or_404(
        Submission.objects.select_related("phase__task__season", "team"), pk=pk
    )
    if not may_see_submission(run, user) or not may_organise(
        user, run.phase.task.season
    ):
        raise Http404(gettext("There is no run of yours to organise at this address."))
    return run


def _stop_rescoring(*, phase: Phase, by: User) -> tuple[Phase, int]:
    return phase, rescoring.stop_rescoring(phase=phase, by=by)


def _ask_for_season(*, season: Season, by: User) -> int:
    return len(rescoring.request_rescoring_of_season(season=season, by=by))


def _describe_rescoring(made: int, _filled: object) -> str:
    if made:
        return gettext("The run is rescored.")
    return gettext("The run is being rescored already.")


DRAW_AGAIN = with_rehearsal(
    drawing.draw_again,
    "Draw the public part of a phase again, by a secret in the place of a seed; for organisers.",
    _("The public part of %(task)s, %(phase)s, is drawn again. Its runs are rescored."),
    is_final=True,
    subject="phase",
)
RESCORE = by_organisers(
    rescoring.request_rescoring_of_phase,
    "Score again what is out of date in a phase; for organisers.",
    _("%(task)s, %(phase)s: what is out of date is rescored."),
    subject="phase",
)
STOP_RESCORING = by_organisers(
    _stop_rescoring,
    "Take out of the queue what waits in a phase to be scored again; for organisers.",
    _("%(task)s, %(phase)s: %(scorings)s taken out of the queue. It can go on."),
    subject="phase",
)
RESCORE_SEASON = by_organisers(
    _ask_for_season,
    "Score again what is out of date in all phases of a season; for organisers.",
    _("Runs of %(phases)s are looked through and scored again."),
    subject="season",
)
RESCORE_RUN = Act(
    rescoring.rescore_run,
    "Score a run again; for organisers.",
    _describe_rescoring,
    role=run_to_organise,
    subject="submission",
)
