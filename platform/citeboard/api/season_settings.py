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
from citeboard.acts.declared import numbered
from citeboard.acts.declaring import DECLARE, DECLARE_ANEW
from citeboard.acts.gold import DELETE_GOLD, PUBLISH_GOLD, SEAL_GOLD
from citeboard.acts.launching import COMPUTE_FIRST, TEST_MAIL
from citeboard.acts.new_seasons import CLONE, FROM_PRESET
from citeboard.acts.rehearsal import done, perform, rehearsed, rehearsed_load
from citeboard.acts.rescoring import (
    DRAW_AGAIN,
    RESCORE,
    RESCORE_RUN,
    RESCORE_SEASON,
    STOP_RESCORING,
)
from citeboard.acts.season_settings import CHANGE_SETTINGS, DELETE_PHASE, DELETE_TASK
from citeboard.api import operations
from citeboard.api.seasons import phase_to_organise
from citeboard.api.serializers import (
    ObjectField,
    RejectedRun,
    build_serializer,
    serializer_for_dataclass,
    serializer_for_model,
    split_names,
    text_list_field,
)
from citeboard.core.api import NOT_FOUND_RESPONSE
from citeboard.core.refusals import Refused
from citeboard.ops.pruning import delete_season
from citeboard.teams.api import signed_in_user
from citeboard.teams.models import User
from scoring.worker.rescoring import RescoringProgress, rescoring_progress
from tasks.models import Gold, Phase, Season, Task
from tasks.seasons.access import require_season_creator, season_to_organise
from tasks.seasons.file.entries import SEASON_PREFIX, rows_by_prefix
from tasks.seasons.file.load import Fault, LoadResult, load_season_text
from tasks.seasons.file.plan import ConflictDecisions, current_settings
from tasks.seasons.file.sent import ZIP_SIGNATURE, open_season_zip
from tasks.submissions.uploads import receive_upload

