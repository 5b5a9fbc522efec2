"""Texts that a request or the header of a run holds: metadata, a declaration, and its `measures.py`."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from tasks.submissions import reading
from tasks.types import InputRefused
from tasks.types.declared.folder import TOML, read_declaration
from tasks.types.declared.own_measures import MEASURES_FILE_NAME

EXAMPLE = Path(__file__).parents[2] / "examples" / "tasks" / "reference-verification"
Made = Callable[[int], object]
#: Where a shape stands in a text of each kind.
PLACES = {
    "metadata": ("{}", "a: {}", "a:\n  - {}", '"{}": 1'),
    "declaration": ("{}", "a = {}", "[{}]", "{} = 1", "a = '''{}'''"),
    "measures": ("{}", "a = {}", "class M(Mean):\n    needs = {}\n", "def f(a={}):\n    pass\n"),
}  # fmt: skip


def read_metadata(text: str) -> None:
    with suppress(reading.MetadataUnreadable):
        reading.convert_metadata_to_run_fields(
            reading.parse_metadata_yaml(text.encode())
        )


def read_toml(text: str) -> None:
    with suppress(InputRefused):
        read_declaration({TOML: text})


def read_measures(text: str) -> None:
    files = {
        TOML: (EXAMPLE / TOML).read_text(encoding="utf-8"),
        MEASURES_FILE_NAME: text,
    }
    with suppress(InputRefused):
        read_declaration(files)


READERS = {
    "metadata": read_metadata,
    "declaration": read_toml,
    "measures": read_measures,
}


def shaped(kind: str, make: Callable[[int], str]) -> Iterator[tuple[str, Made]]:
    """Yield the name and the maker of a text for each place of a shape."""
    for place in PLACES[kind]:
        yield f"{kind} {place!r}", partial(_made, place, make)


def _made(place: str, make: Callable[[int], str], size: int) -> str:
    return place.replace("{}", make(size))
