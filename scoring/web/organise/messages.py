"""What organisers tell and ask of others: announcements, answers to questions, terms, webhooks."""

import csv
import io
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import Count, F
from django.http import HttpRequest
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache

from citeboard.core.plain_text import plain
from scoring.web.pages import Answer, SignedInRequest, attachment, helpers, leaf, organisers, refusals_at
from tasks.models import Announcement, Delivery, Question, Season, Terms, Webhook
from tasks.registration.entries import MAX_LENGTH, acceptances, publish_terms
from tasks.seasons.announcements import MAX_TEXT, announce, answer, edit_announcement, take_back_announcement
from tasks.webhooks.services import make_webhook, remove_webhook, renew_secret, repeat_delivery, secret_of

MAX_ANNOUNCEMENTS = 50
PUBLIC, PRIVATE = "public", "private"


class AnnouncementForm(forms.Form):
    text = forms.CharField(
        label=gettext_lazy("Announcement"),
        required=False,
        max_length=MAX_TEXT,
        widget=forms.Textarea(attrs={"rows": 8}),
        help_text=gettext_lazy("Markdown. Leave it empty to take the announcement away."),
    )


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


class TermsForm(forms.Form):
    text = forms.CharField(
        label=gettext_lazy("Terms"),
        max_length=MAX_LENGTH,
        widget=forms.Textarea(attrs={"rows": 16}),
        help_text=gettext_lazy(
            "Markdown. Another text is a new version, to be accepted before data are given out again."
        ),
        error_messages={"required": gettext_lazy("Write the terms.")},
    )


class WebhookForm(forms.Form):
    url = forms.CharField(
        label=gettext_lazy("Address"),
        max_length=400,
        help_text=gettext_lazy("It begins with https:// and is posted to at each event."),
    )


@helpers.form("organise/announcement.html", "announcement")
def announcement(request: SignedInRequest, season: Season) -> Answer:
    form = AnnouncementForm(request.POST or None, initial={"text": season.announcement}, label_suffix="")
    if form.is_valid():
        changed = announce(season=season, text=form.cleaned_data["text"], by=request.user)
        if changed.announcement:
            return _("The announcement stands on the season's page now.")
        return _("The announcement is taken away.")
    earlier = Announcement.objects.filter(season=season).select_related("announced_by")
    return {"form": form, "announcements": earlier[:MAX_ANNOUNCEMENTS]}


@helpers.form("organise/announcement_edit.html", "announcement", back="organise-announcement season")
def edit(request: SignedInRequest, season: Season, announcement: int) -> Answer:
    """Change what an announcement says; readers see what it said before."""
    standing = get_object_or_404(Announcement.objects.standing(), pk=announcement, season=season)
    form = AnnouncementForm(request.POST or None, initial={"text": standing.text}, label_suffix="")
    form.fields["text"].required = True
    if form.is_valid():
        edit_announcement(announcement=standing, text=form.cleaned_data["text"], by=request.user)
        return _("The announcement is edited; what it said before can be read too.")
    return {"form": form, "announcement": standing}


@helpers.act("organise-announcement season")
def revoke(request: SignedInRequest, season: Season, announcement: int) -> Answer:
    revoked = get_object_or_404(Announcement, pk=announcement, season=season)
    take_back_announcement(announcement=revoked, by=request.user)
    return _("The announcement is taken back.")


@helpers.page("organise/questions.html", "questions")
def questions(request: HttpRequest, season: Season) -> Answer:
    rows = Question.objects.filter(season=season).select_related("asked_by", "answered_by")
    ordered = rows.order_by(F("answered_at").desc(nulls_first=True), "-asked_at", "-pk")
    return {"page": leaf(request, ordered), "open": rows.unanswered().count()}


@helpers.form("organise/answer.html", "questions", back="organise-questions season")
def answer_page(request: SignedInRequest, season: Season, question: Question) -> Answer:
    form = AnswerForm(request.POST or None, question=question)
    if form.is_valid():
        is_public = form.cleaned_data["how"] == PUBLIC
        answer(question=question, text=form.cleaned_data["answer"], is_public=is_public, by=request.user)
        return _("The question is answered.")
    return {"form": form}


@organisers.form("organise/terms.html", "terms")
def terms(request: SignedInRequest, season: Season) -> Answer:
    versions = Terms.objects.filter(season=season).annotate(accepted=Count("acceptances"))
    current = versions.first()
    initial = {"text": current.text if current else ""}
    form = TermsForm(request.POST or None, initial=initial, label_suffix="")
    if form.is_valid():
        published = publish_terms(season=season, text=form.cleaned_data["text"], by=request.user)
        return _("Version %(number)s of the terms holds now.") % {"number": published.number}
    return {"versions": versions, "form": form}


@organisers.page()
def acceptances_csv(request: HttpRequest, season: Season) -> Answer:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(["version", "name", "address", "accepted_at"])
    for row in acceptances(season):
        address = row.user.email if row.user else ""
        writer.writerow([row.terms.number, plain(row.name), plain(address), row.accepted_at.isoformat()])
    name = f"{season.slug}-terms.csv"
    return attachment(out.getvalue(), "text/csv; charset=utf-8", name, is_private=True)


@never_cache
@organisers.form("organise/webhooks.html", "webhooks")
def webhooks(request: SignedInRequest, season: Season) -> Answer:
    """A new one's secret is shown here, once."""
    form = WebhookForm(request.POST or None, label_suffix="")
    with refusals_at(form, "url"):
        if form.is_valid():
            made = make_webhook(season=season, url=form.cleaned_data["url"], by=request.user)
            return render(request, "organise/webhooks.html", _with_secret(made))
    return {"form": form, "webhooks": Webhook.objects.filter(season=season)}


def _with_secret(webhook: Webhook) -> dict[str, Any]:
    season = webhook.season
    return {
        "season": season,
        "part": "webhooks",
        "form": WebhookForm(label_suffix=""),
        "webhooks": Webhook.objects.filter(season=season),
        "secret": secret_of(webhook),
    }


@never_cache
@organisers.act("organise-webhooks season")
def renew(request: SignedInRequest, season: Season, webhook: Webhook) -> Answer:
    renewed = renew_secret(webhook=webhook, by=request.user)
    return render(request, "organise/webhooks.html", _with_secret(renewed))


@organisers.act("organise-webhooks season")
def remove(request: SignedInRequest, season: Season, webhook: Webhook) -> Answer:
    remove_webhook(webhook=webhook, by=request.user)
    return _("The webhook is removed, and its deliveries with it.")


@organisers.page("organise/deliveries.html", "webhooks")
def deliveries(request: HttpRequest, season: Season, webhook: Webhook) -> Answer:
    return {"page": leaf(request, webhook.deliveries.select_related("job"))}


@organisers.act("organise-webhooks season")
def repeat(request: SignedInRequest, season: Season, delivery: Delivery) -> Answer:
    repeat_delivery(delivery=delivery, by=request.user)
    messages.success(request, _("It is posted again within seconds."))
    return redirect("organise-deliveries", season.slug, delivery.webhook_id)
