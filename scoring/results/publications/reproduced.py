"""Show published values next to the site's scores of the same systems. The season file
defines which published value belongs to which system on a board.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, TypeVar

from django.utils.translation import gettext as _

from scoring.figures import BarChart, FigureValue, ValueSeries
from scoring.figures.description import MAX_SERIES
from scoring.models import Comparison, Reported, ReportedTable
from scoring.results.board.charts import build_score_axis
from scoring.results.board.differences import build_scores_by_class_table
from scoring.results.board.formatting import MINUS_SIGN
from scoring.results.board.standings import (
    Board,
    BoardRow,
    compute_board,
    expand_rows_to_runs,
)
from scoring.results.board.visibility import BoardVisibility
from scoring.results.publications import published
from scoring.results.publications.placement import NamesOfRecomputedTable
from scoring.results.publications.reading import PrintedMeasure
from scoring.stats.finding import (
    DIFFERENCE_FORM,
    ConclusionOutcome,
    DifferenceFinding,
    PaperConclusion,
    TableFigure,
)
from tasks.models import Phase, Task

#: The field COMPUTED_VALUE_FIELD marks values that this site computed.
COMPUTED_VALUE_FIELD = "measured"
#: The rows of a board are keyed by the name of the system or by the id of the run.
SystemOrRunKey = TypeVar("SystemOrRunKey", str, int)


@dataclass(frozen=True, kw_only=True)
class ReportedAndComputedValue:
    figure: Reported | None
    own: float | None
    #: ``kept_back`` is the reason why a board withholds the site's value, if it does.
    kept_back: str = ""
    low: float | None = None
    high: float | None = None
    #: ``decimals`` is the displayed number of decimals if no value is printed.
    decimals: int = 3
    #: ``deviation`` is the standard deviation of the site's value, or None.
    deviation: float | None = None
    #: ``measured`` has the evaluation, the metric and the factor to the printed scale.
    measured: tuple[int, str, float] | None = None

    @property
    def printed(self) -> FigureValue:
        return FigureValue(value=self.reported, text=self.texts["reported"])

    @property
    def computed_chart_value(self) -> FigureValue:
        return FigureValue(
            value=self.own, low=self.low, high=self.high, text=self.texts["own"]
        )

    @property
    def reported(self) -> float | None:
        return self.figure.value if self.figure else None

    @property
    def difference(self) -> float | None:
        return (
            None
            if self.own is None or self.reported is None
            else self.own - self.reported
        )

    @property
    def _printed_deviation(self) -> str:
        return self.figure.printed_deviation if self.figure else ""

    @property
    def texts(self) -> dict[str, Any]:
        printed = self.figure.printed if self.figure else ""
        decimals = len(printed.partition(".")[2].rstrip("*%")) or self.decimals

        decimals_of_deviation = len(self._printed_deviation.partition(".")[2])

        def format_number(value: float | None, form: str) -> str:
            return "" if value is None else format(value, form).replace("-", MINUS_SIGN)

        return {
            "reported": printed.replace("-", MINUS_SIGN),
            "doubt": self.figure.doubt if self.figure else "",
            "own": format_number(self.own, f"z.{decimals}f") or self.kept_back,
            "reported_deviation": self._printed_deviation,
            "own_deviation": format_number(
                self.deviation, f"z.{decimals_of_deviation or decimals}f"
            ),
            "difference": format_number(self.difference, f"+z.{decimals}f"),
        }


@dataclass(frozen=True, kw_only=True)
class ReproducedTableRow:
    label: str
    own: str
    line: int
    pairs: list[ReportedAndComputedValue]
    #: ``size`` is the number of instances in a class, and None for a system.
    size: int | None = None


@dataclass(frozen=True, kw_only=True)
class ReproducedTable:
    task: Task
    shown: published.PublishedTable
    said: NamesOfRecomputedTable
    phase: Phase | None
    heads: list[dict[str, str]]
    lines: list[ReproducedTableRow]
    left_out: list[str]

    @property
    def measure(self) -> str:
        return self.shown.leading.label

    @property
    def sizes(self) -> list[int]:
        return [line.size for line in self.lines if line.size is not None]

    @property
    def small(self) -> list[str]:
        """Return the classes with less than half as many instances as the largest class
        has.
        """
        most = max(self.sizes, default=0)
        return [
            line.label
            for line in self.lines
            if line.size is not None and 2 * line.size < most
        ]

    @property
    def drawn(self) -> list[int]:
        def mean_reported_value(place: int) -> float:
            values = [
                value
                for line in self.lines
                if (value := line.pairs[place].reported) is not None
            ]
            return fmean(values) if values else 0.0

        places = list(range(len(self.heads)))
        if self.shown.placement.by:
            sign = 1 if self.shown.leading.higher_is_better is False else -1
            places.sort(key=lambda place: sign * mean_reported_value(place))
        return places[: MAX_SERIES // 2]

    @property
    def bars(self) -> BarChart:
        series = []
        for place in self.drawn:
            name, row = (
                self.heads[place]["printed"],
                [line.pairs[place] for line in self.lines],
            )
            reported, own = (
                [pair.printed for pair in row],
                [pair.computed_chart_value for pair in row],
            )
            series.append(ValueSeries(name=f"{name}, {_('reported')}", values=reported))
            series.append(ValueSeries(name=f"{name}, {_('recomputed')}", values=own))
        return build_reported_and_recomputed_bars(
            self.shown.leading, [line.label for line in self.lines], series
        )


def build_reported_and_recomputed_bars(
    measure: PrintedMeasure, labels: Sequence[str], series: Sequence[ValueSeries]
) -> BarChart:
    title = _("%(measure)s, reported and recomputed") % {"measure": measure.label}
    axis = build_score_axis(
        measure.label,
        published.CHART_MAXIMUM_BY_SCALE.get(measure.scale, 0.0),
        has_zero=True,
    )
    return BarChart(title=title, labels=labels, series=series, axis=axis)


def check_conclusions_on_boards(
    tables: Sequence[ReproducedTable],
) -> list[published.CheckedPaperConclusion]:
    """Check the conclusions of papers about these tables on the season's boards."""
    own: dict[published.PublishedTableKey, list[TableFigure]] = defaultdict(list)
    for table in tables:
        key = (table.shown.table.paper_id, table.shown.table.name)
        for pair in (pair for line in table.lines for pair in line.pairs):
            if pair.figure and pair.own is not None:
                fields = published.describe_printed_value(pair.figure) | {
                    COMPUTED_VALUE_FIELD: pair.measured
                }
                own[key].append((fields, pair.own))

    def outcome_on_boards(
        table: ReportedTable, conclusion: PaperConclusion
    ) -> ConclusionOutcome:
        figures = [
            figure
            for key in published.list_table_keys_of_conclusion(table, conclusion)
            for figure in own[key]
        ]
        match (
            conclusion.group_compared_figures(figures)
            if conclusion.form == DIFFERENCE_FORM
            else []
        ):
            case [([(more, _)], [(less, _)])]:
                return _load_stored_run_difference(
                    more[COMPUTED_VALUE_FIELD], less[COMPUTED_VALUE_FIELD]
                ) or conclusion.finding(figures)
        return conclusion.finding(figures)

    return published.check_conclusions(
        {table.shown.table.pk: table.shown.table for table in tables}.values(),
        outcome_on_boards,
    )


