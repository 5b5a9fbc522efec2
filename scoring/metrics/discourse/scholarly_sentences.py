"""Sentences of scholarly text by rules of our own: general splitters break at “et al. (” and “Fig.”."""

from __future__ import annotations

import re
from collections.abc import Iterator

#: Named in every data sheet; raised when a rule changes.
RULES = "citeboard-sentences-1"

#: After these a full stop ends no sentence, whatever follows.
_NEVER_LAST = frozenset(
    (
        *("al", "et", "e.g", "i.e", "cf", "vs", "viz", "resp", "approx", "ca", "no", "nos", "vol", "pp"),
        *("fig", "figs", "tab", "eq", "eqs", "eqn", "sec", "secs", "sect", "ref", "refs", "ch", "chap"),
        *("thm", "lem", "prop", "cor", "def", "app", "ed", "eds"),
        *("dr", "prof", "mr", "mrs", "ms", "st", "jr", "dept", "univ"),
    )
)
#: After these it may end one, where the next word looks like a beginning.
_SELDOM_LAST = frozenset(("etc", "inc", "ltd", "co", "corp", "a.m", "p.m"))
_END = re.compile(r"(?<![.?!])[.?!]++[\"'”’)\]\ue000]*+(?=\s|$)")
_NEXT = re.compile(r"\s*+(\S)")
#: No longer word is looked at before a full stop.
_MAX_WORD = 64
_BEGINNING = re.compile(r"[\"'“‘(\[\s]*(?:[A-Z0-9À-ÖØ-ÞΑ-Ω]|\ue000|<|\\|\$|\{\{)")
_INITIAL = re.compile(r"(?:^|[\s(.\-])[A-ZÀ-Þ]$")


def sentence_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where each sentence begins and ends, without the blanks around it.

    Citation marks are expected as the character U+E000; one directly behind a full stop, as in superscript
    styles, belongs to the sentence before it.
    """
    start = 0
    for found in _END.finditer(text):
        if found.end() < len(text) and not _ends_here(text, start, found):
            continue
        if span := _stripped(text, start, found.end()):
            yield span
        start = found.end()
    if span := _stripped(text, start, len(text)):
        yield span


def _ends_here(text: str, start: int, found: re.Match[str]) -> bool:
    if not _BEGINNING.match(text, found.end()):
        return False
    if not found[0].startswith("."):
        return True
    before = text[max(start, found.start() - _MAX_WORD) : found.start()]
    word = re.split(r"[\s(\[]", before)[-1].rstrip("\"'”’")
    lowered = word.lower().strip("([{")
    if lowered in _NEVER_LAST or _INITIAL.search(before):
        return False
    # “etc. The” ends, “etc. (2” does not.
    following = _NEXT.match(text, found.end())
    return lowered not in _SELDOM_LAST or bool(following and following[1].isupper())


def _stripped(text: str, start: int, end: int) -> tuple[int, int] | None:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return (start, end) if start < end else None
