"""A season file that is uploaded: first what it would change, then, where somebody says so, the change."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from citeboard.core.words import sentence
from citeboard.teams.models import User
from scoring.acts.seasons import CLONE, CloneForm
from scoring.web.organise.settings_form import said
from scoring.web.pages import Answer, Pages, SignedInRequest, attachment, organisers, sent
from tasks.models import Season, SeasonFile
from tasks.seasons.access import creator_of_seasons
from tasks.seasons.file.export import export_season
from tasks.seasons.file.load import Loaded, SettingsRefused, load_season_text
from tasks.seasons.file.plan import Decisions, KeyNotKnown, LoadConflicts
from tasks.seasons.presets import PRESETS, Preset, preset_for, season_from
from tasks.types import InputRefused, task_types
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


@organisers.form("organise/file.html", "file")
def season_file(request: SignedInRequest, season: Season) -> Answer:
    return _answered(request, season)


@organisers.page()
def season_toml(request: HttpRequest, season: Season) -> Answer:
    """The file as the season stands; the gold and runs that it names are not handed out here."""
    return attachment(export_season(season).text, "application/toml; charset=utf-8", "season.toml")


@organisers.form("organise/clone.html", "file")
def clone(request: SignedInRequest, season: Season) -> Answer:
    """Next year's season, a draft that whoever makes it organises."""
    form = CloneForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            made = CLONE(season, request.user, **form.cleaned_data)
        except InputRefused as refused:
            for problem in refused.problems:
                form.add_error(None, sentence(problem.message))
        else:
            messages.success(request, CLONE.told(season, made, {}))
            return redirect("organise", made.slug)
    return {"form": form}


@Pages(creator_of_seasons).form("organise/file.html", "file")
def new_season(request: SignedInRequest, user: User) -> Answer:
    """The same for a season that is not there yet; for staff."""
    return _answered(request, None)


def _answered(request: SignedInRequest, season: Season | None) -> HttpResponse:
    form = SeasonFileForm(**sent(request), label_suffix="")
    context: dict[str, Any] = {
        "season": season,
        "part": "file",
        "form": form,
        "frame": "organise/base.html" if season else "organise/apart.html",
        "presets": [] if season else PRESETS.values(),
        "last": SeasonFile.objects.filter(season=season).select_related("loaded_by").first(),
    }
    status = 200
    if form.is_valid():
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
                words = _("The season is as the file says; nothing has changed.")
                if loaded.changes:
                    words = _("Loaded: %(changes)s.") % {"changes": "; ".join(loaded.changes)}
                messages.success(request, words)
                return redirect("organise-file", loaded.season.slug)
            context["plan"] = loaded
        context["text"] = content.decode("utf-8", "replace")
    return render(request, "organise/file.html", context, status=422 if form.errors else status)


def _loaded(request: SignedInRequest, content: bytes, season: Season | None, *, dry_run: bool) -> Loaded:
    return load_season_text(
        content,
        by=request.user,
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


class PresetForm(forms.Form):
    title = forms.CharField(label=gettext_lazy("Title"), max_length=120)
    slug = forms.CharField(
        label=gettext_lazy("Name in addresses"),
        max_length=60,
        help_text=gettext_lazy("Small letters, digits and single hyphens."),
    )
    task_type = forms.ChoiceField(label=gettext_lazy("Task type"))
    time_zone = forms.CharField(
        label=gettext_lazy("Time zone"),
        max_length=60,
        initial="UTC",
        help_text=gettext_lazy("Such as Europe/Rome, UTC or AoE."),
    )

    def __init__(self, data: Any = None, *, preset: Preset) -> None:
        super().__init__(data, label_suffix="")
        kinds = [(slug, f"{kind.title} ({slug})") for slug, kind in task_types().items()]
        chosen = self.fields["task_type"]
        assert isinstance(chosen, forms.ChoiceField)
        chosen.choices = kinds
        self.dates = list(preset.dates)
        for name, label in preset.dates.items():
            help_text = _("In that zone, such as 2026-05-01 23:59; write AoE or UTC behind it for those.")
            self.fields[name] = forms.CharField(label=label, max_length=80, help_text=help_text)

    def make(self, preset: Preset, by: User) -> Season | None:
        """None where something is wrong, which then stands at its field."""
        given = {name: value for name, value in self.cleaned_data.items() if name not in self.dates}
        dates = {name: self.cleaned_data[name] for name in self.dates}
        try:
            return season_from(preset=preset, dates=dates, by=by, **given)
        except SettingsRefused as refused:
            for fault in refused.faults:
                name = fault.key.removeprefix("season.")
                self.add_error(name if name in self.fields else None, said(fault))
            return None


@Pages(preset_for, "preset", context=lambda preset: {"preset": preset}).form("organise/preset.html")
def new_from_preset(request: SignedInRequest, preset: Preset) -> Answer:
    form = PresetForm(request.POST if request.method == "POST" else None, preset=preset)
    if form.is_valid() and (made := form.make(preset, request.user)):
        words = _("%(season)s is a draft. Bring its gold next, and look through its settings.")
        messages.success(request, words % {"season": made})
        return redirect("organise-settings", made.slug)
    return {"form": form}
