"""Results of a publication: its tables with every figure as printed, and where each stands.

What a file of the form `published-results/1` holds once it has been read and judged.
docs/published-results.md describes the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

SCHEMA = "published-results/1"
KINDS = ("results", "human evaluation", "agreement", "analysis", "data statistics")
#: The least and the greatest value of each scale; None where there is no end.
SCALES: dict[str, tuple[float | None, float | None]] = {
    "fraction": (0, 1),
    "percent": (0, 100),
    "count": (0, None),
    "words": (0, None),
    "ratio": (0, None),
    "kappa": (-1, 1),
    "rating 1-5": (1, 5),
}

Feature = str | int | float | bool | None


@dataclass(frozen=True, kw_only=True)
class Paper:
    """Where figures come from; ``figures_from`` says which version of the text they were taken from."""

    key: str
    authors: tuple[str, ...]
    year: int
    title: str
    venue: str
    pages: str = ""
    doi: str = ""
    arxiv: str = ""
    figures_from: str = ""


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A column of figures; ``higher_is_better`` is None for figures that only describe."""

    name: str
    scale: str
    higher_is_better: bool | None
    printed_name: str = ""
    what: str = ""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One number as printed; ``value`` is None where no exact one is. ``suspect`` says why it is doubted."""

    measure: str
    value: float | None
    printed: str
    deviation: float | None = None
    printed_deviation: str = ""
    mark: str = ""
    less_than: float | None = None
    suspect: str = ""


@dataclass(frozen=True, kw_only=True)
class Row:
    """The figures of one system, class or data set; ``line`` counts the printed lines of the table from 1.

    ``features`` are its other fields by name, such as topic, class or data set. ``contradiction`` is what
    the figures break, found when they were read.
    """

    line: int
    system: str | None
    system_id: str
    features: Mapping[str, Feature]
    figures: tuple[Figure, ...]
    is_inconsistent: bool = False
    contradiction: str = ""
    note: str = ""

    def printed(self, measure: str) -> str:
        return next((figure.printed for figure in self.figures if figure.measure == measure), "")

    def named(self, field: str) -> Feature:
        return self.system if field == "system" else self.features.get(field)


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table under the name it has in the publication; ``row_key`` are the fields that tell rows apart."""

    name: str
    kind: str
    what: str
    row_key: tuple[str, ...]
    measures: tuple[Measure, ...]
    rows: tuple[Row, ...]
    dataset: str = ""
    deviation: str = ""
    marks: Mapping[str, str]
    notes: tuple[str, ...] = ()

    def key(self, row: Row) -> tuple[Feature, ...]:
        return tuple(row.named(field) for field in self.row_key)


@dataclass(frozen=True, kw_only=True)
class Publication:
    paper: Paper
    tables: tuple[Table, ...]
