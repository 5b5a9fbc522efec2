"""Acts, each declared once for `citeboard.web.pages` and `citeboard.api.operations`."""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial, reduce
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Manager, QuerySet
from django.shortcuts import get_object_or_404
from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_lazy

from citeboard.core.audit import history
from citeboard.core.instants import (
    NoInstant,
    read_end,
    read_instant,
    written_end,
    written_instant,
    zone_name,
)
from citeboard.core.words import counted, sentence
from citeboard.teams.access import (
    mailed_invitation_of,
    member_of,
    team_for_lead,
    team_for_member,
)
from citeboard.teams.models import User
from scoring.models import Annotator, Sheet
from tasks import models
from tasks.seasons import access

#: Finds for a user what an address names. Raises Http404 or PermissionDenied.
Lookup = Callable[..., Any]


@dataclass(frozen=True)
class RowsOfSeason:
    """Rows that an address names by number; ``season`` leads from one to the season that it belongs to."""

    rows: QuerySet[Any]
    season: str

    def __call__(self, season: models.Season, number: int) -> Any:
        return get_object_or_404(
            self.rows.select_related(self.season), pk=number, **{self.season: season}
        )


#: Lookups of rows in a season or a team, by the name of the row in an address.
ROWS: dict[str, Lookup] = {
    "acknowledgement": RowsOfSeason(
        models.Acknowledgement.objects.all(), "submission__phase__task__season"
    ),
    "annotator": RowsOfSeason(Annotator.objects.all(), "sheet__phase__task__season"),
    "announcement": RowsOfSeason(models.Announcement.objects.standing(), "season"),
    "asked": access.join_request_of,
    "change": lambda season, number: get_object_or_404(history(season), pk=number),
    "delivery": RowsOfSeason(
        models.Delivery.objects.select_related("job"), "webhook__season"
    ),
    "entry": RowsOfSeason(models.Registration.objects.select_related("team"), "season"),
    "given": RowsOfSeason(
        models.ExtraTries.objects.select_related("team"), "phase__task__season"
    ),
    "gold": RowsOfSeason(models.Gold.objects.all(), "task__season"),
    "invited": mailed_invitation_of,
    "member": member_of,
    "organiser": RowsOfSeason(
        models.Organiser.objects.select_related("user"), "season"
    ),
    "phase": RowsOfSeason(models.Phase.objects.all(), "task__season"),
    "proposal": access.merge_proposal_of,
    "question": RowsOfSeason(
        models.Question.objects.select_related("asked_by"), "season"
    ),
    "sheet": RowsOfSeason(Sheet.objects.all(), "phase__task__season"),
    "task": RowsOfSeason(models.Task.objects.all(), "season"),
    # A team's slug in the address of a season.
    "team": lambda season, slug: get_object_or_404(
        models.Registration.objects.select_related("team"),
        season=season,
        team__slug=slug,
    ),
    "webhook": RowsOfSeason(models.Webhook.objects.all(), "season"),
}


#: Object types of roles that belong to a season or a team.
HOLDERS: dict[Lookup, str] = {
    access.season_for: "season",
    access.season_to_help: "season",
    access.season_to_organise: "season",
    team_for_member: "team",
    team_for_lead: "team",
}


def numbered(name: str, role: Lookup) -> Lookup:
    """Return a lookup by the number of a row alone; ``role`` is asked for its season."""
    rows = ROWS[name]
    assert isinstance(rows, RowsOfSeason)

    def find(user: object, number: int) -> Any:
        row = get_object_or_404(rows.rows.select_related(rows.season), pk=number)
        role(user, reduce(getattr, rows.season.split("__"), row).slug)
        return row

    return find


def within(name: str, role: Lookup) -> Lookup:
    """Return a lookup by the slug of a season or a team and the row's name in it."""
    return lambda user, slug, number: ROWS[name](role(user, slug), number)


