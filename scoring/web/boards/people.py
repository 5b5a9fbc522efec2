"""Metrics against people: correlations of what is computed with what was judged, as charts and as a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from citeboard.core.query import text_from
from scoring.board.human_columns import published_judgements
from scoring.board.numbers import interval, shown
from scoring.board.query import BoardQuery
from scoring.board.standings import Board
from scoring.figures import Axis, Dots, Measured, Series
from scoring.human.against_metrics import Line, Values, judged, lines, rated
from scoring.metrics.entailment.judgements import RATINGS
from scoring.models import JudgedRun
from scoring.stats.correlation import COEFFICIENTS, Correlation
from scoring.web.boards.sections import PEOPLE, section_page
from tasks.seasons.access import may_organise, phase_for

#: Correlations have as many decimals as shares.
SCALE = 1.0
SYSTEMS, INSTANCES = gettext_lazy("over systems"), gettext_lazy("over single texts")


@dataclass(frozen=True, kw_only=True)
class PeopleQuery(BoardQuery):
    """Beside what every board can be asked: what people judged."""

    criterion: str = text_from("criterion")


@require_safe
def people(request: HttpRequest, season: str, task: str, phase: str) -> HttpResponse:
    """What annotators said of claims is for organisers; what stands on the board for everybody."""
    found = phase_for(request.user, season, task, phase)
    organises = may_organise(request.user, found.task.season)
    query = PeopleQuery.of(request.GET)
    imported = JudgedRun.objects.filter(submission__phase=found).order_by("pk")

    def context(board: Board) -> dict[str, Any]:
        return _context(board, query, _judged_numbers(board, organises=organises))

    return section_page(
        request, found, PEOPLE, query, context, organises, *imported.values_list("pk", "published_at")
    )


def _judged_numbers(board: Board, *, organises: bool) -> dict[str, Values]:
    on_sheets = rated(board.phase, board.frozen_at)
    if organises:
        return on_sheets | judged(JudgedRun.objects.filter(submission__phase=board.phase))
    of_responses = judged(published_judgements(board.phase, board.frozen_at))
    return on_sheets | {kind: of_responses[kind] for kind in RATINGS if kind in of_responses}


def _context(board: Board, query: PeopleQuery, known: dict[str, Values]) -> dict[str, Any]:
    if not known:
        raise Http404(_("Nobody has judged the texts of this board."))
    criterion = query.criterion if query.criterion in known else next(iter(known))
    found = lines(board, known[criterion])
    return {
        "criterion": _words(criterion),
        "criteria": query.choices("criterion", known, criterion, _words),
        "coefficients": list(COEFFICIENTS),
        "lines": [
            (
                line.metric,
                [_cell(line.over_systems[name]) for name in COEFFICIENTS],
                [_cell(line.over_instances[name]) for name in COEFFICIENTS],
            )
            for line in found
        ],
        "systems": max((each.n for line in found for each in line.over_systems.values()), default=0),
        "texts": max((each.n for line in found for each in line.over_instances.values()), default=0),
        "titles": {name: title for name, (title, _) in SIDES.items()},
        "figures": {
            name: chart([(line.metric, side(line)) for line in found], str(title))
            for name, (title, side) in SIDES.items()
        },
    }


def _words(criterion: str) -> str:
    return criterion.replace("_", " ")


def _over_systems(line: Line) -> Sequence[Correlation]:
    return list(line.over_systems.values())


def _over_instances(line: Line) -> Sequence[Correlation]:
    return list(line.over_instances.values())


#: By the name of its figure what each is over.
SIDES = {"people-1": (SYSTEMS, _over_systems), "people-2": (INSTANCES, _over_instances)}


def _cell(found: Correlation) -> tuple[str, str]:
    return shown(_known(found.value), SCALE), interval(found.low, found.high, SCALE)


def chart(rows: Sequence[tuple[str, Sequence[Correlation]]], title: str) -> Dots:
    """A dot with its interval for each coefficient of each metric, the first metric at the top."""
    return Dots(
        title=_("Correlation %(over)s") % {"over": title},
        labels=[metric for metric, _ in rows],
        series=[
            Series(
                name=name,
                values=[
                    Measured(value=_known(found[place].value), low=found[place].low, high=found[place].high)
                    for _, found in rows
                ],
            )
            for place, name in enumerate(COEFFICIENTS)
        ],
        axis=Axis(title=_("Correlation"), decimals=3, bounds=(-1.0, 1.0), has_zero=True),
    )


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value
