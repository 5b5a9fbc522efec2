"""More than two runs side by side: every metric and the classes, each beside its difference to the first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from django.http import Http404
from django.utils.translation import gettext as _

from scoring.board.differences import hidden_classes, natural_order
from scoring.board.query import board_of
from scoring.board.standings import Board
from scoring.comparison.contenders import (
    Contender,
    SeveralQuery,
    evaluation_of,
    named_run,
    on_board,
    own_runs,
)
from scoring.comparison.paired_scores import dimensions, two
from scoring.metrics import Metric
from scoring.models import Evaluation, class_numbers
from scoring.stats.breakdown import has_support
from tasks.models import Phase

MAX_RUNS = 8
CHOSEN_AT_FIRST = 3


@dataclass(frozen=True, kw_only=True)
class Value:
    """A number with its interval, and how far it lies above that of the first run."""

    value: float | None
    low: float | None = None
    high: float | None = None
    is_infinite: bool = False
    difference: float | None = None


@dataclass(frozen=True, kw_only=True)
class Line:
    """A metric, or a class with its support: a value for each run; of a run without one, an empty one."""

    name: str
    scale: float
    values: list[Value]
    n: int = 0

    @property
    def has_support(self) -> bool:
        return has_support(self.n)

    @property
    def mean(self) -> float | None:
        """Over all runs; undefined where one has no number."""
        known = self._known
        return fmean(known) if known else None

    @property
    def deviation(self) -> float | None:
        """The standard deviation over the runs as a sample, from two runs on."""
        known = self._known
        return stdev(known) if len(known) > 1 else None

    @property
    def _known(self) -> list[float]:
        found = [own.value for own in self.values if own.value is not None]
        return found if len(found) == len(self.values) else []


@dataclass(frozen=True, kw_only=True)
class Several:
    """``missing`` are chosen runs that were not scored under these rules and gold."""

    board: Board
    offered: list[Contender]
    runs: list[Contender]
    missing: list[Contender]
    metrics: list[Line]
    left_out: int
    dimensions: list[str]
    dimension: str
    class_metrics: list[str]
    class_metric: str
    classes: list[Line]
    min_class_size: int


def several(phase: Phase, viewer: object, query: SeveralQuery) -> Several:
    """The runs of the address, or the first of the board. Raises Http404 where one is not theirs to see."""
    board = board_of(phase, viewer, query.rules, query.gold)
    offered = [*on_board(board), *own_runs(board, viewer)]
    if not offered and not query.runs:
        raise Http404(_("No numbers of this phase are shown to you."))
    wanted = list(dict.fromkeys(query.runs))[:MAX_RUNS]
    chosen = [named_run(board, viewer, offered, number) for number in wanted] or offered[:CHOSEN_AT_FIRST]
    found = {run: evaluation_of(board, run) for run in chosen}
    scored = {run: own for run, own in found.items() if own is not None}
    evaluations = list(scored.values())
    metrics = _shared(evaluations)
    known = dimensions(evaluations) if evaluations else []
    dimension = query.dimension if query.dimension in known else next(iter(known), "")
    by_class = (
        [metric for metric in metrics if not metric.per_unit and metric.is_exchangeable] if known else []
    )
    metric = next((own for own in by_class if own.name == query.metric), by_class[0] if by_class else None)
    hidden = hidden_classes([own.pk for own in evaluations], phase, board.audience).get(
        dimension, frozenset()
    )
    return Several(
        board=board,
        offered=[*offered, *(run for run in chosen if run not in offered)],
        runs=list(scored),
        missing=[run for run in chosen if run not in scored],
        metrics=[_metric_line(metric, evaluations) for metric in metrics],
        left_out=len({score.metric for own in evaluations for score in own.scores.all()}) - len(metrics),
        dimensions=known,
        dimension=dimension,
        class_metrics=[own.name for own in by_class],
        class_metric=metric.name if metric else "",
        classes=_class_lines(evaluations, dimension, metric, hidden) if metric else [],
        min_class_size=phase.task.min_class_size if hidden else 0,
    )


def _shared(evaluations: Sequence[Evaluation]) -> list[Metric]:
    """The metrics that all computed alike, in the order of the first."""
    if not evaluations:
        return []
    first = evaluations[0]
    own = [{metric.name for metric in two(first, other).metrics} for other in evaluations[1:]]
    return [metric for metric in two(first, first).metrics if all(metric.name in names for names in own)]


def _metric_line(metric: Metric, evaluations: Sequence[Evaluation]) -> Line:
    scores = [next(own for own in side.scores.all() if own.metric == metric.name) for side in evaluations]
    first = scores[0].value
    values = [
        Value(
            value=score.value,
            low=score.low,
            high=score.high,
            is_infinite=score.is_infinite,
            difference=_difference(score.value, first),
        )
        for score in scores
    ]
    return Line(name=metric.name, scale=metric.scale, values=values)


def _difference(value: float | None, first: float | None) -> float | None:
    return None if value is None or first is None else value - first


def _class_lines(
    evaluations: Sequence[Evaluation], dimension: str, metric: Metric, hidden: frozenset[str]
) -> list[Line]:
    found: dict[str, dict[int, Value]] = {}
    sizes: dict[str, int] = {}
    for label, evaluation, number in class_numbers([own.pk for own in evaluations], dimension, metric.name):
        if label not in hidden:
            value, is_infinite, low, high, n = number
            own = Value(value=value, low=low, high=high, is_infinite=is_infinite)
            found.setdefault(label, {})[evaluation] = own
            sizes[label] = max(n, sizes.get(label, 0))
    lines = []
    for label in natural_order(list(found)):
        values = [found[label].get(own.pk, Value(value=None)) for own in evaluations]
        first = values[0].value
        lines.append(
            Line(
                name=label,
                scale=metric.scale,
                n=sizes[label],
                values=[
                    Value(
                        value=own.value,
                        low=own.low,
                        high=own.high,
                        is_infinite=own.is_infinite,
                        difference=_difference(own.value, first),
                    )
                    for own in values
                ],
            )
        )
    return lines
