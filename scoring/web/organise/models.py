"""What a season's tasks are scored with, and the labels that their runs wait for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from citeboard.core.words import counted, sentence, thousands
from citeboard.teams.models import User
from scoring.background.access import jobs_of
from scoring.background.kinds import ask_for_labels
from scoring.models import BackgroundJob, EntailmentModel, LabelImport, PendingLabels
from scoring.ops.doctor import models_of
from scoring.worker.background import Kind
from scoring.worker.entailment_labels import (
    Imported,
    LabelsRefused,
    label_lines,
    models_of_season,
    share_labels,
)
from scoring.worker.pending_labels import open_pairs, pairs_left, waiting_jobs
from tasks.models import Season
from tasks.seasons.access import season_to_organise
from tasks.submissions.uploads import UploadTooLarge, received, upload_limit

AT_A_TIME = 25
IMPORTS_SHOWN = 10
MAX_NUMBER = 18
NO_LABELS = gettext_lazy("No task of the season asks for labels of this model, or there are none.")
NDJSON = "application/x-ndjson; charset=utf-8"


class LabelsForm(forms.Form):
    """A file of labels of one of the models that the season's tasks ask for."""

    model = forms.ChoiceField(label=gettext_lazy("Model"))
    file = forms.FileField(
        label=gettext_lazy("Labels"),
        error_messages={
            "required": gettext_lazy("Choose the file that holds the labels."),
            "empty": gettext_lazy("The file is empty."),
        },
    )

    def __init__(self, data: Any, files: Any, *, models: list[str]) -> None:
        super().__init__(data, files, label_suffix="")
        choice = self.fields["model"]
        assert isinstance(choice, forms.ChoiceField)
        choice.choices = [(name, name) for name in models]
        self.fields["file"].help_text = _(
            "JSON lines as “python -m scoring decide” writes them, at most %(megabytes)s. Larger files are "
            "brought by “manage.py import_labels” where the site runs."
        ) % {"megabytes": counted(upload_limit() >> 20, "megabyte")}


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def models(request: HttpRequest, season: str) -> HttpResponse:
    found = season_to_organise(request.user, season)
    names = models_of_season(found)
    posted = (request.POST, request.FILES) if request.method == "POST" else (None, None)
    form = LabelsForm(*posted, models=names)
    if form.is_bound and form.is_valid():
        try:
            job = _import(request, found, form)
        except UploadTooLarge as refused:
            form.add_error("file", sentence(refused))
        else:
            return redirect("background-job", job.pk)
    waiting = _waiting(found)
    context = {
        "season": found,
        "part": "models",
        "jobs": jobs_of(found, Kind.LABELS),
        "tasks": models_of(found),
        "form": form,
        "models": [_line(name, found) for name in names],
        "page": Paginator(waiting, AT_A_TIME).get_page(request.GET.get("page")),
        "open": pairs_left(waiting),
        "imports": LabelImport.objects.filter(
            Q(model__season=None) | Q(model__season=found), model__name__in=names
        ).select_related("model", "imported_by")[:IMPORTS_SHOWN],
    }
    status = 422 if form.errors else 200
    return render(request, "organise/models.html", context, status=status)


@login_required
@require_safe
def pairs(request: HttpRequest, season: str) -> StreamingHttpResponse:
    """What the season's runs, or one of them, wait to have decided: passages and claims, word for word."""
    found = season_to_organise(request.user, season)
    waiting = _waiting(found)
    model, run = request.GET.get("model"), request.GET.get("run")
    if model:
        # No name holds a NUL, and no database takes one.
        waiting = waiting.none() if "\0" in model else waiting.filter(model__name=model)
    if run:
        waiting = (
            waiting.filter(job__submission=int(run))
            if run.isdecimal() and len(run) < MAX_NUMBER
            else waiting.none()
        )
    lines = _lines(waiting, is_next_only="next" in request.GET)
    return _file(lines, f"{found.slug}-pairs.jsonl")


@login_required
@require_safe
def entailment_labels(request: HttpRequest, season: str) -> StreamingHttpResponse:
    """The labels of a model that decide the season's runs, its own and shared ones, by digests alone."""
    found = season_to_organise(request.user, season)
    name = request.GET.get("model", "")
    deciding = list(EntailmentModel.objects.deciding(name, found)) if name in models_of_season(found) else []
    if not deciding:
        raise Http404(NO_LABELS)
    return _file(label_lines(deciding), "labels.jsonl")


@require_POST
@login_required
def share(request: HttpRequest, season: str) -> HttpResponse:
    """The season's labels of a model become those of all seasons; by the site's staff alone."""
    found = season_to_organise(request.user, season)
    assert isinstance(request.user, User)
    name = request.POST.get("model", "")
    if not request.user.is_staff or name not in models_of_season(found):
        raise Http404(NO_LABELS)
    try:
        messages.success(request, _described(share_labels(season=found, model=name, by=request.user)))
    except EntailmentModel.DoesNotExist:
        raise Http404(NO_LABELS) from None
    except LabelsRefused as refused:
        messages.error(request, sentence(refused))
    return redirect("organise-models", found.slug)


def _import(request: HttpRequest, season: Season, form: LabelsForm) -> BackgroundJob:
    assert isinstance(request.user, User)
    model = form.cleaned_data["model"]
    with received(form.cleaned_data["file"]) as upload:
        return ask_for_labels(season=season, model=model, upload=upload, by=request.user)


def _described(done: Imported) -> str:
    if done.model.season_id:
        added, beside = (
            _("%(labels)s of %(model)s added."),
            _("%(labels)s of %(model)s added, %(others)s were there."),
        )
    else:
        added = _("%(labels)s of %(model)s added for all seasons.")
        beside = _("%(labels)s of %(model)s added for all seasons, %(others)s were there.")
    others = ngettext("%(number)s other", "%(number)s others", done.known) % {"number": thousands(done.known)}
    said = [
        (beside if done.known else added)
        % {"labels": counted(done.added, "label"), "model": done.model, "others": others}
    ]
    if done.resumed:
        said.append(_("%(scorings)s gone on with.") % {"scorings": counted(done.resumed, "scoring")})
    return " ".join(said)


def _waiting(season: Season) -> QuerySet[PendingLabels]:
    return waiting_jobs().filter(job__submission__phase__task__season=season)


def _line(name: str, season: Season) -> dict[str, Any]:
    """How many labels of a model are the season's own, and how many all seasons share."""
    decided = {model.season_id: model.decided for model in EntailmentModel.objects.deciding(name, season)}
    return {"name": name, "own": decided.get(season.pk, 0), "shared": decided.get(None, 0)}


def _lines(waiting: QuerySet[PendingLabels], *, is_next_only: bool) -> Iterator[str]:
    for pair in open_pairs(list(waiting), is_next_only=is_next_only):
        yield f"{json.dumps(pair, ensure_ascii=False)}\n"


def _file(lines: Iterator[str], name: str) -> StreamingHttpResponse:
    response = StreamingHttpResponse(lines, content_type=NDJSON)
    response["Content-Disposition"] = content_disposition_header(as_attachment=True, filename=name)
    response["Cache-Control"] = "private, no-store"
    return response
