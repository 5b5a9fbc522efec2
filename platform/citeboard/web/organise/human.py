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
    UNPUBLISH_JUDGEMENTS,
)
from citeboard.acts.sheets import (
    CREATE_RATING_SHEET,
    PUBLISH_RATINGS,
    REOPEN_RATING_SHEET,
    UNPUBLISH_RATINGS,
    SheetForm,
)
from citeboard.background.kinds import find_background_jobs, judgeable_run_or_404
from citeboard.core.words import format_as_sentence
from citeboard.teams.models import User
from citeboard.web import pages
from scoring.human import claim_review, outcome, ratings
from scoring.human.outcome import AnnotatorAgreement, iterate_mean_ratings_by_class
from scoring.human.sheets import (
    AnnotatorRefused,
    has_reference_texts,
    list_phases_with_human_evaluation,
)
from scoring.models import RATING_CRITERIA, JudgedRun, Sheet
from scoring.results.board.formatting import (
    display_name_of_dimension,
    format_interval,
    format_score,
    format_score_with_interval,
)
from scoring.results.board.human_columns import RATING_COLUMN_SCALE
from scoring.stats.people_and_labels import (
    LEVELS_BY_RATING,
    PRECISION_LABELS,
    RECALL_LABELS,
)
from scoring.worker import background, local_copies
from tasks.models import Phase, Season, Submission
from tasks.submissions.uploads import UploadTooLarge


@pages.organiser_pages.page("organise/human.html", "human")
def show_rating_sheets(
    request: pages.SignedInRequest, season: Season
) -> pages.ViewResult:
    return _build_rating_sheets_context(season, request.user)


def _build_rating_sheets_context(
    season: Season, viewer: User, bound: SheetForm | None = None
) -> dict[str, Any]:
    phases = Phase.objects.filter(task__season=season).select_related("task__season")
    lines = [
        {
            "phase": phase,
            "form": bound
            if bound and bound.of == phase
            else SheetForm(of=phase, by=viewer),
            "sheets": Sheet.objects.rating_sheets()
            .filter(phase=phase)
            .annotate(raters=Count("annotators", distinct=True)),
        }
        for phase in list_phases_with_human_evaluation(list(phases))
    ]
    return {
        "phases": lines,
        "jobs": find_background_jobs(season, background.BackgroundJobKind.SHEET),
    }


@pages.organiser_pages.act("organise-human season", fields=None)
def create_rating_sheet(
    request: pages.SignedInRequest, season: Season, phase: Phase
) -> pages.ViewResult:
    form = SheetForm(request.POST, of=phase, by=request.user)
    pages.require_known_fields(request, form)
    with pages.add_refusals_to_form(form, None):
        if form.is_valid():
            return pages.redirect_to_job(
                request,
                phase,
                CREATE_RATING_SHEET(phase, request.user, **form.cleaned_data),
            )
    context = {
        "season": season,
        "part": "human",
        **_build_rating_sheets_context(season, request.user, form),
    }
    return render(request, "organise/human.html", context, status=422)


@pages.organiser_pages.page("organise/sheet.html", "human")
def show_rating_sheet(
    request: HttpRequest, season: Season, sheet: Sheet
) -> pages.ViewResult:
    return _build_rating_sheet_context(sheet)


def _build_rating_sheet_context(sheet: Sheet) -> dict[str, Any]:
    annotators = sheet.annotators.annotate(rated=Count("ratings"))
    has_ratings = any(annotator.rated for annotator in annotators)
    could_show = (
        sheet.is_open and not sheet.has_references and has_reference_texts(sheet)
    )
    return {
        "phase": sheet.phase,
        "texts": ratings.load_texts_of_sheet(sheet).count(),
        "instances": sheet.instances.count(),
        "annotators": annotators,
        "agreement": [
            _build_agreement_cells(name, found)
            for name, found in outcome.compute_agreement_by_criterion(sheet).items()
        ],
        "criteria": [_(name) for name in RATING_CRITERIA],
        "means": _build_criterion_means(sheet) if sheet.is_published else [],
        "class_tables": _build_class_mean_tables(sheet) if sheet.is_published else [],
        "unfinished": []
        if sheet.is_published
        else outcome.describe_unfinished_annotators(sheet),
        "has_ratings": has_ratings,
        "could_show_references": could_show and not has_ratings,
        "in_dispute": len(ratings.find_all_disputed_texts(sheet)),
        "distance_form": human.DistanceForm(
            initial={"distance": sheet.adjudicated_from}
        ),
        "form": human.AnnotatorForm(),
        "ratings_form": human.RatingsForm(),
    }


