"""API operations for a season's settings, gold, and new seasons.

API clients change settings by their keys in the season file, or send a whole season
file.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from django.db.models import QuerySet
from django.http import Http404
from drf_spectacular.utils import OpenApiResponse
from rest_framework import exceptions, serializers
from rest_framework.request import Request
from rest_framework.response import Response

from citeboard.acts.baselines import COMPUTE_BASELINES
from citeboard.acts.declared import build_season_row_lookup
from citeboard.acts.declaring import CHANGE_DECLARED_TASK, CREATE_DECLARED_TASK
from citeboard.acts.gold import DELETE_GOLD, PUBLISH_GOLD, SEAL_GOLD
from citeboard.acts.launching import COMPUTE_FIRST_BASELINES, SEND_TEST_MAIL
from citeboard.acts.new_seasons import CLONE_SEASON, CREATE_SEASON_FROM_PRESET
from citeboard.acts.rehearsal import (
    perform_confirmed_action,
    perform_confirmed_callable,
    rehearse_season_load,
    rehearse_user_action,
)
from citeboard.acts.rescoring import (
    CANCEL_PHASE_RESCORING,
    REDRAW_PUBLIC_PART,
    RESCORE_PHASE,
    RESCORE_RUN,
    RESCORE_SEASON,
)
from citeboard.acts.season_settings import (
    CHANGE_SEASON_SETTINGS,
    DELETE_PHASE,
    DELETE_TASK,
)
from citeboard.api import operations
from citeboard.api.seasons import organised_phase_or_404
from citeboard.api.serializers import (
    JsonObjectField,
    RejectedRun,
    build_dataclass_serializer,
    build_model_serializer,
    build_serializer,
    build_text_list_field,
    split_comma_separated_names,
)
from citeboard.core.api import NOT_FOUND_RESPONSE
from citeboard.core.refusals import ActionRefused
from citeboard.ops.pruning import delete_season
from citeboard.teams.api import require_signed_in_user
from citeboard.teams.models import User
from scoring.worker.rescoring import RescoringProgress, compute_rescoring_progress
from tasks.models import Gold, Phase, Season, Task
from tasks.seasons.access import get_organised_season_or_404, require_season_creator
from tasks.seasons.file.entries import SEASON_KEY_PREFIX, load_rows_by_key_prefix
from tasks.seasons.file.load import Fault, SeasonLoadResult, load_season_from_text
from tasks.seasons.file.plan import ConflictDecisions, collect_current_settings
from tasks.seasons.file.sent import ZIP_SIGNATURE, open_season_zip
from tasks.submissions.uploads import receive_upload

SettingDifferenceSerializer = build_serializer(
    "Difference",
    "A setting in which the file differs from the site.",
    key=(str, "Such as tasks.1a.phases.final.closes."),
    site=serializers.JSONField(help_text="What the site has, before it is changed."),
    file=serializers.JSONField(help_text="What the file says."),
    last=serializers.JSONField(
        required=False,
        help_text="What the file said when it was last loaded; left out where it never was.",
    ),
)
ChangedSettingsFormSerializer = build_serializer(
    "SettingsForm",
    "Settings by their keys; what is left out stays as it is.",
    settings=JsonObjectField(
        help_text="An object such as {“tasks.1a.phases.final.closes”: “2026-05-01 23:59 AoE”}. null takes a "
        "setting back to its default. Keys of a task or phase that is not there make one."
    ),
)
SeasonSettingsSerializer = build_serializer(
    "Settings",
    "All settings as they are now.",
    settings=serializers.DictField(child=serializers.JSONField()),
)
SettingChangesSerializer = build_serializer(
    "Changed",
    "What was changed.",
    changes=list[str],
    differences=SettingDifferenceSerializer(many=True),
)
SettingFaultSerializer = build_dataclass_serializer(
    Fault, "What is wrong with a setting.", key="Empty where it is no single one."
)
SettingFaultsSerializer = build_serializer(
    "Faults",
    "Nothing was changed.",
    detail=str,
    faults=SettingFaultSerializer(many=True),
)
SETTINGS_REFUSED_RESPONSE = OpenApiResponse(
    SettingFaultsSerializer,
    "Refused, with every setting that is wrong; nothing has changed.",
)


@operations.get(
    "seasons/<slug:slug>/settings/",
    role=get_organised_season_or_404,
    answers=SeasonSettingsSerializer,
)
def settings(request: Request, season: Season) -> dict[str, Any]:
    """Return the settings of a season, for the season's organisers."""
    return {"settings": collect_current_settings(season)}


