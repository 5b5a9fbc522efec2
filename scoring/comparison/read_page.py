"""A page of instances of two runs: who may read it, which are chosen, and what of them is shown."""

from __future__ import annotations

from dataclasses import dataclass, field

from django.http import Http404
from django.utils.translation import gettext as _

from scoring.board.query import board_of
from scoring.board.standings import Board
from scoring.comparison.choosing import ChosenTwo, chosen_two, evaluation_of
from scoring.comparison.contenders import on_board, own_runs
from scoring.comparison.query import ReadQuery
from scoring.comparison.reading import Reading, ReadInstance, Rights, rights
from scoring.comparison.sides import Two, two
from scoring.metrics import Metric
from scoring.models import Evaluation
from tasks.models import Phase

#: Instances on one page.
PAGE = 10


@dataclass(frozen=True, kw_only=True)
class ReadPage:
    """Some instances of two runs; ``number`` counts pages from 1. A single instance has no pages."""

    board: Board
    chosen: ChosenTwo
    pair: Two
    metric: Metric
    rights: Rights
    which: str
    offered: list[str]
    instances: list[ReadInstance] = field(default_factory=list)
    classes: dict[str, list[str]] = field(default_factory=dict)
    of_class: tuple[str, str] | None = None
    single: str = ""
    count: int = 0
    of: int = 0
    number: int = 1
    pages: int = 1
    has_texts: bool = True


def read_page(phase: Phase, viewer: object, query: ReadQuery) -> ReadPage:
    """Raises Http404 where the two answers are not the viewer's to see, and Unreadable."""
    board = board_of(phase, viewer, query.rules, query.gold)
    offered = [*on_board(board), *own_runs(board, viewer)]
    chosen = chosen_two(board, viewer, offered, (query.a, query.b))
    found = [evaluation_of(board, run) for run in chosen or ()]
    scored = [evaluation for evaluation in found if evaluation is not None]
    if chosen is None or len(scored) < 2:
        raise Http404(_("There are no two runs here that were scored alike."))
    own = may_read(phase, viewer, scored)
    if own is None:
        raise Http404(_("The answers of these runs are not shown to you."))
    pair = two(scored[0], scored[1])
    if not pair.pooled:
        raise Http404(_("These runs share no metric that has a value on single instances."))
    metric = next((shared for shared in pair.pooled if shared.name == query.metric), pair.pooled[0])
    reading = Reading(pair, metric, own)
    which = query.which if query.which in reading.offered else reading.offered[0]
    names = [query.instance] if query.instance else reading.chosen(which)
    of_class = _class_in(reading.classes, query.of_class)
    if of_class is not None and not query.instance:
        wanted = reading.of_class(*of_class)
        names = [name for name in names if name in wanted]
    return _page(board, chosen, reading, which, names, query, of_class)


def _class_in(classes: dict[str, list[str]], asked: str) -> tuple[str, str] | None:
    """The dimension and the class that are asked for; what is not there is passed over."""
    dimension, _, label = asked.partition(":")
    return (dimension, label) if label in classes.get(dimension, ()) else None


def may_read(phase: Phase, viewer: object, scored: list[Evaluation]) -> Rights | None:
    for evaluation in scored:
        evaluation.submission.phase = phase
    return rights(phase, viewer, [evaluation.submission for evaluation in scored])


def _page(
    board: Board,
    chosen: ChosenTwo,
    reading: Reading,
    which: str,
    names: list[str],
    query: ReadQuery,
    of_class: tuple[str, str] | None,
) -> ReadPage:
    pages = max(1, -(-len(names) // PAGE))
    number = min(query.page, pages)
    instances = reading.read(names[PAGE * (number - 1) : PAGE * number])
    if query.instance and not instances:
        raise Http404(_("The runs have no instance of this name."))
    return ReadPage(
        board=board,
        chosen=chosen,
        pair=reading.pair,
        metric=reading.metric,
        rights=reading.rights,
        which=which,
        offered=reading.offered,
        instances=instances,
        classes=reading.classes,
        of_class=of_class,
        single=query.instance,
        count=len(names),
        of=reading.instances,
        number=number,
        pages=pages,
        has_texts=reading.has_texts,
    )
