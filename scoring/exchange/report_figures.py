"""What a report says of who took part, when, how, and how sure ranks are: each as CSV, LaTeX and charts."""

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

from django.db.models import Count, Min
from django.db.models.functions import TruncDate
from django.utils.translation import gettext as _

from citeboard.core.plain_text import plain
from citeboard.teams.models import User
from scoring.board import exports
from scoring.board.charts import MAX_DRAWN, value_axis
from scoring.board.formatting import metric_label, shown
from scoring.board.standings import Board, Column, Row
from scoring.board.visibility import shows_run_counts
from scoring.figures import Axis, Bars, Dots, Figure, Measured, Point, PointSeries, Scatter, Series
from tasks.models import Submission
from tasks.models.run_cards import CARD


@dataclass(frozen=True, kw_only=True)
class ReportTable:
    """``charts`` are by the end of their name, which is empty where there is one."""

    name: str
    title: str
    heads: Sequence[str]
    lines: Sequence[Sequence[object]]
    charts: Sequence[tuple[str, Callable[[], Figure]]]

    def csv(self) -> str:
        return exports.csv_text(self.heads, *([plain(str(cell)) for cell in line] for line in self.lines))

    def latex(self) -> str:
        heads = [head.replace("_", " ").capitalize() for head in self.heads]
        cells = [[str(cell) for cell in line] for line in self.lines]
        columns = zip(*self.lines, strict=True)
        places = ["r" if all(isinstance(cell, int) for cell in column) else "l" for column in columns]
        tabular = exports.as_tabular([self.title], "".join(places), heads, cells)
        return exports.as_table(tabular, f"{self.title}.", f"report-{self.name}")


def report_tables(boards: Sequence[Board], teams: Sequence[Sequence[User]]) -> list[ReportTable]:
    """Of boards that show scores, and of each team the people who may be named; none without lines."""
    found = (_participation(teams), _days(boards), _methods(boards), _ties(boards))
    return [table for table in found if table.lines]


def _participation(teams: Sequence[Sequence[User]]) -> ReportTable:
    """A team counts once for each affiliation; who may not be named says none."""
    of_people = Counter(person.affiliation for people in teams for person in people)
    of_teams = Counter(name for people in teams for name in {person.affiliation for person in people} or {""})
    lines = [(name or "not said", number, of_people[name]) for name, number in _by_number(of_teams)]

    def chart() -> Bars:
        drawn = lines[:MAX_DRAWN]
        series = Series(name=_("teams"), values=[Measured(value=line[1]) for line in drawn])
        return Bars(
            title=_("Participation by affiliation"),
            labels=[line[0] for line in drawn],
            series=[series],
            axis=Axis(title=_("teams"), decimals=0, has_zero=True),
        )

    return ReportTable(
        name="affiliations",
        title="Participation by affiliation, as members who agreed to be named say",
        heads=("affiliation", "teams", "people"),
        lines=lines,
        charts=[("", chart)],
    )


def _by_number(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda pair: (-pair[1], not pair[0], pair[0]))


def _days(boards: Sequence[Board]) -> ReportTable:
    """Of phases whose numbers of runs are shown; teams are those that send their first run on that day."""
    phases = [board.phase.pk for board in boards if shows_run_counts(board.phase, board.audience)]
    sent = Submission.objects.filter(phase__in=phases, team__isnull=False).order_by()
    of_day = sent.annotate(day=TruncDate("submitted_at", tzinfo=dt.UTC))
    runs = dict(of_day.values_list("day").annotate(Count("pk")))
    first = of_day.values("team").annotate(first=Min("day")).values_list("first", flat=True)
    new = Counter(first)
    lines, so_far = [], [0, 0]
    for day in sorted(runs):
        so_far = [so_far[0] + runs[day], so_far[1] + new[day]]
        lines.append((day.isoformat(), runs[day], new[day], *so_far))

    def chart() -> Scatter:
        def line(name: str, place: int) -> PointSeries:
            points = [Point(name=name, x=_instant(day), y=Measured(value=day[place])) for day in lines]
            return PointSeries(name=name, points=points, has_points=False, has_line=True, is_stepped=True)

        return Scatter(
            title=_("Runs and teams by day"),
            series=[line(_("runs so far"), 3), line(_("teams with a run so far"), 4)],
            x=Axis(title=_("day, UTC"), kind="date"),
            y=Axis(decimals=0, has_zero=True),
        )

    return ReportTable(
        name="days",
        title="Runs and teams by day",
        heads=("day", "runs", "new_teams", "runs_so_far", "teams_so_far"),
        lines=lines,
        charts=[("", chart)],
    )


