"""Fields and serializers that several API modules share.

Many of the serializers have the same fields as a model or a dataclass.
"""

import dataclasses
import datetime as dt
import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from functools import cache, reduce
from types import NoneType
from typing import Any, cast, get_args, get_origin, get_type_hints
from zoneinfo import ZoneInfo

from django import forms
from django.db.models import Model
from django.urls import reverse
from drf_spectacular.utils import OpenApiResponse, extend_schema_field
from rest_framework import serializers
from rest_framework.fields import empty
from rest_framework.request import Request

from citeboard.acts import declared
from citeboard.acts.declared import ActForm
from citeboard.core.instants import (
    ENDLESS_PHASE_END,
    MAX_TIME_LENGTH,
    InvalidTimeText,
    parse_phase_end,
    parse_time,
)
from citeboard.core.words import format_as_sentence
from tasks.types import Problem
from tasks.types.guarded.json_reader import read_json

AnySerializer = type[serializers.Serializer[Any]]
FIELD_CLASSES_BY_TYPE: dict[Any, type[serializers.Field[Any, Any, Any, Any]]] = {
    bool: serializers.BooleanField,
    int: serializers.IntegerField,
    float: serializers.FloatField,
    str: serializers.CharField,
    dt.datetime: serializers.DateTimeField,
    dt.date: serializers.DateField,
}
TIME_HELP_TEXT = (
    "With an offset or a zone behind it, such as `2026-05-01 23:59 AoE`; UTC where it "
    "names none."
)


def build_absolute_address(request: Request, name: str, *arguments: object) -> str:
    return request.build_absolute_uri(reverse(name, args=arguments))


class RouteAddressField(serializers.CharField):
    """A serializer field with the URL of a route.

    ``attributes`` contains the paths of the object's attributes that are the route's
    arguments.
    """

    def __init__(self, route: str, *attributes: str, **options: Any) -> None:
        super().__init__(read_only=True, source="*", **options)
        self.route, self.attributes = route, attributes

    def to_representation(self, value: Any) -> str:
        arguments = [
            reduce(getattr, path.split("."), value) for path in self.attributes
        ]
        return build_absolute_address(self.context["request"], self.route, *arguments)


@extend_schema_field(
    {"type": "string", "maxLength": MAX_TIME_LENGTH, "description": TIME_HELP_TEXT}
)
class MomentField(serializers.DateTimeField):
    """A serializer field for a date and time, in the same format as in forms and season
    files.
    """

    read = staticmethod(parse_time)

    def to_internal_value(self, value: Any) -> dt.datetime:
        if not isinstance(value, str) or len(value) > MAX_TIME_LENGTH:
            raise serializers.ValidationError(
                f"Not a text of at most {MAX_TIME_LENGTH} characters. {TIME_HELP_TEXT}"
            )
        try:
            return self.read(value, ZoneInfo("UTC"))
        except InvalidTimeText as refused:
            raise serializers.ValidationError(format_as_sentence(refused)) from refused


@extend_schema_field(
    {
        "type": "string",
        "maxLength": MAX_TIME_LENGTH,
        "description": f"{TIME_HELP_TEXT} Null: no end.",
    }
)
class EndField(MomentField):
    read = staticmethod(parse_phase_end)

    def run_validation(self, data: Any = empty) -> Any:
        return ENDLESS_PHASE_END if data is None else super().run_validation(data)


class JsonObjectField(serializers.JSONField):
    """A serializer field for a JSON object. The field refuses values that JSON cannot
    encode.
    """

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        try:
            # HTML forms send a JSON object as text.
            is_text = getattr(data, "is_json_string", False)
            value = read_json(str(data)) if is_text else data
            json.dumps(value, ensure_ascii=False).encode()
        except (TypeError, ValueError, RecursionError):
            self.fail("invalid")
        if not isinstance(value, dict):
            raise serializers.ValidationError("Give an object with keys and values.")
        return value


def split_comma_separated_names(text: str) -> list[str]:
    return list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def build_optional_text_field(
    max_length: int | None = None, help_text: str | None = None
) -> serializers.CharField:
    return serializers.CharField(
        required=False,
        allow_blank=True,
        default="",
        max_length=max_length,
        help_text=help_text,
    )


