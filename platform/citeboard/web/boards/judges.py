"""The tab that compares the judges of a board."""

import math
from typing import Any

from django.http import Http404
from django.utils.translation import gettext as _, gettext_lazy, ngettext

from citeboard.web.boards.page_query import BoardPageParameters
from scoring.results.board.formatting import (
    interval,
    metric_label,
    score_with_interval,
    shown,
)
from scoring.results.board.judges import (
    ALL_TIED,
    FEW_SYSTEMS,
    KIND_NAMES,
    NO_PAIRS,
    ONE_LABEL,
    OTHER_LABELS,
    PART_WITHHELD,
    SEVERAL_KINDS,
    JudgeAgreement,
    JudgedView,
    ranking_judge,
    visible_judges_of,
)
from scoring.results.board.standings import Board, Row

UNDEFINED_REASON_TEXTS = {
    FEW_SYSTEMS: gettext_lazy("fewer than three systems"),
    ALL_TIED: gettext_lazy("all systems of one judge are equal"),
    OTHER_LABELS: gettext_lazy("the ranks use other labels"),
    PART_WITHHELD: gettext_lazy("a part of the numbers is withheld"),
    NO_PAIRS: gettext_lazy("no pair with stored labels of both judges"),
    ONE_LABEL: gettext_lazy("undefined: both judges give one label"),
    SEVERAL_KINDS: gettext_lazy("not computed: labels of two kinds"),
}


def judges_tab_context(
    board: Board, query: BoardPageParameters, viewer: object
) -> dict[str, Any]:
    """Return the ranks of systems under each judge, rank correlations, and the judges'
    agreement on pairs.
    """
    found = visible_judges_of(board, viewer)
    if found is None:
        raise Http404(_("This board has one judge."))
    ranking = found.first.ranking
    return {
        "ranking_judge": ranking_judge(found.first),
        "named": [
            {
                "judge": judge,
                "kinds": ", ".join(str(KIND_NAMES[kind]) for kind in judge.kinds),
            }
            for judge in found.named
        ],
        "measure": metric_label(ranking.metric) if ranking else "",
        "views": [_judge_view_context(view, query) for view in found.views],
        "ranks": _ranks_by_judge(found.views),
    }


def _judge_view_context(view: JudgedView, query: BoardPageParameters) -> dict[str, Any]:
    correlation = view.correlation
    return {
        "judge": view.judge,
        "compared": view.compared,
        "href": f"{query.with_(rules=view.board.rules, judge='')}#view",
        "tau": "" if math.isnan(correlation.value) else shown(correlation.value),
        "ends": interval(correlation.low, correlation.high),
        "systems": correlation.n,
        "why_no_tau": UNDEFINED_REASON_TEXTS.get(view.why_no_correlation, ""),
        "missing": len(view.standings) - correlation.n,
        **agreement_context(view.agreement),
    }


def agreement_context(agreement: JudgeAgreement) -> dict[str, Any]:
    return {
        "pairs": agreement.pairs,
        "share": "" if agreement.share is None else shown(agreement.share),
        "kappa": ""
        if agreement.kappa is None
        else score_with_interval(agreement.kappa, agreement.interval),
        "why_no_kappa": UNDEFINED_REASON_TEXTS.get(agreement.reason, ""),
    }


def _ranks_by_judge(views: list[JudgedView]) -> list[dict[str, Any]]:
    if not views:
        return []
    return [
        {
            "system": standings[0].first.system,
            "team": standings[0].first.team,
            "cells": [
                _rank_and_score_cell(views[0].first, standings[0].first, None),
                *(
                    _rank_and_score_cell(view.board, one.view, one.places_gained)
                    for view, one in zip(views, standings, strict=True)
                ),
            ],
        }
        for standings in zip(*(view.standings for view in views), strict=True)
    ]


def _rank_and_score_cell(
    board: Board, row: Row | None, gained: int | None
) -> dict[str, Any]:
    ranking = board.ranking
    cell = row.scores.get(ranking.name) if row and ranking else None
    return {
        "rank": row.rank if row else None,
        "score": shown(cell.value, ranking.scale, withheld=cell.withheld)
        if cell and ranking
        else "",
        "change": _places_gained_text(gained),
    }


def _places_gained_text(gained: int | None) -> str:
    if not gained:
        return ""
    if gained > 0:
        message = ngettext("%(places)s place up", "%(places)s places up", gained)
    else:
        message = ngettext("%(places)s place down", "%(places)s places down", -gained)
    return message % {"places": abs(gained)}
