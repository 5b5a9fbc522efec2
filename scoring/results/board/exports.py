"""Export boards, tables of scores by class, and season results as CSV and JSON with
unrounded values, and as LaTeX.
"""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from citeboard.core.plain_text import format_spreadsheet_cell
from citeboard.core.templatetags.page import format_iso_time
from scoring.results.board import confirming, public_results, query
from scoring.results.board.differences import (
    ScoresByClassTable,
    SystemWithEvaluation,
    build_scores_by_class_table,
    list_classes_by_dimension,
    list_metrics_with_class_values,
)
from scoring.results.board.formatting import (
    EN_DASH,
    MINUS_SIGN,
    display_name_of_dimension,
    display_name_of_metric,
    format_rank_range,
    format_score,
)
from scoring.results.board.manual_scores import (
    ManualScores,
    format_number,
    load_manual_scores,
)
from scoring.results.board.public_results import ABSENCES_COUNT_LAST, ABSENCES_LEFT_OUT
from scoring.results.board.standings import Board, BoardRow, expand_rows_to_runs
from scoring.results.board.verdict import BoardVerdict, RankedSystem
from tasks.models import Season, run_cards
from tasks.submissions.run_card import TEAM_MEASURES_BY_NAME

_BOARD_CSV_COLUMNS = (
    "rank",
    "ranks",
    "rank_low",
    "rank_high",
    "group",
    "team",
    "system",
    "kind",
    "submission",
    "sent",
)
_CLASS_CSV_COLUMNS = (
    "dimension",
    "class",
    "support",
    "submission",
    "system",
    "team",
    "metric",
    "value",
    "low",
    "high",
    "rules",
    "gold",
)
#: LATEX_ESCAPES maps each special character of LaTeX to an escape sequence.
LATEX_ESCAPES = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        MINUS_SIGN: "$-$",
        EN_DASH: "--",
        "∞": r"$\infty$",
        "†": r"$^{\dagger}$",
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    }
)
_OVERALL_RANKING_SHARE_COLUMNS = (
    "share",
    "share_low",
    "share_high",
    "mean_rank",
    "borda",
    "borda_low",
    "borda_high",
)
LATEX_DAGGER, LATEX_STAR = r"$^{\dagger}$", r"$^{\ast}$"
TIED_MARK_NOTE = "; † may be first as well."
LEADING_MARK_NOTE = "; * significantly better than every other system."
DEFAULT_LATEX_TABLE_QUERY = query.LatexTableQuery()

#: TeamFiguresByRun maps a submission and the name of a measure to the figure of the team.
TeamFiguresByRun = Mapping[int, Mapping[str, float]]


class LatexMarkup(str):
    __slots__ = ()


def format_as_csv(*lines: Iterable[object]) -> str:
    """Return the lines as CSV with the line endings of RFC 4180, where None becomes an
    empty cell.
    """
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerows(lines)
    return out.getvalue()


def format_as_json(content: object) -> str:
    return json.dumps(content, ensure_ascii=False, indent=1)


def _season_task_and_phase_slugs(board: Board) -> tuple[str, str, str]:
    return board.phase.task.season.slug, board.phase.task.slug, board.phase.slug


def _board_identifiers_as_json_values(board: Board) -> dict[str, Any]:
    season, task, phase = _season_task_and_phase_slugs(board)
    return {
        "season": season,
        "task": task,
        "phase": phase,
        "version": board.version,
        "rules": board.rules,
    }


def _gold_version_as_json_values(board: Board) -> dict[str, Any] | None:
    return (
        {"number": board.gold.number, "sha256": board.gold.digest}
        if board.gold
        else None
    )


def row_as_json_values(board: Board, row: BoardRow) -> dict[str, Any]:
    """Return a row of the board as JSON values for export. ``ranks`` is the text that
    the board displays, such as `2–4`. ``group``, which version 0.3.0 introduced, is the
    best possible rank.
    """
    return {
        "rank": row.rank,
        "ranks": board.format_rank_of_row(row),
        "rank_low": row.rank_low,
        "rank_high": row.rank_high,
        "group": row.rank_low,
        "team": row.team,
        "system": row.system,
        "kind": row.kind,
        "submission": row.submission,
        "sent": format_iso_time(row.submitted_at),
    }


