"""API operations that check and submit runs, for one task or for several tasks in one
file.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework import exceptions, serializers
from rest_framework.request import Request
from rest_framework.response import Response

from citeboard.api.operations import list_request_field_names, post
from citeboard.api.seasons import visible_phase_or_404
from citeboard.api.serializers import (
    REJECTED_RUN_RESPONSE,
    ProblemSerializer,
    build_absolute_address,
    build_optional_text_field,
    build_serializer,
    split_comma_separated_names,
)
from citeboard.core.api import FORBIDDEN_RESPONSE, Closed
from citeboard.core.plain_text import MAX_DESCRIPTION_LENGTH
from citeboard.teams.access import own_team_or_404
from citeboard.teams.api import require_signed_in_user
from citeboard.teams.models import Team
from scoring.exchange.results import list_season_task_and_phase_slugs
from scoring.results.runs.team_view import copy_run_without_hidden_outcome
from scoring.worker.supply import warn_of_missing_requirements
from tasks.models import LateReading, Phase, Season, Submission
from tasks.models.run_cards import RUN_CARD_FIELDS
from tasks.seasons.access import (
    can_download_inputs,
    get_visible_season_or_404,
    list_own_teams_in_season,
    require_download_of_inputs,
)
from tasks.submissions.bundle_repairs import repair_bundle
from tasks.submissions.bundles import (
    BundleRefused,
    iterate_runs_of_bundle,
    read_bundle_for_each_task,
    submit_bundle,
)
from tasks.submissions.refusals import RunRejected
from tasks.submissions.repairing import (
    RunRepair,
    find_accepting_phase,
    repair_refused_run,
)
from tasks.submissions.run_card import (
    MAX_IDEMPOTENCY_KEY_LENGTH,
    MAX_SYSTEM_NAME_CHARACTERS,
    TEAM_MEASURES_BY_NAME,
    TEAM_RUN_KINDS,
    validate_run_details,
    warn_of_unknown_fields,
)
from tasks.submissions.submit import check_run, submit_run, validate_run_metadata
from tasks.submissions.uploads import (
    UploadedRunFile,
    receive_optional_upload,
    receive_upload,
)
from tasks.types import Problem
from tasks.types.guarded.encodings import PYTHON_CODECS_BY_ENCODING
from tasks.types.problems import merge_equal_problems

IDEMPOTENCY_KEY_PARAMETER = OpenApiParameter(
    "Idempotency-Key",
    {"type": "string", "maxLength": MAX_IDEMPOTENCY_KEY_LENGTH},
    OpenApiParameter.HEADER,
    description="Chosen by the sender, for one run of a team in a phase. Sent again with the same file, for "
    "instance after a broken connection, it answers with the run of the first time.",
)


def build_team_figure_field(name: str) -> serializers.FloatField:
    """Return the serializer field for a number that a team may report about a run.

    The service checks which numbers the task type allows.
    """
    measure = TEAM_MEASURES_BY_NAME[name]
    return serializers.FloatField(
        required=False,
        allow_null=True,
        min_value=0,
        max_value=measure.highest,
        help_text=f"{measure.help} Shown as reported by the team, and never ranked.",
    )


def build_run_card_field(name: str) -> serializers.Field[Any, Any, Any, Any]:
    """Return the serializer field of a run card, which describes how a run was made.

    The service checks whether the phase requires the run card.
    """
    known = RUN_CARD_FIELDS[name]
    if known.choices:
        return serializers.ChoiceField(
            choices=list(known.choices),
            required=False,
            allow_blank=True,
            help_text=known.help,
        )
    return serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=known.max_length,
        help_text=known.help,
    )


NOT_CHECKED_HELP_TEXT = "As it would be submitted; a check does not look at it."


class CardForm(serializers.Serializer[Any]):
    """The run card: how a run was made."""

    vars().update({name: build_run_card_field(name) for name in RUN_CARD_FIELDS})


class DescribedForm(CardForm):
    """The file of a run, with the description and metadata of the run."""

    run = serializers.FileField(
        allow_empty_file=True, help_text="The file of answers, or a zip of them."
    )
    metadata = serializers.FileField(
        required=False,
        help_text="A file of ir_metadata, which fills what is left out of the rest.",
    )
    description = build_optional_text_field(MAX_DESCRIPTION_LENGTH)
    vars().update(
        {name: build_team_figure_field(name) for name in TEAM_MEASURES_BY_NAME}
    )


class RepairedForm(DescribedForm):
    """The file of a run, which the site may repair before it parses the file."""

    repair = serializers.BooleanField(
        required=False,
        default=False,
        help_text="Take the repaired file where this one would be refused and the repair is certain.",
    )
    encoding = serializers.ChoiceField(
        choices=list(PYTHON_CODECS_BY_ENCODING),
        required=False,
        allow_blank=True,
        default="",
        help_text="Of a file that is not in UTF-8 and has no byte order mark.",
    )


class CheckForm(RepairedForm):
    """The file of a run to check. The description of the run is checked only if the
    phase requires a description.
    """

    system = build_optional_text_field(None, NOT_CHECKED_HELP_TEXT)
    team = build_optional_text_field(None, NOT_CHECKED_HELP_TEXT)
    kind = build_optional_text_field(None, NOT_CHECKED_HELP_TEXT)
    priority = serializers.IntegerField(required=False, help_text=NOT_CHECKED_HELP_TEXT)
    seeds_of = build_optional_text_field(None, NOT_CHECKED_HELP_TEXT)


class SentForm(DescribedForm):
    """The fields that every submission of a run has."""

    system = serializers.CharField(
        max_length=MAX_SYSTEM_NAME_CHARACTERS,
        help_text="What the board calls the system.",
    )
    team = serializers.CharField(
        required=False,
        allow_blank=True,
        help_text="The team's slug; needed by members of several teams.",
    )
    kind = serializers.ChoiceField(
        choices=TEAM_RUN_KINDS, required=False, default=Submission.Kind.PRIMARY.value
    )
    seeds_of = build_optional_text_field(
        MAX_SYSTEM_NAME_CHARACTERS,
        "The system of which the run is one seed, the same for each of its runs; the board ranks their mean.",
    )


class RunForm(SentForm, RepairedForm):
    """The file and the metadata of a run to submit."""

    priority = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=1000,
        help_text="Its place among the team's runs, where the first ones by priority count: 1 comes first, "
        "and the others move down. Without it the run comes last.",
    )


class BundleForm(SentForm, RepairedForm):
    """A file with runs for several tasks of a season. The run card and the costs apply
    to each of the runs.
    """

    phase = build_optional_text_field(
        None,
        "The slug of the phases it is for; needed where a task has several open ones.",
    )
    tasks = build_optional_text_field(
        None,
        "Slugs with commas between: enter these tasks alone. Without it the file enters every task "
        "whose format it carries.",
    )


class Accepted(serializers.Serializer[Any]):
    """A submitted run that the site has accepted."""

    id = serializers.IntegerField()
    number = serializers.IntegerField(help_text="Counts the team's runs in the phase.")
    status = serializers.ChoiceField(choices=Submission.Status.choices)
    url = serializers.URLField(help_text="Where to follow it.")
    page = serializers.URLField(help_text="Where people follow it.")
    warnings = ProblemSerializer(many=True)


class AcceptedPart(Accepted):
    """An accepted run from a file with runs for several tasks."""

    task = serializers.SlugField()
    phase = serializers.IntegerField()


AcceptedBundle = build_serializer(
    "AcceptedBundle",
    "The runs of one file, one in each task that it entered.",
    id=int,
    page=(serializers.URLField, "Where its runs stand together, for people."),
    submissions=AcceptedPart(many=True),
)
CheckedRunSerializer = build_serializer(
    "Checked", "A run that would be taken.", warnings=ProblemSerializer(many=True)
)


def extract_run_card(sent: Mapping[str, Any]) -> dict[str, str]:
    return {name: sent[name] for name in RUN_CARD_FIELDS if name in sent}


def extract_team_figures(sent: Mapping[str, Any]) -> dict[str, object]:
    return {name: sent[name] for name in TEAM_MEASURES_BY_NAME if name in sent}


def find_submitting_team(user: object, season: Season, slug: str) -> Team:
    if slug:
        return own_team_or_404(user, slug)
    teams = list(list_own_teams_in_season(user, season)[:10])
    if not teams:
        raise exceptions.PermissionDenied(
            "You are in no team that takes part in this season."
        )
    if len(teams) > 1:
        names = ", ".join(team.slug for team in teams)
        raise exceptions.ValidationError(
            {"team": [f"You are in several teams here; name one of {names}."]}
        )
    return teams[0]


RUN_DESCRIPTION_FIELDS = ("system", "description", "kind", "seeds_of")


def _find_unknown_fields(
    request: Request, type_of_form: type[DescribedForm]
) -> list[Problem]:
    return warn_of_unknown_fields(
        list_request_field_names(request), type_of_form().fields
    )


@contextmanager
def _receive_run(
    request: Request,
    season: Season,
    form: Mapping[str, Any],
    type_of_form: type[SentForm],
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    key = request.headers.get("Idempotency-Key", "")
    details = {name: form[name] for name in RUN_DESCRIPTION_FIELDS} | {
        "idempotency_key": key
    }
    team = find_submitting_team(request.user, season, form.get("team", ""))
    with (
        receive_upload(form["run"]) as upload,
        receive_optional_upload(form.get("metadata")) as metadata,
    ):
        facts: dict[str, Any] = {"upload": upload, "metadata": metadata, "team": team}
        facts |= {
            "user": require_signed_in_user(request),
            "warnings": _find_unknown_fields(request, type_of_form),
        }
        yield (
            {
                **facts,
                "card": extract_run_card(form),
                "team_figures": extract_team_figures(form),
            },
            details,
        )


@contextmanager
def _repair_if_asked(
    request: Request, phase: Phase, upload: UploadedRunFile, form: Mapping[str, Any]
) -> Iterator[tuple[UploadedRunFile, list[Problem]]]:
    """Yield the file of a run and a list of repairs that the request asked for.

    If the file is rejected, the error contains a possible repair.
    """
    user, encoding = require_signed_in_user(request), form["encoding"]
    if form["repair"] or encoding:
        with repair_refused_run(phase, upload, user, encoding=encoding) as repair:
            yield _repair_upload(request, repair, upload, encoding)
        return
    try:
        yield upload, []
    except RunRejected as refused:
        with repair_refused_run(phase, upload, user) as found:
            repair = found or RunRepair(
                phase=find_accepting_phase(
                    phase, upload, user, refused.problems, can_download_inputs
                )
            )
            refused.repair = _serialize_repair(request, repair) if repair else None
        raise


@contextmanager
def _open_readable_bundle(
    request: Request, season: Season, upload: UploadedRunFile, form: Mapping[str, Any]
) -> Iterator[tuple[UploadedRunFile, list[Problem]]]:
    """Yield the file with runs for several tasks, and a list of repairs.

    If the file is rejected, the error contains possible repairs of the file.
    """
    user, encoding, phase = (
        require_signed_in_user(request),
        form["encoding"],
        form["phase"],
    )
    given: dict[str, Any] = {"season": season, "upload": upload, "by": user}
    if form["repair"] or encoding:
        tasks = split_comma_separated_names(form["tasks"])
        parts = read_bundle_for_each_task(phase=phase, tasks=tasks, **given)
        with repair_bundle(
            parts=parts, phase=phase, encoding=encoding, **given
        ) as repair:
            yield _repair_upload(request, repair, upload, encoding)
        return
    try:
        yield upload, []
    except BundleRefused as refused:
        with repair_bundle(parts=refused.parts, phase=phase, **given) as repair:
            refused.repair = _serialize_repair(request, repair) if repair else None
        raise


def _build_encoding_problem(encoding: str, upload: UploadedRunFile) -> Problem:
    return Problem(
        file=upload.filename, message=f"the file cannot be read as {encoding}"
    )


def _repair_upload(
    request: Request, repair: RunRepair, upload: UploadedRunFile, encoding: str
) -> tuple[UploadedRunFile, list[Problem]]:
    """Return the repaired file of a run and the list of repairs.

    Raises RunRejected if the requested encoding cannot decode the file.
    """
    if encoding and repair.upload is None:
        refused = RunRejected.of(
            repair.problems or [_build_encoding_problem(encoding, upload)]
        )
        refused.repair = _serialize_repair(request, repair) if repair else None
        raise refused
    return repair.upload or upload, repair.warnings


def _serialize_repair(request: Request, repair: RunRepair) -> dict[str, object]:
    phase, upload = repair.phase, repair.upload
    return {
        "filename": upload and upload.filename,
        "changes": list(repair.changes),
        "content": repair.content(),
        "encodings": list(repair.encodings),
        "phase": phase and phase.pk,
        "name": phase and "/".join(list_season_task_and_phase_slugs(phase)),
        "url": phase and build_absolute_address(request, "api:submit", phase.pk),
        "page": phase
        and build_absolute_address(
            request, "upload", *list_season_task_and_phase_slugs(phase)
        ),
    }


def _choose_status_code(runs: Sequence[Submission]) -> int:
    return 202 if LateReading.objects.filter(submission__in=runs).exists() else 201


def _serialize_accepted_run(request: Request, run: Submission) -> dict[str, Any]:
    return {
        "id": run.pk,
        "number": run.number,
        "status": copy_run_without_hidden_outcome(run, request.user).status,
        "url": build_absolute_address(request, "api:submission", run.pk),
        "page": build_absolute_address(request, "submission", run.pk),
        "warnings": run.warnings,
    }


REFUSAL_RESPONSES = {403: FORBIDDEN_RESPONSE, 422: REJECTED_RUN_RESPONSE}
post_run_upload = partial(
    post,
    parameters=[IDEMPOTENCY_KEY_PARAMETER],
    status=201,
    is_upload=True,
    warns_of_unknown=True,
)


@post_run_upload(
    "phases/<int:pk>/submissions/",
    role=visible_phase_or_404,
    form=RunForm,
    answers=Accepted,
    responses={
        201: OpenApiResponse(Accepted, "The run is taken and waits to be scored."),
        202: OpenApiResponse(
            Accepted, "No reader was free: the run is taken and checked in its turn."
        ),
        409: OpenApiResponse(Closed, "The phase accepts no runs now."),
        **REFUSAL_RESPONSES,
    },
)
def submit(request: Request, phase: Phase, form: dict[str, Any]) -> HttpResponse:
    """Submit a run."""
    with (
        _receive_run(request, phase.task.season, form, RunForm) as (sent, details),
        _repair_if_asked(request, phase, sent["upload"], form) as (upload, changes),
    ):
        sent |= {"upload": upload, "warnings": [*sent["warnings"], *changes]}
        run = submit_run(phase=phase, priority=form.get("priority"), **sent, **details)
    answer = Accepted(_serialize_accepted_run(request, run)).data
    return Response(
        answer, status=_choose_status_code([run]), headers={"Location": answer["url"]}
    )


@post(
    "phases/<int:pk>/check/",
    role=visible_phase_or_404,
    form=CheckForm,
    answers=CheckedRunSerializer,
    responses={
        200: OpenApiResponse(CheckedRunSerializer, "The run would be taken."),
        409: OpenApiResponse(
            Closed,
            "The phase has no gold yet to check runs by, or its inputs are not released.",
        ),
        **REFUSAL_RESPONSES,
    },
    is_upload=True,
    warns_of_unknown=True,
)
def check(request: Request, phase: Phase, form: dict[str, Any]) -> Response:
    """Check a run without submitting it.

    The response equals the response to a submission. The site stores nothing, and the
    check does not count towards the limit on runs.
    """
    with (
        receive_upload(form["run"]) as upload,
        receive_optional_upload(form.get("metadata")) as metadata,
    ):
        require_download_of_inputs(request.user, phase)
        said = validate_run_metadata(
            phase.task.task_type,
            description=form["description"],
            card=extract_run_card(form),
            figures=extract_team_figures(form),
        )
        with _repair_if_asked(request, phase, upload, form) as (file, changes):
            findings = check_run(
                phase=phase,
                upload=file,
                by=require_signed_in_user(request),
                said=said,
                metadata=metadata,
            )
            if findings.errors:
                raise RunRejected.of(findings.problems)
    warnings = [
        *_find_unknown_fields(request, CheckForm),
        *changes,
        *warn_of_missing_requirements(phase.task),
        *findings.problems,
    ]
    return Response(
        {"warnings": [problem.as_dict() for problem in merge_equal_problems(warnings)]}
    )


@post_run_upload(
    "seasons/<slug:slug>/submissions/",
    role=get_visible_season_or_404,
    form=BundleForm,
    answers=AcceptedBundle,
    responses={
        201: OpenApiResponse(
            AcceptedBundle, "All runs of the file are taken and wait to be scored."
        ),
        202: OpenApiResponse(
            AcceptedBundle,
            "No reader was free: the file is taken, and each of its runs checked in its turn.",
        ),
        409: OpenApiResponse(
            Closed, "A task that is named or carried accepts no runs now."
        ),
        **REFUSAL_RESPONSES,
    },
)
def bundle(request: Request, season: Season, form: dict[str, Any]) -> Response:
    """Submit a file to every task of a season for which the file contains a run.

    The site accepts all runs of the file or none. A rejected file does not count
    towards limits.
    """
    with (
        _receive_run(request, season, form, BundleForm) as (sent, details),
        _open_readable_bundle(request, season, sent["upload"], form) as (
            upload,
            changes,
        ),
    ):
        sent |= {"upload": upload, "warnings": [*sent["warnings"], *changes]}
        made = submit_bundle(
            season=season,
            phase=form["phase"],
            tasks=split_comma_separated_names(form["tasks"]),
            details=validate_run_details(**details),
            **sent,
        )
    page = build_absolute_address(request, "bundle", made.pk)
    runs = [
        _serialize_accepted_run(request, run)
        | {"task": run.phase.task.slug, "phase": run.phase_id}
        for run in iterate_runs_of_bundle(made)
    ]
    answer = AcceptedBundle({"id": made.pk, "page": page, "submissions": runs}).data
    return Response(
        answer,
        status=_choose_status_code(list(iterate_runs_of_bundle(made))),
        headers={"Location": page},
    )
