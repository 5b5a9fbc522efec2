"""Human evaluation as its organisers see it: sheets, who rates them and how far, publishing.

Nothing here says whose texts are how good before a sheet is published, since organisers may rate too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from citeboard.core.words import counted, sentence
from citeboard.teams.models import User
from scoring.background.access import jobs_of
from scoring.background.kinds import ask_for_sheet
from scoring.board.human_columns import SCALE
from scoring.board.names import dimension_label
from scoring.board.numbers import DASH, interval, shown
from scoring.human import outcome
from scoring.human.adjudication import DISTANCES, AdjudicationRefused, all_disputed, change_distance
from scoring.human.agreement import Agreement, Mean
from scoring.human.annotators import AnnotatorRefused, add_name, add_person, remove_annotator
from scoring.human.by_class import means_by_class
from scoring.human.data_sheet import MAX_ANSWER, SECTIONS, save_data_sheet
from scoring.human.ratings import RatingsRefused, read_ratings, save_ratings, texts_of
from scoring.human.references import ReferencesRefused, could_show_references, show_references
from scoring.human.sheets import MAX_INSTANCES, MAX_SYSTEMS, SheetRefused, judged_phases, runs_on_board
from scoring.models import CRITERIA, Sheet
from scoring.worker.background import Kind
from tasks.models import Gold, Phase, Season, Submission
from tasks.seasons.access import season_to_organise
from tasks.submissions.uploads import UploadTooLarge, received

#: What the form begins with where the gold has so many.
INSTANCES_AT_FIRST = 20


class SheetForm(forms.Form):
    """What a sheet is drawn from."""

    instances = forms.IntegerField(
        label=gettext_lazy("Instances"),
        min_value=1,
        max_value=MAX_INSTANCES,
        help_text=gettext_lazy("Drawn by the seed."),
    )
    seed = forms.IntegerField(label=gettext_lazy("Seed"), min_value=0, max_value=2**31 - 1, initial=0)
    runs = forms.TypedMultipleChoiceField(
        label=gettext_lazy("Systems"),
        coerce=int,
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": gettext_lazy("Choose the systems whose texts are judged.")},
    )

    def __init__(self, data: Any = None, *, phase: Phase, by: User) -> None:
        super().__init__(data, label_suffix="", auto_id=f"id_{phase.pk}_%s")
        self.candidates = {run.pk: run for run in runs_on_board(phase, by)}
        choice = self.fields["runs"]
        assert isinstance(choice, forms.TypedMultipleChoiceField)
        choice.choices = [
            (pk, f"{run.system}, {run.team or run.get_kind_display()}") for pk, run in self.candidates.items()
        ]
        choice.initial = list(self.candidates)[:MAX_SYSTEMS]
        gold = Gold.objects.current(phase)
        self.initial["instances"] = min(INSTANCES_AT_FIRST, gold.instances if gold else INSTANCES_AT_FIRST)


class AnnotatorForm(forms.Form):
    """Somebody who rates in the site."""

    email = forms.EmailField(label=gettext_lazy("E-mail address of their account"))
    is_adjudicator = forms.BooleanField(
        label=gettext_lazy("Adjudicates: rates only what the others differ on, and decides it"),
        required=False,
    )


class DistanceForm(forms.Form):
    """From which distance between ratings an adjudicator decides."""

    distance = forms.TypedChoiceField(
        label=gettext_lazy("An adjudicator decides"),
        coerce=int,
        empty_value=None,
        required=False,
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})
        differ = _("where two ratings of a text differ by %(distance)s or more")
        choice = self.fields["distance"]
        assert isinstance(choice, forms.TypedChoiceField)
        choice.choices = [
            ("", _("never: all ratings count alike")),
            *((distance, differ % {"distance": distance}) for distance in DISTANCES),
        ]


class RatingsForm(forms.Form):
    """The ratings of somebody who does not sign in."""

    name = forms.CharField(label=gettext_lazy("Name of the annotator"), max_length=80)
    file = forms.FileField(label=gettext_lazy("Ratings, as CSV"))


@login_required
@require_safe
def sheets(request: HttpRequest, season: str) -> HttpResponse:
    found = season_to_organise(request.user, season)
    return _sheets_page(request, found)


@require_POST
@login_required
def make(request: HttpRequest, season: str, phase: int) -> HttpResponse:
    found = season_to_organise(request.user, season)
    own = get_object_or_404(Phase.objects.select_related("task__season"), pk=phase, task__season=found)
    form = SheetForm(request.POST, phase=own, by=_person(request))
    if form.is_valid():
        runs = [form.candidates[pk] for pk in form.cleaned_data["runs"]]
        try:
            job = ask_for_sheet(
                phase=own,
                runs=runs,
                instances=form.cleaned_data["instances"],
                seed=form.cleaned_data["seed"],
                by=_person(request),
            )
        except SheetRefused as refused:
            form.add_error(None, sentence(refused))
        else:
            return redirect("background-job", job.pk)
    return _sheets_page(request, found, {own.pk: form}, status=422)


@login_required
@require_safe
def sheet(request: HttpRequest, season: str, sheet: int) -> HttpResponse:
    found = season_to_organise(request.user, season)
    return _sheet_page(request, found, _sheet(found, sheet))


@require_POST
@login_required
def add_annotator(request: HttpRequest, season: str, sheet: int) -> HttpResponse:
    found = season_to_organise(request.user, season)
    own = _sheet(found, sheet)
    form = AnnotatorForm(request.POST, label_suffix="")
    if form.is_valid():
        try:
            added = add_person(sheet=own, **form.cleaned_data)
        except AnnotatorRefused as refused:
            form.add_error("email", sentence(refused))
        else:
            messages.success(request, _("%(name)s can rate the sheet.") % {"name": added})
            return redirect("organise-sheet", found.slug, own.pk)
    return _sheet_page(request, found, own, {"form": form}, status=422)


@require_POST
@login_required
def adjudication(request: HttpRequest, season: str, sheet: int) -> HttpResponse:
    """Whether, and from which distance on, an adjudicator decides."""
    found = season_to_organise(request.user, season)
    own = _sheet(found, sheet)
    form = DistanceForm(request.POST)
    if not form.is_valid():
        return _sheet_page(request, found, own, {"distance_form": form}, status=422)
    try:
        change_distance(sheet=own, distance=form.cleaned_data["distance"], by=_person(request))
    except AdjudicationRefused as refused:
        messages.error(request, sentence(refused))
    else:
        messages.success(request, _("Adjudication is as you chose."))
    return redirect("organise-sheet", found.slug, own.pk)


@require_POST
@login_required
def references(request: HttpRequest, season: str, sheet: int) -> HttpResponse:
    """Let annotators judge against the gold texts."""
    found = season_to_organise(request.user, season)
    own = _sheet(found, sheet)
    try:
        show_references(sheet=own, by=_person(request))
    except ReferencesRefused as refused:
        messages.error(request, sentence(refused))
    else:
        messages.success(request, _("Annotators read the gold text of each instance now."))
    return redirect("organise-sheet", found.slug, own.pk)


@require_POST
@login_required
def remove(request: HttpRequest, season: str, sheet: int, annotator: int) -> HttpResponse:
    """Take an annotator off the sheet, with what they rated."""
    found = season_to_organise(request.user, season)
    own = _sheet(found, sheet)
    gone = get_object_or_404(own.annotators, pk=annotator)
    try:
        ratings = remove_annotator(annotator=gone, by=_person(request))
    except AnnotatorRefused as refused:
        messages.error(request, sentence(refused))
    else:
        messages.success(
            request,
            _("%(name)s is off the sheet, with %(ratings)s.")
            % {"name": gone, "ratings": counted(ratings, "rating")},
        )
    return redirect("organise-sheet", found.slug, own.pk)


@require_POST
@login_required
def bring_ratings(request: HttpRequest, season: str, sheet: int) -> HttpResponse:
    """Ratings of somebody who does not sign in, as a file."""
    found = season_to_organise(request.user, season)
    own = _sheet(found, sheet)
    form = RatingsForm(request.POST, request.FILES, label_suffix="")
    problems: Sequence[Any] = ()
    if form.is_valid():
        try:
            with received(form.cleaned_data["file"]) as upload:
                given = read_ratings(upload.path, own, upload.filename, _person(request))
            annotator = add_name(sheet=own, name=form.cleaned_data["name"].strip())
            count = save_ratings(annotator=annotator, given=given)
        except AnnotatorRefused as refused:
            form.add_error("name", sentence(refused))
        except UploadTooLarge as refused:
            form.add_error("file", sentence(refused))
        except RatingsRefused as refused:
            problems = refused.problems
        else:
            messages.success(
                request,
                _("%(texts)s rated by %(name)s.") % {"texts": counted(count, "text"), "name": annotator},
            )
            return redirect("organise-sheet", found.slug, own.pk)
    context = {"ratings_form": form, "problems": problems[:200]}
    return _sheet_page(request, found, own, context, status=422)


@require_POST
@login_required
def settle(request: HttpRequest, season: str, sheet: int, how: str) -> HttpResponse:
    """Publish the sheet, or take it back."""
    found = season_to_organise(request.user, season)
    own = _sheet(found, sheet)
    by = _person(request)
    try:
        if how == "publish":
            outcome.publish(sheet=own, by=by, is_confirmed=request.POST.get("unfinished") == "yes")
        else:
            outcome.take_back(sheet=own, by=by)
    except outcome.NotPublished as refused:
        messages.error(request, sentence(refused))
    else:
        messages.success(
            request,
            _("The human evaluation stands on the board.")
            if how == "publish"
            else _("The human evaluation is off the board and takes ratings again."),
        )
    return redirect("organise-sheet", found.slug, own.pk)


def _sheet(season: Season, pk: int) -> Sheet:
    return get_object_or_404(
        Sheet.objects.select_related("phase__task__season"), pk=pk, phase__task__season=season
    )


def _sheets_page(
    request: HttpRequest,
    season: Season,
    forms_by_phase: dict[int, SheetForm] | None = None,
    status: int = 200,
) -> HttpResponse:
    bound = forms_by_phase or {}
    phases = Phase.objects.filter(task__season=season).select_related("task__season")
    shown_phases = [
        {
            "phase": phase,
            "form": bound.get(phase.pk) or SheetForm(phase=phase, by=_person(request)),
            "sheets": Sheet.objects.filter(phase=phase).annotate(raters=Count("annotators", distinct=True)),
        }
        for phase in judged_phases(list(phases))
    ]
    context = {
        "season": season,
        "part": "human",
        "phases": shown_phases,
        "jobs": jobs_of(season, Kind.SHEET),
    }
    return render(request, "organise/human.html", context, status=status)


def _sheet_page(
    request: HttpRequest, season: Season, own: Sheet, more: dict[str, Any] | None = None, status: int = 200
) -> HttpResponse:
    texts = texts_of(own).count()
    annotators = own.annotators.annotate(rated=Count("ratings"))
    context = {
        "season": season,
        "part": "human",
        "sheet": own,
        "phase": own.phase,
        "texts": texts,
        "instances": own.instances.count(),
        "annotators": annotators,
        "agreement": [_agreement(name, found) for name, found in outcome.agreement(own).items()],
        "criteria": [_(name) for name in CRITERIA],
        "means": [] if own.is_open else _means(own),
        "class_tables": [] if own.is_open else _class_tables(own),
        "unfinished": outcome.unfinished(own) if own.is_open else [],
        "has_ratings": any(annotator.rated for annotator in annotators),
        "could_show_references": own.is_open
        and not own.has_references
        and could_show_references(own)
        and not any(annotator.rated for annotator in annotators),
        "in_dispute": len(all_disputed(own)),
        "distance_form": DistanceForm(initial={"distance": own.adjudicated_from}),
        "form": AnnotatorForm(label_suffix=""),
        "ratings_form": RatingsForm(label_suffix=""),
        **(more or {}),
    }
    return render(request, "organise/sheet.html", context, status=status)


def _agreement(criterion: str, found: Agreement) -> dict[str, Any]:
    return {
        "criterion": _(criterion),
        "mean": _kappa(found.mean_kappa),
        "alpha": _kappa(found.alpha),
        "pairs": [
            {"first": pair.first, "second": pair.second, "texts": pair.texts, "kappa": _kappa(pair.kappa)}
            for pair in found.pairs
        ],
    }


def _kappa(value: float) -> str:
    return DASH if math.isnan(value) else shown(value, 100)


def _means(sheet: Sheet) -> list[dict[str, Any]]:
    """By system what stands on the board, the most readable first."""
    found: dict[int, dict[str, Any]] = {}
    for score in sheet.scores.select_related("submission__team").order_by("-value", "submission"):
        line = found.setdefault(score.submission_id, {"run": score.submission, "cells": {}, "merit": 0.0})
        line["merit"] = score.value if score.criterion == next(iter(CRITERIA)) else line["merit"]
        line["cells"][score.criterion] = {
            "value": shown(score.value, SCALE),
            "interval": interval(score.low, score.high, SCALE),
        }
    lines = sorted(found.values(), key=lambda line: -line["merit"])
    return [{**line, "cells": [line["cells"].get(name) for name in CRITERIA]} for line in lines]


def _class_tables(sheet: Sheet) -> list[dict[str, Any]]:
    """For each dimension of the task with several classes on the sheet, a table for each criterion."""
    runs = list(
        Submission.objects.filter(sheet_texts__instance__sheet=sheet).distinct().order_by("system", "pk")
    )
    return [
        {
            "dimension": dimension_label(dimension),
            "criterion": _(criterion),
            "runs": runs,
            "lines": [
                {
                    "label": own.label,
                    "instances": own.instances,
                    "cells": [_class_cell(own.means[criterion].get(run.pk)) for run in runs],
                }
                for own in found
            ],
        }
        for dimension in sheet.phase.task.task_type.dimensions
        if (found := means_by_class(sheet, dimension))
        for criterion in CRITERIA
    ]


def _class_cell(mean: Mean | None) -> dict[str, str]:
    """A dash where nobody rated a text of the run there."""
    if mean is None:
        return {"value": DASH, "interval": ""}
    low, high = mean.interval or (None, None)
    return {"value": shown(mean.value, SCALE), "interval": interval(low, high, SCALE)}


def _person(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user


class DataSheetForm(forms.Form):
    """Every question of the data sheet; none has to be answered."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})
        for questions in SECTIONS.values():
            for name, question in questions.items():
                self.fields[name] = forms.CharField(
                    label=_(question),
                    required=False,
                    max_length=MAX_ANSWER,
                    widget=forms.Textarea(attrs={"rows": 2}),
                )

    @property
    def sections(self) -> list[tuple[str, list[forms.BoundField]]]:
        return [(_(section), [self[name] for name in questions]) for section, questions in SECTIONS.items()]


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def data_sheet(request: HttpRequest, season: str, sheet: int) -> HttpResponse:
    assert isinstance(request.user, User)
    found = season_to_organise(request.user, season)
    sheets = Sheet.objects.select_related("phase__task__season")
    own = get_object_or_404(sheets, pk=sheet, phase__task__season=found)
    form = DataSheetForm(request.POST if request.method == "POST" else None, initial=own.data_sheet)
    if request.method == "POST" and form.is_valid():
        save_data_sheet(sheet=own, answers=form.cleaned_data, by=request.user)
        messages.success(request, _("The data sheet is saved."))
        return redirect("organise-sheet", found.slug, own.pk)
    context = {"season": found, "part": "human", "sheet": own, "phase": own.phase, "form": form}
    status = 422 if request.method == "POST" else 200
    return render(request, "organise/data_sheet.html", context, status=status)
