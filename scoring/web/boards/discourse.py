"""What the sentences of systems on a board do: shares of labels, and how far they are from the gold's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from citeboard.core.query import text_from
from scoring.board.cache import HTML, phase_page
from scoring.board.differences import CHOSEN_AT_FIRST, MAX_IN_HEAT_MAP
from scoring.board.discourse_charts import MAX_DRAWN, divergence_map, share_bars, written
from scoring.board.label_shares import (
    DATASET,
    SCHEMES,
    LabelCounts,
    label_counts_of,
    schemes_of,
    share_lines,
    sources_in_words,
)
from scoring.board.numbers import shown
from scoring.board.query import BoardQuery
from scoring.board.requested import board_with_scores
from scoring.board.small_classes import hidden_classes
from scoring.board.standings import Board, Row
from scoring.board.visibility import audience_of
from scoring.exchange.figure_files import figure_file, figure_type
from scoring.metrics.discourse.counting import GOLD, RUN
from scoring.models import Evaluation
from scoring.web.place import place_of
from tasks.seasons.access import phase_for

#: Each system against the gold of a data set with its own sentences there, or with its mean over all of them.
OWN, PUBLISHED = "own", "published"
FORMS = {OWN: gettext_lazy("each data set by itself"), PUBLISHED: gettext_lazy("the published form")}


@dataclass(frozen=True, kw_only=True)
class DiscourseQuery(BoardQuery):
    """Beside what every board can be asked: labels, form of the divergence, data set of the bars."""

    scheme: str = text_from("labels", choices=SCHEMES)
    form: str = text_from("form", default=OWN, choices=FORMS)
    dataset: str = text_from("dataset")


@require_safe
def discourse(request: HttpRequest, season: str, task: str, phase: str) -> HttpResponse:
    found = phase_for(request.user, season, task, phase)
    audience = audience_of(found, request.user)
    query = DiscourseQuery.of(request.GET)

    def body() -> str | bytes:
        board = board_with_scores(found, request.user, query, audience)
        schemes = schemes_of([column.name for column in board.columns])
        if not schemes:
            raise Http404(_("No labels of sentences are counted on this board."))
        context = _context(board, query, schemes)
        if query.figure:
            return figure_file(context["figures"], query.figure)
        return render_to_string("boards/discourse.html", context, request)

    content_type = figure_type(query.figure) if query.figure else HTML
    return phase_page(request, found, audience, query, body, content_type=content_type)


def _context(board: Board, query: DiscourseQuery, schemes: Sequence[str]) -> dict[str, Any]:
    scheme = query.scheme if query.scheme in schemes else schemes[0]
    counted = _counted(board.rows[:MAX_IN_HEAT_MAP], scheme)
    hidden = hidden_classes([row.evaluation for row in board.rows], board.phase, board.audience)
    datasets = [
        name
        for name in dict.fromkeys(name for _, own in counted for name in own.datasets)
        if name not in hidden.get(DATASET, ())
    ]
    dataset = query.dataset if query.dataset in datasets else ""
    drawn = _chosen(counted, query.systems)
    wanted = {row.evaluation for row, _ in drawn}
    divergences, shares = _divergences(counted, datasets, query.form), _shares(drawn, dataset)
    return {
        **place_of(board.phase),
        "carried": query.pairs(dataset=dataset, systems=()),
        "what": str(SCHEMES[scheme]),
        "schemes": query.choices("scheme", schemes, scheme, lambda name: str(SCHEMES[name])),
        "forms": query.choices("form", FORMS, query.form, lambda form: str(FORMS[form])),
        "datasets": query.choices(
            "dataset", ["", *datasets], dataset, lambda name: name or _("all together")
        ),
        "dataset": dataset,
        "systems": [(row, row.evaluation in wanted) for row, _ in counted],
        "most": MAX_DRAWN,
        "is_published": query.form == PUBLISHED,
        "left_out": max(0, len(board.rows) - MAX_IN_HEAT_MAP),
        **divergences,
        **shares,
        "figures": {"divergences": divergences["heat"], "label-shares": shares["bars"]},
        "figure_address": lambda name: query.with_(figure=name),
    }


def _counted(rows: Sequence[Row], scheme: str) -> list[tuple[Row, LabelCounts]]:
    evaluations = Evaluation.objects.select_related("phase__task").in_bulk([row.evaluation for row in rows])
    found = [(row, label_counts_of(evaluations[row.evaluation], scheme)) for row in rows]
    return [(row, own) for row, own in found if own is not None]


def _chosen(
    counted: Sequence[tuple[Row, LabelCounts]], wanted: Sequence[int]
) -> Sequence[tuple[Row, LabelCounts]]:
    """Those named by the numbers of their runs; without a name the first that have labels."""
    named = [(row, own) for row, own in counted if row.submission in wanted]
    labelled = [(row, own) for row, own in counted if own.sentences(RUN)]
    return named[:MAX_DRAWN] or (labelled or counted)[:CHOSEN_AT_FIRST]


def _divergences(
    counted: Sequence[tuple[Row, LabelCounts]], datasets: Sequence[str], form: str
) -> dict[str, Any]:
    """The heat map and the table behind it."""
    values = [
        [
            _or_none(own.published_divergence(dataset) if form == PUBLISHED else own.divergence(dataset))
            for dataset in datasets
        ]
        for _, own in counted
    ]
    lines = [
        {
            "system": row.system,
            "labelled": sources_in_words(own, "run"),
            "cells": [shown(value) for value in line],
        }
        for (row, own), line in zip(counted, values, strict=True)
    ]
    return {
        "heads": datasets,
        "lines": lines,
        "gold_labelled": sources_in_words(counted[0][1], "gold") if counted else "",
        "heat": divergence_map([row.system for row, _ in counted], datasets, values),
    }


def _shares(drawn: Sequence[tuple[Row, LabelCounts]], dataset: str) -> dict[str, Any]:
    """The bars of gold and systems, and the table behind them."""
    named = [(_("gold"), drawn[0][1], GOLD)] if drawn else []
    labels, lines = share_lines([*named, *((row.system, own, RUN) for row, own in drawn)], dataset)
    return {
        "bars": share_bars(labels, lines),
        "labels": labels,
        "share_lines": written(lines),
    }


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value
