"""One row of a board: all its numbers, each with its signature."""

from __future__ import annotations

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from scoring.board.confirming import confirmation_of
from scoring.board.open_gold import may_have_gold
from scoring.board.public_results import names_publicly, system_slug
from scoring.board.standings import Board, standing_of
from scoring.board.visibility import may_see_claims, shows_teams
from scoring.comparison.one_run import rights_to
from scoring.exchange.citations import of_run
from scoring.exchange.label_bundle import open_labels
from scoring.human.explained import rated
from scoring.models import Evaluation
from scoring.runs.claims import has_claims
from scoring.runs.explained import Explained, explained
from scoring.tools.baselines import baselines
from scoring.web.boards.recompute import recomputations
from scoring.web.place import place_of
from tasks.models import Submission
from tasks.models.run_cards import card_lines
from tasks.seasons.access import phase_for


@require_safe
def standing(request: HttpRequest, season: str, task: str, phase: str, submission: int) -> HttpResponse:
    """All numbers of a run that stands on the board as the viewer sees it; with `?score=` one of them."""
    found = phase_for(request.user, season, task, phase)
    its_place = standing_of(found, request.user, submission)
    if its_place is None:
        raise Http404(_("No row of this board is of that run."))
    board, row = its_place
    run = Submission.objects.get(pk=submission)
    groups = [*_numbers(board, run), *rated(found, run, board.frozen_at)]
    wanted = request.GET.get("score")
    if wanted is not None:
        numbers = [number for _, group in groups for number in group if str(number.id) == wanted]
        if not numbers:
            raise Http404(_("This row has no such number."))
        return render(request, "boards/_number.html", {"number": numbers[0], "row": row, "board": board})
    confirmation = confirmation_of(board)
    context = {
        **place_of(found),
        "board": board,
        "row": row,
        "run": run,
        "shows_teams": shows_teams(found, board.audience),
        "run_card": card_lines(row.card),
        "has_public_page": bool(row.team_slug) and names_publicly(found),
        "system_slug": system_slug(row.system),
        "groups": groups,
        "place": board.place_of(row),
        "recomputations": recomputations(found, request.user, run, board.gold),
        "gives_gold": may_have_gold(found, request.user),
        "gives_labels": bool(open_labels(found, request.user)),
        "confirmation": confirmation,
        "citation": of_run(board, row, confirmation=confirmation),
        "site": settings.BASE_URL,
        "shows_instances": rights_to(run, request.user) is not None,
        "shows_claims": may_see_claims(run, request.user, stands=True)
        and any(map(has_claims, Evaluation.objects.filter(submission=run).prefetch_related("scores"))),
        "has_threshold": run.built_in in baselines() and bool(baselines()[run.built_in].sweep),
    }
    return render(request, "boards/standing.html", context)


def _numbers(board: Board, run: Submission) -> list[tuple[str, list[Explained]]]:
    """By rule set, in the task's order."""
    phase = board.phase
    known = Evaluation.objects.known_at(board.frozen_at).filter(submission=run, gold=board.gold)
    evaluations = known.order_by("-id").prefetch_related("scores")
    by_rules: dict[str, Evaluation] = {}
    for evaluation in evaluations:
        by_rules.setdefault(evaluation.rules, evaluation)
    return [
        (
            rules,
            [
                explained(score, by_rules[rules], phase.task.type, run.neutral_filename)
                for score in by_rules[rules].scores.all()
            ],
        )
        for rules in phase.task.rules
        if rules in by_rules
    ]
