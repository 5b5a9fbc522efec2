"""Pages that edit the settings of a season, its tasks and phases, or load them from a
file.
"""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from allauth.core.internal.ratelimit import consume
from django import forms
from django.contrib import messages
from django.core import signing
from django.db import models
from django.http import FileResponse, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.text import capfirst
from django.utils.translation import gettext as _, gettext_lazy

from citeboard.acts.archives import MAKE_ARCHIVE
from citeboard.acts.declared import DateTimeTextField, PhaseEndField, TextLinesField
from citeboard.acts.new_seasons import CLONE_SEASON, CREATE_SEASON_FROM_PRESET
from citeboard.acts.overwriting import OverwritingForm
from citeboard.acts.rehearsal import (
    Rehearsal,
    perform_confirmed_action,
    perform_confirmed_callable,
    rehearse_season_load,
)
from citeboard.acts.season_settings import (
    CHANGE_SEASON_SETTINGS,
    DELETE_PHASE,
    DELETE_TASK,
)
from citeboard.background.kinds import (
    describe_job_result,
    find_background_jobs,
    find_finished_archives,
)
from citeboard.core import audit, refusals, storage
from citeboard.core.instants import format_zone_name, parse_time_zone
from citeboard.core.storage.downloads import serve_stored_file
from citeboard.core.words import format_as_sentence
from citeboard.ops.pruning import delete_season
from citeboard.teams.models import User
from citeboard.web import pages
from scoring.exchange.bundles.importing import is_imported_from_bundle
from scoring.exchange.results import ZIP_CONTENT_TYPE, make_safe_file_name
from scoring.results.board.leak_budget import compute_leak_budget_of_phase
from scoring.worker.background import BackgroundJobKind
from scoring.worker.local_copies import temporary_local_copy
from tasks.gold.drafts import MAX_DRAFT_SIGNATURE_AGE, store_gold_draft
from tasks.gold.early import UnequalPublicParts, find_embargo_clashes
from tasks.models import Phase, Season, SeasonFile, Task, run_cards
from tasks.models.seasons import ModelWithSettings
from tasks.seasons import access, presets
from tasks.seasons.file.entries import (
    SEASON_KEY_PREFIX,
    load_rows_by_key_prefix,
    make_phase_key_prefix,
    make_task_key_prefix,
)
from tasks.seasons.file.export import export_season
from tasks.seasons.file.load import (
    Fault,
    InvalidSettings,
    SeasonLoadResult,
    load_season_from_text,
)
from tasks.seasons.file.plan import (
    ConflictDecisions,
    UndecidedLoadConflicts,
    UnknownDecisionKey,
)
from tasks.seasons.file.sent import ZIP_SIGNATURE, open_season_zip
from tasks.submissions.uploads import receive_upload
from tasks.types import InputRefused, Option, base, task_types
from tasks.types.problems import select_problems_to_list


@pages.organiser_pages.page("organise/settings.html", "settings")
def show_season_settings(request: HttpRequest, season: Season) -> pages.ViewResult:
    return {"tasks": Task.objects.filter(season=season).prefetch_related("phases")}


