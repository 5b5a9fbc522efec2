"""From a sentence to its words and to the words that its marks belong to: what is parsed."""

from __future__ import annotations

import re
import string
from dataclasses import dataclass

from tasks.types.positional_citations.marks import MARK, number

_NEITHER_WORD_NOR_MARK = re.compile(r"[^\w\s\[\],]")
_AROUND_MARKS = re.compile(f"({MARK.pattern})")
#: What words lose at both ends. The comma stays, as it does in the figures of the paper.
STRIPPED = string.punctuation.replace(",", "")
STRIPPED_OFFICIAL = string.punctuation

Marks = tuple[int, ...]


@dataclass(frozen=True)
class Words:
    """A sentence without its marks, and each group of marks by the number of the word before it.

    ``lost`` counts groups that another group at the same word replaced.
    """

    words: tuple[str, ...]
    groups: dict[int, Marks]
    lost: int = 0

    @property
    def text(self) -> str:
        """What is parsed. An empty word, which was only punctuation, shows as two spaces."""
        return " ".join(self.words)


def cleaned(sentence: str) -> str:
    """Letters, digits, underscores, white space, commas and square brackets."""
    return _NEITHER_WORD_NOR_MARK.sub("", sentence)


def words_and_groups(text: str, *, stripped: str = STRIPPED, merge: bool = False) -> Words:
    """Split a cleaned sentence.

    Neighbouring marks are one group, which belongs to the word before it, or to the first word where there
    is none. Of two groups at one word, as around a comma that is no word, the later one stays, unless they
    are to ``merge``.
    """
    words: list[str] = []
    groups: dict[int, Marks] = {}
    group: list[int] = []
    lost = 0
    for piece in _pieces(text):
        if MARK.fullmatch(piece):
            group.append(number(piece))
            continue
        lost += join(groups, max(len(words) - 1, 0), tuple(group), merge=merge)
        group = []
        words.append(piece.strip(stripped))
    lost += join(groups, max(len(words) - 1, 0), tuple(group), merge=merge)
    return Words(tuple(words), groups, lost)


def join(groups: dict[int, Marks], place: int, group: Marks, *, merge: bool) -> int:
    """Put a group at its place; returns how many groups are lost by that."""
    if not group:
        return 0
    before = groups.get(place, ())
    groups[place] = (*before, *group) if merge else group
    return int(bool(before) and not merge)


def _pieces(text: str) -> list[str]:
    return [piece for word in text.split() for piece in _AROUND_MARKS.split(word) if piece]
