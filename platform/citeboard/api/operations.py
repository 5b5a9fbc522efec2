"""Declare API operations. Each declaration of an operation creates the view, the route
and the schema.
"""

import datetime as dt
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cache, cached_property, partial
from inspect import cleandoc
from types import MappingProxyType
from typing import Any, TypeVar

from django.http import HttpResponseBase, QueryDict
from django.urls import URLPattern, path, reverse
from django.utils.cache import get_conditional_response, set_response_etag
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import (
    OpenApiParameter,
    OpenApiResponse,
    PolymorphicProxySerializer,
    extend_schema,
)
from rest_framework import serializers
from rest_framework.exceptions import NotAuthenticated, ValidationError
from rest_framework.parsers import MultiPartParser
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from citeboard.acts import effects, rehearsal as acts
from citeboard.acts.declared import (
    URL_SUBJECT_NAMES_BY_ROLE,
    SubjectLookup,
    UserAction,
    build_nested_row_lookup,
    build_season_row_lookup,
)
from citeboard.api.serializers import (
    build_dataclass_serializer,
    build_form_serializer,
    build_serializer,
    build_text_list_field,
)
from citeboard.background.kinds import queue_dry_runs
from citeboard.core import api
from citeboard.core.api import allow_any_origin
from citeboard.core.query import (
    build_invalid_value_error,
    find_permitted_value,
    reject_unknown_names,
)
from citeboard.teams.access import led_team_or_error
from citeboard.teams.api import require_signed_in_user
from tasks.gold.content import Compared
from tasks.gold.early import (
    CONFIRMATION_FIELDS,
    GOLD_BUDGET_KIND,
    ConfirmedDisclosure,
    confirm_disclosure,
)
from tasks.gold.secrecy import ContentKind
from tasks.seasons.access import get_organised_season_or_404
from tasks.submissions.refusals import RunUploadUnusable
from tasks.types import InputRefused, Problem
from tasks.types.problems import select_problems_to_list


class UploadedFileRejected(RunUploadUnusable):
    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("the file is refused")
        self.problems, self.more = select_problems_to_list(problems)


FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])
AnySerializer = type[serializers.BaseSerializer[Any]]
_cached_page_serializer: Any = cache(api.build_page_serializer)
EMBARGO_CONFIRMATION_PARAMETERS = (
    OpenApiParameter(
        CONFIRMATION_FIELDS[0],
        str,
        description="To go on where this would let something out before its time: the name of the task.",
    ),
    OpenApiParameter(
        CONFIRMATION_FIELDS[1],
        str,
        description="With it, the reason, which stands in the history.",
    ),
)
MULTIPART_CONTENT_TYPE, URL_ENCODED_CONTENT_TYPE = (
    "multipart/form-data",
    "application/x-www-form-urlencoded",
)


# The API schema would show a docstring of OperationView at each operation.
class OperationView(APIView):
    name: str
    summary = ""
    is_open = False

    def finalize_response(
        self, request: Request, response: Response, *args: Any, **kwargs: Any
    ) -> Response:
        response = super().finalize_response(request, response, *args, **kwargs)
        if (
            request.method in api.READ_METHODS
            and response.status_code == 200
            and isinstance(response, Response)
        ):
            response.add_post_render_callback(partial(_apply_conditional_get, request))
        return response


def _apply_conditional_get(request: Request, response: Response) -> HttpResponseBase:
    """Respond with status 304 if the client has already cached this response."""
    set_response_etag(response)
    answer = get_conditional_response(
        request._request,  # noqa: SLF001
        etag=response["ETag"],
        response=response,
    )
    assert answer is not None
    return answer


_VIEWS_BY_ADDRESS: dict[str, type[OperationView]] = {}


EmbargoBreachSerializer = build_serializer(
    "LetOut",
    "What would be known before its time, or beyond the budget of bits that phases may tell of gold.",
    phase=int,
    what=serializers.ChoiceField(
        choices=[*(kind.value for kind in ContentKind), GOLD_BUDGET_KIND]
    ),
    free_from=(dt.datetime | None, "Null where nothing says when."),
    bits=serializers.FloatField(
        required=False,
        allow_null=True,
        help_text="Of a budget: bits that one team is told at most; null where that is everything.",
    ),
    bits_colluding=serializers.FloatField(
        required=False, allow_null=True, help_text="The same for five teams."
    ),
    bits_expected=serializers.FloatField(
        required=False, help_text="Of a budget: bits that are expected at most."
    ),
    adds_up=serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text="Of a budget: what adds up, each with its bits.",
    ),
)


