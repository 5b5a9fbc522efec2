"""An annotator's pages: their sheets, and rating the texts of one, instance by instance or as a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.db.models import Count, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from citeboard.core.words import counted, sentence
from scoring.human.adjudication import texts_for
from scoring.human.annotators import has_own_texts
from scoring.human.ratings import Given, RatingsRefused, read_ratings, save_ratings, sheet_csv
from scoring.models import CRITERIA, HIGHEST, LOWEST, Annotator, Rating, SheetInstance, SheetText
from tasks.submissions.uploads import UploadTooLarge, received

#: How the texts of an instance are called, in their shuffled order.
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
SCORES = range(LOWEST, HIGHEST + 1)


@login_required
@require_safe
def own_sheets(request: HttpRequest) -> HttpResponse:
    """The sheets that the viewer rates."""
    own = Annotator.objects.filter(user=request.user.pk).select_related("sheet__phase__task__season")
    lines = [
        {"annotator": annotator, "rated": annotator.rated, "texts": texts_for(annotator).count()}
        for annotator in own.annotate(rated=Count("ratings")).order_by("-sheet__created_at")
    ]
    return render(request, "human/annotations.html", {"lines": lines})


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def annotate(request: HttpRequest, sheet: int) -> HttpResponse:
    """One instance: what its texts were written from, and the texts, which do not say whose they are."""
    annotator = _annotator(request, sheet)
    instance = _instance(annotator, request.GET.get("instance", ""))
    texts = list(texts_for(annotator).filter(instance=instance))
    faults: list[str] = []
    if request.method == "POST":
        given, faults = _given(request.POST, texts)
        if not faults:
            try:
                save_ratings(annotator=annotator, given=given)
            except RatingsRefused as refused:
                messages.error(request, sentence(refused))
            return redirect(_address(annotator, instance.position + 1))
    context = {
        **_about(annotator),
        "instance": instance,
        "items": _items(texts, annotator, request.POST if faults else {}),
        "faults": faults,
        "before": instance.position - 1,
        "after": instance.position + 1,
    }
    return render(request, "human/annotate.html", context, status=422 if faults else 200)


@login_required
@require_safe
def annotate_csv(request: HttpRequest, sheet: int) -> HttpResponse:
    annotator = _annotator(request, sheet)
    # The mark tells table programs that the file is UTF-8.
    response = HttpResponse("\ufeff" + sheet_csv(annotator), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="sheet-{sheet}.csv"'
    response["Cache-Control"] = "private, no-store"
    return response


@require_POST
@login_required
def annotate_upload(request: HttpRequest, sheet: int) -> HttpResponse:
    annotator = _annotator(request, sheet)
    file = request.FILES.get("file")
    if file is None:
        messages.error(request, _("Choose the file that holds your ratings."))
        return redirect(_address(annotator))
    try:
        with received(file) as upload:
            by = annotator.user
            assert by is not None
            given = read_ratings(upload.path, annotator.sheet, upload.filename, by)
        count = save_ratings(annotator=annotator, given=given)
    except UploadTooLarge as refused:
        messages.error(request, sentence(refused))
        return redirect(_address(annotator))
    except RatingsRefused as refused:
        context = {**_about(annotator), "problems": refused.problems[:200]}
        return render(request, "human/annotate_refused.html", context, status=422)
    messages.success(request, _("%(texts)s rated.") % {"texts": counted(count, "text")})
    return redirect(_address(annotator))


def _annotator(request: HttpRequest, sheet: int) -> Annotator:
    """The viewer as an annotator of the sheet. Raises Http404: to everybody else it is not there.

    Raises PermissionDenied for who has joined a team of the sheet since.
    """
    own = Annotator.objects.select_related("sheet__phase__task__season", "user")
    found = own.filter(sheet__pk=sheet, user=request.user.pk).first()
    if found is None:
        raise Http404(_("There is no sheet for you to rate at this address."))
    if found.user is not None and has_own_texts(found.sheet, found.user):
        raise PermissionDenied(_("You have joined a team whose texts are on this sheet, and cannot rate it."))
    return found


def _instance(annotator: Annotator, wanted: str) -> SheetInstance:
    """The one that is asked for, or else the first that is not rated whole, or else the last."""
    own = texts_for(annotator).order_by().values("instance")
    instances = annotator.sheet.instances.filter(pk__in=own).order_by("position")
    named = instances.filter(position=int(wanted[:6])).first() if wanted.isdecimal() else None
    found = named or _unrated(annotator, instances).first() or instances.last()
    if found is None:
        raise Http404(_("There is nothing to rate: annotators do not differ by so much on any text."))
    return found


def _unrated(annotator: Annotator, instances: QuerySet[SheetInstance]) -> QuerySet[SheetInstance]:
    rated = Rating.objects.filter(annotator=annotator).values("text")
    return instances.filter(pk__in=texts_for(annotator).order_by().exclude(pk__in=rated).values("instance"))


def _about(annotator: Annotator) -> dict[str, Any]:
    phase = annotator.sheet.phase
    return {
        "sheet": annotator.sheet,
        "season": phase.task.season,
        "task": phase.task,
        "criteria": [
            {
                "name": name,
                "question": annotator.sheet.question(name),
                "levels": list(enumerate(annotator.sheet.levels(name), start=LOWEST)),
            }
            for name in CRITERIA
        ],
        "rated": annotator.ratings.count(),
        "texts": texts_for(annotator).count(),
        "is_adjudicator": annotator.is_adjudicator,
        "instances": annotator.sheet.instances.count(),
    }


def _items(
    texts: Sequence[SheetText], annotator: Annotator, posted: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Each text with its fields, filled in as they were posted or else as they are kept."""
    ratings = {rating.text_id: rating for rating in annotator.ratings.filter(text__in=texts)}
    return [
        {
            "letter": LETTERS[place],
            "code": text.code,
            "text": text.text,
            "fields": [
                {
                    "name": f"{text.code}-{name}",
                    "criterion": name,
                    "scores": SCORES,
                    "value": str(
                        posted.get(f"{text.code}-{name}") or getattr(ratings.get(text.pk), name, "") or ""
                    ),
                }
                for name in CRITERIA
            ],
        }
        for place, text in enumerate(texts)
    ]


def _given(posted: QueryDict, texts: Sequence[SheetText]) -> tuple[list[Given], list[str]]:
    """The ratings that were posted, and what is wrong; a text without any is left for later."""
    allowed = {str(score): score for score in SCORES}
    given, faults = [], []
    for letter, text in zip(LETTERS, texts, strict=False):
        values = {name: posted.get(f"{text.code}-{name}", "") for name in CRITERIA}
        if not any(values.values()):
            continue
        if all(value in allowed for value in values.values()):
            given.append(Given(text.code, {name: allowed[value] for name, value in values.items()}))
        else:
            missing = [name for name, value in values.items() if value not in allowed]
            words = _("Text %(letter)s has no %(criteria)s from %(lowest)s to %(highest)s.")
            criteria = _(" and no ").join(missing)
            faults.append(
                words % {"letter": letter, "criteria": criteria, "lowest": LOWEST, "highest": HIGHEST}
            )
    return given, faults


def _address(annotator: Annotator, position: int | None = None) -> str:
    """The next instance; behind the last, the first that is not rated whole."""
    where = reverse("annotate", args=[annotator.sheet_id])
    if annotator.is_adjudicator:
        return where
    last = annotator.sheet.instances.count()
    return f"{where}?instance={position}" if position is not None and position <= last else where
