"""Where sentences end, and to which of two a mark between them belongs.

The rules are those that Kiss and Strunk's Punkt comes down to in edited English, with lists of abbreviations
of our own for scholarly prose instead of learned ones: `et al.`, `Fig. 3` and `J. Smith` end nothing.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tasks.types.text import punkt_name, punkt_sentences

#: Part of the signature; another number where the rules split differently.
RULES = "rules-1"

#: Full stops, question and exclamation marks and what closes behind them, before white space or a mark.
_END = re.compile(
    r"""(?<![.!?])(?P<stop>[.!?]++)(?:(?P<closing>["')\]}’”]++)(?=\s|$)|(?=\s|$|[\["'({]))"""
)
_LAST_WORD = re.compile(r"[^\s\"'(\[{‘“]+$")
#: No longer word is looked at before a full stop.
_MAX_ABBREVIATION = 12
_VISIBLE = re.compile(r"\S")
_NEXT_WORD = re.compile(r"\s*[\"'(\[{‘“]*(?P<word>[\w’'-]+)")
_INITIALS = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Before a name; a sentence does not end on them.
_BEFORE_NAMES = _words("""
    adm brig capt cf col dr e.g eds eq eqs fig figs gen gov hon i.e lt maj messrs mme mr mrs ms prof rep rev
    sen sgt supt viz vs
""")
#: Before a number; before anything else they are words like others, on which a sentence may end.
_BEFORE_NUMBERS = _words("art ch no nos nr op pp ref refs sec sect tab vol vols")
_NUMBER = re.compile(r"\d.*|[IVXLCDM]+")
#: Within a sentence or at its end: a new one begins where the next word is one that often begins sentences.
_ANYWHERE = _words("""
    a.d a.m al approx apr assn aug ave b.c blvd bros co corp dec dept est etc feb ft inc jan jr jul jun ltd
    mar md mfg mt nov oct oz p.m ph.d pt rd sept sep sr st u.k u.n u.s univ v
""")
_BEGINNINGS = _words("""
    a according after all also although an and another any as at because before both but by currently despite
    due during each even every finally first for from furthermore given he her here his how however i if in
    indeed instead it its later many meanwhile moreover most my nevertheless next no nonetheless on once one
    only other others our overall several she similarly since so some such that the their then there therefore
    these they this those though through thus to today two under unlike until various we what when where
    whether which while who why with within you
""")

Splitter = Callable[[str], list[str]]


def by_rules(text: str) -> list[str]:
    """The sentences of a text, without the white space between them."""
    ends = []
    for end in _END.finditer(text):
        before = _LAST_WORD.search(
            text, max(0, end.start() - _MAX_ABBREVIATION), end.start()
        )
        after = _NEXT_WORD.match(text, end.end())
        words = (
            before.group() if before else "",
            end["stop"],
            after["word"] if after else "",
        )
        if end["stop"].strip(".") or _ends_sentence(*words):
            ends.append(end.end())
    sentences, begin = [], 0
    for place in [*ends, len(text.rstrip())]:
        if begin < place:
            sentences.append(text[begin:place])
        visible = _VISIBLE.search(text, place)
        begin = visible.start() if visible else len(text)
    return sentences


SPLITTERS: dict[str, Splitter] = {"rules": by_rules, "punkt": punkt_sentences}


def splitter_name(option: str) -> str:
    """What a signature calls the splitter."""
    return RULES if option == "rules" else punkt_name()


def with_marks_moved(sentences: list[str], *, is_official: bool = False) -> list[str]:
    """Marks at the beginning of a sentence belong to the end of the one before. The released program moves
    one mark of each sentence only: the first of a sentence that begins with a bracket, wherever in it that
    mark stands.
    """
    moved = list(sentences)
    for place in range(1, len(moved)):
        sentence = moved[place]
        if is_official:
            opening = MARK.search(sentence) if sentence.startswith("[") else None
        else:
            opening = RUN_OF_MARKS.match(sentence)
        if opening:
            moved[place - 1] += "".join(MARK.findall(opening.group()))
            moved[place] = sentence[: opening.start()] + sentence[opening.end() :]
    return moved


def _ends_sentence(before: str, stop: str, after: str) -> bool:
    """Whether a full stop after one word and before another ends a sentence."""
    word = before.lower()
    if len(stop) > 1:
        return not after[:1].islower()
    if word in _BEFORE_NAMES:
        return False
    if word in _BEFORE_NUMBERS:
        return not _NUMBER.fullmatch(after)
    if word in _ANYWHERE or _INITIALS.fullmatch(word):
        return after.lower() in _BEGINNINGS and after[:1].isupper()
    return not (word.isdecimal() and after[:1].islower())


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
    return [number(match) for match in MARK.findall(text)]


def number(mark: str) -> int:
    digits = mark.strip("[]")
    return int(digits) if len(digits) <= MAX_DIGITS else 10**MAX_DIGITS


def without_marks(text: str) -> str:
    """The text as ALCE removes marks: each with the space before it, and every closing bracket. What stood in
    brackets behind a mark stays: `in 1889 [1, 2].` becomes `in 1889, 2.`. A bar after a space goes as well.
    """
    return (
        ALCE_MARK.sub("", _SPACED_ALCE_MARK.sub("", text))
        .replace(" |", "")
        .replace("]", "")
    )


def first_line(output: str) -> str:
    """All that ALCE reads of an answer."""
    return output.strip().partition("\n")[0].replace(END_OF_ANSWER, "")


def is_in_range(mark: int, passages: int, *, is_official: bool = False) -> bool:
    """Whether a mark stands for a passage. In the released programs `[0]` stands for the last one."""
    return (0 if is_official and passages else 1) <= mark <= passages


def are_in_range(
    marks: Sequence[int], passages: int, *, is_official: bool = False
) -> bool:
    """Whether there are marks, and all of them stand for passages."""
    return bool(marks) and all(
        is_in_range(mark, passages, is_official=is_official) for mark in marks
    )


#: Neighbouring marks, a word with its inner hyphens and apostrophes, or any other character but white space.
_UNIT = re.compile(
    rf"(?P<marks>{RUN_OF_MARKS.pattern})|[^\W_]+(?:[-'’][^\W_]+)*|[^\w\s]|_"
)
_WORD = re.compile(r"\w")


@dataclass(frozen=True)
class Positions:
    """A position between 0 and 1 for each mark of a sentence. ``units`` are numbers of the unit, from 1, over
    the number of units; ``offsets`` are characters before the mark over characters of the sentence, marks
    included.
    """

    units: tuple[float, ...]
    offsets: tuple[float, ...]
    is_positional: bool


@lru_cache(maxsize=1024)
def positions(sentence: str) -> Positions:
    """Positional is a sentence in which a word follows a mark. A sentence is looked at for several rows, one
    soon after the other.
    """
    units = list(_UNIT.finditer(sentence))
    numbers: list[float] = []
    for place, unit in enumerate(units, start=1):
        numbers += [place / len(units)] * len(MARK.findall(unit["marks"] or ""))
    offsets = [match.start() / len(sentence) for match in MARK.finditer(sentence)]
    first = MARK.search(sentence)
    behind = MARK.sub("", sentence[first.end() :]) if first else ""
    return Positions(tuple(numbers), tuple(offsets), bool(_WORD.search(behind)))


def third(position: float) -> str:
    """The third of its sentence that a position lies in."""
    return ("first third", "second third", "last third")[min(int(position * 3), 2)]
