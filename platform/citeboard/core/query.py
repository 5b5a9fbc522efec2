"""What a reader chooses on a page. The address holds all of it, so that a link shows what its sender saw."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple, Self
from urllib.parse import urlencode

from django.db.models import QuerySet
from django.http import QueryDict

MAX_TEXT = 400
MAX_DIGITS = 15


@dataclass(frozen=True)
class Listed:
    """Rows in their order, of which it is known without counting them how many there are."""

    rows: QuerySet[Any]
    number: Callable[[], int]

    def count(self) -> int:
        return self.number()

    def __getitem__(self, part: slice) -> QuerySet[Any]:
        return self.rows[part]


class Choice(NamedTuple):
    value: str
    label: str
    href: str
    is_current: bool


@dataclass(frozen=True, kw_only=True)
class Query:
    """A subclass has a field for each parameter of its page, made by one of the functions below."""

    @classmethod
    def of(cls, sent: QueryDict) -> Self:
        values_read: dict[str, Any] = {}
        for one in fields(cls) if sent else ():
            values = [
                value
                for text in sent.getlist(one.metadata["name"])
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
        """The parameters of the same page with other choices, for an address or a form; no defaults."""
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

    def with_(self, **changes: object) -> str:
        return "?" + urlencode(self.pairs(**changes))

    def choices(
        self,
        field_name: str,
        values: Iterable[str],
        current: str | None,
        label: Callable[[str], str] = str,
        /,
        **changes: object,
    ) -> list[Choice]:
        return [
            Choice(
                value,
                label(value),
                self.with_(**{field_name: value}, **changes),
                value == current,
            )
            for value in values
        ]


def text_from(
    name: str,
    *,
    default: str | None = "",
    max_length: int = MAX_TEXT,
    choices: Collection[str] = (),
) -> Any:
    def read(text: str) -> str:
        return text[:max_length] if not choices or text in choices else ""

    return _parameter(name, default, read)


def texts_from(name: str, *, choices: Collection[str] = ()) -> Any:
    return _parameter(
        name, (), lambda text: text[:MAX_TEXT] if not choices or text in choices else ""
    )


def search_from(name: str) -> Any:
    return _parameter(name, "", lambda text: " ".join(text.split())[:80])


def number_from(name: str, *, default: int | None = None) -> Any:
    return _parameter(name, default, whole_number)


def numbers_from(name: str) -> Any:
    return _parameter(name, (), whole_number)


def switch_from(name: str, word: str, *, default: bool) -> Any:
    return _parameter(name, default, lambda text: text == word, word)


def _parameter(
    name: str, default: object, read: Callable[[str], object], word: str = ""
) -> Any:
    return field(default=default, metadata={"name": name, "read": read, "word": word})


def whole_number(text: str) -> int:
    return (
        int(text)
        if text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS
        else 0
    )
