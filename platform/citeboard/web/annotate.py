"""Pages on which an annotator lists sheets and rates texts, one by one or in a file."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db.models import Count
from django.http import Http404, HttpRequest, QueryDict
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from citeboard.acts.human import RATE, OwnRatingsForm, annotator_of
from citeboard.core.words import as_sentence
from citeboard.teams.models import User
from citeboard.web.pages import (
    Answer,
    PageDecorators,
    SignedInRequest,
    download_response,
    require_known_fields,
    signed_in,
)
from scoring.human.pairs import pairs_for_judge
from scoring.human.ratings import (
    GivenRating,
    RatingsRefused,
    rating_form_csv,
    save_ratings,
    texts_to_rate,
)
from scoring.models import (
    HIGHEST,
    LOWEST,
    RATING_CRITERIA,
    Annotator,
    Rating,
    Sheet,
    SheetInstance,
    SheetText,
)

#: Annotators see the texts of an instance as A, B, C, … in random order.
TEXT_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
RATING_SCORES = range(LOWEST, HIGHEST + 1)


@signed_in.page("human/annotations.html")
def own_sheets(request: HttpRequest, user: User) -> Answer:
    """Show the sheets whose texts the user rates."""
    own = Annotator.objects.filter(user=user).select_related(
        "sheet__phase__task__season"
    )
    annotators = own.filter(sheet__kind=Sheet.Kind.RATINGS)
    lines = [
        {
            "annotator": annotator,
            "rated": annotator.rated,
            "texts": texts_to_rate(annotator).count(),
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
            "pairs": pairs_for_judge(judge).count(),
        }
        for judge in judges.annotate(judged=Count("preferences")).order_by(
            "-sheet__created_at"
        )
    ]
    return {"lines": lines, "judged": judged}


def _annotation_context(annotator: Annotator) -> dict[str, Any]:
    sheet = annotator.sheet
    criteria = [
        {
            "name": name,
            "question": sheet.question(name),
            "levels": list(enumerate(sheet.levels(name), start=LOWEST)),
        }
        for name in RATING_CRITERIA
    ]
    return {
        "sheet": sheet,
        "season": sheet.phase.task.season,
        "task": sheet.phase.task,
        "criteria": criteria,
        "rated": annotator.ratings.count(),
        "texts": texts_to_rate(annotator).count(),
        "is_adjudicator": annotator.is_adjudicator,
        "instances": sheet.instances.count(),
    }


annotators = PageDecorators(annotator_of, "sheet", context=_annotation_context)


@annotators.form("human/annotate.html")
def annotate(request: HttpRequest, annotator: Annotator) -> Answer:
    """Show an instance of a sheet, with its sources and its anonymous texts."""
    instance = _instance_to_rate(annotator, request.GET.get("instance", ""))
    texts = list(texts_to_rate(annotator).filter(instance=instance))
    faults: list[str] = []
    if request.method == "POST":
        names = [f"{text.code}-{name}" for text in texts for name in RATING_CRITERIA]
        require_known_fields(request, names=names)
        given, faults = _parse_ratings(request.POST, texts)
        if not faults:
            try:
                save_ratings(annotator=annotator, ratings=given)
            except RatingsRefused as refused:
                messages.error(request, as_sentence(refused))
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
        "items": _texts_with_fields(texts, annotator, request.POST if faults else {}),
        "faults": faults,
        "before": instance.position - 1,
        "after": instance.position + 1,
    }


def _instance_to_rate(annotator: Annotator, wanted: str) -> SheetInstance:
    texts = texts_to_rate(annotator).order_by()
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


def _texts_with_fields(
    texts: Sequence[SheetText], annotator: Annotator, posted: Mapping[str, Any]
) -> list[dict[str, Any]]:
    ratings = {
        rating.text_id: rating for rating in annotator.ratings.filter(text__in=texts)
    }
    return [
        {
            "letter": TEXT_LETTERS[index],
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
) -> tuple[list[GivenRating], list[str]]:
    allowed = {str(score): score for score in RATING_SCORES}
    given, faults = [], []
    for letter, text in zip(TEXT_LETTERS, texts, strict=False):
        values = {
            name: posted.get(f"{text.code}-{name}", "") for name in RATING_CRITERIA
        }
        if not any(values.values()):
            continue
        if all(value in allowed for value in values.values()):
            given.append(
                GivenRating(
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
                    "lowest": LOWEST,
                    "highest": HIGHEST,
                }
            )
    return given, faults


@annotators.page()
def annotate_csv(request: HttpRequest, annotator: Annotator) -> Answer:
    # Spreadsheet programs recognise UTF-8 by the byte order mark at the start.
    content, name = (
        "\ufeff" + rating_form_csv(annotator),
        f"sheet-{annotator.sheet_id}.csv",
    )
    return download_response(content, name, is_private=True)


@annotators.act("annotate sheet", fields=None)
def annotate_upload(request: SignedInRequest, annotator: Annotator) -> Answer:
    form = OwnRatingsForm(request.POST, request.FILES)
    require_known_fields(request, form)
    if not form.is_valid():
        raise ValidationError(list(form.errors["file"]))
    try:
        rated = RATE(annotator, request.user, **form.cleaned_data)
    except RatingsRefused as refused:
        context = {**_annotation_context(annotator), "problems": refused.problems[:200]}
        return render(request, "human/annotate_refused.html", context, status=422)
    return RATE.told(annotator, rated, {})
