"""An operation of the API is declared once; its view, its route and its description follow."""

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from inspect import cleandoc, signature
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

from citeboard.acts import rehearsal as acts
from citeboard.acts.declared import ROWS, Act, in_season, numbered
from citeboard.api.serializers import form_of, mirror, serializer
from citeboard.background.kinds import ask_for_dry_runs
from citeboard.core import api
from citeboard.core.api import readable_anywhere
from citeboard.core.query import chosen_value, invalid_value, refuse_unknown
from citeboard.teams.access import team_for_lead
from citeboard.teams.api import person
from tasks.gold.content import Compared
from tasks.gold.early import GOING_ON, GoingOn, going_on
from tasks.gold.secrecy import Kind
from tasks.seasons.access import season_to_organise
from tasks.submissions.refusals import RunUnusable
from tasks.types import InputRefused, Problem
from tasks.types.problems import capped


class FileRefused(RunUnusable):
    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("the file is refused")
        self.problems, self.more = capped(problems)


F = TypeVar("F", bound=Callable[..., Any])
AnySerializer = type[serializers.BaseSerializer[Any]]
_page_of: Any = cache(api.paged)
LET_OUT = (
    OpenApiParameter(
        GOING_ON[0],
        str,
        description="To go on where this would let something out before its time: the name of the task.",
    ),
    OpenApiParameter(
        GOING_ON[1],
        str,
        description="With it, the reason, which stands in the history.",
    ),
)
FILES, FIELDS = "multipart/form-data", "application/x-www-form-urlencoded"


# The operations of one address, by method. A docstring would stand in the description of each.
class OperationView(APIView):
    name: str
    is_open = False

    def finalize_response(
        self, request: Request, response: Response, *args: Any, **kwargs: Any
    ) -> Response:
        response = super().finalize_response(request, response, *args, **kwargs)
        if (
            request.method in api.READ
            and response.status_code == 200
            and isinstance(response, Response)
        ):
            response.add_post_render_callback(partial(_unless_known, request))
        return response


def _unless_known(request: Request, response: Response) -> HttpResponseBase:
    """304 where the program has this very answer."""
    set_response_etag(response)
    answer = get_conditional_response(
        request._request,  # noqa: SLF001
        etag=response["ETag"],
        response=response,
    )
    assert answer is not None
    return answer


_VIEWS: dict[str, type[OperationView]] = {}


LetOutSerializer = serializer(
    "LetOut",
    "What would be known before its time.",
    phase=int,
    what=serializers.ChoiceField(choices=[kind.value for kind in Kind]),
    free_from=(dt.datetime | None, "Null where nothing says when."),
)


class TooEarly(api.Closed):
    """What cannot be done as things stand, or would let something out before its time."""

    lets_out = LetOutSerializer(
        many=True, required=False, help_text="Only where it would."
    )
    task = serializers.CharField(
        required=False, help_text="Then the name that is to be typed to go on."
    )


for _part, _meaning in {
    acts.Told: "What people would be told; `title` and `text` are the words of one of them.",
    Compared: "Instances of the version before and of the new one.",
    acts.MadePhase: "A phase of a season that would be made, in words.",
    acts.Moved: "A run that would count otherwise; rank and score are empty where it stands on no board.",
}.items():
    mirror(_part, _meaning)
mirror(
    acts.GoldStep,
    "A new version of a split's gold.",
    findings=serializers.ListField(
        child=serializers.DictField(), help_text="Kind, count and names."
    ),
)
RehearsalSerializer = mirror(
    acts.Rehearsal,
    "What would be done and what would follow; nothing is done.",
    changes=serializers.ListField(
        child=serializers.DictField(), help_text="Key, before and after."
    ),
    posted="How many posts to webhooks.",
    jobs="Addresses of the background jobs that tell the scores that would follow: of the best, of the rest.",
    name="That is to be typed to go on, with a reason, where `asks_for_name`.",
    early=None,
    scorings=None,
    lets_out=LetOutSerializer(
        many=True, help_text="What would be known before its time."
    ),
    asks=serializers.BooleanField(help_text="Whether something changes for somebody."),
    asks_for_name=serializers.BooleanField(),
    digest=serializers.CharField(help_text="Of what this was computed from."),
)
DRY_RUN = OpenApiParameter(
    "dry_run",
    bool,
    description="Say what would be done and follow, and do nothing. The body may have it instead.",
)
#: The values of a switch that is on or off, in an address, a form or an object.
SWITCH_VALUES = {"true": True, "1": True, "false": False, "0": False}
#: Fields that any body may have: `is_dry_run` reads the first, Django's protection of sessions the second.
_OF_EVERY_BODY = (DRY_RUN.name, "csrfmiddlewaretoken")


