"""Define the rules that select which runs a board shows, with one queryset method for
each rule.

A team can declare that several runs come from one system with different random seeds.
If a phase has such runs, the rules select systems, so that a board shows all runs of a
system, or none. A run that its team did not declare to be one of several is a system of
its own. The rule “best” selects the system whose runs have the highest mean. The rule
“last” selects the system of the last run, and “selected” the system of the selected
run. The priority of a system is the priority of the system's first run. Withdrawn and
excluded runs do not belong to any system.
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
from tasks.types.base import remove_judge_from_rule_set
from tasks.types.judge_views import get_judge_in_view_name

IS_WITHDRAWN_SUBMISSION = Q(status=Submission.Status.WITHDRAWN)
IS_DISQUALIFIED_SUBMISSION = Q(exclusion=Submission.Exclusion.DISQUALIFIED)


class StoredFrozenBoard(Protocol):
    """A frozen board, with the ids of the shown evaluations, their gold, and the time
    from which the board is frozen.
    """

    evaluations: Any
    gold_id: Any
    frozen_from: Any


@dataclass
class _SystemOfTeam:
    """A team's system, with the evaluations of the system's runs in order of
    submission, and the values of the ranking metric.
    """

    team: int
    runs: list[int] = field(default_factory=list)
    values: list[float | None] = field(default_factory=list)

    @property
    def mean(self) -> float | None:
        known = [value for value in self.values if value is not None]
        return fmean(known) if len(known) == len(self.values) else None

    def has_higher_mean_than(self, other: _SystemOfTeam) -> bool:
        """Return True if the system has a higher mean than another system that was
        submitted earlier.
        """
        if self.mean is None or other.mean is None:
            return self.mean is not None
        return self.mean > other.mean


def _group_evaluations_by_system(runs: EvaluationQuerySet) -> list[_SystemOfTeam]:
    """Return the systems to which the given runs belong, in order of their first
    submission.
    """
    systems: dict[tuple[int, str | int], _SystemOfTeam] = {}
    rows = runs.order_by("submitted_at", "pk").values_list(
        "pk", "team", "submission__seeds_of", "rank_value"
    )
    for pk, team, seeds_of, value in rows:
        system = systems.setdefault((team, seeds_of or pk), _SystemOfTeam(team))
        system.runs.append(pk)
        system.values.append(value)
    return list(systems.values())


def has_runs_with_declared_seeds(phase: Phase) -> bool:
    """Return True if a team of the phase has declared several runs to be runs of one
    system with different random seeds.
    """
    runs = Submission.objects.filter(phase=phase).exclude(seeds_of="")
    return phase.can_have_seed_runs and runs.exists()


def _find_runs_with_priority(phase: Phase) -> QuerySet[Submission]:
    """Return the phase's runs that have a priority, including withdrawn and excluded
    runs.
    """
    return Submission.objects.filter(
        phase=phase,
        kind=Submission.Kind.PRIMARY,
        is_late=False,
        status__in=Submission.COUNTED,
    )


def _limit_to_judged_runs(
    runs: QuerySet[Submission], phase: Phase
) -> QuerySet[Submission]:
    place = Window(RowNumber(), partition_by="team", order_by=["priority", "number"])
    return runs.annotate(place=place).filter(place__lte=phase.judged_runs)


class EvaluationQuerySet(models.QuerySet[Any]):
    """Filters evaluations by the rules that decide which runs of a team a board shows.

    Each method filters the evaluations by one rule. Queryset methods can be chained,
    and `counting` chains the methods that the settings of a phase require.
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

        The board shows only runs of teams in ``entries``. Without ``entries``, the
        board shows runs of all teams with an approved registration for the season.
        ``frozen_from`` is the time from which the board is frozen.
        """
        if frozen_from is not None:
            stored = phase.frozen_boards.filter(
                rules=rules, gold=gold, frozen_from=frozen_from
            ).first()
            if stored is not None:
                return self.shown_on_frozen_board(stored)
        if get_judge_in_view_name(rules):
            # The scores by the first judge decide which runs are selected.
            first = self.counting(
                phase,
                remove_judge_from_rule_set(rules),
                gold,
                entries=entries,
                frozen_from=frozen_from,
            )
            views = self.scored_on_gold_by_rule_set(
                phase, rules, gold
            ).with_scores_existing_at(frozen_from)
            return views.filter(submission__in=first.values("submission")).newest()
        if entries is None:
            entries = Registration.objects.approved().filter(season=phase.task.season)
        scored = self.scored_on_gold_by_rule_set(
            phase, rules, gold
        ).with_scores_existing_at(frozen_from)
        competing = scored.without_excluded_and_late_runs()
        primary = competing.primary()
        if has_runs_with_declared_seeds(phase):
            primary = primary.select_systems_by_rule(phase, entries)
        else:
            primary = primary.select_runs_by_rule(phase, entries)
        parts = [scored.baselines_and_human_runs(phase).newest()]
        if phase.shows_contrastive:
            parts.append(competing.of_contrastive_runs().all_runs_of_teams(entries))
        ids = [part.values("pk") for part in (primary, *parts)]
        return self.filter(pk__in=ids[0].union(*ids[1:], all=True))

    def select_runs_by_rule(
        self, phase: Phase, entries: QuerySet[Registration]
    ) -> EvaluationQuerySet:
        """Select runs by the rule that the organisers chose for the phase."""
        match phase.counting:
            case Phase.CountedRunsRule.BEST:
                return self.best_of(entries)
            case Phase.CountedRunsRule.LAST:
                return self.last_run_of_each_team(entries)
            case Phase.CountedRunsRule.SELECTED:
                return self.selected_run_of_each_team(entries)
            case Phase.CountedRunsRule.PRIORITY:
                return self.first_runs_by_priority(phase).all_runs_of_teams(entries)
            case _:
                return self.all_runs_of_teams(entries)

    def select_systems_by_rule(
        self, phase: Phase, entries: QuerySet[Registration]
    ) -> EvaluationQuerySet:
        """Select systems by the rule that the organisers chose for the phase, and
        return all runs of these systems.
        """
        match phase.counting:
            case Phase.CountedRunsRule.BEST:
                return self.best_system_of_each_team(entries)
            case Phase.CountedRunsRule.LAST:
                return self.with_runs_of_other_seeds(
                    self.last_run_of_each_team(entries, of_systems=True)
                )
            case Phase.CountedRunsRule.SELECTED:
                return self.with_runs_of_other_seeds(
                    self.selected_run_of_each_team(entries)
                )
            case Phase.CountedRunsRule.PRIORITY:
                return self.first_systems_by_priority(phase).all_runs_of_teams(entries)
            case _:
                return self.all_runs_of_teams(entries)

    def scored_on_gold_by_rule_set(
        self, phase: Phase, rules: str, gold: Gold
    ) -> EvaluationQuerySet:
        """Return the evaluations of runs with the status scored. Withdrawn runs do not
        have the status scored.
        """
        return self.filter(
            phase=phase,
            rules=rules,
            gold=gold,
            submission__status=Submission.Status.SCORED,
        )

    def with_scores_existing_at(
        self, instant: dt.datetime | None
    ) -> EvaluationQuerySet:
        """Return the evaluations whose current scores existed at the given instant, or
        all evaluations if the instant is None.
        """
        if instant is None:
            return self
        return self.filter(
            Q(replaced_at=None, created_at__lte=instant) | Q(replaced_at__lte=instant)
        )

    def shown_on_frozen_board(self, board: StoredFrozenBoard) -> EvaluationQuerySet:
        """Return the evaluations that were stored when a board was frozen.

        The result includes runs that their teams withdrew after the freeze, but no runs
        that organisers have excluded.
        """
        stored = self.filter(pk__in=board.evaluations, gold=board.gold_id)
        return stored.with_scores_existing_at(board.frozen_from).without_excluded_runs()

    def without_excluded_runs(self) -> EvaluationQuerySet:
        """Exclude runs that organisers have disqualified or hidden."""
        return self.filter(submission__exclusion="")

    def without_excluded_and_late_runs(self) -> EvaluationQuerySet:
        """Exclude disqualified, hidden and late runs. Late runs that an organiser
        accepted remain.
        """
        return self.without_excluded_runs().filter(submission__is_late=False)

    def primary(self) -> EvaluationQuerySet:
        return self.filter(submission__kind=Submission.Kind.PRIMARY)

    def of_contrastive_runs(self) -> EvaluationQuerySet:
        return self.filter(submission__kind=Submission.Kind.CONTRASTIVE)

    def baselines_and_human_runs(self, phase: Phase) -> EvaluationQuerySet:
        """Return the evaluations of baselines and of human performance in the phase."""
        # Filter by run, so that SQLite does not read all rows of the gold.
        runs = Submission.objects.filter(
            phase=phase, team=None, kind__in=Submission.TEAMLESS
        )
        return self.filter(submission__in=runs.values("pk"))

    def newest(self) -> EvaluationQuerySet:
        """Return only the newest evaluation of each run. A run may have several
        evaluations, because it can be scored with several options.
        """
        of_run = self.order_by().values("submission").annotate(newest=Max("pk"))
        newest: EvaluationQuerySet = self.model.objects.filter(
            pk__in=of_run.values("newest")
        )
        return newest

    def all_runs_of_teams(self, entries: QuerySet[Registration]) -> EvaluationQuerySet:
        """Return the evaluations of all runs of the registered teams."""
        return self.filter(team__in=entries.values("team")).newest()

    def best_of(self, entries: QuerySet[Registration]) -> EvaluationQuerySet:
        """Return each team's run with the highest value, or the earliest such run in
        case of a tie.

        If all values of a team are undefined, return the team's earliest run.
        """
        # Use two subqueries, because an index can sort the rows of each subquery.
        by_value = self.exclude(rank_value=None).order_by(
            "-rank_value", "submitted_at", "pk"
        )
        by_time = self.order_by("submitted_at", "pk")
        return self._first_evaluation_of_each_team(entries, by_value, by_time)

    def best_system_of_each_team(
        self, entries: QuerySet[Registration]
    ) -> EvaluationQuerySet:
        """For each team, return the runs of the system with the highest mean, or of the
        earliest such system in case of a tie.

        If every system of a team has a run without a value, return the runs of the
        team's earliest system.
        """
        best: dict[int, _SystemOfTeam] = {}
        for system in _group_evaluations_by_system(self.all_runs_of_teams(entries)):
            of_team = best.setdefault(system.team, system)
            if system.has_higher_mean_than(of_team):
                best[system.team] = system
        return self.filter(
            pk__in=[pk for system in best.values() for pk in system.runs]
        )

    def with_runs_of_other_seeds(self, runs: EvaluationQuerySet) -> EvaluationQuerySet:
        """Return the given runs and all runs of the same systems with other random
        seeds.
        """
        same = runs.exclude(submission__seeds_of="").filter(
            team=OuterRef("team"), submission__seeds_of=OuterRef("submission__seeds_of")
        )
        return self.filter(Q(pk__in=runs.values("pk")) | Exists(same)).newest()

    def last_run_of_each_team(
        self, entries: QuerySet[Registration], *, of_systems: bool = False
    ) -> EvaluationQuerySet:
        """Return each team's last run.

        If a team's last primary run was withdrawn or disqualified, no earlier run
        replaces it. If organisers hid a run, for example a copy, the team's previous
        run replaces this run. If ``of_systems`` is True, a run of the same system with
        another random seed replaces a withdrawn or disqualified run.
        """
        run = {name: OuterRef(f"submission__{name}") for name in ("phase", "team")}
        sent_at = OuterRef("submission__submitted_at")
        is_later = Q(submitted_at__gt=sent_at) | Q(
            submitted_at=sent_at, number__gt=OuterRef("submission__number")
        )
        gone = Submission.objects.filter(
            IS_WITHDRAWN_SUBMISSION | IS_DISQUALIFIED_SUBMISSION,
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
        return self._first_evaluation_of_each_team(entries, newest_first)

    def selected_run_of_each_team(
        self, entries: QuerySet[Registration]
    ) -> EvaluationQuerySet:
        """Return the run that each team selected. Teams without a selection have no
        run.
        """
        selected = self.filter(submission__is_selected=True)
        return self._first_evaluation_of_each_team(
            entries, selected.order_by("-submitted_at", "-pk")
        )

    def first_runs_by_priority(self, phase: Phase) -> EvaluationQuerySet:
        """For each team, return the `judged_runs` primary runs with the highest
        priority.

        Withdrawn and excluded runs are included in the number `judged_runs` and are not
        replaced.
        """
        first = _limit_to_judged_runs(_find_runs_with_priority(phase), phase)
        return self.filter(submission__in=first.values("pk"))

    def first_systems_by_priority(self, phase: Phase) -> EvaluationQuerySet:
        """For each team, return the runs of the `judged_runs` systems with the highest
        priority.
        """
        runs = _find_runs_with_priority(phase)
        is_before = Q(priority__lt=OuterRef("priority")) | Q(
            priority=OuterRef("priority"), number__lt=OuterRef("number")
        )
        before = runs.exclude(seeds_of="").filter(
            is_before, team=OuterRef("team"), seeds_of=OuterRef("seeds_of")
        )
        leading = _limit_to_judged_runs(runs.filter(~Exists(before)), phase)
        systems = {
            (team, seeds_of or pk)
            for pk, team, seeds_of in leading.values_list("pk", "team", "seeds_of")
        }
        rows = self.values_list("pk", "team", "submission__seeds_of", "submission")
        counting = [
            pk for pk, team, seeds_of, run in rows if (team, seeds_of or run) in systems
        ]
        return self.filter(pk__in=counting)

    def _first_evaluation_of_each_team(
        self, entries: QuerySet[Registration], *orders: EvaluationQuerySet
    ) -> EvaluationQuerySet:
        """Return one evaluation for each team, from the first of the sorted querysets
        ``orders`` that has an evaluation of the team.
        """
        firsts = [
            Subquery(order.filter(team=OuterRef("team")).values("pk")[:1])
            for order in orders
        ]
        chosen = Coalesce(*firsts) if len(firsts) > 1 else firsts[0]
        of_team = entries.annotate(evaluation=chosen).values("evaluation")
        first: EvaluationQuerySet = self.model.objects.filter(pk__in=of_team)
        return first
