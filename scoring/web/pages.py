"""What pages share: who may read one, what its address names, and how a form or an act is answered."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from operator import attrgetter
from typing import Any, TypeVar

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.core.paginator import Page as Leaf
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import URLPattern, path, reverse
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from citeboard.core.refusals import Refused
from citeboard.core.words import sentence
from citeboard.teams.access import team_for_lead, team_for_member
from citeboard.teams.models import User
from scoring.models import Sheet
from scoring.web.breadcrumbs import place_of
from tasks.models import Acknowledgement, Delivery, ExtraTries, Organiser, Phase, Question, Task, Webhook
from tasks.seasons.access import phase_for, season_for, season_to_help, season_to_organise, task_for

#: What a view answers: what was done, in words; or what the page shows; or a response of its own.
Answer = str | dict[str, Any] | HttpResponseBase
View = Callable[..., HttpResponseBase]
Decorator = Callable[[Callable[..., Answer]], View]
R = TypeVar("R", bound=HttpResponseBase)


def page(address: str, view: View, name: str, **given: str) -> URLPattern:
    """A line of the site's addresses; ``given`` is what the view is called with beside what stands in it."""
    return path(address, view, given, name=name)


#: What numbers in the addresses of organisers are of, and how each belongs to the season.
ROWS: dict[str, tuple[QuerySet[Any], str]] = {
    "acknowledgement": (Acknowledgement.objects.all(), "submission__phase__task__season"),
    "delivery": (Delivery.objects.select_related("webhook__season", "job"), "webhook__season"),
    "given": (ExtraTries.objects.select_related("phase__task__season", "team"), "phase__task__season"),
    "organiser": (Organiser.objects.select_related("user", "season"), "season"),
    "phase": (Phase.objects.select_related("task__season"), "task__season"),
    "question": (Question.objects.select_related("asked_by", "season"), "season"),
    "sheet": (Sheet.objects.select_related("phase__task__season"), "phase__task__season"),
    "task": (Task.objects.all(), "season"),
    "webhook": (Webhook.objects.select_related("season"), "season"),
}


class SignedInRequest(HttpRequest):
    user: User


class Pages:
    """Pages about one kind of thing, for those who may have it.

    ``find`` gets the thing from the viewer and the ``parts`` of the address, or raises Http404 or
    PermissionDenied; it goes into what the page shows by ``context``. A view is called with the request, the
    thing and the rest of the address, in which ``rows`` stand for their numbers.
    """

    def __init__(
        self,
        find: Callable[..., Any],
        *parts: str,
        context: Callable[[Any], dict[str, Any]] = lambda found: {},
        rows: dict[str, tuple[QuerySet[Any], str]] | None = None,
        is_public: bool = False,
    ) -> None:
        self._find, self._parts, self._context = find, parts, context
        self._rows, self._is_public = rows or {}, is_public

    def page(self, template: str = "", part: str = "") -> Decorator:
        """It is read. Without a template its view answers by itself, with a file for example."""
        return lambda view: self._guarded(require_safe(self._view(view, template, part)))

    def form(self, template: str, part: str = "", back: str = "") -> Decorator:
        """Its view says what was done; until then it gives what to show, with the faults of what was sent.

        What was done leads ``back``, as for an act, or else to the form itself.
        """
        methods = require_http_methods(["GET", "HEAD", "POST"])
        return lambda view: self._guarded(methods(self._view(view, template, part, back)))

    def act(self, back: str) -> Decorator:
        """It is posted to. What was done, or why it was refused, is told on the page that it leads
        ``back`` to: its name, the parts of this address or of what it names that go into its own,
        and behind `#` a place on it.
        """
        return lambda view: require_POST(self._guarded(self._view(view, back=back, is_act=True)))

    def _guarded(self, view: View) -> View:
        return view if self._is_public else login_required(view)

    def _view(
        self,
        view: Callable[..., Answer],
        template: str = "",
        part: str = "",
        back: str = "",
        *,
        is_act: bool = False,
    ) -> View:
        @wraps(view)
        def answer(request: HttpRequest, **address: Any) -> HttpResponseBase:
            found = self._find(request.user, *(address[name] for name in self._parts))
            rest = {name: value for name, value in address.items() if name not in self._parts}
            for name in rest.keys() & self._rows.keys():
                rows, belongs = self._rows[name]
                rest[name] = get_object_or_404(rows, pk=rest[name], **{belongs: found})
            try:
                answered = view(request, found, **rest)
            except (Refused, ValidationError) as refused:
                if not is_act:
                    raise
                messages.error(request, refusal_in_words(refused))
                return redirect(self._address(request, back, address, found))
            if isinstance(answered, str):
                messages.success(request, answered)
                return redirect(self._address(request, back, address, found))
            if isinstance(answered, HttpResponseBase):
                return answered
            context = {**self._context(found), **({"part": part} if part else {}), **rest, **answered}
            return render(request, template, context, status=422 if request.method == "POST" else 200)

        return answer

    @staticmethod
    def _address(request: HttpRequest, back: str, own: dict[str, Any], found: object) -> str:
        if not back:
            return request.path
        where, mark, place = back.partition("#")
        name, *parts = where.split()
        args = [own[part] if part in own else attrgetter(part)(found) for part in parts]
        return reverse(name, args=args) + mark + place


