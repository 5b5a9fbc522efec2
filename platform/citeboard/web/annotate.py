"""Pages on which an annotator lists sheets and rates texts, one by one or in a file."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db.models import Count
from django.http import Http404, HttpRequest, QueryDict
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from citeboard.acts.human import IMPORT_OWN_RATINGS, OwnRatingsForm, annotator_or_404
from citeboard.core.words import format_as_sentence
from citeboard.teams.models import User
from citeboard.web.pages import (
    PageDecorators,
    SignedInRequest,
    ViewResult,
    build_download_response,
    require_known_fields,
    signed_in_pages,
)
from scoring.human.pairs import find_pairs_for_judge
from scoring.human.ratings import (
    ParsedRating,
    RatingsRefused,
    build_rating_form_csv,
    find_texts_to_rate,
    save_ratings,
)
from scoring.models import (
    HIGHEST_RATING,
    LOWEST_RATING,
    RATING_CRITERIA,
    Annotator,
    Rating,
    Sheet,
    SheetInstance,
    SheetText,
)

#: Annotators see the texts of an instance as A, B, C, … in random order.
ANONYMOUS_TEXT_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
RATING_SCORES = range(LOWEST_RATING, HIGHEST_RATING + 1)


@signed_in_pages.page("human/annotations.html")
def list_sheets_to_rate(request: HttpRequest, user: User) -> ViewResult:
    """Show the sheets whose texts the user rates."""
    own = Annotator.objects.filter(user=user).select_related(
        "sheet__phase__task__season"
    )
    annotators = own.filter(sheet__kind=Sheet.Kind.RATINGS)
    lines = [
        {
            "annotator": annotator,
            "rated": annotator.rated,
            "texts": find_texts_to_rate(annotator).count(),
        }
        for annotator in annotators.annotate(rated=Count("ratings")).order_by(
            "-sheet__created_at"
        )
    ]
    judges = own.filter(sheet__kind=Sheet.Kind.PAIRS)
    judged = [
        {
            "annotator": judge,
            "judged": judge.judged,
            "pairs": find_pairs_for_judge(judge).count(),
        }
        for judge in judges.annotate(judged=Count("preferences")).order_by(
            "-sheet__created_at"
        )
    ]
    return {"lines": lines, "judged": judged}


def _build_annotation_context(annotator: Annotator) -> dict[str, Any]:
    sheet = annotator.sheet
    criteria = [
        {
            "name": name,
            "question": sheet.question(name),
            "levels": list(enumerate(sheet.levels(name), start=LOWEST_RATING)),
        }
        for name in RATING_CRITERIA
    ]
    return {
        "sheet": sheet,
        "season": sheet.phase.task.season,
        "task": sheet.phase.task,
        "criteria": criteria,
        "rated": annotator.ratings.count(),
        "texts": find_texts_to_rate(annotator).count(),
        "is_adjudicator": annotator.is_adjudicator,
        "instances": sheet.instances.count(),
    }


annotator_pages = PageDecorators(
    annotator_or_404, "sheet", context=_build_annotation_context
)


@annotator_pages.form("human/annotate.html")
def rate_sheet_instance(request: HttpRequest, annotator: Annotator) -> ViewResult:
    """Show an instance of a sheet, with its sources and its anonymous texts."""
    instance = _find_instance_to_rate(annotator, request.GET.get("instance", ""))
    texts = list(find_texts_to_rate(annotator).filter(instance=instance))
    faults: list[str] = []
    if request.method == "POST":
        names = [f"{text.code}-{name}" for text in texts for name in RATING_CRITERIA]
        require_known_fields(request, names=names)
        given, faults = _parse_ratings(request.POST, texts)
        if not faults:
            try:
                save_ratings(annotator=annotator, ratings=given)
            except RatingsRefused as refused:
                messages.error(request, format_as_sentence(refused))
            # The page after the last instance shows the first incomplete instance.
            position = instance.position + 1
            is_last = (
                annotator.is_adjudicator or position > annotator.sheet.instances.count()
            )
            return redirect(
                request.path if is_last else f"{request.path}?instance={position}"
            )
    return {
        "instance": instance,
        "items": _build_rating_rows(texts, annotator, request.POST if faults else {}),
        "faults": faults,
        "before": instance.position - 1,
        "after": instance.position + 1,
    }


def _find_instance_to_rate(annotator: Annotator, wanted: str) -> SheetInstance:
    texts = find_texts_to_rate(annotator).order_by()
    instances = annotator.sheet.instances.filter(
        pk__in=texts.values("instance")
    ).order_by("position")
    named = (
        instances.filter(position=int(wanted[:6])).first()
        if wanted.isdecimal()
        else None
    )
    rated = Rating.objects.filter(annotator=annotator).values("text")
    unrated = instances.filter(pk__in=texts.exclude(pk__in=rated).values("instance"))
    instance = named or unrated.first() or instances.last()
    if instance is None:
        raise Http404(
            _(
                "There is nothing to rate: annotators do not differ by so much on any text."
            )
        )
    return instance


def _build_rating_rows(
    texts: Sequence[SheetText], annotator: Annotator, posted: Mapping[str, Any]
) -> list[dict[str, Any]]:
    ratings = {
        rating.text_id: rating for rating in annotator.ratings.filter(text__in=texts)
    }
    return [
        {
            "letter": ANONYMOUS_TEXT_LETTERS[index],
            "code": text.code,
            "text": text.text,
            "fields": [
                {
                    "name": (field := f"{text.code}-{name}"),
                    "criterion": name,
                    "scores": RATING_SCORES,
                    "value": str(
                        posted.get(field)
                        or getattr(ratings.get(text.pk), name, "")
                        or ""
                    ),
                }
                for name in RATING_CRITERIA
            ],
        }
        for index, text in enumerate(texts)
    ]


def _parse_ratings(
    posted: QueryDict, texts: Sequence[SheetText]
) -> tuple[list[ParsedRating], list[str]]:
    allowed = {str(score): score for score in RATING_SCORES}
    given, faults = [], []
    for letter, text in zip(ANONYMOUS_TEXT_LETTERS, texts, strict=False):
        values = {
            name: posted.get(f"{text.code}-{name}", "") for name in RATING_CRITERIA
        }
        if not any(values.values()):
            continue
        if all(value in allowed for value in values.values()):
            given.append(
                ParsedRating(
                    text.code, {name: allowed[value] for name, value in values.items()}
                )
            )
        else:
            missing = [name for name, value in values.items() if value not in allowed]
            message = _(
                "Text %(letter)s has no %(criteria)s from %(lowest)s to %(highest)s."
            )
            criteria = _(" and no ").join(missing)
            faults.append(
                message
                % {
                    "letter": letter,
                    "criteria": criteria,
                    "lowest": LOWEST_RATING,
                    "highest": HIGHEST_RATING,
                }
            )
    return given, faults


@annotator_pages.page()
def download_rating_sheet(request: HttpRequest, annotator: Annotator) -> ViewResult:
    # Spreadsheet programs recognise UTF-8 by the byte order mark at the start.
    content, name = (
        "\ufeff" + build_rating_form_csv(annotator),
        f"sheet-{annotator.sheet_id}.csv",
    )
    return build_download_response(content, name, is_private=True)


@annotator_pages.act("annotate sheet", fields=None)
def upload_ratings(request: SignedInRequest, annotator: Annotator) -> ViewResult:
    form = OwnRatingsForm(request.POST, request.FILES)
    require_known_fields(request, form)
    if not form.is_valid():
        raise ValidationError(list(form.errors["file"]))
    try:
        rated = IMPORT_OWN_RATINGS(annotator, request.user, **form.cleaned_data)
    except RatingsRefused as refused:
        context = {
            **_build_annotation_context(annotator),
            "problems": refused.problems[:200],
        }
        return render(request, "human/annotate_refused.html", context, status=422)
    return IMPORT_OWN_RATINGS.told(annotator, rated, {})
