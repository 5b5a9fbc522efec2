"""A board as a paper prints it: the columns and order of a printed table, printed beside computed."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean

from django.utils.translation import gettext as _

from scoring.figures import Bars, Measured, Series
from scoring.figures.description import MAX_SERIES
from scoring.results.board.differences import classes_of
from scoring.results.board.standings import Board, Row
from scoring.results.publications import published
from scoring.results.publications.placement import Recomputed
from scoring.results.publications.reading import Measure
from scoring.results.publications.reproduced import (
    Pair,
    class_values,
    on_scale,
    printed_and_own,
)
from tasks.models import Task


@dataclass(frozen=True, kw_only=True)
class PaperLine:
    """``printed`` and ``row`` are of one system; either may be missing. ``label`` is a class, or empty."""

    label: str
    printed: published.PublishedRow | None
    row: Row | None
    pairs: list[Pair]

    @property
    def system(self) -> str:
        return (
            self.printed.system if self.printed else self.row.system if self.row else ""
        )


@dataclass(frozen=True, kw_only=True)
class PaperView:
    shown: published.PublishedTable
    board: Board
    by_class: bool

    @property
    def measures(self) -> list[Measure]:
        return [
            measure
            for measure in self.shown.columns
            if measure.name in self.shown.computed
        ]

    @property
    def is_of_other_data(self) -> bool:
        """Whether it is a table of another task of this kind."""
        return not self.board.phase.task.published

    @property
    def has_chart(self) -> bool:
        """Return False if the numbers cannot be compared: one axis would compare them."""
        return len(self.lines) > 1 and not self.is_of_other_data

    @cached_property
    def _own(self) -> dict[tuple[str, str, int], Pair]:
        """By class (empty for all instances), measure and run what is computed here."""
        columns, found = {column.name: column for column in self.board.columns}, {}
        rows = {row.submission: row for row in self.board.rows}
        for measure in self.measures:
            figures = [
                row.figures[measure.name]
                for row in self.shown.rows
                if measure.name in row.figures
            ]
            lengths = [
                len(figure.printed.partition(".")[2].rstrip("*%")) for figure in figures
            ]
            blank = Pair(figure=None, own=None, decimals=max(lengths, default=3))
            column = columns.get(self.shown.computed[measure.name])
            for run, row in rows.items():
                if column and (cell := row.scores.get(column.name)):
                    own, low, high = (
                        on_scale(end, column.scale, measure) for end in cell[1:4]
                    )
                    own_cell = replace(
                        blank, own=own, low=low, high=high, kept_back=cell.word
                    )
                    found["", measure.name, run] = own_cell
            if self.by_class and self._plan:
                shown = replace(
                    self.shown,
                    placement=replace(self.shown.placement, metric=measure.name),
                )
                for (label, run), (own, why) in class_values(
                    self.board, rows, shown, self._plan
                )[0].items():
                    found[label, measure.name, run] = replace(
                        blank, own=own, kept_back=why
                    )
        return found

    @cached_property
    def _plan(self) -> Recomputed | None:
        """With the dimension of the board that has most of the printed classes; None where none has any."""
        said = self.shown.placement.recomputed
        printed = {row.label.casefold() for row in self.shown.rows}
        known = classes_of(self.board).items()
        shared = {
            dimension: len(printed & set(map(str.casefold, labels)))
            for dimension, labels in known
        }
        nearest = max(shared, key=lambda name: shared[name], default="")
        plan = said or Recomputed(rules=self.board.rules or "", metrics={}, systems={})
        if plan.dimension or plan.classes:
            return plan
        return replace(plan, dimension=nearest) if shared.get(nearest) else None

    @cached_property
    def lines(self) -> list[PaperLine]:
        """The printed rows in their order, then the systems of the board alone, class by class."""
        said = self.shown.placement.recomputed
        systems: Mapping[str, str] = said.systems if said else {}
        rows: dict[str, Row] = {row.system: row for row in reversed(self.board.rows)}
        has_classes = self.by_class and any(label for label, _name, _run in self._own)
        labels = (
            list(dict.fromkeys(row.label for row in self.shown.rows))
            if has_classes
            else [""]
        )
        as_listed = sorted(
            self.shown.rows, key=lambda row: min(one.pk for one in row.figures.values())
        )
        lines, order = [], sorted(self.board.rows, key=self._place)
        for label in labels:
            beside: set[int] = set()
            for printed in as_listed:
                if not has_classes or printed.label == label:
                    runs = said.runs.get(printed.label) if said and said.runs else None
                    # A printed class stands beside nothing that is computed over all instances.
                    beside_it = (
                        ""
                        if self.by_class and not has_classes
                        else systems.get(printed.system, "")
                    )
                    row = rows.get(runs or beside_it)
                    beside |= {row.submission} if row else set()
                    lines.append(self._line(label, printed, row))
            left = [row for row in order if row.submission not in beside]
            of_board = [self._line(label, None, row) for row in left]
            lines += [
                line
                for line in of_board
                if any(pair.computed.text for pair in line.pairs)
            ]
        return lines

    def _place(self, row: Row) -> tuple[bool, float]:
        """Best first by the measure that leads in print."""
        pair = self._own.get(("", self.shown.leading.name, row.submission))
        sign = 1 if self.shown.leading.higher_is_better is False else -1
        return pair is None or pair.own is None, sign * ((pair and pair.own) or 0.0)

    def _line(
        self, label: str, printed: published.PublishedRow | None, row: Row | None
    ) -> PaperLine:
        pairs = []
        for measure in self.measures:
            own = self._own.get((label, measure.name, row.submission)) if row else None
            figure = printed.figures.get(measure.name) if printed else None
            pairs.append(replace(own or Pair(figure=None, own=None), figure=figure))
        named = printed.label if printed and not label else label
        return PaperLine(label=named, printed=printed, row=row, pairs=pairs)

    @property
    def bars(self) -> Bars:
        """By system, the printed beside the computed; or by class, the first printed and computed systems."""
        names = [measure.name for measure in self.measures]
        leading = (
            self.shown.leading if self.shown.leading.name in names else self.measures[0]
        )
        printed: dict[str, dict[str, Measured]] = {}
        own: dict[str, dict[str, Measured]] = {}
        for line in self.lines:
            pair = line.pairs[names.index(leading.name)]
            label = (line.label or _("all")) if self.by_class else line.system
            for found, value, word in (
                (printed, pair.printed, _("reported")),
                (own, pair.computed, _("computed here")),
            ):
                if value.value is not None:
                    name = f"{line.system}, {word}" if self.by_class else word
                    found.setdefault(name, {})[label] = value
        sign = 1 if leading.higher_is_better is False else -1
        means = {
            name: fmean(one.value or 0 for one in values.values())
            for name, values in printed.items()
        }
        best = sorted(printed, key=lambda name: sign * means[name])
        drawn = {name: printed[name] for name in best[: MAX_SERIES // 2]}
        drawn |= list(own.items())[: MAX_SERIES - len(drawn)]
        labels = list(
            dict.fromkeys(label for values in drawn.values() for label in values)
        )
        series = [
            Series(
                name=name,
                values=[values.get(label, Measured(value=None)) for label in labels],
            )
            for name, values in drawn.items()
        ]
        return printed_and_own(leading, labels, series)


def paper_tables(task: Task) -> list[tuple[published.PublishedTable, bool]]:
    """Of the task's own publications, or else of its kind's; beside each whether it is by class."""
    found = published.published_of_kind(task)
    tables = [(table, False) for table in found.headlines] + [
        (table, True) for table in found.by_class
    ]
    return [
        pair
        for pair in tables
        if any(one.name in pair[0].computed for one in pair[0].columns)
    ]
