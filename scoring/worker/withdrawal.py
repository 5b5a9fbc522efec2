"""Withdraw an import of judgements, and rescore the runs that used it."""

from dataclasses import dataclass

from citeboard.teams.models import User
from scoring.models import JudgementImport, UsedJudgements
from scoring.worker import ledger, rescoring
from tasks.models import Phase, Season


@dataclass(frozen=True, kw_only=True)
class Withdrawn:
    """A withdrawn import of judgements.

    ``runs`` is the number of runs whose scores used the import, and ``frozen`` the
    number of phases whose frozen boards keep these scores.
    """

    source: JudgementImport
    runs: int
    frozen: int


def withdraw_import(
    *,
    source: JudgementImport,
    reason: str,
    by: User | None,
    season: Season | None = None,
) -> Withdrawn:
    """Withdraw an import of judgements. Frozen boards keep their scores and mention the
    withdrawal.
    """
    ledger.withdraw(source=source, reason=reason, by=by, season=season)
    used = UsedJudgements.objects.filter(imports=source, is_current=True)
    phases = list(
        Phase.objects.filter(pk__in=used.values("evaluation__phase")).select_related(
            "task__season"
        )
    )
    going = [phase for phase in phases if not phase.is_frozen()]
    runs = used.values("evaluation__submission").distinct().count()
    for phase in going:
        rescoring.ask_for_phase(phase=phase, by=by)
    return Withdrawn(source=source, runs=runs, frozen=len(phases) - len(going))
