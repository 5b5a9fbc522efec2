"""Compute the consistency of a judge that was asked several times about the same pair
of texts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import compress, islice
from typing import Any, NamedTuple

import numpy as np

from scoring.models import Judge, Judgement
from scoring.models.ledger import hash_items_to_eight_bytes
from scoring.results.board.judges import (
    BoardJudge,
    JudgedScoresOnBoard,
    get_or_cache_per_board_version,
    load_pair_digests,
)
from scoring.results.board.standings import Board
from tasks.types.ledger import NO_VALID_LABEL

#: A statement reads the labels of at most QUESTIONS_PER_STATEMENT repeated questions.
QUESTIONS_PER_STATEMENT = 500
#: Repeated judgements are compared with the pairs of the board in batches of ROWS_PER_BATCH rows.
ROWS_PER_BATCH = 50_000


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


def load_repeated_label_counts(
    board: Board, judge: BoardJudge
) -> RepeatedLabels | None:
    """Return how often a judge gives the same label to the same pair, or None if the
    judge labelled no pair of the shown scores twice, or if scores are withheld.
    """
    shown, season = JudgedScoresOnBoard.of(board, judge.kinds), board.phase.task.season
    versions = sorted(
        version
        for kind in shown.kinds
        for version in Judge.objects.deciding(judge.name, season, kind).values_list(
            "pk", "version"
        )
    )
    facts = ("repeats", *shown.facts, versions)
    return get_or_cache_per_board_version(
        board.phase,
        facts,
        lambda: _count_repeated_labels(shown, [pk for pk, _version in versions]),
    )


def _count_repeated_labels(
    shown: JudgedScoresOnBoard, judges: Collection[int]
) -> RepeatedLabels | None:
    if shown.has_any_withheld_score:
        return None
    answers = [
        labels
        for labels in _iterate_labels_of_repeated_pairs(shown, judges)
        if len(labels) > 1
    ]
    same = sum(len(set(labels)) == 1 for labels in answers)
    return RepeatedLabels(pairs=len(answers), same=same) if answers else None


def _iterate_labels_of_repeated_pairs(
    shown: JudgedScoresOnBoard, judges: Collection[int]
) -> Iterator[list[str]]:
    """Yield the labels that a judge gave to each pair about which the judge was asked
    repeatedly. A reply without a label does not count, because the site then asks the
    judge again.
    """
    repeated = _repeated_questions(shown, judges)
    for start in range(0, len(repeated), QUESTIONS_PER_STATEMENT):
        some = repeated[start : start + QUESTIONS_PER_STATEMENT]
        rows = Judgement.objects.standing().filter(
            judge__in=judges, items__in={items for _judge, items, _by in some}
        )
        answers: dict[_Question, list[str]] = {question: [] for question in some}
        for judge, items, by, label in rows.values_list(
            "judge", "items", "by", "label"
        ):
            labels = answers.get(_Question(judge, items, by))
            if labels is not None and label != NO_VALID_LABEL:
                labels.append(label)
        yield from answers.values()


class _Question(NamedTuple):
    judge: int
    items: str
    by: str


def _repeated_questions(
    shown: JudgedScoresOnBoard, judges: Collection[int]
) -> list[_Question]:
    """Return the pairs of the shown scores about which a judge was asked repeatedly, by
    the judge and the person asked.
    """
    # These conditions are those of the partial index on repeated judgements.
    again = Judgement.objects.standing().filter(judge__in=judges, repeat__gt=0)
    rows = again.values_list("judge", "items", "by").iterator()
    shown_digests = load_pair_digests(shown)
    questions: set[_Question] = set()
    while batch := [_Question(*row) for row in islice(rows, ROWS_PER_BATCH)]:
        digests = hash_items_to_eight_bytes(question.items for question in batch)
        are_shown = np.isin(digests, shown_digests)
        questions.update(compress(batch, are_shown))
    return sorted(questions)
