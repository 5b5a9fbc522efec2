"""The rules by which runs count on a board: one method for each rule."""

from __future__ import annotations

import datetime as dt
from typing import Any, Protocol

from django.db import models
from django.db.models import Exists, Max, OuterRef, Q, QuerySet, Subquery, Window
from django.db.models.functions import Coalesce, RowNumber

from tasks.models import Gold, Phase, Registration, Submission

WITHDRAWN = Q(status=Submission.Status.WITHDRAWN)
DISQUALIFIED = Q(exclusion=Submission.Exclusion.DISQUALIFIED)


class StoredBoard(Protocol):
    """A frozen board: the ids of the evaluations on it, and their gold."""

    evaluations: Any
    gold_id: Any
    frozen_from: Any


class EvaluationQuerySet(models.QuerySet[Any]):
    """A run counts if the board shows one of its evaluations.

    Each method keeps the evaluations that satisfy one rule. Rules can be combined, and
    `counting` combines those that the settings of a phase ask for.
    """

    def counting(
        self,
        phase: Phase,
        rules: str,
        gold: Gold,
        *,
        entries: QuerySet[Registration] | None = None,
        frozen_from: dt.datetime | None = None,
    ) -> EvaluationQuerySet:
        """Keep the evaluations that the board of a phase shows.

        ``entries`` are the registrations whose teams' runs can count: by default the
        approved ones of the season. ``frozen_from`` is the instant of a frozen board.
        """
        if frozen_from is not None:
            stored = phase.frozen_boards.filter(
                rules=rules, gold=gold, frozen_from=frozen_from
            ).first()
            if stored is not None:
                return self.shown_on(stored)
        if entries is None:
            entries = Registration.objects.approved().filter(season=phase.task.season)
        scored = self.on_board(phase, rules, gold).known_at(frozen_from)
        competing = scored.competing()
        match phase.counting:
            case Phase.Counting.BEST:
                primary = competing.primary().best_of(entries)
            case Phase.Counting.LAST:
                primary = competing.primary().last_of(entries)
            case Phase.Counting.SELECTED:
                primary = competing.primary().selected_of(entries)
            case Phase.Counting.PRIORITY:
                primary = competing.primary().first_by_priority(phase)
                primary = primary.all_of(entries)
            case _:
                primary = competing.primary().all_of(entries)
        parts = [scored.teamless(phase).newest()]
        if phase.shows_contrastive:
            parts.append(competing.contrastive().all_of(entries))
        ids = [part.values("pk") for part in (primary, *parts)]
        return self.filter(pk__in=ids[0].union(*ids[1:], all=True))

    def on_board(self, phase: Phase, rules: str, gold: Gold) -> EvaluationQuerySet:
        """Keep evaluations of scored runs. The runs that a team withdrew are not scored."""
        return self.filter(
            phase=phase,
            rules=rules,
            gold=gold,
            submission__status=Submission.Status.SCORED,
        )

    def known_at(self, instant: dt.datetime | None) -> EvaluationQuerySet:
        """Keep evaluations that had their present numbers at the instant, if there is one."""
        if instant is None:
            return self
        return self.filter(
            Q(replaced_at=None, created_at__lte=instant) | Q(replaced_at__lte=instant)
        )

    def shown_on(self, board: StoredBoard) -> EvaluationQuerySet:
        """Keep what stood on a frozen board, also runs that were withdrawn since.

        Runs that organisers excluded since leave the board.
        """
        stored = self.filter(pk__in=board.evaluations, gold=board.gold_id)
        return stored.known_at(board.frozen_from).not_excluded()

    def not_excluded(self) -> EvaluationQuerySet:
        """Leave out runs that organisers disqualified or hid."""
        return self.filter(submission__exclusion="")

    def competing(self) -> EvaluationQuerySet:
        """Leave out excluded runs and the late runs that no organiser accepted."""
        return self.not_excluded().filter(submission__is_late=False)

    def primary(self) -> EvaluationQuerySet:
        return self.filter(submission__kind=Submission.Kind.PRIMARY)

    def contrastive(self) -> EvaluationQuerySet:
        return self.filter(submission__kind=Submission.Kind.CONTRASTIVE)

    def teamless(self, phase: Phase) -> EvaluationQuerySet:
        """Keep the baselines and the human line of the phase."""
        # An index finds these runs; from the gold SQLite would read all evaluations.
        runs = Submission.objects.filter(
            phase=phase, team=None, kind__in=Submission.TEAMLESS
        )
        return self.filter(submission__in=runs.values("pk"))

    def newest(self) -> EvaluationQuerySet:
        """Keep the newest evaluation of each run, if a run was scored with several options."""
        of_run = self.order_by().values("submission").annotate(newest=Max("pk"))
        newest: EvaluationQuerySet = self.model.objects.filter(
            pk__in=of_run.values("newest")
        )
        return newest

    def all_of(self, entries: QuerySet[Registration]) -> EvaluationQuerySet:
        """Keep all runs of the teams."""
        return self.filter(team__in=entries.values("team")).newest()

    def best_of(self, entries: QuerySet[Registration]) -> EvaluationQuerySet:
        """Keep each team's run with the highest value, of equal values the earliest.

        The earliest run counts if all values of a team are undefined.
        """
        # Two subqueries, because an index gives the order of each.
        by_value = self.exclude(rank_value=None).order_by(
            "-rank_value", "submitted_at", "pk"
        )
        by_time = self.order_by("submitted_at", "pk")
        return self._first(entries, by_value, by_time)

    def last_of(self, entries: QuerySet[Registration]) -> EvaluationQuerySet:
        """Keep each team's last run.

        If a team withdrew its last primary run, or organisers disqualified it, then no
        earlier run takes its place. A hidden run, such as a copy, leaves its place.
        """
        run = {name: OuterRef(f"submission__{name}") for name in ("phase", "team")}
        sent_at = OuterRef("submission__submitted_at")
        is_later = Q(submitted_at__gt=sent_at) | Q(
            submitted_at=sent_at, number__gt=OuterRef("submission__number")
        )
        gone = Submission.objects.filter(
            WITHDRAWN | DISQUALIFIED,
            is_later,
            kind=Submission.Kind.PRIMARY,
            is_late=False,
            **run,
        )
        newest_first = self.filter(~Exists(gone)).order_by("-submitted_at", "-pk")
        return self._first(entries, newest_first)

    def selected_of(self, entries: QuerySet[Registration]) -> EvaluationQuerySet:
        """Keep the run that each team selected; none of a team that selected none."""
        selected = self.filter(submission__is_selected=True)
        return self._first(entries, selected.order_by("-submitted_at", "-pk"))

    def first_by_priority(self, phase: Phase) -> EvaluationQuerySet:
        """Keep the first `judged_runs` primary runs of each team by their priority.

        A withdrawn or excluded run keeps its place, so no other run moves up.
        """
        place = Window(
            RowNumber(), partition_by="team", order_by=["priority", "number"]
        )
        runs = Submission.objects.filter(
            phase=phase,
            kind=Submission.Kind.PRIMARY,
            is_late=False,
            status__in=Submission.COUNTED,
        )
        first = runs.annotate(place=place).filter(place__lte=phase.judged_runs)
        return self.filter(submission__in=first.values("pk"))

    def _first(
        self, entries: QuerySet[Registration], *orders: EvaluationQuerySet
    ) -> EvaluationQuerySet:
        """Keep the first evaluation of each team by the first order that has one."""
        firsts = [
            Subquery(order.filter(team=OuterRef("team")).values("pk")[:1])
            for order in orders
        ]
        chosen = Coalesce(*firsts) if len(firsts) > 1 else firsts[0]
        of_team = entries.annotate(evaluation=chosen).values("evaluation")
        first: EvaluationQuerySet = self.model.objects.filter(pk__in=of_team)
        return first
