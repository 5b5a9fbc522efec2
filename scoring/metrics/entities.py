"""Metrics of entities encoded by token tags, as in conlleval and seqeval.

An answered entity is right if the gold has an entity with the same tokens and type.
Counts of entities are pooled over all sentences, and 0/0 is 0. A sentence without an
answer has no entities.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from scoring.metrics.base import ClassGold, FixedValueReason, Floats
from scoring.metrics.classification import (
    ClassAverage,
    Classification,
    EachClass,
    Label,
    OneClass,
)
from tasks.types.base import MeasureCredits
from tasks.types.columns import compute_mask_of_present_rows


class EntityMetric(Classification):
    """The base class of metrics that count entities, with the entity types as classes."""

    citation = "Tjong Kim Sang and De Meulder 2003, Introduction to the CoNLL-2003 Shared Task, CoNLL"
    kind = "entities"

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        """Return an array (n, 3c + 1) for c types with the numbers of entities in the
        gold, in the answer and in both, then 1 if gold exists.
        """
        assert self.labels is not None
        places = {label: index for index, label in enumerate(self.labels)}
        stats = np.zeros((len(gold), 3 * len(places) + 1))
        stats[:, -1] = compute_mask_of_present_rows(gold)
        for row, (own, answer) in enumerate(zip(gold, answers, strict=True)):
            if own is None:
                continue
            wanted, given = set(own), set(answer or ())
            for part, side in enumerate((wanted, given, wanted & given)):
                for _, _, label in side:
                    stats[row, part * len(places) + places[label]] += 1
        return stats

    def mark_instance(self, own: Any, answer: Any) -> MeasureCredits | None:
        """Mark an entity as right if both gold and answer contain this entity."""
        wanted, given = tuple(own), tuple(answer or ())
        return MeasureCredits(
            tuple(float(entity in given) for entity in wanted),
            tuple(float(entity in wanted) for entity in given),
        )


class Entities(EntityMetric, ClassAverage):
    """Precision, recall or F1 of entities of all types."""

    shape = "ratio"

    def __init__(
        self, name: str, rules: str, *, part: str, labels: Sequence[Label]
    ) -> None:
        super().__init__(name, rules, part=part, average="micro", labels=labels)
        self.stands_in = ()

    def fixed_by(self, gold: ClassGold) -> FixedValueReason | None:
        """Return EMPTY_GOLD if the gold of the class has no entity, because no answered
        entity can be right.
        """
        size = len(self.labels or ())
        return None if gold.rows[:, :size].any() else FixedValueReason.EMPTY_GOLD


class OneType(EntityMetric, OneClass):
    """Precision, recall or F1 of the entities of one type."""


class EachType(EntityMetric, EachClass):
    """Precision, recall or F1 of one entity type, shown in the results of this entity
    type. The value is computed on all sentences, including sentences without an entity
    of this type.
    """

    one_class = OneType
