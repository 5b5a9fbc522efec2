"""Ranks by the private part of a split in a phase without an end: drawn up once a month, for everybody."""

from django.db import transaction
from django.utils.timezone import now

from scoring.board.counting import board_gold
from scoring.board.standings import month_of, rank, standings
from scoring.board.visibility import Audience
from scoring.models import Evaluation, MonthlyRanks
from tasks.models import Phase
from tasks.models.seasons import bump_version


def keep_due() -> int:
    """Rank the runs that count, for each phase and rule set that has no ranks of this month yet; how many."""
    at, kept = now(), 0
    phases = Phase.objects.filter(public_part__isnull=False, opens__lte=at).select_related("task__season")
    for phase in phases:
        due = set(phase.task.rules) if phase.has_monthly_ranks else set()
        due -= set(phase.monthly_ranks.filter(month=month_of(at)).values_list("rules", flat=True))
        for rules in due:
            with transaction.atomic():
                runs = _ranked(phase, rules)
                MonthlyRanks.objects.get_or_create(
                    phase=phase, rules=rules, month=month_of(at), defaults={"runs": runs}
                )
                bump_version(phase.pk)
            kept += 1
    return kept


def _ranked(phase: Phase, rules: str) -> list[list[object]]:
    board = standings(phase, None, rules, gold=board_gold(phase), audience=Audience.ORGANISER)
    if board.ranking is None:
        return []
    sign = -1 if board.ranking.higher_is_better is False else 1
    counting = Evaluation.objects.filter(pk__in=[row.evaluation for row in board.rows])
    untold = dict(counting.values_list("pk", "untold"))
    for row in board.rows:
        value = untold[row.evaluation].get(board.ranking.metric, {}).get("value")
        row.value, row.is_comparable = None if value is None else sign * value, value is not None
    rank(board.rows)
    return [[row.submission, row.team_slug, row.rank] for row in board.rows if row.rank is not None]
