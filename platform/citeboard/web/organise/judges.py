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
from scoring.worker import background, judging
from tasks.models import Phase, Season


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
    lines = []
    for phase in judging.phases_with_judges(season):
        name = judging.named_judge(phase)
        row: PhaseJudge | None = judging.agreed_judges(phase).first()
        is_filled = filled is not None and filled.of == phase
        lines.append(
            {
                "phase": phase,
                "name": name,
                "kind": judging.kind_asked(phase),
                "judge": offer.judges.get(name),
                "row": row,
                "open": judging.pairs_open(row) if row else 0,
                "unlabelled": judging.unlabelled_pairs(phase).count(),
                "unsent": judging.unsent_runs(row) if row else 0,
                "addressing": judging.texts_to_judge(phase),
                "form": filled if is_filled else acts.JudgeConsentForm(of=phase),
                "is_filled": is_filled,
            }
        )
    return {
        "offered": list(offer.judges.values()),
        # The message of the error may contain details that organisers must not see.
        "has_fault": bool(offer.fault),
        "phases": lines,
        "jobs": jobs_of(season, background.Kind.JUDGE),
    }


@pages.organisers.act("organise-judges season", fields=None)
def agree(request: pages.SignedInRequest, season: Season, phase: Phase) -> pages.Answer:
    """Allow the LLM judge of a task to receive texts of a phase."""
    form = acts.JudgeConsentForm(request.POST, of=phase)
    pages.require_known_fields(request, form)
    with pages.refusals_at(form, None):
        if form.is_valid():
            done = acts.AGREE_TO_JUDGE(phase, request.user, **form.cleaned_data)
            return acts.AGREE_TO_JUDGE.told(phase, done, form.cleaned_data)
    return _page_with_errors(request, season, form)


def _page_with_errors(
    request: pages.SignedInRequest, season: Season, form: acts.JudgeConsentForm
) -> HttpResponse:
    context = {"season": season, "part": "judges", **_judges_context(season, form)}
    return render(request, "organise/judges.html", context, status=422)


ask = pages.does(acts.ASK_JUDGE, "organise-judges season", then=pages.to_job)
estimate = pages.does(acts.ESTIMATE_JUDGE, "organise-judges season", then=pages.to_job)
leave_out = pages.does(acts.LEAVE_PAIRS_OUT, "organise-judges season")
dismiss = pages.does(acts.DISMISS_JUDGE, "organise-judges season")
