"""In phases without an end, compute the ranks of runs on the private part of the gold
on the first day of each month.
"""

from django.db import transaction
from django.utils.timezone import now

from scoring.models import Evaluation, MonthlyRanks, RankedRun
from scoring.results.board import visibility
from scoring.results.board.counting import find_gold_on_board
from scoring.results.board.standings import (
    compute_board,
    first_day_of_month,
    sort_and_rank_rows,
)
from scoring.stats.leakage import compute_rank_publications_per_year
from tasks.models import Gold, Phase, seasons


def count_rank_publications_per_year(phase: Phase, gold: Gold | None = None) -> int:
    """Return how many times per year the site publishes ranks, or 0 if the ranks would
    reveal too much of the private part.

    ``gold`` is the current version of the phase's gold, if the caller has already
    loaded the gold.
    """
    gold = gold or Gold.objects.current(phase)
    if (
        gold is None
        or not phase.has_monthly_ranks
        or phase.counting == Phase.CountedRunsRule.ALL
    ):
        return 0
    private = gold.instances - gold.instances * (phase.public_part or 0) // 100
    return compute_rank_publications_per_year(private, phase.judged_runs)


def save_due_monthly_ranks() -> int:
    """Compute and store the monthly ranks that are due for each phase and rule set, and
    return the number of stored ranks.
    """
    at, count = now(), 0
    phases = Phase.objects.filter(
        public_part__isnull=False, opens__lte=at
    ).select_related("task__season")
    for phase in phases:
        # Ranks are due if the phase opened before the current period of the year.
        if not (times := count_rank_publications_per_year(phase)):
            continue
        month = first_day_of_month(at)
        month = month.replace(month=month.month - (month.month - 1) % (12 // times))
        if first_day_of_month(phase.opens) >= month:
            continue
        due = set(phase.task.rules)
        due -= set(
            phase.monthly_ranks.filter(month=month).values_list("rules", flat=True)
        )
        for rules in due:
            with transaction.atomic():
                given = {"runs": _compute_ranks_on_private_part(phase, rules)}
                MonthlyRanks.objects.get_or_create(
                    phase=phase, rules=rules, month=month, defaults=given
                )
                seasons.increment_board_version(phase.pk)
            count += 1
    return count


def _compute_ranks_on_private_part(phase: Phase, rules: str) -> list[RankedRun]:
    board = compute_board(
        phase,
        None,
        rules,
        gold=find_gold_on_board(phase),
        audience=visibility.Audience.ORGANISER,
    )
    if board.ranking is None:
        return []
    counting = Evaluation.objects.filter(pk__in=[row.evaluation for row in board.rows])
    untold = dict(counting.values_list("pk", "untold"))
    for row in board.rows:
        value = untold[row.evaluation].get(board.ranking.metric, {}).get("value")
        row.is_comparable = value is not None
        row.value = None if value is None else board.ranking.sign * value
    sort_and_rank_rows(board.rows)
    return [
        RankedRun(run=row.submission, team=row.team_slug, rank=row.rank)
        for row in board.rows
        if row.rank is not None
    ]