operations.register_action_operation(
    CHANGE_SEASON_SETTINGS,
    "seasons/<slug:slug>/settings/",
    form=ChangedSettingsFormSerializer,
    takes=lambda request, season, sent: {"values": sent["settings"]},
    gives=lambda request, loaded: {
        "changes": loaded.changes,
        "differences": [row.as_json() for row in loaded.differences],
    },
    answers=SettingChangesSerializer,
    responses={422: SETTINGS_REFUSED_RESPONSE},
)


@operations.delete(
    "seasons/<slug:slug>/settings/<str:prefix>/",
    role=get_organised_season_or_404,
    rest=["prefix"],
    takes_dry_runs=True,
    parameters=[operations.DRY_RUN_PARAMETER],
    responses={200: operations.RehearsalSerializer},
    name="settings-row",
)
def delete_settings(request: Request, season: Season, prefix: str) -> Response | None:
    """Delete a task (such as `tasks.1a`), a phase without runs, or a draft (`season`),
    for organisers.
    """
    row = (
        season
        if prefix == SEASON_KEY_PREFIX
        else load_rows_by_key_prefix(season, held=False).get(prefix)
    )
    if isinstance(row, Season):
        operations.is_dry_run(request, is_rehearsed=False)
        delete_season(season=row, by=require_signed_in_user(request))
        return None
    if not isinstance(row, Task | Phase):
        raise Http404("The season has no task or phase of this name.")
    act = DELETE_TASK if isinstance(row, Task) else DELETE_PHASE
    if operations.is_dry_run(request):
        return Response(
            operations.RehearsalSerializer(
                rehearse_user_action(act, row, require_signed_in_user(request), {})
            ).data
        )
    perform_confirmed_action(
        act,
        row,
        require_signed_in_user(request),
        {},
        operations.read_confirmation(request),
    )
    return None


operations.register_creating_action(
    CREATE_SEASON_FROM_PRESET,
    "new-season/<slug:preset>/",
    "season_from_preset",
    answers=build_model_serializer(Season, "The draft.", "slug title", "Made"),
    responses={422: SETTINGS_REFUSED_RESPONSE},
    name="new-season-preset",
)


def _check_season_slug_is_new(
    request: Request, season: Season, sent: Mapping[str, Any]
) -> Mapping[str, Any]:
    if Season.objects.filter(slug=sent["slug"]).exists():
        raise ActionRefused(f"There is a season “{sent['slug']}” already.")
    return sent


operations.register_creating_action(
    CLONE_SEASON,
    "seasons/<slug:slug>/clone/",
    "clone",
    takes=_check_season_slug_is_new,
    answers=build_model_serializer(Season, "The draft.", "slug title", "Cloned"),
    responses={
        422: OpenApiResponse(
            RejectedRun, "The name or the title was refused; nothing was made."
        )
    },
)


class SeasonFileForm(serializers.Serializer[Any]):
    """A season file, or an archive season.zip. A season file alone leaves gold and
    other files unchanged.
    """

    file = serializers.FileField(
        max_length=200, help_text="season.toml, at most 1 MB, or season.zip."
    )
    apply = build_text_list_field(
        "Keys that were changed on the site and take what the file says; all for every key.",
        required=False,
    )
    keep = build_text_list_field("Keys that stay as the site has them.", required=False)

    def validate_file(self, file: Any) -> Any:
        is_zip = file.read(len(ZIP_SIGNATURE)) == ZIP_SIGNATURE
        file.seek(0)
        if file.size > 1 << 20 and not is_zip:
            raise serializers.ValidationError("The file is larger than 1 MB.")
        return file


