"""Parse untrusted JSON, either as a whole text or as lines with one object each."""

import json
import math
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from json.scanner import make_scanner
from typing import Any

from tasks.types.guarded.limits import (
    TextLimits,
    TextUnreadable,
    compute_nesting_depth,
    decode_within_size_limit,
    make_too_deep_error,
    make_too_long_number_error,
)

#: `JSON` contains the limits on size, depth and digits of a JSON text.
#: Python itself refuses longer integers, and rounds fractions with more digits.
JSON = TextLimits(size=1 << 28, depth=100, digits=4_300)
_TOO_LONG_INTEGER_PATTERN = re.compile(r"(?<![0-9.])[0-9]{4301,}")
#: `_STRING_OR_BRACKET_PATTERN` matches brackets and strings, which determine the depth of a JSON text.
#: Strings are matched because brackets inside strings do not count for the depth.
_STRING_OR_BRACKET_PATTERN = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\Z)|[\[\]{}]', re.DOTALL)


class NumberNotFinite(TextUnreadable):
    """The error for a JSON number that is NaN, infinite, or outside the range of
    floats.
    """


def _parse_finite_number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise NumberNotFinite(f"{text[:40]} is not a finite number")
    return value


class JsonKeyRepeated(TextUnreadable):
    """The error for a JSON object in which a key occurs twice."""


#: `_QUOTE_AND_COLON_PATTERN` matches the end of a key in a JSON object and the colon after the key.
#: Since `_QUOTE_AND_COLON_PATTERN` also matches inside strings, its matches bound the number of keys.
_QUOTE_AND_COLON_PATTERN = re.compile(r'"[ \t\r\n]*:')