def _render_sheet_with_errors(
    request: HttpRequest, sheet: Sheet, **forms: Any
) -> HttpResponse:
    context = {
        "season": sheet.phase.task.season,
        "part": "human",
        "sheet": sheet,
        **_build_rating_sheet_context(sheet),
        **forms,
    }
    return render(request, "organise/sheet.html", context, status=422)


@pages.organiser_pages.act("organise-sheet season sheet", fields=None)
def add_annotator(
    request: pages.SignedInRequest, season: Season, sheet: Sheet
) -> pages.ViewResult:
    form = human.AnnotatorForm(request.POST)
    pages.require_known_fields(request, form)
    with pages.add_refusals_to_form(form, "email"):
        if form.is_valid():
            added = human.ADD_ANNOTATOR(sheet, request.user, **form.cleaned_data)
            return human.ADD_ANNOTATOR.told(sheet, added, {})
    return _render_sheet_with_errors(request, sheet, form=form)


@pages.organiser_pages.act("organise-sheet season sheet", fields=None)
def change_adjudication_distance(
    request: pages.SignedInRequest, season: Season, sheet: Sheet
) -> pages.ViewResult:
    form = human.DistanceForm(request.POST)
    pages.require_known_fields(request, form)
    if not form.is_valid():
        return _render_sheet_with_errors(request, sheet, distance_form=form)
    human.CHANGE_ADJUDICATION_DISTANCE(sheet, request.user, **form.cleaned_data)
    return human.CHANGE_ADJUDICATION_DISTANCE.told(sheet, None, {})


@pages.organiser_pages.act("organise-sheet season sheet", fields=None)
def bring_ratings(
    request: pages.SignedInRequest, season: Season, sheet: Sheet
) -> pages.ViewResult:
    form = human.RatingsForm(request.POST, request.FILES)
    pages.require_known_fields(request, form)
    problems: Sequence[Any] = ()
    if form.is_valid():
        try:
            made = human.IMPORT_RATINGS(sheet, request.user, **form.cleaned_data)
            return human.IMPORT_RATINGS.told(sheet, made, form.cleaned_data)
        except AnnotatorRefused as refused:
            form.add_error("name", format_as_sentence(refused))
        except UploadTooLarge as refused:
            form.add_error("file", format_as_sentence(refused))
        except ratings.RatingsRefused as refused:
            problems = refused.problems
    return _render_sheet_with_errors(
        request, sheet, ratings_form=form, problems=problems[:200]
    )


remove_annotator = pages.build_action_view(
    human.REMOVE_ANNOTATOR, "organise-sheet season sheet"
)
show_gold_texts_to_annotators = pages.build_action_view(
    human.SHOW_GOLD_TEXTS_TO_ANNOTATORS, "organise-sheet season sheet"
)
publish_sheet = pages.build_action_view(PUBLISH_RATINGS, "organise-sheet season sheet")
take_sheet_back = pages.build_action_view(
    UNPUBLISH_RATINGS, "organise-sheet season sheet"
)
reopen_rating_sheet = pages.build_action_view(
    REOPEN_RATING_SHEET, "organise-sheet season sheet"
)


@pages.organiser_pages.form(
    "organise/data_sheet.html", "human", back="organise-sheet season sheet"
)
def edit_data_sheet(
    request: pages.SignedInRequest, season: Season, sheet: Sheet
) -> pages.ViewResult:
    form = human.DataSheetForm(
        request.POST if request.method == "POST" else None, initial=sheet.data_sheet
    )
    pages.require_known_fields(request, form)
    if form.is_valid():
        human.ANSWER_DATA_SHEET(sheet, request.user, **form.cleaned_data)
        return human.ANSWER_DATA_SHEET.told(sheet, None, {})
    return {"phase": sheet.phase, "form": form}


def _build_agreement_cells(
    criterion: str, agreement: AnnotatorAgreement
) -> dict[str, Any]:
    return {
        "criterion": _(criterion),
        "mean": format_score_with_interval(
            agreement.mean_kappa, agreement.mean_interval, 100
        ),
        "alpha": format_score_with_interval(
            agreement.alpha, agreement.alpha_interval, 100
        ),
        "ac1": format_score_with_interval(agreement.ac1, agreement.ac1_interval, 100),
        "pairs": [
            {
                **vars(pair),
                "kappa": format_score_with_interval(pair.kappa, pair.interval, 100),
            }
            for pair in agreement.pairs
        ],
        "leniency": [
            {
                **vars(one),
                "value": format_score_with_interval(
                    one.value, one.interval, RATING_COLUMN_SCALE
                ),
            }
            for one in agreement.leniency
        ],
    }


