"""Controls of a board."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from django.utils.translation import gettext as _, gettext_lazy

from citeboard.core.query import Choice
from scoring.results.board import comparisons
from scoring.results.board.query import RANK, BoardQuery
from tasks.models import Submission

BY = {
    comparisons.VALUE: gettext_lazy("value"),
    comparisons.SIGNIFICANCE: gettext_lazy("significance"),
}


class Toggle(NamedTuple):
    element: str
    href: str
    is_shown: bool
    label: str


@dataclass(frozen=True, kw_only=True)
class Controls:
    """The choices of a reader. Controls depend on nothing else, so that the next board can reuse them."""

    query: BoardQuery
    task: Sequence[str]  # slugs of its season, and of its own
    rules: str | None
    rules_offered: Sequence[str]
    numbers: tuple[
        int, int
    ]  # of main columns, and of all; none where no scores are shown
    kinds: frozenset[str]
    has_published: bool
    has_paper_view: bool
    marks: Sequence[tuple[str, str]]
    declared: Sequence[tuple[str, Sequence[tuple[str, str]]]]
    unit: str
    separation: comparisons.Separation | None

    @cached_property
    def address(self) -> str:
        return self.query.with_().removesuffix("?")

    @property
    def rule_sets(self) -> list[Choice]:
        return self.query.choices("rules", self.rules_offered, self.rules, sort=RANK)

    @property
    def ways(self) -> list[Choice]:
        return self.query.choices(
            "by", comparisons.WAYS, self.query.by, lambda way: str(BY[way])
        )

    @property
    def toggles(self) -> list[Toggle]:
        query = self.query
        offered = [
            (
                Submission.Kind.BASELINE in self.kinds,
                "baselines",
                "baselines",
                _("baselines"),
            ),
            (
                Submission.Kind.HUMAN in self.kinds,
                "human",
                "human-line",
                _("the human line"),
            ),
            (self.has_published, "reported", "reported", _("published results")),
        ]
        toggles = [
            Toggle(
                element,
                query.with_(**{name: not getattr(query, name)}),
                getattr(query, name),
                label,
            )
            for is_offered, name, element, label in offered
            if is_offered
        ]
        for name, words in self.marks:
            others = tuple(own for own in query.without if own != name)
            is_shown = len(others) == len(query.without)
            href = query.with_(without=(*others, name) if is_shown else others)
            toggles.append(Toggle(f"mark-{name}", href, is_shown, words))
        return toggles

    @cached_property
    def columns(self) -> list[Choice]:
        main, number = self.numbers
        words = (
            _("main (%(number)s)") % {"number": main},
            _("all %(number)s") % {"number": number},
        )
        return [
            Choice(
                name,
                label,
                self.query.with_(all_columns=is_all),
                is_all == self.query.all_columns,
            )
            for name, label, is_all in zip(
                ("main", "all"), words, (False, True), strict=True
            )
            if number != main
        ]

    @property
    def carried(self) -> list[tuple[str, str]]:
        return self.query.pairs(text="", declared=())

    @property
    def all_href(self) -> str:
        return self.query.with_(text="", declared=())
