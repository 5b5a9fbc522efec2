"""The page on which organisers sample units, upload people's labels, and publish
estimated scores.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from citeboard.acts import estimates as acts
from citeboard.background.kinds import find_background_jobs
from citeboard.core import storage
from citeboard.web import pages
from citeboard.web.boards.estimates import build_estimates_context
from scoring.human.disagreements import count_ledger_labels, list_judges_to_compare
from scoring.human.estimates import list_estimable_unit_kinds
from scoring.models import EstimateSheet
from scoring.results.board.estimates import (
    get_kind_of_labels,
    load_estimates_of_sheet,
)
from scoring.results.board.judges import KIND_NAMES
from scoring.results.board.standings import Board, compute_board
from scoring.worker import background
from tasks.models import Phase, Season


@pages.organiser_pages.page("organise/estimates.html", "human")
def show_estimate_sheets(
    request: pages.SignedInRequest, season: Season
) -> pages.ViewResult:
    """Show the samples of units that people label, and the estimated scores."""
    return _build_estimate_sheets_context(season, request)


def _build_estimate_sheets_context(
    season: Season,
    request: pages.SignedInRequest,
    made: acts.EstimatesForm | None = None,
    brought: acts.PeoplesLabelsForm | None = None,
    compared: acts.DisagreementsForm | None = None,
) -> dict[str, Any]:
    phases = Phase.objects.filter(task__season=season).select_related("task__season")
    lines = []
    for phase in phases:
        if not list_estimable_unit_kinds(phase):
            continue
        # All sheets of a rule set share the board of a phase, which is computed once.
        board_of = cache(partial(compute_board, phase, request.user))
        is_refused = made is not None and made.phase == phase
        lines.append(
            {
                "phase": phase,
                "form": made if is_refused else acts.EstimatesForm(of=phase),
                "comparison": _build_disagreements_form(phase, compared),
                "sheets": [
                    _build_estimate_sheet_context(sheet, board_of, brought)
                    for sheet in EstimateSheet.objects.filter(phase=phase)
                ],
            }
        )
    return {
        "phases": lines,
        "jobs": find_background_jobs(season, background.BackgroundJobKind.SHEET),
    }


def _build_disagreements_form(
    phase: Phase, filled: acts.DisagreementsForm | None
) -> acts.DisagreementsForm | None:
    """Return the form that samples pairs on which judges disagree.

    The function returns None if the phase has only one judge.
    """
    if filled is not None and filled.of == phase:
        return filled
    return acts.DisagreementsForm(of=phase) if list_judges_to_compare(phase) else None


def _build_estimate_sheet_context(
    sheet: EstimateSheet,
    board_of: Callable[[str], Board],
    brought: acts.PeoplesLabelsForm | None,
) -> dict[str, Any]:
    form = brought
    if form is None or form.of != sheet:
        form = acts.PeoplesLabelsForm(of=sheet, auto_id=f"id_sheet_{sheet.pk}_%s")
    found = None
    if sheet.result and sheet.rules in sheet.phase.task.rules:
        found = load_estimates_of_sheet(sheet, board_of(sheet.rules))
    return {
        "sheet": sheet,
        "kind": KIND_NAMES[get_kind_of_labels(sheet)],
        "systems": len(sheet.runs),
        "form": form,
        "labels": None
        if sheet.has_random_sample_of_units
        else count_ledger_labels(sheet),
        "measures": build_estimates_context(found) if found else [],
    }


def _render_estimate_sheets_with_errors(
    request: pages.SignedInRequest, season: Season, **shown: Any
) -> HttpResponse:
    context = {
        "season": season,
        "part": "human",
        **_build_estimate_sheets_context(season, request, **shown),
    }
    return render(request, "organise/estimates.html", context, status=422)


@pages.organiser_pages.act("organise-estimates season", fields=None)
def create_estimate_sheet(
    request: pages.SignedInRequest, season: Season, phase: Phase
) -> pages.ViewResult:
    """Sample units for people to label."""
    form = acts.EstimatesForm(request.POST, of=phase)
    pages.require_known_fields(request, form)
    with pages.add_refusals_to_form(form, None):
        if form.is_valid():
            job = acts.CREATE_ESTIMATE_SHEET(phase, request.user, **form.cleaned_data)
            return pages.redirect_to_job(request, phase, job)
    return _render_estimate_sheets_with_errors(request, season, made=form)


@pages.organiser_pages.act("organise-estimates season", fields=None)
def create_disagreement_sheet(
    request: pages.SignedInRequest, season: Season, phase: Phase
) -> pages.ViewResult:
    """Sample pairs on which two judges of a phase disagree."""
    form = acts.DisagreementsForm(request.POST, of=phase)
    pages.require_known_fields(request, form)
    with pages.add_refusals_to_form(form, None):
        if form.is_valid():
            job = acts.CREATE_DISAGREEMENT_SHEET(
                phase, request.user, **form.cleaned_data
            )
            return pages.redirect_to_job(request, phase, job)
    return _render_estimate_sheets_with_errors(request, season, compared=form)


@pages.organiser_pages.act("organise-estimates season", fields=None)
def import_people_labels(
    request: pages.SignedInRequest, season: Season, estimates: EstimateSheet
) -> pages.ViewResult:
    """Import people's labels of a sheet."""
    form = acts.PeoplesLabelsForm(
        request.POST,
        request.FILES,
        of=estimates,
        auto_id=f"id_sheet_{estimates.pk}_%s",
    )
    pages.require_known_fields(request, form)
    with pages.add_refusals_to_form(form, "file"):
        if form.is_valid():
            job = acts.IMPORT_PEOPLE_LABELS(
                estimates, request.user, **form.cleaned_data
            )
            return pages.redirect_to_job(request, estimates, job)
    return _render_estimate_sheets_with_errors(request, season, brought=form)


@pages.organiser_pages.page()
def download_unlabelled_lines(
    request: HttpRequest, season: Season, estimates: EstimateSheet
) -> pages.ViewResult:
    """Return the lines of a sheet without labels."""
    with storage.statistics_file_storage.open(estimates.file) as kept:
        content = kept.read().decode()
    name = f"estimates-{estimates.pk}.jsonl"
    return pages.build_download_response(content, name, is_private=True)


publish_estimated_scores = pages.build_action_view(
    acts.PUBLISH_ESTIMATED_SCORES, "organise-estimates season"
)
unpublish_estimated_scores = pages.build_action_view(
    acts.UNPUBLISH_ESTIMATED_SCORES, "organise-estimates season"
)
