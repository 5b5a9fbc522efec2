"""Divide an answer in Markdown into blocks, and determine the blocks that make claims.

The rules follow CommonMark 0.31 and the tables of GitHub, as far as chat models use
this syntax. The lines of the answer are read once, from the first to the last.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from itertools import pairwise

#: `MARKDOWN_RULES_VERSION` is the version of the rules for Markdown, which metric signatures contain.
#: `MARKDOWN_RULES_VERSION` must be increased when a change of the rules splits any text differently.
MARKDOWN_RULES_VERSION = "markdown-1"

#: The patterns of block quotes, bullets and list items match signs at line beginnings.
_BLOCK_QUOTE_PATTERN = re.compile(r"\s*>\s?")
_BULLET_PATTERN = re.compile(r"\s*(?:[-*+•◦▪▫●○‣·–—](?=\s)(?:\s+\[[ xX]\](?=\s))?)\s*")
_LIST_NUMBER_PATTERN = re.compile(
    r"\s*(?:[(（]?\d{1,3}(?:[.)](?=\s|[^\x00-\x7f])|[、．）])"
    r"|[①-⑳]|[一二三四五六七八九十]{1,3}、|[(（][一二三四五六七八九十]{1,3}[)）])\s*"
)
_LIST_LETTER_PATTERN = re.compile(
    r"\s*[(（]?(?P<letter>[A-Za-z]|[ivxIVX]{2,5})[.)）](?=\s)\s*"
)
_ROMAN_NUMERALS = (
    "i",
    "ii",
    "iii",
    "iv",
    "v",
    "vi",
    "vii",
    "viii",
    "ix",
    "x",
    "xi",
    "xii",
)

_HEADING_PATTERN = re.compile(r" {0,3}#{1,6}(?:\s+|$)(?P<text>.*)")
_CODE_FENCE_PATTERN = re.compile(r"\s*(?:```+|~~~+)\s*[\w+-]*\s*$")
#: `_FOOTNOTE_DEFINITION_PATTERN` matches Markdown lines that define a footnote or a numbered source.
_FOOTNOTE_DEFINITION_PATTERN = re.compile(r"\s*\[\^?\d{1,3}\]:(?:\s|$)")
#: `_EMPTY_BULLET_OR_ALERT` matches a bullet without text, or a GitHub alert such as `[!NOTE]`.
_EMPTY_BULLET_OR_ALERT = re.compile(r"[-*+•◦▪▫●○‣·–—]|\[![A-Z]+\]")
#: `_STYLE_TAG_PATTERN` matches HTML tags for type styles, which are removed from Markdown.
_STYLE_TAG_PATTERN = re.compile(r"</?(?:sup|sub|b|i|u|em|strong)>")
_LINE_BREAK_TAG_PATTERN = re.compile(r"<br ?/?>")
_BOLD_LINE_PATTERN = re.compile(
    r"(?P<sign>\*\*|__)(?=\S)(?P<text>[^*\[\]]*[^*\[\]\s])(?P=sign)[:：]?"
)
_SENTENCE_END_SIGNS = (".", "!", "?", "。", "！", "？")
#: A Markdown line with an ending in `_HARD_BREAK_ENDINGS` ends its paragraph.
_HARD_BREAK_ENDINGS = ("  ", "\\")
_DELIMITER_ROW_CHARACTERS = frozenset("|-: \t>")
_EMPHASIS_PATTERN = re.compile(r"\*{1,3}|_{1,3}")


@dataclass(frozen=True)
class MarkdownBlock:
    """A paragraph, list item, table row or heading of a Markdown answer, as one line of
    text without Markdown syntax. ``makes_claims`` is False for headings and for header
    rows of tables.
    """

    text: str
    makes_claims: bool = True
    is_item: bool = False


def split_markdown_into_blocks(text: str) -> list[MarkdownBlock]:
    """Return the paragraphs, list items, table rows and headings of a Markdown text, in
    their order. Blocks of the Markdown text that contain no text are left out.
    """
    found = (
        replace(
            block,
            text=remove_emphasis_signs(
                _LINE_BREAK_TAG_PATTERN.sub(" ", _STYLE_TAG_PATTERN.sub("", block.text))
            ),
        )
        for block in _join_lines(text.splitlines())
    )
    return [block for block in found if block.text]


class _LineKind(Enum):
    END, HEADING, ROW, ITEM, TEXT = range(5)


def _join_lines(lines: list[str]) -> Iterator[MarkdownBlock]:
    """Join the lines of each paragraph and of each list item in a Markdown text."""
    paragraph: list[str] = []
    is_item = False
    for kind, text in _classify_lines(lines):
        if paragraph and kind is not _LineKind.TEXT:
            yield MarkdownBlock(" ".join(paragraph), is_item=is_item)
            paragraph = []
        if kind in (_LineKind.HEADING, _LineKind.ROW):
            yield MarkdownBlock(text, makes_claims=kind is _LineKind.ROW)
        elif kind is not _LineKind.END:
            is_item = is_item if paragraph else kind is _LineKind.ITEM
            paragraph.append(text)
    if paragraph:
        yield MarkdownBlock(" ".join(paragraph), is_item=is_item)


def _classify_lines(lines: list[str]) -> Iterator[tuple[_LineKind, str]]:
    """Yield the kind of each Markdown line, such as heading or list item, and the text
    of the line without Markdown syntax.
    """
    listed = _find_list_letters(lines)
    is_in_table = is_in_paragraph = False
    for line, following in pairwise([*lines, ""]):
        quoted = _skip_repeated_matches(_BLOCK_QUOTE_PATTERN, line)
        bare = line[quoted:].strip()
        is_below_header = is_in_table
        is_in_table = "|" in bare and (
            is_in_table or _is_table_delimiter_row(following)
        )
        if is_in_table or _has_outer_table_bars(bare):
            is_header = is_in_table and not is_below_header
            found = (
                _LineKind.HEADING if is_header else _LineKind.ROW,
                _join_cell_texts(bare),
            )
        elif _is_line_without_text(bare):
            found = _LineKind.END, ""
        else:
            found = _classify_text_line(line, quoted, following, listed)
            if not is_in_paragraph and _is_underlined(found[1], following):
                found = _LineKind.HEADING, found[1]
        is_in_paragraph = found[0] in (_LineKind.ITEM, _LineKind.TEXT)
        if not (is_in_table and _is_table_delimiter_row(bare)):
            yield found
        if is_in_paragraph and line.endswith(_HARD_BREAK_ENDINGS):
            is_in_paragraph = False
            yield _LineKind.END, ""


def _classify_text_line(
    line: str, quoted: int, following: str, listed: frozenset[str]
) -> tuple[_LineKind, str]:
    start = quoted + _skip_list_markers(line[quoted:], listed)
    content = line[start:].strip()
    is_item = start > quoted
    if heading := _HEADING_PATTERN.fullmatch(line[start:]):
        return _LineKind.HEADING, heading["text"].rstrip("# \t")
    bold = _BOLD_LINE_PATTERN.fullmatch(content)
    # A list item in bold type is a heading only if the next line is indented further.
    has_content_below = not is_item or _count_leading_blanks(
        following
    ) > _count_leading_blanks(line)
    if bold and has_content_below and not bold["text"].endswith(_SENTENCE_END_SIGNS):
        return _LineKind.HEADING, content
    return _LineKind.ITEM if is_item else _LineKind.TEXT, content.removesuffix("\\")


def _join_cell_texts(row: str) -> str:
    """Return the texts of the cells in a table row, joined by spaces."""
    return " ".join(filter(None, map(str.strip, row.strip("|").split("|"))))


def _skip_repeated_matches(pattern: re.Pattern[str], line: str) -> int:
    place = 0
    while match := pattern.match(line, place):
        place = match.end()
    return place


def _skip_list_markers(line: str, listed: frozenset[str]) -> int:
    """Return the position at which the text of a Markdown list item begins after its
    bullet or number. Return 0 if the Markdown line is not a list item.
    """
    place = 0
    while True:
        found = _BULLET_PATTERN.match(line, place) or _LIST_NUMBER_PATTERN.match(
            line, place
        )
        letter = None if found else _LIST_LETTER_PATTERN.match(line, place)
        if letter and (letter["letter"] in listed or ")" in letter[0]):
            found = letter
        found = found or (_BLOCK_QUOTE_PATTERN.match(line, place) if place else None)
        if not found or found.end() == len(line):
            return place
        place = found.end()


def _find_list_letters(lines: Iterable[str]) -> frozenset[str]:
    letters = {
        match["letter"]
        for line in lines
        if (
            match := _LIST_LETTER_PATTERN.match(
                line, _skip_repeated_matches(_BLOCK_QUOTE_PATTERN, line)
            )
        )
    }
    return frozenset(
        letter
        for letter in letters
        if not letters.isdisjoint(_iterate_neighbouring_letters(letter))
    )


def _iterate_neighbouring_letters(letter: str) -> Iterator[str]:
    if len(letter) == 1:
        yield from (chr(ord(letter) - 1), chr(ord(letter) + 1))
    if letter.lower() in _ROMAN_NUMERALS:
        place = _ROMAN_NUMERALS.index(letter.lower())
        for other in _ROMAN_NUMERALS[max(0, place - 1) : place + 2]:
            if other != letter.lower():
                yield other if letter.islower() else other.upper()


def _is_line_without_text(bare: str) -> bool:
    if not bare or _is_horizontal_rule(bare) or _EMPTY_BULLET_OR_ALERT.fullmatch(bare):
        return True
    return bool(
        _CODE_FENCE_PATTERN.match(bare) or _FOOTNOTE_DEFINITION_PATTERN.match(bare)
    )


def _is_horizontal_rule(bare: str) -> bool:
    """Return True if a line is a horizontal rule or the underline of a heading."""
    signs = "".join(bare.split())
    return len(signs) > 2 and signs[0] in "-*_=" and not signs.strip(signs[0])


def _has_outer_table_bars(bare: str) -> bool:
    """Return True if a line begins and ends with a vertical bar, as rows of Markdown
    tables do.
    """
    return len(bare) > 2 and bare[0] == bare[-1] == "|" and bool(bare.strip("| "))


def _is_table_delimiter_row(line: str) -> bool:
    """Return True if a line consists of hyphens and vertical bars, as the line below
    the header of a Markdown table does.
    """
    return (
        "|" in line
        and "-" in line
        and _DELIMITER_ROW_CHARACTERS.issuperset(line.strip())
    )


def _is_underlined(text: str, following: str) -> bool:
    """Return True if the line ``following`` underlines the text as a Markdown heading.
    If the text ends with punctuation, ``following`` is a horizontal rule instead of an
    underline.
    """
    sign = following.strip()[:1]
    is_line = sign in ("=", "-") and not following.strip().strip(sign)
    return (
        is_line
        and len(following.strip()) > 2
        and not text.endswith((*_SENTENCE_END_SIGNS, "]"))
    )


def _count_leading_blanks(line: str) -> int:
    return len(line) - len(line.lstrip()) if line.strip() else 0


def remove_emphasis_signs(text: str) -> str:
    """Remove the Markdown signs for bold and italic type from a text, if each opening
    sign has a closing sign.
    """
    opened: dict[str, re.Match[str]] = {}
    paired: list[re.Match[str]] = []
    for sign in _EMPHASIS_PATTERN.finditer(text) if "*" in text or "_" in text else ():
        before = text[max(sign.start() - 1, 0) : sign.start()]
        after = text[sign.end() : sign.end() + 1]
        is_inside = before.isalnum() and after.isalnum() and sign[0] != "**"
        if before.strip() and not is_inside and sign[0] in opened:
            paired += [opened.pop(sign[0]), sign]
        elif after.strip() and not is_inside:
            opened[sign[0]] = sign
    kept, place = [], 0
    for sign in sorted(paired, key=re.Match.start):
        kept.append(text[place : sign.start()])
        place = sign.end()
    return "".join([*kept, text[place:]]).strip()
