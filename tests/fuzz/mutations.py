"""Changes to a file that a person, a program or an enemy might make; all from one random source."""

import copy
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

from tests.growth.shapes import PIECES

NUMBERS = (
    b"NaN",
    b"Infinity",
    b"-Infinity",
    b"1e999",
    b"-1",
    b"0",
    b"1.5",
    b"9" * 30,
    b"9" * 5000,
    b"true",
    b"null",
)
VALUES = (
    b'""',
    b'"x"',
    b"[]",
    b"{}",
    b'["1", 2]',
    b'[[["1"]]]',
    b'{"1": 2}',
    b'"\\ud800"',
    b'"\\u0000"',
    b'"[0] [1]."',
)
WORDS = (
    b"[1]",
    b"[0]",
    b"[99].",
    b"et al.",
    b"The",
    b".",
    b"",
    b"a",
    b"\xc3\xa9",
    b"&amp;",
    b"x" * 300,
    b"1,",
)
#: What may stand for a value in JSON and, but for a few, in TOML.
STRUCTURES = (
    *VALUES,
    b"[[]]",
    b"[{}]",
    b'[""]',
    b'{"a": []}',
    b"2026-13-01",
    b"2026-05-01T00:00:00Z",
    b"07:30:00",
)
_TEXT = re.compile(rb'(?<=")[^"\n]{12,}(?=")')
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")
_VALUE = re.compile(rb'"[^"\n]*"|\[[^\[\]\n]*\]|-?\d+')

Mutation = Callable[[random.Random, bytes, Sequence[bytes]], bytes]


def _flipped(chance: random.Random, content: bytes, others: Sequence[bytes]) -> bytes:
    found = bytearray(content)
    for _ in range(chance.randint(1, 8)):
        found[chance.randrange(len(found))] ^= 1 << chance.randrange(8)
    return bytes(found)


def _removed(chance: random.Random, content: bytes, others: Sequence[bytes]) -> bytes:
    begin, end = _span(chance, content)
    return content[:begin] + content[end:]


def _repeated(chance: random.Random, content: bytes, others: Sequence[bytes]) -> bytes:
    begin, end = _span(chance, content)
    return (
        content[:end] + content[begin:end] * chance.choice((1, 2, 50)) + content[end:]
    )


def _inserted(chance: random.Random, content: bytes, others: Sequence[bytes]) -> bytes:
    place = chance.randrange(len(content) + 1)
    piece = chance.choice(PIECES).encode() * chance.choice((1, 1, 3, 200))
    return content[:place] + piece + content[place:]


def _spliced(chance: random.Random, content: bytes, others: Sequence[bytes]) -> bytes:
    other = chance.choice(others)
    return (
        content[: chance.randrange(len(content) + 1)]
        + other[chance.randrange(len(other) + 1) :]
    )


def _cut(chance: random.Random, content: bytes, others: Sequence[bytes]) -> bytes:
    return content[: chance.randrange(len(content))]


def _with_number(
    chance: random.Random, content: bytes, others: Sequence[bytes]
) -> bytes:
    return _replaced(chance, content, _NUMBER, NUMBERS)


def _with_value(
    chance: random.Random, content: bytes, others: Sequence[bytes]
) -> bytes:
    return _replaced(chance, content, _VALUE, (*VALUES, *NUMBERS))


def _with_lines_moved(
    chance: random.Random, content: bytes, others: Sequence[bytes]
) -> bytes:
    lines = content.split(b"\n")
    chance.shuffle(lines)
    return b"\n".join(
        chance.choices(lines, k=len(lines)) if chance.random() < 0.5 else lines
    )


def _in_other_bytes(
    chance: random.Random, content: bytes, others: Sequence[bytes]
) -> bytes:
    encoding = chance.choice(("utf-16", "cp1252", "utf-8-sig", "utf-32"))
    return content.decode("utf-8", "replace").encode(encoding, "replace")