LoadedSeasonSerializer = build_serializer(
    "Loaded",
    "What was changed, or of a dry run what would be.",
    season=str,
    dry_run=bool,
    changes=list[str],
    differences=SettingDifferenceSerializer(many=True),
    conflicts=SettingDifferenceSerializer(
        many=True,
        help_text="Of a dry run: what was changed on the site since the file was last loaded.",
    ),
    notices=list[str],
    rehearsal=operations.RehearsalSerializer(
        allow_null=True,
        help_text="Of a dry run that leaves no conflict: what would follow.",
    ),
)
SeasonFileConflictsSerializer = build_serializer(
    "Conflicts",
    "Nothing was loaded, since it would undo what was changed on the site.",
    detail=str,
    conflicts=SettingDifferenceSerializer(many=True),
)
SEASON_NOT_LOADED_RESPONSES = {
    409: SeasonFileConflictsSerializer,
    422: OpenApiResponse(RejectedRun, "The file was refused; nothing has changed."),
}


@operations.post(
    "seasons/<slug:slug>/file/",
    role=get_organised_season_or_404,
    form=SeasonFileForm,
    answers=LoadedSeasonSerializer,
    responses=SEASON_NOT_LOADED_RESPONSES,
    parameters=[operations.DRY_RUN_PARAMETER],
    takes_dry_runs=True,
    is_upload=True,
    operation_id="season-file",
)
def load_season(request: Request, season: Season, form: dict[str, Any]) -> Response:
    """Change an existing season by its season file, for organisers."""
    return _load_season_file_response(request, season, form)


@operations.post(
    "new-season/",
    role=require_season_creator,
    lets_out=True,
    form=SeasonFileForm,
    answers=LoadedSeasonSerializer,
    responses={404: NOT_FOUND_RESPONSE, **SEASON_NOT_LOADED_RESPONSES},
    parameters=[operations.DRY_RUN_PARAMETER],
    takes_dry_runs=True,
    is_upload=True,
    operation_id="new-season",
)
def new_season(request: Request, creator: User, form: dict[str, Any]) -> Response:
    """Create a season from its season file, for staff."""
    return _load_season_file_response(request, None, form)


@contextmanager
def _open_season_reader(
    file: Any, *, by: User, slug: str
) -> Iterator[Callable[..., SeasonLoadResult]]:
    if file.read(len(ZIP_SIGNATURE)) != ZIP_SIGNATURE:
        file.seek(0)
        yield partial(load_season_from_text, file.read(), by=by, slug=slug)
        return
    file.seek(0)
    with (
        receive_upload(file) as upload,
        open_season_zip(upload.path, upload.filename, by=by, slug=slug) as load,
    ):
        yield load


def _load_season_file_response(
    request: Request, season: Season | None, form: dict[str, Any]
) -> Response:
    decisions = ConflictDecisions(
        frozenset(form.get("apply", ())), frozenset(form.get("keep", ()))
    )
    slug = season.slug if season else ""
    rehearsal, is_dry_run = None, operations.is_dry_run(request)
    with _open_season_reader(
        form["file"], by=require_signed_in_user(request), slug=slug
    ) as read:
        load = partial(read, decisions=decisions)
        if season is None or is_dry_run:
            loaded = load(dry_run=is_dry_run)
            rehearsal = rehearse_season_load(season, load) if is_dry_run else None
        else:
            # The zip file is read before the transaction of the rehearsal begins.
            load(dry_run=True)
            loaded = perform_confirmed_callable(
                season,
                require_signed_in_user(request),
                load,
                operations.read_confirmation(request),
            )
    return Response(
        {
            "season": loaded.season.slug,
            "dry_run": is_dry_run,
            "changes": loaded.changes,
            "differences": [row.as_json() for row in loaded.differences],
            "conflicts": [row.as_json() for row in loaded.conflicts],
            "notices": loaded.notices,
            "rehearsal": rehearsal and operations.RehearsalSerializer(rehearsal).data,
        }
    )


