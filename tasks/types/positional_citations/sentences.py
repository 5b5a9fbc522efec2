"""Where sentences end, and to which of two a mark between them belongs.

The rules are those that Kiss and Strunk's Punkt comes down to in edited English, with lists of abbreviations
of our own for scholarly prose instead of learned ones: `et al.`, `Fig. 3` and `J. Smith` end nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from tasks.types.positional_citations.marks import MARK, RUN_OF_MARKS
from tasks.types.punkt import punkt_name, punkt_sentences

#: Part of the signature; another number where the rules split differently.
RULES = "rules-1"

#: Full stops, question and exclamation marks and what closes behind them, before white space or a mark.
_END = re.compile(r"""(?<![.!?])(?P<stop>[.!?]++)(?:(?P<closing>["')\]}’”]++)(?=\s|$)|(?=\s|$|[\["'({]))""")
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
    found, begin = [], 0
    for end in [*_ends(text), len(text.rstrip())]:
        if begin < end:
            found.append(text[begin:end])
        visible = _VISIBLE.search(text, end)
        begin = visible.start() if visible else len(text)
    return found


SPLITTERS: dict[str, Splitter] = {"rules": by_rules, "punkt": punkt_sentences}


def splitter_name(option: str) -> str:
    """What a signature calls the splitter."""
    return RULES if option == "rules" else punkt_name()


def with_marks_moved(sentences: list[str], *, is_official: bool = False) -> list[str]:
    """Marks at the beginning of a sentence belong to the end of the one before.

    The released program moves one mark of each sentence only: the first of a sentence that begins with a
    bracket, wherever in it that mark stands.
    """
    moved = list(sentences)
    for place in range(1, len(moved)):
        found = _opening_marks(moved[place], is_official=is_official)
        if found:
            moved[place - 1] += "".join(MARK.findall(found.group()))
            moved[place] = moved[place][: found.start()] + moved[place][found.end() :]
    return moved


def _opening_marks(sentence: str, *, is_official: bool) -> re.Match[str] | None:
    if is_official:
        return MARK.search(sentence) if sentence.startswith("[") else None
    return RUN_OF_MARKS.match(sentence)


def _ends(text: str) -> Iterator[int]:
    for end in _END.finditer(text):
        before = _LAST_WORD.search(text, max(0, end.start() - _MAX_ABBREVIATION), end.start())
        after = _NEXT_WORD.match(text, end.end())
        if end["stop"].strip(".") or _ends_sentence(
            before.group() if before else "", end["stop"], after["word"] if after else ""
        ):
            yield end.end()


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
    if word.isdecimal():
        return not after[:1].islower()
    return True
