"""Where the sentences of a paragraph end: by rules of our own, or by a spaCy package such as scispaCy's."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any, Protocol

from scoring.metrics.discourse.sentences import RULES, sentence_spans
from tasks.types.unavailable import Unavailable

#: Stands for one citation mark in a paragraph; no text has it.
MARK = "\ue000"
#: What the rules are called where a splitter is chosen.
BY_RULES = "rules"
#: A parser takes memory for each character; longer paragraphs are cut at a blank.
LONGEST = 100_000

Span = tuple[int, int]


class Splitter(Protocol):
    """``given`` is what chooses it, ``name`` what a data sheet calls it."""

    given: str
    name: str

    def spans(self, text: str, marks: Sequence[str]) -> Iterable[Span]:
        """Where each sentence begins and ends, without the blanks around it.

        In the text each citation mark is one ``MARK``; ``marks`` has what is printed there.
        """


class _Rules:
    given, name = BY_RULES, RULES

    def spans(self, text: str, marks: Sequence[str]) -> Iterable[Span]:
        return sentence_spans(text)


class _Package:
    """A spaCy package, which sees the paragraph as it is printed, marks and all.

    An end that it finds inside of a mark is none.
    """

    def __init__(self, given: str) -> None:
        try:
            import spacy
        except ImportError as missing:
            raise Unavailable("--sentences needs the package spacy, or `rules`") from missing
        try:
            self._nlp = spacy.load(given, exclude=("ner", "lemmatizer", "attribute_ruler"))
        except (OSError, ValueError, ImportError) as missing:
            raise Unavailable(f"the spaCy package “{given}” cannot be loaded: {missing}") from missing
        found = [self._nlp.get_pipe_meta(pipe).assigns for pipe in self._nlp.pipe_names]
        if not any("token.is_sent_start" in assigned for assigned in found):
            raise Unavailable(
                f"the spaCy package “{given}” finds no sentences: it has neither a parser nor a senter"
            )
        meta = self._nlp.meta
        self.given, self.name = given, f"{meta['lang']}_{meta['name']}-{meta['version']}"

    def spans(self, text: str, marks: Sequence[str]) -> Iterator[Span]:
        # The marks stand at the odd places.
        parts = [part for pair in zip(text.split(MARK), [*marks, ""], strict=True) for part in pair]
        ends = list(accumulate(map(len, parts)))
        begins = [0, *ends[:-1]]
        shifts = [0, *accumulate(len(mark) - 1 for mark in marks)]
        starts = [0]
        for start in self._starts("".join(parts)):
            place = bisect_left(ends, start + 1)
            if place % 2 == 0 or start == begins[place]:
                starts.append(start - shifts[place // 2])
        for start, end in pairwise([*starts, len(text)]):
            own = text[start:end]
            if own.strip():
                first = start + len(own) - len(own.lstrip())
                yield first, first + len(own.strip())

    def _starts(self, printed: str) -> Iterator[int]:
        """Where each sentence but the first begins."""
        for offset, stretch in _stretches(printed):
            document: Any = self._nlp(stretch)
            yield from (offset + own.start_char for own in document.sents if offset + own.start_char)


def _stretches(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    while start < len(text):
        end = start + LONGEST
        if end < len(text):
            end = text.rfind(" ", start, end) + 1 or end
        yield start, text[start:end]
        start = end


@lru_cache(maxsize=2)
def splitter(given: str) -> Splitter:
    """`rules`, or a spaCy package by its folder or name. Raises Unavailable."""
    return _Rules() if given == BY_RULES else _Package(given)
