"""A season's terms for its organisers: the versions, who accepted which, and a form for the next one."""

from __future__ import annotations

import csv
import io

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from citeboard.core.spreadsheets import plain
from citeboard.teams.models import User
from tasks.models import Terms
from tasks.registration.terms import MAX_LENGTH, acceptances, publish_terms
from tasks.seasons.access import season_to_organise


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
