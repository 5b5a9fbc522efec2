"""Metrics of labelled spans, which are the four matching schemes of SemEval-2013 task
9, shared characters, shared tokens, and overlap above a threshold.

Counts of spans are pooled over all instances, and 0/0 is 0. An instance without an
answer has no spans.
"""

import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from scoring.metrics.base import ClassGold, FixedValueReason, Floats, Metric
from scoring.metrics.classification import compute_precision_recall_or_f1
from tasks.types.base import MeasureCredits

SEMEVAL_CITATION = "Segura-Bedmar, Martínez and Herrero-Zazo 2013, SemEval-2013 Task 9: Extraction of Drug-Drug Interactions"  # noqa: E501
_TOKEN_PATTERN = re.compile(r"\w+|[^\w\s]")

LabelledSpan = tuple[int, int, str]


class PooledSpans(Metric):
    """Precision, recall or F1 from arrays (…, 3) with the sums of right, answered and
    gold spans.
    """

    shape = "ratio"

    def __init__(self, name: str, rules: str, *, part: str) -> None:
        super().__init__(name, rules)
        self.part = part

    @abstractmethod
    def counted(
        self, gold: Any, answer: Sequence[LabelledSpan]
    ) -> tuple[float, float, float]:
        """Return the numbers of right, answered and gold spans of one instance."""

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        pairs = zip(gold, answers, strict=True)
        rows = [
            (0.0,) * 3 if own is None else self.counted(own, answer or ())
            for own, answer in pairs
        ]
        return np.array(rows, dtype=np.float64).reshape(-1, 3)

    @abstractmethod
    def compute_span_credits(
        self, gold: Any, answer: Sequence[LabelledSpan]
    ) -> MeasureCredits:
        """Return the credits of the gold's spans and of the answer's spans."""

    def marks(
        self, gold: Sequence[Any], answers: Sequence[Any]
    ) -> Sequence[MeasureCredits | None]:
        return [
            None if own is None else self.compute_span_credits(own, answer or ())
            for own, answer in zip(gold, answers, strict=True)
        ]

    def fixed_by(self, gold: ClassGold) -> FixedValueReason | None:
        """Return EMPTY_GOLD if the gold of the class has no span, because no answered
        span can be right.
        """
        return None if gold.rows[:, 2].any() else FixedValueReason.EMPTY_GOLD

    def aggregate(self, sums: Floats) -> Floats:
        right, given, wanted = (sums[..., place] for place in range(3))
        return compute_precision_recall_or_f1(self.part, right, given, wanted)


class SemEval(PooledSpans):
    """Precision, recall or F1 of spans that match under one of the four schemes of
    SemEval-2013 task 9, as in nervaluate 1.2. Answered spans are matched in the order
    of the text. Each answered span is matched to at most one overlapping gold span that
    has no match yet. If a right gold span exists, the answered span is matched to this
    span, otherwise to the first overlapping gold span. A gold span is right if the
    bounds and the label are equal under `strict`, the bounds are equal under `exact`
    and `partial`, and the label is equal under `type`. If several gold spans are right,
    the closest is matched. Under `partial`, pairs of spans with different bounds that
    overlap have credit .5.
    """

    citation = SEMEVAL_CITATION

    def __init__(self, name: str, rules: str, *, part: str, scheme: str) -> None:
        super().__init__(name, rules, part=part)
        self.statistic, self.fixed = f"spans:{scheme}", {"scheme": scheme}
        self.scheme = scheme

    def counted(
        self, gold: Any, answer: Sequence[LabelledSpan]
    ) -> tuple[float, float, float]:
        credit = sum(credit for _span, _own, credit in self._match_spans(gold, answer))
        return credit, float(len(answer)), float(len(gold))

    def compute_span_credits(
        self, gold: Any, answer: Sequence[LabelledSpan]
    ) -> MeasureCredits:
        met = list(self._match_spans(gold, answer))
        found = {own: credit for _span, own, credit in met}
        right = {span: credit for span, _own, credit in met}
        return MeasureCredits(
            tuple(found.get(own, 0.0) for own in gold),
            tuple(right.get(span, 0.0) for span in answer),
        )

    def _match_spans(
        self, gold: Any, answer: Sequence[LabelledSpan]
    ) -> Iterator[tuple[LabelledSpan, LabelledSpan, float]]:
        """Yield each matched pair of an answered span and a gold span, with the credit
        of the match.
        """
        unmet = sorted(gold)
        for span in sorted(answer):
            met = [own for own in unmet if own[0] < span[1] and span[0] < own[1]]
            right = [own for own in met if self._is_match_correct(own, span)]
            if met:
                chosen = min(
                    right, key=partial(_compute_span_distance, span), default=met[0]
                )
                unmet.remove(chosen)
                partly = 0.5 if self.scheme == "partial" else 0.0
                yield span, chosen, 1.0 if right else partly

    def _is_match_correct(self, own: LabelledSpan, span: LabelledSpan) -> bool:
        has_bounds, has_label = own[:2] == span[:2], own[2] == span[2]
        return (has_bounds or self.scheme == "type") and (
            has_label or self.scheme in ("exact", "partial")
        )


