"""The runs that somebody may compare with one another: those whose numbers they may see."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Exists, OuterRef
from django.utils.translation import gettext as _

from citeboard.teams.access import teams_of
from scoring.board.standings import Board, Row
from scoring.board.visibility import may_see_scores
from scoring.models import Evaluation
from tasks.models import Submission

#: Of a team's own runs, those that a list offers.
MAX_OWN = 100


@dataclass(frozen=True, kw_only=True)
class Contender:
    """A run; ``whose`` is its team, or `baseline`."""

    run: int
    system: str
    display_name: str

    @property
    def label(self) -> str:
        return f"{self.system} ({self.display_name})"


def on_board(board: Board) -> list[Contender]:
    """The rows whose numbers the viewer of the board sees, best first.

    Not the human line, which is held to other gold for each annotator.
    """
    return [_of_row(row) for row in board.systems if row.scores]


def own_runs(board: Board, viewer: object) -> list[Contender]:
    """The viewer's further runs that were scored as the board is and whose numbers they see, latest first."""
    known = Evaluation.objects.known_at(board.frozen_at)
    scored = known.filter(submission=OuterRef("pk"), gold=board.gold, rules=board.rules)
    runs = (
        Submission.objects.filter(
            Exists(scored), phase=board.phase, team__in=teams_of(viewer), status=Submission.Status.SCORED
        )
        .exclude(exclusion=Submission.Exclusion.DISQUALIFIED)
        .select_related("team")
        .order_by("-submitted_at", "-pk")[:MAX_OWN]
    )
    shown = {row.submission for row in board.rows if row.scores}
    found = [run for run in runs if run.pk not in shown]
    for run in found:
        run.phase = board.phase
    # All are of the same phase and of the viewer's own teams.
    return [_of_run(run) for run in found] if found and may_see_scores(found[0], viewer) else []


def other_run(board: Board, viewer: object, number: int) -> Contender | None:
    """A run that no list offers, as an organiser finds on its page; None if it is not theirs to see."""
    run = (
        Submission.objects.select_related("team", "phase__task")
        .filter(phase=board.phase, pk=number, status=Submission.Status.SCORED)
        .exclude(kind=Submission.Kind.HUMAN)
        .exclude(exclusion=Submission.Exclusion.DISQUALIFIED)
        .first()
    )
    return _of_run(run) if run is not None and may_see_scores(run, viewer) else None


def _of_row(row: Row) -> Contender:
    return Contender(run=row.submission, system=row.system, display_name=row.display_name)


def _of_run(run: Submission) -> Contender:
    display_name = (
        _("%(team)s, run %(number)s") % {"team": run.team.name, "number": run.number}
        if run.team
        else _("baseline")
    )
    return Contender(run=run.pk, system=run.system, display_name=display_name)
