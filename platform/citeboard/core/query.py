"""Query parameters of pages. The URL of a page contains all of the reader's choices, so
that a shared link displays the same page.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple, Self
from urllib.parse import urlencode

from django.core.exceptions import BadRequest
from django.db.models import QuerySet
from django.http import QueryDict
from django.utils.translation import gettext as _

from citeboard.core.words import find_most_similar_name

MAX_PARAMETER_LENGTH = 400
MAX_PARAMETER_DIGITS = 15
#: An error response lists at most MAX_UNKNOWN_NAMES_LISTED unknown names.
#: An error response shows at most MAX_QUOTED_CHARACTERS characters of each name or value.
MAX_UNKNOWN_NAMES_LISTED, MAX_QUOTED_CHARACTERS = 20, 80


class InvalidParameters(BadRequest):
    """The request contains invalid parameters or fields.

    ``errors`` maps each name of a parameter or field to a sentence.
    """

    def __init__(self, errors: Mapping[str, str]) -> None:
        super().__init__(" ".join(errors.values()))
        self.errors = errors


def build_invalid_value_error(
    name: str, value: object, permitted: Iterable[str]
) -> InvalidParameters:
    expected = ", ".join(f"“{one}”" for one in permitted if one)
    message = _("“%(value)s” is not a value of “%(name)s”; expected: %(expected)s.")
    facts = {"value": shorten_for_message(value), "name": name, "expected": expected}
    return InvalidParameters({name: message % facts})


def reject_unknown_names(names: Iterable[str], known: Collection[str]) -> None:
    """Raise InvalidParameters if a request contains names that are not in ``known``.

    The message of the exception suggests the most similar known name for each unknown
    name.
    """
    unknown = [name for name in names if name not in known]
    if unknown:
        raise InvalidParameters(
            {
                shorten_for_message(name): _build_unknown_name_message(name, known)
                for name in unknown[:MAX_UNKNOWN_NAMES_LISTED]
            }
        )


def _build_unknown_name_message(name: str, known: Collection[str]) -> str:
    facts = {
        "name": shorten_for_message(name),
        "near": find_most_similar_name(shorten_for_message(name), known),
        "names": ", ".join(known),
    }
    if facts["near"]:
        return _("“%(name)s” is unknown here; did you mean “%(near)s”?") % facts
    if known:
        return _("“%(name)s” is unknown here; expected: %(names)s.") % facts
    return _("“%(name)s” is unknown here; nothing is expected.") % facts


def shorten_for_message(value: object) -> str:
    """Return a short text for an error response.

    The returned text contains no lone surrogates, which UTF-8 cannot encode.
    """
    return str(value)[:MAX_QUOTED_CHARACTERS].encode("utf-8", "replace").decode()


def find_permitted_value(
    sent: QueryDict, name: str, permitted: Collection[str]
) -> str | None:
    """Return the last value of a parameter, or None if the URL lacks the parameter.

    Raises InvalidParameters if a value is not permitted.
    """
    values = sent.getlist(name)
    for value in values:
        if value not in permitted:
            raise build_invalid_value_error(name, value, permitted)
    return values[-1] if values else None


@dataclass(frozen=True)
class CountedQueryset:
    """An ordered queryset whose length comes from a function instead of a COUNT query."""

    rows: QuerySet[Any]
    number: Callable[[], int]

    def count(self) -> int:
        return self.number()

    def __getitem__(self, part: slice) -> QuerySet[Any]:
        return self.rows[part]


class LinkedChoice(NamedTuple):
    value: str
    label: str
    href: str
    is_current: bool


@dataclass(frozen=True, kw_only=True)
class PageParameters:
    """Base class for the query parameters of a page. Each field of a subclass is a
    parameter, defined by a function of this module.
    """

    @classmethod
    def of(cls, sent: QueryDict) -> Self:
        """Return the query parameters of a request.

        Parameters with empty values are ignored. Raises InvalidParameters if a value is
        not permitted.
        """
        values_read: dict[str, Any] = {}
        for one in fields(cls) if sent else ():
            name, permitted = one.metadata["name"], one.metadata["permitted"]
            if permitted:
                find_permitted_value(sent, name, ("", *permitted))
            values = [
                value
                for text in sent.getlist(name)
                if (value := one.metadata["read"](text))
            ]
            if values:
                values_read[one.name] = (
                    tuple(values) if isinstance(one.default, tuple) else values[-1]
                )
            if values and isinstance(one.default, bool):
                values_read[one.name] = not one.default
        return cls(**values_read)

    def pairs(self, **changes: object) -> list[tuple[str, str]]:
        """Return the parameters of this page with ``changes``, for a URL or a form.

        The result omits parameters with default values.
        """
        wanted = vars(self) | changes
        pairs: list[tuple[str, str]] = []
        for one in fields(self):
            value = wanted[one.name]
            if value in (one.default, None, "", ()):
                continue
            texts = value if isinstance(value, tuple) else (value,)
            if isinstance(value, bool):
                texts = (one.metadata["word"],)
            pairs += [(one.metadata["name"], str(text)) for text in texts]
        return pairs

    def build_query_string(self, **changes: object) -> str:
        return "?" + urlencode(self.pairs(**changes))

    def choices(
        self,
        field_name: str,
        values: Iterable[str],
        current: str | None,
        label: Callable[[str], str] = str,
        /,
        **changes: object,
    ) -> list[LinkedChoice]:
        return [
            LinkedChoice(
                value,
                label(value),
                self.build_query_string(**{field_name: value}, **changes),
                value == current,
            )
            for value in values
        ]


def declare_text_parameter(
    name: str,
    *,
    default: str | None = "",
    max_length: int = MAX_PARAMETER_LENGTH,
    choices: Collection[str] = (),
) -> Any:
    return _build_parameter_field(
        name, default, lambda text: text[:max_length], permitted=choices
    )


def declare_text_list_parameter(name: str, *, choices: Collection[str] = ()) -> Any:
    return _build_parameter_field(
        name, (), lambda text: text[:MAX_PARAMETER_LENGTH], permitted=choices
    )


def declare_search_parameter(name: str) -> Any:
    return _build_parameter_field(name, "", lambda text: " ".join(text.split())[:80])


def declare_number_parameter(name: str, *, default: int | None = None) -> Any:
    return _build_parameter_field(name, default, parse_whole_number)


def declare_number_list_parameter(name: str) -> Any:
    return _build_parameter_field(name, (), parse_whole_number)


def declare_switch_parameter(name: str, word: str, *, default: bool) -> Any:
    return _build_parameter_field(
        name, default, lambda text: text == word, word, permitted=(word,)
    )


def _build_parameter_field(
    name: str,
    default: object,
    read: Callable[[str], object],
    word: str = "",
    permitted: Collection[str] = (),
) -> Any:
    metadata = {"name": name, "read": read, "word": word, "permitted": permitted}
    return field(default=default, metadata=metadata)


def parse_whole_number(text: str) -> int:
    return (
        int(text)
        if text.isascii() and text.isdigit() and len(text) <= MAX_PARAMETER_DIGITS
        else 0
    )
