"""More than two runs side by side: every metric and the classes, each beside its difference to the first."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev

from django.http import Http404
from django.utils.translation import gettext as _

from scoring.board.differences import hidden_classes, natural_order
from scoring.board.query import board_of
from scoring.board.standings import Board
from scoring.comparison.contenders import (
    Contender,
    SeveralQuery,
    evaluations_of,
    named_run,
    on_board,
    own_runs,
)
from scoring.comparison.paired_scores import dimensions, two
from scoring.metrics import Metric, metrics_by
from scoring.models import OF_SMALL_CLASS, Evaluation, class_numbers
from scoring.stats.breakdown import has_support
from tasks.gold.secrecy import secrecy_of
from tasks.models import Phase

MAX_RUNS = 8
CHOSEN_AT_FIRST = 3


@dataclass(frozen=True)
class Value:
    value: float | None
    low: float | None = None
    high: float | None = None
    is_infinite: bool = False
    withheld: str = ""
    difference: float | None = None


@dataclass(frozen=True, kw_only=True)
class Line:
    name: str
    scale: float
    values: list[Value]
    n: int = 0

    @property
    def has_support(self) -> bool:
        return has_support(self.n)

    @property
    def is_withheld(self) -> bool:
        return not self.n and any(one.withheld for one in self.values)

    @property
    def mean(self) -> float | None:
        numbers = self._known
        return fmean(numbers) if numbers else None

    @property
    def deviation(self) -> float | None:
        numbers = self._known
        return stdev(numbers) if len(numbers) > 1 else None

    @property
    def _known(self) -> list[float]:
        listed = [one.value for one in self.values if one.value is not None]
        return listed if len(listed) == len(self.values) else []


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
    board = board_of(phase, viewer, query.rules, query.gold)
    offered = [*on_board(board), *own_runs(board, viewer)]
    if not offered and not query.runs:
        raise Http404(_("No numbers of this phase are shown to you."))
    wanted = list(dict.fromkeys(query.runs))[:MAX_RUNS]
    chosen = [named_run(board, viewer, offered, number) for number in wanted] or offered[:CHOSEN_AT_FIRST]
    read = zip(chosen, evaluations_of(board, chosen), strict=True)
    scored = {run: one for run, one in read if one is not None}
    evaluations = list(scored.values())
    # The metrics that all computed alike, in the order of the first.
    alike = [{metric.name for metric in two(evaluations[0], other).metrics} for other in evaluations]
    shared = two(evaluations[0], evaluations[0]).metrics if evaluations else []
    metrics = [metric for metric in shared if all(metric.name in names for names in alike)]
    lines = []
    for metric in metrics:
        scores = [{score.metric: score for score in run.scores.all()}[metric.name] for run in evaluations]
        values = [
            Value(one.value, one.low, one.high, one.is_infinite, one.get_withheld_display()) for one in scores
        ]
        lines.append(_line(metric.name, metric.scale, values))
    shown = dimensions(evaluations) if evaluations else []
    dimension = query.dimension if query.dimension in shown else next(iter(shown), "")
    task_type = phase.task.task_type
    by_class = [one for one in metrics_by(task_type, dimension, metrics) if one.is_exchangeable and shown]
    chosen_metric = next((line for line in by_class if line.name == query.metric), next(iter(by_class), None))
    hidden = hidden_classes([run.pk for run in evaluations], phase, board.audience).get(
        dimension, frozenset()
    )
    return Several(
        board=board,
        offered=[*offered, *(run for run in chosen if run not in offered)],
        runs=list(scored),
        missing=[run for run in chosen if run not in scored],
        metrics=lines,
        left_out=len({score.metric for run in evaluations for score in run.scores.all()}) - len(metrics),
        dimensions=shown,
        dimension=dimension,
        class_metrics=[line.name for line in by_class],
        class_metric=chosen_metric.name if chosen_metric else "",
        classes=_class_lines(evaluations, dimension, chosen_metric, hidden) if chosen_metric else [],
        min_class_size=secrecy_of(phase).min_class_size if hidden else 0,
    )


def _line(name: str, scale: float, values: Sequence[Value], n: int = 0) -> Line:
    first = values[0].value
    apart = [None if one.value is None or first is None else one.value - first for one in values]
    shown = [replace(one, difference=difference) for one, difference in zip(values, apart, strict=True)]
    return Line(name=name, scale=scale, values=shown, n=n)


def _class_lines(
    evaluations: Sequence[Evaluation], dimension: str, metric: Metric, hidden: frozenset[str]
) -> list[Line]:
    by_label: dict[str, dict[int, Value]] = {}
    sizes: dict[str, int] = {}
    for label, evaluation, number in class_numbers([run.pk for run in evaluations], dimension, metric.name):
        value, is_infinite, low, high, n, why = OF_SMALL_CLASS if label in hidden else number
        by_label.setdefault(label, {})[evaluation] = Value(value, low, high, is_infinite, str(why))
        sizes[label] = max(n, sizes.get(label, 0))
    return [
        _line(
            label,
            metric.scale,
            [by_label[label].get(run.pk, Value(None)) for run in evaluations],
            sizes[label],
        )
        for label in natural_order(list(by_label))
    ]