def _load_stored_run_difference(
    more: tuple[int, str, float] | None, less: tuple[int, str, float] | None
) -> DifferenceFinding | None:
    """Return the difference between two runs on the same instances, from the stored
    comparison of the board's rows.
    """
    if not more or not less or more[1:] != less[1:]:
        return None
    first, second = sorted((more[0], less[0]))
    known = Comparison.objects.filter(
        first=first, second=second, metric=more[1]
    ).first()
    if (
        known is None
        or known.difference is None
        or known.low is None
        or known.high is None
    ):
        return None
    factor = more[2] if more[0] == first else -more[2]
    difference, *ends = (
        factor * value for value in (known.difference, known.low, known.high)
    )
    return DifferenceFinding(1, int(difference > 0), difference, min(ends), max(ends))


def has_recomputed_tables(task: Task) -> bool:
    return any(placement.get("recomputed") for placement in task.published)


def build_reproduced_tables(task: Task, viewer: object) -> Iterator[ReproducedTable]:
    results = published.load_published_results_of_task(task)
    for shown in [
        *results.by_class,
        *(table for table in results.headlines if not table.placement.by),
    ]:
        if (plan := shown.placement.recomputed) is None:
            continue
        board, rows = _load_board_with_systems(task, plan, viewer)
        if shown.placement.by and not plan.runs:
            heads, lines = _build_class_heads_and_rows(shown, plan, board, rows)
        else:
            heads, lines = _build_metric_heads_and_rows(shown, plan, board, rows)
        named, systems = plan.systems, dict.fromkeys(row.system for row in shown.rows)
        if plan.runs:
            named, systems = plan.runs, dict.fromkeys(row.label for row in shown.rows)
        yield ReproducedTable(
            task=task,
            shown=shown,
            said=plan,
            phase=board.phase if board else None,
            heads=heads,
            lines=lines,
            left_out=[name for name in systems if name not in named],
        )


