"""Compute the data of a board's charts from the rows of the board, which
`scoring.figures` renders.
"""

import datetime as dt
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

from django.utils.translation import gettext as _, gettext_lazy, ngettext

from citeboard.core.instants import format_utc_minute
from citeboard.core.words import count_with_noun, join_names, localize_separators
from scoring.figures import (
    Axis,
    BarChart,
    DotPlot,
    FigureValue,
    HeatMap,
    PointSeries,
    ScatterPlot,
    ScatterPoint,
    ValueSeries,
    find_metric_bounds,
)
from scoring.figures.description import MAX_SERIES
from scoring.metrics.base import FixedValueReason
from scoring.results.board.differences import (
    GoldDeterminedClass,
    ScoresByClassTable,
    SystemWithEvaluation,
)
from scoring.results.board.formatting import (
    decimal_places_for_scale,
    display_name_of_class,
    display_name_of_dimension,
    display_name_of_metric,
    format_interval,
    format_score,
    format_score_with_interval,
)
from scoring.results.board.manual_scores import TeamReportedFigures
from scoring.results.board.standings import Board, BoardRow, BoardScoreColumn, ScoreCell
from scoring.stats.finding import summarise_differences
from scoring.stats.jackknife import compute_t_quantile
from scoring.stats.significance import FAMILYWISE_ERROR_RATE
from scoring.tools.baselines import Baseline, baselines
from tasks.submissions.run_card import TeamReportedMeasure

#: A chart labels at most MAX_LABELLED_CHART_POINTS points with names.
MAX_LABELLED_CHART_POINTS = 12
#: A chart of a whole board has at most MAX_CHART_ROWS rows, but the table has all rows.
MAX_CHART_ROWS = 40


def build_score_axis(title: str, scale: float, *, has_zero: bool = False) -> Axis:
    return Axis(
        title=title,
        decimals=decimal_places_for_scale(scale),
        bounds=find_metric_bounds(scale),
        has_zero=has_zero,
    )


def build_ranking_chart(board: Board) -> DotPlot | None:
    ranking = board.ranking
    if ranking is None or not board.rows:
        return None
    rows = board.rows[:MAX_CHART_ROWS]
    label = display_name_of_metric(ranking.metric)
    cells = [row.scores.get(ranking.name) for row in rows]
    return DotPlot(
        title=f"{board.phase.task}, {board.phase}: {label}",
        labels=[
            f"{row.system} ({', '.join([row.display_name, *row.seed_words])})"
            for row in rows
        ],
        series=[
            ValueSeries(name=label, values=[FigureValue.of(cell) for cell in cells])
        ],
        axis=build_score_axis(label, ranking.scale),
    )


def build_class_heat_map(
    table: ScoresByClassTable, leading: Mapping[str, int] | None = None, label: str = ""
) -> HeatMap:
    """Return the heat map of a table that shows the scores of each system in each
    class.

    ``leading`` maps a class to the evaluation whose score is significantly the best in
    the class. ``label`` is the name of the metric if the scores are those of a
    publication.
    """

    def format_class_score(name: str, row: SystemWithEvaluation) -> str:
        value = table.value(name, row)
        if value is None:
            return (
                table.text(name, row)
                if (name, row.evaluation) in table.infinite
                else ""
            )
        return format_score(value, table.scale) + (
            " *" if (leading or {}).get(name) == row.evaluation else ""
        )

    values = [
        [table.value(name.label, row) for row in table.systems]
        for name in table.classes
    ]
    # The colour scale ends at the largest value, so that differences are visible.
    highest = max(
        (value for line in values for value in line if value is not None),
        default=table.scale,
    )
    return HeatMap(
        title=_format_metric_by_dimension_title(table, label),
        description=summarise_class_table(table),
        rows=[
            name.label if label else display_name_of_class(name.label)
            for name in table.classes
        ],
        columns=[row.system for row in table.systems],
        values=values,
        texts=[
            [format_class_score(name.label, row) for row in table.systems]
            for name in table.classes
        ],
        high=highest or table.scale or 1,
    )


