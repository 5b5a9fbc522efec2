"""What every corpus is read into: papers, their references, and the sentences in which they cite them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from scoring.tools.builders.sentences import Splitter

#: Stands for the citation, or the group of citations, that a context is about; and for the other ones.
PLACEHOLDER, OTHER = "<REF>", "<OTHERREF>"


@dataclass(frozen=True, kw_only=True, slots=True)
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Author:
    """What a source says of an author; ``citations`` counts who cites any of the papers."""

    author_id: str
    name: str = ""
    h_index: int | None = None
    papers: int | None = None
    citations: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Reference:
    """An entry of a paper's reference list.

    ``target`` is the same for all references to one paper: its id in the collection, or another id that all
    share; where nothing is known it is an id of this entry alone. ``citations`` counts who cites the target.
    """

    ref_id: str
    target: str
    raw: str = ""
    title: str = ""
    year: int | None = None
    citations: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Mark:
    """A citation mark in a paragraph: where it stands, how it is printed, which reference it names.

    ``ref_id`` is None where the corpus could not say.
    """

    start: int
    end: int
    text: str
    ref_id: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Sentence:
    """A sentence as the corpus itself has split its text, with the places of its marks in it."""

    text: str
    marks: Sequence[Mark] = ()
    zone: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Paragraph:
    """Running text with its marks, or ``sentences`` where the corpus has split it."""

    section: str
    text: str = ""
    marks: Sequence[Mark] = ()
    sentences: Sequence[Sentence] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Article:
    """A paper with its references and its text."""

    paper: Paper
    references: Sequence[Reference] = ()
    paragraphs: Sequence[Paragraph] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Intent:
    """What a source says of one citation: why ``citing`` cites ``cited`` in the text ``context``."""

    citing: str
    cited: str
    context: str
    context_type: str


class Sink(Protocol):
    """Where a loader puts what it reads, in any order."""

    @property
    def around(self) -> int:
        """So many sentences before and after the one with a citation are kept."""

    @property
    def sentences(self) -> Splitter:
        """What says where the sentences of a paragraph end."""

    def add_paper(self, paper: Paper) -> None: ...

    def add_author(self, author: Author) -> None: ...

    def add_reference(self, paper_id: str, reference: Reference) -> None: ...

    def add_context(self, paper_id: str, context: Context) -> None: ...

    def add_intent(self, intent: Intent) -> None: ...

    def add_sentence(self, tokens: int) -> None:
        """Any sentence of a paper, cited or not: what lengths are compared with."""

    def add_text(self, paper_id: str, section: str, sentences: Iterable[tuple[str, str]]) -> None:
        """A paragraph: its sentences with the marks as printed, and with ``<OTHERREF>`` for each."""
