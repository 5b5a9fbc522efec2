"""The page that compares two runs whose scores the user may see."""

from dataclasses import replace
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.http import Http404, HttpRequest
from django.shortcuts import render
from django.utils.translation import gettext as _

from citeboard.teams.models import User
from citeboard.web.pages import ViewResult, build_phase_context, phase_reader_pages
from scoring.exchange.figure_files import build_figure_response
from scoring.results.board import comparisons, visibility
from scoring.results.board.formatting import (
    display_name_of_class,
    display_name_of_dimension,
    display_name_of_metric,
    format_interval,
    format_score,
)
from scoring.results.board.query import load_cached_board_or_404
from scoring.results.board.standings import Board
from scoring.results.comparison import changes, contenders, pages, reading
from scoring.results.comparison.paired_scores import (
    SlowTestLockTimeout,
    compute_or_load_paired_tests,
    pair_evaluations,
)
from tasks.models import Phase


@phase_reader_pages.page()
def compare_two_runs(request: HttpRequest, phase: Phase) -> ViewResult:
    query = contenders.TwoRunsQuery.of(request.GET)
    board = load_cached_board_or_404(phase, request.user, query.rules, query.gold)
    shown, own = (
        contenders.list_comparable_runs_on_board(board),
        contenders.list_comparable_runs_of_own_teams(board, request.user),
    )
    if not shown and not own and query.a is None:
        raise Http404(_("No numbers of this phase are shown to you."))
    is_same_run = query.a is not None and query.a == query.b
    chosen = contenders.choose_two_runs_to_compare(
        board, request.user, shown + own, (query.a, query.b)
    )
    context: dict[str, Any] = {
        **build_phase_context(phase),
        "board": board,
        "carried": query.pairs(a=None, b=None, label="", page=1, tests=False),
        "shown": shown,
        "own": own,
        "a": chosen[0] if chosen else None,
        "b": chosen[1] if chosen else None,
        "is_same_run": is_same_run,
        "several": contenders.SeveralRunsQuery(
            runs=tuple(own.run for own in chosen or ()),
            rules=query.rules,
            gold=query.gold,
        ).build_query_string(),
        "rule_sets": query.choices("rules", phase.task.rules, board.rules),
    }
    status = 200
    if chosen:
        part, status = _build_comparison_context(board, chosen, request.user, query)
        context |= part
        if part.get("classes"):
            context |= {
                "figures": {"by-class": part["classes"]["figure"]},
                "figure_address": lambda name: query.build_query_string(figure=name),
            }
    if query.figure:
        return build_figure_response(context.get("figures", {}), query.figure)
    response = render(request, "runs/compare.html", context, status=status)
    if not request.user.is_authenticated:
        response["Cache-Control"] = "no-cache"
    return response


def _build_comparison_context(
    board: Board,
    chosen_two: contenders.PairOfComparableRuns,
    viewer: User | AnonymousUser,
    query: contenders.TwoRunsQuery,
) -> tuple[dict[str, Any], int]:
    evaluations = contenders.find_newest_evaluations_of_runs(board, chosen_two)
    missing = [
        row for row, own in zip(chosen_two, evaluations, strict=True) if own is None
    ]
    if missing or evaluations[0] is None or evaluations[1] is None:
        return {"missing": missing}, 200
    pair = pair_evaluations(evaluations[0], evaluations[1])
    try:
        found = {
            "tests": pages.build_paired_test_context(
                pair, compute_or_load_paired_tests(pair, at_once=query.tests), query
            ),
            "classes": pages.build_class_comparison_context(
                pair, chosen_two[0].system, chosen_two[1].system, query, board.audience
            ),
            "swapped": query.build_query_string(
                a=chosen_two[1].run, b=chosen_two[0].run
            ),
            "gold": board.gold,
        }
        if changes.are_runs_of_one_team(pair.a, pair.b, viewer):
            before, after = changes.sort_by_submission_time(pair.a, pair.b)
            found["changes"] = pages.build_run_changes_context(
                changes.compute_changes_between_evaluations(
                    before, after, viewer, query.dimension, query.metric
                ),
                query,
            )
        if (
            pair.metrics_with_instance_values
            and reading.determine_rights_to_evaluations(
                board.phase, viewer, [pair.a, pair.b]
            )
            is not None
        ):
            own = contenders.TwoRunsInstancesQuery(
                a=chosen_two[0].run,
                b=chosen_two[1].run,
                rules=query.rules,
                gold=query.gold,
            )
            found["read"] = own.build_query_string()
        if visibility.may_see_instances(
            board.phase, visibility.determine_audience(board.phase, viewer)
        ):
            found["instances"] = pages.build_differing_instances_context(
                pair, replace(query, a=chosen_two[0].run, b=chosen_two[1].run)
            )
    except comparisons.WithheldStatistics:
        return {"is_withheld": True}, 200
    except comparisons.UnreadableStatistics:
        return {"is_unreadable": True}, 200
    except SlowTestLockTimeout:
        return {"is_busy": True}, 503
    return found, 200


