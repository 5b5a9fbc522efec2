"""The parts of speech around a citation, by a spaCy pipeline that is loaded when it is first needed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from scoring.tools.builders.corpus import PLACEHOLDER
from tasks.types.unavailable import Unavailable

#: Penn tags by group; a tag of none of them is among the others.
GROUPS = {
    "verb": ("VB", "VBD", "VBG", "VBP", "VBZ", "VBN"),
    "noun": ("NN", "NNS", "NNP", "NNPS"),
    "adjective": ("JJ", "JJR", "JJS"),
    "adverb": ("RB", "RBR", "RBS"),
    "pronoun": ("PRP", "PRP$", "WP", "EX"),
    "preposition": ("IN", "TO"),
}
OTHERS = "others"
BATCH = 64
_GROUP_OF = {tag: group for group, tags in GROUPS.items() for tag in tags}


@dataclass(frozen=True)
class Neighbours:
    """The nearest words that are no punctuation, and their groups; None where there is none."""

    word_before: str | None = None
    pos_before: str | None = None
    word_after: str | None = None
    pos_after: str | None = None


class Tagger:
    """Tags sentences with their placeholder in them, since without it their grammar is another."""

    def __init__(self, pipeline: str) -> None:
        try:
            import spacy
        except ImportError as missing:
            raise Unavailable("parts of speech need the package spacy") from missing
        try:
            # The tags alone are needed; lemmas, names and the grammar take most of the time.
            self._nlp = spacy.load(pipeline, disable=("parser", "ner", "lemmatizer"))
        except OSError as missing:
            raise Unavailable(f"there is no spaCy pipeline “{pipeline}”") from missing
        self.pipeline = pipeline
        meta = self._nlp.meta
        self.name = f"{meta['lang']}_{meta['name']}-{meta['version']}"

    def neighbours(self, sentences: Iterable[tuple[int, str]]) -> Iterator[tuple[int, Neighbours]]:
        """For numbered sentences, in their order, what stands around the placeholder."""
        spaced = (
            (sentence.replace(PLACEHOLDER, f" {PLACEHOLDER} "), number) for number, sentence in sentences
        )
        for document, number in self._nlp.pipe(spaced, as_tuples=True, batch_size=BATCH):
            yield number, _around(document)


def _around(document: Any) -> Neighbours:
    start = document.text.index(PLACEHOLDER)
    words = [token for token in document if not token.is_punct and not token.is_space]
    before = [token for token in words if token.idx + len(token) <= start]
    after = [token for token in words if token.idx >= start + len(PLACEHOLDER)]
    last, first = before[-1] if before else None, after[0] if after else None
    return Neighbours(
        word_before=last.text if last else None,
        pos_before=_group(last),
        word_after=first.text if first else None,
        pos_after=_group(first),
    )


def _group(token: Any) -> str | None:
    return None if token is None else _GROUP_OF.get(token.tag_, OTHERS)
