"""The query parameters of a board's page, for the table and for the tabs."""

from dataclasses import dataclass, fields

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from citeboard.core.query import number_from, switch_from, text_from
from scoring.results.board import label_shares
from scoring.results.board.query import BoardQuery

FIRST_TAB = "notes"
CLASSES = "classes"
OF_TABS = (
    "dimension",
    "metric",
    "systems",
    "order",
    "cost",
    "criterion",
    "table",
    "scheme",
    "divergence",
    "dataset",
)
#: The divergence compares the labels of a system with the gold (the reference answers).
#: The divergence is computed separately for each data set, or with a published formula.
OWN, PUBLISHED = "own", "published"
DIVERGENCES = {
    OWN: gettext_lazy("each data set by itself"),
    PUBLISHED: gettext_lazy("the published form"),
}


FILES: dict[str, str | Promise] = {
    "board.csv": "CSV",
    "board.xlsx": "XLSX",
    "board.json": "JSON",
    "board.tex": "LaTeX",
    "board.bib": "BibTeX",
    "board.every-eval-ever.zip": "Every Eval Ever",
    "board.hugging-face.zip": gettext_lazy("Hugging Face results"),
    "board.ir-metadata.zip": "ir_metadata",
    "board.papers-with-code.json": gettext_lazy("Papers with Code, JSON"),
}


@dataclass(frozen=True, kw_only=True)
class PageQuery(BoardQuery):
    """The query parameters of a board's page.

    ``view`` is the name of a tab in `tabs.TABS`. `OF_TABS` contains the parameters that
    belong to a single tab and not to the table. ``table`` is the number of a published
    table, starting at 1.
    """

    view: str = text_from("view", default=FIRST_TAB)
    adjusts: bool = switch_from("adjust", "yes", default=False)
    cost: str = text_from("cost")
    criterion: str = text_from("criterion")
    table: int | None = number_from("table", default=1)
    scheme: str = text_from("labels", choices=label_shares.SCHEMES)
    divergence: str = text_from("form", default=OWN, choices=DIVERGENCES)
    dataset: str = text_from("dataset")
    file: str = text_from("file", choices=FILES)

    @property
    def tab(self) -> str:
        """Return the name of the open tab below the board.

        A URL without `view` opens the tab of scores by class if the URL contains
        parameters of this tab.
        """
        chooses = self.dimension or self.metric or self.systems or self.order
        return CLASSES if chooses and self.view == FIRST_TAB else self.view

    def of_tab(self, name: str) -> str:
        """Return the query string that links to a tab, without parameters of other
        tabs.
        """
        if name == self.tab:
            return self.with_(view=name)
        defaults = {
            field.name: field.default for field in fields(self) if field.name in OF_TABS
        }
        return self.with_(**{**defaults, "view": name})

    @property
    def of_files(self) -> str:
        """Return the query string that links to files of a board and to pages without
        tabs.
        """
        choices = self.with_(view=FIRST_TAB, adjusts=False, file="")
        return choices.removesuffix("?")
