"""The questions of a season, those without an answer first, and answering them."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import F
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from citeboard.teams.models import User
from tasks.models import Question
from tasks.seasons.access import season_to_help
from tasks.seasons.questions import LONGEST, answer

QUESTIONS_A_PAGE = 50
PUBLIC, PRIVATE = "public", "private"


class AnswerForm(forms.Form):
    answer = forms.CharField(
        label=gettext_lazy("Answer"), max_length=LONGEST, widget=forms.Textarea(attrs={"rows": 8})
    )
    how = forms.ChoiceField(
        label=gettext_lazy("Who reads it"),
        choices=[
            (PUBLIC, gettext_lazy("everybody, with the question and without the name of who asked")),
            (PRIVATE, gettext_lazy("who asked, alone")),
        ],
    )

    def __init__(self, data: Any = None, *, question: Question) -> None:
        how = PRIVATE if question.answered_at and not question.is_public else PUBLIC
        super().__init__(data, initial={"answer": question.answer, "how": how}, label_suffix="")


@login_required
@require_safe
def questions(request: HttpRequest, season: str) -> HttpResponse:
    found = season_to_help(request.user, season)
    own = Question.objects.filter(season=found).select_related("asked_by", "answered_by")
    ordered = own.order_by(F("answered_at").desc(nulls_first=True), "-asked_at", "-pk")
    page = Paginator(ordered, QUESTIONS_A_PAGE).get_page(request.GET.get("page"))
    context = {"season": found, "part": "questions", "page": page, "open": own.unanswered().count()}
    return render(request, "organise/questions.html", context)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def answer_page(request: HttpRequest, season: str, question: int) -> HttpResponse:
    assert isinstance(request.user, User)
    found = season_to_help(request.user, season)
    own = get_object_or_404(Question.objects.select_related("asked_by", "season"), pk=question, season=found)
    form = AnswerForm(request.POST or None, question=own)
    if request.method == "POST" and form.is_valid():
        chosen = form.cleaned_data
        answer(question=own, text=chosen["answer"], is_public=chosen["how"] == PUBLIC, by=request.user)
        messages.success(request, _("The question is answered."))
        return redirect("organise-questions", found.slug)
    context = {"season": found, "part": "questions", "question": own, "form": form}
    status = 422 if request.method == "POST" else 200
    return render(request, "organise/answer.html", context, status=status)
