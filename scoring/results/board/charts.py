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
    Bars,
    Dots,
    HeatMap,
    Measured,
    Point,
    PointSeries,
    Scatter,
    Series,
    bounds_of,
)
from scoring.figures.description import MAX_SERIES
from scoring.metrics.base import Fixed
from scoring.results.board.differences import ClassTable, ComparedSystem, FixedClass
from scoring.results.board.formatting import (
    class_label,
    decimals,
    dimension_label,
    interval,
    metric_label,
    score_with_interval,
    shown,
)
from scoring.results.board.manual_scores import TeamReportedFigures
from scoring.results.board.standings import Board, Cell, Column, Row
from scoring.stats.finding import finding
from scoring.stats.jackknife import t_quantile
from scoring.stats.significance import ALPHA
from scoring.tools.baselines import Baseline, baselines
from tasks.submissions.run_card import TeamMeasure

#: A chart labels at most MAX_POINTS_LABELLED points with names.
MAX_POINTS_LABELLED = 12
#: A chart of a whole board has at most MAX_CHART_ROWS rows, but the table has all rows.
MAX_CHART_ROWS = 40


def score_axis(title: str, scale: float, *, has_zero: bool = False) -> Axis:
    return Axis(
        title=title,
        decimals=decimals(scale),
        bounds=bounds_of(scale),
        has_zero=has_zero,
    )


def ranking_chart(board: Board) -> Dots | None:
    ranking = board.ranking
    if ranking is None or not board.rows:
        return None
    rows = board.rows[:MAX_CHART_ROWS]
    label = metric_label(ranking.metric)
    cells = [row.scores.get(ranking.name) for row in rows]
    return Dots(
        title=f"{board.phase.task}, {board.phase}: {label}",
        labels=[
            f"{row.system} ({', '.join([row.display_name, *row.seed_words])})"
            for row in rows
        ],
        series=[Series(name=label, values=[Measured.of(cell) for cell in cells])],
        axis=score_axis(label, ranking.scale),
    )


def class_heat_map(
    table: ClassTable, leading: Mapping[str, int] | None = None, label: str = ""
) -> HeatMap:
    """Return the heat map of a table that shows the scores of each system in each
    class.

    ``leading`` maps a class to the evaluation whose score is significantly the best in
    the class. ``label`` is the name of the metric if the scores are those of a
    publication.
    """

    def text(name: str, row: ComparedSystem) -> str:
        value = table.value(name, row)
        if value is None:
            return (
                table.text(name, row)
                if (name, row.evaluation) in table.infinite
                else ""
            )
        return shown(value, table.scale) + (
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
        title=_metric_by_dimension_title(table, label),
        description=class_table_summary(table),
        rows=[
            name.label if label else class_label(name.label) for name in table.classes
        ],
        columns=[row.system for row in table.systems],
        values=values,
        texts=[
            [text(name.label, row) for row in table.systems] for name in table.classes
        ],
        high=highest or table.scale or 1,
    )


def class_bar_chart(table: ClassTable, label: str = "") -> Bars:
    def measured_score(name: str, row: ComparedSystem) -> Measured:
        low, high = table.intervals.get((name, row.evaluation), (None, None))
        return Measured(
            value=table.value(name, row), low=low, high=high, text=table.text(name, row)
        )

    # The chart omits a class without a value, for which the table gives the reason.
    labels = [
        name.label for name in table.classes if table.mean(name.label) is not None
    ]
    return Bars(
        title=_metric_by_dimension_title(table, label),
        description=class_table_summary(table),
        labels=labels if label else [class_label(name) for name in labels],
        series=[
            Series(
                name=row.system, values=[measured_score(name, row) for name in labels]
            )
            for row in table.systems
        ],
        axis=score_axis(
            label or metric_label(table.metric), table.scale, has_zero=True
        ),
    )


def _metric_by_dimension_title(table: ClassTable, label: str) -> str:
    return _("%(metrics)s by %(dimension)s") % {
        "metrics": label or metric_label(table.metric),
        "dimension": dimension_label(table.dimension),
    }


