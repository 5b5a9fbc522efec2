"""A season's settings by the keys of its file or by the file itself; its gold; new seasons."""

from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet
from django.http import Http404
from drf_spectacular.utils import OpenApiResponse
from rest_framework import exceptions, serializers
from rest_framework.request import Request
from rest_framework.response import Response

from citeboard.core.api import ABSENT
from citeboard.core.refusals import Refused
from citeboard.teams.api import person
from citeboard.teams.models import User
from scoring.acts.declared import numbered
from scoring.acts.seasons import CLONE, CloneForm
from scoring.api.operations import delete, get, post
from scoring.api.serializers import (
    ObjectField,
    RejectedRun,
    form_of,
    mirror,
    mirror_of_model,
    optional_text,
    text_list,
)
from scoring.ops.pruning import delete_season
from scoring.worker.rescoring import publish_gold as publish
from tasks.models import Gold, Phase, Season, Task
from tasks.seasons.access import creator_of_seasons, season_to_organise
from tasks.seasons.file.entries import SEASON, rows_of
from tasks.seasons.file.load import Fault, load_season_text
from tasks.seasons.file.load import change_settings as change
from tasks.seasons.file.plan import Decisions, settings_now
from tasks.seasons.history import delete_phase, delete_task
from tasks.seasons.presets import Preset, preset_for, season_from
from tasks.submissions.refusals import RunUnusable
from tasks.submissions.uploads import received
from tasks.types import InputRefused, Problem
from tasks.types.problems import capped


class DifferenceSerializer(serializers.Serializer[Any]):
    """A setting in which the file differs from the site."""

    key = serializers.CharField(help_text="Such as tasks.1a.phases.final.closes.")
    site = serializers.JSONField(help_text="What the site has, before it is changed.")
    file = serializers.JSONField(help_text="What the file says.")
    last = serializers.JSONField(
        required=False, help_text="What the file said when it was last loaded; left out where it never was."
    )


class SettingsForm(serializers.Serializer[Any]):
    """Settings by their keys; what is left out stays as it is."""

    settings = ObjectField(
        help_text="An object such as {“tasks.1a.phases.final.closes”: “2026-05-01 23:59 AoE”}. null takes a "
        "setting back to its default. Keys of a task or phase that is not there make one."
    )


class SettingsSerializer(serializers.Serializer[Any]):
    """All settings as they are now."""

    settings = serializers.DictField(child=serializers.JSONField())


class ChangedSerializer(serializers.Serializer[Any]):
    """What was changed."""

    changes = serializers.ListField(child=serializers.CharField())
    differences = DifferenceSerializer(many=True)


FaultSerializer = mirror(
    "Fault", Fault, "What is wrong with a setting.", key="Empty where it is no single one."
)


class FaultsSerializer(serializers.Serializer[Any]):
    """Nothing was changed."""

    detail = serializers.CharField()
    faults = FaultSerializer(many=True)


REFUSED = OpenApiResponse(FaultsSerializer, "Refused, with every setting that is wrong; nothing has changed.")


@get("seasons/<slug:slug>/settings/", of=season_to_organise, answers=SettingsSerializer)
def settings(request: Request, season: Season) -> dict[str, Any]:
    """The settings of a season; for its organisers."""
    return {"settings": settings_now(season)}


@post(
    "seasons/<slug:slug>/settings/",
    of=season_to_organise,
    form=SettingsForm,
    answers=ChangedSerializer,
    responses={422: REFUSED},
)
def change_settings(request: Request, season: Season, form: dict[str, Any]) -> dict[str, Any]:
    """Change settings, or add a task or a phase; for organisers."""
    loaded = change(season=season, values=form["settings"], by=person(request))
    return {"changes": loaded.changes, "differences": [row.as_json() for row in loaded.differences]}


@delete("seasons/<slug:slug>/settings/<str:prefix>/", of=season_to_organise, name="settings-row")
def delete_settings(request: Request, season: Season, prefix: str) -> None:
    """Delete a task, such as tasks.1a, or a phase without runs, or (season) a draft; for organisers."""
    row = season if prefix == SEASON else rows_of(season, held=False).get(prefix)
    if isinstance(row, Season):
        delete_season(season=row, by=person(request))
    elif isinstance(row, Task):
        delete_task(task=row, by=person(request))
    elif isinstance(row, Phase):
        delete_phase(phase=row, by=person(request))
    else:
        raise Http404("The season has no task or phase of this name.")