class TooEarly(api.Closed):
    """The action is not possible now, or would reveal information under embargo."""

    lets_out = EmbargoBreachSerializer(
        many=True, required=False, help_text="Only where it would."
    )
    task = serializers.CharField(
        required=False, help_text="Then the name that is to be typed to go on."
    )


PredictedMessageSerializer = build_dataclass_serializer(
    effects.Told,
    "What people would be told; `title` and `text` are the words of one of them.",
)
build_dataclass_serializer(
    Compared, "Instances of the version before and of the new one."
)
PredictedPhaseSerializer = build_dataclass_serializer(
    effects.MadePhase, "A phase of a season that would be made, in words."
)
PredictedRankChangeSerializer = build_dataclass_serializer(
    effects.Moved,
    "A run that would count otherwise; rank and score are empty where it stands on no board.",
)
PredictedGoldVersionSerializer = build_dataclass_serializer(
    effects.GoldStep,
    "A new version of a split's gold.",
    findings=serializers.ListField(
        child=serializers.DictField(), help_text="Kind, count and names."
    ),
    trivial=serializers.DictField(
        help_text="Shares of the scales of measures by `runs` that know nothing, on so many `instances`; "
        "`constant` is the best answer that never changes."
    ),
)


class RehearsalSerializer(serializers.Serializer[Any]):
    """The predicted effects of an action that was not carried out."""

    done = build_text_list_field(source="effects.steps.done")
    made = PredictedPhaseSerializer(many=True, source="effects.steps.made")
    changes = serializers.ListField(
        child=serializers.DictField(),
        source="effects.steps.changes",
        help_text="Key, before and after.",
    )
    seen = build_text_list_field(source="effects.disclosure.seen")
    unseen = build_text_list_field(source="effects.disclosure.unseen")
    told = PredictedMessageSerializer(many=True, source="effects.messages.told")
    posted = serializers.IntegerField(
        source="effects.messages.posted", help_text="How many posts to webhooks."
    )
    gold = PredictedGoldVersionSerializer(many=True, source="effects.scores.gold")
    scored = build_text_list_field(source="effects.scores.scored")
    jobs = build_text_list_field(
        "Addresses of the background jobs that tell the scores that would follow: of the best, of the rest."
    )
    moved = PredictedRankChangeSerializer(many=True, source="effects.scores.moved")
    confirmed = build_text_list_field(source="effects.scores.confirmed")
    changes_tries = serializers.BooleanField(source="effects.changes_tries")
    is_final = serializers.BooleanField()
    name = serializers.CharField(
        help_text="That is to be typed to go on, with a reason, where `asks_for_name`."
    )
    lets_out = EmbargoBreachSerializer(
        many=True, help_text="What would be known before its time."
    )
    asks = serializers.BooleanField(help_text="Whether something changes for somebody.")
    asks_for_name = serializers.BooleanField()
    digest = serializers.CharField(help_text="Of what this was computed from.")


DRY_RUN_PARAMETER = OpenApiParameter(
    "dry_run",
    bool,
    description="Say what would be done and follow, and do nothing. The body may have it instead.",
)
#: BOOLEAN_SPELLINGS maps spellings of booleans in a query, a form or JSON to values.
BOOLEAN_SPELLINGS = {"true": True, "1": True, "false": False, "0": False}
#: Every request body may contain fields for a dry run and for Django's CSRF token.
_COMMON_BODY_FIELDS = (DRY_RUN_PARAMETER.name, "csrfmiddlewaretoken")


def is_dry_run(request: Request, *, is_rehearsed: bool = True) -> bool:
    """Return True if the request asks for a dry run.

    Raises ValidationError if the values contradict each other, or if the operation
    cannot be rehearsed.
    """
    sent = [
        *request.query_params.getlist(DRY_RUN_PARAMETER.name),
        *_find_body_values(request, DRY_RUN_PARAMETER.name),
    ]
    values = {_parse_boolean_parameter(DRY_RUN_PARAMETER.name, value) for value in sent}
    if len(values) > 1:
        raise ValidationError({DRY_RUN_PARAMETER.name: ["It is both true and false."]})
    if values == {True} and not is_rehearsed:
        raise ValidationError(
            {DRY_RUN_PARAMETER.name: ["This can only be done: nothing rehearses it."]}
        )
    return values == {True}


