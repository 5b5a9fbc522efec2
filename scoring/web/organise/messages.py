"""Saying something on top of the season's page, editing it, taking it back."""

from __future__ import annotations

import csv
import io
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import Count, F
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from citeboard.core.plain_text import plain
from citeboard.core.words import sentence
from citeboard.teams.models import User
from scoring.web.organise.forms import AnnouncementForm
from tasks.models import Announcement, Delivery, Question, Season, Terms, Webhook
from tasks.registration.entries import MAX_LENGTH, acceptances, publish_terms
from tasks.seasons.access import season_to_help, season_to_organise
from tasks.seasons.announcements import MAX_TEXT, announce, answer, edit_announcement, take_back_announcement
from tasks.webhooks.posting import AddressRefused
from tasks.webhooks.services import (
    WebhookRefused,
    make_webhook,
    remove_webhook,
    renew_secret,
    repeat_delivery,
    secret_of,
)

SHOWN = 50


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def announcement(request: HttpRequest, season: str) -> HttpResponse:
    assert isinstance(request.user, User)
    found = season_to_help(request.user, season)
    form = AnnouncementForm(request.POST or None, initial={"text": found.announcement}, label_suffix="")
    if request.method == "POST" and form.is_valid():
        changed = announce(season=found, text=form.cleaned_data["text"], by=request.user)
        messages.success(
            request,
            _("The announcement stands on the season's page now.")
            if changed.announcement
            else _("The announcement is taken away."),
        )
        return redirect("organise-announcement", found.slug)
    earlier = Announcement.objects.filter(season=found).select_related("announced_by")[:SHOWN]
    context = {"season": found, "part": "announcement", "form": form, "announcements": earlier}
    return render(request, "organise/announcement.html", context, status=422 if form.errors else 200)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest, season: str, announcement: int) -> HttpResponse:
    """Change what an announcement says; readers see what it said before."""
    assert isinstance(request.user, User)
    found = season_to_help(request.user, season)
    own = get_object_or_404(Announcement.objects.standing(), pk=announcement, season=found)
    form = AnnouncementForm(request.POST or None, initial={"text": own.text}, label_suffix="")
    form.fields["text"].required = True
    if request.method == "POST" and form.is_valid():
        edit_announcement(announcement=own, text=form.cleaned_data["text"], by=request.user)
        messages.success(request, _("The announcement is edited; what it said before can be read too."))
        return redirect("organise-announcement", found.slug)
    context = {"season": found, "part": "announcement", "form": form, "announcement": own}
    status = 422 if request.method == "POST" else 200
    return render(request, "organise/announcement_edit.html", context, status=status)


@require_POST
@login_required
def revoke(request: HttpRequest, season: str, announcement: int) -> HttpResponse:
    assert isinstance(request.user, User)
    found = season_to_help(request.user, season)
    own = get_object_or_404(Announcement, pk=announcement, season=found)
    take_back_announcement(announcement=own, by=request.user)
    messages.success(request, _("The announcement is taken back."))
    return redirect("organise-announcement", found.slug)


QUESTIONS_A_PAGE = 50
PUBLIC, PRIVATE = "public", "private"