@pages.organiser_pages.form(
    "organise/settings_form.html", "settings", back="organise-settings season"
)
def edit_settings(
    request: pages.SignedInRequest,
    season: Season,
    what: str,
    task: Task | None = None,
    phase: Phase | None = None,
) -> pages.ViewResult:
    """Edit the settings of a season, a task or a phase, or create a task or phase.

    In keys, ``{}`` stands for the slug of the new object.
    """
    forms: dict[
        str, tuple[type[ModelWithSettings], ModelWithSettings | None, str, str]
    ] = {
        "season": (Season, season, season.title, SEASON_KEY_PREFIX),
        "new-task": (Task, None, _("A new task"), make_task_key_prefix("{}")),
    }
    if task is not None:
        title = _("A new phase of %(task)s") % {"task": task}
        forms["task"] = (Task, task, task.title, make_task_key_prefix(task.slug))
        forms["new-phase"] = (
            Phase,
            None,
            title,
            make_phase_key_prefix(task.slug, "{}"),
        )
    if phase is not None:
        forms["phase"] = (
            Phase,
            phase,
            f"{phase.task}, {phase}",
            make_phase_key_prefix(phase.task.slug, phase.slug),
        )
    model, row, title, prefix = forms[what]
    zone = phase.zone if phase else season.zone
    form = SettingsForm(
        request.POST if request.method == "POST" else None,
        model=model,
        row=row,
        zone=zone,
    )
    pages.require_known_fields(request, form)
    if form.is_valid() and (form.is_new or not form.has_concurrent_edits()):
        prefix = prefix.format(form.cleaned_data.get("slug", ""))
        try:
            if form.is_new and prefix in load_rows_by_key_prefix(season, held=False):
                form.add_error("slug", _("This name is taken."))
            else:
                values = {"values": form.values(prefix)}
                perform_confirmed_action(
                    CHANGE_SEASON_SETTINGS,
                    season,
                    request.user,
                    values,
                    pages.read_action_confirmation(request),
                )
        except InvalidSettings as refused:
            form.add_setting_errors(refused.faults, prefix)
        except UnequalPublicParts as unequal:
            form.add_error(None, format_as_sentence(unequal))
        if not form.errors:
            saved = Phase.objects.filter(task__season=season).select_related(
                "task__season"
            )
            for early in find_embargo_clashes(
                row for row in saved if phase in (None, row)
            ):
                messages.warning(
                    request, _("Not shown yet: %(what)s.") % {"what": early.words}
                )
            return _("%(title)s: the settings are saved.") % {"title": title}
    budget = compute_leak_budget_of_phase(phase) if phase is not None else None
    return {
        "form": form,
        "title": title,
        "zone": zone,
        "budget": budget,
        "phase": phase,
    }


delete_task = pages.build_action_view(DELETE_TASK, "organise-settings season")
delete_phase = pages.build_action_view(DELETE_PHASE, "organise-settings season")


@pages.organiser_pages.act("organise-settings season", fields=("slug",))
def delete_draft(request: pages.SignedInRequest, season: Season) -> pages.ViewResult:
    """Delete a season that was never public.

    The user must type the season's slug, since the deletion cannot be undone.
    """
    if request.POST.get("slug", "").strip() != season.slug:
        raise refusals.ActionRefused(
            _("Type “%(name)s” to delete the season.") % {"name": season.slug}
        )
    delete_season(season=season, by=request.user)
    messages.success(
        request, _("The draft %(season)s is deleted.") % {"season": season}
    )
    return redirect("home")


OPTION_FIELD_PREFIX = "option-"
TIME_ZONE_FIELD, ZONE_MOVE_FIELD, KEEP_CLOCK_TIMES_OPTION, KEEP_INSTANTS_OPTION = (
    "time_zone",
    "zone_moves",
    "clocks",
    "instants",
)


def build_setting_field(
    model: type[ModelWithSettings], name: str, zone: ZoneInfo
) -> forms.Field | None:
    known = model.field(name)
    shared: dict[str, Any] = {
        "label": str(model.SETTINGS[name].label) or capfirst(str(known.verbose_name)),
        "help_text": str(known.help_text),
        "required": model.is_required(name),
        "show_hidden_initial": True,
    }
    if name == "card_required":
        chosen = list(run_cards.REQUIRABLE_FIELD_LABELS.items())
        return forms.MultipleChoiceField(
            choices=chosen, widget=forms.CheckboxSelectMultiple, **shared
        )
    if name == "type":
        types = [
            (slug, f"{task_type.title} ({slug})")
            for slug, task_type in task_types().items()
        ]
        return forms.ChoiceField(choices=types, **shared)
    if known.choices:
        choices = [
            (str(value), capfirst(str(words))) for value, words in known.flatchoices
        ]
        blank = (
            [("", capfirst(_("as it follows from the rest")))] if known.blank else []
        )
        return forms.ChoiceField(choices=[*blank, *choices], **shared)
    if isinstance(known, models.BooleanField):
        return forms.BooleanField(**shared)
    if name == "closes":
        return PhaseEndField(zone=zone, label=shared["label"], show_hidden_initial=True)
    if isinstance(known, models.DateTimeField):
        return DateTimeTextField(zone=zone, **shared)
    if isinstance(known, models.PositiveIntegerField):
        return forms.IntegerField(
            min_value=1, max_value=model.SETTINGS[name].most, **shared
        )
    if isinstance(known, models.JSONField):
        return TextLinesField(**shared) if known.get_default() == [] else None
    if isinstance(known, models.TextField):
        return forms.CharField(
            max_length=50_000, widget=forms.Textarea(attrs={"rows": 6}), **shared
        )
    return forms.CharField(max_length=known.max_length, **shared)


