"""The organisers' page with the available LLM judges, and with the consent, state, cost
and budget for each phase.
"""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from citeboard.acts import judging as acts
from citeboard.background.kinds import find_background_jobs
from citeboard.web import pages
from scoring.models import PhaseJudge
from scoring.results.board.judges import judges_of_rules
from scoring.worker import background, judging
from tasks.models import Phase, Season
from tasks.types.stored_judges import LedgerJudge, list_ledger_judges


@pages.organiser_pages.page("organise/judges.html", "judges")
def show_llm_judges(request: HttpRequest, season: Season) -> pages.ViewResult:
    """Show the LLM judges that the site offers, and the LLM judges of the season's
    phases.
    """
    return _build_llm_judges_context(season)


def _build_llm_judges_context(
    season: Season, filled: acts.JudgeConsentForm | None = None
) -> dict[str, Any]:
    offer = judging.read_judges_offered_by_operator()
    lines = [
        _build_phase_judge_context(phase, named, offer, filled)
        for phase in judging.list_phases_with_judges(season)
        for named in list_ledger_judges(phase.task.options)
    ]
    return {
        "offered": list(offer.judges.values()),
        # The message of the error may contain details that organisers must not see.
        "has_fault": bool(offer.fault),
        "phases": lines,
        "jobs": find_background_jobs(season, background.BackgroundJobKind.JUDGE),
    }


def _build_phase_judge_context(
    phase: Phase,
    named: LedgerJudge,
    offer: judging.JudgesOfferedByOperator,
    filled: acts.JudgeConsentForm | None,
) -> dict[str, Any]:
    ranking = phase.task.ranking_rules if phase.task.rules else ""
    row: PhaseJudge | None = judging.find_judge_with_consent(phase, named.kind).first()
    empty = acts.JudgeConsentForm(of=phase, kind=named.kind)
    is_filled = filled is not None and (filled.of, filled.labels_kind) == (
        phase,
        named.kind,
    )
    return {
        "phase": phase,
        "name": named.name,
        "kind": named.kind,
        "decides": [
            judge.list_reference_texts_of_kind(named.kind)
            for judge in judges_of_rules(phase, ranking)
            if named.kind in judge.kinds
        ],
        "judge": offer.judges.get(named.name),
        "row": row,
        "open": judging.count_open_pairs_of_judge(row) if row else 0,
        "unlabelled": judging.find_pairs_without_usable_reply(
            phase, named.kind
        ).count(),
        "unsent": judging.count_runs_before_consent(row) if row else 0,
        "addressing": judging.find_texts_that_instruct_judge(phase, named.kind),
        "form": filled if is_filled else empty,
        "is_filled": is_filled,
    }


@pages.organiser_pages.act("organise-judges season", fields=None)
def consent_to_judge(
    request: pages.SignedInRequest, season: Season, phase: Phase
) -> pages.ViewResult:
    """Allow the LLM judge of a task to receive texts of a phase."""
    form = acts.JudgeConsentForm(request.POST, of=phase)
    pages.require_known_fields(request, form)
    with pages.add_refusals_to_form(form, None):
        if form.is_valid():
            done = acts.CONSENT_TO_JUDGE(phase, request.user, **form.cleaned_data)
            return acts.CONSENT_TO_JUDGE.told(phase, done, form.cleaned_data)
    return _render_judges_with_errors(request, season, form)


def _render_judges_with_errors(
    request: pages.SignedInRequest, season: Season, form: acts.JudgeConsentForm
) -> HttpResponse:
    context = {
        "season": season,
        "part": "judges",
        **_build_llm_judges_context(season, form),
    }
    return render(request, "organise/judges.html", context, status=422)


queue_judge_questions = pages.build_action_view(
    acts.QUEUE_JUDGE_QUESTIONS, "organise-judges season", then=pages.redirect_to_job
)
estimate_judge_cost = pages.build_action_view(
    acts.ESTIMATE_JUDGE_COST, "organise-judges season", then=pages.redirect_to_job
)
exclude_unlabelled_pairs = pages.build_action_view(
    acts.EXCLUDE_UNLABELLED_PAIRS, "organise-judges season"
)
dismiss_judge = pages.build_action_view(acts.DISMISS_JUDGE, "organise-judges season")