def _as_words(chance: random.Random, content: bytes, others: Sequence[bytes]) -> bytes:
    """Words of a longer text replaced, so that the file still reads and its answers change."""
    texts = [*_TEXT.finditer(content)]
    if not texts:
        return _with_lines_moved(chance, content, others)
    text = chance.choice(texts)
    words = text.group().split(b" ")
    for _ in range(chance.randint(1, 5)):
        words[chance.randrange(len(words))] = chance.choice(WORDS)
    return content[: text.start()] + b" ".join(words) + content[text.end() :]


BYTES: tuple[Mutation, ...] = (
    _flipped,
    _removed,
    _repeated,
    _inserted,
    _spliced,
    _cut,
    _in_other_bytes,
)
MUTATIONS: tuple[Mutation, ...] = (
    _flipped, _removed, _repeated, _inserted, _spliced, _cut, _with_number, _with_value, _with_value,
    _with_lines_moved, _in_other_bytes, _as_words, _as_words, _as_words,
    _as_words, _with_lines_moved, _with_lines_moved,
)  # fmt: skip


def mutated(chance: random.Random, content: bytes, others: Sequence[bytes]) -> bytes:
    for _ in range(chance.choice((1, 1, 1, 1, 1, 2, 4))):
        content = (
            chance.choice(MUTATIONS)(chance, content, others)
            if content
            else chance.choice(others)
        )
    return content


def _span(chance: random.Random, content: bytes) -> tuple[int, int]:
    begin = chance.randrange(len(content))
    return begin, min(len(content), begin + chance.choice((1, 4, 20, 200)))


def _replaced(
    chance: random.Random,
    content: bytes,
    pattern: re.Pattern[bytes],
    values: Sequence[bytes],
) -> bytes:
    found = [*pattern.finditer(content)]
    if not found:
        return content
    place = chance.choice(found)
    return content[: place.start()] + chance.choice(values) + content[place.end() :]


#: Of every kind that JSON has, and some that readers may take for what they look for.
JSON_VALUES = (
    None, True, False, 0, -1, 1.5, 1e308, 10**400, "", "x", "1", "NaN", "\ud800", "\0", "[1].", [], {}, [[]],
    [None], {"": None}, ["1", "1"], {"1": {"1": []}}, float("nan"), float("inf"),
)  # fmt: skip


def restructured(chance: random.Random, value: Any) -> Any:
    """Some values replaced, put deeper or twice, or taken out, wherever they stand."""
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        value = _restructured(chance, value)
    return value


def _restructured(chance: random.Random, value: Any) -> Any:
    if not isinstance(value, dict | list) or not value or chance.random() < 0.1:
        return copy.deepcopy(
            chance.choice((*JSON_VALUES, [value], {"id": value}, [value, value]))
        )
    key = chance.choice([*value] if isinstance(value, dict) else range(len(value)))
    how = chance.random()
    if how < 0.1:
        del value[key]
    elif how < 0.2 and isinstance(value, dict):
        value[chance.choice(("id", "x", "", "\ud800", f"{key} "))] = value.pop(key)
    elif how < 0.2:
        value.insert(key, copy.deepcopy(value[chance.randrange(len(value))]))
    else:
        value[key] = _restructured(chance, value[key])
    return value


def cells_changed(chance: random.Random, content: bytes, separator: bytes) -> bytes:
    """Cells of some lines changed, moved, added and taken out, and other separators and ends of lines."""
    lines = [line.split(separator) for line in content.splitlines()]
    for _ in range(chance.randint(1, 4)):
        line = chance.choice(lines)
        place = chance.randrange(len(line) + 1)
        how = chance.randrange(4)
        if how == 0:
            line.insert(
                place,
                chance.choice(
                    (*WORDS, *NUMBERS, b'"', b'""', b'"a\nb"', b"\0", b"\xff")
                ),
            )
        elif how == 1 and line:
            line[place - 1] = chance.choice(
                (*WORDS, *NUMBERS, b'"', b"\xc3", b"\r", b"\t")
            )
        elif how == 2 and len(line) > 1:
            del line[place - 1]
        else:
            chance.shuffle(line)
    between = chance.choice(
        (separator, separator, separator, b";", b"\t", separator * 2)
    )
    return chance.choice((b"\n", b"\n", b"\r\n", b"\r", b"\n\n")).join(
        map(between.join, lines)
    )