def score_against_cost_chart(
    board: Board, ranking: Column, figures: TeamReportedFigures, measure: TeamMeasure
) -> Scatter:
    points = [
        Point(name=row.system, x=Measured(value=cost), y=Measured.of(cell))
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
    label = metric_label(ranking.metric)
    return Scatter(
        title=_("%(metric)s against %(measure)s")
        % {"metric": label, "measure": measure.titled},
        series=series,
        x=Axis(
            title=_("%(measure)s, reported by the team") % {"measure": measure.titled},
            kind="log" if is_wide else "linear",
            has_zero=True,
        ),
        y=score_axis(label, ranking.scale),
    )


def metric_pair_chart(pairing: "MetricPairing") -> Scatter:
    series = [
        PointSeries(
            name=name,
            points=[
                Point(name=row.system, x=Measured.of(across), y=Measured.of(up))
                for row, across, up in points
            ],
            has_names=len(pairing.points) <= MAX_POINTS_LABELLED,
        )
        for name, is_baseline in ((_("systems"), False), (_("baselines"), True))
        if (
            points := [
                point for point in pairing.points if point[0].is_baseline == is_baseline
            ]
        )
    ]
    if pairing.shares_a_scale and pairing.points:
        values = [
            cell.value
            for _row, *cells in pairing.points
            for cell in cells
            if cell.value is not None
        ]
        ends = [
            Point(name="", x=Measured(value=end), y=Measured(value=end))
            for end in (min(values), max(values))
        ]
        series.append(
            PointSeries(name="", points=ends, has_points=False, is_reference=True)
        )
    return Scatter(
        title=pairing.title,
        series=series,
        x=score_axis(metric_label(pairing.across.metric), pairing.across.scale),
        y=score_axis(metric_label(pairing.up.metric), pairing.up.scale),
    )


def score_history_chart(
    points: Sequence[tuple[dt.datetime, Measured, str]],
    label: str,
    scale: float,
    *,
    higher_is_better: bool = True,
    published: tuple[str, float] | None = None,
) -> Scatter:
    """Return a chart of the scores of a phase's runs in the order of submission, and of
    the best score so far. If ``published`` is given, the chart has a horizontal line at
    the published score.
    """
    runs = [
        Point(
            name=name,
            x=Measured(value=at.timestamp(), text=format_utc_minute(at)),
            y=measured,
        )
        for at, measured, name in points
    ]
    best = best_so_far(
        [measured.value for _at, measured, _name in points], higher_is_better
    )
    steps = [
        Point(name=_("best so far"), x=run.x, y=Measured(value=value))
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
            Point(name=name, x=x, y=Measured(value=value))
            for x in (runs[0].x, runs[-1].x)
        ]
        series.append(
            PointSeries(name=name, points=ends, has_points=False, is_reference=True)
        )
    return Scatter(
        title=_("%(metric)s of each run") % {"metric": label},
        series=series,
        x=Axis(kind="date"),
        y=score_axis(label, scale),
    )


def best_so_far(
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


#: The quantiles of Student's t have T_DEGREES_OF_FREEDOM degrees of freedom.
T_DEGREES_OF_FREEDOM = 4
MIN_COMPARED_CLASSES = 2


class ClassMean(NamedTuple):
    """The mean score over systems in a class, with an interval that is simultaneous for
    all classes of the table.
    """

    mean: float
    low: float
    high: float
    label: str


def class_means_over_systems(table: ClassTable) -> list[ClassMean]:
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
    shares = (1 - ALPHA / (2 * len(found)), 1 - ALPHA / 2)
    wider = t_quantile(shares[0], T_DEGREES_OF_FREEDOM) / t_quantile(
        shares[1], T_DEGREES_OF_FREEDOM
    )
    return [
        ClassMean(
            mean=fmean(value for value, _, _ in own),
            low=fmean(value - wider * (value - low) for value, low, _ in own),
            high=fmean(value + wider * (high - value) for value, _, high in own),
            label=label,
        )
        for label, own in found
    ]


def tested_difference_text(table: ClassTable) -> str:
    """Return a sentence that compares the classes with the best and the worst mean
    score, if the intervals of both means do not overlap.

    The comparison of two intervals is valid for any dependence between systems.
    """
    means = class_means_over_systems(table)
    if len(means) < MIN_COMPARED_CLASSES or table.higher_is_better is None:
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
        "easier": class_label(easier.label),
        "better": shown(easier.mean, table.scale),
        "harder": class_label(harder.label),
        "worse": shown(harder.mean, table.scale),
        "interval": interval(
            highest.low - lowest.high, highest.high - lowest.low, table.scale
        ),
    }


_FIXED_VALUE_SENTENCES = {
    Fixed.ONE_LABEL: gettext_lazy(
        "No value of %(metric)s in %(classes)s: one label occurs in the gold there, so that the class fixes "
        "the value. %(instead)s is valid there."
    ),
    Fixed.BAND_OF_GOLD: gettext_lazy(
        "No value of %(metric)s in %(classes)s: the class is a band of the gold itself, which restricts the "
        "range of the measure. %(instead)s is valid there."
    ),
    Fixed.EMPTY_GOLD: gettext_lazy(
        "No value of %(metric)s in %(classes)s: the gold has nothing to find there. "
        "%(instead)s is valid there."
    ),
}
_VALID_METRIC_NAMES = {
    Fixed.ONE_LABEL: gettext_lazy("The recall of the label, or accuracy,"),
    Fixed.BAND_OF_GOLD: gettext_lazy("The mean absolute error"),
    Fixed.EMPTY_GOLD: gettext_lazy("The share of instances without an answer"),
}


def fixed_classes_text(table: ClassTable) -> str:
    """Return sentences about classes in which the gold determines the value of a
    metric, with the reason and with a suitable metric.
    """
    by_reason: dict[FixedClass, list[str]] = {}
    for label, own in table.fixed.items():
        by_reason.setdefault(own, []).append(class_label(label))
    return " ".join(
        str(_FIXED_VALUE_SENTENCES[why])
        % {
            "metric": metric_label(table.metric),
            "classes": join_names(labels),
            "instead": metric_label(instead)
            if instead
            else str(_VALID_METRIC_NAMES[why]),
        }
        for (why, instead), labels in by_reason.items()
    )


def class_table_summary(table: ClassTable) -> str:
    means = [
        (mean, name.label)
        for name in table.classes
        if (mean := table.mean(name.label)) is not None
    ]
    if not means:
        return "" if table.fixed else _("No class has a value yet.")
    if table.is_tested:
        return tested_difference_text(table)
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
            "easiest": class_label(easiest[1]),
            "high": shown(easiest[0], table.scale),
            "hardest": class_label(hardest[1]),
            "low": shown(hardest[0], table.scale),
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


def missing_intervals_text(table: ClassTable, pending: Collection[int]) -> str:
    """Return sentences about systems whose scores in some classes have no interval,
    with the classes and the reasons.

    ``pending`` contains the evaluations whose intervals are still being computed.
    Classes in which the gold determines the value are omitted, because `fixed_classes_text`
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
        of_classes = join_names([class_label(label) for label in in_labels])
        facts = {"systems": join_names(systems), "classes": of_classes, "why": why}
        reasons.append(words % facts)
    return _("Without an interval: %(systems)s.") % {"systems": "; ".join(reasons)}


def significant_leaders_text(table: ClassTable, leading: Mapping[str, int]) -> str:
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
class MetricPairing:
    across: Column
    up: Column
    points: Sequence[tuple[Row, Cell, Cell]]
    left_out: int
    finds: int = 0

    @property
    def title(self) -> str:
        across, up = self.heads
        return _("%(metric)s against %(measure)s") % {"metric": up, "measure": across}

    @property
    def heads(self) -> list[str]:
        return [metric_label(self.across.metric), metric_label(self.up.metric)]

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
        found = finding([self.finds * difference for difference in differences])
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
            "mean": score_with_interval(
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
    def shares_a_scale(self) -> bool:
        return self.across.scale == self.up.scale

    @property
    def lines(self) -> list[tuple[Row, str, str]]:
        return [
            (
                row,
                shown(across.value, self.across.scale),
                shown(up.value, self.up.scale),
            )
            for row, across, up in self.points
        ]


def has_metric_pairings(board: Board) -> bool:
    names = {column.name for column in board.columns}
    return any(
        {pair.across, pair.up} <= names
        for pair in board.phase.task.task_type.scatter_pairs
    )


def metric_pairings_of(board: Board) -> list[MetricPairing]:
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
                MetricPairing(
                    **axes, points=points, left_out=left_out, finds=pair.finds
                )
            )
    return pairings


#: The chart draws at most MAX_SWEEP_LINES columns as lines, but the table has all columns.
MAX_SWEEP_LINES = 3


@dataclass(frozen=True, kw_only=True)
class BaselineSweep:
    name: str
    source: str
    swept: str
    points: list[tuple[float, Row]]
    missing: list[float]
    columns: list[Column]

    @property
    def lines(self) -> list[tuple[float, Row, list[str]]]:
        def text(row: Row, column: Column) -> str:
            cell = row.scores.get(column.name)
            return (
                shown(cell.value, column.scale, is_infinite=cell.is_infinite)
                if cell
                else ""
            )

        return [
            (at, row, [text(row, column) for column in self.columns])
            for at, row in self.points
        ]

    @property
    def heads(self) -> list[str]:
        return [metric_label(column.metric) for column in self.columns]


def baseline_sweeps_of(board: Board, built_in: dict[int, str]) -> list[BaselineSweep]:
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
            BaselineSweep(
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


def baseline_sweep_chart(sweep: BaselineSweep) -> Scatter:
    scale = sweep.columns[0].scale
    drawn = [column for column in sweep.columns if column.scale == scale][
        :MAX_SWEEP_LINES
    ]

    def point(place: int, column: Column) -> Point:
        at, row = sweep.points[place]
        return Point(
            name=metric_label(column.metric),
            x=Measured(
                value=float(place), text=localize_separators(f"{sweep.swept} {at:g}")
            ),
            y=Measured.of(row.scores.get(column.name)),
        )

    return Scatter(
        title=_("%(baseline)s by %(threshold)s")
        % {"baseline": sweep.name, "threshold": sweep.swept},
        description=best_sweep_value_text(sweep),
        series=[
            PointSeries(
                name=metric_label(column.metric),
                points=[point(place, column) for place in range(len(sweep.points))],
                has_line=True,
            )
            for column in drawn
        ],
        x=Axis(
            title=sweep.swept.capitalize(),
            labels=[localize_separators(f"{at:g}") for at, _row in sweep.points],
        ),
        y=score_axis(
            metric_label(drawn[0].metric) if len(drawn) == 1 else "",
            scale,
            has_zero=True,
        ),
    )


def best_sweep_value_text(sweep: BaselineSweep) -> str:
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
        "metric": metric_label(column.metric),
        "at": localize_separators(f"{at:g}"),
        "threshold": sweep.swept,
        "value": shown(value, column.scale),
    }