def _instant(line: tuple[Any, ...]) -> Measured:
    day = dt.datetime.fromisoformat(line[0]).replace(tzinfo=dt.UTC)
    return Measured(value=day.timestamp(), text=line[0])


def _methods(boards: Sequence[Board]) -> ReportTable:
    """By what run cards say in one of the words that they offer."""
    lines, charts = [], []
    for board in boards:
        groups = list(_groups(board))
        if not groups or board.ranking is None:
            continue
        for name, said, cells in groups:
            values = (_best(board.ranking, cells), median(cells))
            written = [shown(value, board.ranking.scale) for value in values]
            lines.append((*_of_board(board), CARD[name].english, said, len(cells), *written))
        charts.append((_stem(board), partial(_methods_chart, board, groups)))
    return ReportTable(
        name="methods",
        title="Scores by declared method",
        heads=("task", "phase", "rules", "declared", "as", "systems", "best", "median"),
        lines=lines,
        charts=charts,
    )


def _groups(board: Board) -> Iterator[tuple[str, str, list[float]]]:
    """Values of ranked systems by field and what it says."""
    ranked = [row for row in board.rows if row.rank is not None and board.ranking]
    for field in (field for field in CARD.values() if field.values):
        for said in field.values:
            of_said = [row for row in ranked if row.card.get(field.name) == said]
            if cells := [value for row in of_said if (value := _value(board, row)) is not None]:
                yield field.name, said, cells


def _value(board: Board, row: Row) -> float | None:
    cell = row.scores.get(board.ranking.name) if board.ranking else None
    return cell.value if cell else None


def _best(ranking: Column, values: Iterable[float]) -> float:
    return min(values) if ranking.higher_is_better is False else max(values)


def _methods_chart(board: Board, groups: Sequence[tuple[str, str, list[float]]]) -> Dots:
    ranking = board.ranking
    assert ranking is not None
    label = metric_label(ranking.metric)
    found = ((_("best"), lambda cells: _best(ranking, cells)), (_("median"), median))
    return Dots(
        title=_("%(board)s: %(metric)s by declared method") % {"board": _titled(board), "metric": label},
        labels=[f"{CARD[name].label}: {said} ({len(cells)})" for name, said, cells in groups],
        series=[
            Series(name=name, values=[Measured(value=of(cells)) for *_group, cells in groups])
            for name, of in found
        ],
        axis=value_axis(label, ranking.scale),
    )


def _ties(boards: Sequence[Board]) -> ReportTable:
    """Of boards whose rows were all compared: how many others a system is better, worse or neither than."""
    lines, charts = [], []
    for board in (board for board in boards if board.is_compared):
        ranked = [row for row in board.rows if row.rank_low is not None and row.rank_high is not None]
        for row in ranked:
            low, high = row.rank_low or 0, row.rank_high or 0
            than = (len(ranked) - high, high - low, low - 1)
            lines.append((*_of_board(board), row.system, row.display_name, board.rank_of(row), *than))
        charts.append((_stem(board), partial(_ties_chart, board, ranked)))
    return ReportTable(
        name="ties",
        title="Ties and significance",
        heads=("task", "phase", "rules", "system", "team", "rank", "better_than", "tied_with", "worse_than"),
        lines=lines,
        charts=charts,
    )


def _ties_chart(board: Board, ranked: Sequence[Row]) -> Dots:
    drawn = ranked[:MAX_DRAWN]
    ranks = [
        Measured(value=row.rank, low=row.rank_low, high=row.rank_high, text=board.rank_of(row))
        for row in drawn
    ]
    return Dots(
        title=_("%(board)s: ranks that stay open") % {"board": _titled(board)},
        labels=[f"{row.system} ({row.display_name})" for row in drawn],
        series=[Series(name=_("rank"), values=ranks)],
        axis=Axis(title=_("rank"), decimals=0),
    )


def _of_board(board: Board) -> tuple[str, str, str]:
    return str(board.phase.task), str(board.phase), board.rules or ""


def _titled(board: Board) -> str:
    return ", ".join(_of_board(board))


def _stem(board: Board) -> str:
    return f"-{board.phase.task.slug}-{board.phase.slug}-{board.rules}"