class MomentField(forms.CharField):
    """An instant as the clocks of a zone show it; another zone may be named behind it."""

    zone: ZoneInfo
    read, written = staticmethod(read_instant), staticmethod(written_instant)

    def __init__(self, *, zone: ZoneInfo | None = None, **options: Any) -> None:
        super().__init__(max_length=80, **options)
        if zone is not None:
            self.show_in(zone)

    def show_in(self, zone: ZoneInfo) -> None:
        self.zone = zone
        written = gettext(
            "In %(zone)s, such as 2026-05-01 23:59; write AoE or UTC behind it for those."
        )
        self.help_text = (
            f"{self.help_text} {written % {'zone': zone_name(zone.key)}}".strip()
        )

    def prepare_value(self, value: Any) -> Any:
        return (
            self.written(value, self.zone) if isinstance(value, dt.datetime) else value
        )

    def clean(self, value: Any) -> dt.datetime | None:
        text = super().clean(value)
        try:
            return self.read(text, self.zone) if text else None
        except NoInstant as refused:
            raise ValidationError(sentence(refused)) from refused


class EndField(MomentField):
    """The end of a phase, which may be empty."""

    read, written = staticmethod(read_end), staticmethod(written_end)

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"help_text": gettext_lazy("Or “no end”."), **options})


def long_text(label: Any, most: int, rows: int, **options: Any) -> forms.CharField:
    widget = forms.Textarea(attrs={"rows": rows})
    return forms.CharField(label=label, max_length=most, widget=widget, **options)


class LinesField(forms.CharField):
    widget = forms.Textarea(attrs={"rows": 3})

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> Any:
        return [line.strip() for line in (value or "").splitlines() if line.strip()]

    def clean(self, value: Any) -> list[str] | None:
        return super().clean(value) or None


class ActForm(forms.Form):
    """The fields of an act; its docstring describes it to programs, and ``api`` a field of it: by words, or
    by options in which the serializer's field differs. On a page it ``begins_with`` attributes of what it is
    of. A form that ``mirrors`` that begins with all of its fields, and what a program leaves out stays.
    """

    api: ClassVar[Mapping[str, str | Mapping[str, Any]]] = {}
    only_in_api: ClassVar[Mapping[str, forms.Field]] = {}
    only_on_pages: ClassVar[tuple[str, ...]] = ()
    begins_with: ClassVar[Mapping[str, str]] = {}
    mirrors: ClassVar[bool] = False

    def __init__(
        self, data: Any = None, files: Any = None, *, of: Any = None, **options: Any
    ) -> None:
        first = (
            {name: name for name in self.base_fields}
            if self.mirrors
            else self.begins_with
        )
        initial = {name: getattr(of, attribute) for name, attribute in first.items()}
        super().__init__(
            data, files, **{"label_suffix": "", "initial": initial, **options}
        )
        self.of = of
        for field in self.fields.values():
            if isinstance(field, MomentField):
                field.show_in(of.zone)

    def clean(self) -> dict[str, Any]:
        """An instant that was left as it was keeps what its field does not show."""
        cleaned = super().clean() or self.cleaned_data
        for name, field in self.fields.items():
            before = self.initial.get(name)
            is_there = (
                isinstance(field, MomentField)
                and before is not None
                and name in cleaned
            )
            if is_there and self.data.get(name) == field.prepare_value(before):
                cleaned[name] = before
        return cleaned


Words = str | Promise


