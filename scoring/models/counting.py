"""The rules that select the runs of a board, with one queryset method for each rule.

If teams declare runs as seeds of one system, the rules select systems, so that a board
shows all runs of a system, or none. A run without a declaration is a system of one run.
The best system has the highest mean over the system's runs. The last system contains
the last run, and the selected system the selected run. The priority of a system is the
priority of the system's first run. Withdrawn and excluded runs are not part of a
system.
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
from tasks.types.base import base_rules
from tasks.types.judge_views import further_judge

WITHDRAWN = Q(status=Submission.Status.WITHDRAWN)
DISQUALIFIED = Q(exclusion=Submission.Exclusion.DISQUALIFIED)


class StoredBoard(Protocol):
    """A frozen board, with the ids of the evaluations, their gold, and the time of the
    freeze.
    """

    evaluations: Any
    gold_id: Any
    frozen_from: Any


@dataclass
class _System:
    """A team's system, with the evaluations of the system's runs, the earliest first,
    and the values of these evaluations.
    """

    team: int
    runs: list[int] = field(default_factory=list)
    values: list[float | None] = field(default_factory=list)

    @property
    def mean(self) -> float | None:
        known = [value for value in self.values if value is not None]
        return fmean(known) if len(known) == len(self.values) else None

    def is_before(self, other: _System) -> bool:
        """Return True if this system is better than an earlier system."""
        if self.mean is None or other.mean is None:
            return self.mean is not None
        return self.mean > other.mean


def _systems_of(runs: EvaluationQuerySet) -> list[_System]:
    """Return the systems to which the given runs belong, the earliest first."""
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
    """Return True if a team of the phase declared a run to be a seed of a system."""
    runs = Submission.objects.filter(phase=phase).exclude(seeds_of="")
    return phase.takes_seeds and runs.exists()


def _with_a_place(phase: Phase) -> QuerySet[Submission]:
    """Return the phase's runs that have a priority, including withdrawn and excluded
    runs.
    """
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

    Each method filters the evaluations by one rule. Methods can be chained, and
    `counting` chains the rules that the settings of a phase require.
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
        """Return the evaluations that the board of a phase shows.

        Only runs of teams in ``entries`` can count. The default is all approved
        registrations of the season. ``frozen_from`` is the time of a frozen board.
        """
        if frozen_from is not None:
            stored = phase.frozen_boards.filter(
                rules=rules, gold=gold, frozen_from=frozen_from
            ).first()
            if stored is not None:
                return self.shown_on(stored)
        if further_judge(rules):
            # The first judge decides which runs count.
            first = self.counting(
                phase, base_rules(rules), gold, entries=entries, frozen_from=frozen_from
            )
            views = self.on_board(phase, rules, gold).known_at(frozen_from)
            return views.filter(submission__in=first.values("submission")).newest()
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
        """Apply the phase's counting rule to single runs."""
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
        """Apply the phase's counting rule to systems, and return all runs of the
        selected systems.
        """
        match phase.counting:
            case Phase.Counting.BEST:
                return self.best_system_of(entries)
            case Phase.Counting.LAST:
                return self.with_other_seeds(self.last_of(entries, of_systems=True))
            case Phase.Counting.SELECTED:
                return self.with_other_seeds(self.selected_of(entries))
            case Phase.Counting.PRIORITY:
                return self.first_systems_by_priority(phase).all_of(entries)
            case _:
                return self.all_of(entries)

    def on_board(self, phase: Phase, rules: str, gold: Gold) -> EvaluationQuerySet:
        """Return the evaluations of runs with the status scored. Withdrawn runs do not
        have the status scored.
        """
        return self.filter(
            phase=phase,
            rules=rules,
            gold=gold,
            submission__status=Submission.Status.SCORED,
        )

    def known_at(self, instant: dt.datetime | None) -> EvaluationQuerySet:
        """Return the evaluations whose current scores already existed at the given
        instant, or all evaluations for None.
        """
        if instant is None:
            return self
        return self.filter(
            Q(replaced_at=None, created_at__lte=instant) | Q(replaced_at__lte=instant)
        )

    def shown_on(self, board: StoredBoard) -> EvaluationQuerySet:
        """Return the evaluations of a frozen board.

        The evaluations include runs that were withdrawn after the freeze, but not runs
        that organisers have excluded.
        """
        stored = self.filter(pk__in=board.evaluations, gold=board.gold_id)
        return stored.known_at(board.frozen_from).not_excluded()

    def not_excluded(self) -> EvaluationQuerySet:
        """Exclude runs that organisers disqualified or hid."""
        return self.filter(submission__exclusion="")

    def competing(self) -> EvaluationQuerySet:
        """Exclude disqualified, hidden and late runs. Late runs that an organiser
        accepted remain.
        """
        return self.not_excluded().filter(submission__is_late=False)

    def primary(self) -> EvaluationQuerySet:
        return self.filter(submission__kind=Submission.Kind.PRIMARY)

    def contrastive(self) -> EvaluationQuerySet:
        return self.filter(submission__kind=Submission.Kind.CONTRASTIVE)

    def teamless(self, phase: Phase) -> EvaluationQuerySet:
        """Return the baselines and the human baseline of the phase."""
        # The filter uses the index of runs, as SQLite would read all rows by gold.
        runs = Submission.objects.filter(
            phase=phase, team=None, kind__in=Submission.TEAMLESS
        )
        return self.filter(submission__in=runs.values("pk"))

    def newest(self) -> EvaluationQuerySet:
        """Return the newest evaluation of each run. A run may have been scored with
        several options.
        """
        of_run = self.order_by().values("submission").annotate(newest=Max("pk"))
        newest: EvaluationQuerySet = self.model.objects.filter(
            pk__in=of_run.values("newest")
        )
        return newest

    def all_of(self, entries: QuerySet[Registration]) -> EvaluationQuerySet:
        """Return the evaluations of all runs of the registered teams."""
        return self.filter(team__in=entries.values("team")).newest()

    def best_of(self, entries: QuerySet[Registration]) -> EvaluationQuerySet:
        """Return each team's run with the highest value, and the earliest run of equal
        values.

        If all values of a team are undefined, return the team's earliest run.
        """
        # Use two subqueries: each can be sorted by an index.
        by_value = self.exclude(rank_value=None).order_by(
            "-rank_value", "submitted_at", "pk"
        )
        by_time = self.order_by("submitted_at", "pk")
        return self._first(entries, by_value, by_time)

    def best_system_of(self, entries: QuerySet[Registration]) -> EvaluationQuerySet:
        """Return the runs of each team's system with the highest mean, and the earliest
        system of equal means.

        If no system of a team has values for all its runs, return the earliest system.
        """
        best: dict[int, _System] = {}
        for system in _systems_of(self.all_of(entries)):
            of_team = best.setdefault(system.team, system)
            if system.is_before(of_team):
                best[system.team] = system
        return self.filter(
            pk__in=[pk for system in best.values() for pk in system.runs]
        )

    def with_other_seeds(self, runs: EvaluationQuerySet) -> EvaluationQuerySet:
        """Return the given runs and all other runs (seeds) of their systems."""
        same = runs.exclude(submission__seeds_of="").filter(
            team=OuterRef("team"), submission__seeds_of=OuterRef("submission__seeds_of")
        )
        return self.filter(Q(pk__in=runs.values("pk")) | Exists(same)).newest()

    def last_of(
        self, entries: QuerySet[Registration], *, of_systems: bool = False
    ) -> EvaluationQuerySet:
        """Return each team's last run.

        If a team's last primary run was withdrawn or disqualified, no earlier run
        replaces it. Hidden runs, such as copies, are replaced by earlier runs. If
        ``of_systems`` is True, another seed of the same system also replaces a
        withdrawn or disqualified run.
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
        """Return the run that each team selected. Teams without a selection have no
        run.
        """
        selected = self.filter(submission__is_selected=True)
        return self._first(entries, selected.order_by("-submitted_at", "-pk"))

    def first_by_priority(self, phase: Phase) -> EvaluationQuerySet:
        """Return the first `judged_runs` primary runs of each team by priority.

        Withdrawn and excluded runs count among the judged runs and are not replaced.
        """
        first = _first_by_priority(_with_a_place(phase), phase)
        return self.filter(submission__in=first.values("pk"))

    def first_systems_by_priority(self, phase: Phase) -> EvaluationQuerySet:
        """Return the runs of each team's first `judged_runs` systems by priority."""
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
        """Return each team's first evaluation in the first of ``orders`` that contains
        an evaluation of the team.
        """
        firsts = [
            Subquery(order.filter(team=OuterRef("team")).values("pk")[:1])
            for order in orders
        ]
        chosen = Coalesce(*firsts) if len(firsts) > 1 else firsts[0]
        of_team = entries.annotate(evaluation=chosen).values("evaluation")
        first: EvaluationQuerySet = self.model.objects.filter(pk__in=of_team)
        return first