def seed_mean_as_json_values(
    row: BoardRow, of_teams: TeamFiguresByRun
) -> dict[str, Any]:
    """Return the additional JSON fields of a row that is a mean over runs, or no fields
    for a row with one run.
    """
    best = {"best_of": row.best_of} if row.best_of > 1 else {}
    if not row.runs:
        return best
    runs = [
        {
            "submission": run.submission,
            "system": run.system,
            "number": run.number,
            "sent": format_iso_time(run.submitted_at),
            "scores": {name: cell.as_dict() for name, cell in run.scores.items()},
            "team_reported": of_teams.get(run.submission, {}),
            "card": run.card,
        }
        for run in row.runs
    ]
    return {**best, "runs": runs}


def verdict_as_json_values(verdict: BoardVerdict | None) -> dict[str, Any] | None:
    if verdict is None:
        return None

    def system_as_json_values(row: RankedSystem) -> dict[str, Any]:
        return {"submission": row.submission, "system": row.system, "p": row.p}

    return {
        "leader": system_as_json_values(verdict.leader) if verdict.leader else None,
        "equal": [system_as_json_values(row) for row in verdict.leaders[1:]],
        "tied": [system_as_json_values(row) for row in verdict.tied],
        "behind": [system_as_json_values(row) for row in verdict.behind],
        "test": verdict.test,
        "untested": verdict.untested and verdict.untested.value,
        "unit": verdict.unit,
        "units": verdict.units,
        "p": verdict.p,
        "words": verdict.text,
    }


def board_as_csv(
    board: Board, rows: Sequence[BoardRow], of_teams: TeamFiguresByRun
) -> str:
    heads, lines = build_csv_heads_and_rows(board, rows, of_teams)
    return format_as_csv(heads, *lines)


def build_csv_heads_and_rows(
    board: Board, rows: Sequence[BoardRow], of_teams: TeamFiguresByRun
) -> tuple[list[object], Iterator[Iterator[object]]]:
    reported = [
        measure
        for measure in TEAM_MEASURES_BY_NAME
        if any(measure in figures for figures in of_teams.values())
    ]
    card_fields = [
        name
        for name in run_cards.RUN_CARD_FIELDS
        if any(name in row.card for row in expand_rows_to_runs(rows))
    ]
    entered = load_manual_scores(board, rows)
    confirmation = confirming.compute_confirmation_of_board(board)
    has_organisers = any(row.has_organiser for row in rows)
    has_means = any(row.runs for row in rows)
    names = [column.name for column in board.columns]
    heads: list[object] = [
        *_BOARD_CSV_COLUMNS,
        *(head for name in names for head in (name, f"{name}_low", f"{name}_high")),
        "rules",
        "gold",
        "ranked_by",
        *(f"team_reported_{figure}" for figure in reported),
        *(f"card_{name}" for name in card_fields),
        *(
            format_spreadsheet_cell(f"outside_{measure.name}")
            for measure in entered.measures
        ),
        *(["has_organiser"] if has_organisers else []),
        *(["priority"] if board.selects_runs_by_priority else []),
        *(["results"] if confirmation else []),
        *(["mean_of", "seed_of", "best_of"] if has_means else []),
    ]

    def build_csv_row(row: BoardRow, seed_of: str = "") -> Iterator[object]:
        facts = row_as_json_values(board, row)
        yield from (format_spreadsheet_cell(facts[name]) for name in _BOARD_CSV_COLUMNS)
        for column in board.columns:
            cell = row.scores.get(column.name)
            yield from (
                (cell.word or cell.value, cell.low, cell.high) if cell else ("",) * 3
            )
        yield from (
            board.rules,
            f"v{board.gold.number}" if board.gold else "",
            board.by,
        )
        own = {} if row.runs else of_teams.get(row.submission, {})
        yield from (own.get(figure, "") for figure in reported)
        yield from (
            format_spreadsheet_cell(row.card.get(name, "")) for name in card_fields
        )
        yield from (
            "" if row.runs else entered.value(measure, row.submission)
            for measure in entered.measures
        )
        if has_organisers:
            yield "yes" if row.has_organiser else ""
        if board.selects_runs_by_priority:
            yield row.priority or ""
        if confirmation:
            yield confirmation.untranslated_state_text
        if has_means:
            yield from (
                len(row.runs) or "",
                format_spreadsheet_cell(seed_of),
                row.best_of or "",
            )

    def iterate_csv_rows() -> Iterator[Iterator[object]]:
        for row in rows:
            yield build_csv_row(row)
            for run in row.runs:
                yield build_csv_row(run, seed_of=row.system)

    return heads, iterate_csv_rows()


