"""Pages on which a judge compares texts, one pair at a time. Judges can interrupt the
work and continue at any time.
"""

from typing import Any

from django.http import Http404, HttpRequest
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from citeboard.acts.human import judge_of
from citeboard.acts.pairs import JUDGE, JudgementForm
from citeboard.web.pages import (
    Answer,
    PageDecorators,
    SignedInRequest,
    add_refusals_to_form,
    require_known_fields,
)
from scoring.human.pairs import pairs_for_judge
from scoring.models import Annotator, Preference, SheetPair


def _judging_context(annotator: Annotator) -> dict[str, Any]:
    sheet = annotator.sheet
    return {
        "sheet": sheet,
        "season": sheet.phase.task.season,
        "task": sheet.phase.task,
        "judged": annotator.preferences.count(),
        "pairs": pairs_for_judge(annotator).count(),
    }


judges = PageDecorators(judge_of, "sheet", context=_judging_context)


@judges.form("human/judge.html")
def judge(request: SignedInRequest, annotator: Annotator) -> Answer:
    """Show two anonymous texts of an instance and ask the judge which text is better."""
    pair = _requested_pair(annotator, request.GET.get("pair", ""))
    preference = Preference.objects.filter(annotator=annotator, pair=pair).first()
    first = {"pair": pair.position, "label": preference.label if preference else None}
    form = JudgementForm(request.POST or None, initial=first)
    require_known_fields(request, form)
    if request.method == "POST" and annotator.sheet.is_open:
        with add_refusals_to_form(form, "label"):
            if form.is_valid():
                JUDGE(annotator, request.user, **form.cleaned_data)
                return redirect(_next_pair_url(request, annotator, pair))
    before = pairs_for_judge(annotator).filter(position__lt=pair.position)
    return {
        "pair": pair,
        "form": form,
        "number": before.count() + 1,
        "before": before.last(),
        "after": _next_pair(annotator, pair),
    }


def _next_pair(annotator: Annotator, pair: SheetPair) -> SheetPair | None:
    return pairs_for_judge(annotator).filter(position__gt=pair.position).first()


def _requested_pair(annotator: Annotator, wanted: str) -> SheetPair:
    planned = pairs_for_judge(annotator).select_related("instance", "left", "right")
    named = (
        planned.filter(position=int(wanted[:6])).first() if wanted.isdecimal() else None
    )
    judged = Preference.objects.filter(annotator=annotator, pair__isnull=False)
    pair = (
        named or planned.exclude(pk__in=judged.values("pair")).first() or planned.last()
    )
    if pair is None:
        raise Http404(_("There are no pairs on this sheet."))
    return pair


def _next_pair_url(request: HttpRequest, annotator: Annotator, pair: SheetPair) -> str:
    after = _next_pair(annotator, pair)
    return f"{request.path}?pair={after.position}" if after else request.path