def build_class_bar_chart(table: ScoresByClassTable, label: str = "") -> BarChart:
    def measured_score(name: str, row: SystemWithEvaluation) -> FigureValue:
        low, high = table.intervals.get((name, row.evaluation), (None, None))
        return FigureValue(
            value=table.value(name, row), low=low, high=high, text=table.text(name, row)
        )

    # The chart omits a class without a value, for which the table gives the reason.
    labels = [
        name.label for name in table.classes if table.mean(name.label) is not None
    ]
    return BarChart(
        title=_format_metric_by_dimension_title(table, label),
        description=summarise_class_table(table),
        labels=labels if label else [display_name_of_class(name) for name in labels],
        series=[
            ValueSeries(
                name=row.system, values=[measured_score(name, row) for name in labels]
            )
            for row in table.systems
        ],
        axis=build_score_axis(
            label or display_name_of_metric(table.metric), table.scale, has_zero=True
        ),
    )


def _format_metric_by_dimension_title(table: ScoresByClassTable, label: str) -> str:
    return _("%(metrics)s by %(dimension)s") % {
        "metrics": label or display_name_of_metric(table.metric),
        "dimension": display_name_of_dimension(table.dimension),
    }


def build_score_against_cost_chart(
    board: Board,
    ranking: BoardScoreColumn,
    figures: TeamReportedFigures,
    measure: TeamReportedMeasure,
) -> ScatterPlot:
    points = [
        ScatterPoint(name=row.system, x=FigureValue(value=cost), y=FigureValue.of(cell))
        for row in figures.rows
        if (cell := row.scores.get(ranking.name)) and cell.value is not None
        if (cost := figures.value(row, measure)) is not None
    ]
    costs = [point.x.value for point in points if point.x.value is not None]
    # The axis of costs is logarithmic if the costs differ much and none is 0.
    is_wide = bool(costs) and min(costs) > 0 and max(costs) >= 20 * min(costs)
    series = [PointSeries(name=point.name, points=[point]) for point in points]
    if len(points) > MAX_SERIES:
        series = [PointSeries(name=_("runs"), points=points)]
    label = display_name_of_metric(ranking.metric)
    return ScatterPlot(
        title=_("%(metric)s against %(measure)s")
        % {"metric": label, "measure": measure.titled},
        series=series,
        x=Axis(
            title=_("%(measure)s, reported by the team") % {"measure": measure.titled},
            kind="log" if is_wide else "linear",
            has_zero=True,
        ),
        y=build_score_axis(label, ranking.scale),
    )


def build_metric_pair_chart(pairing: "ScatterOfTwoMetrics") -> ScatterPlot:
    series = [
        PointSeries(
            name=name,
            points=[
                ScatterPoint(
                    name=row.system, x=FigureValue.of(across), y=FigureValue.of(up)
                )
                for row, across, up in points
            ],
            has_names=len(pairing.points) <= MAX_LABELLED_CHART_POINTS,
        )
        for name, is_baseline in ((_("systems"), False), (_("baselines"), True))
        if (
            points := [
                point for point in pairing.points if point[0].is_baseline == is_baseline
            ]
        )
    ]
    if pairing.has_equal_axis_scales and pairing.points:
        values = [
            cell.value
            for _row, *cells in pairing.points
            for cell in cells
            if cell.value is not None
        ]
        ends = [
            ScatterPoint(name="", x=FigureValue(value=end), y=FigureValue(value=end))
            for end in (min(values), max(values))
        ]
        series.append(
            PointSeries(name="", points=ends, has_points=False, is_reference=True)
        )
    return ScatterPlot(
        title=pairing.title,
        series=series,
        x=build_score_axis(
            display_name_of_metric(pairing.across.metric), pairing.across.scale
        ),
        y=build_score_axis(display_name_of_metric(pairing.up.metric), pairing.up.scale),
    )