def _build_object_with_unique_keys(members: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(members)
    if len(value) < len(members):
        counts = Counter(key for key, _ in members)
        twice = next(key for key, count in counts.items() if count > 1)
        raise JsonKeyRepeated(f"the key “{twice[:100]}” occurs twice in one object")
    return value


def _count_members(value: Any) -> int:
    """Return the total number of key-value pairs in all nested objects of a parsed JSON
    value.
    """
    count, level = 0, [value]
    while level:
        inner: list[Any] = []
        for one in level:
            if isinstance(one, dict):
                count += len(one)
                inner += one.values()
            elif isinstance(one, list):
                inner += one
        level = [one for one in inner if isinstance(one, dict | list)]
    return count


def _may_repeat_keys(text: str, values: list[Any]) -> bool:
    """Return False if no object in the JSON text can repeat a key, because the text has
    as many key-value pairs as the parsed values.
    """
    if len(values) == 1 and isinstance(values[0], list):
        values = values[0]
    written = text.count('":')
    if text.count(":") > written:
        written = len(_QUOTE_AND_COLON_PATTERN.findall(text))
    is_flat = text.count("{") == len(values) and set(map(type, values)) == {dict}
    return written > (sum(map(len, values)) if is_flat else _count_members(values))


#: The JSON decoder is created once, because creating a decoder for each line is slow.
_STRICT_JSON_DECODER = json.JSONDecoder(
    parse_constant=_parse_finite_number, parse_float=_parse_finite_number
)
_STRICT_JSON_SCANNER = make_scanner(_STRICT_JSON_DECODER)  # type: ignore[arg-type]


def read_json(
    text: str | bytes,
    limits: TextLimits = JSON,
    *,
    constant: Callable[[str], Any] = _parse_finite_number,
    pairs: Callable[[list[tuple[str, Any]]], Any] | None = None,
    is_unique: bool = False,
) -> Any:
    """Return the parsed value of a JSON text. Raises json.JSONDecodeError or
    Unreadable, which are both subclasses of ValueError.

    The function ``constant`` converts the words NaN and Infinity, which are an error by
    default. The function ``pairs`` builds an object from a list of key-value pairs. If
    an object repeats a key, the last value of the key is used. If ``is_unique`` is
    True, an object that repeats a key raises JsonKeyRepeated.
    """
    if is_unique:
        value = read_json(text, limits, constant=constant)
        if _may_repeat_keys(decode_within_size_limit(text, limits), [value]):
            # The slow hook is used only for texts that may repeat keys.
            value = read_json(
                text, limits, constant=constant, pairs=_build_object_with_unique_keys
            )
        return value
    decoder = _STRICT_JSON_DECODER
    if pairs or constant is not _parse_finite_number:
        decoder = json.JSONDecoder(
            parse_constant=constant,
            parse_float=_parse_finite_number,
            object_pairs_hook=pairs,
        )
    checked = decode_within_size_limit(text, limits)
    try:
        value = decoder.decode(checked)
    except RecursionError as fault:
        raise _make_nesting_error(checked, limits) from fault
    except (json.JSONDecodeError, TextUnreadable):
        raise
    except ValueError as fault:
        number = _TOO_LONG_INTEGER_PATTERN.search(checked)
        if number is None:
            raise
        line = checked.count("\n", 0, number.start()) + 1
        raise make_too_long_number_error(len(number[0]), limits, line) from fault
    if _count_opening_brackets(checked) > limits.depth:
        _require_allowed_depth(value, checked, limits)
    return value


def read_json_line(
    line: str, limits: TextLimits = JSON, *, is_unique: bool = False
) -> Any:
    """Return the parsed JSON value of a text that is one line."""
    try:
        value, end = _STRICT_JSON_SCANNER(line, 0)
    except (StopIteration, ValueError, RecursionError):
        end = -1
    if end != len(line) or (is_unique and _may_repeat_keys(line, [value])):
        # If the JSON is invalid, `read_json` raises an error with the position.
        return read_json(line, limits, is_unique=is_unique)
    if _count_opening_brackets(line) > limits.depth:
        _require_allowed_depth(value, line, limits)
    return value


def read_json_objects(
    text: str, limits: TextLimits = JSON, *, is_unique: bool = False
) -> list[dict[str, Any]]:
    """Return the objects in a text of JSON lines with one object per line.

    For invalid text, raise ValueError, StopIteration or RecursionError, without the
    position of the fault. Callers then parse each line with `read_json_line` to find
    the position of the fault.
    """
    values, place = [], 0
    while place < len(text):
        value, end = _STRICT_JSON_SCANNER(text, place)
        values.append(value)
        place = end + 1
        if text[end] != "\n":
            raise ValueError("more than one value on a line")
    if len(values) != text.count("\n") or set(map(type, values)) != {dict}:
        raise ValueError("not one object on each line")
    if is_unique and _may_repeat_keys(text, values):
        raise ValueError("a key may occur twice")
    for line, value in zip(text.split("\n"), values, strict=False):
        if _count_opening_brackets(line) > limits.depth:
            _require_allowed_depth(value, line, limits)
    return values


@dataclass(frozen=True)
class JsonListItem:
    """An item of a JSON list, with the line number and the unparsed text of the item."""

    line: int
    value: Any
    raw: str


def read_json_list(
    text: str, limits: TextLimits = JSON, *, is_unique: bool = False
) -> list[JsonListItem]:
    """Return the items of a JSON list, each with its line number. Raises
    json.JSONDecodeError or Unreadable for invalid JSON.
    """
    checked = decode_within_size_limit(text, limits)
    items = list[JsonListItem]()
    try:
        place = _skip_json_blanks(checked, checked.index("[") + 1)
        line, counted = 1, 0
        while checked[place] != "]":
            value, end = _STRICT_JSON_SCANNER(checked, place)
            line, counted = line + checked.count("\n", counted, place), place
            raw = checked[place:end]
            if is_unique and _may_repeat_keys(raw, [value]):
                value = _read_line_with_unique_keys(raw, limits, line)
            if _count_opening_brackets(raw) > limits.depth:
                _require_allowed_depth(value, raw, limits)
            items.append(JsonListItem(line, value, raw))
            place = _find_next_item(checked, end)
        if not checked[place + 1 :].strip(" \t\r\n"):
            return items
    except JsonKeyRepeated:
        raise
    except (StopIteration, ValueError, RecursionError, IndexError):
        pass
    # If the list is invalid, `read_json` raises an exception with the fault's position.
    read_json(text, limits, is_unique=is_unique)
    raise TextUnreadable("a list that cannot be read item by item")


def _read_line_with_unique_keys(raw: str, limits: TextLimits, line: int) -> Any:
    try:
        return read_json(raw, limits, is_unique=True)
    except JsonKeyRepeated as fault:
        raise JsonKeyRepeated(fault.message, line) from fault


def _skip_json_blanks(text: str, place: int) -> int:
    match = _JSON_BLANKS_PATTERN.match(text, place)
    return place if match is None else match.end()


def _find_next_item(text: str, place: int) -> int:
    """Return the position of the next item in the text of a JSON list, or the position
    of the bracket that closes the list. Raise ValueError or IndexError if neither
    another item nor the closing bracket follows.
    """
    place = _skip_json_blanks(text, place)
    if text[place] == "]":
        return place
    following = _skip_json_blanks(text, place + 1)
    if text[place] != "," or text[following] == "]":
        raise ValueError("neither another item nor the end of the list follows")
    return following


_JSON_BLANKS_PATTERN = re.compile(r"[ \t\r\n]*")


def _count_opening_brackets(text: str) -> int:
    """Return an upper bound of the nesting depth of a JSON text, namely the number of
    opening brackets.
    """
    return text.count("[") + text.count("{")


def _require_allowed_depth(value: object, text: str, limits: TextLimits) -> None:
    if compute_nesting_depth(value) > limits.depth:
        raise _make_nesting_error(text, limits)


def _make_nesting_error(text: str, limits: TextLimits) -> TextUnreadable:
    depth, deepest, place = 0, 0, 0
    for found in _STRING_OR_BRACKET_PATTERN.finditer(text):
        depth += (found[0] in "[{") - (found[0] in "]}")
        if depth > deepest:
            deepest, place = depth, found.start()
    return make_too_deep_error(deepest, limits, text.count("\n", 0, place) + 1)
