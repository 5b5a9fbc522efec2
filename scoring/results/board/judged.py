"""Write notes on the judgements that determine scores."""

from collections.abc import Collection

from django.db.models import Max
from django.utils.translation import gettext as _

from citeboard.core.words import count_with_noun
from scoring.models import JudgementImport, UsedJudgements
from tasks.models import Phase
from tasks.types.stored_judges import list_ledger_judges


def build_judgement_notes(phase: Phase, evaluations: Collection[int]) -> list[str]:
    """Return notes on withdrawn judgements with their reasons, on judgements that are
    not in the scores yet, and on disagreement between people.

    Phases that do not use the ledger of judgements need no database query.
    """
    if not list_ledger_judges(phase.task.options):
        return []
    used = UsedJudgements.objects.filter(evaluation__in=evaluations, is_current=True)
    runs: dict[int, int] = dict(
        used.filter(outdated_at__isnull=False).values_list(
            "pk", "evaluation__submission"
        )
    )
    notes = _build_outdated_judgement_notes(runs) if runs else []
    if ties := used.aggregate(most=Max("ties"))["most"]:
        words = _(
            "People are divided on up to %(judgements)s behind a run; the lower label counts."
        )
        notes.append(words % {"judgements": count_with_noun(ties, "judgement")})
    return notes


def _build_outdated_judgement_notes(runs: dict[int, int]) -> list[str]:
    """Return notes on runs whose scores use outdated judgements. ``runs`` maps the ids
    of used judgements to runs.
    """
    imports = JudgementImport.objects.filter(
        used_by__in=runs, withdrawn_at__isnull=False
    ).order_by("withdrawn_at", "pk")
    withdrawn: dict[str, set[int]] = {}
    for reason, one in imports.values_list("reason", "used_by"):
        if one in runs:
            withdrawn.setdefault(reason, set()).add(one)
    notes = []
    for reason, rows in withdrawn.items():
        words = _("Judgements behind %(runs)s were withdrawn: %(reason)s")
        notes.append(words % {"runs": _format_run_count(runs, rows), "reason": reason})
    gone = {one for rows in withdrawn.values() for one in rows}
    if later := runs.keys() - gone:
        words = _("Judgements have been added that concern %(runs)s.")
        notes.append(words % {"runs": _format_run_count(runs, later)})
    return notes


def _format_run_count(runs: dict[int, int], used: Collection[int]) -> str:
    return count_with_noun(len({runs[one] for one in used}), "run")
