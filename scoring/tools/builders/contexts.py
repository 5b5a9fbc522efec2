"""Convert the paragraphs of a paper to citation contexts, one for each citation or
group of adjacent citations.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import count

from scoring.tools.builders.corpus import (
    CITATION_PLACEHOLDER,
    MARK_CHARACTER,
    OTHER_CITATION_PLACEHOLDER,
    CitationContext,
    CitationMark,
    PaperWithParagraphs,
)
from scoring.tools.builders.store import CorpusStore

_SEPARATORS_BETWEEN_MARKS = r"(?:\s|[,;&–-]|and|also)*"
_MARK_GROUP_PATTERN = re.compile(
    rf"{MARK_CHARACTER}(?:{_SEPARATORS_BETWEEN_MARKS}{MARK_CHARACTER})*"
)
#: Matches brackets that contain only citation marks, and joins them with the marks.
_BRACKETED_GROUP_PATTERN = re.compile(
    rf"[\[(]\s*({MARK_CHARACTER}(?:{_SEPARATORS_BETWEEN_MARKS}{MARK_CHARACTER})*)\s*[\])]"
)


def split_into_tokens(sentence: str) -> list[str]:
    return (
        sentence.replace(CITATION_PLACEHOLDER, f" {CITATION_PLACEHOLDER} ")
        .replace(OTHER_CITATION_PLACEHOLDER, f" {OTHER_CITATION_PLACEHOLDER} ")
        .split()
    )


def add_article_contexts(article: PaperWithParagraphs, store: CorpusStore) -> None:
    paper = article.paper.paper_id
    store.add_paper(article.paper)
    for reference in article.references:
        store.add_reference(paper, reference)
    numbers = {
        reference.ref_id: position
        for position, reference in enumerate(article.references, start=1)
    }
    number = count()
    for paragraph in article.paragraphs:
        sentences = [
            _MarkedSentence(
                *_replace_citation_marks(sentence.text, sentence.marks), sentence.zone
            )
            for sentence in paragraph.sentences
        ]
        text, marks = _replace_citation_marks(paragraph.text, paragraph.marks)
        for start, stop in store.sentences.iterate_sentence_spans(
            text, [mark.text for mark in marks]
        ):
            first = text.count(MARK_CHARACTER, 0, start)
            among = marks[first : first + text.count(MARK_CHARACTER, start, stop)]
            sentences.append(_MarkedSentence(text[start:stop], among))
        for sentence in sentences:
            store.add_sentence(len(split_into_tokens(sentence.shown())))
        store.add_text(
            paper,
            paragraph.section,
            ((sentence.printed(numbers), sentence.shown()) for sentence in sentences),
        )
        for index, sentence in enumerate(sentences):
            for group, hole in enumerate(sentence.groups):
                cited_by = sentence.find_marks_of_group(hole)
                named = dict.fromkeys(
                    mark.ref_id for mark in cited_by if mark.ref_id is not None
                )
                if not (
                    cited := tuple(ref_id for ref_id in named if ref_id in numbers)
                ):
                    continue
                before = sentences[max(index - store.around, 0) : index]
                after = sentences[index + 1 : index + 1 + store.around]
                printed = " ".join(mark.text for mark in cited_by)
                context = CitationContext(
                    context_id=f"{paper}_{next(number):04d}",
                    section=paragraph.section,
                    before=" ".join(neighbour.shown() for neighbour in before),
                    sentence=sentence.shown(group),
                    after=" ".join(neighbour.shown() for neighbour in after),
                    gold=cited,
                    markers=len(cited_by),
                    marker=printed,
                    style=determine_mark_style(printed) if len(cited_by) == 1 else "",
                    zone=sentence.zone,
                )
                store.add_context(paper, context)


class _MarkedSentence:
    def __init__(
        self, text: str, marks: Sequence[CitationMark], zone: str | None = None
    ) -> None:
        self.text, self.marks, self.zone = text, marks, zone
        self.groups = list(_MARK_GROUP_PATTERN.finditer(text))

    def shown(self, group: int | None = None) -> str:
        """Return the sentence with `<REF>` in place of the citation marks of the given
        group, and `<OTHERREF>` in place of all other citation marks.
        """
        parts, end = [], 0
        for number, mark in enumerate(self.groups):
            parts += [
                self.text[end : mark.start()],
                CITATION_PLACEHOLDER if number == group else OTHER_CITATION_PLACEHOLDER,
            ]
            end = mark.end()
        return " ".join("".join([*parts, self.text[end:]]).split())

    def printed(self, numbers: Mapping[str, int]) -> str:
        """Return the sentence with citation marks as the paper prints them. If the
        corpus has tokens in place of marks, the numbers of the references replace the
        tokens.
        """
        first, *rest = self.text.split(MARK_CHARACTER)
        parts = [first]
        for mark, text in zip(self.marks, rest, strict=True):
            if mark.text.startswith("{{"):
                parts.append(f"[{numbers.get(mark.ref_id or '', '?')}]")
            else:
                parts.append(f"[{mark.text}]" if mark.text.isdecimal() else mark.text)
            parts.append(text)
        return " ".join("".join(parts).split())

    def find_marks_of_group(self, group: re.Match[str]) -> Sequence[CitationMark]:
        first = self.text.count(MARK_CHARACTER, 0, group.start())
        return self.marks[first : first + group[0].count(MARK_CHARACTER)]


def _replace_citation_marks(
    text: str, marks: Sequence[CitationMark]
) -> tuple[str, list[CitationMark]]:
    parts, end, ordered = [], 0, []
    for mark in sorted(marks, key=lambda mark: mark.start):
        if mark.start < end:
            continue
        parts += [text[end : mark.start], MARK_CHARACTER]
        ordered.append(mark)
        end = mark.end
    return _BRACKETED_GROUP_PATTERN.sub(r"\1", "".join([*parts, text[end:]])), ordered


#: A token by which the corpus has replaced the citation mark of the paper.
ANONYMOUS_STYLE = "anonymous"
NUMERIC_STYLE, ALPHABETIC_STYLE, AUTHOR_YEAR_STYLE = (
    "numeric",
    "alphabetic",
    "author-year",
)
DAMAGED_STYLE = "damaged"

_YEAR_REGEX = r"(?:1[6-9]|20)\d\d[a-z]?"
_SURNAME_REGEX = (
    r"(?:(?:van|von|de|der|den|di|da|del|la|le|ten|ter)\s+){0,3}[A-ZÀ-Þ][\w'’\-]*"
)
#: The length of names and lists is limited, so that capitals take no more time.
_NAME_REGEX = rf"{_SURNAME_REGEX}(?:\s+{_SURNAME_REGEX}){{0,4}}"
_LAST_AUTHOR_REGEX = rf"(?:and|&)\s+{_NAME_REGEX}"
_AUTHORS_REGEX = (
    rf"{_NAME_REGEX}(?:,?\s+(?:et\s+al\.?,?|and\s+others|{_LAST_AUTHOR_REGEX})"
    rf"|(?:,\s+{_NAME_REGEX}){{1,20}},?\s+{_LAST_AUTHOR_REGEX})?"
)
_STYLE_PATTERNS = (
    (NUMERIC_STYLE, re.compile(r"[\[(]?\s*\d{1,3}\s*[\])]?[.,]?")),
    (ALPHABETIC_STYLE, re.compile(r"\[?\s*[A-Z][A-Za-z]{0,4}\+?\d\d[a-z]?\s*\]?")),
    (
        AUTHOR_YEAR_STYLE,
        re.compile(
            rf"\(?\s*{_AUTHORS_REGEX},?\s*\(?\s*{_YEAR_REGEX}\s*\)?\s*\)?"
            rf"|\(?\s*(?:e\.g\.,?|see|cf\.?|see also)\s+{_AUTHORS_REGEX},?\s*\(?{_YEAR_REGEX}\)?\s*\)?"
            rf"|\(\s*{_YEAR_REGEX}\s*\)|{_YEAR_REGEX}"
        ),
    ),
    (
        ANONYMOUS_STYLE,
        re.compile(r"\{\{cite:[^{}]*\}\}|\[?\s*(?:CITATION|REF|#REF)\s*\]?"),
    ),
)
#: Two merged marks have two years, or an opening bracket within brackets.
_MERGED_MARKS_PATTERN = re.compile(
    rf"\([^()]*\(|\[[^\[\]]*\[|{_YEAR_REGEX}\s*\(?[A-ZÀ-Þ][^()]*{_YEAR_REGEX}"
)
#: A number with only one round bracket is a damaged citation mark.
#: A number with one square bracket is not damaged, but part of a group like `[3, 7]`.
_HALF_BRACKETED_NUMBER = re.compile(r"\(\s*\d{1,3}[.,]?|\d{1,3}\s*\)[.,]?")
#: Matches texts that look like citations but that the corpus does not mark.
_UNMARKED_CITATION_PATTERN = re.compile(
    rf"\[\s*\d{{1,3}}(?:\s*[,;–-]\s*\d{{1,3}})*\s*\]|\(\s*{_AUTHORS_REGEX},?\s+{_YEAR_REGEX}\s*\)|{_NAME_REGEX}\s+et\s+al\.?,?\s*\(\s*{_YEAR_REGEX}\s*\)"
)


def determine_mark_style(mark: str) -> str:
    """Return the style of a citation mark as the paper prints the mark. The style is
    `damaged` for two marks that were merged or a number with one round bracket, and “”
    for an unknown style.

    >>> marks = "(Lee et al., 1997a)", "[12]", "(Lee et al., 1997a(Lee et al., 1997b)"
    >>> tuple(map(determine_mark_style, marks))
    ('author-year', 'numeric', 'damaged')
    """
    text = " ".join(mark.split())
    if _HALF_BRACKETED_NUMBER.fullmatch(text):
        return DAMAGED_STYLE
    for style, pattern in _STYLE_PATTERNS:
        if pattern.fullmatch(text):
            return style
    return DAMAGED_STYLE if _MERGED_MARKS_PATTERN.search(text) else ""


def has_unmarked_citation(text: str) -> bool:
    return _UNMARKED_CITATION_PATTERN.search(text) is not None


def replace_unmarked_citations(text: str) -> str:
    return _UNMARKED_CITATION_PATTERN.sub(OTHER_CITATION_PLACEHOLDER, text)


def insert_placeholder(sentence: str, mark: str) -> str:
    """Return the sentence with a placeholder in place of the citation mark. The
    function finds the mark even if spacing or hyphenation differ.
    """
    if letters := [re.escape(character) for character in mark if character.isalnum()]:
        # The citation mark must not be a part of a longer number.
        loose = re.compile(
            r"(?<!\d)[(\[]?" + r"[\W_]*".join(letters) + r"(?!\d)[)\]]?", re.IGNORECASE
        )
        replaced, count = loose.subn(CITATION_PLACEHOLDER, sentence, count=1)
        if count:
            return replaced
    return f"{sentence} {CITATION_PLACEHOLDER}"
