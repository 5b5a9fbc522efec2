"""What answers of the site may tell of hidden gold, where they tell it, and in how many bits at most."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from scoring.stats.leakage import compute_max_bits_by_scores
from tests.access.two_worlds import HIDDEN, REPORTS, SENT, Request
from tests.declared.small_tasks import INSTANCES, SMALL_TASKS

#: Classes of the small task of labels, and runs and numbers of a run on each board.
CLASSES, RUNS = 3, 3


def of_scores() -> float:
    """A number over all instances tells which of so many values it has."""
    return compute_max_bits_by_scores(RUNS, [INSTANCES])


def of_class_sizes() -> float:
    """There are so many ways to share out the instances among the classes."""
    return math.log2(math.comb(INSTANCES + CLASSES - 1, CLASSES - 1))


@dataclass(frozen=True)
class Permitted:
    """A fact of the gold of a part that answers to a role may depend on."""

    fact: str
    where: str
    formula: str
    bits: Callable[[], float]
    applies: Callable[[Request], bool]

    @property
    def line(self) -> str:
        """Return the row of docs/security.md, with the bits of the small task of labels."""
        return f"| {self.fact} | {self.where} | {self.formula} | {self.bits():.1f} |"


#: Pages, feeds and files of a season or a team that have numbers of its boards.
OF_SEASON = (
    "home", "season", "season-feed", "season-card", "team", "team-results", "team-feed", "team-system",
    "team-system-feed", "api:season", "api:seasons", "api:team-results", "api:team-system",
    "overview-paper", "overview-paper-file", "api:overview-paper", "own-runs", "api:submissions",
    "messages", "api:messages", "account-data", "api:account-data", "receipt-log", "api:receipt-log",
    "api:log-entries", "organise", "organise-runs", "organise-runs-csv", "api:season-runs",
    "organise-progress", "api:progress", "bundle",
)  # fmt: skip


def is_of_shown_board(request: Request) -> bool:
    return request.part in SMALL_TASKS


def is_of_season(request: Request) -> bool:
    return request.part == "" and (request.method == SENT or request.name in OF_SEASON)


def is_of_hidden_board(request: Request) -> bool:
    is_hidden = request.part in (HIDDEN, REPORTS)
    return request.role == "helper" and (is_hidden or is_of_season(request))


#: In every world; what the table does not list may differ in nothing.
PERMITTED = (
    Permitted(
        "a score, with its interval, rank and tests",
        "boards that show scores, and the pages, files, mails and archives that repeat them",
        "runs × log₂(instances + 1) for each number; the budget adds them up",
        of_scores,
        lambda request: is_of_shown_board(request) or is_of_season(request),
    ),
    Permitted(
        "the sizes of classes, from the least size that the task sets",
        "pages of classes and of a run, once a run is scored",
        "log₂ of the ways to share the instances out among the classes",
        of_class_sizes,
        is_of_shown_board,
    ),
    Permitted(
        "a score on a board that is hidden",
        "pages of runs for helpers of the season, as for its organisers",
        "runs × log₂(instances + 1) for each number",
        of_scores,
        is_of_hidden_board,
    ),
)


def is_permitted(request: Request) -> bool:
    return any(permitted.applies(request) for permitted in PERMITTED)