@dataclass(frozen=True)
class Act:
    """An act of a user: its role, its service, and the words about it. ``summary`` describes its operation.

    ``role`` finds for the user the thing that the address begins with: a season or a team (`HOLDERS`), or
    the subject itself. ``subject`` and ``actor`` name the parameters of the service that receive the thing
    that the act changes, and the user. The other arguments are the fields of ``form``; a field with the name
    of the subject replaces the subject. ``row`` is the name of the subject in addresses of pages, if the name
    differs.

    ``done`` is the message on the page (see `Facts`), or a function of the result and the filled fields that
    returns the message, with more facts if needed. ``refused`` is the message that contains the faults of
    the form; without it the service itself reports what is wrong with a field. ``ready`` turns the filled
    fields into arguments of the service, outside of any transaction.

    An act that ``is_rehearsed`` is first performed in a transaction that is rolled back (see
    `citeboard.acts.rehearsal`). An act that ``is_final`` cannot be undone. An act that ``makes_season``
    returns a new season. If ``skips_confirmation`` returns True for the thing, the act is performed at once;
    it can be undone.
    """

    service: Callable[..., Any]
    summary: str
    done: (
        Words
        | Callable[[Any, Mapping[str, Any]], Words | tuple[Words, Mapping[str, Any]]]
    ) = ""
    _: KW_ONLY
    role: Lookup
    subject: str
    actor: str = "by"
    row: str = ""
    form: type[ActForm] | None = None
    refused: Words = ""
    is_rehearsed: bool = False
    is_final: bool = False
    makes_season: bool = False
    skips_confirmation: Callable[[Any], bool] = lambda thing: False
    ready: Callable[[Any, Mapping[str, Any], User], Mapping[str, Any]] = (
        lambda thing, filled, by: filled
    )

    def subject_in(self, address: Mapping[str, Any], holder: Any) -> Any:
        """Return the subject among the parts of an address that follow the ``holder``, else the holder."""
        return address.get(self.row or self.subject, holder)

    def __call__(self, thing: Any, by: User, /, **filled: Any) -> Any:
        actor = {self.actor: by} if self.actor else {}
        return self.service(**{self.subject: thing, **actor, **filled})

    def read(self, thing: Any, posted: Any) -> dict[str, Any]:
        """Read a form posted from a page that does not show the form again. Raises ValidationError."""
        if self.form is None:
            return {}
        form = self.form(posted, of=thing)
        if not self.refused:
            return {
                name: _read(field, posted.get(name))
                for name, field in form.fields.items()
            }
        if not form.is_valid():
            faults = " ".join(
                str(fault) for errors in form.errors.values() for fault in errors
            )
            raise ValidationError(
                str(self.refused) % {"fault": faults, "faults": faults}
            )
        return form.cleaned_data

    def told(self, thing: Any, made: Any, filled: Mapping[str, Any]) -> str:
        """Return the message on the page about what the service ``made``. Its names are found by `Facts`."""
        message = self.done(made, filled) if callable(self.done) else self.done
        words, stated = message if isinstance(message, tuple) else (message, {})
        # A service that changes the thing returns its newer state.
        newest = made if isinstance(made, type(thing)) else thing
        facts = Facts(
            stated,
            results=made if isinstance(made, tuple) else (made,),
            fields={self.subject: newest, **filled},
            thing=thing,
        )
        return str(words) % facts


def _read(field: forms.Field, posted: str | None) -> Any:
    """Return the cleaned value, or the text as posted if it is invalid; the service refuses that."""
    try:
        return field.to_python(posted)
    except ValidationError:
        return posted


by_readers = partial(Act, role=access.season_for)
by_helpers = partial(Act, role=access.season_to_help)
by_organisers = partial(Act, role=access.season_to_organise)
by_members = partial(Act, role=team_for_member)
by_leads = partial(Act, role=team_for_lead)
with_rehearsal = partial(by_organisers, is_rehearsed=True)


class Facts(dict[str, Any]):
    """The facts that a message can name: those ``stated`` with it, attributes of what the service returned,
    the ``fields`` of the act, attributes of the thing. A number that the service returned is found by the
    plural of what it counts: 3 is `3 runs` by the name ``runs``.
    """

    def __init__(
        self,
        stated: Mapping[str, Any],
        *,
        results: Sequence[Any],
        fields: Mapping[str, Any],
        thing: Any,
    ) -> None:
        super().__init__(stated)
        self.results, self.fields, self.thing = results, fields, thing

    def __missing__(self, name: str) -> Any:
        attribute = "user" if name == "person" else name
        for result in self.results:
            if _has_value(result, attribute):
                return getattr(result, attribute)
        if name in self.fields:
            return self.fields[name]
        if _has_value(self.thing, attribute):
            return getattr(self.thing, attribute)
        for result in self.results:
            if type(result) is int:
                return counted(result, name.removesuffix("s"))
        raise KeyError(name)


def _has_value(thing: Any, name: str) -> bool:
    """Return whether the attribute exists and is no manager of rows that refer to the thing."""
    return hasattr(thing, name) and not isinstance(getattr(thing, name), Manager)
