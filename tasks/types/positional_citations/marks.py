"""Citation marks in a text: `[3]` stands for the third passage."""

from __future__ import annotations

import re
from collections.abc import Sequence

MARK = re.compile(r"\[\d+\]")
#: Marks side by side, with or without space between them: they stand at one place.
RUN_OF_MARKS = re.compile(r"\[\d+\](?:\s*\[\d+\])*")
#: A mark as ALCE finds it: `[1, 2]` is mark 1.
ALCE_MARK = re.compile(r"\[\d+")
_SPACED_ALCE_MARK = re.compile(r" \[\d+")
#: What models leave at the end of an answer; ALCE removes it.
END_OF_ANSWER = "<|im_end|>"
#: More digits than any list of passages has; the number is then as large as it takes.
MAX_DIGITS = 9


def marks(text: str) -> list[int]:
    """The marks of a text, in order, each as often as it stands there."""
    return [number(found) for found in MARK.findall(text)]


def alce_marks(text: str) -> list[int]:
    return [number(found) for found in ALCE_MARK.findall(text)]


def number(mark: str) -> int:
    digits = mark.strip("[]")
    return int(digits) if len(digits) <= MAX_DIGITS else 10**MAX_DIGITS


def without_marks(text: str) -> str:
    """The text as ALCE removes marks: each with the space before it, and every closing bracket.

    What stood in brackets behind a mark stays: `in 1889 [1, 2].` becomes `in 1889, 2.`. A bar after a space
    goes as well.
    """
    unmarked = ALCE_MARK.sub("", _SPACED_ALCE_MARK.sub("", text))
    return unmarked.replace(" |", "").replace("]", "")


def first_line(output: str) -> str:
    """All that ALCE reads of an answer."""
    return output.strip().split("\n", 1)[0].replace(END_OF_ANSWER, "")


def is_in_range(mark: int, passages: int, *, is_official: bool = False) -> bool:
    """Whether a mark stands for a passage. In the released programs `[0]` stands for the last one."""
    return (0 if is_official and passages else 1) <= mark <= passages


def are_in_range(marks: Sequence[int], passages: int, *, is_official: bool = False) -> bool:
    """Whether there are marks, and all of them stand for passages."""
    return bool(marks) and all(is_in_range(mark, passages, is_official=is_official) for mark in marks)
