"""What the section on results of an overview paper states, in Markdown: facts alone, each from the boards."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from citeboard.core.words import counted, listed
from scoring.board.confirming import confirmation_of
from scoring.board.counting import turnout
from scoring.board.differences import class_table, metrics_of, offered_dimensions
from scoring.board.names import dimension_label, metric_label
from scoring.board.numbers import interval, shown
from scoring.board.standings import Board, Row
from scoring.board.visibility import shows_run_counts
from tasks.models import Phase, Registration, Season

#: What Markdown would take as a command.
_MARKUP = re.compile(r"([\\`*_{}\[\]<>()#+!|~&-])")
#: A sentence names so many systems, and counts the others.
MAX_NAMED = 8


def results_text(season: Season, boards: Sequence[Board]) -> str:
    """``boards`` are those that whoever reads this may see with their scores."""
    teams = Registration.objects.filter(season=season).approved().count()
    phases = list({board.phase.pk: board for board in boards}.values())
    parts = [
        f"# Results of {_set(str(season))}",
        "## Turnout",
        f"{counted(teams, 'team').capitalize()} take part." if teams != 1 else "1 team takes part.",
        "\n".join(f"- {line}" for board in phases for line in _sent(board)),
    ]
    for board in boards:
        phase = board.phase
        parts += [f"## {_set(str(phase.task))}, {_set(str(phase))}, rules {board.rules}", *_facts(board)]
    if not boards:
        parts.append("No board shows its scores.")
    return "\n\n".join(part for part in parts if part) + "\n"


def _sent(board: Board) -> Iterator[str]:
    phase: Phase = board.phase
    if not shows_run_counts(phase, board.audience):
        return
    found = turnout(phase)
    said = f"{counted(found.runs, 'run')} of {counted(found.teams, 'team')}"
    yield f"{_set(str(phase.task))}, {_set(str(phase))}: {said}."


def _facts(board: Board) -> Iterator[str]:
    ranking = board.ranking
    if ranking is None or not board.rows:
        yield "The board is empty."
        return
    gold = f", gold v{board.gold.number}" if board.gold else ""
    yield f"Ranked by {_set(metric_label(ranking.metric))}{gold}."
    if confirmation := confirmation_of(board):
        yield f"Results are {confirmation.words}."
    yield from _first(board)
    yield from _beside(board)
    yield from _classes(board)


def _first(board: Board) -> Iterator[str]:
    """Who is first, and who cannot be told from it."""
    if not board.first:
        yield "No run of a team is ranked."
        return
    ranked = sum(row.rank is not None for row in board.rows)
    verb = "is" if len(board.first) == 1 else "share the first place"
    first = listed([f"{_system(row)} with {_number(board, row)}" for row in board.first])
    yield f"First of {counted(ranked, 'ranked run')} {verb} {first}." if verb == "is" else f"{first} {verb}."
    if not board.is_compared:
        if ranked > 1:
            yield "Significance has not been computed yet."
        return
    first_runs = {row.submission for row in board.first}
    others = [row for row in board.rows if row.group == 1 and row.submission not in first_runs]
    if others:
        yield f"Not significantly different from the first: {_named(others)}."
    elif ranked > len(board.first):
        verb = "It is" if len(board.first) == 1 else "They are"
        yield f"{verb} significantly better than every other ranked run."


def _beside(board: Board) -> Iterator[str]:
    """Baselines, and how many runs are better than the best of them."""
    baselines = [row for row in board.rows if row.is_baseline and row.value is not None]
    if baselines:
        best = baselines[0]
        better = sum(
            row.rank is not None and row.value is not None and row.value > (best.value or 0.0)
            for row in board.rows
        )
        yield (
            f"The best baseline is {_set(best.system)} with {_number(board, best)}; "
            f"{counted(better, 'ranked run')} {'is' if better == 1 else 'are'} better."
        )
    for row in board.rows:
        if row.is_human:
            yield f"The human line is {_number(board, row)}."


def _classes(board: Board) -> Iterator[str]:
    """The hardest and the easiest class of each dimension, over all systems of the board."""
    ranking = board.ranking
    assert ranking is not None
    systems = [row for row in board.systems if row.rank is not None] or board.systems
    for dimension in offered_dimensions(board):
        if ranking.metric not in metrics_of(board, dimension):
            continue
        table = class_table(board, systems, dimension, ranking.metric)
        means = [(mean, name) for name in table.classes if (mean := table.mean(name.label)) is not None]
        if len(means) < 2 or table.higher_is_better is None:
            continue
        means.sort(key=lambda found: found[0], reverse=not table.higher_is_better)
        over = f"By {_set(dimension_label(dimension))}, over {counted(len(systems), 'system')}"
        ends = [
            f"{word} {_set(name.label)} (mean {shown(mean, table.scale)} on {name.support} of the gold)"
            for word, (mean, name) in (("hardest", means[0]), ("easiest", means[-1]))
        ]
        yield f"{over}: {', '.join(ends)}."


def _named(rows: Sequence[Row]) -> str:
    names = [_system(row) for row in rows[:MAX_NAMED]]
    rest = len(rows) - MAX_NAMED
    return listed([*names, counted(rest, "other")] if rest > 0 else names)


def _system(row: Row) -> str:
    return f"{_set(row.system)} of {_set(row.display_name)}"


def _number(board: Board, row: Row) -> str:
    ranking = board.ranking
    cell = row.scores.get(ranking.name) if ranking else None
    if ranking is None or cell is None:
        return "no value"
    value = shown(cell.value, ranking.scale, is_infinite=cell.is_infinite)
    ends = interval(cell.low, cell.high, ranking.scale)
    return f"{value} ({ends})" if ends else value


def _set(text: str) -> str:
    """Text of people's choosing as Markdown prints it, on one line."""
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))
