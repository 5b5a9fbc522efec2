"""The operator's page: how the site stands, for its staff alone."""

from __future__ import annotations

from ipaddress import ip_address

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import F
from django.http import Http404, HttpRequest, HttpResponse
from django.http.request import split_domain_port
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from prometheus_client import CONTENT_TYPE_LATEST

from citeboard.core.words import counted, sentence
from citeboard.teams.models import User
from scoring.ops.metrics import exposition
from scoring.ops.site_state import site_state
from tasks.jobs.mails import try_again
from tasks.models import Report
from tasks.seasons.announcements import MAX_ADDRESS, MAX_TEXT, TooManyReports, close_report, report_abuse


@login_required
@never_cache
@require_safe
def operate(request: HttpRequest) -> HttpResponse:
    """Queues, workers, what waits and failed, storage, sweep, backup and versions."""
    _require_staff(request)
    return render(request, "operate.html", {"state": site_state()})


@require_POST
@login_required
def mails(request: HttpRequest) -> HttpResponse:
    """Send again the e-mails that were given up."""
    _require_staff(request)
    assert isinstance(request.user, User)
    queued = try_again(by=request.user)
    retried = _("%(mails)s will be tried again") % {"mails": counted(queued, "e-mail")}
    messages.success(request, sentence(retried))
    return redirect("operate")


REPORTS_A_PAGE = 50


class ReportForm(forms.Form):
    address = forms.CharField(
        label=gettext_lazy("Page that it is about"),
        required=False,
        max_length=MAX_ADDRESS,
        help_text=gettext_lazy("Its address."),
    )
    text = forms.CharField(
        label=gettext_lazy("What is wrong"),
        max_length=MAX_TEXT,
        widget=forms.Textarea(attrs={"rows": 6}),
        help_text=gettext_lazy("Those who run the site read it, with your name and address."),
    )


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def report(request: HttpRequest) -> HttpResponse:
    assert isinstance(request.user, User)
    about = {"address": request.GET.get("about", "")[:MAX_ADDRESS]}
    form = ReportForm(request.POST or None, label_suffix="", initial=about)
    if request.method == "POST" and form.is_valid():
        try:
            report_abuse(by=request.user, **form.cleaned_data)
        except TooManyReports as refused:
            form.add_error("text", sentence(refused))
        else:
            messages.success(request, _("Those who run the site have your report."))
            return redirect("report")
    status = 422 if request.method == "POST" else 200
    return render(request, "report.html", {"form": form}, status=status)


@login_required
@require_safe
def reports(request: HttpRequest) -> HttpResponse:
    """Open ones first."""
    _require_staff(request)
    own = Report.objects.select_related("reported_by", "closed_by")
    ordered = own.order_by(F("closed_at").desc(nulls_first=True), "-reported_at", "-pk")
    page = Paginator(ordered, REPORTS_A_PAGE).get_page(request.GET.get("page"))
    return render(request, "reports.html", {"page": page})


@require_POST
@login_required
def close(request: HttpRequest, report: int) -> HttpResponse:
    close_report(report=get_object_or_404(Report, pk=report), by=_require_staff(request))
    messages.success(request, _("The report is closed."))
    return redirect("operate-reports")


def _require_staff(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    if not request.user.is_staff:
        raise Http404(_("This page is for those who run the site."))
    return request.user


#: What proxies add to a request that they pass on.
FORWARDED = ("Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP")
OWN_NAMES = frozenset({"127.0.0.1", "localhost", "[::1]"})


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Queues, runs, requests and cached pages in figures, by token or on the site's own machine."""
    if not (_has_token(request) or _is_local(request)):
        raise Http404(_("There is nothing for you to read at this address."))
    return HttpResponse(exposition(), content_type=CONTENT_TYPE_LATEST)


def _has_token(request: HttpRequest) -> bool:
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    token = settings.METRICS_TOKEN
    return bool(token) and scheme.lower() == "bearer" and constant_time_compare(given.strip(), token)


def _is_local(request: HttpRequest) -> bool:
    """A proxy on this machine makes the whole world look local, so what one has passed on is not."""
    if settings.PROXIES or any(name in request.headers for name in FORWARDED):
        return False
    if split_domain_port(request.get_host())[0] not in OWN_NAMES:
        return False
    try:
        return ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:
        return False
