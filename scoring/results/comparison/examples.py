"""Provide the examples that show readers what a task asks."""

import tomllib
from dataclasses import replace
from functools import cache

from scoring.results.comparison.drawing import draw, example_parts_of_type
from scoring.results.comparison.pieces import InstanceLine, InstancePart, TextPiece
from tasks.types.base import ShownInstance, TaskType
from tasks.types.registry import shipped_folder

#: Some task types have instances that are hard to understand, so EXAMPLE_FILE_NAME has an example.
EXAMPLE_FILE_NAME = "example.toml"
#: An example has at most MAX_LINES lines per part and MAX_CHARACTERS letters per line.
MAX_LINES, MAX_CHARACTERS = 4, 180


def short_example(kind: TaskType) -> list[InstancePart]:
    """Return the example instance of a task type, shortened for lists of tasks."""
    written = _written_example(kind.slug)
    parts = draw(kind, written) if written else example_parts_of_type(kind)
    return [_shorten_part(part) for part in parts]


@cache
def _written_example(slug: str) -> ShownInstance | None:
    folder = shipped_folder(slug)
    file = folder.with_name(EXAMPLE_FILE_NAME) if folder else None
    if file is None or not file.is_file():
        return None
    fields = tomllib.loads(file.read_text(encoding="utf-8"))
    judged = tuple((outcome, text) for outcome, text in fields.pop("judged", ()))
    return ShownInstance(name="", judged=judged, **fields)


def _shorten_part(part: InstancePart) -> InstancePart:
    lines = [_shorten_line(line) for line in part.lines[:MAX_LINES]]
    if len(part.lines) > MAX_LINES:
        lines.append(InstanceLine([TextPiece("…")]))
    return replace(part, lines=lines)


def _shorten_line(line: InstanceLine) -> InstanceLine:
    pieces: list[TextPiece] = []
    left = MAX_CHARACTERS
    for piece in line.pieces:
        if len(piece.text) > left:
            pieces.append(piece._replace(text=f"{piece.text[:left].rstrip()} …"))
            break
        pieces.append(piece)
        left -= len(piece.text)
    return replace(line, pieces=pieces)
