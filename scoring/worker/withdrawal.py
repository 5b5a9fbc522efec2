"""Withdraw an import of judgements, and score the runs again that used the judgements."""

from dataclasses import dataclass

from citeboard.teams.models import User
from scoring.models import JudgementImport, UsedJudgements
from scoring.worker import ledger, rescoring
from tasks.models import Phase, Season


@dataclass(frozen=True, kw_only=True)
class ImportWithdrawalResult:
    """The result of withdrawing an import of judgements.

    ``runs`` is the number of runs whose scores used these judgements, and ``frozen`` is
    the number of phases whose frozen boards keep the scores.
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
) -> ImportWithdrawalResult:
    """Withdraw an import of judgements and request that the affected runs are scored
    again. Frozen boards keep scores from withdrawn judgements and mention the
    withdrawal.
    """
    ledger.withdraw_judgements(source=source, reason=reason, by=by, season=season)
    used = UsedJudgements.objects.filter(imports=source, is_current=True)
    phases = list(
        Phase.objects.filter(pk__in=used.values("evaluation__phase")).select_related(
            "task__season"
        )
    )
    going = [phase for phase in phases if not phase.is_frozen()]
    runs = used.values("evaluation__submission").distinct().count()
    for phase in going:
        rescoring.request_rescoring_of_phase(phase=phase, by=by)
    return ImportWithdrawalResult(
        source=source, runs=runs, frozen=len(phases) - len(going)
    )