def _build_class_heads_and_rows(
    shown: published.PublishedTable,
    plan: NamesOfRecomputedTable,
    board: Board | None,
    rows: Mapping[str, BoardRow],
) -> tuple[list[dict[str, str]], list[ReproducedTableRow]]:
    leading = shown.leading
    figures = {
        (row.label, row.system): row.figures.get(leading.name) for row in shown.rows
    }
    systems = [
        system
        for system in dict.fromkeys(row.system for row in shown.rows)
        if system in plan.systems
    ]
    values, sizes = find_board_class_values(board, rows, shown, plan)

    def build_class_pair(label: str, system: str) -> ReportedAndComputedValue:
        own, why = values.get((label, plan.systems[system]), (None, ""))
        return ReportedAndComputedValue(
            figure=figures.get((label, system)), own=own, kept_back=why
        )

    lines = []
    for label in dict.fromkeys(row.label for row in shown.rows):
        first = min(row.line for row in shown.rows if row.label == label)
        pairs = [build_class_pair(label, system) for system in systems]
        lines.append(
            ReproducedTableRow(
                label=label, own="", line=first, pairs=pairs, size=sizes.get(label)
            )
        )
    return [
        {"printed": system, "own": plan.systems[system]} for system in systems
    ], lines


def _build_metric_heads_and_rows(
    shown: published.PublishedTable,
    plan: NamesOfRecomputedTable,
    board: Board | None,
    rows: Mapping[str, BoardRow],
) -> tuple[list[dict[str, str]], list[ReproducedTableRow]]:
    measures = [
        column
        for column in shown.columns
        if column.name in shown.board_metrics_by_printed_metric
    ]
    columns = {column.name: column for column in board.columns} if board else {}
    computed = find_board_metrics_of_table(shown, board)
    names = plan.runs or plan.systems
    lines = []
    for row in (
        shown.rows if plan.runs else sorted(shown.rows, key=lambda row: row.line)
    ):
        label = row.label if plan.runs else row.system
        if label in names:
            row_here, pairs = rows.get(names[label]), []
            for measure in measures:
                column = columns.get(computed.get(measure.name, ""))
                cell = row_here.scores.get(column.name) if row_here and column else None
                value, measured = None, None
                if row_here and column and cell:
                    value = convert_to_printed_scale(cell.value, column.scale, measure)
                    measured = (
                        row_here.evaluation,
                        column.name,
                        convert_to_printed_scale(1.0, column.scale, measure) or 1.0,
                    )
                pairs.append(
                    ReportedAndComputedValue(
                        figure=row.figures.get(measure.name),
                        own=value,
                        measured=measured,
                    )
                )
            lines.append(
                ReproducedTableRow(
                    label=label, own=names[label], line=row.line, pairs=pairs
                )
            )
    return [{"printed": measure.label} for measure in measures], lines