def is_dry_run(request: Request, *, is_rehearsed: bool = True) -> bool:
    """Raise ValidationError if the values contradict each other, or if nothing rehearses the operation."""
    sent = [
        *request.query_params.getlist(DRY_RUN.name),
        *_sent_in_body(request, DRY_RUN.name),
    ]
    values = {_read_switch(DRY_RUN.name, value) for value in sent}
    if len(values) > 1:
        raise ValidationError({DRY_RUN.name: ["It is both true and false."]})
    if values == {True} and not is_rehearsed:
        raise ValidationError(
            {DRY_RUN.name: ["This can only be done: nothing rehearses it."]}
        )
    return values == {True}


def _read_switch(name: str, value: object) -> bool:
    is_known = isinstance(value, str | int) and str(value).lower() in SWITCH_VALUES
    if not is_known:
        raise invalid_value(name, value, SWITCH_VALUES)
    return SWITCH_VALUES[str(value).lower()]


def _sent_in_body(request: Request, name: str) -> list[Any]:
    body: Any = {} if request.method in api.READ else request.data
    if isinstance(body, QueryDict):
        return list(body.getlist(name))
    return [body[name]] if name in body else []


def fields_sent(request: Request) -> list[str]:
    """Return the names in the body of a request, without those that any body may have."""
    return [name for name in request.data if name not in _OF_EVERY_BODY]


@dataclass(frozen=True)
class Body:
    """The fields that an operation takes."""

    names: tuple[str, ...]
    warns_of_unknown: bool

    @classmethod
    def of(
        cls, fields: Iterable[str], takes_dry_runs: bool, warns_of_unknown: bool
    ) -> "Body":
        return cls(
            (*fields, *([DRY_RUN.name] if takes_dry_runs else [])), warns_of_unknown
        )

    def check(self, request: Request) -> None:
        """Raise InvalidParameters if a field is unknown and the operation does not warn of it."""
        if request.method not in api.READ and not self.warns_of_unknown:
            refuse_unknown(fields_sent(request), self.names)


class DryRunForm(serializers.Serializer[Any]):
    """Whether nothing shall be done."""

    dry_run = serializers.BooleanField(
        required=False, help_text="Say what would be done and follow, and do nothing."
    )


def _described_body(sent: Any, method: str, *, takes_dry_runs: bool) -> Any:
    """Return the form as the description has it; no client sends a body with DELETE by itself."""
    return _with_dry_run(sent) if takes_dry_runs and method != "DELETE" else sent


@cache
def _with_dry_run(form: Any) -> AnySerializer:
    if form is None:
        return DryRunForm
    return type(form.__name__, (form, DryRunForm), {"__doc__": form.__doc__})


@dataclass(frozen=True)
class Parameters:
    """What the address of an operation may say after its question mark."""

    names: tuple[str, ...]
    #: By name the values of a switch, where it is none of the form's own.
    permitted: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, listed: Sequence[Any]) -> "Parameters":
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
        """Raise InvalidParameters if a name or the value of a switch is unknown."""
        is_read = request.method in api.READ
        names = [
            name for name in request.query_params if is_read or name != DRY_RUN.name
        ]
        refuse_unknown(names, self.names)
        for name, values in self.permitted.items():
            chosen_value(request.query_params, name, values)


def said_in(request: Request) -> acts.Said:
    """A program is asked by no page; what touches confirmed results needs the name and the reason."""
    return acts.Said(
        None,
        GoingOn(*(request.query_params.get(name, "").strip() for name in GOING_ON)),
    )


def _or_rehearsal(answers: Any, label: str) -> Any:
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


EARLY = OpenApiResponse(
    TooEarly,
    "As things stand this cannot be done, or is too early; the sentence says why.",
)