def _parse_boolean_parameter(name: str, value: object) -> bool:
    if isinstance(value, bool):
        return value
    text = str(value) if isinstance(value, str | int) else ""
    if text not in BOOLEAN_SPELLINGS:
        raise build_invalid_value_error(name, value, BOOLEAN_SPELLINGS)
    return BOOLEAN_SPELLINGS[text]


def _find_body_values(request: Request, name: str) -> list[Any]:
    body: Any = {} if request.method in api.READ_METHODS else request.data
    if isinstance(body, QueryDict):
        return list(body.getlist(name))
    return [body[name]] if name in body else []


def list_request_field_names(request: Request) -> list[str]:
    """Return the field names in the request body, without the fields that every
    operation accepts.
    """
    return [name for name in request.data if name not in _COMMON_BODY_FIELDS]


@dataclass(frozen=True)
class PermittedBodyFields:
    names: tuple[str, ...]
    warns_of_unknown: bool

    @classmethod
    def of(
        cls, fields: Iterable[str], takes_dry_runs: bool, warns_of_unknown: bool
    ) -> "PermittedBodyFields":
        return cls(
            (*fields, *([DRY_RUN_PARAMETER.name] if takes_dry_runs else [])),
            warns_of_unknown,
        )

    def check(self, request: Request) -> None:
        """Raise InvalidParameters if a field is unknown, unless the operation only
        warns of unknown fields.
        """
        if request.method not in api.READ_METHODS and not self.warns_of_unknown:
            reject_unknown_names(list_request_field_names(request), self.names)


class DryRunForm(serializers.Serializer[Any]):
    """A switch for a dry run, which returns the effects of an action and changes
    nothing.
    """

    dry_run = serializers.BooleanField(
        required=False, help_text="Say what would be done and follow, and do nothing."
    )


def _build_request_body_schema(sent: Any, method: str, *, takes_dry_runs: bool) -> Any:
    """Return the description of an operation's request body for the API schema.

    DELETE requests get no field for dry runs, because clients usually send no body with
    DELETE.
    """
    return _add_dry_run_field(sent) if takes_dry_runs and method != "DELETE" else sent


@cache
def _add_dry_run_field(form: Any) -> AnySerializer:
    if form is None:
        return DryRunForm
    return type(form.__name__, (form, DryRunForm), {"__doc__": form.__doc__})


@dataclass(frozen=True)
class PermittedQueryParameters:
    names: tuple[str, ...]
    permitted: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, listed: Sequence[Any]) -> "PermittedQueryParameters":
        names: list[str] = []
        permitted: dict[str, Sequence[str]] = {}
        for one in listed:
            if not isinstance(one, OpenApiParameter):
                names += one().fields
            elif one.location == OpenApiParameter.QUERY:
                names.append(one.name)
                permitted |= {one.name: list(one.enum)} if one.enum else {}
        return cls(tuple(names), permitted)

    def check(self, request: Request) -> None:
        """Raise InvalidParameters if a parameter or its value is unknown."""
        is_read = request.method in api.READ_METHODS
        names = [
            name
            for name in request.query_params
            if is_read or name != DRY_RUN_PARAMETER.name
        ]
        reject_unknown_names(names, self.names)
        for name, values in self.permitted.items():
            find_permitted_value(request.query_params, name, values)


def read_confirmation(request: Request) -> acts.ActionConfirmation:
    """Return the user's confirmation of an action from the request.

    The confirmation has no digest, because the API has no confirmation page. Actions
    that affect confirmed results require a name and a reason.
    """
    return acts.ActionConfirmation(
        None,
        ConfirmedDisclosure(
            *(
                request.query_params.get(name, "").strip()
                for name in CONFIRMATION_FIELDS
            )
        ),
    )


def _add_rehearsal_to_response_schema(answers: Any, label: str) -> Any:
    is_worded = isinstance(answers, OpenApiResponse)
    written = answers.response if is_worded else answers
    if written is None:
        return RehearsalSerializer
    either = PolymorphicProxySerializer(
        component_name=f"{label.replace('-', ' ').title().replace(' ', '').replace('_', '')}OrRehearsal",
        serializers=[written, RehearsalSerializer],
        resource_type_field_name=None,
    )
    return OpenApiResponse(either, answers.description) if is_worded else either


