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

from citeboard.core.plain_text import plain
from citeboard.teams.models import User
from scoring.figures import (
    Axis,
    Dots,
    Figure,
    Measured,
    Point,
    PointSeries,
    Scatter,
    Series,
)
from scoring.results.board import exports
from scoring.results.board.charts import MAX_CHART_ROWS, score_axis
from scoring.results.board.formatting import metric_label, shown
from scoring.results.board.standings import Board
from scoring.results.board.visibility import shows_run_counts
from tasks.models import Submission
from tasks.models.run_cards import CARD_FIELDS


@dataclass(frozen=True)
class ReportTable:
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
        return exports.csv_text(
            self.heads, *([plain(str(cell)) for cell in line] for line in self.lines)
        )

    def latex(self) -> str:
        heads = [head.replace("_", " ").capitalize() for head in self.heads]
        places = "".join(
            "r" if isinstance(cell, int) else "l" for cell in self.lines[0]
        )
        tabular = exports.latex_tabular(
            [self.title], places, heads, [map(str, line) for line in self.lines]
        )
        return exports.latex_table(tabular, f"{self.title}.", f"report-{self.name}")


#: For each user field in COUNTED_USER_FIELDS, the report has a table with the number of each value.
COUNTED_USER_FIELDS = {"affiliation": "affiliations", "country": "countries"}
PARTICIPATION_TITLES = {
    "affiliation": gettext_noop(
        "Participation by affiliation, as members who agreed to be named say"
    ),
    "country": gettext_noop(
        "Participation by country, as members who agreed to be named say"
    ),
}


def report_tables(
    boards: Sequence[Board], teams: Sequence[Sequence[User]], *, has_countries: bool
) -> list[ReportTable]:
    """Return all tables of the season's report that are not empty.

    The caller must check that the reader may see the scores of ``boards``. ``teams``
    must contain only users who agreed to be named in the report.
    """
    facts = [fact for fact in COUNTED_USER_FIELDS if has_countries or fact != "country"]
    found = [
        *(_participation_table(teams, fact) for fact in facts),
        _runs_by_day_table(boards),
        _scores_by_method_table(boards),
        _ties_table(boards),
    ]
    return [table for table in found if table.lines]


def _participation_table(teams: Sequence[Sequence[User]], fact: str) -> ReportTable:
    """Return a table with the number of teams for each affiliation or country, which
    counts each team once.

    The table counts teams in which nobody agreed to be named as "not said".
    """
    said = [[getattr(person, fact) for person in team] for team in teams]
    people = Counter(name for team in said for name in team)
    counts = Counter(name for team in said for name in set(team) or {""})
    in_order = sorted(counts, key=lambda name: (-counts[name], not name, name))
    lines = [(name or "not said", counts[name], people[name]) for name in in_order]
    dots = Dots(
        title=_(PARTICIPATION_TITLES[fact]),
        labels=[line[0] for line in lines[:MAX_CHART_ROWS]],
        series=[
            Series(
                name=_("teams"),
                values=[Measured(value=line[1]) for line in lines[:MAX_CHART_ROWS]],
            )
        ],
        axis=Axis(title=_("teams"), decimals=0, has_zero=True),
    )
    return ReportTable(
        COUNTED_USER_FIELDS[fact],
        PARTICIPATION_TITLES[fact],
        (fact, "teams", "people"),
        lines,
        {"": dots},
    )


def _runs_by_day_table(boards: Sequence[Board]) -> ReportTable:
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
    steps = Scatter(
        title=_("Runs and teams by day"),
        series=[
            PointSeries(
                name=name,
                points=[
                    Point(
                        name=name,
                        x=Measured(value=x, text=f"{line[0]}"),
                        y=Measured(value=line[place]),
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
    return ReportTable(
        "days", gettext_noop("Runs and teams by day"), heads, lines, {"": steps}
    )


def _scores_by_method_table(boards: Sequence[Board]) -> ReportTable:
    lines, charts = list[Sequence[Any]](), dict[str, Figure]()
    for board, ranking in ((board, board.ranking) for board in boards):
        groups = {
            (field.name, said): list[float]()
            for field in CARD_FIELDS.values()
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
            written = [shown(of(values), ranking.scale) for of in (best, median)]
            lines.append(
                (
                    *_board_cells(board),
                    CARD_FIELDS[name].english,
                    said,
                    len(values),
                    *written,
                )
            )
        series = [
            Series(
                name=label,
                values=[Measured(value=of(values)) for *_said, values in told],
            )
            for label, of in ((_("best"), best), (_("median"), median))
        ]
        label = metric_label(ranking.metric, board.phase.task.task_type)
        charts[_board_file_suffix(board)] = Dots(
            title=_("%(board)s: %(metric)s by declared method")
            % {"board": ", ".join(_board_cells(board)), "metric": label},
            labels=[
                f"{CARD_FIELDS[name].label}: {said} ({len(values)})"
                for name, said, values in told
            ],
            series=series,
            axis=score_axis(label, ranking.scale),
        )
    heads = ("task", "phase", "rules", "declared", "as", "systems", "best", "median")
    return ReportTable(
        "methods", gettext_noop("Scores by declared method"), heads, lines, charts
    )


def _ties_table(boards: Sequence[Board]) -> ReportTable:
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
                    *_board_cells(board),
                    row.system,
                    row.display_name,
                    board.rank_of(row),
                    *than,
                )
            )
        drawn = ranked[:MAX_CHART_ROWS]
        written = (
            (row.rank, low, high, board.rank_of(row)) for row, low, high in drawn
        )
        ranks = [
            Measured(value=rank, low=low, high=high, text=text)
            for rank, low, high, text in written
        ]
        charts[_board_file_suffix(board)] = Dots(
            title=_("%(board)s: ranks that stay open")
            % {"board": ", ".join(_board_cells(board))},
            labels=[f"{row.system} ({row.display_name})" for row, *_range in drawn],
            series=[Series(name=_("rank"), values=ranks)],
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
    return ReportTable(
        "ties", gettext_noop("Ties and significance"), heads, lines, charts
    )


def _board_cells(board: Board) -> tuple[str, str, str]:
    return str(board.phase.task), str(board.phase), board.rules or ""


def _board_file_suffix(board: Board) -> str:
    return f"-{board.phase.task.slug}-{board.phase.slug}-{board.rules}"
