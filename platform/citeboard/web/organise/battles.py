"""Pages on which organisers create sheets of pairs, add judges, upload judgements, and
publish the results.
"""

from collections.abc import Sequence
from typing import Any

from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from citeboard.acts import pairs as acts
from citeboard.background.kinds import find_background_jobs
from citeboard.core.words import format_as_sentence
from citeboard.web import pages
from scoring.human import pairs
from scoring.human.sheets import SheetRefused, list_phases_with_human_evaluation
from scoring.human.states import list_unassigned_shares
from scoring.models import Sheet
from scoring.results.board.battles import BattleBoard, build_battle_board_from_sheets
from scoring.worker import background
from tasks.models import Phase, Season
from tasks.submissions.uploads import UploadTooLarge


@pages.organiser_pages.page("organise/battles.html", "human")
def show_pair_sheets(
    request: pages.SignedInRequest, season: Season
) -> pages.ViewResult:
    """Show the sheets of pairs of a season."""
    return _build_pair_sheets_context(season, request)


def _build_pair_sheets_context(
    season: Season,
    request: pages.SignedInRequest,
    made: acts.PairsForm | None = None,
    brought: acts.BattlesForm | None = None,
) -> dict[str, Any]:
    phases = Phase.objects.filter(task__season=season).select_related("task__season")
    lines = [
        {
            "phase": phase,
            "form": made
            if made and made.of == phase
            else acts.PairsForm(of=phase, by=request.user),
            "battles_form": brought
            if brought and brought.of == phase
            else acts.BattlesForm(of=phase, auto_id=f"id_{phase.pk}_%s"),
            "sheets": Sheet.objects.pairs()
            .filter(phase=phase)
            .annotate(raters=Count("annotators", distinct=True)),
        }
        for phase in list_phases_with_human_evaluation(list(phases))
    ]
    return {
        "phases": lines,
        "jobs": find_background_jobs(season, background.BackgroundJobKind.SHEET),
    }


def _render_pair_sheets_with_errors(
    request: pages.SignedInRequest, season: Season, **shown: Any
) -> HttpResponse:
    problems = shown.pop("problems", ())
    context = {
        "season": season,
        "part": "human",
        "problems": problems,
        **_build_pair_sheets_context(season, request, **shown),
    }
    return render(request, "organise/battles.html", context, status=422)


@pages.organiser_pages.act("organise-battles season", fields=None)
def create_pair_sheet(
    request: pages.SignedInRequest, season: Season, phase: Phase
) -> pages.ViewResult:
    """Create a sheet of pairs."""
    form = acts.PairsForm(request.POST, of=phase, by=request.user)
    pages.require_known_fields(request, form)
    with pages.add_refusals_to_form(form, None):
        if form.is_valid():
            job = acts.CREATE_PAIR_SHEET(phase, request.user, **form.cleaned_data)
            return pages.redirect_to_job(request, phase, job)
    return _render_pair_sheets_with_errors(request, season, made=form)


@pages.organiser_pages.act("organise-battles season", fields=None)
def import_pair_judgements(
    request: pages.SignedInRequest, season: Season, phase: Phase
) -> pages.ViewResult:
    """Import judgements of pairs from a file."""
    form = acts.BattlesForm(
        request.POST, request.FILES, of=phase, auto_id=f"id_{phase.pk}_%s"
    )
    pages.require_known_fields(request, form)
    problems: Sequence[Any] = ()
    if form.is_valid():
        try:
            sheet = acts.IMPORT_PAIR_JUDGEMENTS(
                phase, request.user, **form.cleaned_data
            )
            return redirect("organise-pair-sheet", season.slug, sheet.pk)
        except (UploadTooLarge, SheetRefused) as refused:
            form.add_error("file", format_as_sentence(refused))
        except pairs.JudgementFileRefused as refused:
            problems = refused.problems[:200]
    return _render_pair_sheets_with_errors(
        request, season, brought=form, problems=problems
    )


@pages.organiser_pages.page("organise/pair_sheet.html", "human")
def show_pair_sheet(
    request: HttpRequest, season: Season, pairs: Sheet
) -> pages.ViewResult:
    """Show a sheet of pairs with its judges, their progress, and the board that its
    judgements yield.
    """
    return _build_pair_sheet_context(pairs)


def _build_pair_sheet_context(sheet: Sheet) -> dict[str, Any]:
    judges, planned = (
        pairs.compute_progress_of_judges(sheet),
        pairs.load_pairs_of_sheet(sheet).count(),
    )
    free = len(list_unassigned_shares(sheet))
    has_place = planned > 0 and (free > 0 or not sheet.shares)
    return {
        "sheet": sheet,
        "phase": sheet.phase,
        "planned": planned,
        "instances": sheet.instances.count(),
        "judges": judges,
        "has_judgements": any(judge.judged for judge in judges),
        "unfinished": []
        if sheet.is_published
        else pairs.describe_unfinished_judges(sheet, judges),
        "free": free,
        "takes_judges": sheet.is_open and has_place,
        "board": _find_unpublished_battle_board(sheet),
        "form": acts.JudgeForm(),
    }


def _find_unpublished_battle_board(sheet: Sheet) -> BattleBoard | None:
    own = Sheet.objects.filter(pk=sheet.pk)
    return build_battle_board_from_sheets(sheet.phase, own, has_teams=True)


@pages.organiser_pages.act("organise-pair-sheet season pairs", fields=None)
def add_judge(
    request: pages.SignedInRequest, season: Season, pairs: Sheet
) -> pages.ViewResult:
    """Add a judge with an account to the sheet of pairs."""
    form = acts.JudgeForm(request.POST)
    pages.require_known_fields(request, form)
    with pages.add_refusals_to_form(form, "email"):
        if form.is_valid():
            added = acts.ADD_PAIR_JUDGE(pairs, request.user, **form.cleaned_data)
            return acts.ADD_PAIR_JUDGE.told(pairs, added, {})
    context = {
        "season": season,
        "part": "human",
        **_build_pair_sheet_context(pairs),
        "form": form,
    }
    return render(request, "organise/pair_sheet.html", context, status=422)


@pages.organiser_pages.page()
def download_pair_judgements(
    request: HttpRequest, season: Season, pairs: Sheet
) -> pages.ViewResult:
    """Return the judgements of a sheet as JSON lines. The lines contain pseudonyms
    instead of the names of judges.
    """
    board = _find_unpublished_battle_board(pairs)
    content = board.battles_as_json_lines() if board else ""
    return pages.build_download_response(
        content, f"battles-{pairs.pk}.jsonl", is_private=True
    )


remove_judge = pages.build_action_view(
    acts.REMOVE_PAIR_JUDGE, "organise-pair-sheet season pairs"
)
publish_pair_judgements = pages.build_action_view(
    acts.PUBLISH_PAIR_JUDGEMENTS, "organise-pair-sheet season pairs"
)
unpublish_pair_judgements = pages.build_action_view(
    acts.UNPUBLISH_PAIR_JUDGEMENTS, "organise-pair-sheet season pairs"
)
reopen_pair_sheet = pages.build_action_view(
    acts.REOPEN_PAIR_SHEET, "organise-pair-sheet season pairs"
)
