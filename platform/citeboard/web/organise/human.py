"""Organisers' pages on human evaluation.

Before the publication of a sheet, the pages show neither the systems behind the texts
nor the results.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _, gettext_lazy

from citeboard.acts import human
from citeboard.acts.judgements import (
    IMPORT_JUDGEMENTS,
    PUBLISH_JUDGEMENTS,
    TAKE_JUDGEMENTS_BACK,
)
from citeboard.acts.sheets import (
    MAKE_SHEET,
    PUBLISH_SHEET,
    REOPEN_SHEET,
    TAKE_SHEET_BACK,
    SheetForm,
)
from citeboard.background.kinds import jobs_of, run_to_judge
from citeboard.core.words import as_sentence
from citeboard.teams.models import User
from citeboard.web import pages
from scoring.human import claim_review, outcome, ratings
from scoring.human.outcome import AnnotatorAgreement, mean_ratings_by_class
from scoring.human.sheets import (
    AnnotatorRefused,
    has_reference_texts,
    phases_with_human_evaluation,
)
from scoring.models import RATING_CRITERIA, JudgedRun, Sheet
from scoring.results.board.formatting import (
    dimension_label,
    interval,
    score_with_interval,
    shown,
)
from scoring.results.board.human_columns import RATING_SCALE
from scoring.stats.people_and_labels import PRECISION, RATINGS, RECALL
from scoring.worker import background, local_copies
from tasks.models import Phase, Season, Submission
from tasks.submissions.uploads import UploadTooLarge


@pages.organisers.page("organise/human.html", "human")
def sheets(request: pages.SignedInRequest, season: Season) -> pages.Answer:
    return _sheets_context(season, request.user)


def _sheets_context(
    season: Season, viewer: User, bound: SheetForm | None = None
) -> dict[str, Any]:
    phases = Phase.objects.filter(task__season=season).select_related("task__season")
    lines = [
        {
            "phase": phase,
            "form": bound
            if bound and bound.of == phase
            else SheetForm(of=phase, by=viewer),
            "sheets": Sheet.objects.ratings()
            .filter(phase=phase)
            .annotate(raters=Count("annotators", distinct=True)),
        }
        for phase in phases_with_human_evaluation(list(phases))
    ]
    return {"phases": lines, "jobs": jobs_of(season, background.Kind.SHEET)}


@pages.organisers.act("organise-human season", fields=None)
def make(request: pages.SignedInRequest, season: Season, phase: Phase) -> pages.Answer:
    form = SheetForm(request.POST, of=phase, by=request.user)
    pages.require_known_fields(request, form)
    with pages.add_refusals_to_form(form, None):
        if form.is_valid():
            return pages.redirect_to_job(
                request,
                phase,
                MAKE_SHEET(phase, request.user, **form.cleaned_data),
            )
    context = {
        "season": season,
        "part": "human",
        **_sheets_context(season, request.user, form),
    }
    return render(request, "organise/human.html", context, status=422)


@pages.organisers.page("organise/sheet.html", "human")
def sheet(request: HttpRequest, season: Season, sheet: Sheet) -> pages.Answer:
    return _sheet_context(sheet)


def _sheet_context(sheet: Sheet) -> dict[str, Any]:
    annotators = sheet.annotators.annotate(rated=Count("ratings"))
    has_ratings = any(annotator.rated for annotator in annotators)
    could_show = (
        sheet.is_open and not sheet.has_references and has_reference_texts(sheet)
    )
    return {
        "phase": sheet.phase,
        "texts": ratings.texts_of(sheet).count(),
        "instances": sheet.instances.count(),
        "annotators": annotators,
        "agreement": [
            _agreement_cells(name, found)
            for name, found in outcome.agreement_by_criterion(sheet).items()
        ],
        "criteria": [_(name) for name in RATING_CRITERIA],
        "means": _criterion_means(sheet) if sheet.is_published else [],
        "class_tables": _class_tables(sheet) if sheet.is_published else [],
        "unfinished": []
        if sheet.is_published
        else outcome.unfinished_annotators(sheet),
        "has_ratings": has_ratings,
        "could_show_references": could_show and not has_ratings,
        "in_dispute": len(ratings.all_disputed_texts(sheet)),
        "distance_form": human.DistanceForm(
            initial={"distance": sheet.adjudicated_from}
        ),
        "form": human.AnnotatorForm(),
        "ratings_form": human.RatingsForm(),
    }


def _render_refused_sheet(
    request: HttpRequest, sheet: Sheet, **forms: Any
) -> HttpResponse:
    context = {
        "season": sheet.phase.task.season,
        "part": "human",
        "sheet": sheet,
        **_sheet_context(sheet),
        **forms,
    }
    return render(request, "organise/sheet.html", context, status=422)


@pages.organisers.act("organise-sheet season sheet", fields=None)
def add_annotator(
    request: pages.SignedInRequest, season: Season, sheet: Sheet
) -> pages.Answer:
    form = human.AnnotatorForm(request.POST)
    pages.require_known_fields(request, form)
    with pages.add_refusals_to_form(form, "email"):
        if form.is_valid():
            added = human.ADD_ANNOTATOR(sheet, request.user, **form.cleaned_data)
            return human.ADD_ANNOTATOR.told(sheet, added, {})
    return _render_refused_sheet(request, sheet, form=form)


@pages.organisers.act("organise-sheet season sheet", fields=None)
def adjudication(
    request: pages.SignedInRequest, season: Season, sheet: Sheet
) -> pages.Answer:
    form = human.DistanceForm(request.POST)
    pages.require_known_fields(request, form)
    if not form.is_valid():
        return _render_refused_sheet(request, sheet, distance_form=form)
    human.CHANGE_DISTANCE(sheet, request.user, **form.cleaned_data)
    return human.CHANGE_DISTANCE.told(sheet, None, {})


@pages.organisers.act("organise-sheet season sheet", fields=None)
def bring_ratings(
    request: pages.SignedInRequest, season: Season, sheet: Sheet
) -> pages.Answer:
    form = human.RatingsForm(request.POST, request.FILES)
    pages.require_known_fields(request, form)
    problems: Sequence[Any] = ()
    if form.is_valid():
        try:
            made = human.BRING_RATINGS(sheet, request.user, **form.cleaned_data)
            return human.BRING_RATINGS.told(sheet, made, form.cleaned_data)
        except AnnotatorRefused as refused:
            form.add_error("name", as_sentence(refused))
        except UploadTooLarge as refused:
            form.add_error("file", as_sentence(refused))
        except ratings.RatingsRefused as refused:
            problems = refused.problems
    return _render_refused_sheet(
        request, sheet, ratings_form=form, problems=problems[:200]
    )


remove = pages.build_action_view(human.REMOVE_ANNOTATOR, "organise-sheet season sheet")
references = pages.build_action_view(
    human.SHOW_REFERENCES, "organise-sheet season sheet"
)
publish_sheet = pages.build_action_view(PUBLISH_SHEET, "organise-sheet season sheet")
take_sheet_back = pages.build_action_view(
    TAKE_SHEET_BACK, "organise-sheet season sheet"
)
reopen_sheet = pages.build_action_view(REOPEN_SHEET, "organise-sheet season sheet")


@pages.organisers.form(
    "organise/data_sheet.html", "human", back="organise-sheet season sheet"
)
def data_sheet(
    request: pages.SignedInRequest, season: Season, sheet: Sheet
) -> pages.Answer:
    form = human.DataSheetForm(
        request.POST if request.method == "POST" else None, initial=sheet.data_sheet
    )
    pages.require_known_fields(request, form)
    if form.is_valid():
        human.ANSWER_DATA_SHEET(sheet, request.user, **form.cleaned_data)
        return human.ANSWER_DATA_SHEET.told(sheet, None, {})
    return {"phase": sheet.phase, "form": form}


def _agreement_cells(criterion: str, agreement: AnnotatorAgreement) -> dict[str, Any]:
    return {
        "criterion": _(criterion),
        "mean": score_with_interval(agreement.mean_kappa, agreement.mean_interval, 100),
        "alpha": score_with_interval(agreement.alpha, agreement.alpha_interval, 100),
        "ac1": score_with_interval(agreement.ac1, agreement.ac1_interval, 100),
        "pairs": [
            {**vars(pair), "kappa": score_with_interval(pair.kappa, pair.interval, 100)}
            for pair in agreement.pairs
        ],
        "leniency": [
            {
                **vars(one),
                "value": score_with_interval(one.value, one.interval, RATING_SCALE),
            }
            for one in agreement.leniency
        ],
    }


def _criterion_means(sheet: Sheet) -> list[dict[str, Any]]:
    lines: dict[int, dict[str, Any]] = {}
    for score in sheet.scores.select_related("submission__team").order_by(
        "-value", "submission"
    ):
        line = lines.setdefault(
            score.submission_id, {"run": score.submission, "cells": {}, "merit": 0.0}
        )
        line["merit"] = (
            score.value
            if score.criterion == next(iter(RATING_CRITERIA))
            else line["merit"]
        )
        line["cells"][score.criterion] = _value_with_interval(
            score.value, score.low, score.high
        )
    ordered = sorted(lines.values(), key=lambda line: -line["merit"])
    return [
        {**line, "cells": [line["cells"].get(name) for name in RATING_CRITERIA]}
        for line in ordered
    ]


def _class_tables(sheet: Sheet) -> list[dict[str, Any]]:
    """Return a table of mean ratings for each dimension and criterion of a sheet.

    The function omits a dimension if the sheet contains only a single class of the
    dimension. A dash replaces the mean rating of a run without ratings in a class.
    """
    runs = (
        Submission.objects.filter(sheet_texts__instance__sheet=sheet)
        .distinct()
        .order_by("system", "pk")
    )
    tables = []
    for dimension in sheet.phase.task.task_type.dimensions:
        by_class = list(mean_ratings_by_class(sheet, dimension))
        for criterion in RATING_CRITERIA if by_class else ():
            lines = []
            for label, instances, of_class in by_class:
                found = (of_class[criterion].get(run.pk) for run in runs)
                cells = [
                    _value_with_interval(own.value, *(own.interval or ()))
                    if own
                    else _value_with_interval()
                    for own in found
                ]
                lines.append({"label": label, "instances": instances, "cells": cells})
            heads = {"dimension": dimension_label(dimension), "criterion": _(criterion)}
            tables.append({**heads, "runs": runs, "lines": lines})
    return tables


def _value_with_interval(
    value: float | None = None, low: float | None = None, high: float | None = None
) -> dict[str, str]:
    return {
        "value": shown(value, RATING_SCALE),
        "interval": interval(low, high, RATING_SCALE),
    }


JUDGEMENT_TITLES = {
    RECALL: gettext_lazy("Citation recall, claims"),
    PRECISION: gettext_lazy("Citation precision, marks"),
    "utility": gettext_lazy("Utility, 1 to 5"),
    "citation_utility": gettext_lazy("Utility of citations, 0 or 1"),
}
judged_runs = pages.PageDecorators(
    run_to_judge,
    "pk",
    context=lambda run: {**pages.phase_context(run.phase), "submission": run},
)


def _claims_context(request: HttpRequest, run: Submission) -> dict[str, Any]:
    runs = JudgedRun.objects.select_related("submission__phase__task", "imported_by")
    judged = runs.filter(submission=run).first()
    jobs = jobs_of(run.phase.task.season, background.Kind.JUDGEMENTS, submission=run.pk)
    return {"jobs": jobs, **(_agreement_context(judged) if judged else {})}


judgements = pages.build_form_view(
    IMPORT_JUDGEMENTS,
    "organise/judgements.html",
    at="file",
    shows=_claims_context,
    pages=judged_runs,
    then=pages.redirect_to_job,
)

publish_judgements = pages.build_action_view(
    PUBLISH_JUDGEMENTS, "submission-judgements pk", judged_runs
)
take_judgements_back = pages.build_action_view(
    TAKE_JUDGEMENTS_BACK, "submission-judgements pk", judged_runs
)


def _agreement_context(judged_run: JudgedRun) -> dict[str, Any]:
    try:
        agreements = claim_review.agreement_of_judged_run(judged_run)
    except local_copies.FileRefused as outdated:
        return {"judged": judged_run, "outdated": as_sentence(outdated)}
    decided, rated = [], []
    for kind in (RECALL, PRECISION):
        if (found := agreements[kind])["items"]:
            intervals = found["cohen_intervals"]
            cohen = [
                (name, score_with_interval(kappa, intervals[name]))
                for name, kappa in found["cohen"].items()
            ]
            numbers = {
                "pending": found["pending"],
                "automatic": shown(found["automatic"], 100),
                "cohen": cohen,
                "cohen_mean": score_with_interval(
                    found["cohen_mean"], found["cohen_mean_interval"]
                ),
                "people": score_with_interval(
                    found["people"], found["people_interval"], 100
                ),
            }
            decided.append({**_agreement_table_context(kind, found), **numbers})
    for kind in RATINGS:
        if (found := agreements[kind])["items"]:
            numbers = {
                "people": shown(found["people"], 1),
                "interval": interval(found["low"], found["high"]),
            }
            rated.append({**_agreement_table_context(kind, found), **numbers})
    return {"judged": judged_run, "decided": decided, "rated": rated}


def _agreement_table_context(kind: str, found: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "title": str(JUDGEMENT_TITLES[kind]),
        "items": found["items"],
        "annotators": found["annotators"],
        "fleiss": score_with_interval(found["fleiss"], found["fleiss_interval"]),
        "krippendorff": score_with_interval(
            found["krippendorff"], found["krippendorff_interval"]
        ),
        "ac1": score_with_interval(found["ac1"], found["ac1_interval"]),
    }
