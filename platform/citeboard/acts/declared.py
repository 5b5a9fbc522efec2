"""User actions that pages (`citeboard.web.pages`) and the API
(`citeboard.api.operations`) share.

Each user action is declared once, for the pages and the API.
"""

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

from citeboard.core.audit import find_history_of_place
from citeboard.core.instants import (
    InvalidTimeText,
    format_parsable_time,
    format_phase_end,
    format_zone_name,
    parse_phase_end,
    parse_time,
)
from citeboard.core.words import count_with_noun, format_as_sentence
from citeboard.teams.access import (
    led_team_or_error,
    mailed_invitation_or_404,
    member_or_404,
    own_team_or_404,
)
from citeboard.teams.models import User
from scoring.models import Annotator, EstimateSheet, Sheet
from tasks import models
from tasks.seasons import access

#: A lookup takes a user and URL parameters and returns an object that the user may see.
#: A lookup raises Http404 or PermissionDenied if it cannot return the requested object.
SubjectLookup = Callable[..., Any]


@dataclass(frozen=True)
class SeasonRowLookup:
    """Look up a database row of a season by primary key.

    ``season`` is the path of model fields from the row to its season.
    """

    rows: QuerySet[Any]
    season: str

    def __call__(self, season: models.Season, number: int) -> Any:
        return get_object_or_404(
            self.rows.select_related(self.season), pk=number, **{self.season: season}
        )


#: Each lookup finds a database row of a season or a team by the primary key of the row.
#: ROW_LOOKUPS_BY_NAME maps URL parameters to lookups.
#: Each URL parameter contains the primary key of the row.
ROW_LOOKUPS_BY_NAME: dict[str, SubjectLookup] = {
    "acknowledgement": SeasonRowLookup(
        models.Acknowledgement.objects.all(), "submission__phase__task__season"
    ),
    "annotator": SeasonRowLookup(Annotator.objects.all(), "sheet__phase__task__season"),
    "announcement": SeasonRowLookup(models.Announcement.objects.standing(), "season"),
    "asked": access.get_join_request_or_404,
    "change": lambda season, number: get_object_or_404(
        find_history_of_place(season), pk=number
    ),
    "delivery": SeasonRowLookup(
        models.Delivery.objects.select_related("job"), "webhook__season"
    ),
    "estimates": SeasonRowLookup(EstimateSheet.objects.all(), "phase__task__season"),
    "entry": SeasonRowLookup(
        models.Registration.objects.select_related("team"), "season"
    ),
    "given": SeasonRowLookup(
        models.ExtraTries.objects.select_related("team"), "phase__task__season"
    ),
    "gold": SeasonRowLookup(models.Gold.objects.all(), "task__season"),
    "invited": mailed_invitation_or_404,
    "member": member_or_404,
    "organiser": SeasonRowLookup(
        models.Organiser.objects.select_related("user"), "season"
    ),
    "pairs": SeasonRowLookup(Sheet.objects.pairs(), "phase__task__season"),
    "phase": SeasonRowLookup(models.Phase.objects.all(), "task__season"),
    "proposal": access.get_merge_proposal_or_404,
    "question": SeasonRowLookup(
        models.Question.objects.select_related("asked_by"), "season"
    ),
    "sheet": SeasonRowLookup(Sheet.objects.rating_sheets(), "phase__task__season"),
    "task": SeasonRowLookup(models.Task.objects.all(), "season"),
    # Within a season, the URL identifies a registration by the slug of the team.
    "team": lambda season, slug: get_object_or_404(
        models.Registration.objects.select_related("team"),
        season=season,
        team__slug=slug,
    ),
    "webhook": SeasonRowLookup(models.Webhook.objects.all(), "season"),
}


URL_SUBJECT_NAMES_BY_ROLE: dict[SubjectLookup, str] = {
    access.get_visible_season_or_404: "season",
    access.get_helped_season_or_404: "season",
    access.get_organised_season_or_404: "season",
    own_team_or_404: "team",
    led_team_or_error: "team",
}