def _load_board_with_systems(
    task: Task, plan: NamesOfRecomputedTable, viewer: object
) -> tuple[Board | None, dict[str, BoardRow]]:
    wanted = {*plan.systems.values(), *plan.runs.values()}
    for phase in task.phases.all():
        phase.task = task
        board = (
            compute_board(phase, viewer, plan.rules)
            if plan.rules in task.rules
            else None
        )
        if board is None or board.visibility != BoardVisibility.SCORES:
            continue
        # If several runs have the same name, the best of these runs counts.
        if rows := {
            row.system: row
            for row in reversed(expand_rows_to_runs(board.rows))
            if row.system in wanted
        }:
            return board, rows
    return None, {}


def _map_printed_classes_by_dimension(
    shown: published.PublishedTable, plan: NamesOfRecomputedTable
) -> dict[str, dict[str, str]]:
    """Return the printed names of classes, keyed by the dimension on the board and by
    the lower-case name.
    """
    printed: dict[str, dict[str, str]] = {}
    for label in {row.label: None for row in shown.rows}:
        dimension, name = (
            plan.dimension or shown.placement.by,
            plan.classes.get(label, label),
        )
        if label in plan.classes and ":" in name:
            dimension, _colon, name = name.partition(":")
        printed.setdefault(dimension.strip(), {})[name.strip().casefold()] = label
    return printed


def find_board_metrics_of_table(
    shown: published.PublishedTable, board: Board | None
) -> Mapping[str, str]:
    """Return the board's metric for each printed metric, without metrics for which the
    board uses another model than the paper.
    """
    return shown.select_board_metrics_of_same_model(
        board.phase.task.options if board else {}
    )


def find_board_class_values(
    board: Board | None,
    rows: Mapping[SystemOrRunKey, BoardRow],
    shown: published.PublishedTable,
    plan: NamesOfRecomputedTable,
) -> tuple[dict[tuple[str, SystemOrRunKey], tuple[float | None, str]], dict[str, int]]:
    """Return the board's value or the reason for a missing value, keyed by printed
    class and row, and the sizes of the classes.
    """
    metric = find_board_metrics_of_table(shown, board).get(shown.leading.name, "")
    if board is None or metric not in {column.name for column in board.columns}:
        return {}, {}
    values: dict[tuple[str, SystemOrRunKey], tuple[float | None, str]] = {}
    sizes: dict[str, int] = {}
    for dimension, names in _map_printed_classes_by_dimension(shown, plan).items():
        table = build_scores_by_class_table(
            board, list(rows.values()), dimension, metric
        )
        for own_class in table.lines:
            if (known_as := names.get(own_class.label.casefold())) is None:
                continue
            if own_class.support is not None:
                sizes[known_as] = own_class.support
            for system, row in rows.items():
                value = table.value(own_class.label, row)
                why = table.withheld.get((own_class.label, row.evaluation), "")
                if value is not None:
                    values[known_as, system] = (
                        convert_to_printed_scale(value, table.scale, shown.leading),
                        "",
                    )
                elif why:
                    values[known_as, system] = None, why
    return values, sizes


def convert_to_printed_scale(
    value: float | None, scale: float, measure: PrintedMeasure
) -> float | None:
    """Return a computed value on the scale of the printed values, or a count unchanged."""
    width = published.CHART_MAXIMUM_BY_SCALE.get(measure.scale, scale)
    return value / scale * width if scale and value is not None else value
