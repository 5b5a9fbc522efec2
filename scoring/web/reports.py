"""Reporting abuse to those who run the site, and their list of reports."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import F
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from citeboard.core.words import sentence
from citeboard.teams.models import User
from tasks.models import Report
from tasks.seasons.reports import LONGEST, MAX_ADDRESS, TooManyReports, close_report, report_abuse

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
        max_length=LONGEST,
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
