"""What a season's tasks are scored with, and the labels that their runs wait for."""

import json
from collections.abc import Iterable
from typing import Any

from django import forms
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, StreamingHttpResponse
from django.shortcuts import redirect
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from citeboard.core.words import counted, thousands
from scoring.background.access import jobs_of
from scoring.background.kinds import ask_for_labels
from scoring.models import EntailmentModel, LabelImport, PendingLabels
from scoring.ops.doctor import models_of
from scoring.web.pages import Answer, SignedInRequest, leaf, organisers, private, refusals_at, sent
from scoring.worker.background import Kind
from scoring.worker.entailment_labels import Imported, label_lines, models_of_season, share_labels
from scoring.worker.pending_labels import open_pairs, pairs_left, waiting_jobs
from tasks.models import Season
from tasks.submissions.uploads import received, upload_limit

AT_A_TIME = 25
IMPORTS_SHOWN = 10
MAX_NUMBER = 18
NO_LABELS = gettext_lazy("No task of the season asks for labels of this model, or there are none.")


class LabelsForm(forms.Form):
    model = forms.ChoiceField(label=gettext_lazy("Model"))
    file = forms.FileField(
        label=gettext_lazy("Labels"),
        error_messages={
            "required": gettext_lazy("Choose the file that holds the labels."),
            "empty": gettext_lazy("The file is empty."),
        },
    )

    def __init__(self, data: Any = None, files: Any = None, *, models: list[str]) -> None:
        super().__init__(data, files, label_suffix="")
        choice = self.fields["model"]
        assert isinstance(choice, forms.ChoiceField)
        choice.choices = [(name, name) for name in models]
        self.fields["file"].help_text = _(
            "JSON lines as “python -m scoring decide” writes them, at most %(megabytes)s. Larger files are "
            "brought by “manage.py import_labels” where the site runs."
        ) % {"megabytes": counted(upload_limit() >> 20, "megabyte")}


@organisers.form("organise/models.html", "models")
def models(request: SignedInRequest, season: Season) -> Answer:
    names = models_of_season(season)
    form = LabelsForm(**sent(request), models=names)
    with refusals_at(form, "file"):
        if form.is_valid():
            with received(form.cleaned_data["file"]) as upload:
                model = form.cleaned_data["model"]
                job = ask_for_labels(season=season, model=model, upload=upload, by=request.user)
            return redirect("background-job", job.pk)
    waiting = _waiting(season)
    imports = LabelImport.objects.filter(
        Q(model__season=None) | Q(model__season=season), model__name__in=names
    )
    return {
        "jobs": jobs_of(season, Kind.LABELS),
        "tasks": models_of(season),
        "form": form,
        "models": [_line(name, season) for name in names],
        "page": leaf(request, waiting, AT_A_TIME),
        "open": pairs_left(waiting),
        "imports": imports.select_related("model", "imported_by")[:IMPORTS_SHOWN],
    }


def _waiting(season: Season) -> QuerySet[PendingLabels]:
    return waiting_jobs().filter(job__submission__phase__task__season=season)


def _line(name: str, season: Season) -> dict[str, Any]:
    decided = {model.season_id: model.decided for model in EntailmentModel.objects.deciding(name, season)}
    return {"name": name, "own": decided.get(season.pk, 0), "shared": decided.get(None, 0)}


@organisers.page()
def pairs(request: HttpRequest, season: Season) -> Answer:
    """What the season's runs, or one of them, wait to have decided: passages and claims, word for word."""
    waiting = _waiting(season)
    model, run = request.GET.get("model"), request.GET.get("run")
    if model:
        # No name holds a NUL, and no database takes one.
        waiting = waiting.none() if "\0" in model else waiting.filter(model__name=model)
    if run:
        is_number = run.isdecimal() and len(run) < MAX_NUMBER
        waiting = waiting.filter(job__submission=int(run)) if is_number else waiting.none()
    open_ones = open_pairs(list(waiting), is_next_only="next" in request.GET)
    lines = (f"{json.dumps(pair, ensure_ascii=False)}\n" for pair in open_ones)
    return _lines_file(lines, f"{season.slug}-pairs.jsonl")


@organisers.page()
def entailment_labels(request: HttpRequest, season: Season) -> Answer:
    """The labels of a model that decide the season's runs, its own and shared ones, by digests alone."""
    name = request.GET.get("model", "")
    is_asked_for = name in models_of_season(season)
    deciding = list(EntailmentModel.objects.deciding(name, season)) if is_asked_for else []
    if not deciding:
        raise Http404(NO_LABELS)
    return _lines_file(label_lines(deciding), "labels.jsonl")


def _lines_file(lines: Iterable[str], name: str) -> StreamingHttpResponse:
    response = StreamingHttpResponse(lines, content_type="application/x-ndjson; charset=utf-8")
    response["Content-Disposition"] = content_disposition_header(as_attachment=True, filename=name)
    return private(response)


@organisers.act("organise-models season")
def share(request: SignedInRequest, season: Season) -> Answer:
    name = request.POST.get("model", "")
    if not request.user.is_staff or name not in models_of_season(season):
        raise Http404(NO_LABELS)
    try:
        return _describe_import(share_labels(season=season, model=name, by=request.user))
    except EntailmentModel.DoesNotExist:
        raise Http404(NO_LABELS) from None


def _describe_import(done: Imported) -> str:
    if done.model.season_id:
        added, beside = (
            _("%(labels)s of %(model)s added."),
            _("%(labels)s of %(model)s added, %(others)s were there."),
        )
    else:
        added = _("%(labels)s of %(model)s added for all seasons.")
        beside = _("%(labels)s of %(model)s added for all seasons, %(others)s were there.")
    others = ngettext("%(number)s other", "%(number)s others", done.known) % {"number": thousands(done.known)}
    told = [
        (beside if done.known else added)
        % {"labels": counted(done.added, "label"), "model": done.model, "others": others}
    ]
    if done.resumed:
        told.append(_("%(scorings)s gone on with.") % {"scorings": counted(done.resumed, "scoring")})
    return " ".join(told)
