"""The rows that a run is scored by: each response, and in it its claims, its sentences and their marks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tasks.types.positional_citations.claims import Claim, Sentence
from tasks.types.positional_citations.gold import Question
from tasks.types.positional_citations.marks import marks
from tasks.types.positional_citations.positions import Positions, positions, third

#: The classes of a row by dimension; a dimension that is not there has none.
Features = Mapping[str, tuple[str, ...]]
#: The breakdowns, in order.
DIMENSIONS = ("dataset", "placing", "marks_per_sentence", "mark_position", "claims_per_sentence", "length")
_LENGTHS = (
    (25, "under 25 words"),
    (50, "25 to 49 words"),
    (100, "50 to 99 words"),
    (200, "100 to 199 words"),
)


@dataclass(frozen=True, kw_only=True)
class Part:
    """What one row looks at. Only the row of the response itself bears gold and counts as an instance."""

    question: Question
    features: Features


@dataclass(frozen=True, kw_only=True)
class Response(Part):
    """The answer as a whole: ``plain`` is it without marks, as ALCE removes them."""

    plain: str
    is_positional: bool
    sentences: tuple[Sentence, ...]


@dataclass(frozen=True, kw_only=True)
class ScoredClaim(Part):
    """A claim whose marks all stand for passages, the number of its sentence, and its own within that."""

    claim: Claim
    sentence: int
    place: int


@dataclass(frozen=True, kw_only=True)
class AlceSentence(Part):
    """A sentence of the first line without its marks, and these as ALCE reads them."""

    text: str
    marks: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class CitedSentence(Part):
    """A sentence with marks and where they stand, marks between sentences moved to the one before."""

    text: str
    positions: Positions


def sentence_features(sentence: Sentence, count: int | None = None) -> dict[str, tuple[str, ...]]:
    """The classes of a sentence; ``count`` is its number of marks, where ALCE counts otherwise."""
    found = len(marks(sentence.text)) if count is None else count
    units = positions(sentence.text).units
    return {
        "marks_per_sentence": (_counted(found, 4),),
        "mark_position": tuple(dict.fromkeys(map(third, units))),
        "claims_per_sentence": (_counted(len(sentence.claims), 3),) if found else (),
    }


def claim_features(sentence: Sentence, claim: Claim) -> dict[str, tuple[str, ...]]:
    """Those of its sentence, with the position of the claim's own marks."""
    own = sentence_features(sentence)
    return own if claim.position is None else {**own, "mark_position": (third(claim.position),)}


def response_features(sentences: list[Sentence]) -> dict[str, tuple[str, ...]]:
    """The classes of all its sentences."""
    features = [sentence_features(sentence) for sentence in sentences]
    return {
        name: tuple(sorted({label for own in features for label in own[name]}))
        for name in ("marks_per_sentence", "mark_position", "claims_per_sentence")
    }


def length_class(words: int) -> str:
    return next((name for limit, name in _LENGTHS if words < limit), "200 words or more")


def _counted(count: int, most: int) -> str:
    return str(count) if count < most else f"{most} or more"