def _of_season(season: Any) -> dict[str, Any]:
    return {"season": season}


def _staff(user: object) -> User:
    if not isinstance(user, User) or not user.is_staff:
        raise Http404(_("This page is for those who run the site."))
    return user


organisers = Pages(season_to_organise, "season", context=_of_season, rows=ROWS)
helpers = Pages(season_to_help, "season", context=_of_season, rows=ROWS)
members = Pages(team_for_member, "slug", context=lambda team: {"team": team})
leads = Pages(team_for_lead, "slug", context=lambda team: {"team": team})
staff = Pages(_staff)
#: What is found is who is signed in.
signed_in = Pages(lambda user: user)
season_readers = Pages(season_for, "season", context=_of_season, is_public=True)
task_readers = Pages(
    task_for, "season", "task", context=lambda task: {"season": task.season, "task": task}, is_public=True
)
phase_readers = Pages(phase_for, "season", "task", "phase", context=place_of, is_public=True)
entering = Pages(season_for, "season", context=_of_season)


@contextmanager
def refusals_at(form: forms.BaseForm, field: str | None) -> Iterator[None]:
    """What a service refuses, as a fault of the form: at the field that it names, or else at this one."""
    try:
        yield
    except Refused as refused:
        form.add_error(field, sentence(refused))
    except ValidationError as faults:
        by_field = faults.message_dict if hasattr(faults, "error_dict") else {field: faults.messages}
        for name, errors in by_field.items():
            form.add_error(name if name in form.fields else field, [sentence(error) for error in errors])


def sent(request: HttpRequest) -> dict[str, Any]:
    """What a form with a file is given, once it was sent."""
    return {"data": request.POST, "files": request.FILES} if request.method == "POST" else {}


def refusal_in_words(refused: Refused | ValidationError) -> str:
    if isinstance(refused, Refused):
        return sentence(refused)
    return " ".join(sentence(fault) for fault in refused.messages)


def leaf(request: HttpRequest, rows: Any, most: int = 50) -> Leaf[Any]:
    """The page of a long list that `?page=` asks for."""
    return Paginator(rows, most).get_page(request.GET.get("page"))


def attachment(
    content: object, content_type: str, filename: str, *, is_private: bool = False
) -> HttpResponse:
    """A file to be kept; what only its reader may have is kept by no cache."""
    response = HttpResponse(content, content_type=content_type)
    response["Content-Disposition"] = content_disposition_header(as_attachment=True, filename=filename)
    return private(response) if is_private else response


def private(response: R) -> R:
    """What somebody may read here depends on who they are."""
    response["Cache-Control"] = "private, no-store"
    return response
