"""A phase as its organisers set it: times, board, freezing, confirmation, errata, scores by hand."""

from typing import Any

from django.http import HttpRequest
from django.utils.timezone import now

from citeboard.core.words import sentence
from scoring.acts import phases as acts
from scoring.board.confirming import all_errata, official_since, results_of, teams_confirmed, why_not
from scoring.board.manual_scores import lines_of
from scoring.models import OutsideMeasure
from scoring.web.pages import Answer, does, fills, organisers
from tasks.gold.early import kept_back
from tasks.models import Phase, Season, Submission
from tasks.seasons.timeline import TimeLine


@organisers.page("organise/phases.html", "phases")
def phases(request: HttpRequest, season: Season) -> Answer:
    known = time_line(season)
    return {**known, "kept_back": kept_back(line["phase"] for line in known["lines"])}


def time_line(season: Season) -> dict[str, Any]:
    at = now()
    rows = Phase.objects.filter(task__season=season).select_related("task__season")
    ordered = list(rows.order_by("task__position", "task_id", "position", "opens"))
    line = TimeLine.over(ordered, at)
    lines = [
        {
            "phase": phase,
            "task": phase.task,
            "bar": line.bar(phase) if line else "",
            "is_open": phase.is_open(at),
            "is_ahead": at < phase.opens,
        }
        for phase in ordered
    ]
    return {"lines": lines, "scale": line.scale if line else "", "is_uneven": line and not line.is_even}


times = fills(acts.MOVE, "organise/times.html", "phases", "organise-phases season", at="closes")
board = fills(acts.SHOW_BOARD, "organise/board.html", "phases", "organise-phases season", at="board_from")
freeze = fills(
    acts.FREEZE,
    "organise/freeze.html",
    "phases",
    at="frozen_from",
    shows=lambda request, phase: {"task": phase.task},
)
open_phase, close, reveal = (
    does(act, "organise-phases season") for act in (acts.OPEN, acts.CLOSE, acts.REVEAL)
)
freeze_at_once, unfreeze = (
    does(act, "organise-freeze season phase") for act in (acts.FREEZE_NOW, acts.UNFREEZE)
)
end, reopen = (
    does(act, "organise-confirmation season phase")
    for act in (acts.END_CONFIRMATION, acts.REOPEN_CONFIRMATION)
)


@organisers.page("organise/confirmation.html", "phases")
def confirmation(request: HttpRequest, season: Season, phase: Phase) -> Answer:
    results = results_of(phase)
    confirmed, teams = teams_confirmed(results)
    refused = why_not(phase)
    return {
        "task": phase.task,
        "results": results,
        "confirmed": confirmed,
        "teams": teams,
        "official_since": official_since(phase, results),
        "refused": sentence(refused) if refused else "",
        "may_end": phase.confirms_results and phase.closes <= now() and phase.confirmation_ended_at is None,
    }


errata = fills(
    acts.PUBLISH_ERRATUM,
    "organise/errata.html",
    "phases",
    shows=lambda request, phase: {"errata": all_errata(phase)},
)
manual_scores = fills(
    acts.ENTER_MEASURE,
    "organise/outside.html",
    "phases",
    shows=lambda request, phase: {
        "measures": [(measure, lines_of(measure)) for measure in OutsideMeasure.objects.filter(phase=phase)],
        "runs": Submission.objects.filter(phase=phase, status=Submission.Status.SCORED)
        .select_related("team")
        .order_by("pk"),
    },
)
