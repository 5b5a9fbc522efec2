"""An operation of the API is declared once; its view, its route and its description follow."""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from inspect import cleandoc, signature
from types import MappingProxyType
from typing import Any, TypeVar

from django.http import HttpResponseBase
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
    "dry_run", bool, description="Say what would be done and follow, and do nothing."
)


def is_dry_run(request: Request, *, is_rehearsed: bool = True) -> bool:
    """Raises ValidationError where it is asked of what nothing rehearses."""
    is_asked = request.query_params.get("dry_run", "").lower() in ("true", "1")
    if is_asked and not is_rehearsed:
        raise ValidationError(
            {"dry_run": ["This can only be done: nothing rehearses it."]}
        )
    return is_asked


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
    with where that is before its time; what ``takes_dry_runs`` asks itself whether it is one. The route's
    ``name`` and ``operation_id`` are the function's unless given.
    """

    def declare(function: F) -> F:  # noqa: C901  (each branch is a part of the declaration)
        taken = len(signature(of).parameters) - 1 if of else 0

        def answer(
            view: OperationView, request: Request, **captured: Any
        ) -> HttpResponseBase:
            if not (is_open or request.user.is_authenticated):
                raise NotAuthenticated
            values = list(captured.values())
            arguments = (
                [of(request.user, *values[:taken]), *values[taken:]] if of else values
            )
            is_dry_run(request, is_rehearsed=takes_dry_runs or method == "GET")
            if is_upload:
                api.require_length(request)
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
        may_let_out = method != "GET" and (lets_out or of is season_to_organise)
        described = {
            **_success(answers, pages, files, status),
            401: api.SIGN_IN,
            **({404: api.ABSENT} if pages or "<" in address else {}),
            429: api.TOO_MANY,
            **({400: api.INVALID} if query or method != "GET" else {}),
            **(
                {409: EARLY if may_let_out else api.CONFLICT} if method != "GET" else {}
            ),
            **({403: api.FORBIDDEN} if of is team_for_lead else {}),
            **({413: api.TOO_LARGE} if is_upload else {}),
            **(responses or {}),
        }
        described.pop(without, None)
        sent = body or form
        has_file = any(
            isinstance(field, serializers.FileField) for field in _fields_of(sent)
        )
        listed: list[Any] = [
            *([query] if query else []),
            *parameters,
            *(api.PAGE_PARAMETERS if pages else []),
        ]
        schema: Any = extend_schema(
            operation_id=label,
            summary=summary or " ".join(first.split()).removesuffix("."),
            parameters=[*listed, *(LET_OUT if may_let_out else [])],
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


def _fields_of(
    sent: serializers.BaseSerializer[Any] | AnySerializer | None,
) -> list[Any]:
    form = sent() if isinstance(sent, type) else sent
    return (
        list(form.fields.values()) if isinstance(form, serializers.Serializer) else []
    )


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