def operation(  # noqa: C901, PLR0913  (each argument and branch is a part of the declaration)
    method: str,
    address: str,
    *,
    of: Callable[..., Any] | None = None,
    form: AnySerializer | None = None,
    query: AnySerializer | None = None,
    body: serializers.BaseSerializer[Any] | None = None,
    answers: AnySerializer | list[AnySerializer] | None = None,
    pages: AnySerializer | None = None,
    files: Sequence[str] = (),
    status: int = 200,
    responses: Mapping[Any, Any] | None = None,
    without: int | None = None,
    parameters: Sequence[Any] = (),
    is_open: bool = False,
    is_upload: bool = False,
    lets_out: bool = False,
    takes_dry_runs: bool = False,
    warns_of_unknown: bool = False,
    name: str = "",
    operation_id: str = "",
    summary: str = "",
) -> Callable[[F], F]:
    """Makes a function an operation, which its docstring sums up and describes.

    It is called with the request and then with what follows here.

    ``of`` finds what the first parts of the address name for the user, or raises Http404 or PermissionDenied;
    the other parts of the address come as they are, then what the ``form`` or the ``query`` takes. ``body``
    describes a form that the function reads itself. What the function returns is written by ``answers``, or
    by ``pages`` as a page of a list; without either nothing is answered (204), and a response stays as it is.
    ``files`` are the media types of the file that is answered.

    Errors that follow from all this are described with it; ``responses`` adds others, ``without`` leaves one
    out. ``is_open`` lets in whoever has not signed in, and lets scripts of other sites read. An upload has
    its own limits. An act of organisers, and what ``lets_out`` something otherwise, may be gone on
    with where that is before its time; what ``takes_dry_runs`` asks itself whether it is one. Unknown
    parameters and fields are refused; what ``warns_of_unknown`` fields takes them nevertheless. The route's
    ``name`` and ``operation_id`` are the function's unless given.
    """

    def declare(function: F) -> F:  # noqa: C901  (each branch is a part of the declaration)
        taken = len(signature(of).parameters) - 1 if of else 0
        may_let_out = method != "GET" and (lets_out or of is season_to_organise)
        listed = _in_address(
            query, parameters, is_paged=pages is not None, may_let_out=may_let_out
        )
        sent = body or form
        taken_fields = _taken_by(sent)
        in_address, in_body = (
            Parameters.of(listed),
            Body.of(taken_fields, takes_dry_runs, warns_of_unknown),
        )

        def answer(
            view: OperationView, request: Request, **captured: Any
        ) -> HttpResponseBase:
            if not (is_open or request.user.is_authenticated):
                raise NotAuthenticated
            values = list(captured.values())
            arguments = (
                [of(request.user, *values[:taken]), *values[taken:]] if of else values
            )
            in_address.check(request)
            if is_upload:
                api.require_length(request)
            is_dry_run(request, is_rehearsed=takes_dry_runs)
            in_body.check(request)
            if form is not None:
                arguments.append(_checked(form(data=request.data)))
            if query is not None:
                arguments.append(_checked(query(data=request.query_params)))
            try:
                with going_on(
                    *(request.query_params.get(name, "") for name in GOING_ON)
                ):
                    made = function(request, *arguments)
            except InputRefused as refused:
                raise FileRefused(refused.problems) from refused
            if isinstance(made, HttpResponseBase):
                return made
            if pages is not None:
                return api.paged_answer(request, made, pages)
            if answers is None:
                return Response(status=204)
            is_list = isinstance(answers, list)
            written: Any = answers[0] if isinstance(answers, list) else answers
            return Response(
                written(made, many=is_list, context={"request": request}).data,
                status=status,
            )

        first, _, answer.__doc__ = cleandoc(function.__doc__ or "").partition("\n\n")
        label = operation_id or function.__name__
        described = {
            **_success(answers, pages, files, status),
            401: api.SIGN_IN,
            **({404: api.ABSENT} if pages or "<" in address else {}),
            429: api.TOO_MANY,
            400: api.INVALID,
            **(
                {409: EARLY if may_let_out else api.CONFLICT} if method != "GET" else {}
            ),
            **({403: api.FORBIDDEN} if of is team_for_lead else {}),
            **({413: api.TOO_LARGE} if is_upload else {}),
            **(responses or {}),
        }
        described.pop(without, None)
        has_file = any(
            isinstance(field, serializers.FileField) for field in taken_fields.values()
        )
        sent = _described_body(sent, method, takes_dry_runs=takes_dry_runs)
        schema: Any = extend_schema(
            operation_id=label,
            summary=summary or " ".join(first.split()).removesuffix("."),
            parameters=listed,
            request=dict.fromkeys(
                [FILES] if has_file else [FILES, api.JSON, FIELDS], sent
            )
            if sent
            else None,
            responses=described,
        )
        view = _VIEWS.setdefault(address, type("View", (OperationView,), {}))
        setattr(view, method.lower(), schema(answer))
        view.name = name or getattr(view, "name", label.replace("_", "-"))
        if is_open:
            view.permission_classes = [AllowAny]
        if is_upload:
            view.throttle_classes = [api.RequestThrottle, api.UploadThrottle]
        if has_file:
            view.parser_classes = [MultiPartParser]
        view.is_open |= is_open and method == "GET"
        return function

    return declare


