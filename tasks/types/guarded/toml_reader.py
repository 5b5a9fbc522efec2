"""Read untrusted TOML."""

import re
import tomllib
from collections.abc import Iterator
from typing import Any

from tasks.types.guarded.limits import (
    TextLimits,
    TextUnreadable,
    compute_nesting_depth,
    decode_within_size_limit,
    make_too_deep_error,
    make_too_long_number_error,
)

TOML = TextLimits(size=1 << 20, depth=50, digits=60)
#: `MAX_KEY_PARTS` is the maximum number of parts in a dotted TOML key such as `a.b.c`.
#: The run time of `tomllib` is quadratic in the number of parts of a key.
MAX_KEY_PARTS = 50
_ERROR_POSITION_PATTERN = re.compile(
    r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", re.DOTALL
)


def read_toml(text: str | bytes, limits: TextLimits = TOML) -> dict[str, Any]:
    """Return the parsed tables of an untrusted TOML text. Raises Unreadable.

    The error has no line number if the fault is at the end of the text.
    """
    checked = decode_within_size_limit(text, limits)
    _require_short_keys(checked)
    try:
        values = tomllib.loads(checked)
    except RecursionError as fault:
        raise _make_nesting_error(checked, limits) from fault
    except tomllib.TOMLDecodeError as fault:
        raise _convert_decode_error(fault) from fault
    except ValueError as fault:
        # The cause of the error is a number with too many digits, or an invalid date.
        raise _find_long_number_error(checked, limits) or TextUnreadable(
            str(fault)
        ) from fault
    if compute_nesting_depth(values) > limits.depth:
        raise _make_nesting_error(checked, limits)
    if _has_long_number(values, limits):
        raise _find_long_number_error(checked, limits) or make_too_long_number_error(
            limits.digits + 1, limits
        )
    return values


#: `_TOML_TOKEN_PATTERN` matches a string, comment, word or sign of a TOML text.
#: Matching is linear, because alternatives in `_TOML_TOKEN_PATTERN` begin differently.
_TOML_TOKEN_PATTERN = re.compile(
    r"""'''|\"\"\"|"(?:[^"\\\n]|\\.)*"?|'[^'\n]*'?|\#[^\n]*|[\[\]{}=,.\n]|[^\s\[\]{}=,.\#"']+"""
)
_MULTILINE_STRING_ENDS = {
    '"""': re.compile(r'(?:[^"\\]|\\.|"(?!""))*"{3,5}', re.DOTALL),
    "'''": re.compile(r"(?:[^']|'(?!''))*'{3,5}"),
}
_INTEGER_PATTERN = re.compile(r"[+-]?(?:0[xob])?([0-9a-fA-F_]+)")


def _iterate_toml_tokens(text: str) -> Iterator[tuple[str, int]]:
    """Yield each token of a TOML text (string, comment, word or sign) with its
    position. The iteration stops at a multi-line string that is not closed.
    """
    place = 0
    while match := _TOML_TOKEN_PATTERN.search(text, place):
        place = match.end()
        if match[0] in _MULTILINE_STRING_ENDS:
            closing = _MULTILINE_STRING_ENDS[match[0]].match(text, place)
            if closing is None:
                return
            place = closing.end()
        yield match[0], match.start()


def _line_number_at(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def _require_short_keys(text: str) -> None:
    parts = 1
    for piece, place in _iterate_toml_tokens(text):
        if piece == ".":
            parts += 1
            if parts > MAX_KEY_PARTS:
                message = f"a key of more than {MAX_KEY_PARTS} parts"
                raise TextUnreadable(message, _line_number_at(text, place))
        elif piece in "[]{}=,\n":
            parts = 1


def _make_nesting_error(text: str, limits: TextLimits) -> TextUnreadable:
    """Return the error for too deeply nested TOML, with the line of the deepest
    bracket.
    """
    depth, deepest, at = 0, 0, 0
    for piece, place in _iterate_toml_tokens(text):
        depth += (piece in "[{") - (piece in "]}")
        if depth > deepest:
            deepest, at = depth, place
    return make_too_deep_error(
        max(deepest, limits.depth + 1), limits, _line_number_at(text, at)
    )


def _convert_decode_error(fault: tomllib.TOMLDecodeError) -> TextUnreadable:
    match = _ERROR_POSITION_PATTERN.fullmatch(str(fault))
    if match is None:
        return TextUnreadable(str(fault))
    line, column = (int(number) if number else None for number in match.groups()[1:])
    return TextUnreadable(match[1], line, column)


def _has_long_number(values: dict[str, Any], limits: TextLimits) -> bool:
    bound = 10**limits.digits
    level: list[Any] = [values]
    while level:
        inner = [
            value
            for outer in level
            for value in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if any(isinstance(value, int) and abs(value) >= bound for value in inner):
            return True
        level = [value for value in inner if isinstance(value, list | dict)]
    return False


def _find_long_number_error(text: str, limits: TextLimits) -> TextUnreadable | None:
    for piece, place in _iterate_toml_tokens(text):
        number = _INTEGER_PATTERN.fullmatch(piece)
        if number and len(number[1]) > limits.digits:
            return make_too_long_number_error(
                len(number[1]), limits, _line_number_at(text, place)
            )
    return None