@extend_schema_field(
    {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
)
class LinesField(serializers.CharField):
    """A serializer field for a list of texts, or one text with an entry in each line."""

    def to_internal_value(self, data: Any) -> Any:
        texts = data if isinstance(data, list) else [data]
        return [
            line
            for text in texts
            for line in super(LinesField, self).to_internal_value(text).splitlines()
        ]


@cache
def build_form_serializer(form: type[ActForm]) -> AnySerializer:
    """Return the serializer for a form, with the form's descriptions for the API."""
    fields = {
        name: _build_serializer_field(
            field, form.api.get(name, {}), is_partial=form.mirrors
        )
        for name, field in {**form.base_fields, **form.only_in_api}.items()
        if name not in form.only_on_pages or name in form.only_in_api
    }
    return _create_serializer_class(form.__name__, form.__doc__, **fields)


#: SERIALIZER_FIELDS_BY_FORM_FIELD maps a form field's class to a serializer field's class and options.
SERIALIZER_FIELDS_BY_FORM_FIELD: dict[
    type[forms.Field], tuple[type[serializers.Field[Any, Any, Any, Any]], Sequence[str]]
] = {
    declared.PhaseEndField: (EndField, ()),
    declared.DateTimeTextField: (MomentField, ()),
    declared.TextLinesField: (LinesField, ()),
    forms.JSONField: (JsonObjectField, ()),
    forms.EmailField: (serializers.EmailField, ("max_length",)),
    forms.CharField: (serializers.CharField, ("max_length",)),
    forms.FileField: (serializers.FileField, ()),
    # Django's DecimalField is a subclass of IntegerField, so DecimalField comes first.
    forms.DecimalField: (
        serializers.DecimalField,
        ("min_value", "max_value", "max_digits", "decimal_places"),
    ),
    forms.IntegerField: (serializers.IntegerField, ("min_value", "max_value")),
    forms.BooleanField: (serializers.BooleanField, ()),
    forms.ModelChoiceField: (serializers.CharField, ()),
    forms.ChoiceField: (serializers.ChoiceField, ("choices",)),
}


def _build_serializer_field(
    field: forms.Field, described: str | Mapping[str, Any], *, is_partial: bool
) -> Any:
    kind, limits = next(
        sent
        for known, sent in SERIALIZER_FIELDS_BY_FORM_FIELD.items()
        if isinstance(field, known)
    )
    options = {name: getattr(field, name) for name in limits}
    if "choices" in options:
        options["choices"] = [choice for choice in options["choices"] if choice[0]]
    if not field.required:
        options |= {"allow_null": True} if kind is MomentField else {}
        if issubclass(kind, serializers.CharField | serializers.ChoiceField):
            options |= (
                {"allow_blank": True}
                if is_partial
                else {"allow_blank": True, "default": ""}
            )
    other = {"help_text": described} if isinstance(described, str) else described
    if other.get("required"):
        del options["default"]
    return kind(**{"required": field.required and not is_partial, **options, **other})


def build_text_list_field(
    help_text: str | None = None, **options: Any
) -> serializers.ListField:
    return serializers.ListField(
        child=serializers.CharField(), help_text=help_text, **options
    )


def _create_serializer_class(
    name: str,
    meaning: str | None,
    base: Any = serializers.Serializer,
    /,
    **members: Any,
) -> AnySerializer:
    members |= {"__doc__": meaning, "__module__": __name__}
    return cast("AnySerializer", type(name, (base,), members))


def build_model_serializer(
    model: type[Model], meaning: str, fields: str, name: str = "", /, **declared: Any
) -> AnySerializer:
    """Return a serializer class with fields of a model.

    ``fields`` contains the field names, separated by spaces. ``declared`` contains
    serializer fields that replace the generated fields for the model.
    """
    name, meta = (
        name or model.__name__,
        type("Meta", (), {"model": model, "fields": fields.split()}),
    )
    return _create_serializer_class(
        f"{name}Serializer",
        meaning,
        serializers.ModelSerializer,
        Meta=meta,
        **_build_declared_fields(declared),
    )


_SERIALIZERS_BY_DATACLASS: dict[Any, AnySerializer] = {}


def build_serializer(name: str, meaning: str | None, /, **fields: Any) -> AnySerializer:
    return _create_serializer_class(
        f"{name}Serializer", meaning, **_build_declared_fields(fields)
    )


def _build_declared_fields(declared: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: build_field_for_type(*(kind if isinstance(kind, tuple) else (kind,)))
        for name, kind in declared.items()
    }


def build_dataclass_serializer(
    source: type, meaning: str, name: str = "", /, **described: Any
) -> AnySerializer:
    """Return a serializer class with the fields of a dataclass.

    ``described`` maps names of fields to descriptions or serializer fields. Fields for
    which ``described`` contains None are omitted.
    """
    hints = get_type_hints(source)
    given = {
        **dict.fromkeys((part.name for part in dataclasses.fields(source)), ""),
        **described,
    }
    fields = {
        field: (hints[field], other or None) if isinstance(other, str) else other
        for field, other in given.items()
        if other is not None
    }
    _SERIALIZERS_BY_DATACLASS[source] = made = build_serializer(
        name or source.__name__, meaning, **fields
    )
    return made


def build_field_for_type(
    hint: Any, help_text: str | None = None, **options: Any
) -> Any:
    if isinstance(hint, serializers.Field):
        # The copy is a new field, because REST framework sorts fields by creation time.
        return deepcopy(hint)
    if NoneType in get_args(hint):
        [hint] = [part for part in get_args(hint) if part is not NoneType]
        options["allow_null"] = True
    options["help_text"] = help_text
    if hint in _SERIALIZERS_BY_DATACLASS:
        return _SERIALIZERS_BY_DATACLASS[hint](**options)
    if get_origin(hint) is dict:
        return serializers.DictField(
            child=build_field_for_type(get_args(hint)[1]), **options
        )
    if get_origin(hint) is not None:
        of = get_args(hint)[0]
        if of in _SERIALIZERS_BY_DATACLASS:
            return _SERIALIZERS_BY_DATACLASS[of](many=True, **options)
        return serializers.ListField(child=build_field_for_type(of), **options)
    if issubclass(hint, serializers.Field):
        return hint(**options)
    return next(
        field for kind, field in FIELD_CLASSES_BY_TYPE.items() if issubclass(hint, kind)
    )(**options)


ProblemSerializer = build_dataclass_serializer(
    Problem,
    "One finding in a file: what was found, what was expected, and where.",
    quote="The beginning of the line, as it was sent.",
    fatal="A run with a fatal problem is refused.",
    count=serializers.IntegerField(
        required=False,
        min_value=1,
        help_text="How many equal problems this is, the first of which is told; 1 where it is absent.",
    ),
    topic=serializers.CharField(
        required=False, help_text="The topic of a cited report; absent elsewhere."
    ),
    category=serializers.CharField(
        required=False, help_text="The track's word for the finding; absent elsewhere."
    ),
    lines=None,
    is_rest=None,
)


RejectedPart = build_serializer(
    "RejectedPart",
    "What a file is to one task; a part without ``detail`` could have been taken.",
    task=serializers.SlugField,
    phase=int,
    detail=str | None,
    problems=list[Problem],
    more=serializers.IntegerField(min_value=0),
)
FileRepairSerializer = build_serializer(
    "Repair",
    "What can be done with a file that is refused: the repaired file, encodings to choose from, or the "
    "phase that takes it.",
    filename=(str | None, "Of the repaired file; null where there is none."),
    changes=(
        list[str],
        "What differs in the repaired file. Sent with `repair=true`, the run is taken as repaired.",
    ),
    content=(
        str | None,
        "The repaired file, of 100 kB at most; null for a longer one.",
    ),
    encodings=(
        list[str],
        "The encodings that decode the whole file; send one of them as `encoding`.",
    ),
    phase=(int | None, "Another phase of the season, which takes the file."),
    name=(str | None, "That phase as SEASON/TASK/PHASE."),
    url=serializers.URLField(
        allow_null=True, help_text="Where a program sends the file."
    ),
    page=serializers.URLField(allow_null=True, help_text="Where people send it."),
)
RejectedRun = build_serializer(
    "RejectedRun",
    "A run that cannot be read or cannot be meant; nothing was stored and nothing counted.",
    detail=str,
    problems=list[Problem],
    more=serializers.IntegerField(
        min_value=0, help_text="Problems beyond those listed."
    ),
    parts=RejectedPart(
        many=True,
        required=False,
        help_text="Of a file for several tasks, each of its parts.",
    ),
    repair=FileRepairSerializer(
        required=False, help_text="Where something can be done with it."
    ),
)
REJECTED_RUN_RESPONSE = OpenApiResponse(
    RejectedRun, "The run was refused; it costs nothing."
)