get, post, delete = (
    partial(operation, "GET"),
    partial(operation, "POST"),
    partial(operation, "DELETE"),
)


def does(
    act: Act,
    address: str,
    label: str = "",
    *,
    method: str = "POST",
    takes: Callable[..., Mapping[str, Any]] | None = None,
    gives: Callable[..., Any] = lambda request, made: made,
    **declared: Any,
) -> None:
    """The operation of an act: ``takes`` makes what its service is given, ``gives`` what is answered; the
    ``label`` is its id, by the name of the service unless given.
    """

    def function(
        request: Request, thing: Any, sent: Mapping[str, Any] = MappingProxyType({})
    ) -> Any:
        if takes is not None:
            sent = takes(request, thing, sent)
        elif act.form is not None and act.form.mirrors:
            sent = {name: getattr(thing, name) for name in act.form.base_fields} | dict(
                sent
            )
        if is_dry_run(request):
            rehearsal = acts.rehearsed(act, thing, person(request), sent)
            if rehearsal.scorings:
                jobs = ask_for_dry_runs(
                    acts.season_of(thing), rehearsal.scorings, person(request)
                )
                rehearsal.jobs = [
                    request.build_absolute_uri(
                        reverse("api:background-job", args=[job.pk])
                    )
                    for job in jobs
                ]
            return Response(RehearsalSerializer(rehearsal).data)
        return gives(
            request, acts.perform(act, thing, person(request), sent, said_in(request))
        )

    function.__doc__ = act.summary
    forbidden = {403: api.FORBIDDEN} if act.of is team_for_lead else {}
    declared["responses"] = {**forbidden, **declared.get("responses", {})}
    label = label or getattr(act.service, "__name__", "").removeprefix("_")
    declared.setdefault("form", act.form and form_of(act.form))
    declared.setdefault("lets_out", act.of is season_to_organise)
    if act.is_rehearsed:
        answered = declared["responses"].get(200, declared.get("answers"))
        declared["responses"][200] = _or_rehearsal(answered, label)
        declared["parameters"] = [*declared.get("parameters", ()), DRY_RUN]
    found = {
        "of": _finder(act, address),
        "operation_id": label,
        "takes_dry_runs": act.is_rehearsed,
    }
    operation(method, address, **{**found, **declared})(function)


makes, deletes = partial(does, status=201), partial(does, method="DELETE")


def _finder(act: Act, address: str) -> Callable[..., Any]:
    names = [
        part.partition(":")[2].rstrip(">")
        for part in address.split("/")
        if part.startswith("<")
    ]
    if names == ["pk"] and act.to in ROWS:
        return numbered(act.to, act.of)
    if len(names) == len(signature(act.of).parameters) - 1:
        return act.of
    return in_season(names[-1], act.of)


def _in_address(
    query: AnySerializer | None,
    parameters: Sequence[Any],
    *,
    is_paged: bool,
    may_let_out: bool,
) -> list[Any]:
    return [
        *([query] if query else []),
        *parameters,
        *(api.PAGE_PARAMETERS if is_paged else []),
        *(LET_OUT if may_let_out else []),
    ]


def _taken_by(
    sent: serializers.BaseSerializer[Any] | AnySerializer | None,
) -> dict[str, Any]:
    form = sent() if isinstance(sent, type) else sent
    fields = form.fields if isinstance(form, serializers.Serializer) else {}
    return {name: field for name, field in fields.items() if not field.read_only}


def _checked(sent: serializers.BaseSerializer[Any]) -> Any:
    sent.is_valid(raise_exception=True)
    return sent.validated_data


def _success(
    answers: AnySerializer | list[AnySerializer] | None,
    pages: AnySerializer | None,
    files: Sequence[str],
    status: int,
) -> dict[Any, Any]:
    if files:
        return {(200, kind): OpenApiTypes.BINARY for kind in files}
    if pages is not None:
        return {200: _page_of(pages)}
    if answers is None:
        return {204: None}
    return {status: answers[0](many=True) if isinstance(answers, list) else answers}


def url_patterns() -> list[URLPattern]:
    patterns = []
    for address, view in _VIEWS.items():
        callback: Any = view.as_view()
        if view.is_open:
            callback = readable_anywhere(callback)
        patterns.append(path(address, callback, name=view.name))
    return patterns
