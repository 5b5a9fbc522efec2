"""Tables of a season's participants, dates, methods and ranks, as CSV, LaTeX and
charts.
"""

import datetime as dt
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import median
from typing import Any

from django.db.models import Count, Min
from django.db.models.functions import TruncDate
from django.utils.translation import gettext as _, gettext_noop

from citeboard.core.plain_text import format_spreadsheet_cell
from citeboard.teams.models import User
from scoring.figures import (
    Axis,
    DotPlot,
    Figure,
    FigureValue,
    PointSeries,
    ScatterPlot,
    ScatterPoint,
    ValueSeries,
)
from scoring.results.board import exports
from scoring.results.board.charts import MAX_CHART_ROWS, build_score_axis
from scoring.results.board.formatting import display_name_of_metric, format_score
from scoring.results.board.standings import Board
from scoring.results.board.visibility import shows_run_counts
from tasks.models import Submission
from tasks.models.run_cards import RUN_CARD_FIELDS


@dataclass(frozen=True)
class SeasonReportTable:
    """A table of the report.

    The CSV and LaTeX tables are in English. The keys of ``charts`` are suffixes of the
    charts' file names, or an empty text for a table with only one chart.
    """

    name: str
    title: str
    heads: Sequence[str]
    lines: Sequence[Sequence[Any]]
    charts: Mapping[str, Figure]

    def csv(self) -> str:
        return exports.format_as_csv(
            self.heads,
            *(
                [format_spreadsheet_cell(str(cell)) for cell in line]
                for line in self.lines
            ),
        )

    def as_latex(self) -> str:
        heads = [head.replace("_", " ").capitalize() for head in self.heads]
        places = "".join(
            "r" if isinstance(cell, int) else "l" for cell in self.lines[0]
        )
        tabular = exports.format_latex_tabular(
            [self.title], places, heads, [map(str, line) for line in self.lines]
        )
        return exports.format_latex_table(
            tabular, f"{self.title}.", f"report-{self.name}"
        )


#: For each user field in TABLE_NAMES_BY_COUNTED_USER_FIELD, the report has a table that counts each value.
TABLE_NAMES_BY_COUNTED_USER_FIELD = {
    "affiliation": "affiliations",
    "country": "countries",
}
PARTICIPATION_TABLE_TITLES = {
    "affiliation": gettext_noop(
        "Participation by affiliation, as members who agreed to be named say"
    ),
    "country": gettext_noop(
        "Participation by country, as members who agreed to be named say"
    ),
}


def build_season_report_tables(
    boards: Sequence[Board], teams: Sequence[Sequence[User]], *, has_countries: bool
) -> list[SeasonReportTable]:
    """Return all tables of the season's report that are not empty.

    The caller must check that the reader may see the scores of ``boards``. ``teams``
    must contain only users who agreed to be named in the report.
    """
    facts = [
        fact
        for fact in TABLE_NAMES_BY_COUNTED_USER_FIELD
        if has_countries or fact != "country"
    ]
    found = [
        *(_build_participation_table(teams, fact) for fact in facts),
        _build_runs_by_day_table(boards),
        _build_scores_by_method_table(boards),
        _build_ties_table(boards),
    ]
    return [table for table in found if table.lines]


def _build_participation_table(
    teams: Sequence[Sequence[User]], fact: str
) -> SeasonReportTable:
    """Return a table with the number of teams for each affiliation or country, which
    counts each team once.

    The table counts teams in which nobody agreed to be named as "not said".
    """
    said = [[getattr(person, fact) for person in team] for team in teams]
    people = Counter(name for team in said for name in team)
    counts = Counter(name for team in said for name in set(team) or {""})
    in_order = sorted(counts, key=lambda name: (-counts[name], not name, name))
    lines = [(name or "not said", counts[name], people[name]) for name in in_order]
    dots = DotPlot(
        title=_(PARTICIPATION_TABLE_TITLES[fact]),
        labels=[line[0] for line in lines[:MAX_CHART_ROWS]],
        series=[
            ValueSeries(
                name=_("teams"),
                values=[FigureValue(value=line[1]) for line in lines[:MAX_CHART_ROWS]],
            )
        ],
        axis=Axis(title=_("teams"), decimals=0, has_zero=True),
    )
    return SeasonReportTable(
        TABLE_NAMES_BY_COUNTED_USER_FIELD[fact],
        PARTICIPATION_TABLE_TITLES[fact],
        (fact, "teams", "people"),
        lines,
        {"": dots},
    )


