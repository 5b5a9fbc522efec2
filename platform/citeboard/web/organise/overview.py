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
from citeboard.core.audit import history_of_place
from citeboard.core.query import (
    CountedQueryset,
    PageParameters,
    parse_whole_number,
    search_parameter,
    text_parameter,
)
from citeboard.ops import season_progress, undoing
from citeboard.ops.launching import launch_steps
from citeboard.teams.models import Team
from citeboard.web import pages
from citeboard.web.organise.attention import find_concerns
from scoring.exchange import figure_files, season_runs
from scoring.results.board.confirming import (
    all_errata,
    count_confirmed_teams,
    results_official_since,
    results_to_confirm,
    why_confirmation_is_closed,
)
from scoring.results.board.formatting import metric_label, score_text
from scoring.results.board.manual_scores import manual_value_lines
from scoring.results.board.standings import compute_board
from tasks.gold.early import embargo_clashes
from tasks.jobs import tallies
from tasks.models import Phase, Registration, Season, Submission, Task
from tasks.seasons.history import can_undo
from tasks.seasons.timeline import build_time_line

HISTORY_PAGE_SIZE = 100
MAX_ACKNOWLEDGED_SHOWN = 50
NO_TEAM_FILTER = "baselines"


@pages.helpers.page("organise/overview.html", "overview")
def organise(request: HttpRequest, season: Season) -> pages.Answer:
    of_teams = Q(
        phase__in=Phase.objects.filter(task__season=season).values("pk"), team__gt=0
    )
    return {
        "concerns": find_concerns(season),
        "acknowledged": season_progress.acknowledged_failures(season)[
            :MAX_ACKNOWLEDGED_SHOWN
        ],
        "teams": Registration.objects.filter(season=season).approved().count(),
        "runs": tallies.tallied_run_count(of_teams),
        "moving": tallies.tallied_run_count(of_teams & Q(state__in=Submission.MOVING)),
        **build_time_line(season),
    }


acknowledge_failure = pages.build_action_view(ACKNOWLEDGE, "organise season")
revoke_acknowledgement = pages.build_action_view(
    TAKE_ACKNOWLEDGEMENT_BACK, "organise season"
)


@dataclass(frozen=True, kw_only=True)
class RunListParameters(PageParameters):
    """The query parameters that filter the list of a season's runs.

    The parameter ``phase`` is a primary key, and ``task`` and ``team`` are slugs.
    """

    task: str = text_parameter("task")
    phase: str = text_parameter("phase")
    status: str = text_parameter("status")
    team: str = text_parameter("team")
    text: str = search_parameter("q")


def filter_runs(season: Season, query: RunListParameters) -> CountedQueryset:
    phases = Phase.objects.filter(task__season=season)
    if query.task:
        phases = phases.filter(task__slug=query.task)
    if query.phase:
        phases = phases.filter(pk=parse_whole_number(query.phase))
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
    if query.team == NO_TEAM_FILTER:
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
    return CountedQueryset(
        runs, runs.count if query.text else lambda: tallies.tallied_run_count(tallied)
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
    query = RunListParameters.of(request.GET)
    page = pages.paginate_rows(request, filter_runs(season, query))
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
        "no_team": NO_TEAM_FILTER,
    }


@pages.helpers.page()
def runs_as_csv(request: HttpRequest, season: Season) -> pages.Answer:
    content = season_runs.runs_csv(
        filter_runs(season, RunListParameters.of(request.GET)).rows
    )
    return pages.download_response(content, f"{season.slug}-runs.csv", is_private=True)


@pages.organisers.page()
def counting_zip(request: HttpRequest, season: Season, phase: Phase) -> pages.Answer:
    """Return the files of the runs on a phase's board as a zip archive.

    The ranking rules of the phase decide which runs are on the board.
    """
    content = season_runs.counting_runs_archive(compute_board(phase, request.user))
    name = f"{season.slug}-{phase.task.slug}-{phase.slug}-runs.zip"
    return pages.forbid_caching(
        FileResponse(content, as_attachment=True, filename=name)
    )


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
    page = pages.paginate_rows(request, history_of_place(season), HISTORY_PAGE_SIZE)
    recent = {entry.pk for entry in undoing.entries_to_undo(season)}
    lines = [
        {"entry": entry, "may_undo": entry.pk in recent or can_undo(entry)}
        for entry in page
    ]
    return {"page": page, "lines": lines}


