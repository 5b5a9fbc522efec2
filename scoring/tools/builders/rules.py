"""The rules of a diagnostic split: data that is stored and shown with it, and may be given anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

#: The classes that the other features must have, so that only the dimension's own varies.
SIDE_CONDITIONS: Mapping[str, Mapping[str, str]] = {
    "field": {},
    "year_group": {},
    "citation_group": {},
    "length_class": {"location_class": "end"},
    "location_class": {"length_class": "medium"},
    "context_type": {"length_class": "medium", "location_class": "end"},
    "pos_before": {"length_class": "medium", "location_class": "middle"},
    "pos_after": {"length_class": "medium", "location_class": "middle"},
    "low_resource": {"length_class": "medium", "location_class": "end"},
    "h_index_group": {},
}
#: How the sets are drawn: `each` dimension on its own, or as the paper has it.
EACH, OFFICIAL = "each", "official"
#: The sets that are made of the contexts of all others where they are drawn as in the paper.
COMBINED = ("field", "year_group", "citation_group", "h_index_group")
#: Contexts that are taken of a stratum where nothing else is said.
PER_STRATUM: Mapping[str, int] = {EACH: 10, OFFICIAL: 3}


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What decides which contexts are taken and which classes they have.

    ``length_thresholds`` are worked out from the corpus where they are not given: mean minus and plus the
    standard deviation of the token counts of its sentences, once those beyond ``outlier_z`` deviations are
    dropped.
    """

    seed: int = 0
    sampling: str = EACH
    per_stratum: int = 10
    #: As in the paper: so many cited papers are drawn of each stratum, ``per_stratum`` of which are kept.
    drawn: int = 10
    most_per_class: int = 1500
    every_context: bool = False
    outlier_z: float = 3.0
    length_thresholds: tuple[float, float] | None = None
    #: Up to the first share of the sentence is its start, beyond the second its end.
    location_bounds: tuple[float, float] = (1 / 3, 2 / 3)
    first_year: int = 1996
    last_year: int = 2020
    years_a_group: int = 5
    citation_groups: int = 10
    fewest_citations: int = 5
    h_index_groups: int = 4
    #: Whose field counts: of the `cited` paper or of the `citing` one; `auto` is decided by the corpus.
    field_of: str = "auto"
    #: A field with a smaller share of the corpus is a low-resource field, the others are its main fields.
    low_resource_share: float = 0.03

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "side_conditions": {} if self.every_context else SIDE_CONDITIONS}

    def year_group(self, year: int | None) -> str | None:
        """The group of years, such as 2001-2005; None outside of all groups."""
        if year is None or not self.first_year <= year <= self.last_year:
            return None
        return self.years(year)

    def years(self, year: int) -> str:
        """The years that are counted with this one, be they in a group or before or behind all groups."""
        first = year - (year - self.first_year) % self.years_a_group
        return f"{first}-{first + self.years_a_group - 1}"

    def location(self, position: float) -> str:
        low, high = self.location_bounds
        return "start" if position <= low else "middle" if position <= high else "end"


@dataclass(frozen=True)
class LengthThresholds:
    """Token counts below ``low`` are short, above ``high`` long; the rest says where both come from."""

    low: float
    high: float
    mean: float | None = None
    deviation: float | None = None
    sentences: int = 0
    dropped: int = 0

    def length(self, tokens: int) -> str:
        return "short" if tokens < self.low else "long" if tokens > self.high else "medium"


def length_thresholds(counts: Mapping[int, int], outlier_z: float) -> LengthThresholds:
    """From how many sentences have how many tokens."""
    mean, deviation = _moments(counts)
    plausible = {
        tokens: sentences
        for tokens, sentences in counts.items()
        if not deviation or abs(tokens - mean) / deviation <= outlier_z
    }
    dropped = sum(counts.values()) - sum(plausible.values())
    mean, deviation = _moments(plausible)
    return LengthThresholds(
        mean - deviation, mean + deviation, mean, deviation, sum(plausible.values()), dropped
    )


def _moments(counts: Mapping[int, int]) -> tuple[float, float]:
    """Mean and standard deviation of a whole population."""
    total = sum(counts.values())
    if not total:
        return 0.0, 0.0
    mean = sum(tokens * sentences for tokens, sentences in counts.items()) / total
    square = sum((tokens - mean) ** 2 * sentences for tokens, sentences in counts.items()) / total
    return mean, square**0.5