@phase_reader_pages.page()
def compare_several_runs(request: HttpRequest, phase: Phase) -> ViewResult:
    query = contenders.SeveralRunsQuery.of(request.GET)
    sides = reading.compare_several_runs(phase, request.user, query)
    response = render(
        request,
        "runs/compare_several.html",
        {**build_phase_context(phase), **_build_several_runs_context(sides, query)},
    )
    response["Cache-Control"] = "private, no-store"
    return response


def _build_several_runs_context(
    sides: reading.SeveralRunsComparison, query: contenders.SeveralRunsQuery
) -> dict[str, Any]:
    first = sides.runs[0] if sides.runs else None
    pair = contenders.TwoRunsQuery(
        rules=query.rules, gold=query.gold, a=first.run if first else None
    )
    return {
        "board": sides.board,
        "sides": sides,
        "chosen": [run.run for run in (*sides.runs, *sides.missing)],
        "max_runs": reading.MAX_RUNS_COMPARED,
        "carried": query.pairs(runs=()),
        "rule_sets": query.choices(
            "rules", sides.board.phase.task.rules, sides.board.rules
        ),
        "heads": [
            {
                "run": run,
                "compare": pair.build_query_string(b=run.run) if run != first else "",
            }
            for run in sides.runs
        ],
        "metric_lines": [
            _build_several_runs_line(line, display_name_of_metric(line.name))
            for line in sides.metrics
        ],
        "class_lines": [
            _build_several_runs_line(line, display_name_of_class(line.name))
            for line in sides.classes
        ],
        "dimensions": query.choices(
            "dimension", sides.dimensions, sides.dimension, display_name_of_dimension
        ),
        "metrics": query.choices(
            "metric", sides.class_metrics, sides.class_metric, display_name_of_metric
        ),
        "dimension_label": display_name_of_dimension(sides.dimension),
        "metric_label": display_name_of_metric(sides.class_metric),
    }


def _build_several_runs_line(
    line: reading.ComparedScoresRow, label: str
) -> dict[str, Any]:
    return {
        "label": label,
        "n": line.n,
        "has_support": line.has_support,
        "is_withheld": line.is_withheld,
        "mean": format_score(line.mean, line.scale),
        "deviation": format_score(line.deviation, line.scale),
        "cells": [
            {
                "value": format_score(
                    value.value,
                    line.scale,
                    is_infinite=value.is_infinite,
                    withheld=value.withheld,
                ),
                "interval": format_interval(value.low, value.high, line.scale),
                "difference": ""
                if index == 0
                else _format_score_difference(value.difference, line.scale),
            }
            for index, value in enumerate(line.values)
        ],
    }


def _format_score_difference(difference: float | None, scale: float) -> str:
    """Return a score difference with a sign, such as `+0.0312`.

    This function adds the plus sign, because the function `shown` adds only minus
    signs.
    """
    text = format_score(difference, scale)
    return f"+{text}" if difference is not None and difference > 0 else text
