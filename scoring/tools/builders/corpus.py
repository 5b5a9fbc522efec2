"""The common form of corpora: papers, their references, and the sentences that cite them."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any

from scoring.metrics.discourse import RULES, sentence_spans
from tasks.types.problems import Unavailable, needed

#: Stands for the citation, or the group of citations, that a context is about; and for the other ones.
PLACEHOLDER, OTHER = "<REF>", "<OTHERREF>"


@dataclass(frozen=True, kw_only=True)
class Paper:
    """A paper of the corpus; ``field`` is its discipline, ``text`` its full text without marks where known.
    ``citations`` counts the papers that cite it; ``author_ids`` name its authors in their order, of whom the
    corpus may say more.
    """

    paper_id: str
    title: str = ""
    authors: str = ""
    abstract: str = ""
    text: str = ""
    field: str | None = None
    year: int | None = None
    citations: int | None = None
    licence: str = ""
    author_ids: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Author:
    author_id: str
    name: str = ""
    h_index: int | None = None
    papers: int | None = None
    citations: int | None = None


@dataclass(frozen=True, kw_only=True)
class Reference:
    """An entry of a paper's reference list. ``target`` is the same for all references to one paper: its id in
    the collection, or another id that all share; where nothing is known it is an id of this entry alone.
    ``citations`` counts who cites the target.
    """

    ref_id: str
    target: str
    raw: str = ""
    title: str = ""
    year: int | None = None
    citations: int | None = None


@dataclass(frozen=True, kw_only=True)
class Context:
    """A sentence with a citation or a group of citations in direct succession, which ``<REF>`` stands for.
    ``gold`` are the distinct references of the group that are in the list, ``marker`` is how the text printed
    it, ``style`` which style of citation that is (``""`` for none that is known), ``zone`` the rhetorical
    zone of the sentence where the corpus has them.
    """

    context_id: str
    section: str
    before: str
    sentence: str
    after: str
    gold: tuple[str, ...]
    markers: int
    marker: str = ""
    style: str = ""
    context_type: str | None = None
    zone: str | None = None


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A citation mark in a paragraph: where it stands, how it is printed, which reference it names.
    ``ref_id`` is None where the corpus could not say.
    """

    start: int
    end: int
    text: str
    ref_id: str | None


@dataclass(frozen=True, kw_only=True)
class Sentence:
    text: str
    marks: Sequence[Mark] = ()
    zone: str | None = None


@dataclass(frozen=True, kw_only=True)
class Paragraph:
    """Running text with its marks, or ``sentences`` where the corpus has split it."""

    section: str
    text: str = ""
    marks: Sequence[Mark] = ()
    sentences: Sequence[Sentence] = ()


@dataclass(frozen=True, kw_only=True)
class Article:
    paper: Paper
    references: Sequence[Reference] = ()
    paragraphs: Sequence[Paragraph] = ()


#: Stands for one citation mark in a paragraph; no text has it.
MARK = "\ue000"
#: Name of the rules among the splitters.
BY_RULES = "rules"
#: A parser takes memory for each character; longer paragraphs are cut at a blank.
LONGEST = 100_000

Span = tuple[int, int]


class Splitter:
    """By rules. ``given`` is what chooses a splitter, ``name`` what a data sheet calls it."""

    given, name = BY_RULES, RULES

    def spans(self, text: str, marks: Sequence[str]) -> Iterable[Span]:
        """Return the start and end of each sentence, without surrounding blanks. Each mark in the text
        is one ``MARK``; ``marks`` has what is printed there.
        """
        return sentence_spans(text)


def spacy_package(name: str, needed_for: str, **left_out: Any) -> tuple[Any, str]:
    """A pipeline, and what data sheets call it. Raises Unavailable."""
    with needed(f"{needed_for} needs the package spacy; `make models` installs it"):
        import spacy
    with needed(
        f"the spaCy package “{name}” cannot be loaded (`python -m spacy download {name}` fetches it): {{}}",
        OSError,
        ValueError,
        ImportError,
    ):
        pipeline = spacy.load(name, **left_out)
    return (
        pipeline,
        f"{pipeline.meta['lang']}_{pipeline.meta['name']}-{pipeline.meta['version']}",
    )


class _Package(Splitter):
    """A spaCy package, which sees the paragraph as it is printed, marks and all. An end that it finds inside
    of a mark is none.
    """

    def __init__(self, name: str) -> None:
        self.given, left_out = name, ("ner", "lemmatizer", "attribute_ruler")
        self._nlp, self.name = spacy_package(
            name, "--sentences other than rules", exclude=left_out
        )
        assigned_by_pipe = [
            self._nlp.get_pipe_meta(pipe).assigns for pipe in self._nlp.pipe_names
        ]
        if not any("token.is_sent_start" in assigned for assigned in assigned_by_pipe):
            lacks = "it has neither a parser nor a senter"
            raise Unavailable(f"the spaCy package “{name}” finds no sentences: {lacks}")

    def spans(self, text: str, marks: Sequence[str]) -> Iterator[Span]:
        # The marks stand at the odd places.
        parts = [
            part
            for pair in zip(text.split(MARK), [*marks, ""], strict=True)
            for part in pair
        ]
        ends = list(accumulate(map(len, parts)))
        begins = [0, *ends[:-1]]
        shifts = [0, *accumulate(len(mark) - 1 for mark in marks)]
        starts = [0]
        for start in self._starts("".join(parts)):
            place = bisect_left(ends, start + 1)
            if place % 2 == 0 or start == begins[place]:
                starts.append(start - shifts[place // 2])
        for start, end in pairwise([*starts, len(text)]):
            sentence = text[start:end]
            if sentence.strip():
                first = start + len(sentence) - len(sentence.lstrip())
                yield first, first + len(sentence.strip())

    def _starts(self, printed: str) -> Iterator[int]:
        offset = 0
        while offset < len(printed):
            if (end := offset + LONGEST) < len(printed):
                end = printed.rfind(" ", offset, end) + 1 or end
            document: Any = self._nlp(printed[offset:end])
            yield from filter(
                None, (offset + sentence.start_char for sentence in document.sents)
            )
            offset = end


@lru_cache(maxsize=2)
def splitter(name: str) -> Splitter:
    """`rules`, or a spaCy package by its folder or name. Raises Unavailable."""
    return Splitter() if name == BY_RULES else _Package(name)