GoldVersionSerializer = build_model_serializer(
    Gold,
    "A version of a split's gold; a version never changes.",
    "id number split sha256 plain_sha256 digest_rule nonce reading_version instances rows reason sealed_at "
    "created_at",
    "GoldVersion",
    sha256=serializers.CharField(
        source="digest", help_text="The public key of the gold."
    ),
    plain_sha256=serializers.CharField(
        source="plain_digest",
        help_text="The SHA-256 of the content, as `score` prints it; as secret as the gold.",
    ),
    nonce=serializers.CharField(
        help_text="The nonce of the HMAC that is the public key; as secret as the gold."
    ),
)
GoldQuery = build_serializer(
    "GoldQuery",
    None,
    split=serializers.CharField(
        required=False, allow_blank=True, help_text="This split's alone."
    ),
)
task_to_organise_or_404 = build_season_row_lookup("task", get_organised_season_or_404)


@operations.get(
    "tasks/<int:pk>/gold/",
    role=task_to_organise_or_404,
    query=GoldQuery,
    pages=GoldVersionSerializer,
)
def gold(request: Request, task: Task, query: dict[str, Any]) -> QuerySet[Gold]:
    """List the versions of a task's gold, newest first, for organisers."""
    versions = Gold.objects.filter(task=task).order_by("-created_at", "-pk")
    return versions.filter(split=query["split"]) if query.get("split") else versions


def _assign_gold_to_split(
    request: Request, task: Task, sent: Mapping[str, Any]
) -> dict[str, Any]:
    slugs, split = (
        split_comma_separated_names(sent["also"]),
        _find_requested_split(task, sent["split"]),
    )
    others = {
        other.slug: other
        for other in Task.objects.filter(season=task.season).exclude(pk=task.pk)
    }
    if unknown := [slug for slug in slugs if slug not in others]:
        raise exceptions.ValidationError(
            {"also": [f"The season has no other task {', '.join(unknown)}."]}
        )
    splits = [
        (task, split),
        *((others[slug], _find_requested_split(others[slug], split)) for slug in slugs),
    ]
    names = ("file", "reason", "again", "encoding", "read_again")
    return {name: sent.get(name) for name in names} | {"splits": splits}


def _find_requested_split(task: Task, named: str) -> str:
    splits = sorted(
        set(Phase.objects.filter(task=task).values_list("split", flat=True))
    )
    if not named and len(splits) == 1:
        return splits[0]
    if named not in splits:
        message = f"Phases of this task have {', '.join(splits) or 'none'}."
        raise exceptions.ValidationError({"split": [message]})
    return named


operations.register_action_operation(
    PUBLISH_GOLD,
    "tasks/<int:pk>/gold/",
    "publish_gold",
    role=task_to_organise_or_404,
    takes=_assign_gold_to_split,
    gives=lambda request, made: Response(
        GoldVersionSerializer(made[0].gold).data,
        status=201 if any(new.is_new for new in made) else 200,
    ),
    answers=GoldVersionSerializer,
    responses={
        200: OpenApiResponse(
            GoldVersionSerializer,
            "This is the newest version already; nothing changes.",
        ),
        201: OpenApiResponse(
            GoldVersionSerializer, "The new version; runs are being scored against it."
        ),
        422: OpenApiResponse(
            RejectedRun, "The file is no gold of this task; nothing was kept."
        ),
    },
    is_upload=True,
)
FILE_REFUSED_RESPONSE = OpenApiResponse(
    RejectedRun, "The gold or the declaration was refused; nothing was kept."
)
operations.register_creating_action(
    CREATE_DECLARED_TASK,
    "seasons/<slug:slug>/declared-tasks/",
    "declare_task",
    answers=build_model_serializer(Task, "The task.", "id slug title", "DeclaredTask"),
    responses={422: FILE_REFUSED_RESPONSE},
    is_upload=True,
)
TaskDeclarationSerializer = build_serializer(
    "Declaration",
    "The files of a declared task's folder.",
    files=(dict[str, str], "Their texts, by name."),
)
ChangedDeclarationSerializer = build_serializer(
    "DeclaredAnew", "What follows.", is_scored_again=bool
)


