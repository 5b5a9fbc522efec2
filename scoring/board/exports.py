"""A board to take away: what is shown, unrounded, as CSV or JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from citeboard.core.plain_text import plain
from citeboard.core.templatetags.page import iso
from scoring.board.comparisons import SIGNIFICANCE
from scoring.board.confirming import Confirmation, confirmation_of
from scoring.board.differences import ClassTable, System, class_table, dimensions_of, metrics_of
from scoring.board.manual_scores import Outside, outside_of, written
from scoring.board.names import dimension_label, metric_label
from scoring.board.numbers import DASH, MINUS, ranks, shown
from scoring.board.overall import Overall, OverallRow
from scoring.board.query import TableChoice, chosen_columns
from scoring.board.standings import Board, Cell, Column, Row
from tasks.models import Season
from tasks.models.run_cards import CARD
from tasks.submissions.run_card import EVERY

_COMMON = ("rank", "rank_low", "rank_high", "group", "team", "system", "kind", "submission", "sent")


#: By submission and name, what teams report themselves.
TeamFigures = Mapping[int, Mapping[str, float]]


def as_csv(board: Board, rows: Sequence[Row], of_teams: TeamFigures) -> str:
    """One line a row; each metric with the ends of its interval; what teams say of their runs stands last."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    names = [name for column in board.columns for name in _named(column)]
    reported = [measure for measure in EVERY if any(measure in own for own in of_teams.values())]
    said = [name for name in CARD if any(name in row.card for row in rows)]
    outside = outside_of(board, rows)
    heads = [*(f"team_reported_{figure}" for figure in reported), *(f"card_{name}" for name in said)]
    heads += [str(plain(f"outside_{measure.name}")) for measure in outside.measures]
    with_organisers = ["has_organiser"] if any(row.has_organiser for row in rows) else []
    with_priority = ["priority"] if board.goes_by_priority else []
    confirmation = confirmation_of(board)
    said_of_all = {"results": confirmation.words} if confirmation else {}
    heads += [*with_organisers, *with_priority, *said_of_all]
    writer.writerow([*_COMMON, *names, "rules", "gold", "ranked_by", *heads])
    gold = f"v{board.gold.number}" if board.gold else ""
    for row in rows:
        known = described(row)
        common = [plain(known[name]) for name in _COMMON]
        own = of_teams.get(row.submission, {})
        figures = [own.get(figure, "") for figure in reported]
        card = [plain(row.card.get(name, "")) for name in said]
        numbers = _numbers(row, board.columns)
        measured = [outside.value(measure, row.submission) for measure in outside.measures]
        card += ["" if value is None else value for value in measured]
        card += ["yes" if row.has_organiser else "" for _ in with_organisers]
        card += [row.priority or "" for _ in with_priority]
        card += said_of_all.values()
        writer.writerow([*common, *numbers, board.rules, gold, board.by, *figures, *card])
    return out.getvalue()


def as_json(board: Board, rows: Sequence[Row], of_teams: TeamFigures) -> str:
    phase = board.phase
    confirmation = confirmation_of(board)
    outside = outside_of(board, rows)
    content: dict[str, Any] = {
        "season": phase.task.season.slug,
        "task": phase.task.slug,
        "phase": phase.slug,
        "version": phase.version,
        "rules": board.rules,
        **({"frozen_at": board.frozen_at.isoformat()} if board.frozen_at else {}),
        **({"results": confirmation.as_dict()} if confirmation else {}),
        "gold": {"number": board.gold.number, "sha256": board.gold.digest} if board.gold else None,
        "ranked_by": board.by,
        "compared": board.is_compared,
        "columns": [
            {
                "name": column.name,
                "metric": column.metric,
                "key": column.key,
                "scale": column.scale or 1,
                "higher_is_better": column.higher_is_better,
            }
            for column in board.columns
        ],
        "rows": [
            {
                **described(row),
                # Left out where it is not so, so that a board that is kept stays the same to the byte.
                **({"has_organiser": True} if row.has_organiser else {}),
                **({"priority": row.priority} if board.goes_by_priority and row.priority else {}),
                "scores": _scores(row),
                "team_reported": of_teams.get(row.submission, {}),
                **({"card": row.card} if row.card else {}),
                **({"outside": measured} if (measured := outside.of(row.submission)) else {}),
            }
            for row in rows
        ],
    }
    if outside.measures:
        content["outside"] = [
            {
                "name": measure.name,
                "higher_is_better": measure.higher_is_better,
                "source": measure.source,
                "signature": measure.signature,
            }
            for measure in outside.measures
        ]
    return json.dumps(content, ensure_ascii=False, indent=1)