def board_as_json(
    board: Board,
    rows: Sequence[BoardRow],
    of_teams: TeamFiguresByRun,
    *,
    has_verdict: bool = True,
) -> str:
    """Return the board as a JSON text with unrounded scores. Snapshots of boards omit
    the verdict, so that the digest of a board stays the same across versions.
    """
    confirmation = confirming.compute_confirmation_of_board(board)
    entered = load_manual_scores(board, rows)
    content: dict[str, Any] = {
        **_board_identifiers_as_json_values(board),
        **({"frozen_at": board.frozen_at.isoformat()} if board.frozen_at else {}),
        **({"results": confirmation.as_dict()} if confirmation else {}),
        "gold": _gold_version_as_json_values(board),
        "ranked_by": board.by,
        "compared": board.is_compared,
        **(
            {"verdict": verdict_as_json_values(board.verdict)}
            if has_verdict and board.verdict
            else {}
        ),
        **(
            {"rank_by": board.ranking.metric}
            if board.phase.task.rank_by and board.ranking
            else {}
        ),
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
                **row_as_json_values(board, row),
                # Older versions did not export `has_organiser`, so omit False.
                **({"has_organiser": True} if row.has_organiser else {}),
                **(
                    {"priority": row.priority}
                    if board.selects_runs_by_priority and row.priority
                    else {}
                ),
                "scores": {name: cell.as_dict() for name, cell in row.scores.items()},
                "team_reported": {} if row.runs else of_teams.get(row.submission, {}),
                **({"card": row.card} if row.card else {}),
                **(
                    {"outside": measured}
                    if not row.runs and (measured := entered.of(row.submission))
                    else {}
                ),
                **seed_mean_as_json_values(row, of_teams),
            }
            for row in rows
        ],
    }
    if entered.measures:
        content["outside"] = [
            {
                "name": measure.name,
                "higher_is_better": measure.higher_is_better,
                "source": measure.source,
                "signature": measure.signature,
            }
            for measure in entered.measures
        ]
    return format_as_json(content)


def board_as_latex(
    board: Board,
    rows: Sequence[BoardRow],
    choice: query.LatexTableQuery = DEFAULT_LATEX_TABLE_QUERY,
) -> str:
    """Return the displayed rows of the board as a LaTeX table, with the column keys in
    comments. Raises UnknownColumn.
    """
    phase = board.phase
    title = f"{phase.task.season}: {phase.task}, {phase}"
    columns = query.find_columns_by_name(board, choice.columns)
    best: dict[str, float] = {}
    for column in columns:
        cells = [row.scores.get(column.name) for row in rows if row.is_competing]
        values = [cell.value for cell in cells if cell and cell.value is not None]
        if values and column.higher_is_better is not None:
            best[column.name] = max(values) if column.higher_is_better else min(values)
    tied: set[int] = set()
    if choice.has_marks and board.ranking in columns and board.is_compared:
        tied = {row.submission for row in board.rows_that_may_be_first[1:]}
    confirmation = confirming.compute_confirmation_of_board(board)
    verdict = board.verdict.text if board.verdict and board.ranking in columns else ""
    marking = f"Best in bold; baselines in italics{TIED_MARK_NOTE if tied else '.'}"
    verdict_first = f"{verdict} " if verdict else ""
    caption = (
        f"{title}. {format_preliminary_sentence(confirmation)}{verdict_first}{marking}"
    )
    # Readers can choose only columns with computed scores, so omit manual scores.
    entered = (
        ManualScores(measures=[], values={})
        if choice.columns
        else load_manual_scores(board, rows)
    )
    measures = entered.measures
    heads = [
        display_name_of_metric(column.metric)
        + (f" ({column.name})" if column.name != column.metric else "")
        for column in columns
    ]

    def build_latex_row(row: BoardRow) -> Iterator[str]:
        yield board.format_rank_of_row(row)
        names = (row.system, row.marked_name)
        yield from (
            names
            if row.is_competing
            else (format_latex_command("textit", name) for name in names)
        )
        for column in columns:
            cell = row.scores.get(column.name)
            if cell is None:
                yield ""
                continue
            is_best = (
                row.is_competing
                and cell.value is not None
                and cell.value == best.get(column.name)
            )
            value = format_score(
                cell.value,
                column.scale,
                is_infinite=cell.is_infinite,
                withheld=cell.withheld,
            )
            if not column.is_ranking:
                yield _format_latex_score(value, is_best=is_best)
                continue
            ends = (cell.low, cell.high) if choice.has_intervals else (None, None)
            mark = LATEX_DAGGER if row.submission in tied else ""
            yield _format_latex_score(value, ends, column.scale, mark, is_best=is_best)
        yield from (
            format_number(entered.value(measure, row.submission))
            for measure in measures
        )

    tabular = format_latex_tabular(
        [
            title,
            *([confirmation.sentence] if confirmation else []),
            *([verdict] if verdict else []),
            *(column.key for column in columns),
            *(measure.signature for measure in measures),
        ],
        f"rll{'r' * (len(columns) + len(measures))}",
        [
            "Rank",
            "System",
            "Team",
            *heads,
            *(f"{measure} (outside)" for measure in measures),
        ],
        map(build_latex_row, rows),
    )
    return format_latex_table(
        tabular,
        choice.caption or caption,
        "-".join(_season_task_and_phase_slugs(board)),
    )


