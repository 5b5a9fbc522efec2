"""Measures of entities that follow from tags of tokens, as conlleval and seqeval have them.

An entity is right if the gold has one with the same tokens and the same type. Counts are pooled over all
sentences; 0/0 is 0. A sentence without an answer has no entities.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from scoring.metrics.base import ClassGold, Fixed, Floats
from scoring.metrics.classification import (
    ClassAverage,
    Classification,
    EachClass,
    Label,
    OneClass,
)
from tasks.types.columns import present


class EntityRows(Classification):
    """The matrix of classes, counted in entities: their types are the classes."""

    citation = "Tjong Kim Sang and De Meulder 2003, Introduction to the CoNLL-2003 Shared Task, CoNLL"
    kind = "entities"

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        """(n, 3c + 1): entities of the gold, given and both, of c types side by side; and 1 where there is
        gold.
        """
        assert self.labels is not None
        places = {label: place for place, label in enumerate(self.labels)}
        stats = np.zeros((len(gold), 3 * len(places) + 1))
        stats[:, -1] = present(gold)
        for row, (own, answer) in enumerate(zip(gold, answers, strict=True)):
            if own is None:
                continue
            wanted, given = set(own), set(answer or ())
            for part, side in enumerate((wanted, given, wanted & given)):
                for _, _, label in side:
                    stats[row, part * len(places) + places[label]] += 1
        return stats


class Entities(EntityRows, ClassAverage):
    """Precision, recall or F1 of the entities of all types."""

    shape = "ratio"

    def __init__(
        self, name: str, rules: str, *, part: str, labels: Sequence[Label]
    ) -> None:
        super().__init__(name, rules, part=part, average="micro", labels=labels)
        self.stands_in = ()

    def fixed_by(self, gold: ClassGold) -> Fixed | None:
        """Return that the class is fixed if its gold has no entity: no answer can be right."""
        size = len(self.labels or ())
        return None if gold.rows[:, :size].any() else Fixed.EMPTY_GOLD


class OneType(EntityRows, OneClass):
    """Precision, recall or F1 of the entities of one type."""


class EachType(EntityRows, EachClass):
    """The same of whichever type a class is of; it rests on all sentences."""

    one_class = OneType
