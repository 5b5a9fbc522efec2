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
from scoring.acts import seasons as acts
from scoring.web.pages import (
    Answer,
    Pages,
    SignedInRequest,
    attachment,
    does,
    fills,
    helpers,
    leaf,
    organisers,
    refusals_at,
)
from tasks.models import Announcement, Delivery, Question, Season, Terms, Webhook
from tasks.registration.entries import MAX_LENGTH, acceptances, publish_terms
from tasks.seasons.access import season_to_help
from tasks.webhooks.services import secret_of

MAX_ANNOUNCEMENTS = 50


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


announcement = fills(
    acts.ANNOUNCE,
    "organise/announcement.html",
    "announcement",
    shows=lambda request, season: {
        "announcements": season.announcements.select_related("announced_by")[:MAX_ANNOUNCEMENTS]
    },
)
edit = fills(
    acts.EDIT_ANNOUNCEMENT, "organise/announcement_edit.html", "announcement", "organise-announcement season"
)
answer_page = fills(acts.ANSWER, "organise/answer.html", "questions", "organise-questions season")
remove = does(acts.REMOVE_WEBHOOK, "organise-webhooks season")


@Pages(season_to_help, "season").act("organise-announcement season")
def revoke(request: SignedInRequest, season: Season, announcement: int) -> Answer:
    """Once more changes nothing."""
    revoked = get_object_or_404(Announcement, pk=announcement, season=season)
    return acts.TAKE_BACK_ANNOUNCEMENT.told(revoked, acts.TAKE_BACK_ANNOUNCEMENT(revoked, request.user), {})


@helpers.page("organise/questions.html", "questions")
def questions(request: HttpRequest, season: Season) -> Answer:
    rows = Question.objects.filter(season=season).select_related("asked_by", "answered_by")
    ordered = rows.order_by(F("answered_at").desc(nulls_first=True), "-asked_at", "-pk")
    return {"page": leaf(request, ordered), "open": rows.unanswered().count()}


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
    form = acts.WebhookForm(request.POST or None)
    with refusals_at(form, "url"):
        if form.is_valid():
            webhook = acts.MAKE_WEBHOOK(season, request.user, **form.cleaned_data)
            return render(request, "organise/webhooks.html", _with_secret(webhook))
    return {"form": form, "webhooks": Webhook.objects.filter(season=season)}


def _with_secret(webhook: Webhook) -> dict[str, Any]:
    season = webhook.season
    return {
        "season": season,
        "part": "webhooks",
        "form": acts.WebhookForm(),
        "webhooks": Webhook.objects.filter(season=season),
        "secret": secret_of(webhook),
    }


@never_cache
@organisers.act("organise-webhooks season")
def renew(request: SignedInRequest, season: Season, webhook: Webhook) -> Answer:
    renewed = acts.RENEW_SECRET(webhook, request.user)
    return render(request, "organise/webhooks.html", _with_secret(renewed))


@organisers.page("organise/deliveries.html", "webhooks")
def deliveries(request: HttpRequest, season: Season, webhook: Webhook) -> Answer:
    return {"page": leaf(request, webhook.deliveries.select_related("job"))}


@organisers.act("organise-webhooks season")
def repeat(request: SignedInRequest, season: Season, delivery: Delivery) -> Answer:
    repeated = acts.REPEAT_DELIVERY(delivery, request.user)
    messages.success(request, acts.REPEAT_DELIVERY.told(delivery, repeated, {}))
    return redirect("organise-deliveries", season.slug, delivery.webhook_id)
