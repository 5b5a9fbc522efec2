"""The invented papers and the sentences that cite them."""

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

from scoring.offline import arguments


def write_lines(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    arguments.write_lines(path, records)


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A line of research. Its phrases fill the sentences of papers, citations, questions and answers."""

    name: str
    field: str
    authors: str
    year: int
    task: str
    items: str
    method: str
    rival: str
    cue: str
    idea: str
    easy: str
    hard: str
    source: str
    readers: str
    use: str
    size: int
    best: int
    base: int

    @property
    def phrases(self) -> dict[str, str]:
        plain = {name: str(value) for name, value in asdict(self).items()}
        plain["size"] = f"{self.size:,}"
        plain["best"], plain["base"] = f"0.{self.best}", f"0.{self.base}"
        plain["gap"], plain["half"] = str(self.best - self.base), f"{self.size // 2:,}"
        return plain | {
            name.capitalize(): text[:1].upper() + text[1:]
            for name, text in plain.items()
        }


#: What they are filled with, and every text of the demo.
DATA: dict[str, Any] = tomllib.loads(
    Path(__file__).with_name("texts.toml").read_text(encoding="utf-8")
)
SUBJECTS = tuple(Subject(**facts) for facts in DATA["subjects"])
#: Where a sentence cites.
MARKER = "@"


@dataclass(frozen=True, kw_only=True)
class Sentence:
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
        citations = []
        for place, citing in enumerate(DATA["cited"]):
            is_near = place % 2 == random.randrange(2)
            cited = tuple(
                sentence.number for sentence in self.named(*citing["sentences"].split())
            )
            text = citing["near" if is_near else "free"].format_map(
                self.subject.phrases
            )
            citations.append(Citation(text=text, cited=cited, facet=citing["facet"]))
        random.shuffle(citations)
        return citations


Sections = dict[str, list[tuple[str, Citation | None]]]


def paper_of(subject: Subject) -> Paper:
    sentences: list[Sentence] = []
    for section, lines in DATA["paper"].items():
        for line in lines:
            key, colon, text = line.partition(": ")
            if not (colon and key.isalpha() and key.islower()):
                key, text = "", line
            number, text = len(sentences) + 1, text.format_map(subject.phrases)
            sentences.append(
                Sentence(number=number, section=section, key=key, text=text)
            )
    return Paper(subject=subject, sentences=tuple(sentences))


PAPERS = tuple(map(paper_of, SUBJECTS))


def citing_papers(
    paper: Paper, number: int, citations: int
) -> Iterator[tuple[str, Sections]]:
    """The title of each, and by section its sentences, those with a marker given with their citations."""
    random = Random(f"citing {paper.subject.name}")  # noqa: S311  (the same papers every time are wanted)
    left = paper.citations(random)
    for other in random.sample(
        [subject for subject in SUBJECTS if subject != paper.subject], number
    ):
        sections: Sections = {
            section: [(text.format_map(other.phrases), None) for text in texts]
            for section, texts in DATA["citing"].items()
        }
        for place, citation in enumerate(left[:citations]):
            section = sections[("Introduction", "Approach")[place % 2]]
            section.append((marked(citation.text, paper.subject), citation))
        left = left[citations:]
        yield f"{other.phrases['Task']} revisited with {other.cue}", sections


def marked(text: str, subject: Subject) -> str:
    no_object = (f"by {MARKER}.", f"of {MARKER}.", f"to {MARKER}.")
    if text.endswith(f" {MARKER}.") and not text.endswith(no_object):
        return text.replace(f" {MARKER}", f" ({subject.authors}, {subject.year})")
    return text.replace(MARKER, f"{subject.authors} ({subject.year})")
