"""Count how often people and the judge gave each pair of labels to the sampled units of
a run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from scoring.metrics.entailment import (
    EntailmentPair,
    UndecidingJudge,
    build_entailment_judge,
)
from scoring.offline.estimated_units import (
    CITATION_UNITS,
    LABEL_KIND_BY_UNIT_KIND,
    LabellingUnit,
)
from tasks.types import ledger
from tasks.types.base import Options
from tasks.types.ledger import ENTAILED_LABEL, NOT_ENTAILED_LABEL
from tasks.types.positional_citations.options import (
    MODEL_SOURCE,
    parse_entailment_source,
)

#: A LabelReader returns the label of each text of a unit, or None without a label.
LabelReader = Callable[[LabellingUnit], Sequence[str | None]]


def make_answer_label_reader(of: str, answers: Sequence[Any]) -> LabelReader:
    """Return the function that reads labels from the rows of a run of cited reports."""

    def read(unit: LabellingUnit) -> Sequence[str | None]:
        if of == CITATION_UNITS:
            return [answers[unit.row].citations[unit.place].label]
        labels: Sequence[str] = answers[unit.row].labels
        return labels

    return read


def make_judge_label_reader(options: Options) -> LabelReader:
    """Return the function that reads a judge's labels of entailment pairs.

    The function runs no entailment model, which would label pairs that no score needs.
    """
    is_model = parse_entailment_source(options)[0] == MODEL_SOURCE
    judge = UndecidingJudge() if is_model else build_entailment_judge(options)
    labels = {True: ENTAILED_LABEL, False: NOT_ENTAILED_LABEL, None: None}

    def read(unit: LabellingUnit) -> Sequence[str | None]:
        return [labels[answer] for answer in judge.decide(_build_pairs_of_unit(unit))]

    return read


def make_people_label_reader(entailed: Mapping[str, str]) -> LabelReader:
    """Return the function that reads people's labels of entailment pairs, keyed by the
    digests of the texts.
    """

    def read(unit: LabellingUnit) -> Sequence[str | None]:
        return [entailed.get(" ".join(pair.key)) for pair in _build_pairs_of_unit(unit)]

    return read


def _build_pairs_of_unit(unit: LabellingUnit) -> list[EntailmentPair]:
    return [
        EntailmentPair(texts["premise"], texts["hypothesis"]) for texts in unit.texts
    ]


def count_labels(
    of: str,
    units: Iterable[LabellingUnit],
    people: LabelReader,
    judge: LabelReader,
    topics: Mapping[str, int],
) -> list[dict[str, Any]]:
    """Return a matrix for each topic that counts judgements by people's label (row) and
    the judge's label (column).

    A judgement that several units of a topic share counts only once.
    """
    labels = list_possible_labels(of)
    places = {label: place for place, label in enumerate(labels)}
    counts: dict[int, Any] = {}
    counted = set()
    for unit in units:
        if not unit.texts:
            continue
        rows = zip(unit.texts, people(unit), judge(unit), strict=True)
        for texts, by_people, by_judge in rows:
            key = unit.topic, json.dumps(texts, sort_keys=True)
            if by_people not in places or by_judge not in places or key in counted:
                continue
            counted.add(key)
            shape = (len(labels), len(labels))
            matrix = counts.setdefault(topics[unit.topic], np.zeros(shape, int))
            matrix[places[by_people], places[by_judge]] += 1
    return [
        {"topic": topic, "counts": matrix.tolist()}
        for topic, matrix in sorted(counts.items())
    ]


def list_possible_labels(of: str) -> tuple[str, ...]:
    """Return the possible labels of this kind of unit, the best label first."""
    return ledger.JUDGEMENT_KINDS_BY_NAME[LABEL_KIND_BY_UNIT_KIND[of]].labels
