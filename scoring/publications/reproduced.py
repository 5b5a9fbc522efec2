"""Published figures beside what the same systems score here: each in a column of its own, and the difference.

Which system of a board stands for which of print is said in the season file. What a viewer may not see of a
board is missing here too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from django.utils.translation import gettext as _

from scoring.board.charts import value_axis
from scoring.board.differences import class_table
from scoring.board.numbers import MINUS
from scoring.board.standings import Board, Row, standings
from scoring.board.visibility import Visibility
from scoring.figures import Bars, Measured, Series
from scoring.figures.description import MAX_SERIES
from scoring.models import Reported
from scoring.publications.placement import Recomputed
from scoring.publications.published import WIDTHS, Measure, PublishedRow, PublishedTable, published_of
from tasks.models import Phase, Task


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A printed figure and our value on its scale; either may be missing."""

    figure: Reported | None
    own: float | None

    @property
    def reported(self) -> float | None:
        return self.figure.value if self.figure else None

    @property
    def difference(self) -> float | None:
        return None if self.own is None or self.reported is None else self.own - self.reported

    @property
    def texts(self) -> dict[str, Any]:
        """All three with as many decimals as are printed."""
        printed = self.figure.printed if self.figure else ""
        decimals = len(printed.partition(".")[2].rstrip("*%")) or 3
        return {
            "reported": printed.replace("-", MINUS),
            "doubt": self.figure.doubt if self.figure else "",
            "own": _number(self.own, f"z.{decimals}f"),
            "difference": _number(self.difference, f"+z.{decimals}f"),
        }


@dataclass(frozen=True, kw_only=True)
class Head:
    printed: str
    own: str


@dataclass(frozen=True, kw_only=True)
class Line:
    label: str
    own: str
    line: int
    pairs: list[Pair]