def _build_runs_by_day_table(boards: Sequence[Board]) -> SeasonReportTable:
    phases = [
        board.phase.pk
        for board in boards
        if shows_run_counts(board.phase, board.audience)
    ]
    sent = Submission.objects.filter(phase__in=phases, team__isnull=False).order_by()
    of_day = sent.annotate(day=TruncDate("submitted_at", tzinfo=dt.UTC))
    runs = dict(of_day.values_list("day").annotate(Count("pk")))
    new = Counter(
        of_day.values("team").annotate(first=Min("day")).values_list("first", flat=True)
    )
    days = sorted(runs)
    so_far = zip(
        accumulate(map(runs.get, days)),
        accumulate(new[day] for day in days),
        strict=True,
    )
    lines = [
        (day, runs[day], new[day], *sums)
        for day, sums in zip(days, so_far, strict=True)
    ]
    at = [dt.datetime.combine(day, dt.time(), dt.UTC).timestamp() for day in days]
    steps = ScatterPlot(
        title=_("Runs and teams by day"),
        series=[
            PointSeries(
                name=name,
                points=[
                    ScatterPoint(
                        name=name,
                        x=FigureValue(value=x, text=f"{line[0]}"),
                        y=FigureValue(value=line[place]),
                    )
                    for x, line in zip(at, lines, strict=True)
                ],
                has_line=True,
                is_stepped=True,
            )
            for name, place in (
                (_("runs so far"), 3),
                (_("teams with a run so far"), 4),
            )
        ],
        x=Axis(title=_("day, UTC"), kind="date"),
        y=Axis(decimals=0, has_zero=True),
    )
    heads = ("day", "runs", "new_teams", "runs_so_far", "teams_so_far")
    return SeasonReportTable(
        "days", gettext_noop("Runs and teams by day"), heads, lines, {"": steps}
    )


def _build_scores_by_method_table(boards: Sequence[Board]) -> SeasonReportTable:
    lines, charts = list[Sequence[Any]](), dict[str, Figure]()
    for board, ranking in ((board, board.ranking) for board in boards):
        groups = {
            (field.name, said): list[float]()
            for field in RUN_CARD_FIELDS.values()
            for said in field.values
        }
        for row in board.rows:
            cell = (
                row.scores.get(ranking.name)
                if ranking and row.rank is not None
                else None
            )
            if cell is not None and cell.value is not None:
                for key in groups.keys() & set(row.card.items()):
                    groups[key].append(cell.value)
        told = [(*key, values) for key, values in groups.items() if values]
        if ranking is None or not told:
            continue
        best = min if ranking.higher_is_better is False else max
        for name, said, values in told:
            written = [format_score(of(values), ranking.scale) for of in (best, median)]
            lines.append(
                (
                    *_build_board_cells(board),
                    RUN_CARD_FIELDS[name].english,
                    said,
                    len(values),
                    *written,
                )
            )
        series = [
            ValueSeries(
                name=label,
                values=[FigureValue(value=of(values)) for *_said, values in told],
            )
            for label, of in ((_("best"), best), (_("median"), median))
        ]
        label = display_name_of_metric(ranking.metric, board.phase.task.task_type)
        charts[_make_board_file_suffix(board)] = DotPlot(
            title=_("%(board)s: %(metric)s by declared method")
            % {"board": ", ".join(_build_board_cells(board)), "metric": label},
            labels=[
                f"{RUN_CARD_FIELDS[name].label}: {said} ({len(values)})"
                for name, said, values in told
            ],
            series=series,
            axis=build_score_axis(label, ranking.scale),
        )
    heads = ("task", "phase", "rules", "declared", "as", "systems", "best", "median")
    return SeasonReportTable(
        "methods", gettext_noop("Scores by declared method"), heads, lines, charts
    )


def _build_ties_table(boards: Sequence[Board]) -> SeasonReportTable:
    """Return a table with the numbers of significantly better, tied and significantly
    worse systems for each system. The table includes only boards on which all pairs of
    systems were compared.
    """
    lines, charts = list[Sequence[Any]](), dict[str, Figure]()
    for board in (board for board in boards if board.is_compared):
        ranked = [
            (row, row.rank_low, row.rank_high)
            for row in board.rows
            if row.rank_low and row.rank_high
        ]
        for row, low, high in ranked:
            than = (len(ranked) - high, high - low, low - 1)
            lines.append(
                (
                    *_build_board_cells(board),
                    row.system,
                    row.display_name,
                    board.format_rank_of_row(row),
                    *than,
                )
            )
        drawn = ranked[:MAX_CHART_ROWS]
        written = (
            (row.rank, low, high, board.format_rank_of_row(row))
            for row, low, high in drawn
        )
        ranks = [
            FigureValue(value=rank, low=low, high=high, text=text)
            for rank, low, high, text in written
        ]
        charts[_make_board_file_suffix(board)] = DotPlot(
            title=_("%(board)s: ranks that stay open")
            % {"board": ", ".join(_build_board_cells(board))},
            labels=[f"{row.system} ({row.display_name})" for row, *_range in drawn],
            series=[ValueSeries(name=_("rank"), values=ranks)],
            axis=Axis(title=_("rank"), decimals=0),
        )
    heads = (
        "task",
        "phase",
        "rules",
        "system",
        "team",
        "rank",
        "better_than",
        "tied_with",
        "worse_than",
    )
    return SeasonReportTable(
        "ties", gettext_noop("Ties and significance"), heads, lines, charts
    )


def _build_board_cells(board: Board) -> tuple[str, str, str]:
    return str(board.phase.task), str(board.phase), board.rules or ""


def _make_board_file_suffix(board: Board) -> str:
    return f"-{board.phase.task.slug}-{board.phase.slug}-{board.rules}"
