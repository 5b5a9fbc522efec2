"""What is asked of an entailment model: does this premise entail this hypothesis?"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tasks.types.positional_citations.gold import Passage


@dataclass(frozen=True)
class Pair:
    """A premise and a hypothesis, word for word as a model is given them."""

    premise: str
    hypothesis: str

    @property
    def key(self) -> tuple[str, str]:
        """By what labels are kept: the SHA-256 of premise and hypothesis."""
        return sha256(self.premise), sha256(self.hypothesis)


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def passage_text(passage: Passage) -> str:
    return f"Title: {passage.title}\n{passage.text}" if passage.title else passage.text


@dataclass(frozen=True)
class Case:
    """A claim and the passages that its marks stand for, in order, each as often as it is marked."""

    hypothesis: str
    passages: tuple[str, ...]

    @cached_property
    def joint(self) -> Pair:
        return self._pair(self.passages)

    @property
    def has_several(self) -> bool:
        return len(self.passages) > 1

    @cached_property
    def first_places(self) -> Mapping[str, int]:
        """Each distinct passage with the place of its first mark; all marks of a passage are judged alike."""
        return {passage: self.passages.index(passage) for passage in dict.fromkeys(self.passages)}

    def alone(self, passage: str) -> Pair:
        return self._pair([passage])

    def others(self, passage: str) -> Pair:
        """The passages of all marks but the first of this passage."""
        first = self.first_places[passage]
        return self._pair((*self.passages[:first], *self.passages[first + 1 :]))

    def _pair(self, passages: Sequence[str]) -> Pair:
        return Pair("\n".join(passages), self.hypothesis)
