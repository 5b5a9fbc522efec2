"""Define the common format of corpora, which has papers, their references, and the
sentences with citations.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any

from scoring.metrics.discourse import SPLITTING_RULES_VERSION, iterate_sentence_spans
from tasks.types.positional_citations.parsing import choose_installed_pipeline
from tasks.types.problems import SoftwareUnavailable, convert_to_unavailable

#: In a context, `<REF>` replaces its citations and `<OTHERREF>` other citations.
CITATION_PLACEHOLDER, OTHER_CITATION_PLACEHOLDER = "<REF>", "<OTHERREF>"


@dataclass(frozen=True, kw_only=True)
class CorpusPaper:
    """A paper of the corpus.

    ``field`` is the scientific field of the paper, and ``text`` is its full text
    without citation marks, if available. ``citations`` is the number of papers that
    cite this paper. ``author_ids`` are the ids of the paper's authors in the order of
    the authors.
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
class CorpusAuthor:
    author_id: str
    name: str = ""
    h_index: int | None = None
    papers: int | None = None
    citations: int | None = None


@dataclass(frozen=True, kw_only=True)
class CorpusReference:
    """An entry of a paper's reference list.

    References to the same paper have the same ``target``, which is the paper's id in
    the collection or another shared id. A reference to an unknown paper has a
    ``target`` that no other reference has. ``citations`` is the number of papers that
    cite the target.
    """

    ref_id: str
    target: str
    raw: str = ""
    title: str = ""
    year: int | None = None
    citations: int | None = None


@dataclass(frozen=True, kw_only=True)
class CitationContext:
    """A sentence in which ``<REF>`` replaces a citation or a group of adjacent
    citations.

    ``gold`` has the cited references that are in the paper's reference list, each once.
    ``marker`` is the citation as the paper prints it, and ``style`` is the style of the
    printed citation (``""`` if unknown). ``zone`` is the rhetorical zone of the
    sentence, for example its background, if the corpus annotates zones.
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
class CitationMark:
    """A citation mark in a paragraph, with its position, its printed form and the
    reference that it cites.

    ``ref_id`` is None if the corpus does not say which reference the mark cites.
    """

    start: int
    end: int
    text: str
    ref_id: str | None


@dataclass(frozen=True, kw_only=True)
class MarkedUpSentence:
    text: str
    marks: Sequence[CitationMark] = ()
    zone: str | None = None


@dataclass(frozen=True, kw_only=True)
class Paragraph:
    """A paragraph. A paragraph has either a text with citation marks or, if the corpus
    splits texts, ``sentences``.
    """

    section: str
    text: str = ""
    marks: Sequence[CitationMark] = ()
    sentences: Sequence[MarkedUpSentence] = ()


@dataclass(frozen=True, kw_only=True)
class PaperWithParagraphs:
    paper: CorpusPaper
    references: Sequence[CorpusReference] = ()
    paragraphs: Sequence[Paragraph] = ()


#: The character that replaces citation marks in paragraphs and occurs in no text.
MARK_CHARACTER = "\ue000"
#: The name of the sentence splitter that uses rules.
RULES_SPLITTER_NAME = "rules"
#: Longer paragraphs are cut at a space, because long texts need much memory to parse.
MAX_CHARACTERS_PER_PARSE = 100_000

CharacterSpan = tuple[int, int]


class SentenceSplitter:
    """Splits texts into sentences by rules. ``given`` is the value of the command-line
    option for this splitter, and ``name`` is its name in data sheets.
    """

    given, name = RULES_SPLITTER_NAME, SPLITTING_RULES_VERSION

    def iterate_sentence_spans(
        self, text: str, marks: Sequence[str]
    ) -> Iterable[CharacterSpan]:
        """Return the start and end offset of each sentence of a text, without
        surrounding spaces.

        The text contains the character ``MARK_CHARACTER`` in place of each citation mark.
        ``marks`` has the citation marks as the paper prints them.
        """
        return iterate_sentence_spans(text)


def load_spacy_pipeline(name: str, needed_for: str, **left_out: Any) -> tuple[Any, str]:
    """Load a spaCy pipeline. Return the spaCy pipeline, and the name of the pipeline in
    data sheets. Raises Unavailable.
    """
    with convert_to_unavailable(
        f"{needed_for} needs the package spacy; `make models` installs it"
    ):
        import spacy
    with convert_to_unavailable(
        f"the spaCy package “{name}” cannot be loaded (`python -m spacy download {name}` fetches it): {{}}",
        OSError,
        ValueError,
        ImportError,
    ):
        pipeline = spacy.load(choose_installed_pipeline(name), **left_out)
    return (
        pipeline,
        f"{pipeline.meta['lang']}_{pipeline.meta['name']}-{pipeline.meta['version']}",
    )


class _SpacySplitter(SentenceSplitter):
    def __init__(self, name: str) -> None:
        self.given, left_out = name, ("ner", "lemmatizer", "attribute_ruler")
        self._nlp, self.name = load_spacy_pipeline(
            name, "--sentences other than rules", exclude=left_out
        )
        assigned_by_pipe = [
            self._nlp.get_pipe_meta(pipe).assigns for pipe in self._nlp.pipe_names
        ]
        if not any("token.is_sent_start" in assigned for assigned in assigned_by_pipe):
            lacks = "it has neither a parser nor a senter"
            raise SoftwareUnavailable(
                f"the spaCy package “{name}” finds no sentences: {lacks}"
            )

    def iterate_sentence_spans(
        self, text: str, marks: Sequence[str]
    ) -> Iterator[CharacterSpan]:
        # The parts at odd positions are citation marks.
        parts = [
            part
            for pair in zip(text.split(MARK_CHARACTER), [*marks, ""], strict=True)
            for part in pair
        ]
        ends = list(accumulate(map(len, parts)))
        begins = [0, *ends[:-1]]
        shifts = [0, *accumulate(len(mark) - 1 for mark in marks)]
        starts = [0]
        for start in self._iterate_sentence_starts("".join(parts)):
            place = bisect_left(ends, start + 1)
            if place % 2 == 0 or start == begins[place]:
                starts.append(start - shifts[place // 2])
        for start, end in pairwise([*starts, len(text)]):
            sentence = text[start:end]
            if sentence.strip():
                first = start + len(sentence) - len(sentence.lstrip())
                yield first, first + len(sentence.strip())

    def _iterate_sentence_starts(self, printed: str) -> Iterator[int]:
        offset = 0
        while offset < len(printed):
            if (end := offset + MAX_CHARACTERS_PER_PARSE) < len(printed):
                end = printed.rfind(" ", offset, end) + 1 or end
            document: Any = self._nlp(printed[offset:end])
            yield from filter(
                None, (offset + sentence.start_char for sentence in document.sents)
            )
            offset = end


@lru_cache(maxsize=2)
def choose_splitter(name: str) -> SentenceSplitter:
    """Return the sentence splitter named `rules`, or a splitter that uses the spaCy
    package with the given folder or name. Raises Unavailable.
    """
    return SentenceSplitter() if name == RULES_SPLITTER_NAME else _SpacySplitter(name)
