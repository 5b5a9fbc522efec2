"""Provide the examples that show readers what a task asks."""

import tomllib
from dataclasses import replace
from functools import cache

from scoring.results.comparison.drawing import draw, drawn_example
from scoring.results.comparison.pieces import Line, Part, Piece
from tasks.types.base import ShownInstance, TaskType
from tasks.types.registry import shipped_folder

#: Some task types have instances that are hard to understand, so FILE has an example.
FILE = "example.toml"
#: An example has at most MAX_LINES lines per part and MAX_CHARACTERS letters per line.
MAX_LINES, MAX_CHARACTERS = 4, 180


def short_example(kind: TaskType) -> list[Part]:
    """Return the example instance of a task type, shortened for lists of tasks."""
    written = _written_example(kind.slug)
    parts = draw(kind, written) if written else drawn_example(kind)
    return [_shortened(part) for part in parts]


@cache
def _written_example(slug: str) -> ShownInstance | None:
    folder = shipped_folder(slug)
    file = folder.with_name(FILE) if folder else None
    if file is None or not file.is_file():
        return None
    fields = tomllib.loads(file.read_text(encoding="utf-8"))
    judged = tuple((outcome, text) for outcome, text in fields.pop("judged", ()))
    return ShownInstance(name="", judged=judged, **fields)


def _shortened(part: Part) -> Part:
    lines = [_cut(line) for line in part.lines[:MAX_LINES]]
    if len(part.lines) > MAX_LINES:
        lines.append(Line([Piece("…")]))
    return replace(part, lines=lines)


def _cut(line: Line) -> Line:
    pieces: list[Piece] = []
    left = MAX_CHARACTERS
    for piece in line.pieces:
        if len(piece.text) > left:
            pieces.append(piece._replace(text=f"{piece.text[:left].rstrip()} …"))
            break
        pieces.append(piece)
        left -= len(piece.text)
    return replace(line, pieces=pieces)
