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
from citeboard.acts.failures import ACKNOWLEDGE_FAILURE, WITHDRAW_ACKNOWLEDGEMENT
from citeboard.acts.undoing import UNDO_RECENT_CHANGE
from citeboard.core import models, words
from citeboard.core.audit import find_history_of_place
from citeboard.core.query import (
    CountedQueryset,
    PageParameters,
    declare_search_parameter,
    declare_text_parameter,
    parse_whole_number,
)
from citeboard.ops import season_progress, undoing
from citeboard.ops.launching import build_launch_checklist
from citeboard.teams.models import Team
from citeboard.web import pages
from citeboard.web.organise.attention import find_season_concerns
from scoring.exchange import figure_files, season_runs
from scoring.results.board.confirming import (
    count_confirmed_and_all_teams,
    explain_closed_confirmation,
    find_results_to_confirm,
    find_time_results_became_official,
    list_all_errata,
)
from scoring.results.board.formatting import display_name_of_metric, format_stored_score
from scoring.results.board.manual_scores import format_manual_value_lines
from scoring.results.board.standings import compute_board
from tasks.gold.early import find_embargo_clashes
from tasks.jobs import tallies
from tasks.models import Phase, Registration, Season, Submission, Task
from tasks.seasons.history import can_undo_history_entry
from tasks.seasons.timeline import build_time_line_context

HISTORY_PAGE_SIZE = 100
MAX_ACKNOWLEDGED_SHOWN = 50
BASELINES_FILTER_VALUE = "baselines"


@pages.helper_pages.page("organise/overview.html", "overview")
def show_organiser_overview(request: HttpRequest, season: Season) -> pages.ViewResult:
    of_teams = Q(
        phase__in=Phase.objects.filter(task__season=season).values("pk"), team__gt=0
    )
    return {
        "concerns": find_season_concerns(season),
        "acknowledged": season_progress.find_acknowledged_failures(season)[
            :MAX_ACKNOWLEDGED_SHOWN
        ],
        "teams": Registration.objects.filter(season=season).approved().count(),
        "runs": tallies.sum_tallied_run_counts(of_teams),
        "moving": tallies.sum_tallied_run_counts(
            of_teams & Q(state__in=Submission.MOVING)
        ),
        **build_time_line_context(season),
    }


acknowledge_failure = pages.build_action_view(ACKNOWLEDGE_FAILURE, "organise season")
revoke_acknowledgement = pages.build_action_view(
    WITHDRAW_ACKNOWLEDGEMENT, "organise season"
)


@dataclass(frozen=True, kw_only=True)
class RunListParameters(PageParameters):
    """The query parameters that filter the list of a season's runs.

    The parameter ``phase`` is a primary key, and ``task`` and ``team`` are slugs.
    """

    task: str = declare_text_parameter("task")
    phase: str = declare_text_parameter("phase")
    status: str = declare_text_parameter("status")
    team: str = declare_text_parameter("team")
    text: str = declare_search_parameter("q")


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
    if query.team == BASELINES_FILTER_VALUE:
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
        runs,
        runs.count if query.text else lambda: tallies.sum_tallied_run_counts(tallied),
    )


def build_run_lines(runs: Iterable[Submission]) -> list[dict[str, Any]]:
    listed = list(runs)
    scores = season_runs.load_ranking_scores_by_run(listed)
    lines = []
    for run in listed:
        score = scores.get(run.pk)
        metric = (
            display_name_of_metric(score.metric, run.phase.task.task_type)
            if score
            else ""
        )
        lines.append(
            {"run": run, "value": format_stored_score(score), "metric": metric}
        )
    return lines


@pages.helper_pages.page("organise/runs.html", "runs")
def list_season_runs(request: HttpRequest, season: Season) -> pages.ViewResult:
    query = RunListParameters.of(request.GET)
    page = pages.paginate_rows(request, filter_runs(season, query))
    phases = Phase.objects.filter(task__season=season).select_related("task")
    return {
        "query": query,
        "page": page,
        "lines": build_run_lines(page.object_list),
        "here": query.build_query_string(),
        "tasks": Task.objects.filter(season=season),
        "phases": phases.order_by("task__position", "position"),
        "statuses": Submission.Status.choices,
        "teams": [
            entry.team
            for entry in season.registrations.select_related("team").order_by(
                "team__name"
            )
        ],
        "no_team": BASELINES_FILTER_VALUE,
    }


@pages.helper_pages.page()
def download_runs_as_csv(request: HttpRequest, season: Season) -> pages.ViewResult:
    content = season_runs.iterate_runs_as_csv(
        filter_runs(season, RunListParameters.of(request.GET)).rows
    )
    return pages.build_download_response(
        content, f"{season.slug}-runs.csv", is_private=True
    )


@pages.organiser_pages.page()
def download_counting_runs(
    request: HttpRequest, season: Season, phase: Phase
) -> pages.ViewResult:
    """Return the files of the runs on a phase's board as a zip archive.

    The ranking rules of the phase decide which runs are on the board.
    """
    content = season_runs.build_archive_of_runs_on_board(
        compute_board(phase, request.user)
    )
    name = f"{season.slug}-{phase.task.slug}-{phase.slug}-runs.zip"
    return pages.forbid_caching(
        FileResponse(content, as_attachment=True, filename=name)
    )


@pages.helper_pages.page("organise/progress.html", "progress")
def show_season_progress(request: HttpRequest, season: Season) -> pages.ViewResult:
    known = season_progress.compute_season_progress(season)
    figures = {"runs-by-day": known.figure}
    if wanted := request.GET.get("figure"):
        return figure_files.build_figure_response(figures, wanted)
    return {
        "progress": known,
        "figures": figures,
        "figure_address": lambda name: f"?figure={name}",
    }


