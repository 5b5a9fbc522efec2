"""From an article's paragraphs to its contexts: one for each citation or group of citations."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from scoring.tools.builders.corpus import (
    MARK,
    OTHER,
    PLACEHOLDER,
    Article,
    Context,
    Mark,
    Paragraph,
    Sink,
    Splitter,
)

_BETWEEN = r"(?:\s|[,;&–-]|and|also)*"
_GROUP = re.compile(rf"{MARK}(?:{_BETWEEN}{MARK})*")
#: Brackets that hold nothing but marks are part of them.
_BRACKETED = re.compile(rf"[\[(]\s*({MARK}(?:{_BETWEEN}{MARK})*)\s*[\])]")


def token_count(sentence: str) -> int:
    return len(tokens(sentence))


def tokens(sentence: str) -> list[str]:
    """White-space tokens, a placeholder being one by itself."""
    return sentence.replace(PLACEHOLDER, f" {PLACEHOLDER} ").replace(OTHER, f" {OTHER} ").split()


def add_article(article: Article, sink: Sink) -> None:
    """Everything that an article holds: paper, references, contexts, the lengths of its sentences."""
    sink.add_paper(article.paper)
    for reference in article.references:
        sink.add_reference(article.paper.paper_id, reference)
    numbers = {reference.ref_id: place for place, reference in enumerate(article.references, start=1)}
    number = 0
    for paragraph in article.paragraphs:
        sentences = list(_sentences(paragraph, sink.sentences))
        for sentence in sentences:
            sink.add_sentence(token_count(sentence.with_all_others()))
        texts = ((sentence.printed(numbers), sentence.with_all_others()) for sentence in sentences)
        sink.add_text(article.paper.paper_id, paragraph.section, texts)
        for context in _contexts(paragraph, sentences, numbers.keys(), sink.around):
            name = f"{article.paper.paper_id}_{number:04d}"
            sink.add_context(article.paper.paper_id, _named(context, name))
            number += 1


class _Sentence:
    """A sentence whose marks are still single characters."""

    def __init__(self, text: str, marks: Sequence[Mark], zone: str | None = None) -> None:
        self.text, self.marks, self.zone = text, marks, zone
        self.groups = list(_GROUP.finditer(text))

    def with_all_others(self) -> str:
        return self._with({})

    def with_placeholder(self, group: int) -> str:
        return self._with({group: PLACEHOLDER})

    def printed(self, numbers: Mapping[str, int]) -> str:
        """With the marks as the paper prints them; a mark that is a token has its reference's number."""
        marks = (_printed(mark, numbers) for mark in self.marks)
        return " ".join("".join(next(marks) if part == MARK else part for part in self.text).split())

    def marks_of(self, group: int) -> Sequence[Mark]:
        found = self.groups[group]
        first = self.text.count(MARK, 0, found.start())
        return self.marks[first : first + found[0].count(MARK)]

    def _with(self, shown: Mapping[int, str]) -> str:
        parts, end = [], 0
        for number, found in enumerate(self.groups):
            parts += [self.text[end : found.start()], shown.get(number, OTHER)]
            end = found.end()
        return " ".join("".join([*parts, self.text[end:]]).split())


def _printed(mark: Mark, numbers: Mapping[str, int]) -> str:
    if mark.text.startswith("{{"):
        return f"[{numbers.get(mark.ref_id or '', '?')}]"
    return f"[{mark.text}]" if mark.text.isdecimal() else mark.text


def _sentences(paragraph: Paragraph, splitter: Splitter) -> Iterator[_Sentence]:
    for given in paragraph.sentences:
        text, marks = _marked(given.text, given.marks)
        yield _Sentence(text, marks, given.zone)
    text, marks = _marked(paragraph.text, paragraph.marks)
    for start, stop in splitter.spans(text, [mark.text for mark in marks]):
        first = text.count(MARK, 0, start)
        yield _Sentence(text[start:stop], marks[first : first + text.count(MARK, start, stop)])


def _marked(text: str, marks: Sequence[Mark]) -> tuple[str, list[Mark]]:
    parts, end, ordered = [], 0, []
    for mark in sorted(marks, key=lambda mark: mark.start):
        if mark.start < end:
            continue
        parts += [text[end : mark.start], MARK]
        ordered.append(mark)
        end = mark.end
    return _BRACKETED.sub(r"\1", "".join([*parts, text[end:]])), ordered


