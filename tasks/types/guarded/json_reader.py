"""Read JSON from outside: a text, or the objects of lines."""

import json
import math
import re
from collections.abc import Callable
from json.scanner import make_scanner
from typing import Any

from tasks.types.guarded.limits import (
    Limits,
    Unreadable,
    depth_of,
    too_deep,
    too_long,
    within_size,
)

#: Digits are the interpreter's own limit for whole numbers; a longer fraction is rounded.
JSON = Limits(size=1 << 28, depth=100, digits=4_300)
_LONG = re.compile(r"(?<![0-9.])[0-9]{4301,}")
#: What decides about depth: texts, in which brackets mean nothing, and brackets.
_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\Z)|[\[\]{}]', re.DOTALL)


class NotFinite(Unreadable):
    """A number that is none, or that no computer can hold."""


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise NotFinite(f"{text[:40]} is not a finite number")
    return value


#: Made once: `json.loads` with an option makes one for each line.
_DECODER = json.JSONDecoder(parse_constant=_finite, parse_float=_finite)
_SCANNER = make_scanner(_DECODER)  # type: ignore[arg-type]


def read_json(
    text: str | bytes,
    limits: Limits = JSON,
    *,
    constant: Callable[[str], Any] = _finite,
    pairs: Callable[[list[tuple[str, Any]]], Any] | None = None,
) -> Any:
    """Return the value of a text. Raises json.JSONDecodeError or Unreadable, which are ValueErrors.

    ``constant`` reads NaN and Infinity, ``pairs`` makes an object of its members. Of members with one name
    the last counts.
    """
    decoder = _DECODER
    if pairs or constant is not _finite:
        decoder = json.JSONDecoder(
            parse_constant=constant, parse_float=_finite, object_pairs_hook=pairs
        )
    checked = within_size(text, limits)
    try:
        value = decoder.decode(checked)
    except RecursionError as fault:
        raise _nested(checked, limits) from fault
    except (json.JSONDecodeError, Unreadable):
        raise
    except ValueError as fault:
        number = _LONG.search(checked)
        if number is None:
            raise
        line = checked.count("\n", 0, number.start()) + 1
        raise too_long(len(number[0]), limits, line) from fault
    if _brackets(checked) > limits.depth:
        _require_depth(value, checked, limits)
    return value


def read_json_line(line: str, limits: Limits = JSON) -> Any:
    """Return the only value of a line, faster than `read_json`. Raises the same."""
    try:
        value, end = _SCANNER(line, 0)
    except (StopIteration, ValueError, RecursionError):
        end = -1
    if end != len(line):
        # The slower decoder says what is wrong and where.
        return read_json(line, limits)
    if _brackets(line) > limits.depth:
        _require_depth(value, line, limits)
    return value


def read_json_objects(text: str, limits: Limits = JSON) -> list[dict[str, Any]]:
    """Return the objects of a text with one on each line.

    Raises ValueError, StopIteration or RecursionError; `read_json_line` says why.
    """
    values, place = [], 0
    while place < len(text):
        value, end = _SCANNER(text, place)
        values.append(value)
        place = end + 1
        if text[end] != "\n":
            raise ValueError("more than one value on a line")
    if len(values) != text.count("\n") or set(map(type, values)) != {dict}:
        raise ValueError("not one object on each line")
    for line, value in zip(text.split("\n"), values, strict=False):
        if _brackets(line) > limits.depth:
            _require_depth(value, line, limits)
    return values


def _brackets(text: str) -> int:
    """Return a bound of the depth of a text, which costs little."""
    return text.count("[") + text.count("{")


def _require_depth(value: object, text: str, limits: Limits) -> None:
    if depth_of(value) > limits.depth:
        raise _nested(text, limits)


def _nested(text: str, limits: Limits) -> Unreadable:
    depth, deepest, place = 0, 0, 0
    for found in _BRACKET.finditer(text):
        depth += (found[0] in "[{") - (found[0] in "]}")
        if depth > deepest:
            deepest, place = depth, found.start()
    return too_deep(deepest, limits, text.count("\n", 0, place) + 1)