class AnswerForm(forms.Form):
    answer = forms.CharField(
        label=gettext_lazy("Answer"), max_length=MAX_TEXT, widget=forms.Textarea(attrs={"rows": 8})
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


class TermsForm(forms.Form):
    """The text of the next version."""

    text = forms.CharField(
        label=gettext_lazy("Terms"),
        max_length=MAX_LENGTH,
        widget=forms.Textarea(attrs={"rows": 16}),
        help_text=gettext_lazy(
            "Markdown. Another text is a new version, to be accepted before data are given out again."
        ),
        error_messages={"required": gettext_lazy("Write the terms.")},
    )


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def terms(request: HttpRequest, season: str) -> HttpResponse:
    assert isinstance(request.user, User)
    found = season_to_organise(request.user, season)
    versions = Terms.objects.filter(season=found).annotate(accepted=Count("acceptances"))
    current = versions.first()
    initial = {"text": current.text if current else ""}
    form = TermsForm(request.POST or None, initial=initial, label_suffix="")
    if request.method == "POST" and form.is_valid():
        published = publish_terms(season=found, text=form.cleaned_data["text"], by=request.user)
        messages.success(
            request, _("Version %(number)s of the terms holds now.") % {"number": published.number}
        )
        return redirect("organise-terms", found.slug)
    context = {"season": found, "part": "terms", "versions": versions, "form": form}
    status = 422 if request.method == "POST" else 200
    return render(request, "organise/terms.html", context, status=status)


@login_required
@require_safe
def acceptances_csv(request: HttpRequest, season: str) -> HttpResponse:
    """Who accepted which version, and when."""
    found = season_to_organise(request.user, season)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(["version", "name", "address", "accepted_at"])
    for row in acceptances(found):
        address = row.user.email if row.user else ""
        writer.writerow([row.terms.number, plain(row.name), plain(address), row.accepted_at.isoformat()])
    response = HttpResponse(out.getvalue(), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{found.slug}-terms.csv"'
    response["Cache-Control"] = "private, no-store"
    return response


DELIVERIES_A_PAGE = 50


class WebhookForm(forms.Form):
    url = forms.CharField(
        label=gettext_lazy("Address"),
        max_length=400,
        help_text=gettext_lazy("It begins with https:// and is posted to at each event."),
    )


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def webhooks(request: HttpRequest, season: str) -> HttpResponse:
    """A new one's secret is shown here, once."""
    found = season_to_organise(request.user, season)
    form = WebhookForm(request.POST or None, label_suffix="")
    if request.method == "POST" and form.is_valid():
        try:
            made = make_webhook(season=found, url=form.cleaned_data["url"], by=_person(request))
        except (AddressRefused, WebhookRefused) as refused:
            form.add_error("url", sentence(refused))
        else:
            return _page(request, found, WebhookForm(label_suffix=""), secret=secret_of(made))
    return _page(request, found, form, status=422 if request.method == "POST" else 200)


@require_POST
@login_required
@never_cache
def renew(request: HttpRequest, season: str, webhook: int) -> HttpResponse:
    found, own = _own(request, season, webhook)
    renewed = renew_secret(webhook=own, by=_person(request))
    return _page(request, found, WebhookForm(label_suffix=""), secret=secret_of(renewed))


@require_POST
@login_required
def remove(request: HttpRequest, season: str, webhook: int) -> HttpResponse:
    found, own = _own(request, season, webhook)
    remove_webhook(webhook=own, by=_person(request))
    messages.success(request, _("The webhook is removed, and its deliveries with it."))
    return redirect("organise-webhooks", found.slug)


@login_required
@require_safe
def deliveries(request: HttpRequest, season: str, webhook: int) -> HttpResponse:
    found, own = _own(request, season, webhook)
    page = Paginator(own.deliveries.all(), DELIVERIES_A_PAGE).get_page(request.GET.get("page"))
    context = {"season": found, "part": "webhooks", "webhook": own, "page": page}
    return render(request, "organise/deliveries.html", context)


@require_POST
@login_required
def repeat(request: HttpRequest, season: str, delivery: int) -> HttpResponse:
    found = season_to_organise(request.user, season)
    own = get_object_or_404(
        Delivery.objects.select_related("webhook__season"), pk=delivery, webhook__season=found
    )
    repeat_delivery(delivery=own, by=_person(request))
    messages.success(request, _("It is posted again within seconds."))
    return redirect("organise-deliveries", found.slug, own.webhook_id)


def _own(request: HttpRequest, season: str, webhook: int) -> tuple[Season, Webhook]:
    found = season_to_organise(request.user, season)
    return found, get_object_or_404(Webhook.objects.select_related("season"), pk=webhook, season=found)


def _page(
    request: HttpRequest, season: Season, form: WebhookForm, *, secret: str = "", status: int = 200
) -> HttpResponse:
    own = Webhook.objects.filter(season=season)
    context = {"season": season, "part": "webhooks", "form": form, "webhooks": own, "secret": secret}
    return render(request, "organise/webhooks.html", context, status=status)


def _person(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user
