"""Show published results on the pages of a task, as printed values by system or by
class.
"""

import math
from collections import defaultdict
from collections.abc import (
    Callable,
    Collection,
    Container,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from django.db.models import F
from django.utils.translation import gettext as _

from citeboard.core.plain_text import format_spreadsheet_cell
from citeboard.core.query import (
    LinkedChoice,
    PageParameters,
    declare_text_list_parameter,
    declare_text_parameter,
)
from scoring.figures.description import MAX_SERIES
from scoring.models import Paper, Reported, ReportedTable
from scoring.results.board import differences
from scoring.results.board.charts import (
    build_class_bar_chart,
    build_class_heat_map,
    summarise_class_table,
)
from scoring.results.board.exports import format_as_csv, format_as_json
from scoring.results.board.formatting import (
    MINUS_SIGN,
    display_name_of_dimension,
    format_interval,
)
from scoring.results.board.standings import ScoreCell
from scoring.results.board.table import (
    IntervalAxis,
    IntervalWhisker,
    build_interval_whisker,
)
from scoring.results.publications.placement import (
    PublishedTablePlacement,
    find_printed_class_name,
)
from scoring.results.publications.reading import PrintedMeasure
from scoring.stats.finding import (
    UNDECIDABLE_FORM,
    ConclusionOutcome,
    PaperConclusion,
    RankAgreement,
    TableFigure,
)
from tasks.models import Task

#: CHART_MAXIMUM_BY_SCALE maps the scale of a printed metric to the maximum value in drawings.
CHART_MAXIMUM_BY_SCALE = {"fraction": 1.0, "percent": 100.0}


@dataclass(kw_only=True)
class PublishedRow:
    system: str
    line: int
    figures: dict[str, Reported]
    label: str = ""

    def value(self, metric: str) -> float | None:
        figure = self.figures.get(metric)
        return figure.value if figure else None

    @property
    def doubt(self) -> str:
        return next(
            (figure.reason_for_doubt_of_row for figure in self.figures.values()), ""
        )


@dataclass(kw_only=True)
class PublishedTable:
    table: ReportedTable
    placement: PublishedTablePlacement
    measures: list[PrintedMeasure]
    rows: list[PublishedRow] = field(default_factory=list)

    @property
    def leading(self) -> PrintedMeasure:
        return next(
            measure
            for measure in self.measures
            if measure.name == self.placement.metric
        )

    @property
    def columns(self) -> list[PrintedMeasure]:
        return [
            measure
            for measure in self.measures
            if measure.name not in self.placement.interval
        ]

    @property
    def board_metrics_by_printed_metric(self) -> Mapping[str, str]:
        """Return the metric of the board for each printed metric."""
        said = self.placement.recomputed
        known = {
            measure.name: measure.computed
            for measure in self.columns
            if measure.computed
        }
        return (said.metrics if said else {}) or {**known, **self.placement.metrics}

    def select_board_metrics_of_same_model(
        self, options: Mapping[str, str]
    ) -> Mapping[str, str]:
        """Return the mapping `computed` without metrics for which the task uses another
        model than the paper.
        """
        models = {
            measure.name: Path(options.get(measure.model_option, measure.model)).name
            for measure in self.measures
            if measure.model
        }
        printed = {measure.name: measure.model for measure in self.measures}
        return {
            name: metric
            for name, metric in self.board_metrics_by_printed_metric.items()
            if name not in models or models[name] == printed[name]
        }

    @property
    def title(self) -> str:
        return ", ".join([self.table.name, *self.placement.where.values()])

    @property
    def dimension(self) -> str:
        figures = (figure for row in self.rows for figure in row.figures.values())
        named = {str(figure.features.get("dimension", "")) for figure in figures}
        named_once = next(iter(named), "") if len(named) == 1 else ""
        return named_once or display_name_of_dimension(self.placement.by)

    @property
    def doubts(self) -> list[tuple[str, str]]:
        doubts = []
        for row in self.rows:
            for figure in row.figures.values():
                where = ", ".join(
                    part for part in (row.system, row.label, figure.metric) if part
                )
                if figure.suspect:
                    doubts.append((where, figure.suspect))
            if row.doubt:
                doubts.append(
                    (
                        ", ".join(part for part in (row.system, row.label) if part),
                        row.doubt,
                    )
                )
        return doubts


@dataclass(frozen=True, kw_only=True)
class PublishedResults:
    """The published tables of results for a task. ``headlines`` are tables whose rows
    are systems, best first, and ``others`` are tables whose rows are, for example, data
    sets.
    """

    headlines: list[PublishedTable]
    by_class: list[PublishedTable]
    others: list[PublishedTable] = field(default_factory=list)

    @property
    def tables(self) -> list[PublishedTable]:
        return [*self.headlines, *self.by_class, *self.others]

    @property
    def papers(self) -> list[Paper]:
        return list(
            {table.table.paper_id: table.table.paper for table in self.tables}.values()
        )

    @property
    def is_empty(self) -> bool:
        return not self.tables


def load_published_results_of_task(task: Task) -> PublishedResults:
    return _load_published_results_by_task({task.pk: _load_stored_placements(task)})[
        task.pk
    ]


def load_published_results_of_task_kind(task: Task) -> PublishedResults:
    """Return the published results for the task, or for public tasks of the same kind
    if the task has none.
    """
    if not (placements := _load_stored_placements(task)) and not task.declaration_id:
        alike = Task.objects.filter(
            type=task.type, declaration=None, season__is_public=True
        )
        found = alike.exclude(published=[]).order_by("season_id", "position")
        placements = [
            placement for other in found for placement in _load_stored_placements(other)
        ]
    distinct = {repr(placement): placement for placement in placements}
    return _load_published_results_by_task({task.pk: list(distinct.values())})[task.pk]


def find_leading_table_by_task(tasks: Sequence[Task]) -> dict[int, PublishedTable]:
    placed_on = ((task.pk, _load_stored_placements(task)) for task in tasks)
    leading = {
        task: [one for one in of if not one.by or one.overall][:1]
        for task, of in placed_on
    }
    return {
        task: shown.headlines[0]
        for task, shown in _load_published_results_by_task(leading).items()
        if shown.headlines
    }


def _load_stored_placements(task: Task) -> list[PublishedTablePlacement]:
    return [PublishedTablePlacement.of(kept) for kept in task.published]


def _add_table_to_results(published: PublishedResults, shown: PublishedTable) -> None:
    placement, rows = shown.placement, shown.rows
    if not any(row.system for row in rows):
        published.others.append(shown)
    elif not placement.by:
        published.headlines.append(shown)
    elif not placement.overall:
        published.by_class.append(shown)
    else:
        classes = [row for row in rows if row.label != placement.overall]
        published.by_class.append(replace(shown, rows=classes))
        overall = [row for row in rows if row.label == placement.overall]
        published.headlines.append(replace(shown, rows=overall))


def _load_published_results_by_task(
    placements: Mapping[int, Sequence[PublishedTablePlacement]],
) -> dict[int, PublishedResults]:
    every = [placement for listed in placements.values() for placement in listed]
    wanted = {(placement.paper, placement.table) for placement in every}
    tables: dict[tuple[str, str], ReportedTable] = {}
    figures: dict[int, list[Reported]] = defaultdict(list)
    if every:
        keys, names = zip(*wanted, strict=True)
        candidates = ReportedTable.objects.select_related("paper").filter(
            paper__key__in=keys, name__in=names
        )
        tables = {
            key: table
            for table in candidates
            if (key := (table.paper.key, table.name)) in wanted
        }
    if tables:
        for figure in Reported.objects.filter(
            table__in=[table.pk for table in tables.values()]
        ):
            figures[figure.table_id].append(figure)
    results: dict[int, PublishedResults] = {}
    for task, listed in placements.items():
        results[task] = published = PublishedResults(
            headlines=[], by_class=[], others=[]
        )
        for placement in listed:
            if (table := tables.get((placement.paper, placement.table))) is None:
                continue
            rows = build_published_rows(
                table,
                [row for row in figures[table.pk] if placement.takes(row.features)],
            )
            for row in rows:
                row.label = find_printed_class_name(
                    next(iter(row.figures.values())).features, placement
                )
            shown = PublishedTable(
                table=table,
                placement=placement,
                measures=load_printed_measures(table),
                rows=rows,
            )
            _add_table_to_results(published, shown)
        for headline in published.headlines:
            headline.rows = sort_rows_best_first(headline.rows, headline.leading)
    return results


def sort_rows_best_first(
    rows: Sequence[PublishedRow], measure: PrintedMeasure
) -> list[PublishedRow]:
    """Return the published rows sorted by the values of a printed metric, best first.
    Rows without a value come last, and rows with equal values keep the printed order.
    """
    sign = 1 if measure.higher_is_better is False else -1

    def row_sort_key(row: PublishedRow) -> tuple[bool, float, int]:
        value = row.value(measure.name)
        return value is None, sign * (value or 0.0), row.line

    return sorted(rows, key=row_sort_key)


def build_published_rows(
    table: ReportedTable, figures: Iterable[Reported]
) -> list[PublishedRow]:
    by_key: dict[str, list[Reported]] = defaultdict(list)
    for figure in figures:
        by_key[figure.key].append(figure)
    return [
        PublishedRow(
            system=row[0].system,
            line=row[0].line,
            figures={figure.metric: figure for figure in row},
            label=", ".join(
                str(row[0].features.get(name))
                for name in table.row_key
                if name != "system"
            ),
        )
        for row in by_key.values()
    ]


def load_printed_measures(table: ReportedTable) -> list[PrintedMeasure]:
    return [PrintedMeasure(**measure) for measure in table.measures]


_PUBLISHED_CSV_COLUMNS = (
    "paper",
    "table",
    "line",
    "system",
    "class",
    "metric",
    "value",
    "printed",
    "deviation",
    "scale",
    "doubt",
)


def published_results_as_csv(published: PublishedResults) -> str:
    return format_as_csv(
        _PUBLISHED_CSV_COLUMNS,
        *(
            [format_spreadsheet_cell(figure[name]) for name in _PUBLISHED_CSV_COLUMNS]
            for figure in iterate_printed_values(published)
        ),
    )


def published_results_as_json(published: PublishedResults) -> str:
    return format_as_json(published_results_as_json_values(published))


def published_results_as_json_values(published: PublishedResults) -> dict[str, Any]:
    names = ("key", "authors", "year", "title", "venue", "doi")
    known = (
        {name: getattr(paper, name) for name in names} for paper in published.papers
    )
    papers = [facts | {"doi": facts["doi"] or None} for facts in known]
    return {"papers": papers, "figures": list(iterate_printed_values(published))}


def iterate_printed_values(published: PublishedResults) -> Iterator[dict[str, Any]]:
    for table in published.tables:
        for row in table.rows:
            where = (
                table.table.paper.key,
                table.table.name,
                row.line,
                row.system,
                row.label or None,
            )
            for figure in row.figures.values():
                printed = (
                    figure.metric,
                    figure.value,
                    figure.printed,
                    figure.deviation,
                    figure.scale,
                )
                yield dict(
                    zip(
                        _PUBLISHED_CSV_COLUMNS,
                        (*where, *printed, figure.doubt or None),
                        strict=True,
                    )
                )


def describe_printed_value(figure: Reported) -> dict[str, Any]:
    return {
        **figure.features,
        "system": figure.system,
        "system_id": figure.system_id,
        "metric": figure.metric,
    }


@dataclass(frozen=True, kw_only=True)
class CheckedPaperConclusion:
    """A conclusion of a paper, checked on the printed values and, if available, on
    values that this site computed.
    """

    table: ReportedTable
    conclusion: PaperConclusion
    printed: str
    own: str
    fails: bool

    @property
    def name(self) -> str:
        return self.conclusion.name


#: A published table is identified by the paper's id and the table's name.
PublishedTableKey = tuple[int, str]


def list_table_keys_of_conclusion(
    table: ReportedTable, conclusion: PaperConclusion
) -> list[PublishedTableKey]:
    return [(table.paper_id, name) for name in (table.name, *conclusion.also)]


def check_conclusions(
    tables: Iterable[ReportedTable],
    own: Callable[[ReportedTable, PaperConclusion], ConclusionOutcome] | None = None,
) -> list[CheckedPaperConclusion]:
    """Check the conclusions of papers on the printed values and, with ``own``, on the
    site's values.
    """
    stated = [
        (table, PaperConclusion(**facts))
        for table in tables
        for facts in table.conclusions
    ]
    printed = _load_printed_figures(
        {
            key
            for table, conclusion in stated
            for key in list_table_keys_of_conclusion(table, conclusion)
        }
    )
    claims = []
    for table, conclusion in stated:
        figures = (
            figure
            for key in list_table_keys_of_conclusion(table, conclusion)
            for figure in printed[key]
        )
        outcome = conclusion.finding(figures)
        computed = own(table, conclusion) if own else None
        claims.append(
            CheckedPaperConclusion(
                table=table,
                conclusion=conclusion,
                printed=_describe_conclusion_verdict(conclusion, outcome),
                own=_describe_conclusion_verdict(conclusion, computed)
                if computed
                else "",
                fails=conclusion.fails(outcome),
            )
        )
    return claims


def _load_printed_figures(
    keys: Collection[PublishedTableKey],
) -> dict[PublishedTableKey, list[TableFigure]]:
    printed: dict[PublishedTableKey, list[TableFigure]] = defaultdict(list)
    if not keys:
        return printed
    papers, names = zip(*keys, strict=True)
    chosen = Reported.objects.filter(
        table__paper__in=papers, table__name__in=names, value__isnull=False
    ).annotate(paper_id=F("table__paper_id"), table_name=F("table__name"))
    for figure in chosen:
        assert figure.value is not None
        printed[figure.paper_id, figure.table_name].append(
            (describe_printed_value(figure), figure.value)
        )
    return printed


def _describe_conclusion_verdict(
    conclusion: PaperConclusion, outcome: ConclusionOutcome
) -> str:
    if conclusion.form == UNDECIDABLE_FORM:
        return _("no figures decide it: %(why)s") % {"why": conclusion.why}
    if not outcome.units:
        return ""
    holds = conclusion.holds(outcome)
    word = {True: _("holds"), False: _("does not hold"), None: _("cannot be decided")}[
        holds
    ]
    if isinstance(outcome, RankAgreement):
        return _format_rank_correlation(word, outcome)
    ends = (
        f" [{outcome.low:.3f}, {outcome.high:.3f}]"
        if math.isfinite(outcome.low)
        else ""
    )
    mean = f"{outcome.mean:+.3f}{ends}".replace("-", MINUS_SIGN)
    facts = {
        "verdict": word,
        "above": outcome.above,
        "units": outcome.units,
        "mean": mean,
    }
    return (
        _("%(verdict)s: in %(above)s of %(units)s cases, by %(mean)s on average")
        % facts
    )


def _format_rank_correlation(word: str, outcome: RankAgreement) -> str:
    if math.isnan(outcome.p):
        return _("%(verdict)s: there are too few pairs") % {"verdict": word}
    facts = {
        "verdict": word,
        "value": f"{outcome.coefficient:+.2f}".replace("-", MINUS_SIGN),
        "units": outcome.units,
        "p": f"{outcome.p:.3f}",
    }
    if outcome.is_exact:
        return (
            _("%(verdict)s: rank correlation %(value)s of %(units)s, exact p %(p)s")
            % facts
        )
    return _("%(verdict)s: rank correlation %(value)s of %(units)s, p %(p)s") % facts


@dataclass(frozen=True, kw_only=True)
class PublishedTableQuery(PageParameters):
    """The query parameters. ``sort`` is the metric by which systems are sorted, and
    ``order`` is the system by which classes are sorted. A minus sign before the name
    reverses the order.
    """

    sort: str = declare_text_parameter("sort")
    metric: str = declare_text_parameter("metric")
    order: str = declare_text_parameter("order")
    systems: tuple[str, ...] = declare_text_list_parameter("system")
    figure: str = declare_text_parameter("figure", max_length=80)


#: The feature IN_DOMAIN_FEATURE tells if the system was trained on the data set.
IN_DOMAIN_FEATURE = "in_domain"


def build_printed_transfer_tables(task: Task) -> list[dict[str, Any]]:
    transfers = []
    for table in load_published_results_of_task(task).by_class:
        if any(
            IN_DOMAIN_FEATURE in figure.features
            for row in table.rows
            for figure in row.figures.values()
        ):
            tested = list(dict.fromkeys(row.label for row in table.rows))
            printed = {
                (row.system, row.label): row.figures.get(table.leading.name)
                for row in table.rows
            }
            systems = dict.fromkeys(row.system for row in table.rows)
            lines = [
                (system, [printed.get((system, label)) for label in tested])
                for system in systems
            ]
            transfers.append({"table": table, "tested": tested, "lines": lines})
    return transfers


@dataclass(frozen=True)
class PublishedSystemInClassTable:
    system: str
    evaluation: int


def build_leading_table_context(
    shown: PublishedTable, query: PublishedTableQuery | None = None, text: str = ""
) -> dict[str, Any]:
    sort = query.sort if query else ""
    metric = sort.removeprefix("-")
    measure = next(
        (column for column in shown.columns if column.name == metric), shown.leading
    )
    rows = sort_rows_best_first(shown.rows, measure)
    if sort.startswith("-") and measure.name == metric:
        rows.reverse()
    wanted = text.casefold()
    rows = [row for row in rows if not wanted or wanted in row.system.casefold()]
    scale = CHART_MAXIMUM_BY_SCALE.get(shown.leading.scale)
    axis = (
        None
        if scale is None
        else IntervalAxis.from_score_cells(
            [_build_interval_cell(shown, row) for row in shown.rows], scale
        )
    )
    columns = [
        shown.leading,
        *(column for column in shown.columns if column is not shown.leading),
    ]
    return {
        "title": shown.title,
        "table": shown.table,
        "columns": [
            _build_measure_column_head(column, measure, query) for column in columns
        ],
        "axis": axis.ends if axis else None,
        "rows": [
            {
                "system": row.system,
                "line": row.line,
                "href": f"{shown.table.get_absolute_url()}-{row.line}",
                "cells": [
                    _build_figure_cell(row.figures.get(column.name))
                    for column in columns
                ],
                "whisker": _build_interval_whisker(
                    _build_interval_cell(shown, row), axis
                ),
            }
            for row in rows
        ],
        "doubts": shown.doubts,
    }


def build_class_table_context(
    shown: PublishedTable, query: PublishedTableQuery
) -> dict[str, Any]:
    if query.metric in {column.name for column in shown.columns}:
        shown = replace(shown, placement=replace(shown.placement, metric=query.metric))
    names = list(dict.fromkeys(row.system for row in shown.rows))
    numbers = {name: number for number, name in enumerate(names)}
    labels = list(dict.fromkeys(row.label for row in shown.rows))
    classes = differences.ScoresByClassTable(
        dimension=shown.dimension,
        metric=shown.leading.label,
        scale=CHART_MAXIMUM_BY_SCALE.get(shown.leading.scale, 0.0),
        higher_is_better=shown.leading.higher_is_better,
        classes=[
            differences.InstanceClass(label, 0)
            for label in differences.sort_labels_naturally(labels)
        ],
        systems=[
            PublishedSystemInClassTable(name, number)
            for name, number in numbers.items()
        ],
        values={
            (row.label, numbers[row.system]): row.value(shown.leading.name)
            for row in shown.rows
        },
    )
    orders = next(
        (row for row in classes.systems if row.system == query.order.removeprefix("-")),
        None,
    )
    if orders:
        classes = differences.sort_classes_by_value_of_system(
            classes, orders, is_reversed=query.order.startswith("-")
        )
    figures = {
        (row.label, row.system): row.figures.get(shown.leading.name)
        for row in shown.rows
    }
    # The bars show the systems that the reader chose, or the best systems of the table.
    chosen = [row for row in classes.systems if row.system in query.systems]
    drawn = (
        chosen[:MAX_SERIES]
        or differences.sort_systems_by_mean(classes)[
            : differences.DEFAULT_COMPARED_SYSTEM_COUNT
        ]
    )
    of_groups = find_best_figures_of_groups(shown.rows, [shown.leading])
    lines: list[dict[str, Any]] = []
    for name in classes.classes:
        best = (
            {row.system for row in classes.best(name.label)}
            if len(classes.systems) > 1
            else set()
        )
        cells = [
            {
                **_build_figure_cell(figures.get((name.label, row.system)), of_groups),
                "is_best": row.system in best,
            }
            for row in classes.systems
        ]
        lines.append({"label": name.label, "cells": cells})
    # The heat map shows as many decimals as the publication.
    heat = build_class_heat_map(classes, label=classes.metric)
    bars = build_class_bar_chart(replace(classes, systems=drawn), classes.metric)
    series = []
    for system in bars.series:
        texts = (
            _build_figure_cell(figures.get((label, system.name)))["text"]
            for label in bars.labels
        )
        values = [
            replace(value, text=text)
            for value, text in zip(system.values, texts, strict=True)
        ]
        series.append(replace(system, values=values))
    return {
        "table": shown.table,
        "measure": shown.leading,
        "dimension": shown.dimension,
        "heads": [
            differences.build_system_column_head(
                classes, row, query.order, query.build_query_string
            )
            for row in classes.systems
        ],
        "printed_order": query.build_query_string(order="") if orders else "",
        "lines": lines,
        "heat": replace(
            heat, texts=[[cell["text"] for cell in line["cells"]] for line in lines]
        ),
        "bars": replace(bars, series=series),
        "systems": [(row.system, row in drawn) for row in classes.systems],
        "drawn": len(drawn),
        "most": MAX_SERIES,
        "carried": query.pairs(
            systems=tuple(name for name in query.systems if name not in numbers)
        ),
        "words": summarise_class_table(classes),
        "has_groups": bool(of_groups),
        "doubts": shown.doubts,
    }


def build_printed_table_context(
    table: Any, rows: Sequence[PublishedRow], measures: Sequence[PrintedMeasure]
) -> dict[str, Any]:
    keys = [name for name in table.row_key if name != "system"]
    best = find_best_figures_of_groups(rows, measures)
    return {
        "table": table,
        "keys": [name.replace("_", " ") for name in keys],
        "measures": measures,
        "has_systems": any(row.system for row in rows),
        "has_groups": bool(best),
        "rows": [
            {
                "line": row.line,
                "system": row.system,
                "keys": [
                    next(iter(row.figures.values())).features.get(name) for name in keys
                ],
                "cells": [
                    _build_figure_cell(row.figures.get(measure.name), best)
                    for measure in measures
                ],
            }
            for row in rows
        ],
    }


def find_best_figures_of_groups(
    rows: Sequence[PublishedRow], measures: Sequence[PrintedMeasure]
) -> frozenset[int]:
    """Return the highest printed value in each group of systems, and all values equal
    to the highest.
    """
    groups: dict[tuple[str, str], list[Reported]] = defaultdict(list)
    upward = {measure.name for measure in measures if measure.higher_is_better}
    for figure in (figure for row in rows for figure in row.figures.values()):
        if (
            figure.metric in upward
            and figure.features.get("group")
            and figure.value is not None
        ):
            groups[figure.metric, str(figure.features["group"])].append(figure)
    highest = {
        key: max(figure.value or 0.0 for figure in group)
        for key, group in groups.items()
    }
    return frozenset(
        one.pk
        for key, group in groups.items()
        for one in group
        if one.value == highest[key]
    )


def _build_figure_cell(
    figure: Reported | None, best: Container[int] = ()
) -> dict[str, Any]:
    if figure is None:
        return {"text": "", "doubt": ""}
    deviation = f" ({figure.printed_deviation})" if figure.printed_deviation else ""
    return {
        "text": f"{figure.printed}{deviation}".replace("-", "\u2212"),
        "doubt": figure.doubt,
        "is_bold": figure.pk in best,
    }


def build_measure_choices(
    tables: Sequence[PublishedTable], query: PublishedTableQuery
) -> list[LinkedChoice]:
    if all(len(table.columns) < 2 for table in tables):
        return []
    measures = {measure.name: measure for table in tables for measure in table.columns}
    leading = {table.leading.name for table in tables}
    current = (
        query.metric
        if query.metric in measures
        else next(iter(leading))
        if len(leading) == 1
        else ""
    )
    return query.choices("metric", measures, current, lambda name: measures[name].label)


def _build_measure_column_head(
    measure: PrintedMeasure,
    sorted_by: PrintedMeasure,
    query: PublishedTableQuery | None,
) -> dict[str, Any]:
    sort = query.sort if query else ""
    is_sorted = measure is sorted_by
    is_reversed = is_sorted and sort.startswith("-")
    wanted = f"-{measure.name}" if is_sorted and not is_reversed else measure.name
    rises = (measure.higher_is_better is False) != is_reversed
    return {
        "measure": measure,
        "href": query.build_query_string(sort=wanted) if query else "",
        "is_sorted": is_sorted,
        "arrow": "↑" if rises else "↓",
        "aria": "ascending" if rises else "descending",
    }


def _build_interval_cell(shown: PublishedTable, row: PublishedRow) -> ScoreCell:
    low, high = (row.value(name) for name in shown.placement.interval or ("", ""))
    return ScoreCell(0, row.value(shown.leading.name), low, high)


def _build_interval_whisker(
    cell: ScoreCell, axis: IntervalAxis | None
) -> IntervalWhisker | None:
    if axis is None:
        return None
    return build_interval_whisker(
        cell, axis, format_interval(cell.low, cell.high, axis.scale)
    )