def build_season_row_lookup(name: str, role: SubjectLookup) -> SubjectLookup:
    """Return a lookup that takes a user and the primary key of a row.

    ``role`` checks whether the user may access the season to which the row belongs.
    """
    rows = ROW_LOOKUPS_BY_NAME[name]
    assert isinstance(rows, SeasonRowLookup)

    def find_season_row(user: object, number: int) -> Any:
        row = get_object_or_404(rows.rows.select_related(rows.season), pk=number)
        role(user, reduce(getattr, rows.season.split("__"), row).slug)
        return row

    return find_season_row


def build_nested_row_lookup(name: str, role: SubjectLookup) -> SubjectLookup:
    """Return a lookup that takes a user, the slug of a season or team, and a row's
    primary key.
    """
    return lambda user, slug, number: ROW_LOOKUPS_BY_NAME[name](
        role(user, slug), number
    )


class DateTimeTextField(forms.CharField):
    """A form field for a date and time. Users may append a time zone to the time."""

    zone: ZoneInfo
    read, written = staticmethod(parse_time), staticmethod(format_parsable_time)

    def __init__(self, *, zone: ZoneInfo | None = None, **options: Any) -> None:
        super().__init__(max_length=80, **options)
        if zone is not None:
            self.set_time_zone(zone)

    def set_time_zone(self, zone: ZoneInfo) -> None:
        self.zone = zone
        written = gettext(
            "In %(zone)s, such as 2026-05-01 23:59; write AoE or UTC behind it for those."
        )
        self.help_text = (
            f"{self.help_text} {written % {'zone': format_zone_name(zone.key)}}".strip()
        )

    def prepare_value(self, value: Any) -> Any:
        return (
            self.written(value, self.zone) if isinstance(value, dt.datetime) else value
        )

    def clean(self, value: Any) -> dt.datetime | None:
        text = super().clean(value)
        try:
            return self.read(text, self.zone) if text else None
        except InvalidTimeText as refused:
            raise ValidationError(format_as_sentence(refused)) from refused


class PhaseEndField(DateTimeTextField):
    """A form field for the end of a phase, which may be "no end"."""

    read, written = staticmethod(parse_phase_end), staticmethod(format_phase_end)

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"help_text": gettext_lazy("Or “no end”."), **options})


def build_long_text_field(
    label: Any, most: int, rows: int, **options: Any
) -> forms.CharField:
    widget = forms.Textarea(attrs={"rows": rows})
    return forms.CharField(label=label, max_length=most, widget=widget, **options)


class TextLinesField(forms.CharField):
    widget = forms.Textarea(attrs={"rows": 3})

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> Any:
        return [line.strip() for line in (value or "").splitlines() if line.strip()]

    def clean(self, value: Any) -> list[str] | None:
        return super().clean(value) or None