class PresetForm(serializers.Serializer[Any]):
    """A season that is made from a preset."""

    title = serializers.CharField(max_length=120)
    slug = serializers.CharField(max_length=60, help_text="Small letters, digits and single hyphens.")
    task_type = serializers.CharField(help_text="A task type, such as clsumm-1a.")
    time_zone = serializers.CharField(required=False, default="UTC", help_text="Such as Europe/Rome or AoE.")
    dates = ObjectField(
        help_text="When it begins and ends, such as {“opens”: “2026-05-01 00:00”}; each preset says which."
    )

    def validate_dates(self, value: dict[str, Any]) -> dict[str, Any]:
        if not all(isinstance(text, str) for text in value.values()):
            raise serializers.ValidationError("Give an object with a date and time for each name.")
        return value


@post(
    "new-season/<slug:preset>/",
    of=preset_for,
    form=PresetForm,
    answers=mirror_of_model("Made", Season, "The draft.", "slug title"),
    status=201,
    responses={422: REFUSED},
    name="new-season-preset",
)
def season_from_preset(request: Request, preset: Preset, form: dict[str, Any]) -> Season:
    """Create a season from a preset: semeval, trec or open; for staff."""
    return season_from(preset=preset, by=person(request), **form)


@post(
    "seasons/<slug:slug>/clone/",
    of=season_to_organise,
    form=form_of(CloneForm),
    answers=mirror_of_model("Cloned", Season, "The draft.", "slug title"),
    status=201,
    responses={422: OpenApiResponse(RejectedRun, "The name or the title was refused; nothing was made.")},
)
def clone(request: Request, season: Season, form: dict[str, Any]) -> Any:
    """Make next year's season: its tasks and phases, later, without people, gold and runs."""
    if Season.objects.filter(slug=form["slug"]).exists():
        raise Refused(f"There is a season “{form['slug']}” already.")
    try:
        return CLONE(season, person(request), **form)
    except InputRefused as refused:
        raise FileRefused(refused.problems) from refused


class FileRefused(RunUnusable):
    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("the file is refused")
        self.problems, self.more = capped(problems)


class SeasonFileForm(serializers.Serializer[Any]):
    """A season file alone: gold and other files that it names stay as the site has them."""

    file = serializers.FileField(max_length=200, help_text="season.toml, at most 1 MB.")
    apply = text_list(
        "Keys that were changed in the site and take what the file says; all for every key.", required=False
    )
    keep = text_list("Keys that stay as the site has them.", required=False)
    dry_run = serializers.BooleanField(
        required=False, default=False, help_text="Say what would be changed, and change nothing."
    )

    def validate_file(self, file: Any) -> Any:
        if file.size > 1 << 20:
            raise serializers.ValidationError("The file is larger than 1 MB.")
        return file


class LoadedSerializer(serializers.Serializer[Any]):
    """What was changed, or of a dry run what would be."""

    season = serializers.CharField()
    dry_run = serializers.BooleanField()
    changes = serializers.ListField(child=serializers.CharField())
    differences = DifferenceSerializer(many=True)
    conflicts = DifferenceSerializer(
        many=True, help_text="Of a dry run: what was changed in the site since the file was last loaded."
    )
    notices = serializers.ListField(child=serializers.CharField())


class ConflictsSerializer(serializers.Serializer[Any]):
    """Nothing was loaded, since it would undo what was changed in the site."""

    detail = serializers.CharField()
    conflicts = DifferenceSerializer(many=True)


UNLOADED = {
    409: ConflictsSerializer,
    422: OpenApiResponse(RejectedRun, "The file was refused; nothing has changed."),
}


@post(
    "seasons/<slug:slug>/file/",
    of=season_to_organise,
    form=SeasonFileForm,
    answers=LoadedSerializer,
    responses=UNLOADED,
    operation_id="season-file",
)
def load_season(request: Request, season: Season, form: dict[str, Any]) -> Response:
    """Load a season from its file; for its organisers."""
    return _loaded(request, season.slug, form)


@post(
    "new-season/",
    of=creator_of_seasons,
    lets_out=True,
    form=SeasonFileForm,
    answers=LoadedSerializer,
    responses={404: ABSENT, **UNLOADED},
    operation_id="new-season",
)
def new_season(request: Request, creator: User, form: dict[str, Any]) -> Response:
    """Create a season from its file; for staff."""
    return _loaded(request, "", form)


