"""The invented literature: twelve papers with their sentences, and the citations between them."""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

from scoring.offline import arguments


def write_lines(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    arguments.write_json_lines(path, records)


#: The place of a citation; a mark in brackets can be removed from the sentence.
MARKER = "@"
#: A citation of another work, or of sentences of another paper by their keys.
_CITATION = re.compile(
    r"> (?:#(?P<work>\d)|(?P<paper>\w+) (?P<keys>[\w,]+) (?P<facet>\w+)) (?P<intent>\w+)"
)


@dataclass(frozen=True, kw_only=True)
class Work:
    """A citable work: a paper of the literature, or a work with a reference alone."""

    id: str
    authors: str
    year: int
    title: str

    @property
    def reference(self) -> str:
        return f"{self.authors}, {self.year}. {self.title}."


@dataclass(frozen=True, kw_only=True)
class Citation:
    """``keys`` are the cited sentences, ``facet`` their subject; a mere reference has neither."""

    work: Work
    intent: str
    keys: tuple[str, ...] = ()
    facet: str = ""

    @property
    def marker(self) -> str:
        return f"{self.work.authors} ({self.work.year})"

    @property
    def bracketed(self) -> str:
        return f"{self.work.authors}, {self.work.year}"


@dataclass(frozen=True, kw_only=True)
class Sentence:
    number: int
    section: str
    key: str
    raw: str
    citation: Citation | None = None

    @property
    def text(self) -> str:
        """Return the sentence as printed."""
        if self.citation is None:
            return self.raw
        return self.with_mark(self.citation.marker, f"({self.citation.bracketed})")

    def with_mark(self, mark: str, bracketed: str | None = None) -> str:
        """Return the sentence with ``mark`` for its mark, or ``bracketed`` for a mark in brackets."""
        brackets = f"({MARKER})"
        if brackets in self.raw:
            return self.raw.replace(brackets, mark if bracketed is None else bracketed)
        return self.raw.replace(MARKER, mark)

    @property
    def is_in_brackets(self) -> bool:
        return f"({MARKER})" in self.raw

    @property
    def unmarked(self) -> str:
        """Return the sentence without its mark in brackets."""
        return self.raw.replace(f" ({MARKER})", "")


@dataclass(frozen=True)
class Paper:
    facts: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.facts[name]

    @property
    def key(self) -> str:
        return str(self.facts["key"])

    @property
    def title(self) -> str:
        return str(self.facts["title"])

    @cached_property
    def work(self) -> Work:
        return Work(
            id=self.key,
            authors=self["authors"],
            year=self["year"],
            title=self.title,
        )

    @cached_property
    def works(self) -> list[Work]:
        """Return the cited works outside the literature."""
        works = []
        for number, line in enumerate(self["works"], start=1):
            authors, year, title = line.split(" | ")
            works.append(
                Work(
                    id=f"{self.key}-{number}",
                    authors=authors,
                    year=int(year),
                    title=title,
                )
            )
        return works

    @cached_property
    def phrases(self) -> dict[str, str]:
        plain = {
            name: value for name, value in self.facts.items() if isinstance(value, str)
        }
        return plain | {
            name.capitalize(): text[:1].upper() + text[1:]
            for name, text in plain.items()
        }

    @cached_property
    def sentences(self) -> list[Sentence]:
        sentences: list[Sentence] = []
        for section, lines in self["sections"].items():
            for line in lines:
                number = len(sentences) + 1
                sentences.append(self._sentence(number, section, line))
        return sentences

    def _sentence(self, number: int, section: str, line: str) -> Sentence:
        head, colon, text = line.partition(": ")
        if line.startswith("> "):
            citation = self._citation(head)
            return Sentence(
                number=number, section=section, key="", raw=text, citation=citation
            )
        if colon and head.isalpha() and head.islower():
            return Sentence(number=number, section=section, key=head, raw=text)
        return Sentence(number=number, section=section, key="", raw=line)

    def _citation(self, head: str) -> Citation:
        match = _CITATION.fullmatch(head)
        if match is None:
            raise ValueError(f"{self.key}: no citation: {head}")
        if match["work"]:
            return Citation(
                work=self.works[int(match["work"]) - 1], intent=match["intent"]
            )
        return Citation(
            work=PAPERS[match["paper"]].work,
            intent=match["intent"],
            keys=tuple(match["keys"].split(",")),
            facet=match["facet"],
        )

    @property
    def abstract(self) -> list[str]:
        return [sentence.text for sentence in self.sentences if not sentence.section]

    def sections(self) -> dict[str, list[Sentence]]:
        sections: dict[str, list[Sentence]] = {}
        for sentence in self.sentences:
            sections.setdefault(sentence.section, []).append(sentence)
        return sections

    def named(self, *keys: str) -> list[Sentence]:
        """Return the sentences with these keys; keys of the abstract may occur again in the body."""
        found = [sentence for sentence in self.sentences if sentence.key in keys]
        if len({sentence.key for sentence in found}) < len(set(keys)):
            raise ValueError(f"{self.key}: not all of {', '.join(keys)}")
        return found

    def references(self) -> list[Work]:
        """Return all references of the paper in the order of their authors."""
        works = {work.id: work for work in self.works}
        for sentence in self.sentences:
            if sentence.citation is not None and sentence.citation.keys:
                cited = PAPERS[sentence.citation.work.id]
                works[cited.key] = cited.work
                works |= {work.id: work for work in cited.works}
        return sorted(works.values(), key=lambda work: (work.authors, work.year))

    def citing(self) -> Iterator[tuple[Sentence, Citation]]:
        """Return the citing sentences with their citations."""
        for sentence in self.sentences:
            if sentence.citation is not None:
                yield sentence, sentence.citation

    def neighbours(self, sentence: Sentence) -> tuple[str, str]:
        """Return the previous and the next sentence in the section; empty if there is none."""
        section = self.sections()[sentence.section]
        around: Sequence[str] = ["", *(each.text for each in section), ""]
        place = 1 + section.index(sentence)
        return around[place - 1], around[place + 1]

    def pairs(self) -> Iterator[tuple[Sentence, Sentence]]:
        """Return all pairs of successive sentences of the body within a section."""
        for section, sentences in self.sections().items():
            if section:
                yield from pairwise(sentences)


#: Papers by key, the oldest first.
PAPERS: dict[str, Paper] = {}
for _facts in tomllib.loads(
    Path(__file__).with_name("literature.toml").read_text(encoding="utf-8")
)["papers"]:
    PAPERS[_facts["key"]] = Paper(_facts)


def citances(cited: Paper) -> Iterator[tuple[Paper, Sentence, Citation]]:
    """Return the citances of a paper, with their papers."""
    for paper in PAPERS.values():
        for sentence, citation in paper.citing():
            if citation.work.id == cited.key:
                yield paper, sentence, citation
