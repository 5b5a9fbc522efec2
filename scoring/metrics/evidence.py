"""Metrics of evidence for claims, which are SciFact's metrics of documents and
sentences, and the metrics of FEVER.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scoring.metrics.base import (
    Floats,
    MeanMetric,
    Metric,
    quotient,
    select_part_of_means,
)
from scoring.metrics.classification import compute_precision_recall_or_f1
from tasks.types.base import MeasureCredits
from tasks.types.columns import compute_mask_of_present_rows

SCIFACT_CITATION = (
    "Wadden et al. 2020, Fact or Fiction: Verifying Scientific Claims, EMNLP"
)
FEVER_CITATION = (
    "Thorne et al. 2018, FEVER: a Large-scale Dataset for Fact Extraction and "
    "VERification, NAACL"
)
#: At most this number of answered sentences per document counts as evidence.
MAX_COUNTED_SENTENCES = 3
#: The names of SciFact's four measures, in the order of the matrix columns.
SCIFACT_MEASURES = (
    "abstract_label_only",
    "abstract_rationalized",
    "sentence_selection",
    "sentence_label",
)


class SciFact(Metric):
    """Precision, recall or F1 of one of SciFact's four measures, counted over all
    claims. 0/0 is 0.

    `abstract_label_only` counts documents with the right label. `abstract_rationalized`
    counts documents with the right label whose first three answered sentences contain a
    complete evidence set. `sentence_selection` counts answered sentences that belong to
    a completely answered evidence set. A sentence that is answered twice counts twice.
    `sentence_label` counts the sentences of `sentence_selection` in documents with the
    right label. A missing answer counts as an answer without documents.
    """

    shape = "ratio"
    statistic = "scifact"
    citation = SCIFACT_CITATION

    def __init__(self, name: str, rules: str, *, measure: str, part: str) -> None:
        super().__init__(name, rules)
        self.part, self.place = part, 3 * SCIFACT_MEASURES.index(measure)
        self.measure = measure
        self.fixed = {"measure": measure, "first": MAX_COUNTED_SENTENCES}

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        """Return an array (n, 12) with the counts of right, answered and gold items for
        each of the four measures.
        """
        pairs = zip(gold, answers, strict=True)
        rows = [
            [0.0] * 12 if own is None else _count_answered_items(own, answer or {})
            for own, answer in pairs
        ]
        return np.array(rows, dtype=np.float64).reshape(-1, 12)

    def aggregate(self, sums: Floats) -> Floats:
        right, given, wanted = (sums[..., self.place + at] for at in range(3))
        return compute_precision_recall_or_f1(self.part, right, given, wanted)

    def marks(
        self, gold: Sequence[Any], answers: Sequence[Any]
    ) -> Sequence[MeasureCredits | None]:
        """Mark the documents, or the sentences and evidence sets, that SciFact's
        measure counts. For `abstract_rationalized`, also mark the evidence set that
        makes a document right.
        """
        return [
            None if own is None else self._mark_claim(own, answer or {})
            for own, answer in zip(gold, answers, strict=True)
        ]

    def _mark_claim(self, gold: Any, answer: Any) -> MeasureCredits:
        wanted: list[float | None] = []
        given: list[float | None] = []
        for document, (label, sets) in gold.items():
            given_label, sentences = answer.get(document, ("", ()))
            own = _DocumentEvidence.of(label, sets, given_label, sentences)
            wanted += [own.credit(self.measure), *own.compute_set_credits(self.measure)]
        for document, (label, sentences) in answer.items():
            wanted_label, sets = gold.get(document, ("", ()))
            own = _DocumentEvidence.of(wanted_label, sets, label, sentences)
            given += [
                own.credit(self.measure),
                *own.compute_sentence_credits(self.measure),
            ]
        return MeasureCredits(tuple(wanted), tuple(given))


@dataclass(frozen=True)
class _DocumentEvidence:
    """The evidence sets, the answered sentences and the label's correctness for one
    document of a claim.

    ``first`` contains the answered sentences within the maximum number of sentences.
    Only answered sentences within this maximum can complete an evidence set.
    """

    sets: Sequence[Any]
    given: Sequence[int]
    is_right: bool

    @classmethod
    def of(
        cls, wanted: str, sets: Sequence[Any], label: str, given: Sequence[int]
    ) -> "_DocumentEvidence":
        return cls(sets, given, bool(label) and label == wanted)

    @property
    def first(self) -> set[int]:
        return set(self.given[:MAX_COUNTED_SENTENCES])

    def credit(self, measure: str) -> float | None:
        if measure == "abstract_label_only":
            return float(self.is_right)
        if measure == "abstract_rationalized":
            return float(self.is_right and any(own <= self.first for own in self.sets))
        return None

    def compute_set_credits(self, measure: str) -> list[float | None]:
        if measure == "abstract_label_only":
            return [None] * len(self.sets)
        if measure == "abstract_rationalized":
            # If one evidence set is complete, the other sets are not marked as missed.
            missed = None if self.credit(measure) else 0.0
            return [
                1.0 if self.is_right and own <= self.first else missed
                for own in self.sets
            ]
        return [float(self._is_set_found(own, measure)) for own in self.sets]

    def compute_sentence_credits(self, measure: str) -> list[float | None]:
        if measure == "abstract_label_only":
            return [None] * len(self.given)
        if measure == "abstract_rationalized":
            whole = [own for own in self.sets if self.is_right and own <= self.first]
            return [
                1.0
                if index < MAX_COUNTED_SENTENCES and any(number in own for own in whole)
                else None
                for index, number in enumerate(self.given)
            ]
        right = {
            n for own in self.sets if self._is_set_found(own, measure) for n in own
        }
        # A repeated sentence counts towards the maximum number and is never right.
        return [
            float(number in right and number not in self.given[:index])
            for index, number in enumerate(self.given)
        ]

    def _is_set_found(self, own: Any, measure: str) -> bool:
        has_label = self.is_right or measure == "sentence_selection"
        return bool(has_label and own <= set(self.given))


def _count_answered_items(gold: Any, answer: Any) -> list[float]:
    labels = rationalized = selected = labelled = 0
    for document, (label, sentences) in answer.items():
        wanted_label, sets = gold.get(document, ("", ()))
        is_right = label == wanted_label
        labels += is_right
        rationalized += is_right and any(
            own <= set(sentences[:MAX_COUNTED_SENTENCES]) for own in sets
        )
        found = sum(len(own) for own in sets if own <= set(sentences))
        selected += found
        labelled += found if is_right else 0
    given = sum(len(sentences) for _, sentences in answer.values())
    wanted = sum(len(own) for _, sets in gold.values() for own in sets)
    documents = [float(len(answer)), float(len(gold))]
    return [
        labels,
        *documents,
        rationalized,
        *documents,
        selected,
        given,
        wanted,
        labelled,
        given,
        wanted,
    ]


class Fever(MeanMetric):
    """Label accuracy, FEVER score, and precision, recall and F1 of evidence sentences,
    as in the official program of FEVER.

    The FEVER score is the share of claims with the right label and complete evidence.
    Only the first five answered sentences of a claim count. Precision and recall are
    means over the claims whose gold label is not the abstaining label. The precision of
    a claim is the share of its answered sentences that are in any evidence set, or 1
    without answered sentences. The recall of a claim is 1 if the answer contains a
    complete evidence set, else 0. F1 is the harmonic mean of mean precision and mean
    recall.
    """

    statistic = "fever"
    columns = ("label", "score", "precision", "recall", "has_evidence")
    citation = FEVER_CITATION
    most = 5

    def __init__(self, name: str, rules: str, *, column: str, abstain: str) -> None:
        super().__init__(name, rules, column=column)
        self.abstain, self.fixed = abstain, {"first": self.most, "abstain": abstain}

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        rows = np.zeros((len(gold), 6))
        rows[:, 5] = compute_mask_of_present_rows(gold)
        for row, (own, answer) in enumerate(zip(gold, answers, strict=True)):
            if own is None:
                continue
            given = [] if answer is None else list(answer.sentences)[: self.most]
            is_right = answer is not None and answer.label == own.label
            has_whole = any(wanted <= set(given) for wanted in own.sentences)
            rows[row, :2] = (
                is_right,
                is_right and (own.label == self.abstain or has_whole),
            )
            if own.label != self.abstain:
                known = frozenset().union(*own.sentences)
                hits = sum(sentence in known for sentence in given)
                rows[row, 2:5] = hits / len(given) if given else 1.0, has_whole, 1.0
        return rows

    def aggregate(self, sums: Floats) -> Floats:
        if self.column in ("label", "score"):
            return super().aggregate(sums)
        precision, recall = (
            quotient(sums[..., place], sums[..., 4]) for place in (2, 3)
        )
        return select_part_of_means(self.column, precision, recall)

    def marks(
        self, gold: Sequence[Any], answers: Sequence[Any]
    ) -> Sequence[MeasureCredits | None]:
        """Mark the label, or the sentences and evidence sets, that FEVER's measure
        counts.
        """
        return [
            None if own is None else self._mark_claim(own, answer)
            for own, answer in zip(gold, answers, strict=True)
        ]

    def _mark_claim(self, own: Any, answer: Any) -> MeasureCredits:
        every = () if answer is None else answer.sentences
        first = set(every[: self.most])
        is_right = answer is not None and answer.label == own.label
        whole = [wanted <= first for wanted in own.sentences]
        label: float | None = None
        if self.column == "label":
            label = float(is_right)
        elif self.column == "score":
            label = float(is_right and (own.label == self.abstain or any(whole)))
        counts = self.column != "label" and own.label != self.abstain
        # If one evidence set is complete, the other sets are not marked as missed.
        missed = None if any(whole) else 0.0
        sets = [1.0 if is_whole else missed for is_whole in whole] if counts else []
        known = frozenset().union(*own.sentences)
        wrong = None if self.column in ("score", "recall") else 0.0
        given = [
            (1.0 if sentence in known else wrong)
            if counts and index < self.most
            else None
            for index, sentence in enumerate(every)
        ]
        return MeasureCredits(
            (label, *(sets or [None] * len(whole))),
            () if answer is None else (label, *given),
        )