def _contexts(
    paragraph: Paragraph, sentences: Sequence[_Sentence], known: Collection[str], around: int
) -> Iterator[Context]:
    for place, sentence in enumerate(sentences):
        for group in range(len(sentence.groups)):
            marks = sentence.marks_of(group)
            named = (mark.ref_id for mark in marks if mark.ref_id is not None)
            cited = tuple(dict.fromkeys(ref_id for ref_id in named if ref_id in known))
            if not cited:
                continue
            printed = " ".join(mark.text for mark in marks)
            yield Context(
                context_id="",
                section=paragraph.section,
                before=_joined(sentences[max(place - around, 0) : place]),
                sentence=sentence.with_placeholder(group),
                after=_joined(sentences[place + 1 : place + 1 + around]),
                gold=cited,
                markers=len(marks),
                marker=printed,
                style=style_of(printed) if len(marks) == 1 else "",
                zone=sentence.zone,
            )


def _joined(sentences: Sequence[_Sentence]) -> str:
    return " ".join(sentence.with_all_others() for sentence in sentences)


def _named(context: Context, name: str) -> Context:
    return replace(context, context_id=name)


#: A mark that the corpus itself put in the place of the printed one.
ANONYMOUS = "anonymous"
NUMERIC, ALPHABETIC, AUTHOR_YEAR = "numeric", "alphabetic", "author-year"
DAMAGED = "damaged"

_YEAR = r"(?:1[6-9]|20)\d\d[a-z]?"
_WORD = r"(?:(?:van|von|de|der|den|di|da|del|la|le|ten|ter)\s+){0,3}[A-ZÀ-Þ][\w'’\-]*"
#: Names and lists of names are bounded, so that text in capitals costs no more than other text.
_NAME = rf"{_WORD}(?:\s+{_WORD}){{0,4}}"
_AND = rf"(?:and|&)\s+{_NAME}"
_AUTHORS = rf"{_NAME}(?:,?\s+(?:et\s+al\.?,?|and\s+others|{_AND})|(?:,\s+{_NAME}){{1,20}},?\s+{_AND})?"
_STYLES = (
    (NUMERIC, re.compile(r"[\[(]?\s*\d{1,3}\s*[\])]?[.,]?")),
    (ALPHABETIC, re.compile(r"\[?\s*[A-Z][A-Za-z]{0,4}\+?\d\d[a-z]?\s*\]?")),
    (
        AUTHOR_YEAR,
        re.compile(
            rf"\(?\s*{_AUTHORS},?\s*\(?\s*{_YEAR}\s*\)?\s*\)?"
            rf"|\(?\s*(?:e\.g\.,?|see|cf\.?|see also)\s+{_AUTHORS},?\s*\(?{_YEAR}\)?\s*\)?"
            rf"|\(\s*{_YEAR}\s*\)|{_YEAR}"
        ),
    ),
    (ANONYMOUS, re.compile(r"\{\{cite:[^{}]*\}\}|\[?\s*(?:CITATION|REF|#REF)\s*\]?")),
)
#: Two years, or a bracket that opens inside another, are two marks that were read as one.
_TWO_AS_ONE = re.compile(rf"\([^()]*\(|\[[^\[\]]*\[|{_YEAR}\s*\(?[A-ZÀ-Þ][^()]*{_YEAR}")
#: What still looks like a citation once the marks of the corpus are taken out.
_UNMARKED = re.compile(
    rf"\[\s*\d{{1,3}}(?:\s*[,;–-]\s*\d{{1,3}})*\s*\]|\(\s*{_AUTHORS},?\s+{_YEAR}\s*\)|{_NAME}\s+et\s+al\.?,?\s*\(\s*{_YEAR}\s*\)"
)


def style_of(mark: str) -> str:
    """The style of a printed mark; `damaged` for two that run into each other, “” for none that is known.

    >>> style_of("(Lee et al., 1997a)"), style_of("[12]"), style_of("(Lee et al., 1997a(Lee et al., 1997b)")
    ('author-year', 'numeric', 'damaged')
    """
    text = " ".join(mark.split())
    for style, pattern in _STYLES:
        if pattern.fullmatch(text):
            return style
    return DAMAGED if _TWO_AS_ONE.search(text) else ""


def has_unmarked_citation(text: str) -> bool:
    """Whether a sentence still prints a citation that the corpus did not mark."""
    return _UNMARKED.search(text) is not None


def without_unmarked(text: str) -> str:
    """The text with such citations replaced by the placeholder of other marks."""
    return _UNMARKED.sub(OTHER, text)


def with_placeholder(sentence: str, mark: str) -> str:
    """The sentence with this mark replaced, however the text spaces and hyphenates it."""
    letters = [re.escape(character) for character in mark if character.isalnum()]
    if letters:
        # Digits next to the mark would make it another number.
        loose = re.compile(r"(?<!\d)[(\[]?" + r"[\W_]*".join(letters) + r"(?!\d)[)\]]?", re.IGNORECASE)
        replaced, count = loose.subn(PLACEHOLDER, sentence, count=1)
        if count:
            return replaced
    return f"{sentence} {PLACEHOLDER}"
