"""What people say of a run, brought by an organiser and held against the automatic labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_POST

from citeboard.core.words import sentence
from citeboard.teams.models import User
from scoring.background.access import jobs_of, run_to_judge
from scoring.background.kinds import ask_for_judgements
from scoring.board.numbers import interval, shown
from scoring.human.claim_review import JudgementsRefused, agreement_of
from scoring.human.judged_runs import publish, take_back
from scoring.human.outcome import NotPublished
from scoring.metrics.entailment.judgements import PRECISION, RATINGS, RECALL
from scoring.models import BackgroundJob, JudgedRun
from scoring.web.breadcrumbs import place_of
from scoring.worker.background import Kind
from tasks.models import Submission
from tasks.submissions.uploads import UploadTooLarge, received

TITLES = {
    RECALL: _("Citation recall, claims"),
    PRECISION: _("Citation precision, marks"),
    "utility": _("Utility, 1 to 5"),
    "citation_utility": _("Utility of citations, 0 or 1"),
}


class JudgementsForm(forms.Form):
    """The annotators' file."""

    file = forms.FileField(
        label=_("Judgements"),
        help_text=_("JSON lines, as the guide on positional citations describes them."),
        error_messages={
            "required": _("Choose the file that holds the judgements."),
            "empty": _("The file is empty."),
        },
    )

    def __init__(self, data: Any, files: Any) -> None:
        super().__init__(data, files, label_suffix="")


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def judgements(request: HttpRequest, pk: int) -> HttpResponse:
    run = run_to_judge(request.user, pk)
    form = JudgementsForm(*((request.POST, request.FILES) if request.method == "POST" else (None, None)))
    if form.is_bound and form.is_valid():
        try:
            job = _ask(request, run, form)
        except UploadTooLarge as refused:
            form.add_error("file", sentence(refused))
        else:
            return redirect("background-job", job.pk)
    context = {
        **place_of(run.phase),
        "submission": run,
        "form": form,
        "jobs": jobs_of(run.phase.task.season, Kind.JUDGEMENTS, submission=run.pk),
        **_shown(
            JudgedRun.objects.select_related("submission__phase__task", "imported_by")
            .filter(submission=run)
            .first()
        ),
    }
    return render(request, "organise/judgements.html", context, status=422 if form.errors else 200)


@require_POST
@login_required
def settle(request: HttpRequest, pk: int, how: str) -> HttpResponse:
    """Put the ratings of its responses on the board, or take them off."""
    run = run_to_judge(request.user, pk)
    assert isinstance(request.user, User)
    try:
        if how == "publish":
            publish(submission=run, by=request.user)
        else:
            take_back(submission=run, by=request.user)
    except (NotPublished, JudgementsRefused) as refused:
        messages.error(request, sentence(refused))
    else:
        messages.success(
            request,
            _("The ratings stand on the board.") if how == "publish" else _("The ratings are off the board."),
        )
    return redirect("submission-judgements", run.pk)


def _ask(request: HttpRequest, run: Submission, form: JudgementsForm) -> BackgroundJob:
    assert isinstance(request.user, User)
    with received(form.cleaned_data["file"]) as upload:
        return ask_for_judgements(submission=run, upload=upload, by=request.user)


def _shown(judged: JudgedRun | None) -> dict[str, Any]:
    if judged is None:
        return {}
    try:
        found = agreement_of(judged)
    except JudgementsRefused as outdated:
        return {"judged": judged, "outdated": sentence(outdated)}
    return {
        "judged": judged,
        "decided": [
            _decided(str(TITLES[kind]), found[kind]) for kind in (RECALL, PRECISION) if found[kind]["items"]
        ],
        "rated": [_rated(str(TITLES[kind]), found[kind]) for kind in RATINGS if found[kind]["items"]],
    }


def _decided(title: str, found: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "title": title,
        **_common(found),
        "pending": found["pending"],
        "automatic": _number(found["automatic"], 100),
        "cohen": [(name, _number(kappa, 1)) for name, kappa in found["cohen"].items()],
        "cohen_mean": _number(found["cohen_mean"], 1),
        "people": _number(found["people"], 100),
    }


def _rated(title: str, found: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "title": title,
        **_common(found),
        "people": _number(found["people"], 1),
        "interval": interval(found["low"], found["high"]),
    }


def _common(found: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "items": found["items"],
        "annotators": found["annotators"],
        "fleiss": _number(found["fleiss"], 1),
        "krippendorff": _number(found["krippendorff"], 1),
    }


def _number(value: float | None, scale: float) -> str:
    return shown(value, scale)
