"""Changes to a file that a person, a program or an enemy might make; all from one random source."""

import random
import re
from collections.abc import Callable, Sequence

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
    return content[:end] + content[begin:end] * chance.choice((1, 2, 50)) + content[end:]


def _inserted(chance: random.Random, content: bytes, others: Sequence[bytes]) -> bytes:
    place = chance.randrange(len(content) + 1)
    piece = chance.choice(PIECES).encode() * chance.choice((1, 1, 3, 200))
    return content[:place] + piece + content[place:]


def _spliced(chance: random.Random, content: bytes, others: Sequence[bytes]) -> bytes:
    other = chance.choice(others)
    return content[: chance.randrange(len(content) + 1)] + other[chance.randrange(len(other) + 1) :]


def _cut(chance: random.Random, content: bytes, others: Sequence[bytes]) -> bytes:
    return content[: chance.randrange(len(content))]


def _with_number(chance: random.Random, content: bytes, others: Sequence[bytes]) -> bytes:
    return _replaced(chance, content, _NUMBER, NUMBERS)


def _with_value(chance: random.Random, content: bytes, others: Sequence[bytes]) -> bytes:
    return _replaced(chance, content, _VALUE, (*VALUES, *NUMBERS))


def _with_lines_moved(chance: random.Random, content: bytes, others: Sequence[bytes]) -> bytes:
    lines = content.split(b"\n")
    chance.shuffle(lines)
    return b"\n".join(chance.choices(lines, k=len(lines)) if chance.random() < 0.5 else lines)


def _in_other_bytes(chance: random.Random, content: bytes, others: Sequence[bytes]) -> bytes:
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


MUTATIONS: tuple[Mutation, ...] = (
    _flipped, _removed, _repeated, _inserted, _spliced, _cut, _with_number, _with_value, _with_value,
    _with_lines_moved, _in_other_bytes, _as_words, _as_words, _as_words,
    _as_words, _with_lines_moved, _with_lines_moved,
)  # fmt: skip


def mutated(chance: random.Random, content: bytes, others: Sequence[bytes]) -> bytes:
    for _ in range(chance.choice((1, 1, 1, 1, 1, 2, 4))):
        content = chance.choice(MUTATIONS)(chance, content, others) if content else chance.choice(others)
    return content


def _span(chance: random.Random, content: bytes) -> tuple[int, int]:
    begin = chance.randrange(len(content))
    return begin, min(len(content), begin + chance.choice((1, 4, 20, 200)))


def _replaced(
    chance: random.Random, content: bytes, pattern: re.Pattern[bytes], values: Sequence[bytes]
) -> bytes:
    found = [*pattern.finditer(content)]
    if not found:
        return content
    place = chance.choice(found)
    return content[: place.start()] + chance.choice(values) + content[place.end() :]