TOO_EARLY_RESPONSE = OpenApiResponse(
    TooEarly,
    "As things stand this cannot be done, or is too early; the sentence says why.",
)


@dataclass(frozen=True)
class Operation:
    """Turn a function into an API operation.

    The docstring of the function becomes the summary and the description.

    The function receives the request, the object that ``role`` returns, the URL
    parameters listed in ``rest``, and the validated data of ``form`` and ``query``.
    Without ``role`` the function receives all URL parameters. ``body`` describes a body
    that the function reads itself.

    ``role`` takes the user and the other URL parameters. ``role`` returns the object,
    or raises Http404 or PermissionDenied. ``answers`` serializes the result, and
    ``pages`` serializes the result as a page of a list. Without ``answers`` and
    ``pages``, the response has status 204. If the function returns an HTTP response,
    the operation returns the response unchanged. ``files`` lists the media types of a
    file in the response. The API schema includes the errors that follow from the
    arguments. ``responses`` adds error responses to the API schema, and ``without``
    removes an error response.

    ``is_open`` allows anonymous users and cross-origin reads. ``is_upload`` applies the
    limits on uploads. Despite an embargo, organisers can confirm their actions and
    operations with ``lets_out``. An operation that ``takes_dry_runs`` calls
    `is_dry_run` itself. Operations reject unknown parameters and fields, but accept
    unknown fields if ``warns_of_unknown`` is True. ``name`` is the name of the route.
    ``name`` and ``operation_id`` default to the name of the function.
    """

    method: str
    address: str
    _: KW_ONLY
    role: SubjectLookup | None = None
    rest: Sequence[str] = ()
    form: AnySerializer | None = None
    query: AnySerializer | None = None
    body: serializers.BaseSerializer[Any] | None = None
    answers: AnySerializer | list[AnySerializer] | None = None
    pages: AnySerializer | None = None
    files: Sequence[str] = ()
    status: int = 200
    responses: Mapping[Any, Any] | None = None
    without: int | None = None
    parameters: Sequence[Any] = ()
    is_open: bool = False
    is_upload: bool = False
    lets_out: bool = False
    takes_dry_runs: bool = False
    warns_of_unknown: bool = False
    name: str = ""
    operation_id: str = ""
    summary: str = ""

    def __call__(self, function: FunctionT) -> FunctionT:
        call = OperationCall(self, function)

        def handle_request(
            view: OperationView, request: Request, **parts: Any
        ) -> HttpResponseBase:
            return call.answer(request, parts)

        first, _, handle_request.__doc__ = cleandoc(function.__doc__ or "").partition(
            "\n\n"
        )
        label = self.operation_id or function.__name__
        summary = self.summary or " ".join(first.split()).removesuffix(".")
        view = _VIEWS_BY_ADDRESS.setdefault(
            self.address, type("View", (OperationView,), {})
        )
        setattr(
            view,
            self.method.lower(),
            self._build_openapi_schema(label, summary)(handle_request),
        )
        view.name = self.name or getattr(view, "name", label.replace("_", "-"))
        view.summary = view.summary or summary
        if self.is_open:
            view.permission_classes = [AllowAny]
        if self.is_upload:
            view.throttle_classes = [api.RequestThrottle, api.UploadThrottle]
        if self.has_file_field:
            view.parser_classes = [MultiPartParser]
        view.is_open |= self.is_open and self.method == "GET"
        return function

    @property
    def can_breach_embargo(self) -> bool:
        of_organisers = self.role is get_organised_season_or_404
        return self.method != "GET" and (self.lets_out or of_organisers)

    @cached_property
    def query_parameters(self) -> list[Any]:
        """Return the operation's query parameters for the API schema."""
        return [
            *([self.query] if self.query else []),
            *self.parameters,
            *(api.PAGE_PARAMETERS if self.pages is not None else []),
            *(EMBARGO_CONFIRMATION_PARAMETERS if self.can_breach_embargo else []),
        ]

    @cached_property
    def fields(self) -> dict[str, Any]:
        """Return the fields of the request body as a mapping from their names."""
        return _find_writable_fields(self.body or self.form)

    @property
    def has_file_field(self) -> bool:
        return any(
            isinstance(field, serializers.FileField) for field in self.fields.values()
        )

    def _build_openapi_schema(self, label: str, summary: str) -> Any:
        sent = _build_request_body_schema(
            self.body or self.form, self.method, takes_dry_runs=self.takes_dry_runs
        )
        media_types = (
            [MULTIPART_CONTENT_TYPE]
            if self.has_file_field
            else [
                MULTIPART_CONTENT_TYPE,
                api.JSON_CONTENT_TYPE,
                URL_ENCODED_CONTENT_TYPE,
            ]
        )
        return extend_schema(
            operation_id=label,
            summary=summary,
            parameters=self.query_parameters,
            request=dict.fromkeys(media_types, sent) if sent else None,
            responses=self._build_response_schemas(),
        )

    def _build_response_schemas(self) -> dict[Any, Any]:
        described = {
            **_build_success_response_schema(
                self.answers, self.pages, self.files, self.status
            ),
            401: api.UNAUTHENTICATED_RESPONSE,
        }
        if self.pages or "<" in self.address:
            described[404] = api.NOT_FOUND_RESPONSE
        described |= {
            429: api.TOO_MANY_REQUESTS_RESPONSE,
            400: api.INVALID_FIELDS_RESPONSE,
        }
        if self.method != "GET":
            described[409] = (
                TOO_EARLY_RESPONSE if self.can_breach_embargo else api.CONFLICT_RESPONSE
            )
        if self.role is led_team_or_error:
            described[403] = api.FORBIDDEN_RESPONSE
        if self.is_upload:
            described[413] = api.TOO_LARGE_RESPONSE
        described |= self.responses or {}
        described.pop(self.without, None)
        return described


