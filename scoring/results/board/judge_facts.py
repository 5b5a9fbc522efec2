"""Collect the data for the page about a judge, restricted to what the audience of a
board may see.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import Q

from scoring.models import PhaseJudge
from scoring.offline.estimated_units import KINDS
from scoring.results.board.estimates import (
    EstimatedMeasure,
    PublishedEstimates,
    published_estimates_for,
)
from scoring.results.board.judge_repeats import RepeatedLabels, repeated_labels_of
from scoring.results.board.judges import (
    JudgeAgreement,
    JudgesOfBoard,
    count_labelled_pairs,
    judge_agreement_on_boards,
    visible_judges_of,
)
from scoring.results.board.people_and_judge import (
    PeopleJudgeComparison,
    compare_people_and_judge,
)
from scoring.results.board.standings import Board
from scoring.results.board.visibility import shows_run_counts
from tasks.models import Phase
from tasks.types.judge_views import (
    first_judge,
    further_judge,
    further_judges,
    viewed_judges,
)


@dataclass(frozen=True)
class JudgeOfBoard:
    """A judge (a model or people who label texts), and the board whose scores use the
    labels of the judge.
    """

    name: str
    board: Board
    viewer: object

    @property
    def phase(self) -> Phase:
        return self.board.phase

    @property
    def is_first(self) -> bool:
        return not further_judge(self.board.rules or "")

    @cached_property
    def declared(self) -> list[PhaseJudge]:
        """Return the consents of the organisers to the use of the judge, one for each
        kind of labels, even if the site no longer calls the judge.

        The list is empty if the labels were imported.
        """
        asked = Q(ended_at=None) | Q(replies__gt=0)
        named = self.phase.phase_judges.filter(name=self.name, kind__in=self._kinds)
        return list(named.filter(asked))

    @property
    def shows_cost(self) -> bool:
        """Return True if readers may see the judge's cost, which may reveal runs that
        the board hides.
        """
        return self.board.frozen_at is None and shows_run_counts(
            self.phase, self.board.audience
        )

    @cached_property
    def pairs(self) -> int | None:
        """Return the number of distinct pairs labelled by the judge on which the shown
        scores are based, or None if scores are withheld.
        """
        return count_labelled_pairs(self.board)

    @cached_property
    def agreements(self) -> list[tuple[str, JudgeAgreement]]:
        """Return the agreement of the judge with each other judge of the board."""
        found = visible_judges_of(self.board, self.viewer)
        if found is None:
            return []
        boards = {found.first_judge: found.first}
        boards |= {view.judge: view.board for view in found.views}
        return [
            (name, judge_agreement_on_boards(self.board, board))
            for name, board in boards.items()
            if name != self.name
        ]

    @cached_property
    def _kinds(self) -> list[str]:
        return [judge.kind for judge in viewed_judges(self.phase.task.options)]

    @cached_property
    def _estimates(self) -> PublishedEstimates | None:
        found = published_estimates_for(self.board)
        return found if found and KINDS[found.sheet.of] in self._kinds else None

    @cached_property
    def estimated(self) -> list[EstimatedMeasure]:
        """Return the metrics with published estimates of scores, which include the
        judge's agreement with people.
        """
        return self._estimates.measures if self._estimates else []

    @cached_property
    def with_people(self) -> PeopleJudgeComparison | None:
        """Return the numbers of equal and different labels that people and the judge
        gave to the published sample.
        """
        return compare_people_and_judge(self._estimates) if self._estimates else None

    @cached_property
    def repeats(self) -> RepeatedLabels | None:
        return repeated_labels_of(self.board, self.name)

    @property
    def quality(self) -> dict[str, Any]:
        """Return JSON data about the judge's agreement with people and consistency."""
        return {
            "with_people": self.with_people.facts if self.with_people else None,
            "repeats": self.repeats.facts if self.repeats else None,
        }

    @property
    def boards(self) -> list[Phase]:
        """Return the phases of the season in which labels of the judge determine
        scores.
        """
        phases = Phase.objects.filter(
            task__season=self.phase.task.season_id
        ).select_related("task__season")
        return [
            phase
            for phase in phases.order_by("task", "pk")
            if self.name
            in (first_judge(phase.task.options), *further_judges(phase.task.rules))
        ]


def judge_of_board(board: Board, viewer: object) -> JudgeOfBoard | None:
    """Return the judge whose labels determine the scores on a board, or None if no
    judge labels texts.
    """
    options, rules = board.phase.task.options, board.rules or ""
    name = further_judge(rules) or first_judge(options)
    return JudgeOfBoard(name, board, viewer) if name else None


def judges_as_dict(found: JudgesOfBoard, viewer: object) -> dict[str, Any]:
    """Return JSON data about the judges of a board, each with the agreement with people
    and the judge's consistency.
    """
    first = JudgeOfBoard(found.first_judge, found.first, viewer)
    views = [
        {**view.facts, **JudgeOfBoard(view.judge, view.board, viewer).quality}
        for view in found.views
    ]
    return {**found.facts, **first.quality, "views": views}
