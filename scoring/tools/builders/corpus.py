"""The common format of corpora, with papers, the references of each paper, and the
sentences with citations.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any

from scoring.metrics.discourse import RULES, sentence_spans
from tasks.types.positional_citations.parsing import own_or_copy
from tasks.types.problems import Unavailable, needed

#: `<REF>` replaces the citations of a context, and `<OTHERREF>` all other citations.
PLACEHOLDER, OTHER = "<REF>", "<OTHERREF>"


@dataclass(frozen=True, kw_only=True)
class Paper:
    """A paper of the corpus.

    ``field`` is the discipline, and ``text`` the full text without citation marks, if
    available. ``citations`` is the number of papers that cite this paper.
    ``author_ids`` are the ids of the authors in order.
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
    """An entry of a paper's reference list.

    All references to the same paper have the same ``target``, which is the id of the
    paper in the collection, or another shared id. The entry of an unknown paper has an
    id of its own. ``citations`` is the number of papers that cite the target.
    """

    ref_id: str
    target: str
    raw: str = ""
    title: str = ""
    year: int | None = None
    citations: int | None = None


@dataclass(frozen=True, kw_only=True)
class Context:
    """A sentence with a citation, or with a group of adjacent citations, replaced by
    ``<REF>``.

    ``gold`` has each cited reference that is in the reference list once. ``marker`` is
    the printed form of the citation, and ``style`` the style of this form (``""`` if
    unknown). ``zone`` is the rhetorical zone of the sentence, if the corpus has zones.
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
    """A citation mark in a paragraph, with the mark's position, printed form and
    reference.

    ``ref_id`` is None if the corpus does not identify the reference.
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
    """A paragraph. A paragraph has a text with marks, or ``sentences`` if the corpus is
    split into sentences.
    """

    section: str
    text: str = ""
    marks: Sequence[Mark] = ()
    sentences: Sequence[Sentence] = ()


@dataclass(frozen=True, kw_only=True)
class Article:
    paper: Paper
    references: Sequence[Reference] = ()
    paragraphs: Sequence[Paragraph] = ()


#: This character replaces each citation mark in a paragraph and occurs in no text.
MARK = "\ue000"
#: Name of the splitter by rules.
BY_RULES = "rules"
#: Longer paragraphs are cut at a space, because a parser's memory grows with length.
LONGEST = 100_000

Span = tuple[int, int]


class Splitter:
    """A sentence splitter that uses rules. ``given`` is the value of the command's option, and ``name``
    the name of the splitter in data sheets.
    """

    given, name = BY_RULES, RULES

    def spans(self, text: str, marks: Sequence[str]) -> Iterable[Span]:
        """Return the start and end of each sentence of a text, without surrounding
        spaces.

        In the text, ``MARK`` stands for each citation mark. ``marks`` has the printed
        forms.
        """
        return sentence_spans(text)


def spacy_package(name: str, needed_for: str, **left_out: Any) -> tuple[Any, str]:
    """Load a spaCy pipeline. Return the pipeline and its name in data sheets. Raises
    Unavailable.
    """
    with needed(f"{needed_for} needs the package spacy; `make models` installs it"):
        import spacy
    with needed(
        f"the spaCy package “{name}” cannot be loaded (`python -m spacy download {name}` fetches it): {{}}",
        OSError,
        ValueError,
        ImportError,
    ):
        pipeline = spacy.load(own_or_copy(name), **left_out)
    return (
        pipeline,
        f"{pipeline.meta['lang']}_{pipeline.meta['name']}-{pipeline.meta['version']}",
    )


class _Package(Splitter):
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
        # The elements with odd indices are marks.
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
    """Return the splitter `rules`, or a spaCy package given by folder or name. Raises
    Unavailable.
    """
    return Splitter() if name == BY_RULES else _Package(name)