class OperationCall:
    def __init__(self, operation: Operation, function: Callable[..., Any]) -> None:
        self.operation, self.function = operation, function
        self.parameters = PermittedQueryParameters.of(operation.query_parameters)
        self.body = PermittedBodyFields.of(
            operation.fields, operation.takes_dry_runs, operation.warns_of_unknown
        )

    def answer(self, request: Request, parts: Mapping[str, Any]) -> HttpResponseBase:
        operation = self.operation
        if not (operation.is_open or request.user.is_authenticated):
            raise NotAuthenticated
        arguments = self._find_url_arguments(request, parts)
        self._check_request(request)
        if operation.form is not None:
            arguments.append(_validate_request_data(operation.form(data=request.data)))
        if operation.query is not None:
            arguments.append(
                _validate_request_data(operation.query(data=request.query_params))
            )
        try:
            with confirm_disclosure(
                *(request.query_params.get(name, "") for name in CONFIRMATION_FIELDS)
            ):
                made = self.function(request, *arguments)
        except InputRefused as refused:
            raise UploadedFileRejected(refused.problems) from refused
        return (
            made
            if isinstance(made, HttpResponseBase)
            else self._build_response(request, made)
        )

    def _find_url_arguments(
        self, request: Request, parts: Mapping[str, Any]
    ) -> list[Any]:
        operation = self.operation
        if operation.role is None:
            return list(parts.values())
        named = [value for name, value in parts.items() if name not in operation.rest]
        found = operation.role(request.user, *named)
        return [found, *(parts[name] for name in operation.rest)]

    def _check_request(self, request: Request) -> None:
        self.parameters.check(request)
        if self.operation.is_upload:
            api.require_length(request)
        is_dry_run(request, is_rehearsed=self.operation.takes_dry_runs)
        self.body.check(request)

    def _build_response(self, request: Request, made: Any) -> HttpResponseBase:
        operation = self.operation
        if operation.pages is not None:
            return api.build_paginated_response(request, made, operation.pages)
        answers = operation.answers
        if answers is None:
            return Response(status=204)
        is_list = isinstance(answers, list)
        written = answers[0] if isinstance(answers, list) else answers
        context = {"request": request}
        return Response(
            written(made, many=is_list, context=context).data, status=operation.status
        )


get, post, delete = (
    partial(Operation, "GET"),
    partial(Operation, "POST"),
    partial(Operation, "DELETE"),
)