def _redirect_after_undo(
    request: HttpRequest, change: models.AuditEntry, said: object
) -> HttpResponseBase:
    season = Season.objects.filter(pk=change.place_id).first()
    return redirect("organise-history", season.slug) if season else redirect("home")


undo_entry = pages.build_action_view(
    UNDO, "organise-history season", then=_redirect_after_undo
)


@pages.organisers.page("organise/phases.html", "phases")
def phases(request: HttpRequest, season: Season) -> pages.Answer:
    known = build_time_line(season)
    return {
        **known,
        "kept_back": embargo_clashes(line["phase"] for line in known["lines"]),
    }


times = pages.build_form_view(
    acts.MOVE, "organise/times.html", "phases", "organise-phases season", at="closes"
)
board = pages.build_form_view(
    acts.SHOW_BOARD,
    "organise/board.html",
    "phases",
    "organise-phases season",
    at="board_from",
)
freeze = pages.build_form_view(
    acts.FREEZE,
    "organise/freeze.html",
    "phases",
    at="frozen_from",
    shows=lambda request, phase: {"task": phase.task},
)
open_phase = pages.build_action_view(acts.OPEN, "organise-phases season")
close = pages.build_action_view(acts.CLOSE, "organise-phases season")
reveal = pages.build_action_view(acts.REVEAL, "organise-phases season")
freeze_at_once = pages.build_action_view(
    acts.FREEZE_NOW, "organise-freeze season phase"
)
unfreeze = pages.build_action_view(acts.UNFREEZE, "organise-freeze season phase")
end = pages.build_action_view(
    acts.END_CONFIRMATION, "organise-confirmation season phase"
)
reopen = pages.build_action_view(
    acts.REOPEN_CONFIRMATION, "organise-confirmation season phase"
)


@pages.organisers.page("organise/confirmation.html", "phases")
def confirmation(request: HttpRequest, season: Season, phase: Phase) -> pages.Answer:
    results = results_to_confirm(phase)
    confirmed, teams = count_confirmed_teams(results)
    refused = why_confirmation_is_closed(phase)
    return {
        "task": phase.task,
        "results": results,
        "confirmed": confirmed,
        "teams": teams,
        "official_since": results_official_since(phase, results),
        "refused": words.as_sentence(refused) if refused else "",
        "may_end": phase.confirms_results
        and phase.closes <= now()
        and phase.confirmation_ended_at is None,
    }


errata = pages.build_form_view(
    acts.PUBLISH_ERRATUM,
    "organise/errata.html",
    "phases",
    shows=lambda request, phase: {"errata": all_errata(phase)},
)

manual_scores = pages.build_form_view(
    acts.ENTER_MEASURE,
    "organise/outside.html",
    "phases",
    shows=lambda request, phase: {
        "measures": [
            (measure, *manual_value_lines(measure, request.user))
            for measure in phase.manual_measures.select_related("phase__task__season")
        ],
        "runs": Submission.objects.filter(phase=phase, status=Submission.Status.SCORED)
        .select_related("team")
        .order_by("pk"),
    },
)


calendar = pages.build_form_view(
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
            "splits": words.count_with_noun(published, "split")
        }
        messages.success(request, text)
        return redirect("organise-launch", season.slug)
    found = launch_steps(season)
    return {
        "steps": found,
        "left": sum(not step.is_done for step in found),
        "form": form,
    }


compute_first = pages.build_action_view(
    launching.COMPUTE_FIRST, "organise-launch season"
)
test_mail = pages.build_action_view(launching.TEST_MAIL, "organise-launch season")
open_season = pages.build_action_view(launching.OPEN_SEASON, "organise-launch season")