def build_score_history_chart(
    points: Sequence[tuple[dt.datetime, FigureValue, str]],
    label: str,
    scale: float,
    *,
    higher_is_better: bool = True,
    published: tuple[str, float] | None = None,
) -> ScatterPlot:
    """Return a chart of the scores of a phase's runs in the order of submission, and of
    the best score so far. If ``published`` is given, the chart has a horizontal line at
    the published score.
    """
    runs = [
        ScatterPoint(
            name=name,
            x=FigureValue(value=at.timestamp(), text=format_utc_minute(at)),
            y=measured,
        )
        for at, measured, name in points
    ]
    best = compute_running_best_values(
        [measured.value for _at, measured, _name in points], higher_is_better
    )
    steps = [
        ScatterPoint(name=_("best so far"), x=run.x, y=FigureValue(value=value))
        for run, value in zip(runs, best, strict=True)
    ]
    series = [
        PointSeries(name=_("each run"), points=runs),
        PointSeries(
            name=_("best so far"),
            points=steps,
            has_points=False,
            has_line=True,
            is_stepped=True,
        ),
    ]
    if published and runs:
        name, value = published
        ends = [
            ScatterPoint(name=name, x=x, y=FigureValue(value=value))
            for x in (runs[0].x, runs[-1].x)
        ]
        series.append(
            PointSeries(name=name, points=ends, has_points=False, is_reference=True)
        )
    return ScatterPlot(
        title=_("%(metric)s of each run") % {"metric": label},
        series=series,
        x=Axis(kind="date"),
        y=build_score_axis(label, scale),
    )


def compute_running_best_values(
    values: Sequence[float | None], higher_is_better: bool
) -> list[float | None]:
    best: list[float | None] = []
    for value in values:
        before = best[-1] if best else None
        if value is None or before is None:
            best.append(before if value is None else value)
        else:
            best.append(max(value, before) if higher_is_better else min(value, before))
    return best


#: The quantiles of Student's t have STUDENT_T_DEGREES_OF_FREEDOM degrees of freedom.
STUDENT_T_DEGREES_OF_FREEDOM = 4
MIN_CLASSES_FOR_INTERVALS = 2


class ClassMean(NamedTuple):
    """The mean score over systems in a class, with an interval that is simultaneous for
    all classes of the table.
    """

    mean: float
    low: float
    high: float
    label: str


def compute_class_means_over_systems(table: ScoresByClassTable) -> list[ClassMean]:
    """Return the mean score over systems for each class in which every system has an
    interval.

    The interval of the mean has averaged bounds, which is valid for any dependence
    between systems. Bonferroni's correction for the number of classes widens the
    intervals by quantiles of Student's t with few degrees of freedom, which is
    conservative.
    """
    found = []
    for name in table.classes:
        own = [
            (value, *ends)
            for row in table.systems
            if (value := table.value(name.label, row)) is not None
            and (ends := table.intervals.get((name.label, row.evaluation))) is not None
        ]
        if own and len(own) == len(table.systems):
            found.append((name.label, own))
    if not found:
        return []
    shares = (
        1 - FAMILYWISE_ERROR_RATE / (2 * len(found)),
        1 - FAMILYWISE_ERROR_RATE / 2,
    )
    wider = compute_t_quantile(
        shares[0], STUDENT_T_DEGREES_OF_FREEDOM
    ) / compute_t_quantile(shares[1], STUDENT_T_DEGREES_OF_FREEDOM)
    return [
        ClassMean(
            mean=fmean(value for value, _, _ in own),
            low=fmean(value - wider * (value - low) for value, low, _ in own),
            high=fmean(value + wider * (high - value) for value, _, high in own),
            label=label,
        )
        for label, own in found
    ]


def describe_best_and_worst_class(table: ScoresByClassTable) -> str:
    """Return a sentence that compares the classes with the best and the worst mean
    score, if the intervals of both means do not overlap.

    The comparison of two intervals is valid for any dependence between systems.
    """
    means = compute_class_means_over_systems(table)
    if len(means) < MIN_CLASSES_FOR_INTERVALS or table.higher_is_better is None:
        return ""
    lowest, highest = min(means), max(means)
    if highest.low <= lowest.high:
        return ""
    easier, harder = (highest, lowest) if table.higher_is_better else (lowest, highest)
    words = _(
        "Over these systems %(easier)s (mean %(better)s) is easier than %(harder)s (%(worse)s): "
        "the 95 %% interval of the difference, %(interval)s, excludes zero."
    )
    return words % {
        "easier": display_name_of_class(easier.label),
        "better": format_score(easier.mean, table.scale),
        "harder": display_name_of_class(harder.label),
        "worse": format_score(harder.mean, table.scale),
        "interval": format_interval(
            highest.low - lowest.high, highest.high - lowest.low, table.scale
        ),
    }


