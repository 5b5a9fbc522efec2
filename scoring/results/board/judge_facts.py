"""The data on the page of a judge, restricted to what the audience of a board may
see.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import Q

from scoring.models import PhaseJudge
from scoring.results.board.estimates import EstimatedMeasure, Estimates, estimates_for
from scoring.results.board.judge_repeats import Repeats, repeats_of
from scoring.results.board.judges import (
    Agreement,
    JudgesOfBoard,
    agreement_of,
    judges_of,
    pairs_behind,
)
from scoring.results.board.people_and_judge import PeopleAndJudge, people_and_judge
from scoring.results.board.standings import Board
from scoring.results.board.visibility import shows_run_counts
from tasks.models import Phase
from tasks.types.judge_views import (
    first_judge,
    further_judge,
    further_judges,
)


@dataclass(frozen=True)
class JudgeOfBoard:
    """A judge (a model or people that label texts), and the board scored with the
    judge's labels.
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
    def declared(self) -> PhaseJudge | None:
        """Return the organisers' consent to the judge, also if the site asks the judge
        no longer.

        The consent is None for imported labels.
        """
        asked = Q(ended_at=None) | Q(replies__gt=0)
        return self.phase.phase_judges.filter(asked, name=self.name).first()

    @property
    def prompt_digest(self) -> str:
        declared = self.declared
        if declared is None or not declared.prompt:
            return ""
        return hashlib.sha256(declared.prompt.encode()).hexdigest()

    @property
    def shows_cost(self) -> bool:
        """Return True if the judge's cost may be shown, which must not reveal runs that
        the board hides.
        """
        return (
            self.declared is not None
            and bool(self.declared.currency)
            and self.board.frozen_at is None
            and shows_run_counts(self.phase, self.board.audience)
        )

    @cached_property
    def pairs(self) -> int | None:
        """Return the number of distinct labelled pairs behind the shown scores, or None
        for withheld scores.
        """
        return pairs_behind(self.board)

    @cached_property
    def agreements(self) -> list[tuple[str, Agreement]]:
        """Return the agreement with each other judge of the board."""
        found = judges_of(self.board, self.viewer)
        if found is None:
            return []
        boards = {found.first_judge: found.first}
        boards |= {view.judge: view.board for view in found.views}
        return [
            (name, agreement_of(self.board, board))
            for name, board in boards.items()
            if name != self.name
        ]

    @cached_property
    def _estimates(self) -> Estimates | None:
        return estimates_for(self.board)

    @cached_property
    def estimated(self) -> list[EstimatedMeasure]:
        """Return the metrics with published estimates, including the agreement with
        people.
        """
        return self._estimates.measures if self._estimates else []

    @cached_property
    def with_people(self) -> PeopleAndJudge | None:
        """Return people's labels of the published sample beside the judge's."""
        return people_and_judge(self._estimates) if self._estimates else None

    @cached_property
    def repeats(self) -> Repeats | None:
        return repeats_of(self.board, self.name)

    @property
    def quality(self) -> dict[str, Any]:
        """Return the agreement with people and the consistency as JSON."""
        return {
            "with_people": self.with_people.facts if self.with_people else None,
            "repeats": self.repeats.facts if self.repeats else None,
        }

    @property
    def boards(self) -> list[Phase]:
        """Return the phases of the season with a board scored by the judge."""
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
    """Return the judge whose labels score the runs of a board, or None without a judge."""
    options, rules = board.phase.task.options, board.rules or ""
    name = further_judge(rules) or first_judge(options)
    return JudgeOfBoard(name, board, viewer) if name else None


def facts_of_judges(found: JudgesOfBoard, viewer: object) -> dict[str, Any]:
    """Return the judges of a board as JSON, each with its agreement with people and its
    consistency.
    """
    first = JudgeOfBoard(found.first_judge, found.first, viewer)
    views = [
        {**view.facts, **JudgeOfBoard(view.judge, view.board, viewer).quality}
        for view in found.views
    ]
    return {**found.facts, **first.quality, "views": views}
