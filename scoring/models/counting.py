"""The rules by which runs count on a board: one method for each rule.

Where teams declared runs to be seeds of one system, the rules are about systems: a system counts with all of
its runs, or with none. A run on its own is a system of one run. The best system has the highest mean. The
last system is that of the last run, and the selected one that of the selected run. By priority a system has
the place of its first run. Runs that were withdrawn or excluded have left their system.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from statistics import fmean
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


@dataclass
class _System:
    """The runs of a team's system by their evaluations, the earliest first, and their values."""

    team: int
    runs: list[int] = field(default_factory=list)
    values: list[float | None] = field(default_factory=list)

    @property
    def mean(self) -> float | None:
        known = [value for value in self.values if value is not None]
        return fmean(known) if len(known) == len(self.values) else None

    def is_before(self, other: _System) -> bool:
        """Whether it is better than a system that came earlier."""
        if self.mean is None or other.mean is None:
            return self.mean is not None
        return self.mean > other.mean


def _systems_of(runs: EvaluationQuerySet) -> list[_System]:
    """Return the systems of these runs, the earliest first."""
    systems: dict[tuple[int, str | int], _System] = {}
    rows = runs.order_by("submitted_at", "pk").values_list(
        "pk", "team", "submission__seeds_of", "rank_value"
    )
    for pk, team, seeds_of, value in rows:
        system = systems.setdefault((team, seeds_of or pk), _System(team))
        system.runs.append(pk)
        system.values.append(value)
    return list(systems.values())


def has_seeds(phase: Phase) -> bool:
    """Whether a team of the phase declared a run to be a seed of a system."""
    runs = Submission.objects.filter(phase=phase).exclude(seeds_of="")
    return phase.takes_seeds and runs.exists()


def _with_a_place(phase: Phase) -> QuerySet[Submission]:
    """The runs that have a place by priority, also those that were withdrawn or excluded."""
    return Submission.objects.filter(
        phase=phase,
        kind=Submission.Kind.PRIMARY,
        is_late=False,
        status__in=Submission.COUNTED,
    )


def _first_by_priority(
    runs: QuerySet[Submission], phase: Phase
) -> QuerySet[Submission]:
    place = Window(RowNumber(), partition_by="team", order_by=["priority", "number"])
    return runs.annotate(place=place).filter(place__lte=phase.judged_runs)


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
        primary = competing.primary()
        if has_seeds(phase):
            primary = primary.systems_by_rule(phase, entries)
        else:
            primary = primary.by_rule(phase, entries)
        parts = [scored.teamless(phase).newest()]
        if phase.shows_contrastive:
            parts.append(competing.contrastive().all_of(entries))
        ids = [part.values("pk") for part in (primary, *parts)]
        return self.filter(pk__in=ids[0].union(*ids[1:], all=True))

    def by_rule(
        self, phase: Phase, entries: QuerySet[Registration]
    ) -> EvaluationQuerySet:
        """Keep the runs of the teams that count by the rule of the phase, each for itself."""
        match phase.counting:
            case Phase.Counting.BEST:
                return self.best_of(entries)
            case Phase.Counting.LAST:
                return self.last_of(entries)
            case Phase.Counting.SELECTED:
                return self.selected_of(entries)
            case Phase.Counting.PRIORITY:
                return self.first_by_priority(phase).all_of(entries)
            case _:
                return self.all_of(entries)

    def systems_by_rule(
        self, phase: Phase, entries: QuerySet[Registration]
    ) -> EvaluationQuerySet:
        """Keep all runs of the systems that count by the rule of the phase."""
        match phase.counting:
            case Phase.Counting.BEST:
                return self.best_system_of(entries)
            case Phase.Counting.LAST:
                return self.with_seeds_beside(self.last_of(entries, of_systems=True))
            case Phase.Counting.SELECTED:
                return self.with_seeds_beside(self.selected_of(entries))
            case Phase.Counting.PRIORITY:
                return self.first_systems_by_priority(phase).all_of(entries)
            case _:
                return self.all_of(entries)

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

    def best_system_of(self, entries: QuerySet[Registration]) -> EvaluationQuerySet:
        """Keep the runs of each team's system with the highest mean, of equal means the earliest.

        The earliest system counts if no system of a team has a value in all of its runs.
        """
        best: dict[int, _System] = {}
        for system in _systems_of(self.all_of(entries)):
            of_team = best.setdefault(system.team, system)
            if system.is_before(of_team):
                best[system.team] = system
        return self.filter(
            pk__in=[pk for system in best.values() for pk in system.runs]
        )

    def with_seeds_beside(self, runs: EvaluationQuerySet) -> EvaluationQuerySet:
        """Keep these runs, and those that are seeds of the same systems."""
        same = runs.exclude(submission__seeds_of="").filter(
            team=OuterRef("team"), submission__seeds_of=OuterRef("submission__seeds_of")
        )
        return self.filter(Q(pk__in=runs.values("pk")) | Exists(same)).newest()

    def last_of(
        self, entries: QuerySet[Registration], *, of_systems: bool = False
    ) -> EvaluationQuerySet:
        """Keep each team's last run.

        If a team withdrew its last primary run, or organisers disqualified it, then no
        earlier run takes its place. A hidden run, such as a copy, leaves its place. With
        ``of_systems`` another seed of the same system takes the place too.
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
        if of_systems:
            gone = gone.filter(
                Q(seeds_of="") | ~Q(seeds_of=OuterRef("submission__seeds_of"))
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
        first = _first_by_priority(_with_a_place(phase), phase)
        return self.filter(submission__in=first.values("pk"))

    def first_systems_by_priority(self, phase: Phase) -> EvaluationQuerySet:
        """Keep the runs of each team's first `judged_runs` systems by their priority."""
        runs = _with_a_place(phase)
        is_before = Q(priority__lt=OuterRef("priority")) | Q(
            priority=OuterRef("priority"), number__lt=OuterRef("number")
        )
        before = runs.exclude(seeds_of="").filter(
            is_before, team=OuterRef("team"), seeds_of=OuterRef("seeds_of")
        )
        leading = _first_by_priority(runs.filter(~Exists(before)), phase)
        systems = {
            (team, seeds_of or pk)
            for pk, team, seeds_of in leading.values_list("pk", "team", "seeds_of")
        }
        rows = self.values_list("pk", "team", "submission__seeds_of", "submission")
        counting = [
            pk for pk, team, seeds_of, run in rows if (team, seeds_of or run) in systems
        ]
        return self.filter(pk__in=counting)

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