@dataclass(frozen=True, kw_only=True)
class Reproduced:
    """A published table beside a board; ``phase`` is None where no board has one of its systems to show."""

    task: Task
    shown: PublishedTable
    said: Recomputed
    phase: Phase | None
    heads: list[Head]
    lines: list[Line]
    left_out: list[str]

    @property
    def measure(self) -> str:
        return self.shown.leading.label

    @property
    def drawn(self) -> list[int]:
        """The heads in the chart: as many as have colours, of systems those with the best printed figures."""
        places = list(range(len(self.heads)))
        if self.shown.placement.by:
            sign = 1 if self.shown.leading.higher_is_better is False else -1
            places.sort(key=lambda place: sign * self._mean_reported(place))
        return places[: MAX_SERIES // 2]

    def _mean_reported(self, place: int) -> float:
        known = [value for line in self.lines if (value := line.pairs[place].reported) is not None]
        return fmean(known) if known else 0.0

    @property
    def bars(self) -> Bars:
        """The reported and the recomputed figures of each drawn head, side by side."""
        pairs = [
            (self.heads[place].printed, [line.pairs[place] for line in self.lines]) for place in self.drawn
        ]
        series = [
            Series(name=f"{name}, {word}", values=values)
            for name, own in pairs
            for word, values in (
                (_("reported"), [Measured(value=pair.reported, text=pair.texts["reported"]) for pair in own]),
                (_("recomputed"), [Measured(value=pair.own, text=pair.texts["own"]) for pair in own]),
            )
        ]
        return Bars(
            title=_("%(measure)s, reported and recomputed") % {"measure": self.measure},
            labels=[line.label for line in self.lines],
            series=series,
            axis=value_axis(self.measure, WIDTHS.get(self.shown.leading.scale, 0.0), has_zero=True),
        )


def is_reproduced(task: Task) -> bool:
    """Whether the season file says what of the board stands beside a published table."""
    return any(placement.get("recomputed") for placement in task.published)


def tables_of(tasks: Sequence[Task], viewer: object) -> list[Reproduced]:
    return [table for task in tasks if is_reproduced(task) for table in reproduced_of(task, viewer)]


def reproduced_of(task: Task, viewer: object) -> Iterator[Reproduced]:
    results = published_of(task)
    for shown in results.by_class:
        if shown.placement.recomputed:
            beside = _by_run if shown.placement.recomputed.runs else _by_class
            yield beside(task, shown, shown.placement.recomputed, viewer)
    for shown in results.headlines:
        if shown.placement.recomputed and not shown.placement.by:
            yield _of_systems(task, shown, shown.placement.recomputed, viewer)


def _by_class(task: Task, shown: PublishedTable, said: Recomputed, viewer: object) -> Reproduced:
    board, rows = _board(task, said, viewer)
    metric = said.metrics.get(shown.leading.name, "")
    figures = {(row.label, row.system): row for row in shown.rows}
    systems = [system for system in dict.fromkeys(row.system for row in shown.rows) if system in said.systems]
    labels = list(dict.fromkeys(row.label for row in shown.rows))
    values = _class_values(board, rows, ClassNames.of(said, shown, labels), metric, shown.leading)
    lines = [
        Line(
            label=label,
            own="",
            line=min(row.line for row in shown.rows if row.label == label),
            pairs=[
                _pair(figures.get((label, system)), shown.leading, values.get((label, said.systems[system])))
                for system in systems
            ],
        )
        for label in labels
    ]
    heads = [Head(printed=system, own=said.systems[system]) for system in systems]
    return _reproduced(task, shown, said, board if rows else None, heads, lines)


def _by_run(task: Task, shown: PublishedTable, said: Recomputed, viewer: object) -> Reproduced:
    board, rows = _board(task, said, viewer)
    measures = [column for column in shown.columns if column.name in said.metrics]
    lines = [
        Line(
            label=row.label,
            own=said.runs[row.label],
            line=row.line,
            pairs=[
                _pair(row, measure, _value(board, rows.get(said.runs[row.label]), said, measure))
                for measure in measures
            ],
        )
        for row in shown.rows
        if row.label in said.runs
    ]
    heads = [Head(printed=measure.label, own="") for measure in measures]
    return _reproduced(task, shown, said, board if rows else None, heads, lines)


def _of_systems(task: Task, shown: PublishedTable, said: Recomputed, viewer: object) -> Reproduced:
    board, rows = _board(task, said, viewer)
    measures = [column for column in shown.columns if column.name in said.metrics]
    lines = [
        Line(
            label=row.system,
            own=said.systems[row.system],
            line=row.line,
            pairs=[
                _pair(row, measure, _value(board, rows.get(said.systems[row.system]), said, measure))
                for measure in measures
            ],
        )
        for row in sorted(shown.rows, key=lambda row: row.line)
        if row.system in said.systems
    ]
    heads = [Head(printed=measure.label, own="") for measure in measures]
    return _reproduced(task, shown, said, board if rows else None, heads, lines)


def _reproduced(
    task: Task,
    shown: PublishedTable,
    said: Recomputed,
    board: Board | None,
    heads: list[Head],
    lines: list[Line],
) -> Reproduced:
    named, systems = said.systems, dict.fromkeys(row.system for row in shown.rows)
    if said.runs:
        named, systems = said.runs, dict.fromkeys(row.label for row in shown.rows)
    return Reproduced(
        task=task,
        shown=shown,
        said=said,
        phase=board.phase if board else None,
        heads=heads,
        lines=lines,
        left_out=[name for name in systems if name not in named],
    )


def _board(task: Task, said: Recomputed, viewer: object) -> tuple[Board | None, dict[str, Row]]:
    """The first board with a system that is named and whose scores the viewer may see; its rows by system."""
    wanted = {*said.systems.values(), *said.runs.values()}
    for phase in task.phases.all():
        phase.task = task
        board = standings(phase, viewer, said.rules) if said.rules in task.rules else None
        if board is None or board.visibility != Visibility.SCORES:
            continue
        # The best of several runs of a name stands first.
        rows = {row.system: row for row in reversed(board.rows) if row.system in wanted}
        if rows:
            return board, rows
    return None, {}


@dataclass(frozen=True)
class ClassNames:
    """By dimension of the board: what its classes are called in print, in small letters."""

    printed: Mapping[str, Mapping[str, str]]

    @classmethod
    def of(cls, said: Recomputed, shown: PublishedTable, labels: Sequence[str]) -> ClassNames:
        own = said.dimension or shown.placement.by
        found: dict[str, dict[str, str]] = {}
        for label in labels:
            first, colon, rest = said.classes.get(label, label).partition(":")
            dimension, name = (
                (first, rest) if colon and label in said.classes else (own, first + colon + rest)
            )
            found.setdefault(dimension.strip(), {})[name.strip().casefold()] = label
        return cls(found)


def _class_values(
    board: Board | None, rows: dict[str, Row], names: ClassNames, metric: str, measure: Measure
) -> dict[tuple[str, str], float]:
    """By printed class and system, on the scale of print."""
    if board is None or metric not in {column.name for column in board.columns}:
        return {}
    found = {}
    for dimension, printed in names.printed.items():
        table = class_table(board, list(rows.values()), dimension, metric)
        for own in table.classes:
            label = printed.get(own.label.casefold())
            for system, row in rows.items():
                value = table.value(own.label, row)
                if label is not None and value is not None:
                    found[label, system] = _on_scale(value, table.scale, measure)
    return found


def _value(board: Board | None, row: Row | None, said: Recomputed, measure: Measure) -> float | None:
    name = said.metrics[measure.name]
    column = (
        next((candidate for candidate in board.columns if candidate.name == name), None) if board else None
    )
    cell = row.scores.get(name) if row else None
    if column is None or cell is None or cell.value is None:
        return None
    return _on_scale(cell.value, column.scale, measure)


def _on_scale(value: float, scale: float, measure: Measure) -> float:
    """Counts have no scale, and are printed as they are."""
    return value / scale * WIDTHS.get(measure.scale, scale) if scale else value


def _pair(row: PublishedRow | None, measure: Measure, own: float | None) -> Pair:
    return Pair(figure=row.figures.get(measure.name) if row else None, own=own)


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form).replace("-", MINUS)
