"""Everything that was announced in a season, newest first."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from citeboard.core.query import whole_number
from citeboard.core.words import sentence
from citeboard.teams.models import User
from tasks.models import Announcement
from tasks.registration.entries import NotTheTerms, accept_terms, acceptance_of, current_terms
from tasks.seasons.access import may_help, season_for
from tasks.seasons.announcements import MAX_TEXT, TooManyQuestions, ask, readable_questions

ANNOUNCEMENTS_A_PAGE = 50


@require_safe
def announcements(request: HttpRequest, season: str) -> HttpResponse:
    found = season_for(request.user, season)
    own = Announcement.objects.filter(season=found).standing().prefetch_related("edits")
    page = Paginator(own, ANNOUNCEMENTS_A_PAGE).get_page(request.GET.get("page"))
    context = {"season": found, "page": page, "may_help": may_help(request.user, found)}
    return render(request, "seasons/announcements.html", context)


QUESTIONS_A_PAGE = 50


class QuestionForm(forms.Form):
    text = forms.CharField(
        label=gettext_lazy("Your question"),
        max_length=MAX_TEXT,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text=gettext_lazy(
            "Organisers read it, with your name. If they answer in public, everybody reads question "
            "and answer, without your name."
        ),
    )


@require_http_methods(["GET", "HEAD", "POST"])
def questions(request: HttpRequest, season: str) -> HttpResponse:
    if request.method == "POST" and not isinstance(request.user, User):
        return redirect_to_login(request.path)
    found = season_for(request.user, season)
    form = QuestionForm(request.POST or None, label_suffix="")
    if request.method == "POST" and form.is_valid():
        assert isinstance(request.user, User)
        try:
            ask(season=found, text=form.cleaned_data["text"], by=request.user)
        except TooManyQuestions as refused:
            form.add_error("text", sentence(refused))
        else:
            messages.success(request, _("The organisers have your question. You are told when they answer."))
            return redirect("questions", found.slug)
    own = readable_questions(found, request.user)
    context = {
        "season": found,
        "form": form,
        "page": Paginator(own, QUESTIONS_A_PAGE).get_page(request.GET.get("page")),
        "may_help": may_help(request.user, found),
    }
    return render(request, "seasons/questions.html", context, status=422 if request.method == "POST" else 200)


@require_http_methods(["GET", "HEAD", "POST"])
def terms(request: HttpRequest, season: str) -> HttpResponse:
    if request.method == "POST" and not isinstance(request.user, User):
        return redirect_to_login(request.path)
    found = season_for(request.user, season)
    if request.method == "POST":
        assert isinstance(request.user, User)
        try:
            accept_terms(
                season=found, number=whole_number(request.POST.get("version", "")) or 0, user=request.user
            )
        except NotTheTerms as refused:
            messages.error(request, sentence(refused))
            return redirect("terms", found.slug)
        messages.success(request, _("You have accepted the terms of %(season)s.") % {"season": found})
        return redirect("season", found.slug)
    current = current_terms(found)
    acceptance = acceptance_of(current, request.user) if current else None
    context = {"season": found, "terms": current, "acceptance": acceptance}
    return render(request, "seasons/terms.html", context)