def build_option_field(option: Option) -> forms.Field:
    shared: dict[str, Any] = {
        "label": _("Option %(name)s") % {"name": option.name},
        "help_text": option.summary,
        "required": False,
        "show_hidden_initial": True,
    }
    if option.choices:
        return forms.ChoiceField(
            choices=[(choice, choice) for choice in option.choices], **shared
        )
    return forms.CharField(max_length=500, **shared)


def find_submitted_time_zone(data: Any, otherwise: ZoneInfo) -> ZoneInfo:
    try:
        return parse_time_zone(data[TIME_ZONE_FIELD].strip()) if data else otherwise
    except (KeyError, ValueError):
        return otherwise


def build_zone_move_field(before: ZoneInfo, after: ZoneInfo) -> forms.Field:
    zones = {
        "before": format_zone_name(before.key),
        "after": format_zone_name(after.key),
    }
    clocks = _(
        "The clock times stay: what is 23:59 in %(before)s becomes 23:59 in %(after)s."
    )
    instants = _(
        "The instants stay, and %(after)s shows them; only times that you typed anew are read in it."
    )
    return forms.ChoiceField(
        label=_("The zone changes from %(before)s to %(after)s. What stays?") % zones,
        choices=[
            (KEEP_CLOCK_TIMES_OPTION, clocks % zones),
            (KEEP_INSTANTS_OPTION, instants % zones),
        ],
        widget=forms.RadioSelect,
    )


class SettingsForm(OverwritingForm):
    """A form that saves only the settings that the user has changed.

    Therefore two users who edit the same season do not overwrite each other's changes.
    """

    def __init__(
        self,
        data: Any,
        *,
        model: type[ModelWithSettings],
        row: ModelWithSettings | None,
        zone: ZoneInfo,
    ) -> None:
        super().__init__(data, label_suffix="")
        self.is_new, self.keys = row is None, dict[str, str]()
        # Users enter times in the time zone that the same form sets for the season.
        before, zone = zone, find_submitted_time_zone(data, zone)
        self.zone = before
        if row is None:
            self.fields["slug"] = forms.CharField(
                label=_("Name in addresses"),
                max_length=60,
                help_text=_("Lower-case letters, digits, single hyphens."),
            )
        for name, setting in model.SETTINGS.items():
            field = build_setting_field(model, name, zone)
            # The setting that controls registration is on the page of teams.
            if setting.page == "settings" and field is not None:
                self.fields[name] = field
                self.keys[name] = model.key(name)
                # Users must set the end of a new phase, so the form has no default end.
                default = model.field(name).get_default() if name != "closes" else None
                self.initial[name] = getattr(row, name) if row else default
        if TIME_ZONE_FIELD in self.fields:
            self.initial[TIME_ZONE_FIELD] = format_zone_name(before.key)
        self.moments = [
            name
            for name, field in self.fields.items()
            if isinstance(field, DateTimeTextField)
        ]
        if self.moments and zone != before and not self.is_new:
            names = list(self.fields)
            self.fields[ZONE_MOVE_FIELD] = build_zone_move_field(before, zone)
            # The field that asks whether times move comes directly after the time zone.
            self.order_fields(
                [*names[: names.index(TIME_ZONE_FIELD) + 1], ZONE_MOVE_FIELD]
            )
        self.options: dict[str, str] = {}
        if isinstance(row, Task):
            chosen = self.fields.get("type")
            if row.declaration_id and isinstance(chosen, forms.ChoiceField):
                chosen.choices = [(row.type, f"{row.task_type.title} ({row.type})")]
            self.options = dict(row.options)
            shown = base.replace_paths_by_file_names(row.options)
            for option in row.task_type.all_options:
                name = f"{OPTION_FIELD_PREFIX}{option.name}"
                self.fields[name] = build_option_field(option)
                self.initial[name] = option.get_value_or_default(shown)

    def values(self, prefix: str) -> dict[str, Any]:
        chosen = list(self.cleaned_data if self.is_new else self.changed_data)
        if self.cleaned_data.get(ZONE_MOVE_FIELD) == KEEP_CLOCK_TIMES_OPTION:
            chosen += [name for name in self.moments if name not in chosen]
        found = {
            f"{prefix}.{self.keys[name]}": None
            if self.cleaned_data[name] == ""
            else self.cleaned_data[name]
            for name in chosen
            if name in self.keys
        }
        if self.is_new:
            return {key: value for key, value in found.items() if value is not None}
        if changed := [
            name.removeprefix(OPTION_FIELD_PREFIX)
            for name in chosen
            if name.startswith(OPTION_FIELD_PREFIX)
        ]:
            given = {
                name: self.cleaned_data[f"{OPTION_FIELD_PREFIX}{name}"]
                for name in changed
            }
            options = {
                name: value
                for name, value in {**self.options, **given}.items()
                if value
            }
            found[f"{prefix}.options"] = options or None
        return found

    def displayed_time_zone(self, field: DateTimeTextField) -> ZoneInfo:
        return self.zone

    def add_setting_errors(self, faults: list[Fault], prefix: str) -> None:
        fields = {key: name for name, key in self.keys.items()} | (
            {"slug": "slug"} if self.is_new else {}
        )
        for fault in faults:
            key = fault.key.removeprefix(f"{prefix}.")
            self.add_error(fields.get(key), pages.format_setting_fault(fault))