_GOLD_DETERMINED_VALUE_SENTENCES = {
    FixedValueReason.ONE_LABEL: gettext_lazy(
        "No value of %(metric)s in %(classes)s: one label occurs in the gold there, so that the class fixes "
        "the value. %(instead)s is valid there."
    ),
    FixedValueReason.BAND_OF_GOLD: gettext_lazy(
        "No value of %(metric)s in %(classes)s: the class is a band of the gold itself, which restricts the "
        "range of the measure. %(instead)s is valid there."
    ),
    FixedValueReason.EMPTY_GOLD: gettext_lazy(
        "No value of %(metric)s in %(classes)s: the gold has nothing to find there. "
        "%(instead)s is valid there."
    ),
}
_ALTERNATIVE_METRIC_NAMES = {
    FixedValueReason.ONE_LABEL: gettext_lazy("The recall of the label, or accuracy,"),
    FixedValueReason.BAND_OF_GOLD: gettext_lazy("The mean absolute error"),
    FixedValueReason.EMPTY_GOLD: gettext_lazy(
        "The share of instances without an answer"
    ),
}


def describe_gold_determined_classes(table: ScoresByClassTable) -> str:
    """Return sentences about classes in which the gold determines the value of a
    metric, with the reason and with a suitable metric.
    """
    by_reason: dict[GoldDeterminedClass, list[str]] = {}
    for label, own in table.fixed.items():
        by_reason.setdefault(own, []).append(display_name_of_class(label))
    return " ".join(
        str(_GOLD_DETERMINED_VALUE_SENTENCES[why])
        % {
            "metric": display_name_of_metric(table.metric),
            "classes": join_names(labels),
            "instead": display_name_of_metric(instead)
            if instead
            else str(_ALTERNATIVE_METRIC_NAMES[why]),
        }
        for (why, instead), labels in by_reason.items()
    )


def summarise_class_table(table: ScoresByClassTable) -> str:
    means = [
        (mean, name.label)
        for name in table.classes
        if (mean := table.mean(name.label)) is not None
    ]
    if not means:
        return "" if table.fixed else _("No class has a value yet.")
    if table.is_tested:
        return describe_best_and_worst_class(table)
    sentences = []
    counts = Counter(
        row.evaluation for name in table.classes for row in table.best(name.label)
    )
    if counts and len(table.systems) > 1:
        most = max(counts.values())
        leading = [row for row in table.systems if counts[row.evaluation] == most]
        names = [_("“%(name)s”") % {"name": row.system} for row in leading]
        words = ngettext(
            "%(systems)s has the best number in %(most)s of %(classes)s.",
            "%(systems)s each have the best number in %(most)s of %(classes)s.",
            len(names),
        )
        classes = count_with_noun(len(table.classes), "class", "classes")
        sentences.append(
            words % {"systems": join_names(names[:3]), "most": most, "classes": classes}
        )
    if len(means) > 1 and table.higher_is_better is not None:
        hardest, easiest = sorted(
            [min(means), max(means)], reverse=not table.higher_is_better
        )
        facts = {
            "easiest": display_name_of_class(easiest[1]),
            "high": format_score(easiest[0], table.scale),
            "hardest": display_name_of_class(hardest[1]),
            "low": format_score(hardest[0], table.scale),
        }
        if len(table.systems) == 1:
            words = _(
                "For “%(system)s” %(easiest)s is the easiest (%(high)s) "
                "and %(hardest)s the hardest (%(low)s)."
            )
            facts["system"] = table.systems[0].system
        else:
            words = _(
                "Over these systems %(easiest)s is the easiest (mean %(high)s) "
                "and %(hardest)s the hardest (%(low)s)."
            )
        sentences.append(words % facts)
    return " ".join(sentences)