def described(row: Row) -> dict[str, Any]:
    return {
        "rank": row.rank,
        "rank_low": row.rank_low,
        "rank_high": row.rank_high,
        "group": row.group,
        "team": row.team,
        "system": row.system,
        "kind": row.kind,
        "submission": row.submission,
        "sent": iso(row.submitted_at),
    }


def _named(column: Column) -> Iterator[str]:
    yield from (column.name, f"{column.name}_low", f"{column.name}_high")


def _numbers(row: Row, columns: Sequence[Column]) -> Iterator[object]:
    for column in columns:
        cell = row.scores.get(column.name)
        if cell is None:
            yield from ("", "", "")
        else:
            value = "inf" if cell.is_infinite else cell.value
            yield from ("" if number is None else number for number in (value, cell.low, cell.high))


def _scores(row: Row) -> dict[str, Any]:
    return {
        name: {"value": cell.value, "low": cell.low, "high": cell.high}
        | ({"infinite": True} if cell.is_infinite else {})
        for name, cell in row.scores.items()
    }


#: What LaTeX would take as a command, and what it sets instead.
ESCAPED = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        MINUS: "$-$",
        DASH: "--",
        "∞": r"$\infty$",
        "†": r"$^{\dagger}$",
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    }
)

DAGGER = r"$^{\dagger}$"
TIED = "; † not significantly different from the first."
ALL = TableChoice()


class Markup(str):
    """A cell that is LaTeX already."""

    __slots__ = ()


def as_latex(board: Board, rows: Sequence[Row], choice: TableChoice = ALL) -> str:
    """The rows as they are shown, rounded; the ranking number has its interval. Column keys are in comments.

    The best number of each column is bold, what is no team's stands in italics, and a dagger marks systems
    that the paired tests leave in one group with the first. What was measured elsewhere stands last and is
    marked so. The comments say whether results are official, and the caption that they are preliminary, where
    it is ours. Raises UnknownColumn.
    """
    columns = chosen_columns(board, choice.columns)
    best = {column.name: _best(rows, column) for column in columns}
    said = f"{board.phase.task.season}: {board.phase.task}, {board.phase}"
    tied = _tied_with_first(board) if choice.has_marks and board.ranking in columns else set()
    confirmation = confirmation_of(board)
    about = f"{said}. {preliminary(confirmation)}Best in bold; baselines in italics{TIED if tied else '.'}"
    # Columns of one's choice are the board's own.
    outside = Outside(measures=[], values={}) if choice.columns else outside_of(board, rows)
    measures = outside.measures
    tabular = as_tabular(
        [
            said,
            *([confirmation.sentence] if confirmation else []),
            *(column.key for column in columns),
            *(measure.signature for measure in measures),
        ],
        f"rll{'r' * (len(columns) + len(measures))}",
        ["Rank", "System", "Team", *map(_head, columns), *(f"{measure} (outside)" for measure in measures)],
        [
            [
                _rank(board, row),
                *_names(row),
                *_cells(row, columns, best, tied, choice),
                *(written(outside.value(measure, row.submission)) for measure in measures),
            ]
            for row in rows
        ],
    )
    phase = board.phase
    return as_table(
        tabular, choice.caption or about, f"{phase.task.season.slug}-{phase.task.slug}-{phase.slug}"
    )