def register_action_operation(
    act: UserAction,
    address: str,
    label: str = "",
    *,
    method: str = "POST",
    takes: Callable[..., Mapping[str, Any]] | None = None,
    gives: Callable[..., Any] = lambda request, made: made,
    **declared: Any,
) -> None:
    """Declare the API operation of a user action.

    ``takes`` returns the arguments of the action's service, and ``gives`` returns the
    response. ``label`` is the operation id of the API operation, by default the name of
    the service.
    """

    def handle_action_request(
        request: Request, thing: Any, sent: Mapping[str, Any] = MappingProxyType({})
    ) -> Any:
        if takes is not None:
            sent = takes(request, thing, sent)
        elif act.form is not None and act.form.mirrors:
            sent = {name: getattr(thing, name) for name in act.form.base_fields} | dict(
                sent
            )
        if is_dry_run(request):
            rehearsal = acts.rehearse_user_action(
                act, thing, require_signed_in_user(request), sent
            )
            jobs = queue_dry_runs(
                acts.find_season_of_object(thing),
                rehearsal.effects.scores.scorings,
                require_signed_in_user(request),
            )
            addresses = [
                request.build_absolute_uri(reverse("api:background-job", args=[job.pk]))
                for job in jobs
            ]
            rehearsal = replace(rehearsal, jobs=addresses)
            return Response(RehearsalSerializer(rehearsal).data)
        return gives(
            request,
            acts.perform_confirmed_action(
                act,
                thing,
                require_signed_in_user(request),
                sent,
                read_confirmation(request),
            ),
        )

    handle_action_request.__doc__ = act.summary
    forbidden = {403: api.FORBIDDEN_RESPONSE} if act.role is led_team_or_error else {}
    declared["responses"] = {**forbidden, **declared.get("responses", {})}
    label = label or getattr(act.service, "__name__", "").removeprefix("_")
    declared.setdefault("form", act.form and build_form_serializer(act.form))
    declared.setdefault("lets_out", act.role is get_organised_season_or_404)
    if act.is_rehearsed:
        answered = declared["responses"].get(200, declared.get("answers"))
        declared["responses"][200] = _add_rehearsal_to_response_schema(answered, label)
        declared["parameters"] = [*declared.get("parameters", ()), DRY_RUN_PARAMETER]
    found = {
        "role": find_subject_lookup(act, address),
        "operation_id": label,
        "takes_dry_runs": act.is_rehearsed,
    }
    Operation(method, address, **{**found, **declared})(handle_action_request)


register_creating_action, register_deleting_action = (
    partial(register_action_operation, status=201),
    partial(register_action_operation, method="DELETE"),
)


def find_subject_lookup(act: UserAction, address: str) -> SubjectLookup:
    """Return the function that looks up the subject of an action from URL parameters.

    If ``role`` returns the subject of the action, the function returns ``role``.
    Otherwise ``role`` returns a season or a team, and the subject is a database row
    that belongs to this season or team. The URL contains the primary key of the row,
    with or without the slug of the season or team.
    """
    if URL_SUBJECT_NAMES_BY_ROLE.get(act.role, act.subject) == act.subject:
        return act.role
    parts = re.findall(r"<\w+:(\w+)>", address)
    if len(parts) == 1:
        return build_season_row_lookup(act.subject, act.role)
    return build_nested_row_lookup(parts[-1], act.role)


def _find_writable_fields(
    sent: serializers.BaseSerializer[Any] | AnySerializer | None,
) -> dict[str, Any]:
    form = sent() if isinstance(sent, type) else sent
    fields = form.fields if isinstance(form, serializers.Serializer) else {}
    return {name: field for name, field in fields.items() if not field.read_only}


def _validate_request_data(sent: serializers.BaseSerializer[Any]) -> Any:
    sent.is_valid(raise_exception=True)
    return sent.validated_data


def _build_success_response_schema(
    answers: AnySerializer | list[AnySerializer] | None,
    pages: AnySerializer | None,
    files: Sequence[str],
    status: int,
) -> dict[Any, Any]:
    if files:
        return {(200, kind): OpenApiTypes.BINARY for kind in files}
    if pages is not None:
        return {200: _cached_page_serializer(pages)}
    if answers is None:
        return {204: None}
    return {status: answers[0](many=True) if isinstance(answers, list) else answers}


def build_url_patterns() -> list[URLPattern]:
    patterns = []
    for address, view in _VIEWS_BY_ADDRESS.items():
        callback: Any = view.as_view()
        if view.is_open:
            callback = allow_any_origin(callback)
        patterns.append(path(address, callback, name=view.name))
    return patterns