def describe_missing_intervals(
    table: ScoresByClassTable, pending: Collection[int]
) -> str:
    """Return sentences about systems whose scores in some classes have no interval,
    with the classes and the reasons.

    ``pending`` contains the evaluations whose intervals are still being computed.
    Classes in which the gold determines the value are omitted, because `describe_gold_determined_classes`
    describes these classes.
    """
    names = [name.label for name in table.classes if name.label not in table.fixed]
    #: ``lacking`` maps a reason and classes without an interval to names of systems.
    lacking: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for row in table.systems:
        by_reason: dict[str, list[str]] = {}
        for label in names:
            if (label, row.evaluation) not in table.intervals:
                why = _("too few instances to tell one")
                if table.value(label, row) is None:
                    why = _("no value")
                elif row.evaluation in pending:
                    why = _("not computed yet")
                by_reason.setdefault(why, []).append(label)
        for why, labels in by_reason.items():
            lacking.setdefault((why, tuple(labels)), []).append(f"“{row.system}”")
    if not lacking:
        return ""
    reasons = []
    for (why, in_labels), systems in lacking.items():
        words = _("%(systems)s (%(why)s)")
        if len(in_labels) < len(names):
            words = _("%(systems)s in %(classes)s (%(why)s)")
        of_classes = join_names([display_name_of_class(label) for label in in_labels])
        facts = {"systems": join_names(systems), "classes": of_classes, "why": why}
        reasons.append(words % facts)
    return _("Without an interval: %(systems)s.") % {"systems": "; ".join(reasons)}


def describe_significant_class_leaders(
    table: ScoresByClassTable, leading: Mapping[str, int]
) -> str:
    counts = Counter(leading.values())
    names = {row.evaluation: row.system for row in table.systems}
    systems = [
        _("“%(system)s” in %(count)s") % {"system": names[key], "count": count}
        for key, count in counts.most_common(3)
        if key in names
    ]
    if not systems:
        return _("In no class is one system significantly better than every other.")
    words = _(
        "Significantly better than every other system of the board is %(systems)s."
    )
    return words % {"systems": join_names(systems)}


@dataclass(frozen=True, kw_only=True)
class ScatterOfTwoMetrics:
    across: BoardScoreColumn
    up: BoardScoreColumn
    points: Sequence[tuple[BoardRow, ScoreCell, ScoreCell]]
    left_out: int
    finds: int = 0

    @property
    def title(self) -> str:
        across, up = self.heads
        return _("%(metric)s against %(measure)s") % {"metric": up, "measure": across}

    @property
    def heads(self) -> list[str]:
        return [
            display_name_of_metric(self.across.metric),
            display_name_of_metric(self.up.metric),
        ]

    @property
    def finding(self) -> str:
        """Return a sentence on how much the systems differ and on the direction that
        the paper reports.
        """
        if not self.finds or not self.points:
            return ""
        differences = [
            (up.value or 0.0) - (across.value or 0.0)
            for _row, across, up in self.points
        ]
        found = summarise_differences(
            [self.finds * difference for difference in differences]
        )
        ends = sorted(self.finds * end for end in (found.low, found.high))
        claim = (
            _("%(metric)s below %(measure)s")
            if self.finds < 0
            else _("%(metric)s above %(measure)s")
        )
        across, up = self.heads
        verdicts = {
            True: _("holds here"),
            False: _("fails here"),
            None: _("cannot be decided here"),
        }
        facts = {
            "claim": claim % {"metric": up, "measure": across},
            "verdict": verdicts[found.holds],
            "above": found.above,
            "units": found.units,
            "mean": format_score_with_interval(
                self.finds * found.mean,
                ends if found.units > 2 else None,
                self.up.scale,
            ),
        }
        words = _(
            "What the paper finds, %(claim)s, %(verdict)s: in %(above)s of %(units)s systems, "
            "a mean difference of %(mean)s."
        )
        return words % facts

    @property
    def has_equal_axis_scales(self) -> bool:
        return self.across.scale == self.up.scale

    @property
    def lines(self) -> list[tuple[BoardRow, str, str]]:
        return [
            (
                row,
                format_score(across.value, self.across.scale),
                format_score(up.value, self.up.scale),
            )
            for row, across, up in self.points
        ]


def has_scatters_of_two_metrics(board: Board) -> bool:
    names = {column.name for column in board.columns}
    return any(
        {pair.across, pair.up} <= names
        for pair in board.phase.task.task_type.scatter_pairs
    )


def build_scatters_of_two_metrics(board: Board) -> list[ScatterOfTwoMetrics]:
    columns = {column.name: column for column in board.columns}
    pairings = []
    for pair in board.phase.task.task_type.scatter_pairs:
        across, up = pair.across, pair.up
        if across in columns and up in columns:
            points = [
                (row, row.scores[across], row.scores[up])
                for row in board.rows
                if across in row.scores and up in row.scores
                if row.scores[across].value is not None
                and row.scores[up].value is not None
            ]
            left_out = len(board.rows) - len(points)
            axes = {"across": columns[across], "up": columns[up]}
            pairings.append(
                ScatterOfTwoMetrics(
                    **axes, points=points, left_out=left_out, finds=pair.finds
                )
            )
    return pairings