def _loaded(request: Request, slug: str, form: dict[str, Any]) -> Response:
    try:
        loaded = load_season_text(
            form["file"].read(),
            by=person(request),
            slug=slug,
            decisions=Decisions(frozenset(form.get("apply", ())), frozenset(form.get("keep", ()))),
            dry_run=form["dry_run"],
        )
    except InputRefused as refused:
        raise FileRefused(refused.problems) from refused
    return Response(
        {
            "season": loaded.season.slug,
            "dry_run": form["dry_run"],
            "changes": loaded.changes,
            "differences": [row.as_json() for row in loaded.differences],
            "conflicts": [row.as_json() for row in loaded.conflicts],
            "notices": loaded.notices,
        }
    )


MAX_REASON, MAX_SPLIT = 500, 100

GoldVersionSerializer = mirror_of_model(
    "GoldVersion",
    Gold,
    "A version of a split's gold; a version never changes.",
    "number split sha256 instances reason created_at",
    sha256=serializers.CharField(source="digest"),
)


class GoldQuery(serializers.Serializer[Any]):
    split = serializers.CharField(required=False, allow_blank=True, help_text="This split's alone.")


class GoldForm(serializers.Serializer[Any]):
    """Gold to be published."""

    file = serializers.FileField(help_text="The gold as the task type reads it: a file, or a zip of files.")
    reason = serializers.CharField(
        max_length=MAX_REASON, help_text="What is new or was corrected; teams read it."
    )
    split = optional_text(MAX_SPLIT, "Needed where the task's phases have several.")
    also = optional_text(
        None,
        "Slugs of other tasks of the season with commas between: the file is their gold too, of the split of "
        "the same name.",
    )
    again = serializers.BooleanField(
        required=False, default=False, help_text="Publish what an earlier version holds once more."
    )


task_to_organise = numbered("task", season_to_organise)


@get("tasks/<int:pk>/gold/", of=task_to_organise, query=GoldQuery, pages=GoldVersionSerializer)
def gold(request: Request, task: Task, query: dict[str, Any]) -> QuerySet[Gold]:
    """The versions of a task's gold, newest first; for organisers."""
    versions = Gold.objects.filter(task=task).order_by("-created_at", "-pk")
    return versions.filter(split=query["split"]) if query.get("split") else versions


@post(
    "tasks/<int:pk>/gold/",
    of=task_to_organise,
    lets_out=True,
    form=GoldForm,
    answers=GoldVersionSerializer,
    responses={
        200: OpenApiResponse(GoldVersionSerializer, "This is the newest version already; nothing changes."),
        201: OpenApiResponse(GoldVersionSerializer, "The new version; runs are being scored against it."),
        422: OpenApiResponse(RejectedRun, "The file is no gold of this task; nothing was kept."),
    },
    is_upload=True,
)
def publish_gold(request: Request, task: Task, form: dict[str, Any]) -> Response:
    """Publish a new version of the gold; every run is scored against it."""
    split = _split(task, form["split"])
    slugs = list(dict.fromkeys(slug.strip() for slug in form["also"].split(",") if slug.strip()))
    others = {other.slug: other for other in Task.objects.filter(season=task.season).exclude(pk=task.pk)}
    if unknown := [slug for slug in slugs if slug not in others]:
        raise exceptions.ValidationError({"also": [f"The season has no other task {', '.join(unknown)}."]})
    splits = [(task, split), *((others[slug], _split(others[slug], split)) for slug in slugs)]
    with received(form["file"]) as upload:
        made = publish(
            splits=splits, upload=upload, reason=form["reason"], by=person(request), again=form["again"]
        )
    status = 201 if any(version.is_new for version in made) else 200
    return Response(GoldVersionSerializer(made[0].gold).data, status=status)


def _split(task: Task, named: str) -> str:
    """The split that is named, or the only one that a phase of the task scores with."""
    splits = sorted(set(Phase.objects.filter(task=task).values_list("split", flat=True)))
    if not named and len(splits) == 1:
        return splits[0]
    if named not in splits:
        raise exceptions.ValidationError(
            {"split": [f"Phases of this task have {', '.join(splits) or 'none'}."]}
        )
    return named
