"""A season file that is uploaded: first what it would change, then, where somebody says so, the change."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from citeboard.core.words import sentence
from citeboard.teams.models import User
from tasks.models import Season, SeasonFile
from tasks.seasons.access import may_create_seasons, season_to_organise
from tasks.seasons.file.export import export_season
from tasks.seasons.file.load import Loaded, load_season_text
from tasks.seasons.file.plan import Decisions, KeyNotKnown, LoadConflicts
from tasks.seasons.presets import A_YEAR, MAX_DAYS, PRESETS, clone_season
from tasks.types import InputRefused
from tasks.types.problems import capped

MAX_FILE = 1 << 20
#: What begins the name of the field that decides on a key.
DECISION = "decision:"


class SeasonFileForm(forms.Form):
    """A file, or the text of one whose plan has been shown."""

    file = forms.FileField(
        label=gettext_lazy("Season file"),
        required=False,
        max_length=200,
        help_text=gettext_lazy(
            "season.toml alone, at most 1 MB. Gold and other files that it names stay as they are."
        ),
    )
    text = forms.CharField(required=False, widget=forms.HiddenInput, max_length=MAX_FILE, strip=False)

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        file = given.get("file")
        if file is not None and file.size > MAX_FILE:
            raise forms.ValidationError(_("The file is larger than 1 MB."))
        if file is None and not given.get("text"):
            raise forms.ValidationError(_("Choose the file."))
        return given

    @property
    def content(self) -> bytes:
        file = self.cleaned_data.get("file")
        if file is None:
            return str(self.cleaned_data["text"]).encode()
        return bytes(file.read())


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def season_file(request: HttpRequest, season: str) -> HttpResponse:
    """The plan of an uploaded file for a season that the user organises."""
    found = season_to_organise(request.user, season)
    return _answered(request, found)


@login_required
@require_safe
def season_toml(request: HttpRequest, season: str) -> HttpResponse:
    """The file as the season stands; the gold and runs that it names are not handed out here."""
    found = season_to_organise(request.user, season)
    response = HttpResponse(export_season(found).text, content_type="application/toml; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="season.toml"'
    return response


class CloneForm(forms.Form):
    """What next year's season is called; the checks are those of a season file."""

    title = forms.CharField(label=gettext_lazy("Title"), max_length=120)
    slug = forms.CharField(
        label=gettext_lazy("Name in addresses"),
        max_length=60,
        help_text=gettext_lazy("Small letters, digits and single hyphens."),
    )
    days = forms.IntegerField(
        label=gettext_lazy("Days later"),
        min_value=0,
        max_value=MAX_DAYS,
        initial=A_YEAR,
        help_text=gettext_lazy("By how many phases move."),
    )


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def clone(request: HttpRequest, season: str) -> HttpResponse:
    """Next year's season, a draft that whoever makes it organises."""
    found = season_to_organise(request.user, season)
    form = CloneForm(request.POST if request.method == "POST" else None, label_suffix="")
    if request.method == "POST" and form.is_valid():
        try:
            made = clone_season(season=found, by=_person(request), **form.cleaned_data)
        except InputRefused as refused:
            for problem in refused.problems:
                form.add_error(None, sentence(problem.message))
        else:
            messages.success(
                request,
                _("%(season)s is a draft; its phases and its gold are yours to look through.")
                % {"season": made},
            )
            return redirect("organise", made.slug)
    context = {"season": found, "part": "file", "form": form}
    return render(request, "organise/clone.html", context, status=422 if form.errors else 200)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def new_season(request: HttpRequest) -> HttpResponse:
    """The same for a season that is not there yet; for staff."""
    if not may_create_seasons(request.user):
        raise Http404(_("Seasons are created by staff of the site."))
    return _answered(request, None)


def _answered(request: HttpRequest, season: Season | None) -> HttpResponse:
    is_post = request.method == "POST"
    form = SeasonFileForm(
        request.POST if is_post else None, request.FILES if is_post else None, label_suffix=""
    )
    context: dict[str, Any] = {
        "season": season,
        "part": "file",
        "form": form,
        "frame": "organise/base.html" if season else "organise/apart.html",
        "presets": [] if season else PRESETS.values(),
        "last": SeasonFile.objects.filter(season=season).select_related("loaded_by").first(),
    }
    status = 200
    if is_post and form.is_valid():
        content = form.content
        try:
            loaded = _loaded(request, content, season, dry_run="load" not in request.POST)
        except InputRefused as refused:
            problems, more = capped(refused.problems)
            context |= {"problems": problems, "more": more}
            status = 422
        except KeyNotKnown as unknown:
            form.add_error(None, sentence(unknown))
        except LoadConflicts as left:
            context |= {"plan": _loaded(request, content, season, dry_run=True), "undecided": sentence(left)}
            status = 409
        else:
            if "load" in request.POST:
                messages.success(request, _said(loaded))
                return redirect("organise-file", loaded.season.slug)
            context["plan"] = loaded
        context["text"] = content.decode("utf-8", "replace")
    status = 422 if form.errors else status
    return render(request, "organise/file.html", context, status=status)


def _loaded(request: HttpRequest, content: bytes, season: Season | None, *, dry_run: bool) -> Loaded:
    return load_season_text(
        content,
        by=_person(request),
        slug=season.slug if season else "",
        decisions=Decisions() if dry_run else decisions_of(request),
        dry_run=dry_run,
    )


def decisions_of(request: HttpRequest) -> Decisions:
    chosen = {
        name.removeprefix(DECISION): value
        for name, value in request.POST.items()
        if name.startswith(DECISION)
    }
    return Decisions(
        apply=frozenset(key for key, value in chosen.items() if value == "apply"),
        keep=frozenset(key for key, value in chosen.items() if value == "keep"),
    )


def _said(loaded: Loaded) -> str:
    if not loaded.changes:
        return _("The season is as the file says; nothing has changed.")
    return _("Loaded: %(changes)s.") % {"changes": "; ".join(loaded.changes)}


def _person(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user