def preliminary(confirmation: Confirmation | None) -> str:
    """The sentence of a caption; nothing of official results, and where teams are not asked."""
    return f"{confirmation.sentence}. " if confirmation and confirmation.is_preliminary else ""


def as_table(tabular: str, caption: str, label: str) -> str:
    """It floats, with its caption; ``label`` is for references to it."""
    about = f"\\caption{{{set_in_latex(caption)}}}\n\\label{{tab:{label}}}\n"
    return f"\\begin{{table}}\n\\centering\n{about}{tabular}\\end{{table}}\n"


def as_tabular(
    comments: Sequence[str], places: str, heads: Sequence[str], rows: Sequence[Sequence[str]]
) -> str:
    """A table after its comments; ``places`` says where each column stands, `rll`."""
    lines = [
        *(f"% {_plain(comment)}" for comment in comments),
        f"\\begin{{tabular}}{{{places}}}",
        r"\toprule",
        _line(heads),
        r"\midrule",
        *map(_line, rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "".join(f"{line}\n" for line in lines)


def set_in_latex(text: str) -> str:
    """Text of people's choosing as LaTeX prints it, on one line."""
    return _plain(text).translate(ESCAPED)


def _plain(text: str) -> str:
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


def _line(cells: Sequence[str]) -> str:
    set_cells = [cell if isinstance(cell, Markup) else set_in_latex(cell) for cell in cells]
    line = " & ".join(set_cells)
    # Behind `\\` and `\midrule` LaTeX would take these for an argument.
    return f"{'{}' if line.startswith(('[', '*')) else ''}{line} \\\\"


def _head(column: Column) -> str:
    label = metric_label(column.metric)
    return label if column.name == column.metric else f"{label} ({column.name})"


def _rank(board: Board, row: Row) -> str:
    return ranks(row.rank_low, row.rank_high) if board.by == SIGNIFICANCE else str(row.rank or "")


def _tied_with_first(board: Board) -> set[int]:
    """The submissions that the paired tests cannot tell from that of the first row."""
    ranked = [row for row in board.rows if row.group == 1] if board.is_compared else []
    return {row.submission for row in ranked[1:]}


def _names(row: Row) -> list[str]:
    names = [row.system, row.marked_name]
    return names if row.competes else [marked("textit", name) for name in names]


def _cells(
    row: Row,
    columns: Sequence[Column],
    best: Mapping[str, float | None],
    tied: Collection[int],
    choice: TableChoice,
) -> list[str]:
    return [
        _number(row, column, best[column.name], DAGGER if row.submission in tied else "", choice)
        for column in columns
    ]


def _number(row: Row, column: Column, best: float | None, mark: str, choice: TableChoice) -> str:
    cell = row.scores.get(column.name)
    if cell is None:
        return ""
    value = shown(cell.value, column.scale, is_infinite=cell.is_infinite)
    is_best = row.competes and cell.value is not None and cell.value == best
    printed = marked("textbf", value) if is_best else Markup(set_in_latex(value))
    if not column.is_ranking:
        return printed
    if not choice.has_intervals or not _has_ends(cell):
        return Markup(f"{printed}{mark}")
    return Markup(f"{printed}{mark} [{_end(cell.low, column)}, {_end(cell.high, column)}]")


def _end(value: float | None, column: Column) -> str:
    return set_in_latex(shown(value, column.scale))


def _has_ends(cell: Cell) -> bool:
    return cell.low is not None and cell.high is not None


def _best(rows: Sequence[Row], column: Column) -> float | None:
    """Of what teams sent; None where no way is up."""
    values = [
        cell.value
        for row in rows
        if row.competes and (cell := row.scores.get(column.name)) and cell.value is not None
    ]
    if column.higher_is_better is None or not values:
        return None
    return max(values) if column.higher_is_better else min(values)


def marked(command: str, text: str) -> Markup:
    return Markup(f"\\{command}{{{set_in_latex(text)}}}")


STAR = r"$^{\ast}$"
LEADING = "; * significantly better than every other system."
_COLUMNS = (
    "dimension", "class", "support", "submission", "system", "team", "metric", "value", "low", "high",
    "rules", "gold",
)  # fmt: skip


def classes_csv(board: Board) -> str:
    """A line for each class, metric and system of the board, unrounded."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(_COLUMNS)
    gold = f"v{board.gold.number}" if board.gold else ""
    for dimension in dimensions_of(board):
        for metric in metrics_of(board, dimension):
            table = class_table(board, board.rows, dimension, metric)
            writer.writerows([*line, board.rules, gold] for line in _lines(table, board.rows))
    return out.getvalue()


def _lines(table: ClassTable, rows: Sequence[Row]) -> Iterator[list[object]]:
    for name in table.classes:
        for row in rows:
            key = (name.label, row.evaluation)
            if key not in table.values:
                continue
            value = "inf" if key in table.infinite else table.values[key]
            system = [row.submission, plain(row.system), plain(row.team or "")]
            number = ["" if value is None else value, *table.intervals.get(key, ("", ""))]
            yield [table.dimension, plain(name.label), name.support, *system, table.metric, *number]


def classes_json(board: Board) -> str:
    """The same by dimension and metric: each class with the number of each system."""
    tables = [
        class_table(board, board.rows, dimension, metric)
        for dimension in dimensions_of(board)
        for metric in metrics_of(board, dimension)
    ]
    phase = board.phase
    content = {
        "season": phase.task.season.slug,
        "task": phase.task.slug,
        "phase": phase.slug,
        "version": phase.version,
        "rules": board.rules,
        "gold": {"number": board.gold.number, "sha256": board.gold.digest} if board.gold else None,
        "systems": [
            {"submission": row.submission, "system": row.system, "team": row.team, "kind": row.kind}
            for row in board.rows
        ],
        "tables": [_as_values(table, board.rows) for table in tables],
    }
    return json.dumps(content, ensure_ascii=False, indent=1)


def _as_values(table: ClassTable, rows: Sequence[Row]) -> dict[str, Any]:
    return {
        "dimension": table.dimension,
        "metric": table.metric,
        "scale": table.scale or 1,
        "higher_is_better": table.higher_is_better,
        "classes": [
            {
                "class": name.label,
                "support": name.support,
                "scores": [
                    _as_value(table, name.label, row)
                    for row in rows
                    if (name.label, row.evaluation) in table.values
                ],
            }
            for name in table.classes
        ],
    }


def _as_value(table: ClassTable, label: str, row: Row) -> dict[str, Any]:
    low, high = table.intervals.get((label, row.evaluation), (None, None))
    found = {"submission": row.submission, "value": table.value(label, row), "low": low, "high": high}
    return found | ({"infinite": True} if (label, row.evaluation) in table.infinite else {})


def classes_latex(
    board: Board, table: ClassTable, leading: Mapping[str, int], choice: TableChoice = ALL
) -> str:
    """A table as the page shows it, each number with its interval where that is known.

    The best of each class is bold, and marked where it is significantly better than every other system of the
    board: ``leading`` has the evaluation of that one by class. The names of baselines are in italics.
    """
    phase = board.phase
    about = f"{metric_label(table.metric)} by {dimension_label(table.dimension)}, rules {board.rules}"
    said = f"{phase.task.season}: {phase.task}, {phase}; {about}"
    marks = leading if choice.has_marks else {}
    own = {row.evaluation for row in table.systems}
    is_marked = any(marks.get(name.label) in own for name in table.classes)
    confirmation = confirmation_of(board)
    comments = [said, *([confirmation.sentence] if confirmation else [])]
    marking = f"Best in bold; baselines in italics{LEADING if is_marked else '.'}"
    caption = choice.caption or f"{said}. {preliminary(confirmation)}{marking}"
    heads = [dimension_label(table.dimension).capitalize(), "Support", *map(_class_head, table.systems)]
    lines = [
        [
            name.label,
            str(name.support),
            *_class_cells(table, name.label, marks, has_ends=choice.has_intervals),
        ]
        for name in table.classes
    ]
    label = f"{phase.task.season.slug}-{phase.task.slug}-{phase.slug}-{table.dimension}-{table.metric}"
    return as_table(as_tabular(comments, f"lr{'r' * len(table.systems)}", heads, lines), caption, label)


def _class_head(row: System) -> str:
    is_team = isinstance(row, Row) and row.competes
    return row.system if is_team else marked("textit", row.system)


def _class_cells(table: ClassTable, label: str, marks: Mapping[str, int], *, has_ends: bool) -> Iterator[str]:
    best = {row.evaluation for row in table.best(label)}
    for row in table.systems:
        key = (label, row.evaluation)
        if key not in table.values:
            yield ""
            continue
        value = table.text(label, row)
        printed = marked("textbf", value) if row.evaluation in best else Markup(set_in_latex(value))
        mark = STAR if marks.get(label) == row.evaluation else ""
        ends = ""
        if has_ends and key in table.intervals:
            low, high = (set_in_latex(shown(end, table.scale)) for end in table.intervals[key])
            ends = f" [{low}, {high}]"
        yield Markup(f"{printed}{mark}{ends}")


def overall_values(table: Overall) -> dict[str, Any]:
    """What the API gives."""
    return {
        "boards": [
            {
                "phase": board.phase.pk,
                "task": board.phase.task.slug,
                "title": f"{board.phase.task}, {board.phase}",
                "teams": board.teams,
            }
            for board in table.boards
        ],
        "rows": [_values(row) for row in table.rows],
    }


def _values(row: OverallRow) -> dict[str, Any]:
    return {
        "rank": row.rank,
        "team": row.slug,
        "team_name": row.team,
        "has_organiser": row.has_organiser,
        "boards": len(row.places),
        "mean_rank": row.mean_rank,
        "borda": row.borda,
        "borda_low": row.borda_low,
        "borda_high": row.borda_high,
        "places": [
            {"phase": phase, "rank": place.rank, "rank_low": place.low, "rank_high": place.high}
            for phase, place in row.places.items()
        ],
    }


def overall_json(season: Season, table: Overall) -> str:
    return json.dumps({"season": season.slug, **overall_values(table)}, ensure_ascii=False, indent=1)


def overall_csv(season: Season, table: Overall) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    boards = [f"{board.phase.task.slug}/{board.phase.slug}" for board in table.boards]
    marked = ["has_organiser"] if any(row.has_organiser for row in table.rows) else []
    writer.writerow(
        ["rank", "team", "mean_rank", "borda", "borda_low", "borda_high", "boards", *boards, *marked]
    )
    for row in table.rows:
        marks = ["yes" if row.has_organiser else "" for _ in marked]
        places = [
            row.places[board.phase.pk].rank if board.phase.pk in row.places else "" for board in table.boards
        ]
        numbers = [row.mean_rank, row.borda, row.borda_low, row.borda_high, len(row.places)]
        writer.writerow([row.rank, plain(row.team), *numbers, *places, *marks])
    return out.getvalue()


def overall_latex(season: Season, table: Overall) -> str:
    heads = ["Rank", "Team", "Mean rank", "Borda", *(str(board.phase.task) for board in table.boards)]
    lines = [
        [
            str(row.rank),
            row.marked_name,
            f"{row.mean_rank:.2f}",
            f"{row.borda} [{row.borda_low}, {row.borda_high}]",
            *(_place(row, board.phase.pk) for board in table.boards),
        ]
        for row in table.rows
    ]
    return as_tabular([f"{season}: all tasks together"], f"rlrr{'r' * len(table.boards)}", heads, lines)


def _place(row: OverallRow, phase: int) -> str:
    place = row.places.get(phase)
    return ranks(place.low, place.high) if place else ""