MAX_SEASON_FILE_BYTES = 1 << 20
#: STORED_ZIP_SIGNING_SALT is the salt for signing the name of a stored zip file.
#: A zip file is stored until the import, for at most a day.
STORED_ZIP_SIGNING_SALT = "season-zip"
DECISION_FIELD_PREFIX = "decision:"


SEASON_GOLD_DOWNLOAD_RATE_LIMITS = {"season_gold": "5/m/user"}


class PasswordForm(forms.Form):
    password = forms.CharField(
        label=gettext_lazy("Your password"),
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )

    def __init__(self, data: Any = None, *, user: User) -> None:
        super().__init__(data, label_suffix="")
        self.user = user

    def clean_password(self) -> str:
        password: str = self.cleaned_data["password"]
        if not self.user.check_password(password):
            raise forms.ValidationError(_("This is not your password."))
        return password


class SeasonFileForm(forms.Form):
    file = forms.FileField(
        label=gettext_lazy("Season file"),
        required=False,
        max_length=200,
        help_text=gettext_lazy(
            "season.toml alone, at most 1 MB: gold and other files that it names stay as they are. Or "
            "season.zip with the folders of its tasks, and with or without gold."
        ),
    )
    text = forms.CharField(
        required=False,
        widget=forms.HiddenInput,
        max_length=MAX_SEASON_FILE_BYTES,
        strip=False,
    )
    stored = forms.CharField(required=False, widget=forms.HiddenInput)
    is_zip = False
    content = b""

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        file = given.get("file")
        self.is_zip = (
            file is not None and file.read(len(ZIP_SIGNATURE)) == ZIP_SIGNATURE
        )
        if file is not None:
            file.seek(0)
            if file.size > MAX_SEASON_FILE_BYTES and not self.is_zip:
                raise forms.ValidationError(_("The file is larger than 1 MB."))
        if file is None and not (given.get("text") or given.get("stored")):
            raise forms.ValidationError(_("Choose the file."))
        return given

    def store_zip(self, owner: str) -> str:
        """Store the uploaded zip file and return its signed name, or an empty text for
        other files.
        """
        if not self.is_zip:
            try:
                given = signing.loads(
                    self.cleaned_data["stored"],
                    salt=STORED_ZIP_SIGNING_SALT,
                    max_age=MAX_DRAFT_SIGNATURE_AGE,
                )
            except signing.BadSignature:
                return ""
            is_ours = given["owner"] == owner and storage.gold_file_storage.exists(
                given["name"]
            )
            return str(given["name"]) if is_ours else ""
        with receive_upload(self.cleaned_data["file"]) as upload:
            return store_gold_draft(upload.path)

    @contextmanager
    def reader(
        self, name: str, *, by: User, slug: str
    ) -> Iterator[Callable[..., SeasonLoadResult]]:
        """Yield a function that loads the season file in the form.

        If ``name`` is given, the function loads the stored zip file with this name.

        Raises InputRefused.
        """
        if name:
            with (
                temporary_local_copy(storage.gold_file_storage, name) as path,
                open_season_zip(path, "season.zip", by=by, slug=slug) as load,
            ):
                yield load
            return
        file = self.cleaned_data.get("file")
        if file is not None:
            file.seek(0)
        text = str(self.cleaned_data["text"]).encode()
        self.content = text if file is None else bytes(file.read())
        yield partial(load_season_from_text, self.content, by=by, slug=slug)


