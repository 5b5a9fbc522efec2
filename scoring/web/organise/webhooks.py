"""Webhooks of a season: the list, a webhook's deliveries, and what is done with them."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from citeboard.core.words import sentence
from citeboard.teams.models import User
from tasks.models import Delivery, Season, Webhook
from tasks.seasons.access import season_to_organise
from tasks.webhooks.addresses import AddressRefused
from tasks.webhooks.services import (
    WebhookRefused,
    make_webhook,
    remove_webhook,
    renew_secret,
    repeat_delivery,
    secret_of,
)

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
