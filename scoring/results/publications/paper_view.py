"""Show a board in the layout of a paper's table, which has the columns and order of the
table and both printed and computed values.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean

from django.utils.translation import gettext as _

from scoring.figures import BarChart, FigureValue, ValueSeries
from scoring.figures.description import MAX_SERIES
from scoring.results.board.differences import (
    build_scores_by_class_table,
    list_classes_by_dimension,
)
from scoring.results.board.standings import Board, BoardRow
from scoring.results.publications import published
from scoring.results.publications.placement import (
    CLASSES_AS_COLUMNS_LAYOUT,
    ROWS_LAYOUT,
    SYSTEMS_AS_COLUMNS_LAYOUT,
    NamesOfRecomputedTable,
)
from scoring.results.publications.reading import PrintedMeasure
from scoring.results.publications.reproduced import (
    ReportedAndComputedValue,
    build_reported_and_recomputed_bars,
    convert_to_printed_scale,
    find_board_class_values,
)
from tasks.models import Task


@dataclass(frozen=True, kw_only=True)
class PaperTableRow:
    """A line of a board in the layout of a paper's table. ``printed`` and ``row`` are
    the printed row and the board's row of the same system, and one of both may be
    missing. ``label`` is the name of a class, or empty for all classes.
    """

    label: str
    printed: published.PublishedRow | None
    row: BoardRow | None
    pairs: list[ReportedAndComputedValue]

    @property
    def system(self) -> str:
        return (
            self.printed.system if self.printed else self.row.system if self.row else ""
        )


@dataclass(frozen=True, kw_only=True)
class PaperGridRow:
    """A row of a table whose columns are classes or systems. Each cell has a pair of
    printed and computed values for each printed metric.
    """

    label: str
    row: BoardRow | None
    cells: list[list[ReportedAndComputedValue]]


@dataclass(frozen=True, kw_only=True)
class ScoreOnPrintedScale:
    value: float | None
    low: float | None = None
    high: float | None = None
    word: str = ""


@dataclass(frozen=True, kw_only=True)
class PaperTableView:
    shown: published.PublishedTable
    board: Board
    by_class: bool

    @property
    def measures(self) -> list[PrintedMeasure]:
        """Return all columns of the printed table, even if the board computes no values
        of a column.
        """
        return self.shown.measures

    @property
    def is_of_other_data(self) -> bool:
        """Return True if the published table belongs to another task of the same kind."""
        return not self.board.phase.task.published

    @property
    def has_chart(self) -> bool:
        """Return False if a chart cannot compare the printed and computed numbers."""
        is_computed = any(
            self._find_board_metric_of_measure(measure) for measure in self.measures
        )
        return len(self.lines) > 1 and not self.is_of_other_data and is_computed

    @cached_property
    def _board_column_names(self) -> set[str]:
        return {column.name for column in self.board.columns}

    def _find_board_metric_of_measure(self, measure: PrintedMeasure) -> str:
        """Return the name of the board's column for a printed column, or an empty text
        if the board has no such column.
        """
        name = self._board_metrics_by_printed.get(measure.name, "")
        return name if name in self._board_column_names else ""

    @cached_property
    def _board_metrics_by_printed(self) -> Mapping[str, str]:
        return self.shown.select_board_metrics_of_same_model(
            self.board.phase.task.options
        )

    @cached_property
    def filters(self) -> list[tuple[str, str]]:
        """Return the classes of the board to which the printed values are restricted,
        each with its dimension.
        """
        known = list_classes_by_dimension(self.board)
        filters = []
        if only := self.shown.placement.only:
            dimension, _colon, label = only.partition(":")
            filters.append((dimension.strip(), label.strip()))
        printed = {
            str(figure.features["dataset"])
            for row in self.shown.rows
            for figure in row.figures.values()
            if figure.features.get("dataset")
        }
        if len(printed) == 1 and len(known.get("dataset", ())) > 1:
            filters.append(("dataset", printed.pop()))
        return filters

    def _find_class_filters_of_measure(
        self, measure: PrintedMeasure
    ) -> list[tuple[str, str]]:
        only = self.shown.placement.only.partition(":")[0].strip()
        is_of_all = measure.name in self.shown.placement.of_all
        return [one for one in self.filters if not (is_of_all and one[0] == only)]

    def _explain_empty_column(self, measure: PrintedMeasure) -> str:
        """Return the reason why the board has no values for a column of the printed
        table, or an empty text.
        """
        known = list_classes_by_dimension(self.board)
        filters = self._find_class_filters_of_measure(measure)
        missing = [
            label
            for dimension, label in filters
            if label.casefold() not in map(str.casefold, known.get(dimension, ()))
        ]
        if missing or (self.by_class and filters) or len(filters) > 1:
            part = _(" and ").join(f"{name}: {label}" for name, label in filters)
            return _("the board has no values of %(part)s alone") % {"part": part}
        return ""

    @property
    def empty_columns_with_reasons(self) -> list[tuple[str, str]]:
        """Return the columns of the printed table for which the board has no values,
        each with the reason.
        """
        ends = self.shown.placement.interval
        gaps = []
        for measure in self.measures:
            name = self.shown.board_metrics_by_printed_metric.get(measure.name, "")
            if why := self._explain_empty_column(measure):
                gaps.append((measure.label, why))
            elif not name and measure.name not in ends:
                why = _("no measure of the board is named for it")
                gaps.append((measure.label, why))
            elif name and measure.name not in self._board_metrics_by_printed:
                why = _("the board's values are those of another model than %(model)s")
                gaps.append((measure.label, why % {"model": measure.model}))
            elif name and name not in self._board_column_names:
                why = _("the board has no column %(name)s") % {"name": name}
                gaps.append((measure.label, why))
        return gaps

    def _compute_values_by_run(
        self, name: str, measure: PrintedMeasure
    ) -> dict[int, ScoreOnPrintedScale]:
        """Return the board's value in a column for each run, on the scale of the
        printed values, and restricted to the table's classes.
        """
        if name not in self._board_column_names or self._explain_empty_column(measure):
            return {}
        if filters := self._find_class_filters_of_measure(measure):
            return self._compute_class_values_by_run(name, measure, filters[0])
        [column] = [one for one in self.board.columns if one.name == name]
        values = {}
        for row in self.board.rows:
            if cell := row.scores.get(name):
                value, low, high = (
                    convert_to_printed_scale(end, column.scale, measure)
                    for end in cell[1:4]
                )
                values[row.submission] = ScoreOnPrintedScale(
                    value=value, low=low, high=high, word=cell.word
                )
        return values

    def _compute_class_values_by_run(
        self, name: str, measure: PrintedMeasure, part: tuple[str, str]
    ) -> dict[int, ScoreOnPrintedScale]:
        dimension, wanted = part
        table = build_scores_by_class_table(
            self.board, self.board.rows, dimension, name
        )
        values = {}
        for own_class in table.lines:
            if own_class.label.casefold() != wanted.casefold():
                continue
            for row in self.board.rows:
                value = table.value(own_class.label, row)
                values[row.submission] = ScoreOnPrintedScale(
                    value=convert_to_printed_scale(value, table.scale, measure),
                    word=table.withheld.get((own_class.label, row.evaluation), ""),
                )
        return values

    @cached_property
    def _computed_pairs(self) -> dict[tuple[str, str, int], ReportedAndComputedValue]:
        """Return the computed values, keyed by class (empty for all instances), printed
        metric and run.
        """
        found: dict[tuple[str, str, int], ReportedAndComputedValue] = {}
        for measure in self.measures:
            blank = ReportedAndComputedValue(
                figure=None, own=None, decimals=self._count_printed_decimals(measure)
            )
            deviations = self._compute_values_by_run(
                f"{self._find_board_metric_of_measure(measure)}_deviation", measure
            )
            for run, own in self._compute_values_by_run(
                self._find_board_metric_of_measure(measure), measure
            ).items():
                deviation = deviations.get(run)
                found["", measure.name, run] = replace(
                    blank,
                    own=own.value,
                    low=own.low,
                    high=own.high,
                    kept_back=own.word,
                    deviation=deviation.value if deviation else None,
                )
            found |= self._build_computed_class_pairs(measure, blank)
        for place, end in enumerate(self.shown.placement.interval):
            measure = next(one for one in self.measures if one.name == end)
            blank = ReportedAndComputedValue(
                figure=None, own=None, decimals=self._count_printed_decimals(measure)
            )
            for run in [row.submission for row in self.board.rows]:
                leading = found.get(("", self.shown.leading.name, run))
                if leading:
                    own_end = (leading.low, leading.high)[place]
                    found["", end, run] = replace(blank, own=own_end)
        return found

    def _build_computed_class_pairs(
        self, measure: PrintedMeasure, blank: ReportedAndComputedValue
    ) -> dict[tuple[str, str, int], ReportedAndComputedValue]:
        if (
            not self.by_class
            or not self._printed_to_computed_class_names
            or self._explain_empty_column(measure)
        ):
            return {}
        rows = {row.submission: row for row in self.board.rows}
        shown = replace(
            self.shown, placement=replace(self.shown.placement, metric=measure.name)
        )
        values, _sizes = find_board_class_values(
            self.board, rows, shown, self._printed_to_computed_class_names
        )
        return {
            (label, measure.name, run): replace(blank, own=own, kept_back=why)
            for (label, run), (own, why) in values.items()
        }

    def _count_printed_decimals(self, measure: PrintedMeasure) -> int:
        figures = (row.figures.get(measure.name) for row in self.shown.rows)
        lengths = (
            len(figure.printed.partition(".")[2].rstrip("*%"))
            for figure in figures
            if figure
        )
        return max(lengths, default=3)

    @property
    def has_classes_or_systems_as_columns(self) -> bool:
        return self.by_class and self.shown.placement.layout != ROWS_LAYOUT

    @cached_property
    def heads(self) -> list[str]:
        """Return the column heads of the displayed table, which are classes or systems
        in a grid, and printed metrics otherwise.
        """
        if not self.has_classes_or_systems_as_columns:
            return [measure.label for measure in self.measures]
        return list(
            dict.fromkeys(self._find_column_head_of_row(line) for line in self.lines)
        )

    def _find_column_head_of_row(self, line: PaperTableRow) -> str:
        if self.shown.placement.layout == SYSTEMS_AS_COLUMNS_LAYOUT:
            return line.system
        return line.label or _("all")

    def _find_row_head_of_row(self, line: PaperTableRow) -> str:
        if self.shown.placement.layout == SYSTEMS_AS_COLUMNS_LAYOUT:
            return line.label or _("all")
        return line.system

    @property
    def grid(self) -> list[PaperGridRow]:
        """Return the rows of the displayed table if its columns are classes or systems."""
        cells: dict[str, dict[str, list[ReportedAndComputedValue]]] = {}
        runs: dict[str, BoardRow | None] = {}
        for line in self.lines:
            name = self._find_row_head_of_row(line)
            cells.setdefault(name, {}).setdefault(
                self._find_column_head_of_row(line), line.pairs
            )
            has_systems_down = self.shown.placement.layout == CLASSES_AS_COLUMNS_LAYOUT
            runs.setdefault(name, line.row if has_systems_down else None)
        return [
            PaperGridRow(
                label=name,
                row=runs[name],
                cells=[row.get(head, []) for head in self.heads],
            )
            for name, row in cells.items()
        ]

    @cached_property
    def _printed_to_computed_class_names(self) -> NamesOfRecomputedTable | None:
        """Return the mapping from printed to computed names, with the dimension of the
        board that has the most printed classes, or None without such a dimension.
        """
        said = self.shown.placement.recomputed
        printed = {row.label.casefold() for row in self.shown.rows}
        known = list_classes_by_dimension(self.board).items()
        shared = {
            dimension: len(printed & set(map(str.casefold, labels)))
            for dimension, labels in known
        }
        nearest = max(shared, key=lambda name: shared[name], default="")
        plan = said or NamesOfRecomputedTable(
            rules=self.board.rules or "", metrics={}, systems={}
        )
        if plan.dimension or plan.classes:
            return plan
        return replace(plan, dimension=nearest) if shared.get(nearest) else None

    @cached_property
    def lines(self) -> list[PaperTableRow]:
        """Return the lines of the table, which are the printed rows in order and, for
        each class, the systems that only the board has.
        """
        said = self.shown.placement.recomputed
        systems: Mapping[str, str] = said.systems if said else {}
        rows: dict[str, BoardRow] = {
            row.system: row for row in reversed(self.board.rows)
        }
        has_classes = self.by_class and any(
            label for label, _name, _run in self._computed_pairs
        )
        labels = (
            list(dict.fromkeys(row.label for row in self.shown.rows))
            if has_classes
            else [""]
        )
        as_listed = sorted(
            self.shown.rows, key=lambda row: min(one.pk for one in row.figures.values())
        )
        lines, order = [], sorted(self.board.rows, key=self._build_row_sort_key)
        for label in labels:
            beside: set[int] = set()
            for printed in as_listed:
                if not has_classes or printed.label == label:
                    runs = said.runs.get(printed.label) if said and said.runs else None
                    # A value over all instances does not match a value of one class.
                    beside_it = (
                        ""
                        if self.by_class and not has_classes
                        else systems.get(printed.system, "")
                    )
                    row = rows.get(runs or beside_it)
                    beside |= {row.submission} if row else set()
                    lines.append(self._build_paper_table_row(label, printed, row))
            left = [row for row in order if row.submission not in beside]
            of_board = [self._build_paper_table_row(label, None, row) for row in left]
            lines += [
                line
                for line in of_board
                if any(pair.computed_chart_value.text for pair in line.pairs)
            ]
        return lines

    def _build_row_sort_key(self, row: BoardRow) -> tuple[bool, float]:
        """Return a sort key by which the row with the best value of the first printed
        metric comes first.
        """
        pair = self._computed_pairs.get(("", self.shown.leading.name, row.submission))
        sign = 1 if self.shown.leading.higher_is_better is False else -1
        return pair is None or pair.own is None, sign * ((pair and pair.own) or 0.0)

    def _build_paper_table_row(
        self, label: str, printed: published.PublishedRow | None, row: BoardRow | None
    ) -> PaperTableRow:
        pairs = []
        for measure in self.measures:
            own = (
                self._computed_pairs.get((label, measure.name, row.submission))
                if row
                else None
            )
            figure = printed.figures.get(measure.name) if printed else None
            pairs.append(
                replace(
                    own or ReportedAndComputedValue(figure=None, own=None),
                    figure=figure,
                )
            )
        named = printed.label if printed and not label else label
        return PaperTableRow(label=named, printed=printed, row=row, pairs=pairs)

    @property
    def bars(self) -> BarChart:
        """Return a bar chart of printed and computed values by system, or of the first
        printed and computed systems by class.
        """
        names = [measure.name for measure in self.measures]
        leading = self.shown.leading
        if not self._find_board_metric_of_measure(leading):
            computed = [
                one for one in self.measures if self._find_board_metric_of_measure(one)
            ]
            leading = next(iter(computed), leading)
        printed: dict[str, dict[str, FigureValue]] = {}
        own: dict[str, dict[str, FigureValue]] = {}
        for line in self.lines:
            pair = line.pairs[names.index(leading.name)]
            label = (line.label or _("all")) if self.by_class else line.system
            for found, value, word in (
                (printed, pair.printed, _("reported")),
                (own, pair.computed_chart_value, _("computed here")),
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
            ValueSeries(
                name=name,
                values=[values.get(label, FigureValue(value=None)) for label in labels],
            )
            for name, values in drawn.items()
        ]
        return build_reported_and_recomputed_bars(leading, labels, series)


def list_paper_tables_of_task(
    task: Task,
) -> list[tuple[published.PublishedTable, bool]]:
    """Return the published tables of the task's own publications, or of publications
    for this kind of task, each with True if the rows are classes.
    """
    found = published.load_published_results_of_task_kind(task)
    tables = [(table, False) for table in found.headlines] + [
        (table, True) for table in found.by_class
    ]
    return [
        pair
        for pair in tables
        if any(
            one.name in pair[0].board_metrics_by_printed_metric
            for one in pair[0].columns
        )
    ]
