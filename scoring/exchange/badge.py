"""A team's rank on a board as a small picture for a README: SVG without style, script or font of its own."""

from __future__ import annotations

from html import escape

from scoring.board.confirming import confirmation_of
from scoring.board.numbers import interval, shown
from scoring.board.standings import Board, Row

HEIGHT, PADDING = 20, 6
#: Wider than letters of 11 pixels are on average; the picture sets its text to the width that was counted.
LETTER = 6.4
#: Long titles are cut.
MAX_TITLE = 40


def badge(board: Board, row: Row | None) -> str:
    title = str(board.phase.task)
    left = title if len(title) <= MAX_TITLE else f"{title[: MAX_TITLE - 1].rstrip()}…"
    right = "not ranked" if row is None or row.rank is None else _standing(board, row)
    return _drawn(left, right)


def _standing(board: Board, row: Row) -> str:
    """`rank 2–4 of 18 · 0.612 [0.581, 0.640] · preliminary`."""
    confirmation = confirmation_of(board)
    is_preliminary = confirmation is not None and confirmation.is_preliminary
    return f"{_result(board, row)}{' · preliminary' if is_preliminary else ''}"


def _result(board: Board, row: Row) -> str:
    place = board.place_of(row)
    cell = row.scores.get(board.ranking.name) if board.ranking else None
    if cell is None or board.ranking is None:
        return place
    scale = board.ranking.scale
    number = shown(cell.value, scale, is_infinite=cell.is_infinite)
    return f"{place} · {number} {interval(cell.low, cell.high, scale)}".rstrip()


def _drawn(left: str, right: str) -> str:
    widths = [round(len(text) * LETTER) + 2 * PADDING for text in (left, right)]
    whole = sum(widths)
    words = escape(f"{left}: {right}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{whole}" height="{HEIGHT}" role="img"'
        f' aria-label="{words}"><title>{words}</title>'
        f'<rect width="{whole}" height="{HEIGHT}" rx="3" fill="#3b4252"/>'
        f'<path d="M{widths[0]} 0H{whole - 3}a3 3 0 0 1 3 3v{HEIGHT - 6}a3 3 0 0 1-3 3H{widths[0]}z"'
        f' fill="#0b5fa5"/>{_text(left, 0, widths[0])}{_text(right, widths[0], widths[1])}</svg>\n'
    )


def _text(text: str, start: int, width: int) -> str:
    return (
        f'<text x="{start + PADDING}" y="14" fill="#ffffff" font-family="Verdana, DejaVu Sans, sans-serif"'
        f' font-size="11" textLength="{width - 2 * PADDING}" lengthAdjust="spacingAndGlyphs">'
        f"{escape(text)}</text>"
    )
