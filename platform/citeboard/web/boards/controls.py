"""The form by which readers adjust the table of a board."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.utils.translation import gettext as _, gettext_lazy

from citeboard.core.query import LinkedChoice
from citeboard.web.boards.page_query import BoardPageParameters
from scoring.results.board import comparisons
from scoring.results.board.judges import judge_label
from scoring.results.board.query import SORT_BY_RANK
from scoring.results.board.table import find_sort_order_names
from tasks.models import Submission

RANKING_METHOD_LABELS = {
    comparisons.RANK_BY_VALUE: gettext_lazy("value"),
    comparisons.RANK_BY_SIGNIFICANCE: gettext_lazy("significance"),
}


class CheckBox(NamedTuple):
    """A check box of the table's form, which sends ``value`` as the parameter ``name``."""

    name: str
    value: str
    is_on: bool
    label: str


@dataclass(frozen=True, kw_only=True)
class TableControls:
    """The options of the form that adjusts the table of a board.

    Users share cached boards, so the options of the form must not depend on the user.
    """

    query: BoardPageParameters
    rules: str | None
    rules_offered: Sequence[str]
    judge: str
    judges_offered: Sequence[str]
    columns: int
    has_more_columns: bool
    kinds: frozenset[str]
    marks: Sequence[tuple[str, str]]
    declared: Sequence[tuple[str, Sequence[tuple[str, str]]]]
    heads: Sequence[tuple[str, str]]

    @property
    def rule_sets(self) -> list[LinkedChoice]:
        return self.query.choices("rules", self.rules_offered, self.rules)

    @property
    def judges(self) -> list[LinkedChoice]:
        return self.query.choices("judge", self.judges_offered, self.judge, judge_label)

    @property
    def ways(self) -> list[LinkedChoice]:
        return self.query.choices(
            "by",
            comparisons.RANKING_METHODS,
            self.query.by,
            lambda way: str(RANKING_METHOD_LABELS[way]),
        )

    @property
    def sort_order_choices(self) -> list[LinkedChoice]:
        labels = {}
        for name, label in self.heads:
            forwards, backwards = find_sort_order_names(name)
            labels[name] = f"{label}, {forwards}"
            labels[f"-{name}"] = f"{label}, {backwards}"
        return self.query.choices("sort", labels, self.query.sort, labels.__getitem__)

    @property
    def switches(self) -> list[CheckBox]:
        query, kinds = self.query, self.kinds
        switches = []
        if self.has_more_columns:
            label = _("All %(number)s columns") % {"number": self.columns}
            switches.append(CheckBox("columns", "all", query.all_columns, label))
        if Submission.Kind.BASELINE in kinds:
            label = _("Hide %(label)s") % {"label": _("baselines")}
            switches.append(CheckBox("baselines", "no", not query.baselines, label))
        if Submission.Kind.HUMAN in kinds:
            label = _("Hide %(label)s") % {"label": _("the human line")}
            switches.append(CheckBox("human", "no", not query.human, label))
        for name, words in self.marks:
            label = _("Hide %(label)s") % {"label": words}
            switches.append(CheckBox("without", name, name in query.without, label))
        return switches

    @property
    def carried(self) -> list[tuple[str, str]]:
        """Return the query parameters that the table's form sends in hidden fields."""
        return self.query.pairs(
            rules="",
            judge="",
            by=comparisons.RANK_BY_VALUE,
            sort=SORT_BY_RANK,
            text="",
            declared=(),
            baselines=True,
            human=True,
            without=(),
            all_columns=False,
            adjusts=False,
        )

    @property
    def toggle_controls_href(self) -> str:
        return self.query.build_query_string(adjusts=not self.query.adjusts)

    @property
    def all_href(self) -> str:
        return self.query.build_query_string(text="", declared=())
