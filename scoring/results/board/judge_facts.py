"""Collect the data for the page about a judge, restricted to what the audience of a
board may see.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from django.db.models import Q

from scoring.models import PhaseJudge
from scoring.offline.estimated_units import LABEL_KIND_BY_UNIT_KIND
from scoring.results.board.estimates import (
    MetricWithEstimates,
    PublishedEstimates,
    find_published_estimates_of_board,
)
from scoring.results.board.judge_repeats import (
    RepeatedLabels,
    load_repeated_label_counts,
)
from scoring.results.board.judges import (
    BoardJudge,
    JudgeAgreement,
    JudgesOfBoard,
    count_labelled_pairs,
    find_visible_judges_of_board,
    judge_on_board,
    load_judge_agreement_on_boards,
    ranks_use_labels,
)
from scoring.results.board.people_and_judge import (
    PeopleJudgeComparison,
    compare_people_and_judge,
)
from scoring.results.board.standings import Board
from scoring.results.board.visibility import shows_run_counts
from tasks.models import Phase
from tasks.types.judge_views import list_judges_of_rule_sets_and_views


@dataclass(frozen=True, kw_only=True)
class OtherJudge:
    """The agreement of a judge with another judge on labels of one kind."""

    judge: BoardJudge
    kind: str
    agreement: JudgeAgreement


@dataclass(frozen=True)
class JudgeOfBoard:
    """A judge (a model or people who label texts), and the board whose scores use the
    labels of the judge.
    """

    judge: BoardJudge
    board: Board
    viewer: object

    @property
    def name(self) -> str:
        return self.judge.name

    @property
    def phase(self) -> Phase:
        return self.board.phase

    @property
    def determines_ranks(self) -> bool:
        return not self.judge.is_view and ranks_use_labels(
            self.board, self._label_kinds
        )

    @cached_property
    def parts(self) -> list[JudgeOfBoard]:
        """Return the judge once for each kind of the judge's labels."""
        return [
            replace(self, judge=self.judge.list_reference_texts_of_kind(kind))
            for kind in self.judge.kinds
        ]

    @cached_property
    def declared(self) -> list[PhaseJudge]:
        """Return the consents of the organisers to the use of the judge, one for each
        kind of labels, even if the site no longer calls the judge.

        The list is empty if the labels were imported.
        """
        asked = Q(ended_at=None) | Q(replies__gt=0)
        named = self.phase.phase_judges.filter(
            name=self.name, kind__in=self._label_kinds
        )
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
        return count_labelled_pairs(self.board, self._label_kinds)

    @cached_property
    def agreements_with_other_judges(self) -> list[OtherJudge]:
        """Return the agreement of the judge with each other judge of the board, for each
        kind of labels that both judges give.
        """
        found = find_visible_judges_of_board(self.board, self.viewer)
        if found is None:
            return []
        boards = [
            *((judge, found.first) for judge in found.named),
            *((view.judge, view.board) for view in found.views),
        ]
        return [
            OtherJudge(
                judge=judge,
                kind=kind,
                agreement=load_judge_agreement_on_boards(self.board, board, [kind]),
            )
            for judge, board in boards
            for kind in judge.kinds
            if kind in self._label_kinds and judge.name != self.name
        ]

    @property
    def _label_kinds(self) -> tuple[str, ...]:
        return self.judge.kinds

    @cached_property
    def _published_estimates(self) -> list[PublishedEstimates]:
        labelled = [
            of
            for of, kind in LABEL_KIND_BY_UNIT_KIND.items()
            if kind in self._label_kinds
        ]
        found = find_published_estimates_of_board(self.board, labelled)
        return found.newest_first if found else []

    @cached_property
    def estimated(self) -> list[MetricWithEstimates]:
        """Return the metrics with published estimates of scores, which include the
        judge's agreement with people.
        """
        return [one for own in self._published_estimates for one in own.measures]

    @cached_property
    def with_people(self) -> PeopleJudgeComparison | None:
        """Return the numbers of equal and different labels that people and the judge
        gave to the sample that was published last.
        """
        newest = self._published_estimates[:1]
        return compare_people_and_judge(newest[0]) if newest else None

    @cached_property
    def repeats(self) -> RepeatedLabels | None:
        return load_repeated_label_counts(self.board, self.judge)

    @property
    def quality_as_json_values(self) -> dict[str, Any]:
        """Return JSON data about the judge's agreement with people and consistency."""
        return {
            "kinds": self._label_kinds,
            "with_people": self.with_people.facts if self.with_people else None,
            "with_people_by_kind": [
                part.with_people.facts for part in self.parts if part.with_people
            ],
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
            if any(
                judge.name == self.name and judge.kind in self._label_kinds
                for judge in list_judges_of_rule_sets_and_views(
                    phase.task.rules, phase.task.options
                )
            )
        ]


def find_judge_of_board(
    board: Board, viewer: object, judge: BoardJudge | None = None
) -> JudgeOfBoard | None:
    """Return the given judge, by default the judge of a view or the first judge, with
    the board whose scores use labels of the judge.

    The result is None if no judge labels texts.
    """
    found = judge or judge_on_board(board.phase, board.rules)
    return JudgeOfBoard(found, board, viewer) if found else None


def judges_as_json_values(found: JudgesOfBoard, viewer: object) -> dict[str, Any]:
    """Return JSON data about the judges of a board, each with the agreement with people
    and the judge's consistency.
    """
    first, *others = (JudgeOfBoard(one, found.first, viewer) for one in found.named)
    views = [
        {
            **view.facts,
            **JudgeOfBoard(view.judge, view.board, viewer).quality_as_json_values,
        }
        for view in found.views
    ]
    return {
        **found.facts,
        **first.quality_as_json_values,
        "others": [{"judge": one.name, **one.quality_as_json_values} for one in others],
        "views": views,
    }