def _compute_span_distance(span: LabelledSpan, other: LabelledSpan) -> int:
    return abs(span[0] - other[0]) + abs(span[1] - other[1])


class Units(PooledSpans):
    """Precision, recall or F1 of labelled units, which are the characters that spans
    cover, or the tokens that spans overlap. A token is a sequence of letters, digits
    and underscores, or any other single character.
    """

    citation = "van Rijsbergen 1979, Information Retrieval, 2nd edition, chapter 7"

    def __init__(self, name: str, rules: str, *, part: str, unit: str) -> None:
        super().__init__(name, rules, part=part)
        self.statistic, self.fixed = f"spans:{unit}s", {"unit": unit}
        self._units: Callable[
            [str, Sequence[LabelledSpan]], Iterator[tuple[int, str]]
        ] = (
            _iterate_labelled_characters
            if unit == "character"
            else _iterate_labelled_tokens
        )

    def counted(
        self, gold: Any, answer: Sequence[LabelledSpan]
    ) -> tuple[float, float, float]:
        wanted, given = (set(self._units(gold.text, side)) for side in (gold, answer))
        return float(len(wanted & given)), float(len(given)), float(len(wanted))

    def compute_span_credits(
        self, gold: Any, answer: Sequence[LabelledSpan]
    ) -> MeasureCredits:
        """For each span, return the share of its characters or tokens that both gold
        and answer have as the credit. Spans without characters or tokens have no
        credit.
        """
        wanted, given = (set(self._units(gold.text, side)) for side in (gold, answer))
        return MeasureCredits(
            tuple(self._compute_found_share(gold.text, own, given) for own in gold),
            tuple(
                self._compute_found_share(gold.text, span, wanted) for span in answer
            ),
        )

    def _compute_found_share(
        self, text: str, span: LabelledSpan, others: set[tuple[int, str]]
    ) -> float | None:
        units = set(self._units(text, [span]))
        return len(units & others) / len(units) if units else None


def _iterate_labelled_characters(
    text: str, spans: Sequence[LabelledSpan]
) -> Iterator[tuple[int, str]]:
    return (
        (place, label) for start, end, label in spans for place in range(start, end)
    )


def _iterate_labelled_tokens(
    text: str, spans: Sequence[LabelledSpan]
) -> Iterator[tuple[int, str]]:
    tokens = [(match.start(), match.end()) for match in _TOKEN_PATTERN.finditer(text)]
    return (
        (begin, label)
        for start, end, label in spans
        for begin, to in tokens
        if begin < end and start < to
    )


class OverlapAt(PooledSpans):
    """Precision, recall or F1 of spans that match if they have the same label and their
    intersection over union reaches ``threshold``. Each span is matched at most once.
    Pairs of spans with the largest overlap are matched first.
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

    def counted(
        self, gold: Any, answer: Sequence[LabelledSpan]
    ) -> tuple[float, float, float]:
        golds, _answers = self._match_spans_greedily(gold, answer)
        return float(len(golds)), float(len(answer)), float(len(gold))

    def compute_span_credits(
        self, gold: Any, answer: Sequence[LabelledSpan]
    ) -> MeasureCredits:
        golds, answers = self._match_spans_greedily(gold, answer)
        return MeasureCredits(
            tuple(float(at in golds) for at in range(len(gold))),
            tuple(float(place in answers) for place in range(len(answer))),
        )

    def _match_spans_greedily(
        self, gold: Any, answer: Sequence[LabelledSpan]
    ) -> tuple[set[int], set[int]]:
        """Return the indices of the matched gold spans and of the matched answer
        spans.
        """
        shares = sorted(
            (-_compute_overlap_share(own, span), at, index)
            for at, own in enumerate(gold)
            for index, span in enumerate(answer)
            if own[2] == span[2] and _compute_overlap_share(own, span) >= self.threshold
        )
        golds, answers = set[int](), set[int]()
        for _, at, place in shares:
            if at not in golds and place not in answers:
                golds.add(at)
                answers.add(place)
        return golds, answers


def _compute_overlap_share(one: LabelledSpan, other: LabelledSpan) -> float:
    both = max(0, min(one[1], other[1]) - max(one[0], other[0]))
    return both / (max(one[1], other[1]) - min(one[0], other[0])) if both else 0.0
