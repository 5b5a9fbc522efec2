"""The query parameters of a board's page, for the table and for the tabs."""

from dataclasses import dataclass, fields

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from citeboard.core.query import (
    declare_number_parameter,
    declare_switch_parameter,
    declare_text_parameter,
)
from scoring.results.board import label_shares
from scoring.results.board.query import BoardQuery

DEFAULT_TAB_NAME = "notes"
CLASSES_TAB_NAME = "classes"
SINGLE_TAB_PARAMETERS = (
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
PER_DATA_SET_DIVERGENCE, PUBLISHED_FORM_DIVERGENCE = "own", "published"
DIVERGENCE_LABELS = {
    PER_DATA_SET_DIVERGENCE: gettext_lazy("each data set by itself"),
    PUBLISHED_FORM_DIVERGENCE: gettext_lazy("the published form"),
}


BOARD_FILE_LABELS: dict[str, str | Promise] = {
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
class BoardPageParameters(BoardQuery):
    """The query parameters of a board's page.

    ``view`` is the name of a tab in `tabs.BOARD_TABS`. `SINGLE_TAB_PARAMETERS` contains the parameters that
    belong to a single tab and not to the table. ``table`` is the number of a published
    table, starting at 1.
    """

    view: str = declare_text_parameter("view", default=DEFAULT_TAB_NAME)
    adjusts: bool = declare_switch_parameter("adjust", "yes", default=False)
    cost: str = declare_text_parameter("cost")
    criterion: str = declare_text_parameter("criterion")
    table: int | None = declare_number_parameter("table", default=1)
    scheme: str = declare_text_parameter(
        "labels", choices=label_shares.LABEL_SCHEME_NAMES
    )
    divergence: str = declare_text_parameter(
        "form", default=PER_DATA_SET_DIVERGENCE, choices=DIVERGENCE_LABELS
    )
    dataset: str = declare_text_parameter("dataset")
    file: str = declare_text_parameter("file", choices=BOARD_FILE_LABELS)

    @property
    def tab(self) -> str:
        """Return the name of the open tab below the board.

        A URL without `view` opens the tab of scores by class if the URL contains
        parameters of this tab.
        """
        chooses = self.dimension or self.metric or self.systems or self.order
        return (
            CLASSES_TAB_NAME if chooses and self.view == DEFAULT_TAB_NAME else self.view
        )

    def build_tab_query_string(self, name: str) -> str:
        """Return the query string that links to a tab, without parameters of other
        tabs.
        """
        if name == self.tab:
            return self.build_query_string(view=name)
        defaults = {
            field.name: field.default
            for field in fields(self)
            if field.name in SINGLE_TAB_PARAMETERS
        }
        return self.build_query_string(**{**defaults, "view": name})

    @property
    def of_files(self) -> str:
        """Return the query string that links to files of a board and to pages without
        tabs.
        """
        choices = self.build_query_string(view=DEFAULT_TAB_NAME, adjusts=False, file="")
        return choices.removesuffix("?")
