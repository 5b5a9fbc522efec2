"""Where sentences end, and to which of two a mark between them belongs.

The rules are those that Kiss and Strunk's Punkt comes down to in edited English, with lists of abbreviations
of our own for scholarly prose instead of learned ones: `et al.`, `Fig. 3` and `J. Smith` end nothing.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tasks.types.positional_citations.markdown import VERSION, Block, blocks
from tasks.types.text import punkt_name, punkt_sentences

#: Part of the signature; another number where the rules split differently. Outside of the official rule sets
#: they split the blocks of Markdown, and `。！？` end sentences too.
RULES, RULES_IN_BLOCKS = "rules-1", "rules-2"

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


def splitter_name(option: str, *, is_official: bool = False) -> str:
    """Return what a signature calls the splitter: of a whole text, or of the blocks of Markdown."""
    if option == "rules":
        return RULES if is_official else RULES_IN_BLOCKS
    return punkt_name() if is_official else f"{punkt_name()}-{VERSION}"


#: What ends sentences of scripts that put no space behind it, and what closes behind that.
_WIDE_END = re.compile(r"""[。！？｡؟۔।॥]+["'”’»」』】）》〉]*""")


def sentences_of(
    text: str, split: Splitter = by_rules, *, moves_marks: bool = False
) -> list[str]:
    """Return the sentences of a text in Markdown that make claims.

    A list item is one sentence at least, headings are none. A piece without a word adds its marks to the
    sentence before it; with ``moves_marks`` a sentence does so with the marks at its beginning.
    """
    sentences: list[str] = []
    leading = ""
    for block in blocks(text):
        pieces = _pieces(block, split) if block.makes_claims else []
        for piece in with_marks_moved(pieces) if moves_marks else pieces:
            if has_word(piece):
                sentences.append(f"{leading}{piece}")
                leading = ""
            elif sentences:
                sentences[-1] += "".join(MARK.findall(piece))
            else:
                leading += "".join(MARK.findall(piece))
    return sentences


def lines_of(text: str, split: Splitter = by_rules) -> list[str]:
    """Return the pieces of a text in Markdown, headings among them."""
    return [piece for block in blocks(text) for piece in _pieces(block, split)]


def has_word(text: str) -> bool:
    """Whether a text has a letter or digit besides its marks."""
    return any(map(str.isalnum, MARK.sub("", text)))


def _pieces(block: Block, split: Splitter) -> list[str]:
    pieces = [
        piece for one in split(block.text) for piece in _cut_behind_wide_ends(one)
    ]
    # The numbers of a list whose items stand in one line, of which the block has lost the first.
    counts = [int(count[1]) for piece in pieces if (count := _COUNT.match(piece))]
    first = 2 if block.is_item else 1
    is_list = counts == [*range(first, first + len(counts))]
    if is_list and (block.is_item or len(counts) > 1):
        pieces = [_COUNT.sub("", piece) for piece in pieces]
    return [piece for piece in pieces if piece]


_COUNT = re.compile(r"\A[(（]?([0-9]{1,3})[.)）](?:\s+|\Z)")


def _cut_behind_wide_ends(text: str) -> Iterator[str]:
    start = 0
    for end in _WIDE_END.finditer(text):
        yield text[start : end.end()].strip()
        start = end.end()
    if rest := text[start:].strip():
        yield rest


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
_SPACED_MARK = re.compile(r" ?\[\d+\]")
_SPACED_ALCE_MARK = re.compile(r" \[\d+")
#: What models leave at the end of an answer; ALCE removes it.
END_OF_ANSWER = "<|im_end|>"
#: More digits than any list of passages has; the number is then as large as it takes.
MAX_DIGITS = 9


#: A citation of one or several passages: `[1, 2]`, `[1-3]`, `【1】`, `【2†source】`, `[^1]`.
_NUMBER_OR_RANGE = r"\^?\d{1,3}(?:\s*[-‐‑‒–—−~～]\s*\^?\d{1,3})?"
_CITATION = re.compile(
    rf"[\[【［](?P<numbers>\s*{_NUMBER_OR_RANGE}(?:\s*[,;、，；]\s*{_NUMBER_OR_RANGE})*)"
    r"(?:†[^\]】\n]{0,40})?\s*[\]】］]"
)
#: A mark with a link behind it, or in two brackets.
_LINKED = re.compile(
    r"\[\[\^?(\d{1,3})\]\](?:\((?:https?://|#)[^()\s]*\))?"
    r"|\[\^?(\d{1,3})\]\((?:https?://|#)[^()\s]*\)"
)
#: So many passages are cited by one citation; with more it is no citation.
MAX_CITED = 50


def with_plain_marks(text: str) -> str:
    """Return the text with every citation as marks of one passage each: `[1, 3-5]` as `[1][3][4][5]`.

    Passages are counted from 1, so that `[0, 1]` is an interval and stays as it is.
    """
    if "【" not in text and "［" not in text and "[" not in text:
        return text
    linked = _LINKED.sub(lambda mark: f"[{mark[1] or mark[2]}]", text)
    return _CITATION.sub(
        lambda citation: (
            "".join(map("[{}]".format, cited_numbers(citation["numbers"])))
            or citation[0]
        ),
        linked,
    )


def cited_numbers(numbers: str) -> list[int]:
    """Return what a citation such as `1, 3-5` names, in order; nothing where it is none."""
    cited: list[int] = []
    for part in re.split(r"[,;、，；]", numbers):
        ends = [int(number) for number in re.findall(r"\d+", part)]
        if ends[0] < 1 or ends[-1] < ends[0] or ends[-1] - ends[0] >= MAX_CITED:
            return []
        cited += range(ends[0], ends[-1] + 1)
    return cited if len(cited) <= MAX_CITED else []


def unread_citations(text: str) -> list[str]:
    """Return what looks like a citation of several passages and is none, each once."""
    found = {
        citation[0]: None
        for citation in _CITATION.finditer(text)
        if not MARK.fullmatch(citation[0]) and not cited_numbers(citation["numbers"])
    }
    return list(found)


def plain_text(output: str) -> str:
    """Return all text of an answer in Markdown, headings too, without marks; a line for each block."""
    text = with_plain_marks(output).replace(END_OF_ANSWER, "")
    return "\n".join(without_plain_marks(block.text) for block in blocks(text))


def without_plain_marks(text: str) -> str:
    """Return the text without its marks and the space before each; other brackets stay."""
    return _SPACED_MARK.sub("", text)


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
