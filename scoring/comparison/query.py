"""What a reader chooses where two runs are compared."""

from __future__ import annotations

from dataclasses import dataclass

from citeboard.core.query import Query, number_from, numbers_from, switch_from, text_from


@dataclass(frozen=True, kw_only=True)
class ReadQuery(Query):
    """How the instances of two runs are read; ``instance`` names a single one.

    ``of_class`` is a class with its dimension before it, `topic:C90-2039`.
    """

    a: int | None = number_from("a")
    b: int | None = number_from("b")
    rules: str | None = text_from("rules", default=None)
    gold: int | None = number_from("gold")
    metric: str = text_from("metric")
    which: str = text_from("which")
    of_class: str = text_from("class")
    instance: str = text_from("instance")
    page: int = number_from("page", default=1)


@dataclass(frozen=True, kw_only=True)
class SeveralQuery(Query):
    """Runs by their numbers, the first of which the others are held against."""

    runs: tuple[int, ...] = numbers_from("run")
    rules: str | None = text_from("rules", default=None)
    gold: int | None = number_from("gold")
    dimension: str = text_from("dimension")
    metric: str = text_from("metric")


@dataclass(frozen=True, kw_only=True)
class CompareQuery(Query):
    """``a`` and ``b`` are numbers of runs. ``tests`` asks for tests that take long to be made at once.
    ``figure`` is a figure of the page as a file.
    """

    a: int | None = number_from("a")
    b: int | None = number_from("b")
    rules: str | None = text_from("rules", default=None)
    gold: int | None = number_from("gold")
    dimension: str = text_from("dimension")
    metric: str = text_from("metric")
    label: str = text_from("class")
    page: int = number_from("page", default=1)
    figure: str = text_from("figure", max_length=80)
    tests: bool = switch_from("tests", "now", default=False)