@pages.helper_pages.page("organise/history.html", "history")
def show_season_history(request: HttpRequest, season: Season) -> pages.ViewResult:
    page = pages.paginate_rows(
        request, find_history_of_place(season), HISTORY_PAGE_SIZE
    )
    recent = {entry.pk for entry in undoing.find_entries_to_undo(season)}
    lines = [
        {
            "entry": entry,
            "may_undo": entry.pk in recent or can_undo_history_entry(entry),
        }
        for entry in page
    ]
    return {"page": page, "lines": lines}


def _redirect_after_undo(
    request: HttpRequest, change: models.AuditEntry, said: object
) -> HttpResponseBase:
    season = Season.objects.filter(pk=change.place_id).first()
    return redirect("organise-history", season.slug) if season else redirect("home")


undo_recent_change = pages.build_action_view(
    UNDO_RECENT_CHANGE, "organise-history season", then=_redirect_after_undo
)


@pages.organiser_pages.page("organise/phases.html", "phases")
def show_phases(request: HttpRequest, season: Season) -> pages.ViewResult:
    known = build_time_line_context(season)
    return {
        **known,
        "kept_back": find_embargo_clashes(line["phase"] for line in known["lines"]),
    }


edit_phase_times = pages.build_form_view(
    acts.MOVE_PHASE,
    "organise/times.html",
    "phases",
    "organise-phases season",
    at="closes",
)
edit_board_audience = pages.build_form_view(
    acts.CHANGE_BOARD_AUDIENCE,
    "organise/board.html",
    "phases",
    "organise-phases season",
    at="board_from",
)
edit_board_freeze = pages.build_form_view(
    acts.FREEZE_BOARD,
    "organise/freeze.html",
    "phases",
    at="frozen_from",
    shows=lambda request, phase: {"task": phase.task},
)
open_phase_now = pages.build_action_view(acts.OPEN_PHASE_NOW, "organise-phases season")
close_phase_now = pages.build_action_view(
    acts.CLOSE_PHASE_NOW, "organise-phases season"
)
reveal_board_now = pages.build_action_view(
    acts.REVEAL_BOARD_NOW, "organise-phases season"
)
freeze_board_now = pages.build_action_view(
    acts.FREEZE_BOARD_NOW, "organise-freeze season phase"
)
unfreeze_board = pages.build_action_view(
    acts.UNFREEZE_BOARD, "organise-freeze season phase"
)
end_result_confirmation = pages.build_action_view(
    acts.END_RESULT_CONFIRMATION, "organise-confirmation season phase"
)
reopen_result_confirmation = pages.build_action_view(
    acts.REOPEN_RESULT_CONFIRMATION, "organise-confirmation season phase"
)


@pages.organiser_pages.page("organise/confirmation.html", "phases")
def show_result_confirmation(
    request: HttpRequest, season: Season, phase: Phase
) -> pages.ViewResult:
    results = find_results_to_confirm(phase)
    confirmed, teams = count_confirmed_and_all_teams(results)
    refused = explain_closed_confirmation(phase)
    return {
        "task": phase.task,
        "results": results,
        "confirmed": confirmed,
        "teams": teams,
        "official_since": find_time_results_became_official(phase, results),
        "refused": words.format_as_sentence(refused) if refused else "",
        "may_end": phase.confirms_results
        and phase.closes <= now()
        and phase.confirmation_ended_at is None,
    }


publish_erratum = pages.build_form_view(
    acts.PUBLISH_ERRATUM,
    "organise/errata.html",
    "phases",
    shows=lambda request, phase: {"errata": list_all_errata(phase)},
)

enter_manual_scores = pages.build_form_view(
    acts.SAVE_MANUAL_MEASURE,
    "organise/outside.html",
    "phases",
    shows=lambda request, phase: {
        "measures": [
            (measure, *format_manual_value_lines(measure, request.user))
            for measure in phase.manual_measures.select_related("phase__task__season")
        ],
        "runs": Submission.objects.filter(phase=phase, status=Submission.Status.SCORED)
        .select_related("team")
        .order_by("pk"),
    },
)


edit_calendar = pages.build_form_view(
    launching.CHANGE_CALENDAR,
    "organise/calendar.html",
    "calendar",
    "organise-calendar season",
)


@pages.organiser_pages.form("organise/launch.html", "launch")
def show_launch_checklist(
    request: pages.SignedInRequest, season: Season
) -> pages.ViewResult:
    """Show the launch checklist of a season, with upload fields for missing gold and
    with actions for all tasks.
    """
    form = launching.FirstGoldForm(**pages.build_form_arguments(request), of=season)
    pages.require_known_fields(request, form)
    if form.is_valid() and (published := form.publish_uploaded_gold(request.user)):
        text = _("Gold of %(splits)s is published.") % {
            "splits": words.count_with_noun(published, "split")
        }
        messages.success(request, text)
        return redirect("organise-launch", season.slug)
    found = build_launch_checklist(season)
    return {
        "steps": found,
        "left": sum(not step.is_done for step in found),
        "form": form,
    }


compute_first_baselines = pages.build_action_view(
    launching.COMPUTE_FIRST_BASELINES, "organise-launch season"
)
test_mail = pages.build_action_view(launching.SEND_TEST_MAIL, "organise-launch season")
publish_season = pages.build_action_view(
    launching.PUBLISH_SEASON, "organise-launch season"
)
