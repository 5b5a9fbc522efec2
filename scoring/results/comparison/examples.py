"""Provide the examples that show readers what a task asks."""

import tomllib
from dataclasses import replace
from functools import cache

from scoring.results.comparison.drawing import (
    build_parts_of_type_example,
    build_parts_of_whole_instance,
)
from scoring.results.comparison.pieces import (
    DisplayedInstanceLine,
    DisplayedInstancePart,
    MarkedTextPiece,
)
from tasks.types.base import ShownInstance, TaskType
from tasks.types.registry import find_sample_folder

#: Some task types have instances that are hard to understand, so EXAMPLE_FILE_NAME has an example.
EXAMPLE_FILE_NAME = "example.toml"
#: An example has at most MAX_EXAMPLE_LINES lines per part and MAX_EXAMPLE_LINE_CHARACTERS letters per line.
MAX_EXAMPLE_LINES, MAX_EXAMPLE_LINE_CHARACTERS = 4, 180


def build_short_example(kind: TaskType) -> list[DisplayedInstancePart]:
    """Return the example instance of a task type, shortened for lists of tasks."""
    written = _load_written_example(kind.slug)
    parts = (
        build_parts_of_whole_instance(kind, written)
        if written
        else build_parts_of_type_example(kind)
    )
    return [_shorten_part(part) for part in parts]


@cache
def _load_written_example(slug: str) -> ShownInstance | None:
    folder = find_sample_folder(slug)
    file = folder.with_name(EXAMPLE_FILE_NAME) if folder else None
    if file is None or not file.is_file():
        return None
    fields = tomllib.loads(file.read_text(encoding="utf-8"))
    judged = tuple((outcome, text) for outcome, text in fields.pop("judged", ()))
    return ShownInstance(name="", judged=judged, **fields)


def _shorten_part(part: DisplayedInstancePart) -> DisplayedInstancePart:
    lines = [_shorten_line(line) for line in part.lines[:MAX_EXAMPLE_LINES]]
    if len(part.lines) > MAX_EXAMPLE_LINES:
        lines.append(DisplayedInstanceLine([MarkedTextPiece("…")]))
    return replace(part, lines=lines)


def _shorten_line(line: DisplayedInstanceLine) -> DisplayedInstanceLine:
    pieces: list[MarkedTextPiece] = []
    left = MAX_EXAMPLE_LINE_CHARACTERS
    for piece in line.pieces:
        if len(piece.text) > left:
            pieces.append(piece._replace(text=f"{piece.text[:left].rstrip()} …"))
            break
        pieces.append(piece)
        left -= len(piece.text)
    return replace(line, pieces=pieces)
