"""The invented papers and the sentences that cite them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random

from scoring.tools.demo.sentences import CITED, CITING, STATEMENTS
from scoring.tools.demo.subjects import SUBJECTS, Subject

#: Where a sentence cites.
MARKER = "@"


@dataclass(frozen=True, kw_only=True)
class Sentence:
    """A sentence of a paper; its number counts from 1, as the title is 0."""

    number: int
    section: str
    key: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Citation:
    """What another paper says of one; ``cited`` are the numbers of the sentences that it means."""

    text: str
    cited: tuple[int, ...]
    facet: str


@dataclass(frozen=True, kw_only=True)
class Paper:
    subject: Subject
    sentences: tuple[Sentence, ...]

    @property
    def title(self) -> str:
        return self.subject.phrases["Task"] + " by " + self.subject.cue

    @property
    def abstract(self) -> list[str]:
        return [sentence.text for sentence in self.sentences if not sentence.section]

    def named(self, *keys: str) -> list[Sentence]:
        return [sentence for sentence in self.sentences if sentence.key in keys]

    def citations(self, random: Random) -> list[Citation]:
        """One about each thing that others cite, in a drawn order, near and free wordings in turn."""
        found = []
        for place, (keys, (facet, *wordings)) in enumerate(CITED.items()):
            is_near = place % 2 == random.randrange(2)
            cited = tuple(sentence.number for sentence in self.named(*keys.split()))
            text = wordings[not is_near].format_map(self.subject.phrases)
            found.append(Citation(text=text, cited=cited, facet=facet))
        random.shuffle(found)
        return found


@dataclass(frozen=True, kw_only=True)
class CitingPaper:
    """By section its sentences, those with a marker given with their citations."""

    title: str
    sections: Mapping[str, list[tuple[str, Citation | None]]]


def paper_of(subject: Subject) -> Paper:
    phrases = subject.phrases
    sentences = (
        Sentence(
            number=number,
            section=statement.section,
            key=statement.key,
            text=statement.template.format_map(phrases),
        )
        for number, statement in enumerate(STATEMENTS, start=1)
    )
    return Paper(subject=subject, sentences=tuple(sentences))


PAPERS = tuple(map(paper_of, SUBJECTS))


def citing_papers(paper: Paper, number: int, citations: int) -> Iterator[CitingPaper]:
    """So many papers on other subjects, each with so many citations of this one."""
    random = Random(f"citing {paper.subject.name}")  # noqa: S311  (the same papers every time are wanted)
    left = paper.citations(random)
    others = random.sample([subject for subject in SUBJECTS if subject != paper.subject], number)
    for other in others:
        own, left = left[:citations], left[citations:]
        phrases = other.phrases
        sections: dict[str, list[tuple[str, Citation | None]]] = {
            section: [(text.strip().format_map(phrases), None) for text in block.split("|")]
            for section, block in CITING.items()
        }
        for place, citation in enumerate(own):
            section = sections[("Introduction", "Approach")[place % 2]]
            section.append((marked(citation.text, paper.subject), citation))
        yield CitingPaper(title=f"{phrases['Task']} revisited with {other.cue}", sections=sections)


def marked(text: str, subject: Subject) -> str:
    """With authors and year at the marker, in brackets where no word of the sentence needs them."""
    if text.endswith(f" {MARKER}.") and not text.endswith(
        (f"by {MARKER}.", f"of {MARKER}.", f"to {MARKER}.")
    ):
        return text.replace(f" {MARKER}", f" ({subject.authors}, {subject.year})")
    return text.replace(MARKER, f"{subject.authors} ({subject.year})")


def marker_of(text: str, subject: Subject) -> str:
    """How the marker of such a sentence is written."""
    in_brackets = f"{subject.authors}, {subject.year}"
    return in_brackets if in_brackets in text else f"{subject.authors} ({subject.year})"
