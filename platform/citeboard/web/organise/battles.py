"""Pages on which organisers create sheets of pairs, add judges, upload judgements, and
publish the results.
"""

from collections.abc import Sequence
from typing import Any

from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from citeboard.acts import pairs as acts
from citeboard.background.kinds import jobs_of
from citeboard.core.words import as_sentence
from citeboard.web import pages
from scoring.human import pairs
from scoring.human.sheets import SheetRefused, phases_with_human_evaluation
from scoring.human.states import list_free_shares
from scoring.models import Sheet
from scoring.results.board.battles import BattleBoard, battle_board_from_sheets
from scoring.worker import background
from tasks.models import Phase, Season
from tasks.submissions.uploads import UploadTooLarge


@pages.organisers.page("organise/battles.html", "human")
def sheets(request: pages.SignedInRequest, season: Season) -> pages.Answer:
    """Show the sheets of pairs of a season."""
    return _sheets_context(season, request)


def _sheets_context(
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
        for phase in phases_with_human_evaluation(list(phases))
    ]
    return {"phases": lines, "jobs": jobs_of(season, background.Kind.SHEET)}


def _page_with_errors(
    request: pages.SignedInRequest, season: Season, **shown: Any
) -> HttpResponse:
    problems = shown.pop("problems", ())
    context = {
        "season": season,
        "part": "human",
        "problems": problems,
        **_sheets_context(season, request, **shown),
    }
    return render(request, "organise/battles.html", context, status=422)


@pages.organisers.act("organise-battles season", fields=None)
def make(request: pages.SignedInRequest, season: Season, phase: Phase) -> pages.Answer:
    """Create a sheet of pairs."""
    form = acts.PairsForm(request.POST, of=phase, by=request.user)
    pages.require_known_fields(request, form)
    with pages.add_refusals_to_form(form, None):
        if form.is_valid():
            job = acts.MAKE_PAIRS(phase, request.user, **form.cleaned_data)
            return pages.redirect_to_job(request, phase, job)
    return _page_with_errors(request, season, made=form)


@pages.organisers.act("organise-battles season", fields=None)
def bring(request: pages.SignedInRequest, season: Season, phase: Phase) -> pages.Answer:
    """Import judgements of pairs from a file."""
    form = acts.BattlesForm(
        request.POST, request.FILES, of=phase, auto_id=f"id_{phase.pk}_%s"
    )
    pages.require_known_fields(request, form)
    problems: Sequence[Any] = ()
    if form.is_valid():
        try:
            sheet = acts.BRING_BATTLES(phase, request.user, **form.cleaned_data)
            return redirect("organise-pair-sheet", season.slug, sheet.pk)
        except (UploadTooLarge, SheetRefused) as refused:
            form.add_error("file", as_sentence(refused))
        except pairs.JudgementsRefused as refused:
            problems = refused.problems[:200]
    return _page_with_errors(request, season, brought=form, problems=problems)


@pages.organisers.page("organise/pair_sheet.html", "human")
def sheet(request: HttpRequest, season: Season, pairs: Sheet) -> pages.Answer:
    """Show a sheet of pairs with its judges, their progress, and the board that its
    judgements yield.
    """
    return _sheet_context(pairs)


def _sheet_context(sheet: Sheet) -> dict[str, Any]:
    judges, planned = pairs.progress_of_judges(sheet), pairs.pairs_of(sheet).count()
    free = len(list_free_shares(sheet))
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
        else pairs.unfinished_judges(sheet, judges),
        "free": free,
        "takes_judges": sheet.is_open and has_place,
        "board": _own_battle_board(sheet),
        "form": acts.JudgeForm(),
    }


def _own_battle_board(sheet: Sheet) -> BattleBoard | None:
    own = Sheet.objects.filter(pk=sheet.pk)
    return battle_board_from_sheets(sheet.phase, own, has_teams=True)


@pages.organisers.act("organise-pair-sheet season pairs", fields=None)
def add_judge(
    request: pages.SignedInRequest, season: Season, pairs: Sheet
) -> pages.Answer:
    """Add a judge with an account to the sheet of pairs."""
    form = acts.JudgeForm(request.POST)
    pages.require_known_fields(request, form)
    with pages.add_refusals_to_form(form, "email"):
        if form.is_valid():
            added = acts.ADD_JUDGE(pairs, request.user, **form.cleaned_data)
            return acts.ADD_JUDGE.told(pairs, added, {})
    context = {"season": season, "part": "human", **_sheet_context(pairs), "form": form}
    return render(request, "organise/pair_sheet.html", context, status=422)


@pages.organisers.page()
def rows(request: HttpRequest, season: Season, pairs: Sheet) -> pages.Answer:
    """Return the judgements of a sheet as JSON lines. The lines contain pseudonyms
    instead of the names of judges.
    """
    board = _own_battle_board(pairs)
    content = board.battles_as_json_lines() if board else ""
    return pages.download_response(
        content, f"battles-{pairs.pk}.jsonl", is_private=True
    )


remove_judge = pages.build_action_view(
    acts.REMOVE_JUDGE, "organise-pair-sheet season pairs"
)
publish = pages.build_action_view(
    acts.PUBLISH_PAIRS, "organise-pair-sheet season pairs"
)
take_back = pages.build_action_view(
    acts.TAKE_PAIRS_BACK, "organise-pair-sheet season pairs"
)
reopen = pages.build_action_view(acts.REOPEN_PAIRS, "organise-pair-sheet season pairs")
