"""What people say of a run, brought by an organiser and held against the automatic labels."""

from collections.abc import Mapping
from typing import Any

from django.shortcuts import redirect
from django.utils.translation import gettext_lazy as _

from citeboard.core.words import sentence
from scoring.acts.runs import JudgementsForm
from scoring.background.access import jobs_of, run_to_judge
from scoring.background.kinds import ask_for_judgements
from scoring.board.formatting import interval, shown
from scoring.human.claim_review import JudgementsRefused, agreement_of, publish, revoke
from scoring.models import BackgroundJob, JudgedRun
from scoring.stats.people_and_labels import PRECISION, RATINGS, RECALL
from scoring.web.breadcrumbs import place_of
from scoring.web.pages import Answer, Pages, SignedInRequest, refusals_at, sent
from scoring.worker.background import Kind
from tasks.models import Submission
from tasks.submissions.uploads import received

TITLES = {
    RECALL: _("Citation recall, claims"),
    PRECISION: _("Citation precision, marks"),
    "utility": _("Utility, 1 to 5"),
    "citation_utility": _("Utility of citations, 0 or 1"),
}
judged_runs = Pages(run_to_judge, "pk", context=lambda run: {**place_of(run.phase), "submission": run})


@judged_runs.form("organise/judgements.html")
def judgements(request: SignedInRequest, run: Submission) -> Answer:
    form = JudgementsForm(**sent(request))
    with refusals_at(form, "file"):
        if form.is_valid():
            with received(form.cleaned_data["file"]) as upload:
                job: BackgroundJob = ask_for_judgements(submission=run, upload=upload, by=request.user)
            return redirect("background-job", job.pk)
    kept = JudgedRun.objects.select_related("submission__phase__task", "imported_by")
    judged = kept.filter(submission=run).first()
    jobs = jobs_of(run.phase.task.season, Kind.JUDGEMENTS, submission=run.pk)
    return {"form": form, "jobs": jobs, **(_compared(judged) if judged else {})}


@judged_runs.act("submission-judgements pk")
def settle(request: SignedInRequest, run: Submission, how: str) -> Answer:
    """Put the ratings of its responses on the board, or take them off."""
    if how == "publish":
        publish(submission=run, by=request.user)
        return str(_("The ratings stand on the board."))
    revoke(submission=run, by=request.user)
    return str(_("The ratings are off the board."))


def _compared(judged: JudgedRun) -> dict[str, Any]:
    try:
        agreements = agreement_of(judged)
    except JudgementsRefused as outdated:
        return {"judged": judged, "outdated": sentence(outdated)}
    decided, rated = [], []
    for kind in (RECALL, PRECISION):
        found = agreements[kind]
        if found["items"]:
            cohen = [(name, shown(kappa, 1)) for name, kappa in found["cohen"].items()]
            numbers = {
                "pending": found["pending"],
                "automatic": shown(found["automatic"], 100),
                "cohen": cohen,
                "cohen_mean": shown(found["cohen_mean"], 1),
                "people": shown(found["people"], 100),
            }
            decided.append({**_common(kind, found), **numbers})
    for kind in RATINGS:
        found = agreements[kind]
        if found["items"]:
            numbers = {"people": shown(found["people"], 1), "interval": interval(found["low"], found["high"])}
            rated.append({**_common(kind, found), **numbers})
    return {"judged": judged, "decided": decided, "rated": rated}


def _common(kind: str, found: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "title": str(TITLES[kind]),
        "items": found["items"],
        "annotators": found["annotators"],
        "fleiss": shown(found["fleiss"], 1),
        "krippendorff": shown(found["krippendorff"], 1),
    }