@pages.organiser_pages.form("organise/file.html", "file")
def load_season_file(
    request: pages.SignedInRequest, season: Season
) -> pages.ViewResult:
    return _process_season_file(request, season)


@pages.organiser_pages.page()
def download_season_toml(request: HttpRequest, season: Season) -> pages.ViewResult:
    """Return the current season file. The season file refers to files of gold and runs
    by name.
    """
    return pages.build_download_response(export_season(season).text, "season.toml")


@pages.organiser_pages.page()
def download_season_zip(request: HttpRequest, season: Season) -> pages.ViewResult:
    """Return the season's settings and its declared tasks as a zip file, without gold
    and people.
    """
    return _build_zip_response(season, with_gold=False)


@pages.organiser_pages.form("organise/file_gold.html", "file")
def download_season_zip_with_gold(
    request: pages.SignedInRequest, season: Season
) -> pages.ViewResult:
    """Return the season with its gold and baseline runs as a zip file.

    The user must enter the account's password again to download the gold.
    """
    form = PasswordForm(
        request.POST if request.method == "POST" else None, user=request.user
    )
    pages.require_known_fields(request, form)
    # The page reveals whether a password is correct, so attempts are limited.
    if request.method == "POST" and not consume(
        request,
        app="citeboard",
        action="season_gold",
        config=SEASON_GOLD_DOWNLOAD_RATE_LIMITS,
        user=request.user,
    ):
        messages.error(request, _("Too many tries; wait a minute."))
        return {"form": PasswordForm(None, user=request.user)}
    if not form.is_valid():
        return {"form": form}
    audit.record_action(
        "season-exported", actor=request.user, subject=season, place=season, facts={}
    )
    return _build_zip_response(season, with_gold=True)


def _build_zip_response(season: Season, *, with_gold: bool) -> HttpResponseBase:
    exported = export_season(season, names_people=False, with_gold=with_gold)
    # The open zip file remains readable after the temporary folder is deleted.
    with tempfile.TemporaryDirectory(prefix="citeboard-season-") as folder:
        path = Path(folder) / "season.zip"
        exported.write_zip_archive(path)
        content = path.open("rb")
    return pages.forbid_caching(
        FileResponse(content, as_attachment=True, filename=f"{season.slug}-season.zip")
    )


create_archive = pages.build_form_view(
    MAKE_ARCHIVE,
    "organise/archive.html",
    "file",
    shows=lambda request, season: {
        "jobs": find_background_jobs(season, BackgroundJobKind.ARCHIVE),
        "made": [
            (job, describe_job_result(job)[0]) for job in find_finished_archives(season)
        ],
    },
    then=pages.redirect_to_job,
)


@pages.organiser_pages.page()
def download_archive(
    request: HttpRequest, season: Season, job: int
) -> pages.ViewResult:
    made = get_object_or_404(find_finished_archives(season), pk=job)
    name = f"{season.slug}-archive-{make_safe_file_name(made.given['version'])}.zip"
    return pages.forbid_caching(
        serve_stored_file(
            request,
            storage.statistics_file_storage,
            made.file,
            filename=name,
            content_type=ZIP_CONTENT_TYPE,
        )
    )


clone_season = pages.build_form_view(
    CLONE_SEASON,
    "organise/clone.html",
    "file",
    then=lambda request, season, made: redirect("organise", made.slug),
)


