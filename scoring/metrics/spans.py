"""Measures of spans: the four schemes of SemEval-2013 task 9, characters, tokens, and overlap at a threshold.

Counts are pooled over all instances; 0/0 is 0. An instance without an answer has no spans.
"""

import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from scoring.metrics.base import ClassGold, Fixed, Floats, Metric
from scoring.metrics.classification import part_of

SEMEVAL = "Segura-Bedmar, Martínez and Herrero-Zazo 2013, SemEval-2013 Task 9: Extraction of Drug-Drug Interactions"  # noqa: E501
_TOKEN = re.compile(r"\w+|[^\w\s]")

Span = tuple[int, int, str]


class PooledSpans(Metric):
    """Precision, recall or F1 from (…, 3) sums: what is right, what was given, what is wanted."""

    shape = "ratio"

    def __init__(self, name: str, rules: str, *, part: str) -> None:
        super().__init__(name, rules)
        self.part = part

    @abstractmethod
    def counted(self, gold: Any, answer: Sequence[Span]) -> tuple[float, float, float]:
        """Of one instance."""

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        pairs = zip(gold, answers, strict=True)
        rows = [
            (0.0,) * 3 if own is None else self.counted(own, answer or ())
            for own, answer in pairs
        ]
        return np.array(rows, dtype=np.float64).reshape(-1, 3)

    def fixed_by(self, gold: ClassGold) -> Fixed | None:
        """Return that the class is fixed if no span is wanted there: no answer can be right."""
        return None if gold.rows[:, 2].any() else Fixed.EMPTY_GOLD

    def aggregate(self, sums: Floats) -> Floats:
        right, given, wanted = (sums[..., place] for place in range(3))
        return part_of(self.part, right, given, wanted)


class SemEval(PooledSpans):
    """Spans matched as SemEval-2013 task 9 does, under one of four schemes, as nervaluate 1.2 computes them.
    Given spans are taken in their order, and each meets one wanted span at most that none before it has met:
    of those that it overlaps one that is right, else the first. Right is the same bounds and label under
    `strict`, the same bounds under `exact` and `partial`, the same label under `type`, where the closest
    bounds go first; `partial` gives half a point for any other that overlaps.
    """

    citation = SEMEVAL

    def __init__(self, name: str, rules: str, *, part: str, scheme: str) -> None:
        super().__init__(name, rules, part=part)
        self.statistic, self.fixed = f"spans:{scheme}", {"scheme": scheme}
        self.scheme = scheme

    def counted(self, gold: Any, answer: Sequence[Span]) -> tuple[float, float, float]:
        credit, unmet = 0.0, sorted(gold)
        for span in sorted(answer):
            met = [own for own in unmet if own[0] < span[1] and span[0] < own[1]]
            right = [own for own in met if self._is_right(own, span)]
            if met:
                unmet.remove(min(right, key=partial(_distance, span), default=met[0]))
                credit += 1.0 if right else 0.5 if self.scheme == "partial" else 0.0
        return credit, float(len(answer)), float(len(gold))

    def _is_right(self, own: Span, span: Span) -> bool:
        has_bounds, has_label = own[:2] == span[:2], own[2] == span[2]
        return (has_bounds or self.scheme == "type") and (
            has_label or self.scheme in ("exact", "partial")
        )


def _distance(one: Span, other: Span) -> int:
    return abs(one[0] - other[0]) + abs(one[1] - other[1])


class Units(PooledSpans):
    """Over the characters that spans cover, or the tokens that they touch, each once for each label. Tokens
    are runs of letters, digits and underscores, or single other marks.
    """

    citation = "van Rijsbergen 1979, Information Retrieval, 2nd edition, chapter 7"

    def __init__(self, name: str, rules: str, *, part: str, unit: str) -> None:
        super().__init__(name, rules, part=part)
        self.statistic, self.fixed = f"spans:{unit}s", {"unit": unit}
        self._units: Callable[[str, Sequence[Span]], Iterator[tuple[int, str]]] = (
            _characters if unit == "character" else _tokens
        )

    def counted(self, gold: Any, answer: Sequence[Span]) -> tuple[float, float, float]:
        wanted, given = (set(self._units(gold.text, side)) for side in (gold, answer))
        return float(len(wanted & given)), float(len(given)), float(len(wanted))


def _characters(text: str, spans: Sequence[Span]) -> Iterator[tuple[int, str]]:
    return (
        (place, label) for start, end, label in spans for place in range(start, end)
    )


def _tokens(text: str, spans: Sequence[Span]) -> Iterator[tuple[int, str]]:
    tokens = [(match.start(), match.end()) for match in _TOKEN.finditer(text)]
    return (
        (begin, label)
        for start, end, label in spans
        for begin, to in tokens
        if begin < end and start < to
    )


class OverlapAt(PooledSpans):
    """Given spans that share so much of their union with a wanted one of the same label, each matched once,
    the largest shares first.
    """

    citation = (
        "Everingham et al. 2010, The PASCAL Visual Object Classes Challenge, IJCV 88"
    )

    def __init__(
        self, name: str, rules: str, *, part: str, threshold: float = 0.5
    ) -> None:
        super().__init__(name, rules, part=part)
        self.threshold = threshold
        self.statistic, self.fixed = (
            f"spans:iou:{threshold:g}",
            {"threshold": threshold},
        )

    def counted(self, gold: Any, answer: Sequence[Span]) -> tuple[float, float, float]:
        shares = sorted(
            (-_share(own, span), at, place)
            for at, own in enumerate(gold)
            for place, span in enumerate(answer)
            if own[2] == span[2] and _share(own, span) >= self.threshold
        )
        golds, answers = set[int](), set[int]()
        for _, at, place in shares:
            if at not in golds and place not in answers:
                golds.add(at)
                answers.add(place)
        return float(len(golds)), float(len(answer)), float(len(gold))


def _share(one: Span, other: Span) -> float:
    both = max(0, min(one[1], other[1]) - max(one[0], other[0]))
    return both / (max(one[1], other[1]) - min(one[0], other[0])) if both else 0.0
