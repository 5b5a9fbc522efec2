"""Pages on which a judge compares texts, one pair at a time. Judges can interrupt the
work and continue at any time.
"""

from typing import Any

from django.http import Http404, HttpRequest
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from citeboard.acts.human import pair_judge_or_404
from citeboard.acts.pairs import JUDGE_PAIR, JudgementForm
from citeboard.web.pages import (
    PageDecorators,
    SignedInRequest,
    ViewResult,
    add_refusals_to_form,
    require_known_fields,
)
from scoring.human.pairs import find_pairs_for_judge
from scoring.models import Annotator, Preference, SheetPair


def _build_judging_context(annotator: Annotator) -> dict[str, Any]:
    sheet = annotator.sheet
    return {
        "sheet": sheet,
        "season": sheet.phase.task.season,
        "task": sheet.phase.task,
        "judged": annotator.preferences.count(),
        "pairs": find_pairs_for_judge(annotator).count(),
    }


pair_judge_pages = PageDecorators(
    pair_judge_or_404, "sheet", context=_build_judging_context
)


@pair_judge_pages.form("human/judge.html")
def judge_pair(request: SignedInRequest, annotator: Annotator) -> ViewResult:
    """Show two anonymous texts of an instance and ask the judge which text is better."""
    pair = _find_requested_pair(annotator, request.GET.get("pair", ""))
    preference = Preference.objects.filter(annotator=annotator, pair=pair).first()
    first = {"pair": pair.position, "label": preference.label if preference else None}
    form = JudgementForm(request.POST or None, initial=first)
    require_known_fields(request, form)
    if request.method == "POST" and annotator.sheet.is_open:
        with add_refusals_to_form(form, "label"):
            if form.is_valid():
                JUDGE_PAIR(annotator, request.user, **form.cleaned_data)
                return redirect(_build_next_pair_address(request, annotator, pair))
    before = find_pairs_for_judge(annotator).filter(position__lt=pair.position)
    return {
        "pair": pair,
        "form": form,
        "number": before.count() + 1,
        "before": before.last(),
        "after": _find_next_pair(annotator, pair),
    }


def _find_next_pair(annotator: Annotator, pair: SheetPair) -> SheetPair | None:
    return find_pairs_for_judge(annotator).filter(position__gt=pair.position).first()


def _find_requested_pair(annotator: Annotator, wanted: str) -> SheetPair:
    planned = find_pairs_for_judge(annotator).select_related(
        "instance", "left", "right"
    )
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


def _build_next_pair_address(
    request: HttpRequest, annotator: Annotator, pair: SheetPair
) -> str:
    after = _find_next_pair(annotator, pair)
    return f"{request.path}?pair={after.position}" if after else request.path