def _build_criterion_means(sheet: Sheet) -> list[dict[str, Any]]:
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
        line["cells"][score.criterion] = _format_value_with_interval(
            score.value, score.low, score.high
        )
    ordered = sorted(lines.values(), key=lambda line: -line["merit"])
    return [
        {**line, "cells": [line["cells"].get(name) for name in RATING_CRITERIA]}
        for line in ordered
    ]


def _build_class_mean_tables(sheet: Sheet) -> list[dict[str, Any]]:
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
        by_class = list(iterate_mean_ratings_by_class(sheet, dimension))
        for criterion in RATING_CRITERIA if by_class else ():
            lines = []
            for label, instances, of_class in by_class:
                found = (of_class[criterion].get(run.pk) for run in runs)
                cells = [
                    _format_value_with_interval(own.value, *(own.interval or ()))
                    if own
                    else _format_value_with_interval()
                    for own in found
                ]
                lines.append({"label": label, "instances": instances, "cells": cells})
            heads = {
                "dimension": display_name_of_dimension(dimension),
                "criterion": _(criterion),
            }
            tables.append({**heads, "runs": runs, "lines": lines})
    return tables


def _format_value_with_interval(
    value: float | None = None, low: float | None = None, high: float | None = None
) -> dict[str, str]:
    return {
        "value": format_score(value, RATING_COLUMN_SCALE),
        "interval": format_interval(low, high, RATING_COLUMN_SCALE),
    }


JUDGEMENT_TITLES = {
    RECALL_LABELS: gettext_lazy("Citation recall, claims"),
    PRECISION_LABELS: gettext_lazy("Citation precision, marks"),
    "utility": gettext_lazy("Utility, 1 to 5"),
    "citation_utility": gettext_lazy("Utility of citations, 0 or 1"),
}
judged_run_pages = pages.PageDecorators(
    judgeable_run_or_404,
    "pk",
    context=lambda run: {**pages.build_phase_context(run.phase), "submission": run},
)


def _build_claims_context(request: HttpRequest, run: Submission) -> dict[str, Any]:
    runs = JudgedRun.objects.select_related("submission__phase__task", "imported_by")
    judged = runs.filter(submission=run).first()
    jobs = find_background_jobs(
        run.phase.task.season,
        background.BackgroundJobKind.JUDGEMENTS,
        submission=run.pk,
    )
    return {"jobs": jobs, **(_build_agreement_context(judged) if judged else {})}


import_claim_judgements = pages.build_form_view(
    IMPORT_JUDGEMENTS,
    "organise/judgements.html",
    at="file",
    shows=_build_claims_context,
    pages=judged_run_pages,
    then=pages.redirect_to_job,
)

publish_claim_judgements = pages.build_action_view(
    PUBLISH_JUDGEMENTS, "submission-judgements pk", judged_run_pages
)
take_judgements_back = pages.build_action_view(
    UNPUBLISH_JUDGEMENTS, "submission-judgements pk", judged_run_pages
)


def _build_agreement_context(judged_run: JudgedRun) -> dict[str, Any]:
    try:
        agreements = claim_review.load_agreement_of_judged_run(judged_run)
    except local_copies.UploadedFileRefused as outdated:
        return {"judged": judged_run, "outdated": format_as_sentence(outdated)}
    decided, rated = [], []
    for kind in (RECALL_LABELS, PRECISION_LABELS):
        if (found := agreements[kind])["items"]:
            intervals = found["cohen_intervals"]
            cohen = [
                (name, format_score_with_interval(kappa, intervals[name]))
                for name, kappa in found["cohen"].items()
            ]
            numbers = {
                "pending": found["pending"],
                "automatic": format_score(found["automatic"], 100),
                "cohen": cohen,
                "cohen_mean": format_score_with_interval(
                    found["cohen_mean"], found["cohen_mean_interval"]
                ),
                "people": format_score_with_interval(
                    found["people"], found["people_interval"], 100
                ),
            }
            decided.append({**_build_agreement_table_context(kind, found), **numbers})
    for kind in LEVELS_BY_RATING:
        if (found := agreements[kind])["items"]:
            numbers = {
                "people": format_score(found["people"], 1),
                "interval": format_interval(found["low"], found["high"]),
            }
            rated.append({**_build_agreement_table_context(kind, found), **numbers})
    return {"judged": judged_run, "decided": decided, "rated": rated}


def _build_agreement_table_context(
    kind: str, found: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "title": str(JUDGEMENT_TITLES[kind]),
        "items": found["items"],
        "annotators": found["annotators"],
        "fleiss": format_score_with_interval(found["fleiss"], found["fleiss_interval"]),
        "krippendorff": format_score_with_interval(
            found["krippendorff"], found["krippendorff_interval"]
        ),
        "ac1": format_score_with_interval(found["ac1"], found["ac1_interval"]),
    }
