"""The tab that compares the judges of a board."""

import math
from typing import Any
from urllib.parse import urlencode

from django.http import Http404
from django.urls import reverse
from django.utils.translation import gettext as _, gettext_lazy, ngettext

from citeboard.web.boards.page_query import BoardPageParameters
from scoring.results.board.formatting import (
    display_name_of_metric,
    format_interval,
    format_score,
    format_score_with_interval,
)
from scoring.results.board.judges import (
    KIND_NAMES,
    NO_AGREEMENT_NO_PAIRS,
    NO_AGREEMENT_ONE_LABEL,
    NO_AGREEMENT_PART_WITHHELD,
    NO_AGREEMENT_SEVERAL_KINDS,
    NO_CORRELATION_ALL_TIED,
    NO_CORRELATION_FEW_SYSTEMS,
    OTHER_LABELS,
    BoardOfFurtherJudge,
    JudgeAgreement,
    build_judge_page_query,
    find_visible_judges_of_board,
    ranking_judge,
)
from scoring.results.board.standings import Board, BoardRow

UNDEFINED_REASON_TEXTS = {
    NO_CORRELATION_FEW_SYSTEMS: gettext_lazy("fewer than three systems"),
    NO_CORRELATION_ALL_TIED: gettext_lazy("all systems of one judge are equal"),
    OTHER_LABELS: gettext_lazy("the ranks use other labels"),
    NO_AGREEMENT_PART_WITHHELD: gettext_lazy("a part of the numbers is withheld"),
    NO_AGREEMENT_NO_PAIRS: gettext_lazy("no pair with stored labels of both judges"),
    NO_AGREEMENT_ONE_LABEL: gettext_lazy("undefined: both judges give one label"),
    NO_AGREEMENT_SEVERAL_KINDS: gettext_lazy("not computed: labels of two kinds"),
}


def build_judges_tab_context(
    board: Board, query: BoardPageParameters, viewer: object
) -> dict[str, Any]:
    """Return the ranks of systems under each judge, rank correlations, and the judges'
    agreement on pairs.
    """
    found = find_visible_judges_of_board(board, viewer)
    if found is None:
        raise Http404(_("This board has one judge."))
    ranking = found.first.ranking
    return {
        "ranking_judge": ranking_judge(found.first),
        "named": [
            {
                "judge": judge,
                "href": build_judge_page_href(found.first, judge.key),
                "kinds": ", ".join(str(KIND_NAMES[kind]) for kind in judge.kinds),
            }
            for judge in found.named
        ],
        "measure": display_name_of_metric(ranking.metric) if ranking else "",
        "views": [_build_judge_view_context(view, query) for view in found.views],
        "ranks": _build_ranks_by_judge(found.views),
    }


def _build_judge_view_context(
    view: BoardOfFurtherJudge, query: BoardPageParameters
) -> dict[str, Any]:
    correlation = view.correlation
    return {
        "judge": view.judge,
        "about_href": build_judge_page_href(view.first, view.judge.key),
        "compared": view.compared,
        "href": f"{query.build_query_string(rules=view.board.rules, judge='')}#view",
        "tau": "" if math.isnan(correlation.value) else format_score(correlation.value),
        "ends": format_interval(correlation.low, correlation.high),
        "systems": correlation.n,
        "why_no_tau": UNDEFINED_REASON_TEXTS.get(view.missing_correlation_reason, ""),
        "missing": len(view.system_ranks) - correlation.n,
        **build_agreement_context(view.agreement),
    }


def build_judge_page_href(board: Board, key: str = "") -> str:
    """Return the address of the page of a judge, by default of the first judge."""
    phase, query = board.phase, build_judge_page_query(board, key)
    task = phase.task
    names = {"season": task.season.slug, "task": task.slug, "phase": phase.slug}
    address = reverse("board-judge", kwargs=names)
    return f"{address}?{urlencode(query)}" if query else address


def build_agreement_context(agreement: JudgeAgreement) -> dict[str, Any]:
    return {
        "pairs": agreement.pairs,
        "share": "" if agreement.share is None else format_score(agreement.share),
        "kappa": ""
        if agreement.kappa is None
        else format_score_with_interval(agreement.kappa, agreement.interval),
        "why_no_kappa": UNDEFINED_REASON_TEXTS.get(agreement.reason, ""),
    }


def _build_ranks_by_judge(views: list[BoardOfFurtherJudge]) -> list[dict[str, Any]]:
    if not views:
        return []
    return [
        {
            "system": standings[0].first.system,
            "team": standings[0].first.team,
            "cells": [
                _build_rank_and_score_cell(views[0].first, standings[0].first, None),
                *(
                    _build_rank_and_score_cell(view.board, one.view, one.ranks_gained)
                    for view, one in zip(views, standings, strict=True)
                ),
            ],
        }
        for standings in zip(*(view.system_ranks for view in views), strict=True)
    ]


def _build_rank_and_score_cell(
    board: Board, row: BoardRow | None, gained: int | None
) -> dict[str, Any]:
    ranking = board.ranking
    cell = row.scores.get(ranking.name) if row and ranking else None
    return {
        "rank": row.rank if row else None,
        "score": format_score(cell.value, ranking.scale, withheld=cell.withheld)
        if cell and ranking
        else "",
        "change": _format_rank_change(gained),
    }


def _format_rank_change(gained: int | None) -> str:
    if not gained:
        return ""
    if gained > 0:
        message = ngettext("%(places)s place up", "%(places)s places up", gained)
    else:
        message = ngettext("%(places)s place down", "%(places)s places down", -gained)
    return message % {"places": abs(gained)}
