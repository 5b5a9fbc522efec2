"""Pages on which administrators see the state of the site, failed e-mails, abuse
reports and Prometheus metrics.
"""

from django.conf import settings
from django.db.models import F
from django.http import Http404, HttpRequest, HttpResponse
from django.http.request import split_domain_port
from django.shortcuts import get_object_or_404
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST

from citeboard.acts.claims import DECIDE_CLAIM
from citeboard.acts.mails import RETRY_FAILED_MAILS
from citeboard.acts.own_measures import APPROVE_OR_WITHDRAW_MEASURES
from citeboard.acts.reports import ReportForm
from citeboard.core.checks import is_loopback
from citeboard.ops.site_state import collect_site_state, render_metrics
from citeboard.teams.models import User
from citeboard.web.pages import (
    PageDecorators,
    ViewResult,
    add_refusals_to_form,
    build_action_view,
    paginate_rows,
    require_known_fields,
    signed_in_pages,
    staff_pages,
)
from scoring.results.board.embargo_table import describe_content_shared_by_seasons
from tasks.models import Claim, MeasuresFile, Report
from tasks.seasons import announcements, claims as on_claims, own_measures

PROXY_HEADERS = (
    "Forwarded",
    "Via",
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "X-Forwarded-Proto",
    "X-Real-IP",
)


@never_cache
@staff_pages.page("operate.html")
def show_site_state(request: HttpRequest, user: User) -> ViewResult:
    return {"state": collect_site_state()}


retry_failed_mails = build_action_view(RETRY_FAILED_MAILS, "operate", staff_pages)


@signed_in_pages.form("report.html")
def report_problem(request: HttpRequest, user: User) -> ViewResult:
    about = {
        "address": request.GET.get("about", "")[
            : announcements.MAX_REPORTED_ADDRESS_CHARACTERS
        ]
    }
    form = ReportForm(request.POST or None, initial=about)
    require_known_fields(request, form)
    with add_refusals_to_form(form, "text"):
        if form.is_valid():
            announcements.report_abuse(by=user, **form.cleaned_data)
            return _("The site's staff have your report.")
    return {"form": form}


@staff_pages.page("reports.html")
def list_problem_reports(request: HttpRequest, user: User) -> ViewResult:
    """List reports of abuse, with open reports first."""
    rows = Report.objects.select_related("reported_by", "closed_by")
    ordered = rows.order_by(
        F("closed_at").desc(nulls_first=True), "-reported_at", "-pk"
    )
    return {"page": paginate_rows(request, ordered)}


@staff_pages.act("operate-reports")
def close_problem_report(request: HttpRequest, user: User, report: int) -> ViewResult:
    announcements.close_abuse_report(
        report=get_object_or_404(Report, pk=report), by=user
    )
    return _("The report is closed.")


@staff_pages.page("measures.html")
def list_declared_measures(request: HttpRequest, user: User) -> ViewResult:
    """List the metrics that declared tasks define. Metrics that need the staff's
    approval come first.
    """
    rows = MeasuresFile.objects.select_related("season", "brought_by")
    ordered = rows.order_by(
        F("approved_at").asc(nulls_first=True), "-brought_at", "-pk"
    )
    page = paginate_rows(request, ordered)
    files = [(row, own_measures.list_program_warnings(row)) for row in page.object_list]
    return {"page": page, "files": files}


decide_on_declared_measures = build_action_view(
    APPROVE_OR_WITHDRAW_MEASURES,
    "operate-measures",
    PageDecorators(own_measures.get_measures_file_or_404, "measures"),
)


@staff_pages.page("claims.html")
def list_season_claims(request: HttpRequest, user: User) -> ViewResult:
    """List claims of seasons on texts of later seasons, with undecided claims first.

    Each claim shows all texts that both seasons share.
    """
    rows = Claim.objects.select_related("season", "later", "decided_by")
    page = paginate_rows(
        request, rows.order_by(F("decided_at").asc(nulls_first=True), "-made_at", "-pk")
    )
    return {
        "page": page,
        "claims": [
            (row, describe_content_shared_by_seasons(row.later, row.season))
            for row in page.object_list
        ],
    }


decide_on_season_claim = build_action_view(
    DECIDE_CLAIM, "operate-claims", PageDecorators(on_claims.get_claim_or_404, "claim")
)


@never_cache
@require_safe
def serve_prometheus_metrics(request: HttpRequest) -> HttpResponse:
    """Return Prometheus metrics to clients with the token or on the same machine."""
    if not (_has_metrics_token(request) or _is_local(request)):
        raise Http404(_("There is nothing for you to read at this address."))
    return HttpResponse(render_metrics(), content_type=CONTENT_TYPE_LATEST)


def _has_metrics_token(request: HttpRequest) -> bool:
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    token = settings.METRICS_TOKEN
    return (
        bool(token)
        and scheme.lower() == "bearer"
        and constant_time_compare(given.strip(), token)
    )


def _is_local(request: HttpRequest) -> bool:
    """Return True if the request comes from this machine.

    A forwarded request does not count as local, because a local proxy forwards the
    requests of all clients.
    """
    if settings.PROXIES or any(name in request.headers for name in PROXY_HEADERS):
        return False
    if split_domain_port(request.get_host())[0] not in (
        "127.0.0.1",
        "localhost",
        "[::1]",
    ):
        return False
    return is_loopback(request.META.get("REMOTE_ADDR", ""))
