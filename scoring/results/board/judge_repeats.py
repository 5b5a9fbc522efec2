"""Compute the consistency of a judge that was asked several times about the same pair
of texts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
from django.db.models import Exists, OuterRef

from scoring.models import Judge, Judgement
from scoring.models.ledger import eight_byte_digests
from scoring.results.board.judges import (
    Shown,
    cache_per_board_version,
    pair_digests_of_evaluations,
)
from scoring.results.board.standings import Board
from tasks.types.ledger import NO_LABEL


@dataclass(frozen=True, kw_only=True)
class RepeatedLabels:
    """The number of pairs that a judge labelled more than once, and the number of these
    pairs whose labels are equal.
    """

    pairs: int
    same: int

    @property
    def facts(self) -> dict[str, Any]:
        return {"pairs": self.pairs, "same_label": self.same}


def repeated_labels_of(board: Board, judge: str) -> RepeatedLabels | None:
    """Return how often a judge gives the same label to the same pair, or None if the
    judge labelled no pair of the shown scores twice, or if scores are withheld.
    """
    shown, season = Shown.of(board), board.phase.task.season
    versions = sorted(
        version
        for kind in shown.kinds
        for version in Judge.objects.deciding(judge, season, kind).values_list(
            "pk", "version"
        )
    )
    facts = ("repeats", *shown.facts, versions)
    return cache_per_board_version(
        board.phase,
        facts,
        lambda: _count_repeated_labels(shown, [pk for pk, _version in versions]),
    )


def _count_repeated_labels(
    shown: Shown, judges: Collection[int]
) -> RepeatedLabels | None:
    if shown.has_withheld:
        return None
    answers = [
        labels for labels in _labels_of_repeated_pairs(shown, judges) if len(labels) > 1
    ]
    same = sum(len(set(labels)) == 1 for labels in answers)
    return RepeatedLabels(pairs=len(answers), same=same) if answers else None


def _labels_of_repeated_pairs(
    shown: Shown, judges: Collection[int]
) -> Iterator[list[str]]:
    """Yield the labels that a judge gave to each pair about which the judge was asked
    repeatedly. A reply without a label does not count, because the site then asks the
    judge again.
    """
    rows = Judgement.objects.standing().filter(judge__in=judges)
    same_question = {name: OuterRef(name) for name in ("judge", "items", "by")}
    again = rows.filter(repeat__gt=0, **same_question)
    if not rows.filter(repeat__gt=0).exists():
        return
    found = rows.filter(Exists(again)).order_by("judge", "items", "by", "repeat")
    answers = found.values_list("judge", "items", "by", "label").iterator(5000)
    behind = pair_digests_of_evaluations(shown)
    for question, given in groupby(answers, key=itemgetter(0, 1, 2)):
        _judge, items, _by = question
        if np.isin(eight_byte_digests([items]), behind).all():
            yield [label for *_question, label in given if label != NO_LABEL]
