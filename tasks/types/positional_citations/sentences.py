"""Split texts into sentences, and assign each citation mark between two sentences to
one of the sentences.

On edited English, the rules give similar results to Punkt, the sentence splitter by
Kiss and Strunk. In contrast to Punkt, the abbreviations after which no sentence ends
are not learned but come from lists for scholarly prose.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tasks.types.positional_citations.markdown import (
    MARKDOWN_RULES_VERSION,
    MarkdownBlock,
    split_markdown_into_blocks,
)
from tasks.types.text import make_punkt_name, split_sentences_with_punkt

#: Metric signatures contain the version of the rules for splitting sentences.
#: Official rule sets use the splitting rules `rules-1`, and other rule sets `rules-2`.
#: The rules `rules-2` split each Markdown block separately, and `rules-1` do not.
#: Under the rules `rules-2`, the signs `。！？` also end a sentence.
SPLITTING_RULES_1, SPLITTING_RULES_2_PER_BLOCK = "rules-1", "rules-2"

#: `_SENTENCE_END_PATTERN` matches final punctuation of a sentence with closing quotation marks.
#: White space, a bracket or the end of the text must follow the matched punctuation.
_SENTENCE_END_PATTERN = re.compile(
    r"""(?<![.!?])(?P<stop>[.!?]++)(?:(?P<closing>["')\]}’”]++)(?=\s|$)|(?=\s|$|[\["'({]))"""
)
_LAST_WORD_PATTERN = re.compile(r"[^\s\"'(\[{‘“]+$")
#: Abbreviations before a full stop have at most `_MAX_ABBREVIATION_LENGTH` characters.
_MAX_ABBREVIATION_LENGTH = 12
_VISIBLE_CHARACTER = re.compile(r"\S")
_NEXT_WORD_PATTERN = re.compile(r"\s*[\"'(\[{‘“]*(?P<word>[\w’'-]+)")
_INITIALS_PATTERN = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]")


def _split_word_list(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: No sentence ends after an abbreviation in `_ABBREVIATIONS_BEFORE_NAMES`, such as `Prof`.
_ABBREVIATIONS_BEFORE_NAMES = _split_word_list("""
    adm brig capt cf col dr e.g eds eq eqs fig figs gen gov hon i.e lt maj messrs mme mr mrs ms prof rep rev
    sen sgt supt viz vs
""")
#: After an abbreviation in `_ABBREVIATIONS_BEFORE_NUMBERS`, such as `vol`, usually a number follows.
#: After an abbreviation in `_ABBREVIATIONS_BEFORE_NUMBERS`, a sentence ends if no number follows.
_ABBREVIATIONS_BEFORE_NUMBERS = _split_word_list(
    "art ch no nos nr op pp ref refs sec sect tab vol vols"
)
_DIGITS_OR_ROMAN_NUMERAL = re.compile(r"\d.*|[IVXLCDM]+")
#: Abbreviations in `_ABBREVIATIONS_THAT_MAY_END`, such as `etc`, may or may not end a sentence.
#: A sentence ends after `etc` if a capitalised word of `_WORDS_BEGINNING_SENTENCES` follows.
_ABBREVIATIONS_THAT_MAY_END = _split_word_list("""
    a.d a.m al approx apr assn aug ave b.c blvd bros co corp dec dept est etc feb ft inc jan jr jul jun ltd
    mar md mfg mt nov oct oz p.m ph.d pt rd sept sep sr st u.k u.n u.s univ v
""")
_WORDS_BEGINNING_SENTENCES = _split_word_list("""
    a according after all also although an and another any as at because before both but by currently despite
    due during each even every finally first for from furthermore given he her here his how however i if in
    indeed instead it its later many meanwhile moreover most my nevertheless next no nonetheless on once one
    only other others our overall several she similarly since so some such that the their then there therefore
    these they this those though through thus to today two under unlike until various we what when where
    whether which while who why with within you
""")

SentenceSplitter = Callable[[str], list[str]]


def split_sentences_by_rules(text: str) -> list[str]:
    """Return the sentences of a text, without the white space between them."""
    ends = []
    for end in _SENTENCE_END_PATTERN.finditer(text):
        before = _LAST_WORD_PATTERN.search(
            text, max(0, end.start() - _MAX_ABBREVIATION_LENGTH), end.start()
        )
        after = _NEXT_WORD_PATTERN.match(text, end.end())
        words = (
            before.group() if before else "",
            end["stop"],
            after["word"] if after else "",
        )
        if end["stop"].strip(".") or _is_end_of_sentence(*words):
            ends.append(end.end())
    sentences, begin = [], 0
    for place in [*ends, len(text.rstrip())]:
        if begin < place:
            sentences.append(text[begin:place])
        visible = _VISIBLE_CHARACTER.search(text, place)
        begin = visible.start() if visible else len(text)
    return sentences


SENTENCE_SPLITTERS_BY_NAME: dict[str, SentenceSplitter] = {
    "rules": split_sentences_by_rules,
    "punkt": split_sentences_with_punkt,
}


def make_splitter_name(option: str, *, is_official: bool = False) -> str:
    """Return the name and version of the sentence splitter, which metric signatures
    contain. Official rule sets split the whole text of an answer, and other rule sets
    split each Markdown block separately.
    """
    if option == "rules":
        return SPLITTING_RULES_1 if is_official else SPLITTING_RULES_2_PER_BLOCK
    return (
        make_punkt_name()
        if is_official
        else f"{make_punkt_name()}-{MARKDOWN_RULES_VERSION}"
    )


#: `_NON_LATIN_SENTENCE_END` matches ends of sentences in scripts such as Chinese without spaces.
#: The closing quotation marks or brackets after the punctuation are part of the match.
_NON_LATIN_SENTENCE_END = re.compile(r"""[。！？｡؟۔।॥]+["'”’»」』】）》〉]*""")


def split_into_claim_sentences(
    text: str,
    split: SentenceSplitter = split_sentences_by_rules,
    *,
    moves_marks: bool = False,
) -> list[str]:
    """Return those sentences of a Markdown text that make claims.

    The end of a Markdown list item is also the end of a sentence. Headings are left
    out, because headings make no claims. If a piece of text consists of citation marks
    without words, the marks are added to the preceding sentence. If ``moves_marks`` is
    True, citation marks at the beginning of a sentence are moved to the end of the
    preceding sentence.
    """
    sentences: list[str] = []
    leading = ""
    for block in split_markdown_into_blocks(text):
        pieces = _split_block(block, split) if block.makes_claims else []
        for piece in move_leading_marks_to_previous(pieces) if moves_marks else pieces:
            if has_word_outside_marks(piece):
                sentences.append(f"{leading}{piece}")
                leading = ""
            elif sentences:
                sentences[-1] += "".join(CITATION_MARK_PATTERN.findall(piece))
            else:
                leading += "".join(CITATION_MARK_PATTERN.findall(piece))
    return sentences


def split_into_sentences_and_headings(
    text: str, split: SentenceSplitter = split_sentences_by_rules
) -> list[str]:
    """Return all sentences of a Markdown text, including the headings."""
    return [
        piece
        for block in split_markdown_into_blocks(text)
        for piece in _split_block(block, split)
    ]


def has_word_outside_marks(text: str) -> bool:
    """Return True if the text contains a letter or digit outside the citation marks."""
    return any(map(str.isalnum, CITATION_MARK_PATTERN.sub("", text)))


def _split_block(block: MarkdownBlock, split: SentenceSplitter) -> list[str]:
    pieces = [
        piece for one in split(block.text) for piece in _split_at_non_latin_ends(one)
    ]
    # A list may be written within one line of text, and its numbers are removed.
    # If the text is a list item, the number at its beginning has already been removed.
    counts = [
        int(count[1])
        for piece in pieces
        if (count := _LIST_NUMBER_PATTERN.match(piece))
    ]
    first = 2 if block.is_item else 1
    is_list = counts == [*range(first, first + len(counts))]
    if is_list and (block.is_item or len(counts) > 1):
        pieces = [_LIST_NUMBER_PATTERN.sub("", piece) for piece in pieces]
    return [piece for piece in pieces if piece]


_LIST_NUMBER_PATTERN = re.compile(r"\A[(（]?([0-9]{1,3})[.)）](?:\s+|\Z)")


def _split_at_non_latin_ends(text: str) -> Iterator[str]:
    start = 0
    for end in _NON_LATIN_SENTENCE_END.finditer(text):
        yield text[start : end.end()].strip()
        start = end.end()
    if rest := text[start:].strip():
        yield rest


def move_leading_marks_to_previous(
    sentences: list[str], *, is_official: bool = False
) -> list[str]:
    """Move citation marks from the beginning of a sentence to the end of the preceding
    sentence.

    Under the official rules, only one citation mark of each sentence is moved, as in
    the released ALCE and ALiiCE programs. If the sentence begins with a square bracket,
    the official rules move its first citation mark, even from the middle of the
    sentence.
    """
    moved = list(sentences)
    for place in range(1, len(moved)):
        sentence = moved[place]
        if is_official:
            opening = (
                CITATION_MARK_PATTERN.search(sentence)
                if sentence.startswith("[")
                else None
            )
        else:
            opening = MARK_GROUP_PATTERN.match(sentence)
        if opening:
            moved[place - 1] += "".join(CITATION_MARK_PATTERN.findall(opening.group()))
            moved[place] = sentence[: opening.start()] + sentence[opening.end() :]
    return moved


def _is_end_of_sentence(before: str, stop: str, after: str) -> bool:
    word = before.lower()
    if len(stop) > 1:
        return not after[:1].islower()
    if word in _ABBREVIATIONS_BEFORE_NAMES:
        return False
    if word in _ABBREVIATIONS_BEFORE_NUMBERS:
        return not _DIGITS_OR_ROMAN_NUMERAL.fullmatch(after)
    if word in _ABBREVIATIONS_THAT_MAY_END or _INITIALS_PATTERN.fullmatch(word):
        return after.lower() in _WORDS_BEGINNING_SENTENCES and after[:1].isupper()
    return not (word.isdecimal() and after[:1].islower())


CITATION_MARK_PATTERN = re.compile(r"\[\d+\]")
#: `MARK_GROUP_PATTERN` matches a group of adjacent citation marks, which share a position.
MARK_GROUP_PATTERN = re.compile(r"\[\d+\](?:\s*\[\d+\])*")
#: `ALCE_MARK_PATTERN` matches a citation mark as ALCE does, which reads `[1, 2]` as mark 1.
ALCE_MARK_PATTERN = re.compile(r"\[\d+")
_SPACED_MARK_PATTERN = re.compile(r" ?\[\d+\]")
_SPACED_ALCE_MARK_PATTERN = re.compile(r" \[\d+")
#: `END_OF_ANSWER_MARK` is a token that some models write and that ALCE removes.
END_OF_ANSWER_MARK = "<|im_end|>"
#: Citation marks with more than `MAX_MARK_DIGITS` digits refer to no passage.
MAX_MARK_DIGITS = 9


#: `_CITATION_MARK_PATTERN` matches a citation of one or more passages in one pair of brackets.
#: Examples of citations are `[1, 2]`, `[1-3]`, `【1】`, `【2†source】` and `[^1]`.
_NUMBER_OR_RANGE_REGEX = r"\^?\d{1,3}(?:\s*[-‐‑‒–—−~～]\s*\^?\d{1,3})?"
_CITATION_MARK_PATTERN = re.compile(
    rf"[\[【［](?P<numbers>\s*{_NUMBER_OR_RANGE_REGEX}(?:\s*[,;、，；]\s*{_NUMBER_OR_RANGE_REGEX})*)"
    r"(?:†[^\]】\n]{0,40})?\s*[\]】］]"
)
#: `_LINKED_CITATION_PATTERN` matches citation marks with a web link or in double brackets.
_LINKED_CITATION_PATTERN = re.compile(
    r"\[\[\^?(\d{1,3})\]\](?:\((?:https?://|#)[^()\s]*\))?"
    r"|\[\^?(\d{1,3})\]\((?:https?://|#)[^()\s]*\)"
)
#: `MAX_PASSAGES_PER_CITATION` is the maximum number of passages in one citation.
#: Brackets with more than `MAX_PASSAGES_PER_CITATION` passage numbers are not read as a citation.
MAX_PASSAGES_PER_CITATION = 50


def expand_citations_to_single_marks(text: str) -> str:
    """Return the text with each citation divided into marks of one passage, so that
    `[1, 3-5]` becomes `[1][3][4][5]`.

    Passages are numbered from 1, so `[0, 1]` is taken for a mathematical interval and
    does not change.
    """
    if "【" not in text and "［" not in text and "[" not in text:
        return text
    linked = _LINKED_CITATION_PATTERN.sub(lambda mark: f"[{mark[1] or mark[2]}]", text)
    return _CITATION_MARK_PATTERN.sub(
        lambda citation: (
            "".join(map("[{}]".format, parse_cited_numbers(citation["numbers"])))
            or citation[0]
        ),
        linked,
    )


def parse_cited_numbers(numbers: str) -> list[int]:
    """Return the passage numbers in a citation such as `1, 3-5`, in the order of the
    text. Return an empty list if the text cannot be a citation, for example because of
    a number 0.
    """
    cited: list[int] = []
    for part in re.split(r"[,;、，；]", numbers):
        ends = [int(number) for number in re.findall(r"\d+", part)]
        if (
            ends[0] < 1
            or ends[-1] < ends[0]
            or ends[-1] - ends[0] >= MAX_PASSAGES_PER_CITATION
        ):
            return []
        cited += range(ends[0], ends[-1] + 1)
    return cited if len(cited) <= MAX_PASSAGES_PER_CITATION else []


#: `_UNSUPPORTED_CITATION_PATTERN` matches texts that look like citations in unsupported notations.
#: An unsupported notation has a word before the number, as in `[source 1]`.
#: “And” or only a space between numbers, and escaped brackets, are unsupported.
_UNSUPPORTED_CITATION_PATTERN = re.compile(
    r"""[\[【［]\s*(?:(?:sources?|docs?|documents?|passages?|refs?|references?|cit(?:e|ation)s?|id)\b|\#)
        [\s.:\#_-]*\d{1,3}[^\]】］\n]{0,40}[\]】］]
    |   [\[【［](?:doc|source|ref|passage)\d{1,3}[\]】］]
    |   \[\s*\d{1,3}(?:(?:\s*[,;]\s*|\s+(?:and|und|&)\s+|\s+)\d{1,3})*(?:\s*[,;])?\s*\]
    |   \\\[\s*\^?\d{1,3}[\d\s,;–-]*\\\]""",
    re.VERBOSE | re.IGNORECASE,
)
#: `_POSSIBLE_CITATION_PATTERN` matches possible citations in answers without recognised citations.
#: Superscript digits after a word or a punctuation mark may be citations.
#: Numbers in parentheses at the end of a sentence may also be citations.
_POSSIBLE_CITATION_PATTERN = re.compile(
    r"(?:(?<=[^\W\d_]{3})|(?<=[.,;!?]))[¹²³⁴-⁹]{1,3}|\(\d{1,3}\)(?=[.,;!?]|\s*$)",
    re.MULTILINE,
)


def find_unsupported_citations(text: str) -> list[str]:
    """Return the distinct texts that look like citations, but are in a notation that
    this module does not read.
    """
    read = {
        citation[0]: bool(parse_cited_numbers(citation["numbers"]))
        for citation in _CITATION_MARK_PATTERN.finditer(text)
        if not CITATION_MARK_PATTERN.fullmatch(citation[0])
    }
    found = [citation for citation, is_read in read.items() if not is_read]
    alike = [own[0] for own in _UNSUPPORTED_CITATION_PATTERN.finditer(text)]
    if not CITATION_MARK_PATTERN.search(expand_citations_to_single_marks(text)):
        alike += [own[0] for own in _POSSIBLE_CITATION_PATTERN.finditer(text)]
    found += [
        own
        for own in alike
        if own not in read and not CITATION_MARK_PATTERN.fullmatch(own)
    ]
    return list(dict.fromkeys(found))


def convert_to_text_without_marks(output: str) -> str:
    """Return the text of a Markdown answer without citation marks, with each block
    (such as a paragraph) on one line. Headings of the answer are part of the returned
    text.
    """
    text = expand_citations_to_single_marks(output).replace(END_OF_ANSWER_MARK, "")
    return "\n".join(
        remove_marks(block.text) for block in split_markdown_into_blocks(text)
    )


def remove_marks(text: str) -> str:
    """Return the text without citation marks, and without the space before each mark.
    Brackets that are not citation marks remain in the text.
    """
    return _SPACED_MARK_PATTERN.sub("", text)


def list_mark_numbers(text: str) -> list[int]:
    """Return the passage numbers in the citation marks of a text, in order and with
    repetitions.
    """
    return [parse_mark_number(match) for match in CITATION_MARK_PATTERN.findall(text)]


def parse_mark_number(mark: str) -> int:
    digits = mark.strip("[]")
    return int(digits) if len(digits) <= MAX_MARK_DIGITS else 10**MAX_MARK_DIGITS


def remove_marks_like_alce(text: str) -> str:
    """Return the text without citation marks, without the space before each mark, and
    without closing brackets, as ALCE does.

    ALCE removes only the first number of a citation, so `in 1889 [1, 2].` becomes `in
    1889, 2.` in the result. Like ALCE, also remove each vertical bar that follows a
    space.
    """
    return (
        ALCE_MARK_PATTERN.sub("", _SPACED_ALCE_MARK_PATTERN.sub("", text))
        .replace(" |", "")
        .replace("]", "")
    )


def get_first_line(output: str) -> str:
    """Return the first line of an answer, because the released ALCE program ignores all
    other lines.
    """
    return output.strip().partition("\n")[0].replace(END_OF_ANSWER_MARK, "")


def is_mark_in_range(mark: int, passages: int, *, is_official: bool = False) -> bool:
    """Return True if the question has a passage with the number ``mark``. Under the
    official rules, the citation mark `[0]` is also valid, and refers to the last
    passage as in the released programs.
    """
    return (0 if is_official and passages else 1) <= mark <= passages


def are_marks_in_range(
    marks: Sequence[int], passages: int, *, is_official: bool = False
) -> bool:
    """Return True if ``marks`` is not empty, and the question has a passage for each
    mark.
    """
    return bool(marks) and all(
        is_mark_in_range(mark, passages, is_official=is_official) for mark in marks
    )


#: `_SENTENCE_UNIT_PATTERN` matches a unit of a sentence, in which positions of marks are counted.
#: A unit is a group of adjacent citation marks, or a word with its hyphens.
#: Every other character except white space is also a unit.
_SENTENCE_UNIT_PATTERN = re.compile(
    rf"(?P<marks>{MARK_GROUP_PATTERN.pattern})|[^\W_]+(?:[-'’][^\W_]+)*|[^\w\s]|_"
)
_WORD_CHARACTER_PATTERN = re.compile(r"\w")


@dataclass(frozen=True)
class RelativeMarkPositions:
    """The relative positions of the citation marks in a sentence, as numbers from 0 to
    1.

    ``units`` contains the position of each mark in units (words, signs and groups of
    marks, counted from 1), divided by the number of units in the sentence. ``offsets``
    contains the number of characters before each mark, divided by the number of
    characters in the sentence. ``is_positional`` is True if a word follows the first
    citation mark of the sentence.
    """

    units: tuple[float, ...]
    offsets: tuple[float, ...]
    is_positional: bool


@lru_cache(maxsize=1024)
def compute_mark_positions(sentence: str) -> RelativeMarkPositions:
    """Return the positions of the citation marks in a sentence. The positions are
    cached, because several metrics need the positions in the same sentence.
    """
    units = list(_SENTENCE_UNIT_PATTERN.finditer(sentence))
    numbers: list[float] = []
    for position, unit in enumerate(units, start=1):
        numbers += [position / len(units)] * len(
            CITATION_MARK_PATTERN.findall(unit["marks"] or "")
        )
    offsets = [
        match.start() / len(sentence)
        for match in CITATION_MARK_PATTERN.finditer(sentence)
    ]
    first = CITATION_MARK_PATTERN.search(sentence)
    behind = CITATION_MARK_PATTERN.sub("", sentence[first.end() :]) if first else ""
    return RelativeMarkPositions(
        tuple(numbers), tuple(offsets), bool(_WORD_CHARACTER_PATTERN.search(behind))
    )


def name_third_of_sentence(position: float) -> str:
    """Return the third of the sentence (first, second or last) in which a relative
    position lies.
    """
    return ("first third", "second third", "last third")[min(int(position * 3), 2)]
