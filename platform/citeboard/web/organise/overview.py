"""Organisers' pages with the to-do list, runs, phases, progress, and history of a
season.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.db.models import Q
from django.http import FileResponse, HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.utils.timezone import now
from django.utils.translation import gettext as _

from citeboard.acts import launching, phases as acts
from citeboard.acts.failures import ACKNOWLEDGE, TAKE_ACKNOWLEDGEMENT_BACK
from citeboard.acts.undoing import UNDO
from citeboard.core import models, words
from citeboard.core.audit import history
from citeboard.core.query import Listed, Query, search_from, text_from, whole_number
from citeboard.ops import season_progress, undoing
from citeboard.ops.launching import steps
from citeboard.teams.models import Team
from citeboard.web import pages
from citeboard.web.organise.attention import concerns
from scoring.exchange import figure_files, season_runs
from scoring.results.board.confirming import (
    all_errata,
    official_since,
    results_of,
    teams_confirmed,
    why_not,
)
from scoring.results.board.formatting import metric_label, score_text
from scoring.results.board.manual_scores import lines_of
from scoring.results.board.standings import standings
from tasks.gold.early import kept_back
from tasks.jobs import tallies
from tasks.models import Phase, Registration, Season, Submission, Task
from tasks.seasons.history import may_undo
from tasks.seasons.timeline import time_line

HISTORY_AT_ONCE = 100
ACKNOWLEDGED_AT_ONCE = 50
NO_TEAM = "baselines"


@pages.helpers.page("organise/overview.html", "overview")
def organise(request: HttpRequest, season: Season) -> pages.Answer:
    of_teams = Q(
        phase__in=Phase.objects.filter(task__season=season).values("pk"), team__gt=0
    )
    return {
        "concerns": concerns(season),
        "acknowledged": season_progress.acknowledged(season)[:ACKNOWLEDGED_AT_ONCE],
        "teams": Registration.objects.filter(season=season).approved().count(),
        "runs": tallies.number_of_runs(of_teams),
        "moving": tallies.number_of_runs(of_teams & Q(state__in=Submission.MOVING)),
        **time_line(season),
    }


acknowledge_failure = pages.does(ACKNOWLEDGE, "organise season")
revoke_acknowledgement = pages.does(TAKE_ACKNOWLEDGEMENT_BACK, "organise season")


@dataclass(frozen=True, kw_only=True)
class RunQuery(Query):
    """The query parameters that filter the list of a season's runs.

    The parameter ``phase`` is a primary key, and ``task`` and ``team`` are slugs.
    """

    task: str = text_from("task")
    phase: str = text_from("phase")
    status: str = text_from("status")
    team: str = text_from("team")
    text: str = search_from("q")


def chosen_runs(season: Season, query: RunQuery) -> Listed:
    phases = Phase.objects.filter(task__season=season)
    if query.task:
        phases = phases.filter(task__slug=query.task)
    if query.phase:
        phases = phases.filter(pk=whole_number(query.phase))
    # With primary keys of phases, both databases use the index on phases.
    of_phases = Q(phase__in=list(phases.values_list("pk", flat=True)))
    runs, tallied = (
        Submission.objects.filter(of_phases).select_related("phase__task", "team"),
        of_phases,
    )
    if query.status:
        runs, tallied = (
            runs.filter(status=query.status),
            tallied & Q(state=query.status),
        )
    if query.team == NO_TEAM:
        runs, tallied = runs.filter(team=None), tallied & Q(team=0)
    elif query.team:
        of_team = Q(
            team__in=list(
                Team.objects.filter(slug=query.team).values_list("pk", flat=True)
            )
        )
        runs, tallied = runs.filter(of_team), tallied & of_team
    runs = runs.order_by("-submitted_at", "-id")
    if query.text:
        runs = runs.filter(
            Q(system__icontains=query.text) | Q(team__name__icontains=query.text)
        )
    return Listed(
        runs, runs.count if query.text else lambda: tallies.number_of_runs(tallied)
    )


def lines(runs: Iterable[Submission]) -> list[dict[str, Any]]:
    listed = list(runs)
    scores = season_runs.ranking_scores(listed)
    lines = []
    for run in listed:
        score = scores.get(run.pk)
        metric = metric_label(score.metric, run.phase.task.task_type) if score else ""
        lines.append({"run": run, "value": score_text(score), "metric": metric})
    return lines


@pages.helpers.page("organise/runs.html", "runs")
def runs(request: HttpRequest, season: Season) -> pages.Answer:
    query = RunQuery.of(request.GET)
    page = pages.leaf(request, chosen_runs(season, query))
    phases = Phase.objects.filter(task__season=season).select_related("task")
    return {
        "query": query,
        "page": page,
        "lines": lines(page.object_list),
        "here": query.with_(),
        "tasks": Task.objects.filter(season=season),
        "phases": phases.order_by("task__position", "position"),
        "statuses": Submission.Status.choices,
        "teams": [
            entry.team
            for entry in season.registrations.select_related("team").order_by(
                "team__name"
            )
        ],
        "no_team": NO_TEAM,
    }


@pages.helpers.page()
def runs_as_csv(request: HttpRequest, season: Season) -> pages.Answer:
    content = season_runs.runs_csv(chosen_runs(season, RunQuery.of(request.GET)).rows)
    return pages.attachment(content, f"{season.slug}-runs.csv", is_private=True)


@pages.organisers.page()
def counting_zip(request: HttpRequest, season: Season, phase: Phase) -> pages.Answer:
    """Return the files of the runs on a phase's board as a zip archive.

    The ranking rules of the phase decide which runs are on the board.
    """
    content = season_runs.counting_runs_archive(standings(phase, request.user))
    name = f"{season.slug}-{phase.task.slug}-{phase.slug}-runs.zip"
    return pages.private(FileResponse(content, as_attachment=True, filename=name))


@pages.helpers.page("organise/progress.html", "progress")
def progress(request: HttpRequest, season: Season) -> pages.Answer:
    known = season_progress.progress_of(season)
    figures = {"runs-by-day": known.figure}
    if wanted := request.GET.get("figure"):
        return figure_files.figure_response(figures, wanted)
    return {
        "progress": known,
        "figures": figures,
        "figure_address": lambda name: f"?figure={name}",
    }


@pages.helpers.page("organise/history.html", "history")
def history_page(request: HttpRequest, season: Season) -> pages.Answer:
    page = pages.leaf(request, history(season), HISTORY_AT_ONCE)
    recent = {entry.pk for entry in undoing.to_take_back(season)}
    lines = [
        {"entry": entry, "may_undo": entry.pk in recent or may_undo(entry)}
        for entry in page
    ]
    return {"page": page, "lines": lines}


def _redirect_after_undo(
    request: HttpRequest, change: models.AuditEntry, said: object
) -> HttpResponseBase:
    season = Season.objects.filter(pk=change.place_id).first()
    return redirect("organise-history", season.slug) if season else redirect("home")


undo_entry = pages.does(UNDO, "organise-history season", then=_redirect_after_undo)


@pages.organisers.page("organise/phases.html", "phases")
def phases(request: HttpRequest, season: Season) -> pages.Answer:
    known = time_line(season)
    return {**known, "kept_back": kept_back(line["phase"] for line in known["lines"])}


times = pages.fills(
    acts.MOVE, "organise/times.html", "phases", "organise-phases season", at="closes"
)
board = pages.fills(
    acts.SHOW_BOARD,
    "organise/board.html",
    "phases",
    "organise-phases season",
    at="board_from",
)
freeze = pages.fills(
    acts.FREEZE,
    "organise/freeze.html",
    "phases",
    at="frozen_from",
    shows=lambda request, phase: {"task": phase.task},
)
open_phase = pages.does(acts.OPEN, "organise-phases season")
close = pages.does(acts.CLOSE, "organise-phases season")
reveal = pages.does(acts.REVEAL, "organise-phases season")
freeze_at_once = pages.does(acts.FREEZE_NOW, "organise-freeze season phase")
unfreeze = pages.does(acts.UNFREEZE, "organise-freeze season phase")
end = pages.does(acts.END_CONFIRMATION, "organise-confirmation season phase")
reopen = pages.does(acts.REOPEN_CONFIRMATION, "organise-confirmation season phase")


@pages.organisers.page("organise/confirmation.html", "phases")
def confirmation(request: HttpRequest, season: Season, phase: Phase) -> pages.Answer:
    results = results_of(phase)
    confirmed, teams = teams_confirmed(results)
    refused = why_not(phase)
    return {
        "task": phase.task,
        "results": results,
        "confirmed": confirmed,
        "teams": teams,
        "official_since": official_since(phase, results),
        "refused": words.sentence(refused) if refused else "",
        "may_end": phase.confirms_results
        and phase.closes <= now()
        and phase.confirmation_ended_at is None,
    }


errata = pages.fills(
    acts.PUBLISH_ERRATUM,
    "organise/errata.html",
    "phases",
    shows=lambda request, phase: {"errata": all_errata(phase)},
)

manual_scores = pages.fills(
    acts.ENTER_MEASURE,
    "organise/outside.html",
    "phases",
    shows=lambda request, phase: {
        "measures": [
            (measure, *lines_of(measure, request.user))
            for measure in phase.manual_measures.select_related("phase__task__season")
        ],
        "runs": Submission.objects.filter(phase=phase, status=Submission.Status.SCORED)
        .select_related("team")
        .order_by("pk"),
    },
)


calendar = pages.fills(
    launching.CALENDAR, "organise/calendar.html", "calendar", "organise-calendar season"
)


@pages.organisers.form("organise/launch.html", "launch")
def launch(request: pages.SignedInRequest, season: Season) -> pages.Answer:
    """Show the launch checklist of a season, with upload fields for missing gold and
    with actions for all tasks.
    """
    form = launching.FirstGoldForm(**pages.sent(request), of=season)
    pages.require_known_fields(request, form)
    if form.is_valid() and (published := form.publish(request.user)):
        text = _("Gold of %(splits)s is published.") % {
            "splits": words.counted(published, "split")
        }
        messages.success(request, text)
        return redirect("organise-launch", season.slug)
    found = steps(season)
    return {
        "steps": found,
        "left": sum(not step.is_done for step in found),
        "form": form,
    }


compute_first = pages.does(launching.COMPUTE_FIRST, "organise-launch season")
test_mail = pages.does(launching.TEST_MAIL, "organise-launch season")
open_season = pages.does(launching.OPEN_SEASON, "organise-launch season")
