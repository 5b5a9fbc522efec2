"""From an article's paragraphs to its contexts: one for each citation or group of citations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from scoring.metrics.discourse.scholarly_sentences import sentence_spans
from scoring.tools.builders.corpus import OTHER, PLACEHOLDER, Article, Context, Mark, Paragraph, Sink
from scoring.tools.builders.marks import style_of

#: Stands for one mark while sentences are found; no text has it.
_MARK = "\ue000"
_BETWEEN = r"(?:\s|[,;&–-]|and|also)*"
_GROUP = re.compile(rf"{_MARK}(?:{_BETWEEN}{_MARK})*")
#: Brackets that hold nothing but marks are part of them.
_BRACKETED = re.compile(rf"[\[(]\s*({_MARK}(?:{_BETWEEN}{_MARK})*)\s*[\])]")


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
    known = {reference.ref_id for reference in article.references}
    number = 0
    for paragraph in article.paragraphs:
        sentences = list(_sentences(paragraph))
        for sentence in sentences:
            sink.add_sentence(token_count(sentence.with_all_others()))
        for context in _contexts(paragraph, sentences, known, sink.around):
            name = f"{article.paper.paper_id}_{number:04d}"
            sink.add_context(article.paper.paper_id, _named(context, name))
            number += 1


class _Sentence:
    """A sentence whose marks are still single characters."""

    def __init__(self, text: str, marks: Sequence[Mark]) -> None:
        self.text, self.marks = text, marks
        self.groups = list(_GROUP.finditer(text))

    def with_all_others(self) -> str:
        return self._with({})

    def with_placeholder(self, group: int) -> str:
        return self._with({group: PLACEHOLDER})

    def marks_of(self, group: int) -> Sequence[Mark]:
        found = self.groups[group]
        first = self.text.count(_MARK, 0, found.start())
        return self.marks[first : first + found[0].count(_MARK)]

    def _with(self, shown: Mapping[int, str]) -> str:
        parts, end = [], 0
        for number, found in enumerate(self.groups):
            parts += [self.text[end : found.start()], shown.get(number, OTHER)]
            end = found.end()
        return " ".join("".join([*parts, self.text[end:]]).split())


def _sentences(paragraph: Paragraph) -> Iterator[_Sentence]:
    parts, end, marks = [], 0, []
    for mark in sorted(paragraph.marks, key=lambda mark: mark.start):
        if mark.start < end:
            continue
        parts += [paragraph.text[end : mark.start], _MARK]
        marks.append(mark)
        end = mark.end
    text = "".join([*parts, paragraph.text[end:]])
    text = _BRACKETED.sub(r"\1", text)
    for start, stop in sentence_spans(text):
        first = text.count(_MARK, 0, start)
        yield _Sentence(text[start:stop], marks[first : first + text.count(_MARK, start, stop)])


def _contexts(
    paragraph: Paragraph, sentences: Sequence[_Sentence], known: set[str], around: int
) -> Iterator[Context]:
    """Contexts with a reference that is in the list; they have no name yet."""
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
            )


def _joined(sentences: Sequence[_Sentence]) -> str:
    return " ".join(sentence.with_all_others() for sentence in sentences)


def _named(context: Context, name: str) -> Context:
    return replace(context, context_id=name)