class ActForm(forms.Form):
    """The form of a user action. The class docstring becomes the description in the
    API.

    ``api`` maps names of fields to descriptions for the API, or to options of the
    serializer field. ``begins_with`` maps fields to the attributes of the object that
    provide initial values. If ``mirrors`` is True, all fields take their initial values
    from attributes of the same name, and API clients may omit unchanged fields.
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
            if isinstance(field, DateTimeTextField):
                field.set_time_zone(of.zone)

    def clean(self) -> dict[str, Any]:
        """Validate the form. Form fields show times without seconds, so an unchanged
        time keeps its stored seconds.
        """
        cleaned = super().clean() or self.cleaned_data
        for name, field in self.fields.items():
            before = self.initial.get(name)
            is_there = (
                isinstance(field, DateTimeTextField)
                and before is not None
                and name in cleaned
            )
            if is_there and self.data.get(name) == field.prepare_value(before):
                cleaned[name] = before
        return cleaned


MessageText = str | Promise


@dataclass(frozen=True)
class UserAction:
    """A user action. The attributes define who may perform the action, which service
    performs the action, and which messages users see.

    ``role`` looks up the first object in the URL, which is a season, a team (see
    `URL_SUBJECT_NAMES_BY_ROLE`), or the subject. The subject is the object that the action changes.
    ``subject`` and ``actor`` name the parameters of the service that receive the
    subject and the user. The fields of ``form`` provide the other arguments of the
    service. A field with the name of the subject replaces the subject. ``row`` is the
    URL parameter of the subject, if pages use another name than ``subject``.
    ``summary`` describes the operation in the API.

    ``done`` is the success message (see `SuccessMessageValues`), or a function that takes the result
    and the form data and returns the message, optionally with values for the message.
    ``refused`` is the error message, which may contain the errors of the form. Without
    ``refused`` the service reports errors itself. ``ready`` converts form data to
    arguments of the service, outside any transaction.

    If ``is_rehearsed`` is True, the action first runs in a transaction that is rolled
    back (see `citeboard.acts.rehearsal`). If ``is_final`` is True, the action cannot be
    undone. If ``makes_season`` is True, the action returns a new season. If
    ``skips_confirmation`` returns True for the object, the action runs without
    confirmation, because users can undo the action.
    """

    service: Callable[..., Any]
    summary: str
    done: (
        MessageText
        | Callable[
            [Any, Mapping[str, Any]],
            MessageText | tuple[MessageText, Mapping[str, Any]],
        ]
    ) = ""
    _: KW_ONLY
    role: SubjectLookup
    subject: str
    actor: str = "by"
    row: str = ""
    form: type[ActForm] | None = None
    refused: MessageText = ""
    is_rehearsed: bool = False
    is_final: bool = False
    makes_season: bool = False
    skips_confirmation: Callable[[Any], bool] = lambda thing: False
    ready: Callable[[Any, Mapping[str, Any], User], Mapping[str, Any]] = (
        lambda thing, filled, by: filled
    )

    def find_subject(self, address: Mapping[str, Any], holder: Any) -> Any:
        return address.get(self.row or self.subject, holder)

    def __call__(self, thing: Any, by: User, /, **filled: Any) -> Any:
        actor = {self.actor: by} if self.actor else {}
        return self.service(**{self.subject: thing, **actor, **filled})

    def read(self, thing: Any, posted: Any) -> dict[str, Any]:
        """Validate data posted from a page that does not redisplay the form.

        Raises ValidationError.
        """
        if self.form is None:
            return {}
        form = self.form(posted, of=thing)
        if not self.refused:
            return {
                name: _clean_or_keep_posted_value(field, posted.get(name))
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
        """Return the success message of the action, with values from `SuccessMessageValues`."""
        message = self.done(made, filled) if callable(self.done) else self.done
        words, stated = message if isinstance(message, tuple) else (message, {})
        # A service that changes an object returns the new state of the object.
        newest = made if isinstance(made, type(thing)) else thing
        facts = SuccessMessageValues(
            stated,
            results=made if isinstance(made, tuple) else (made,),
            fields={self.subject: newest, **filled},
            thing=thing,
        )
        return str(words) % facts


def _clean_or_keep_posted_value(field: forms.Field, posted: str | None) -> Any:
    """Return the cleaned value, or the posted text if the text is invalid.

    The service of the action rejects an invalid text.
    """
    try:
        return field.to_python(posted)
    except ValidationError:
        return posted


build_reader_action = partial(UserAction, role=access.get_visible_season_or_404)
build_helper_action = partial(UserAction, role=access.get_helped_season_or_404)
build_organiser_action = partial(UserAction, role=access.get_organised_season_or_404)
build_team_member_action = partial(UserAction, role=own_team_or_404)
build_team_lead_action = partial(UserAction, role=led_team_or_error)
build_rehearsed_action = partial(build_organiser_action, is_rehearsed=True)


class SuccessMessageValues(dict[str, Any]):
    """The values that the message of a user action can refer to by name.

    The values come from ``stated``, from attributes of the service's results, from
    ``fields``, and from attributes of ``thing``, in this order. If the service returned
    an integer, every other plural name yields the integer with a noun. For the result
    3, the name ``runs`` yields `3 runs`.
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
            if has_plain_attribute(result, attribute):
                return getattr(result, attribute)
        if name in self.fields:
            return self.fields[name]
        if has_plain_attribute(self.thing, attribute):
            return getattr(self.thing, attribute)
        for result in self.results:
            if type(result) is int:
                return count_with_noun(result, name.removesuffix("s"))
        raise KeyError(name)


def has_plain_attribute(thing: Any, name: str) -> bool:
    """Return True if the object has the attribute and the attribute is not a related
    manager.
    """
    return hasattr(thing, name) and not isinstance(getattr(thing, name), Manager)