#: The chart draws at most MAX_LINES_IN_SWEEP_CHART columns as lines, but the table has all columns.
MAX_LINES_IN_SWEEP_CHART = 3


@dataclass(frozen=True, kw_only=True)
class BaselineParameterSweep:
    name: str
    source: str
    swept: str
    points: list[tuple[float, BoardRow]]
    missing: list[float]
    columns: list[BoardScoreColumn]

    @property
    def lines(self) -> list[tuple[float, BoardRow, list[str]]]:
        def text(row: BoardRow, column: BoardScoreColumn) -> str:
            cell = row.scores.get(column.name)
            return (
                format_score(cell.value, column.scale, is_infinite=cell.is_infinite)
                if cell
                else ""
            )

        return [
            (at, row, [text(row, column) for column in self.columns])
            for at, row in self.points
        ]

    @property
    def heads(self) -> list[str]:
        return [display_name_of_metric(column.metric) for column in self.columns]


def find_baseline_parameter_sweeps(
    board: Board, built_in: dict[int, str]
) -> list[BaselineParameterSweep]:
    rows = {
        name: row
        for row in board.rows
        if (name := built_in.get(row.submission)) and row.scores
    }
    steps_of: dict[str, list[Baseline]] = {}
    for baseline in baselines().values():
        if baseline.sweep and board.phase.task.type in baseline.task_types:
            steps_of.setdefault(baseline.sweep, []).append(baseline)
    sweeps = []
    for name, unordered in steps_of.items():
        steps = sorted(unordered, key=lambda baseline: baseline.at or 0.0)
        sweeps.append(
            BaselineParameterSweep(
                name=name,
                source=steps[0].source,
                swept=steps[0].swept,
                points=[
                    (step.at or 0.0, rows[step.name])
                    for step in steps
                    if step.name in rows
                ],
                missing=[step.at or 0.0 for step in steps if step.name not in rows],
                columns=board.columns,
            )
        )
    return sweeps


def build_parameter_sweep_chart(sweep: BaselineParameterSweep) -> ScatterPlot:
    scale = sweep.columns[0].scale
    drawn = [column for column in sweep.columns if column.scale == scale][
        :MAX_LINES_IN_SWEEP_CHART
    ]

    def point(place: int, column: BoardScoreColumn) -> ScatterPoint:
        at, row = sweep.points[place]
        return ScatterPoint(
            name=display_name_of_metric(column.metric),
            x=FigureValue(
                value=float(place), text=localize_separators(f"{sweep.swept} {at:g}")
            ),
            y=FigureValue.of(row.scores.get(column.name)),
        )

    return ScatterPlot(
        title=_("%(baseline)s by %(threshold)s")
        % {"baseline": sweep.name, "threshold": sweep.swept},
        description=describe_best_parameter_value(sweep),
        series=[
            PointSeries(
                name=display_name_of_metric(column.metric),
                points=[point(place, column) for place in range(len(sweep.points))],
                has_line=True,
            )
            for column in drawn
        ],
        x=Axis(
            title=sweep.swept.capitalize(),
            labels=[localize_separators(f"{at:g}") for at, _row in sweep.points],
        ),
        y=build_score_axis(
            display_name_of_metric(drawn[0].metric) if len(drawn) == 1 else "",
            scale,
            has_zero=True,
        ),
    )


def describe_best_parameter_value(sweep: BaselineParameterSweep) -> str:
    column = sweep.columns[0]
    values = [
        (cell.value, at)
        for at, row in sweep.points
        if (cell := row.scores.get(column.name)) and cell.value is not None
    ]
    if not values:
        return ""
    value, at = (min if column.higher_is_better is False else max)(
        values, key=lambda pair: pair[0]
    )
    return _("%(metric)s is best at %(at)s (%(threshold)s): %(value)s.") % {
        "metric": display_name_of_metric(column.metric),
        "at": localize_separators(f"{at:g}"),
        "threshold": sweep.swept,
        "value": format_score(value, column.scale),
    }