@pages.PageDecorators(access.require_season_creator).form("organise/file.html", "file")
def create_season_from_file(
    request: pages.SignedInRequest, user: User
) -> pages.ViewResult:
    """Create a season from a season file, for staff."""
    return _process_season_file(request, None)


def _process_season_file(
    request: pages.SignedInRequest, season: Season | None
) -> HttpResponse:
    form = SeasonFileForm(**pages.build_form_arguments(request), label_suffix="")
    decisions = [
        name for name in request.POST if name.startswith(DECISION_FIELD_PREFIX)
    ]
    pages.require_known_fields(request, form, ["load", *decisions])
    context: dict[str, Any] = {
        "season": season,
        "part": "file",
        "form": form,
        "frame": "organise/base.html" if season else "organise/apart.html",
        "has_report": season is not None and is_imported_from_bundle(season),
        "presets": [] if season else presets.PRESETS_BY_SLUG.values(),
        "last": SeasonFile.objects.filter(season=season)
        .select_related("loaded_by")
        .first(),
    }
    status = 200
    if form.is_valid():
        slug = season.slug if season else ""
        owner = f"{request.user.pk}/{slug}"
        name = form.store_zip(owner)
        try:
            with form.reader(name, by=request.user, slug=slug) as load:
                if "load" in request.POST:
                    loaded = _load_season_from_form(request, load, season)
                else:
                    loaded, context["rehearsal"] = _simulate_season_load(load, season)
        except InputRefused as refused:
            problems, more = select_problems_to_list(refused.problems)
            context |= {"problems": problems, "more": more}
            status = 422
        except (UnknownDecisionKey, UnequalPublicParts) as refused:
            form.add_error(None, format_as_sentence(refused))
        except UndecidedLoadConflicts as left:
            with form.reader(name, by=request.user, slug=slug) as load:
                context |= {
                    "plan": load(dry_run=True),
                    "undecided": format_as_sentence(left),
                }
            status = 409
        else:
            if "load" in request.POST:
                message = _("The season is as the file says; nothing has changed.")
                if loaded.changes:
                    message = _("Loaded: %(changes)s.") % {
                        "changes": "; ".join(loaded.changes)
                    }
                messages.success(request, message)
                if name:
                    storage.gold_file_storage.delete(name)
                return redirect("organise-file", loaded.season.slug)
            context["plan"] = loaded
        context["text"] = form.content.decode("utf-8", "replace")
        kept = {"owner": owner, "name": name}
        context["stored"] = (
            signing.dumps(kept, salt=STORED_ZIP_SIGNING_SALT) if name else ""
        )
    return render(
        request, "organise/file.html", context, status=422 if form.errors else status
    )


def _simulate_season_load(
    load: Callable[..., SeasonLoadResult], season: Season | None
) -> tuple[SeasonLoadResult, Rehearsal | None]:
    loaded = load(dry_run=True)
    return loaded, None if loaded.conflicts else rehearse_season_load(season, load)


def _load_season_from_form(
    request: pages.SignedInRequest,
    load: Callable[..., SeasonLoadResult],
    season: Season | None,
) -> SeasonLoadResult:
    chosen: dict[str, set[str]] = {"apply": set(), "keep": set()}
    for name, value in request.POST.items():
        if name.startswith(DECISION_FIELD_PREFIX) and value in chosen:
            chosen[str(value)].add(name.removeprefix(DECISION_FIELD_PREFIX))
    decisions = {name: frozenset(keys) for name, keys in chosen.items()}
    load = partial(load, decisions=ConflictDecisions(**decisions))
    if season is None:
        return load()
    # Read the zip before the transaction of the rehearsal begins.
    load(dry_run=True)
    loaded: SeasonLoadResult = perform_confirmed_callable(
        season, request.user, load, pages.read_action_confirmation(request)
    )
    return loaded


create_season_from_preset = pages.build_form_view(
    CREATE_SEASON_FROM_PRESET,
    "organise/preset.html",
    pages=pages.PageDecorators(
        presets.get_preset_or_404, "preset", context=lambda preset: {"preset": preset}
    ),
    then=lambda request, preset, season: redirect("organise-launch", season.slug),
)