@operations.get(
    "tasks/<int:pk>/declaration/",
    role=task_to_organise_or_404,
    answers=TaskDeclarationSerializer,
)
def declaration(request: Request, task: Task) -> dict[str, Any]:
    """Return the declaration files of a declared task, for organisers."""
    if task.declaration is None:
        raise Http404("The task is a built-in type.")
    return {"files": task.declaration.files}


operations.register_action_operation(
    CHANGE_DECLARED_TASK,
    "tasks/<int:pk>/declaration/",
    "declare_anew",
    role=task_to_organise_or_404,
    gives=lambda request, again: {"is_scored_again": again},
    answers=ChangedDeclarationSerializer,
    responses={422: FILE_REFUSED_RESPONSE},
)
operations.register_action_operation(
    SEAL_GOLD,
    "gold/<int:pk>/seal/",
    answers=GoldVersionSerializer,
    name="seal-gold",
)
operations.register_action_operation(
    DELETE_GOLD, "gold/<int:pk>/delete/", name="delete-gold"
)
RescoringProgressSerializer = build_dataclass_serializer(
    RescoringProgress,
    "How far the runs of a phase are scored against its newest gold.",
    "Rescoring",
    phase=serializers.IntegerField(source="phase.pk"),
    gold=None,
    left="Still to be scored.",
    order=None,
    is_moving=serializers.BooleanField(),
)
QueuedScoringsSerializer = build_serializer(
    "Queued",
    "What was put into the queue.",
    queued=(int, "0 where all of it was there or under way."),
)


@operations.get(
    "phases/<int:pk>/rescore/",
    role=organised_phase_or_404,
    answers=RescoringProgressSerializer,
)
def rescoring(request: Request, phase: Phase) -> RescoringProgress:
    """Return the number of a phase's runs that are scored on the newest gold, for
    organisers.
    """
    return compute_rescoring_progress(phase)


operations.register_action_operation(
    RESCORE_PHASE,
    "phases/<int:pk>/rescore/",
    "rescore",
    gives=lambda request, order: compute_rescoring_progress(order.phase),
    answers=RescoringProgressSerializer,
)
operations.register_action_operation(
    CANCEL_PHASE_RESCORING,
    "phases/<int:pk>/rescore/stop/",
    "stop_rescoring",
    gives=lambda request, made: compute_rescoring_progress(made[0]),
    answers=RescoringProgressSerializer,
)
PublicPartDrawSerializer = build_model_serializer(
    Phase,
    "The draw of the public part of a phase.",
    "id public_part commitment",
    "Draw",
    commitment=serializers.CharField(
        source="draw_commitment", help_text="The SHA-256 that fixes the draw."
    ),
)
operations.register_action_operation(
    REDRAW_PUBLIC_PART,
    "phases/<int:pk>/draw/",
    "draw_again",
    answers=PublicPartDrawSerializer,
)
register_queueing_action = partial(
    operations.register_action_operation,
    gives=lambda request, made: {"queued": made},
    answers=QueuedScoringsSerializer,
)
register_queueing_action(
    RESCORE_SEASON, "seasons/<slug:slug>/rescore/", "rescore_season"
)
register_queueing_action(RESCORE_RUN, "submissions/<int:pk>/rescore/", "rescore_run")
register_queueing_action(
    COMPUTE_FIRST_BASELINES,
    "seasons/<slug:slug>/launch/baselines/",
    "compute_first_baselines",
)
register_queueing_action(
    COMPUTE_BASELINES, "phases/<int:pk>/baselines/", "compute_baselines"
)
operations.register_deleting_action(DELETE_TASK, "tasks/<int:pk>/", name="task")
operations.register_deleting_action(DELETE_PHASE, "phases/<int:pk>/", name="phase")
operations.register_action_operation(SEND_TEST_MAIL, "seasons/<slug:slug>/launch/mail/")