DifferenceSerializer = build_serializer(
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
SettingsForm = build_serializer(
    "SettingsForm",
    "Settings by their keys; what is left out stays as it is.",
    settings=ObjectField(
        help_text="An object such as {“tasks.1a.phases.final.closes”: “2026-05-01 23:59 AoE”}. null takes a "
        "setting back to its default. Keys of a task or phase that is not there make one."
    ),
)
SettingsSerializer = build_serializer(
    "Settings",
    "All settings as they are now.",
    settings=serializers.DictField(child=serializers.JSONField()),
)
ChangedSerializer = build_serializer(
    "Changed",
    "What was changed.",
    changes=list[str],
    differences=DifferenceSerializer(many=True),
)
FaultSerializer = serializer_for_dataclass(
    Fault, "What is wrong with a setting.", key="Empty where it is no single one."
)
FaultsSerializer = build_serializer(
    "Faults", "Nothing was changed.", detail=str, faults=FaultSerializer(many=True)
)
SETTINGS_REFUSED_RESPONSE = OpenApiResponse(
    FaultsSerializer, "Refused, with every setting that is wrong; nothing has changed."
)


@operations.get(
    "seasons/<slug:slug>/settings/", role=season_to_organise, answers=SettingsSerializer
)
def settings(request: Request, season: Season) -> dict[str, Any]:
    """Return the settings of a season, for the season's organisers."""
    return {"settings": current_settings(season)}


operations.register_act_operation(
    CHANGE_SETTINGS,
    "seasons/<slug:slug>/settings/",
    form=SettingsForm,
    takes=lambda request, season, sent: {"values": sent["settings"]},
    gives=lambda request, loaded: {
        "changes": loaded.changes,
        "differences": [row.as_json() for row in loaded.differences],
    },
    answers=ChangedSerializer,
    responses={422: SETTINGS_REFUSED_RESPONSE},
)


@operations.delete(
    "seasons/<slug:slug>/settings/<str:prefix>/",
    role=season_to_organise,
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
        if prefix == SEASON_PREFIX
        else rows_by_prefix(season, held=False).get(prefix)
    )
    if isinstance(row, Season):
        operations.is_dry_run(request, is_rehearsed=False)
        delete_season(season=row, by=signed_in_user(request))
        return None
    if not isinstance(row, Task | Phase):
        raise Http404("The season has no task or phase of this name.")
    act = DELETE_TASK if isinstance(row, Task) else DELETE_PHASE
    if operations.is_dry_run(request):
        return Response(
            operations.RehearsalSerializer(
                rehearsed(act, row, signed_in_user(request), {})
            ).data
        )
    perform(
        act,
        row,
        signed_in_user(request),
        {},
        operations.confirmation_in_request(request),
    )
    return None


operations.makes(
    FROM_PRESET,
    "new-season/<slug:preset>/",
    "season_from_preset",
    answers=serializer_for_model(Season, "The draft.", "slug title", "Made"),
    responses={422: SETTINGS_REFUSED_RESPONSE},
    name="new-season-preset",
)


def _check_new_slug(
    request: Request, season: Season, sent: Mapping[str, Any]
) -> Mapping[str, Any]:
    if Season.objects.filter(slug=sent["slug"]).exists():
        raise Refused(f"There is a season “{sent['slug']}” already.")
    return sent


operations.makes(
    CLONE,
    "seasons/<slug:slug>/clone/",
    "clone",
    takes=_check_new_slug,
    answers=serializer_for_model(Season, "The draft.", "slug title", "Cloned"),
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
    apply = text_list_field(
        "Keys that were changed on the site and take what the file says; all for every key.",
        required=False,
    )
    keep = text_list_field("Keys that stay as the site has them.", required=False)

    def validate_file(self, file: Any) -> Any:
        is_zip = file.read(len(ZIP_SIGNATURE)) == ZIP_SIGNATURE
        file.seek(0)
        if file.size > 1 << 20 and not is_zip:
            raise serializers.ValidationError("The file is larger than 1 MB.")
        return file


LoadedSerializer = build_serializer(
    "Loaded",
    "What was changed, or of a dry run what would be.",
    season=str,
    dry_run=bool,
    changes=list[str],
    differences=DifferenceSerializer(many=True),
    conflicts=DifferenceSerializer(
        many=True,
        help_text="Of a dry run: what was changed on the site since the file was last loaded.",
    ),
    notices=list[str],
    rehearsal=operations.RehearsalSerializer(
        allow_null=True,
        help_text="Of a dry run that leaves no conflict: what would follow.",
    ),
)
ConflictsSerializer = build_serializer(
    "Conflicts",
    "Nothing was loaded, since it would undo what was changed on the site.",
    detail=str,
    conflicts=DifferenceSerializer(many=True),
)
SEASON_NOT_LOADED_RESPONSES = {
    409: ConflictsSerializer,
    422: OpenApiResponse(RejectedRun, "The file was refused; nothing has changed."),
}


@operations.post(
    "seasons/<slug:slug>/file/",
    role=season_to_organise,
    form=SeasonFileForm,
    answers=LoadedSerializer,
    responses=SEASON_NOT_LOADED_RESPONSES,
    parameters=[operations.DRY_RUN_PARAMETER],
    takes_dry_runs=True,
    is_upload=True,
    operation_id="season-file",
)
def load_season(request: Request, season: Season, form: dict[str, Any]) -> Response:
    """Change an existing season by its season file, for organisers."""
    return _load_response(request, season, form)


@operations.post(
    "new-season/",
    role=require_season_creator,
    lets_out=True,
    form=SeasonFileForm,
    answers=LoadedSerializer,
    responses={404: NOT_FOUND_RESPONSE, **SEASON_NOT_LOADED_RESPONSES},
    parameters=[operations.DRY_RUN_PARAMETER],
    takes_dry_runs=True,
    is_upload=True,
    operation_id="new-season",
)
def new_season(request: Request, creator: User, form: dict[str, Any]) -> Response:
    """Create a season from its season file, for staff."""
    return _load_response(request, None, form)


@contextmanager
def _open_season_reader(
    file: Any, *, by: User, slug: str
) -> Iterator[Callable[..., LoadResult]]:
    if file.read(len(ZIP_SIGNATURE)) != ZIP_SIGNATURE:
        file.seek(0)
        yield partial(load_season_text, file.read(), by=by, slug=slug)
        return
    file.seek(0)
    with (
        receive_upload(file) as upload,
        open_season_zip(upload.path, upload.filename, by=by, slug=slug) as load,
    ):
        yield load


def _load_response(
    request: Request, season: Season | None, form: dict[str, Any]
) -> Response:
    decisions = ConflictDecisions(
        frozenset(form.get("apply", ())), frozenset(form.get("keep", ()))
    )
    slug = season.slug if season else ""
    rehearsal, is_dry_run = None, operations.is_dry_run(request)
    with _open_season_reader(
        form["file"], by=signed_in_user(request), slug=slug
    ) as read:
        load = partial(read, decisions=decisions)
        if season is None or is_dry_run:
            loaded = load(dry_run=is_dry_run)
            rehearsal = rehearsed_load(season, load) if is_dry_run else None
        else:
            # The zip file is read before the transaction of the rehearsal begins.
            load(dry_run=True)
            loaded = done(
                season,
                signed_in_user(request),
                load,
                operations.confirmation_in_request(request),
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


GoldVersionSerializer = serializer_for_model(
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
task_to_organise = numbered("task", season_to_organise)


@operations.get(
    "tasks/<int:pk>/gold/",
    role=task_to_organise,
    query=GoldQuery,
    pages=GoldVersionSerializer,
)
def gold(request: Request, task: Task, query: dict[str, Any]) -> QuerySet[Gold]:
    """List the versions of a task's gold, newest first, for organisers."""
    versions = Gold.objects.filter(task=task).order_by("-created_at", "-pk")
    return versions.filter(split=query["split"]) if query.get("split") else versions


def _gold_by_split(
    request: Request, task: Task, sent: Mapping[str, Any]
) -> dict[str, Any]:
    slugs, split = split_names(sent["also"]), _split_or_default(task, sent["split"])
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
        *((others[slug], _split_or_default(others[slug], split)) for slug in slugs),
    ]
    names = ("file", "reason", "again", "encoding", "read_again")
    return {name: sent.get(name) for name in names} | {"splits": splits}


def _split_or_default(task: Task, named: str) -> str:
    splits = sorted(
        set(Phase.objects.filter(task=task).values_list("split", flat=True))
    )
    if not named and len(splits) == 1:
        return splits[0]
    if named not in splits:
        message = f"Phases of this task have {', '.join(splits) or 'none'}."
        raise exceptions.ValidationError({"split": [message]})
    return named


operations.register_act_operation(
    PUBLISH_GOLD,
    "tasks/<int:pk>/gold/",
    "publish_gold",
    role=task_to_organise,
    takes=_gold_by_split,
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
operations.makes(
    DECLARE,
    "seasons/<slug:slug>/declared-tasks/",
    "declare_task",
    answers=serializer_for_model(Task, "The task.", "id slug title", "DeclaredTask"),
    responses={422: FILE_REFUSED_RESPONSE},
    is_upload=True,
)
DeclarationSerializer = build_serializer(
    "Declaration",
    "The files of a declared task's folder.",
    files=(dict[str, str], "Their texts, by name."),
)
DeclaredAnewSerializer = build_serializer(
    "DeclaredAnew", "What follows.", is_scored_again=bool
)


@operations.get(
    "tasks/<int:pk>/declaration/", role=task_to_organise, answers=DeclarationSerializer
)
def declaration(request: Request, task: Task) -> dict[str, Any]:
    """Return the declaration files of a declared task, for organisers."""
    if task.declaration is None:
        raise Http404("The task is a built-in type.")
    return {"files": task.declaration.files}


operations.register_act_operation(
    DECLARE_ANEW,
    "tasks/<int:pk>/declaration/",
    "declare_anew",
    role=task_to_organise,
    gives=lambda request, again: {"is_scored_again": again},
    answers=DeclaredAnewSerializer,
    responses={422: FILE_REFUSED_RESPONSE},
)
operations.register_act_operation(
    SEAL_GOLD,
    "gold/<int:pk>/seal/",
    answers=GoldVersionSerializer,
    name="seal-gold",
)
operations.register_act_operation(
    DELETE_GOLD, "gold/<int:pk>/delete/", name="delete-gold"
)
RescoringSerializer = serializer_for_dataclass(
    RescoringProgress,
    "How far the runs of a phase are scored against its newest gold.",
    "Rescoring",
    phase=serializers.IntegerField(source="phase.pk"),
    gold=None,
    left="Still to be scored.",
    order=None,
    is_moving=serializers.BooleanField(),
)
QueuedSerializer = build_serializer(
    "Queued",
    "What was put into the queue.",
    queued=(int, "0 where all of it was there or under way."),
)


@operations.get(
    "phases/<int:pk>/rescore/", role=phase_to_organise, answers=RescoringSerializer
)
def rescoring(request: Request, phase: Phase) -> RescoringProgress:
    """Return the number of a phase's runs that are scored on the newest gold, for
    organisers.
    """
    return rescoring_progress(phase)


operations.register_act_operation(
    RESCORE,
    "phases/<int:pk>/rescore/",
    "rescore",
    gives=lambda request, order: rescoring_progress(order.phase),
    answers=RescoringSerializer,
)
operations.register_act_operation(
    STOP_RESCORING,
    "phases/<int:pk>/rescore/stop/",
    "stop_rescoring",
    gives=lambda request, made: rescoring_progress(made[0]),
    answers=RescoringSerializer,
)
DrawSerializer = serializer_for_model(
    Phase,
    "The draw of the public part of a phase.",
    "id public_part commitment",
    "Draw",
    commitment=serializers.CharField(
        source="draw_commitment", help_text="The SHA-256 that fixes the draw."
    ),
)
operations.register_act_operation(
    DRAW_AGAIN,
    "phases/<int:pk>/draw/",
    "draw_again",
    answers=DrawSerializer,
)
queues = partial(
    operations.register_act_operation,
    gives=lambda request, made: {"queued": made},
    answers=QueuedSerializer,
)
queues(RESCORE_SEASON, "seasons/<slug:slug>/rescore/", "rescore_season")
queues(RESCORE_RUN, "submissions/<int:pk>/rescore/", "rescore_run")
queues(
    COMPUTE_FIRST, "seasons/<slug:slug>/launch/baselines/", "compute_first_baselines"
)
queues(COMPUTE_BASELINES, "phases/<int:pk>/baselines/", "compute_baselines")
operations.deletes(DELETE_TASK, "tasks/<int:pk>/", name="task")
operations.deletes(DELETE_PHASE, "phases/<int:pk>/", name="phase")
operations.register_act_operation(TEST_MAIL, "seasons/<slug:slug>/launch/mail/")
