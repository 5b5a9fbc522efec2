"""Helpers for views, which check permissions, look up objects in the URL, and respond
to forms and user actions.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from operator import attrgetter
from typing import Any, TypeVar

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.core.paginator import Page as Leaf, Paginator
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    StreamingHttpResponse,
)
from django.shortcuts import redirect, render
from django.urls import URLPattern, path, reverse
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _
from django.views.decorators.http import (
    require_http_methods,
    require_POST,
    require_safe,
)

from citeboard.acts.declared import ROW_LOOKUPS_BY_NAME, SubjectLookup, UserAction
from citeboard.acts.rehearsal import (
    ActionConfirmation,
    NeedsConfirmation,
    Rehearsal,
    find_season_of_object,
    perform_confirmed_action,
)
from citeboard.background.kinds import queue_dry_runs
from citeboard.core.query import reject_unknown_names
from citeboard.core.refusals import ActionRefused
from citeboard.core.words import format_as_sentence
from citeboard.teams.access import led_team_or_error, own_team_or_404
from citeboard.teams.models import User
from scoring.exchange.results import find_content_type
from scoring.models import BackgroundJob
from scoring.results.board.formatting import set_display_names_of_task
from tasks.gold.early import (
    CONFIRMATION_FIELDS,
    DRY_RUN_FIELD,
    ConfirmedDisclosure,
    EmbargoBreach,
    confirm_disclosure,
    render_breach_confirmation,
    render_confirmation_page,
)
from tasks.models import Phase, Season, Task
from tasks.seasons import access
from tasks.seasons.access import (
    get_helped_season_or_404,
    get_organised_season_or_404,
    get_visible_phase_or_404,
    get_visible_season_or_404,
    get_visible_task_or_404,
)
from tasks.seasons.file.load import Fault, InvalidSettings
from tasks.types import InputRefused

ViewResult = str | dict[str, Any] | HttpResponseBase
View = Callable[..., HttpResponseBase]
ViewDecorator = Callable[[Callable[..., ViewResult]], View]
R = TypeVar("R", bound=HttpResponseBase)


def build_url_pattern(address: str, view: View, name: str, **given: str) -> URLPattern:
    """Return a URL pattern for a view. ``given`` contains additional keyword arguments
    for the view.
    """
    return path(address, view, given, name=name)


def build_url_patterns_by_format(
    address: str, view: View, name: str, forms: Iterable[str]
) -> list[URLPattern]:
    """Return a URL pattern for each format of a page.

    The name of the format is a suffix of the URL and of the pattern's name.
    """
    return [
        build_url_pattern(f"{address}.{form}", view, f"{name}-{form}", form=form)
        for form in forms
    ]


class SignedInRequest(HttpRequest):
    user: User


ResponseAfterAction = Callable[[SignedInRequest, Any, Any], HttpResponseBase]


class PageDecorators:
    """Decorators for views that show one type of object. The decorators also check
    permissions.

    ``find`` takes the user and the URL parameters in ``parts``, and returns the object
    or raises Http404 or PermissionDenied. ``context`` returns template variables for
    the object. The view receives the request, the object and the other URL parameters.
    ``rows`` maps URL parameters that are primary keys to lookups of the model
    instances, which the view receives instead.
    """

    def __init__(
        self,
        find: Callable[..., Any],
        *parts: str,
        context: Callable[[Any], dict[str, Any]] = lambda thing: {},
        rows: Mapping[str, SubjectLookup] | None = None,
        is_public: bool = False,
    ) -> None:
        self._find, self._parts, self._context = find, parts, context
        self._rows, self._is_public = rows or {}, is_public

    def page(self, template: str = "", part: str = "") -> ViewDecorator:
        """Return a decorator for a read-only page.

        Without a template, the view itself returns a response, such as a file.
        """
        return lambda view: self._require_login(
            require_safe(self._build_view(view, template, part))
        )

    def form(
        self,
        template: str,
        part: str = "",
        back: str = "",
        *,
        fields: Sequence[str] | None = None,
    ) -> ViewDecorator:
        """Return a decorator for a page with a form.

        The view returns the template context, or a message if the action succeeded.
        After a successful action the page redirects to ``back``, or to itself. The
        docstring of the method `act` explains the argument ``fields``.
        """
        methods = require_http_methods(["GET", "HEAD", "POST"])
        return lambda view: self._require_login(
            methods(self._build_view(view, template, part, back, fields=fields))
        )

    def act(self, back: str, *, fields: Sequence[str] | None = ()) -> ViewDecorator:
        """Return a decorator for a view that performs a user action by POST.

        After the action the view redirects to ``back``, the name of a page with
        arguments from the URL or the object. A `#` in ``back`` begins a URL fragment.
        ``fields`` lists all allowed form fields, or is None if the view calls
        `require_known_fields`.
        """
        return lambda view: require_POST(
            self._require_login(
                self._build_view(view, back=back, is_act=True, fields=fields)
            )
        )

    def _require_login(self, view: View) -> View:
        return view if self._is_public else login_required(view)

    def _build_confirmation_response(
        self,
        request: HttpRequest,
        asked: EmbargoBreach | NeedsConfirmation,
        thing: Any,
        *,
        part: str,
        leave: str,
    ) -> HttpResponseBase:
        if isinstance(asked, EmbargoBreach):
            return render_breach_confirmation(
                request, asked, **self._context(thing), part=part, leave=leave
            )
        if asked.rehearsal.is_of_new_season:
            return render_confirmation_page(request, asked.rehearsal)
        return show_predicted_effects(
            request,
            asked.rehearsal,
            find_season_of_object(thing),
            part=part,
            leave=leave,
        )

    def _build_view(
        self,
        view: Callable[..., ViewResult],
        template: str = "",
        part: str = "",
        back: str = "",
        *,
        is_act: bool = False,
        fields: Sequence[str] | None = None,
    ) -> View:
        @wraps(view)
        def respond_to_request(
            request: HttpRequest, **address: Any
        ) -> HttpResponseBase:
            thing = self._find_page_object(request, address)
            rest = self._find_other_url_arguments(thing, address)
            if fields is not None:
                require_known_fields(request, names=fields)
            try:
                with confirm_disclosure(
                    *(request.POST.get(name, "") for name in CONFIRMATION_FIELDS)
                ):
                    answered = view(request, thing, **rest)
            except (EmbargoBreach, NeedsConfirmation) as asked:
                leave = (
                    self._build_redirect_address(request, back, address, thing)
                    if is_act
                    else ""
                )
                return self._build_confirmation_response(
                    request, asked, thing, part=part, leave=leave
                )
            except (ActionRefused, ValidationError) as refused:
                if not is_act:
                    raise
                faults = (
                    [refused]
                    if isinstance(refused, ActionRefused)
                    else refused.messages
                )
                messages.error(request, " ".join(map(format_as_sentence, faults)))
                return redirect(
                    self._build_redirect_address(request, back, address, thing)
                )
            if isinstance(answered, str):
                messages.success(request, answered)
                return redirect(
                    self._build_redirect_address(request, back, address, thing)
                )
            if isinstance(answered, HttpResponseBase):
                return answered
            context = {**self._context(thing), **rest, **answered}
            if part:
                context.setdefault("part", part)
            status = 422 if request.method == "POST" else 200
            return render(request, template, context, status=status)

        return respond_to_request

    def _find_page_object(
        self, request: HttpRequest, address: Mapping[str, Any]
    ) -> Any:
        """Return the object of the page from the URL parameters.

        If the object belongs to a task, the page shows metrics under the names that the
        task defines.
        """
        thing = self._find(request.user, *(address[name] for name in self._parts))
        phase = getattr(thing, "phase", thing)
        task = getattr(phase, "task", thing)
        if isinstance(task, Task):
            set_display_names_of_task(task)
        return thing

    def _find_other_url_arguments(
        self, thing: Any, address: Mapping[str, Any]
    ) -> dict[str, Any]:
        rest = {
            name: value for name, value in address.items() if name not in self._parts
        }
        for name in rest.keys() & self._rows.keys():
            rest[name] = self._rows[name](thing, rest[name])
        return rest

    @staticmethod
    def _build_redirect_address(
        request: HttpRequest, back: str, address: dict[str, Any], thing: object
    ) -> str:
        if not back:
            return request.path
        where, mark, place = back.partition("#")
        name, *parts = where.split()
        args = [
            address[part] if part in address else attrgetter(part)(thing)
            for part in parts
        ]
        return reverse(name, args=args) + mark + place


def _build_season_context(season: Any) -> dict[str, Any]:
    return {"season": season}


def build_phase_context(phase: Phase) -> dict[str, Any]:
    return {"season": phase.task.season, "task": phase.task, "phase": phase}


organiser_pages = PageDecorators(
    get_organised_season_or_404,
    "season",
    context=_build_season_context,
    rows=ROW_LOOKUPS_BY_NAME,
)
helper_pages = PageDecorators(
    get_helped_season_or_404,
    "season",
    context=_build_season_context,
    rows=ROW_LOOKUPS_BY_NAME,
)
team_member_pages = PageDecorators(
    own_team_or_404,
    "slug",
    context=lambda team: {"team": team},
    rows=ROW_LOOKUPS_BY_NAME,
)
team_lead_pages = PageDecorators(
    led_team_or_error,
    "slug",
    context=lambda team: {"team": team},
    rows=ROW_LOOKUPS_BY_NAME,
)
staff_pages = PageDecorators(access.require_staff)
signed_in_pages = PageDecorators(lambda user: user)
season_reader_pages = PageDecorators(
    get_visible_season_or_404, "season", context=_build_season_context, is_public=True
)
task_reader_pages = PageDecorators(
    get_visible_task_or_404,
    "season",
    "task",
    context=lambda task: {"season": task.season, "task": task},
    is_public=True,
)
phase_reader_pages = PageDecorators(
    get_visible_phase_or_404,
    "season",
    "task",
    "phase",
    context=build_phase_context,
    is_public=True,
)
season_entrant_pages = PageDecorators(
    get_visible_season_or_404, "season", context=_build_season_context
)
_PAGE_DECORATORS_BY_ROLE = {
    get_organised_season_or_404: organiser_pages,
    get_helped_season_or_404: helper_pages,
    get_visible_season_or_404: season_entrant_pages,
    own_team_or_404: team_member_pages,
    led_team_or_error: team_lead_pages,
}


#: Every form on the site may contain the fields in _COMMON_FORM_FIELDS.
_COMMON_FORM_FIELDS = ("csrfmiddlewaretoken", DRY_RUN_FIELD, *CONFIRMATION_FIELDS)


def build_action_view(
    act: UserAction,
    back: str,
    pages: PageDecorators | None = None,
    then: ResponseAfterAction | None = None,
) -> View:
    """Return a view that performs a user action, whose form is on another page.

    ``back`` has the same meaning as for `Pages.act`.
    """

    def run_action(request: SignedInRequest, holder: Any, **address: Any) -> ViewResult:
        fields = act.form.base_fields if act.form else {}
        filled = {name: value for name, value in address.items() if name in fields}
        thing = act.find_subject(address, holder)
        require_known_fields(request, act.form(of=thing) if act.form else None)
        filled = {**act.read(thing, request.POST), **filled}
        return _perform_action_and_respond(request, act, thing, filled, then)

    run_action.__doc__ = act.summary
    return (pages or _PAGE_DECORATORS_BY_ROLE[act.role]).act(back, fields=None)(
        run_action
    )


def build_form_view(
    act: UserAction,
    template: str,
    part: str = "",
    back: str = "",
    *,
    at: str | None = None,
    shows: Callable[[HttpRequest, Any], dict[str, Any]] = lambda request, thing: {},
    pages: PageDecorators | None = None,
    then: ResponseAfterAction | None = None,
) -> View:
    """Return a view with the form of a user action.

    ``shows`` returns additional template variables. Errors that belong to no field of
    the form appear at the field ``at``.
    """

    def show_or_process_form(
        request: SignedInRequest, holder: Any, **address: Any
    ) -> ViewResult:
        thing = act.find_subject(address, holder)
        assert act.form is not None
        form = act.form(**build_form_arguments(request), of=thing)
        require_known_fields(request, form)
        with add_refusals_to_form(form, at):
            if form.is_valid():
                return _perform_action_and_respond(
                    request, act, thing, form.cleaned_data, then
                )
        return {"form": form, **shows(request, thing)}

    show_or_process_form.__doc__ = act.summary
    return (pages or _PAGE_DECORATORS_BY_ROLE[act.role]).form(template, part, back)(
        show_or_process_form
    )


def require_known_fields(
    request: HttpRequest, form: forms.BaseForm | None = None, names: Iterable[str] = ()
) -> None:
    """Raise InvalidParameters if the request contains an unknown field.

    Known fields are the fields of ``form``, the fields in ``names``, and the fields
    that every form may contain.
    """
    fields = list(_list_field_names(form)) if form is not None else []
    sent = [
        name
        for name in (*request.POST, *request.FILES)
        if name not in _COMMON_FORM_FIELDS
    ]
    reject_unknown_names(sent, [*fields, *names])


def _list_field_names(form: forms.BaseForm) -> Iterator[str]:
    """Yield the names of the fields that a browser sends for a form.

    The names include those of hidden fields with initial values.
    """
    for name, field in form.fields.items():
        yield form.add_prefix(name)
        if field.show_hidden_initial:
            yield form.add_initial_prefix(name)


def show_predicted_effects(
    request: HttpRequest,
    rehearsal: Rehearsal,
    season: Season,
    stored: Sequence[tuple[str, str]] = (),
    part: str = "",
    leave: str = "",
) -> HttpResponse:
    """Show the effects of an action before the action runs.

    Workers compute the scores that would result from the action in the background.
    """
    assert isinstance(request.user, User)
    jobs = queue_dry_runs(season, rehearsal.effects.scores.scorings, request.user)
    return render_confirmation_page(
        request, rehearsal, stored, season=season, part=part, jobs=jobs, leave=leave
    )


def read_action_confirmation(request: HttpRequest) -> ActionConfirmation:
    task, reason = (request.POST.get(name, "").strip() for name in CONFIRMATION_FIELDS)
    return ActionConfirmation(
        request.POST.get(DRY_RUN_FIELD, ""), ConfirmedDisclosure(task, reason)
    )


def _perform_action_and_respond(
    request: SignedInRequest,
    act: UserAction,
    thing: Any,
    filled: Mapping[str, Any],
    then: ResponseAfterAction | None,
) -> ViewResult:
    made = perform_confirmed_action(
        act, thing, request.user, filled, read_action_confirmation(request)
    )
    words = act.told(thing, made, filled)
    if then is None:
        return words
    if words:
        messages.success(request, words)
    return then(request, thing, made)


@contextmanager
def add_refusals_to_form(form: forms.BaseForm, field: str | None) -> Iterator[None]:
    """Add errors that a service raises in the block to the form.

    Errors that belong to no field of the form are added to the field ``field``.
    """
    try:
        yield
    except (EmbargoBreach, NeedsConfirmation):
        # A separate page asks for the confirmation of the action.
        raise
    except InputRefused as refused:
        for problem in refused.problems:
            form.add_error(field, format_as_sentence(problem.message))
    except InvalidSettings as refused:
        for fault in refused.faults:
            key = fault.key.removeprefix("season.")
            form.add_error(
                key if key in form.fields else field, format_setting_fault(fault)
            )
    except ActionRefused as refused:
        form.add_error(field, format_as_sentence(refused))
    except ValidationError as faults:
        by_field = (
            faults.message_dict
            if hasattr(faults, "error_dict")
            else {field: faults.messages}
        )
        for name, errors in by_field.items():
            form.add_error(
                name if name in form.fields else field,
                [format_as_sentence(error) for error in errors],
            )


def format_setting_fault(fault: Fault) -> str:
    found = format_as_sentence(fault.message)
    if not fault.expected:
        return found
    return _("%(found)s Expected: %(expected)s.") % {
        "found": found,
        "expected": fault.expected,
    }


def redirect_to_job(
    request: SignedInRequest, thing: object, job: BackgroundJob
) -> HttpResponseBase:
    return redirect("background-job", job.pk)


def build_form_arguments(request: HttpRequest) -> dict[str, Any]:
    return (
        {"data": request.POST, "files": request.FILES}
        if request.method == "POST"
        else {}
    )


def paginate_rows(request: HttpRequest, rows: Any, most: int = 50) -> Leaf[Any]:
    """Return the requested page of a long list.

    The URL parameter `page` is the number of the page.
    """
    return Paginator(rows, most).get_page(request.GET.get("page"))


def build_download_response(
    content: Any, filename: str, *, is_private: bool = False
) -> HttpResponseBase:
    """Return a file as a response that browsers download.

    Browsers do not cache the file if ``is_private`` is True.
    """
    answer = StreamingHttpResponse if isinstance(content, Iterator) else HttpResponse
    response = answer(content, content_type=find_content_type(filename))
    response["Content-Disposition"] = content_disposition_header(
        as_attachment=True, filename=filename
    )
    return forbid_caching(response) if is_private else response


def forbid_caching(response: R) -> R:
    """Forbid caches to store a response that depends on the user."""
    response["Cache-Control"] = "private, no-store"
    return response
