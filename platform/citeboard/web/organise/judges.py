"""The organisers' page with the available LLM judges, and with the consent, state, cost
and budget for each phase.
"""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from citeboard.acts import judging as acts
from citeboard.background.kinds import jobs_of
from citeboard.web import pages
from scoring.models import PhaseJudge
from scoring.results.board.judges import judges_of_rules
from scoring.worker import background, judging
from tasks.models import Phase, Season
from tasks.types.stored_judges import StoredJudge, stored_judges


@pages.organisers.page("organise/judges.html", "judges")
def judges(request: HttpRequest, season: Season) -> pages.Answer:
    """Show the LLM judges that the site offers, and the LLM judges of the season's
    phases.
    """
    return _judges_context(season)


def _judges_context(
    season: Season, filled: acts.JudgeConsentForm | None = None
) -> dict[str, Any]:
    offer = judging.offered_judges()
    lines = [
        _judge_context(phase, named, offer, filled)
        for phase in judging.phases_with_judges(season)
        for named in stored_judges(phase.task.options)
    ]
    return {
        "offered": list(offer.judges.values()),
        # The message of the error may contain details that organisers must not see.
        "has_fault": bool(offer.fault),
        "phases": lines,
        "jobs": jobs_of(season, background.Kind.JUDGE),
    }


def _judge_context(
    phase: Phase,
    named: StoredJudge,
    offer: judging.OfferedJudges,
    filled: acts.JudgeConsentForm | None,
) -> dict[str, Any]:
    ranking = phase.task.ranking_rules if phase.task.rules else ""
    row: PhaseJudge | None = judging.agreed_judge(phase, named.kind).first()
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
            judge.of_kind(named.kind)
            for judge in judges_of_rules(phase, ranking)
            if named.kind in judge.kinds
        ],
        "judge": offer.judges.get(named.name),
        "row": row,
        "open": judging.pairs_open(row) if row else 0,
        "unlabelled": judging.unlabelled_pairs(phase, named.kind).count(),
        "unsent": judging.unsent_runs(row) if row else 0,
        "addressing": judging.texts_to_judge(phase, named.kind),
        "form": filled if is_filled else empty,
        "is_filled": is_filled,
    }


@pages.organisers.act("organise-judges season", fields=None)
def agree(request: pages.SignedInRequest, season: Season, phase: Phase) -> pages.Answer:
    """Allow the LLM judge of a task to receive texts of a phase."""
    form = acts.JudgeConsentForm(request.POST, of=phase)
    pages.require_known_fields(request, form)
    with pages.add_refusals_to_form(form, None):
        if form.is_valid():
            done = acts.AGREE_TO_JUDGE(phase, request.user, **form.cleaned_data)
            return acts.AGREE_TO_JUDGE.told(phase, done, form.cleaned_data)
    return _page_with_errors(request, season, form)


def _page_with_errors(
    request: pages.SignedInRequest, season: Season, form: acts.JudgeConsentForm
) -> HttpResponse:
    context = {"season": season, "part": "judges", **_judges_context(season, form)}
    return render(request, "organise/judges.html", context, status=422)


ask = pages.build_action_view(
    acts.ASK_JUDGE, "organise-judges season", then=pages.redirect_to_job
)
estimate = pages.build_action_view(
    acts.ESTIMATE_JUDGE, "organise-judges season", then=pages.redirect_to_job
)
leave_out = pages.build_action_view(acts.LEAVE_PAIRS_OUT, "organise-judges season")
dismiss = pages.build_action_view(acts.DISMISS_JUDGE, "organise-judges season")
