"""What people say of a run, brought by an organiser and held against the automatic labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from citeboard.core.words import sentence
from citeboard.teams.models import User
from scoring.board.numbers import shown
from scoring.human.claim_review import JudgementsRefused, agreement_of, judged_evaluation, keep_judgements
from scoring.metrics.entailment.judgements import PRECISION, RATINGS, RECALL
from scoring.models import JudgedRun
from scoring.web.place import place_of
from tasks.models import Submission
from tasks.seasons.access import may_organise
from tasks.submissions.uploads import UploadTooLarge, received
from tasks.types.problems import capped

TITLES = {
    RECALL: "Citation recall, claims",
    PRECISION: "Citation precision, marks",
    "utility": "Utility, 1 to 5",
    "citation_utility": "Utility of citations, 0 or 1",
}


class JudgementsForm(forms.Form):
    """The annotators' file."""

    file = forms.FileField(
        label="Judgements",
        help_text="JSON lines, as the guide on positional citations describes them.",
        error_messages={
            "required": "Choose the file that holds the judgements.",
            "empty": "The file is empty.",
        },
    )

    def __init__(self, data: Any, files: Any) -> None:
        super().__init__(data, files, label_suffix="")


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def judgements(request: HttpRequest, pk: int) -> HttpResponse:
    run = _run(request, pk)
    form = JudgementsForm(*((request.POST, request.FILES) if request.method == "POST" else (None, None)))
    context: dict[str, Any] = {}
    if form.is_bound and form.is_valid():
        try:
            _keep(request, run, form)
        except JudgementsRefused as refused:
            problems, more = capped(refused.problems)
            context = {"problems": problems, "more": more}
        except UploadTooLarge as refused:
            form.add_error("file", sentence(refused))
        else:
            messages.success(request, "The judgements are kept.")
            return redirect("submission-judgements", pk)
    context |= {
        **place_of(run.phase),
        "submission": run,
        "form": form,
        **_shown(
            JudgedRun.objects.select_related("submission__phase__task", "imported_by")
            .filter(submission=run)
            .first()
        ),
    }
    status = 422 if form.errors or context.get("problems") else 200
    return render(request, "organise/judgements.html", context, status=status)


def _run(request: HttpRequest, pk: int) -> Submission:
    """A run with claims, in a season that the viewer organises. Raises Http404."""
    run = Submission.objects.select_related("phase__task__season", "team").filter(pk=pk).first()
    if run is None or not may_organise(request.user, run.phase.task.season) or not judged_evaluation(run):
        raise Http404("There is no run with claims for you to organise at this address.")
    return run


def _keep(request: HttpRequest, run: Submission, form: JudgementsForm) -> None:
    assert isinstance(request.user, User)
    with received(form.cleaned_data["file"]) as upload:
        keep_judgements(submission=run, path=upload.path, filename=upload.filename, by=request.user)


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
            _decided(TITLES[kind], found[kind]) for kind in (RECALL, PRECISION) if found[kind]["items"]
        ],
        "rated": [_rated(TITLES[kind], found[kind]) for kind in RATINGS if found[kind]["items"]],
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
    return {"title": title, **_common(found), "people": _number(found["people"], 1)}


def _common(found: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "items": found["items"],
        "annotators": found["annotators"],
        "fleiss": _number(found["fleiss"], 1),
        "krippendorff": _number(found["krippendorff"], 1),
    }


def _number(value: float | None, scale: float) -> str:
    return shown(value, scale)
