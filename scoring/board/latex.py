"""A board as a table for a paper: LaTeX with the rules of the package booktabs, nothing else needed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from scoring.board.confirming import Confirmation, confirmation_of
from scoring.board.names import metric_label
from scoring.board.numbers import DASH, MINUS, ranks, shown
from scoring.board.outside import Outside, outside_of
from scoring.board.ranks import SIGNIFICANCE
from scoring.board.standings import Board, Cell, Column, Row
from scoring.board.table_choice import TableChoice, chosen_columns
from scoring.board.team_reported import written

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