def format_preliminary_sentence(confirmation: confirming.Confirmation | None) -> str:
    return (
        f"{confirmation.sentence}. "
        if confirmation and confirmation.is_preliminary
        else ""
    )


def format_latex_table(tabular: str, caption: str, label: str) -> str:
    about = f"\\caption{{{escape_latex(caption)}}}\n\\label{{tab:{label}}}\n"
    return f"\\begin{{table}}\n\\centering\n{about}{tabular}\\end{{table}}\n"


def format_latex_tabular(
    comments: Iterable[str],
    places: str,
    heads: Iterable[str],
    rows: Iterable[Iterable[str]],
) -> str:
    def format_latex_row(cells: Iterable[str]) -> str:
        joined = " & ".join(
            cell if isinstance(cell, LatexMarkup) else escape_latex(cell)
            for cell in cells
        )
        # LaTeX would parse `[` and `*` after `\\` or `\midrule` as arguments.
        return f"{'{}' if joined.startswith(('[', '*')) else ''}{joined} \\\\"

    lines = [
        *(f"% {_join_lines(comment)}" for comment in comments),
        f"\\begin{{tabular}}{{{places}}}",
        r"\toprule",
        format_latex_row(heads),
        r"\midrule",
        *map(format_latex_row, rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "".join(f"{line}\n" for line in lines)


def escape_latex(text: str) -> str:
    """Return untrusted text on one line, with the special characters of LaTeX escaped."""
    return _join_lines(text).translate(LATEX_ESCAPES)


def _join_lines(text: str) -> str:
    return " ".join(
        "".join(sign if sign.isprintable() else " " for sign in text).split()
    )


def format_latex_command(command: str, text: str) -> LatexMarkup:
    return LatexMarkup(f"\\{command}{{{escape_latex(text)}}}")


def _format_latex_score(
    value: str,
    ends: tuple[float | None, float | None] = (None, None),
    scale: float = 1.0,
    mark: str = "",
    *,
    is_best: bool,
) -> LatexMarkup:
    printed = format_latex_command("textbf", value) if is_best else escape_latex(value)
    if None in ends:
        return LatexMarkup(f"{printed}{mark}")
    low, high = (escape_latex(format_score(end, scale)) for end in ends)
    return LatexMarkup(f"{printed}{mark} [{low}, {high}]")


def _iterate_scores_by_class_tables(board: Board) -> Iterator[ScoresByClassTable]:
    for dimension in list_classes_by_dimension(board):
        for metric in list_metrics_with_class_values(board, dimension):
            yield build_scores_by_class_table(board, board.rows, dimension, metric)


def class_scores_as_csv(board: Board) -> str:
    board = board.with_first_runs_only
    gold = f"v{board.gold.number}" if board.gold else ""

    def iterate_csv_rows() -> Iterator[list[object]]:
        for table in _iterate_scores_by_class_tables(board):
            for name in table.lines:
                for row in board.rows:
                    key = (name.label, row.evaluation)
                    if key in table.values:
                        value = "inf" if key in table.infinite else table.values[key]
                        value = "withheld" if key in table.withheld else value
                        value = "fixed" if name.label in table.fixed else value
                        yield [
                            table.dimension,
                            format_spreadsheet_cell(name.label),
                            name.support,
                            row.submission,
                            format_spreadsheet_cell(row.system),
                            format_spreadsheet_cell(row.team or ""),
                            table.metric,
                            value,
                            *table.intervals.get(key, ("", "")),
                            board.rules,
                            gold,
                        ]

    return format_as_csv(_CLASS_CSV_COLUMNS, *iterate_csv_rows())


def class_scores_as_json(board: Board) -> str:
    board = board.with_first_runs_only

    def class_score_as_json_values(
        table: ScoresByClassTable, label: str, row: BoardRow
    ) -> dict[str, Any]:
        key = (label, row.evaluation)
        low, high = table.intervals.get(key, (None, None))
        value: dict[str, Any] = {
            "submission": row.submission,
            "value": table.values[key],
        }
        if label in table.fixed:
            return value | {
                "low": None,
                "high": None,
                "fixed": table.fixed[label].why.value,
                "instead": table.fixed[label].instead or None,
            }
        value |= {"low": low, "high": high} | (
            {"infinite": True} if key in table.infinite else {}
        )
        return value | (
            {"withheld": table.withheld[key]} if key in table.withheld else {}
        )

    content = {
        **_board_identifiers_as_json_values(board),
        "gold": _gold_version_as_json_values(board),
        "systems": [
            {
                "submission": row.submission,
                "system": row.system,
                "team": row.team,
                "kind": row.kind,
            }
            for row in board.rows
        ],
        "tables": [
            {
                "dimension": table.dimension,
                "metric": table.metric,
                "scale": table.scale or 1,
                "higher_is_better": table.higher_is_better,
                "classes": [
                    {
                        "class": name.label,
                        "support": name.support,
                        "scores": [
                            class_score_as_json_values(table, name.label, row)
                            for row in board.rows
                            if (name.label, row.evaluation) in table.values
                        ],
                    }
                    for name in table.lines
                ],
            }
            for table in _iterate_scores_by_class_tables(board)
        ],
    }
    return format_as_json(content)


def class_table_as_latex(
    board: Board,
    table: ScoresByClassTable,
    leading: Mapping[str, int],
    choice: query.LatexTableQuery = DEFAULT_LATEX_TABLE_QUERY,
) -> str:
    """Return the displayed table of scores by class as a LaTeX table. ``leading`` maps
    a class to the evaluation that is significantly better in the class than all others.
    """
    phase = board.phase
    about = (
        f"{display_name_of_metric(table.metric)} by "
        f"{display_name_of_dimension(table.dimension)}, rules {board.rules}"
    )
    title = f"{phase.task.season}: {phase.task}, {phase}; {about}"
    marks = {
        label: best
        for label, best in leading.items()
        if choice.has_marks and label not in table.fixed
    }
    evaluations = {row.evaluation for row in table.systems}
    is_marked = any(marks.get(name.label) in evaluations for name in table.classes)
    confirmation = confirming.compute_confirmation_of_board(board)
    marking = (
        f"Best in bold; baselines in italics{LEADING_MARK_NOTE if is_marked else '.'}"
    )

    def format_system_head(row: SystemWithEvaluation) -> str:
        return (
            row.system
            if isinstance(row, BoardRow) and row.is_competing
            else format_latex_command("textit", row.system)
        )

    def build_latex_row(label: str, support: int | None) -> Iterator[str]:
        yield from (label, "" if support is None else str(support))
        best = {row.evaluation for row in table.best(label)}
        for row in table.systems:
            key = (label, row.evaluation)
            if key not in table.values:
                yield ""
                continue
            ends = (
                table.intervals.get(key, (None, None))
                if choice.has_intervals
                else (None, None)
            )
            mark = LATEX_STAR if marks.get(label) == row.evaluation else ""
            yield _format_latex_score(
                table.text(label, row),
                ends,
                table.scale,
                mark,
                is_best=row.evaluation in best,
            )

    tabular = format_latex_tabular(
        [title, *([confirmation.sentence] if confirmation else [])],
        f"lr{'r' * len(table.systems)}",
        [
            display_name_of_dimension(table.dimension).capitalize(),
            "Support",
            *map(format_system_head, table.systems),
        ],
        (build_latex_row(name.label, name.support) for name in table.lines),
    )
    label = "-".join(
        [*_season_task_and_phase_slugs(board), table.dimension, table.metric]
    )
    return format_latex_table(
        tabular,
        choice.caption
        or f"{title}. {format_preliminary_sentence(confirmation)}{marking}",
        label,
    )


def overall_ranking_as_json_values(
    table: public_results.OverallRanking,
) -> dict[str, Any]:
    return {
        "absences": ABSENCES_COUNT_LAST if table.counts_absences else ABSENCES_LEFT_OUT,
        "boards": [
            {
                "phase": board.phase.pk,
                "task": board.phase.task.slug,
                "title": f"{board.phase.task}, {board.phase}",
                "teams": board.teams,
            }
            for board in table.boards
        ],
        "rows": [
            {
                **{
                    name: getattr(row, name)
                    for name in ("rank", "ranks", "rank_low", "rank_high")
                },
                "team": row.slug,
                "team_name": row.team,
                "has_organiser": row.has_organiser,
                "boards": len(row.places),
                "absent": len(table.boards) - len(row.places),
                **{name: getattr(row, name) for name in _OVERALL_RANKING_SHARE_COLUMNS},
                "places": [
                    {
                        "phase": phase,
                        "rank": place.rank,
                        "rank_low": place.low,
                        "rank_high": place.high,
                    }
                    for phase, place in row.places.items()
                ],
                "without": [
                    {"phase": phase, "rank": rank}
                    for phase, rank in row.without.items()
                ],
            }
            for row in table.rows
        ],
    }


def overall_ranking_as_json(
    season: Season, table: public_results.OverallRanking
) -> str:
    return format_as_json(
        {"season": season.slug, **overall_ranking_as_json_values(table)}
    )


def overall_ranking_as_csv(season: Season, table: public_results.OverallRanking) -> str:
    boards = [f"{board.phase.task.slug}/{board.phase.slug}" for board in table.boards]
    has_organisers = any(row.has_organiser for row in table.rows)
    columns = (
        "rank",
        "ranks",
        "rank_low",
        "rank_high",
        "team",
        *_OVERALL_RANKING_SHARE_COLUMNS,
        "boards",
        "absent",
    )
    lines = []
    for row, values in zip(
        table.rows, overall_ranking_as_json_values(table)["rows"], strict=True
    ):
        facts = {**values, "team": format_spreadsheet_cell(row.team)}
        places = {phase: place.rank for phase, place in row.places.items()}
        by_board = [
            of.get(board.phase.pk, "")
            for of in (places, row.without)
            for board in table.boards
        ]
        marks = ["yes" if row.has_organiser else ""] if has_organisers else []
        lines.append([*(facts[name] for name in columns), *by_board, *marks])
    heads = [*columns, *boards, *(f"rank_without_{board}" for board in boards)]
    return format_as_csv(
        [*heads, *(["has_organiser"] if has_organisers else [])], *lines
    )


def overall_ranking_as_latex(
    season: Season, table: public_results.OverallRanking
) -> str:
    heads = [
        "Rank",
        "Team",
        "Share",
        "Boards",
        *(str(board.phase.task) for board in table.boards),
    ]
    lines = []
    for row in table.rows:
        share = f"{100 * row.share:.1f} [{100 * row.share_low:.1f}, {100 * row.share_high:.1f}]"
        places = (row.places.get(board.phase.pk) for board in table.boards)
        on = [
            format_rank_range(place.low, place.high) if place else ""
            for place in places
        ]
        lines.append(
            [
                row.ranks,
                row.marked_name,
                share,
                f"{len(row.places)} of {len(table.boards)}",
                *on,
            ]
        )
    return format_latex_tabular(
        [f"{season}: all tasks together"],
        f"rlrr{'r' * len(table.boards)}",
        heads,
        lines,
    )
