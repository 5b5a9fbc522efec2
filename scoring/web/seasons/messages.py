"""What a season tells its readers and asks of them: announcements, questions and answers, terms."""

from functools import wraps

from django import forms
from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from citeboard.core.query import whole_number
from citeboard.core.words import sentence
from citeboard.teams.models import User
from scoring.web.pages import Answer, View, leaf, refusals_at, season_readers
from tasks.models import Announcement, Season
from tasks.registration.entries import NotTheTerms, accept_terms, acceptance_of, current_terms
from tasks.seasons.access import may_help
from tasks.seasons.announcements import MAX_TEXT, ask, readable_questions


@season_readers.page("seasons/announcements.html")
def announcements(request: HttpRequest, season: Season) -> Answer:
    standing = Announcement.objects.filter(season=season).standing().prefetch_related("edits")
    return {"page": leaf(request, standing), "may_help": may_help(request.user, season)}


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


def signed_in_to_post(view: View) -> View:
    """Everybody may read the page; who would post to it and is not signed in is led to do so first."""

    @wraps(view)
    def answer(request: HttpRequest, **address: str) -> HttpResponseBase:
        if request.method == "POST" and not request.user.is_authenticated:
            return redirect_to_login(request.path)
        return view(request, **address)

    return answer


@signed_in_to_post
@season_readers.form("seasons/questions.html")
def questions(request: HttpRequest, season: Season) -> Answer:
    """Everybody reads those that were answered in public, who is signed in asks."""
    form = QuestionForm(request.POST or None, label_suffix="")
    with refusals_at(form, "text"):
        if form.is_valid() and isinstance(request.user, User):
            ask(season=season, text=form.cleaned_data["text"], by=request.user)
            return _("The organisers have your question. You are told when they answer.")
    page = leaf(request, readable_questions(season, request.user))
    return {"form": form, "page": page, "may_help": may_help(request.user, season)}


@signed_in_to_post
@season_readers.form("seasons/terms.html")
def terms(request: HttpRequest, season: Season) -> Answer:
    """Read by everybody who may see the season, accepted by who is signed in."""
    if request.method == "POST":
        assert isinstance(request.user, User)
        number = whole_number(request.POST.get("version", "")) or 0
        try:
            accept_terms(season=season, number=number, user=request.user)
        except NotTheTerms as refused:
            messages.error(request, sentence(refused))
            return redirect("terms", season.slug)
        messages.success(request, _("You have accepted the terms of %(season)s.") % {"season": season})
        return redirect("season", season.slug)
    current = current_terms(season)
    acceptance = acceptance_of(current, request.user) if current else None
    return {"terms": current, "acceptance": acceptance}
