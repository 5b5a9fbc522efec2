"""Count people's labels of a run's sample beside the judge's labels."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from scoring.metrics.entailment import Nobody, Pair, judge_of
from scoring.offline.estimated_units import CITATIONS, KINDS, Unit
from tasks.types import ledger
from tasks.types.base import Options
from tasks.types.ledger import NO, YES
from tasks.types.positional_citations.options import MODEL, entailment_source

#: Returns the label of each text of a unit; None without a label.
LabelReader = Callable[[Unit], Sequence[str | None]]


def reader_of_answers(of: str, answers: Sequence[Any]) -> LabelReader:
    """Return the reader of labels in the rows of a cited-reports run."""

    def read(unit: Unit) -> Sequence[str | None]:
        if of == CITATIONS:
            return [answers[unit.row].citations[unit.place].label]
        labels: Sequence[str] = answers[unit.row].labels
        return labels

    return read


def reader_of_judge(options: Options) -> LabelReader:
    """Return the reader of a judge's labels of pairs.

    A model is not asked: it would have to decide pairs that no score needs.
    """
    is_model = entailment_source(options)[0] == MODEL
    judge = Nobody() if is_model else judge_of(options)
    labels = {True: YES, False: NO, None: None}

    def read(unit: Unit) -> Sequence[str | None]:
        return [labels[answer] for answer in judge.decide(_pairs(unit))]

    return read


def reader_of_people(entailed: Mapping[str, str]) -> LabelReader:
    """Return the reader of people's labels of pairs, keyed by the digests of items."""

    def read(unit: Unit) -> Sequence[str | None]:
        return [entailed.get(" ".join(pair.key)) for pair in _pairs(unit)]

    return read


def _pairs(unit: Unit) -> list[Pair]:
    return [Pair(texts["premise"], texts["hypothesis"]) for texts in unit.texts]


def count_labels(
    of: str,
    units: Iterable[Unit],
    people: LabelReader,
    judge: LabelReader,
    topics: Mapping[str, int],
) -> list[dict[str, Any]]:
    """Return, for each topic, a matrix of the judgements that people and the judge
    labelled: rows are people's labels, columns the judge's.

    A judgement that several units of a topic share counts once.
    """
    labels = labels_of(of)
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


def labels_of(of: str) -> tuple[str, ...]:
    """Return the labels of judgements on these units, the best label first."""
    return ledger.KINDS[KINDS[of]].labels
