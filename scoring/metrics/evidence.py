"""Measures of evidence for claims: those of SciFact over documents and sentences, and those of FEVER."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from scoring.metrics.base import Floats, MeanMetric, Metric, part_of_means, quotient
from scoring.metrics.classification import part_of
from tasks.types.columns import present

SCIFACT = "Wadden et al. 2020, Fact or Fiction: Verifying Scientific Claims, EMNLP"
FEVER = "Thorne et al. 2018, FEVER: a Large-scale Dataset for Fact Extraction and VERification, NAACL"
#: So many of the sentences given of a document can show that its evidence was found.
MAX_SENTENCES = 3
#: By measure of SciFact the place of its three columns.
MEASURES = (
    "abstract_label_only",
    "abstract_rationalized",
    "sentence_selection",
    "sentence_label",
)


class SciFact(Metric):
    """Precision, recall or F1 of one of SciFact's four measures, counted over all claims; 0/0 is 0.
    `abstract_label_only`: documents with the right label. `abstract_rationalized`: those of which besides one
    whole set of evidence is among the first three sentences given. `sentence_selection`: sentences whose
    whole set was given; repeated ones count as given each time. `sentence_label`: the same where the label of
    the document is right as well. A claim without an answer has an empty one.
    """

    shape = "ratio"
    statistic = "scifact"
    citation = SCIFACT

    def __init__(self, name: str, rules: str, *, measure: str, part: str) -> None:
        super().__init__(name, rules)
        self.part, self.place = part, 3 * MEASURES.index(measure)
        self.fixed = {"measure": measure, "first": MAX_SENTENCES}

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        """(n, 12): of each measure right, given and wanted."""
        pairs = zip(gold, answers, strict=True)
        rows = [
            [0.0] * 12 if own is None else _counted(own, answer or {})
            for own, answer in pairs
        ]
        return np.array(rows, dtype=np.float64).reshape(-1, 12)

    def aggregate(self, sums: Floats) -> Floats:
        right, given, wanted = (sums[..., self.place + at] for at in range(3))
        return part_of(self.part, right, given, wanted)


def _counted(gold: Any, answer: Any) -> list[float]:
    labels = rationalized = selected = labelled = 0
    for document, (label, sentences) in answer.items():
        wanted_label, sets = gold.get(document, ("", ()))
        is_right = label == wanted_label
        labels += is_right
        rationalized += is_right and any(
            own <= set(sentences[:MAX_SENTENCES]) for own in sets
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
    """The share of claims with the right label, and with whole evidence besides (the FEVER score); precision,
    recall and F1 of sentences as the program has them. The first five sentences of a claim count. Precision
    and recall are means over claims whose gold is not the abstaining label: precision is the share of
    sentences given that stand in any set, 1 where none is given; recall is whether a whole set was given. F1
    is that of both means.
    """

    statistic = "fever"
    columns = ("label", "score", "precision", "recall", "has_evidence")
    citation = FEVER
    most = 5

    def __init__(self, name: str, rules: str, *, column: str, abstain: str) -> None:
        super().__init__(name, rules, column=column)
        self.abstain, self.fixed = abstain, {"first": self.most, "abstain": abstain}

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        rows = np.zeros((len(gold), 6))
        rows[:, 5] = present(gold)
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
        return part_of_means(self.column, precision, recall)
