"""Compute the maximum number of bits about secret gold that a phase reveals to a team,
as a list of items. The bits of each kind of item are documented in docs/organisers.md.
"""

import datetime as dt
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from django.utils.timezone import now
from django.utils.translation import gettext as _, gettext_lazy

from citeboard.core.words import count_with_noun, format_thousands
from scoring.metrics.calibration import DEFAULT_BINS, CalibrationError
from scoring.metrics.weighted import EqualSizeCalibrationError
from scoring.models import Evaluation
from scoring.results.board import differences, visibility
from scoring.results.board.monthly_ranks import count_rank_publications_per_year
from scoring.results.board.same_content import (
    PhaseRevealingSecretContent,
    have_same_public_part,
)
from scoring.stats.leakage import (
    DAYS_OF_ENDLESS_PHASE,
    compute_bits_by_ranks,
    compute_max_bits_by_ladder,
    compute_max_bits_by_scores,
)
from tasks.gold.secrecy import ContentKind, get_embargoes_of_phase
from tasks.models import Phase, Task
from tasks.types import OptionRefused, task_types
from tasks.types.references import MetricRef, import_referenced_object

#: The leak budget assumes that ASSUMED_COLLUDING_TEAM_COUNT teams share the scores that they see.
ASSUMED_COLLUDING_TEAM_COUNT = 5
ONE_DAY = dt.timedelta(days=1)
#: The site publishes ranks on a private part at most MAX_RANK_PUBLICATIONS_PER_YEAR times per year.
MAX_RANK_PUBLICATIONS_PER_YEAR = 12


class LeakBudgetItemKind(StrEnum):
    INSTANCES = "instances"
    SCORES = "scores"
    LADDER = "ladder"
    PUBLIC = "public"
    PRIVATE = "private"
    RANKS = "ranks"


LEAK_BUDGET_ITEM_KIND_LABELS = {
    LeakBudgetItemKind.INSTANCES: gettext_lazy("single instances"),
    LeakBudgetItemKind.SCORES: gettext_lazy("scores by %(rules)s"),
    LeakBudgetItemKind.LADDER: gettext_lazy("scores of the Ladder by %(rules)s"),
    LeakBudgetItemKind.PUBLIC: gettext_lazy("scores of the public part by %(rules)s"),
    LeakBudgetItemKind.PRIVATE: gettext_lazy(
        "scores of the private part by %(rules)s, at the end"
    ),
    LeakBudgetItemKind.RANKS: gettext_lazy("ranks by %(rules)s"),
}


def format_bits(bits: float | None) -> str:
    return _("all of it") if bits is None else format_thousands(math.ceil(bits))


def format_bit_count(bits: float | None) -> str:
    return _("everything") if bits is None else count_with_noun(math.ceil(bits), "bit")


@dataclass(frozen=True, kw_only=True)
class LeakBudgetItem:
    """One kind of information about secret gold that a phase reveals to a team, with
    the number of bits.

    ``bits`` is None if the information may reveal all of the gold (reference answers).
    ``tries`` is the number of runs, or of publications of ranks, and is None if
    unlimited. ``is_foreign`` is True for a phase of other organisers, whose name must
    not be shown. ``is_known`` is True for scores on a public part of the gold, which
    teams are assumed to know.
    """

    phase: Phase
    kind: LeakBudgetItemKind
    bits: float | None
    rules: str = ""
    tries: int | None = None
    numbers: int = 1
    is_foreign: bool = False
    is_known: bool = False

    @property
    def counts(self) -> bool:
        return self.bits is None or self.bits > 0

    @property
    def place(self) -> str:
        if self.is_foreign:
            return _("a season of other organisers with the same texts")
        return f"{self.phase.task}, {self.phase}"

    @property
    def way(self) -> str:
        return str(LEAK_BUDGET_ITEM_KIND_LABELS[self.kind]) % {"rules": self.rules}

    @property
    def words(self) -> str:
        return f"{self.place}: {self.way}"

    @property
    def basis(self) -> str:
        if self.kind is LeakBudgetItemKind.INSTANCES:
            return ""
        if self.kind is LeakBudgetItemKind.RANKS and self.tries is not None:
            return count_with_noun(self.tries, "rank")
        runs = (
            _("any number of runs")
            if self.tries is None
            else count_with_noun(self.tries, "run")
        )
        return _("%(runs)s, %(numbers)s each") % {
            "runs": runs,
            "numbers": count_with_noun(self.numbers, "number"),
        }

    @property
    def bits_text_for_one_team(self) -> str:
        return _("known") if self.is_known else format_bits(self.bits)

    @property
    def bits_text_for_colluding_teams(self) -> str:
        bits = multiply_bits_by_team_count(self.bits, ASSUMED_COLLUDING_TEAM_COUNT)
        return _("known") if self.is_known else format_bits(bits)


def multiply_bits_by_team_count(bits: float | None, teams: int) -> float | None:
    return None if bits is None else bits * teams


def sum_bits_of_items(items: Iterable[LeakBudgetItem]) -> float | None:
    bits = [item.bits for item in items]
    return None if None in bits else math.fsum(filter(None, bits))


@dataclass(frozen=True, kw_only=True)
class LeakBudgetScope:
    """The phase whose leak budget is computed (the bits that teams may learn about its
    gold). ``part`` is the phase with the public part of the gold that teams are assumed
    to know.
    """

    own: PhaseRevealingSecretContent
    part: PhaseRevealingSecretContent | None
    #: ``teams`` maps the id of each season to the number of registered teams.
    teams: dict[int, int]
    #: ``class_sizes`` caches the sizes of the classes of each phase during one request.
    class_sizes: dict[int, list[int]]

    @property
    def phase(self) -> Phase:
        return self.own.phase

    @property
    def secret(self) -> int:
        known = self.part.public if self.part else 0
        return self.own.gold.instances - known

    @property
    def until(self) -> dt.datetime:
        """Return the time when the phase stops accepting runs, or a time a year ahead
        if the phase has no end.
        """
        year = dt.timedelta(days=DAYS_OF_ENDLESS_PHASE)
        return min(self.phase.accepts_runs_until, max(self.phase.opens, now()) + year)

    def is_content_released_in_time(
        self, source: PhaseRevealingSecretContent, kind: ContentKind
    ) -> bool:
        """Return True if other phases no longer withhold this kind of content when this
        phase closes.
        """
        free_from = get_embargoes_of_phase(source.phase).until(kind)
        return free_from is None or free_from < min(self.phase.closes, self.until)

    def load_shown_class_sizes(self, source: PhaseRevealingSecretContent) -> list[int]:
        """Return the number of instances in each class whose scores a team sees in the
        source's phase.

        The result is empty for a season of other organisers, because sizes of classes
        would reveal the gold of the season.
        """
        if source.is_foreign:
            return []
        pk = source.phase.pk
        if pk not in self.class_sizes:
            self.class_sizes[pk] = _query_class_sizes(source)
        return self.class_sizes[pk]

    def accepts_runs_after_source_closes(
        self, source: PhaseRevealingSecretContent
    ) -> bool:
        """Return True if the phase still accepts runs a day after the source's phase
        has ended.
        """
        return source.phase.accepts_runs_until + ONE_DAY <= self.until


def iterate_budget_items(
    source: PhaseRevealingSecretContent, view: LeakBudgetScope
) -> Iterator[LeakBudgetItem]:
    phase = source.phase
    if phase.pk != view.phase.pk and phase.opens >= view.until:
        return
    boards = {phase.board_now}
    if phase.board_from and phase.board_from < view.until:
        boards.add(phase.board_then)
    has_measures = Phase.Audience.EVERYONE in boards and not phase.battles_alone
    is_open = has_measures or phase.shows_scores
    if (
        phase.shows_instances
        and is_open
        and view.is_content_released_in_time(source, ContentKind.INSTANCES)
    ):
        yield LeakBudgetItem(
            phase=phase,
            kind=LeakBudgetItemKind.INSTANCES,
            bits=None,
            is_foreign=source.is_foreign,
        )
    elif is_open and view.is_content_released_in_time(source, ContentKind.OWN):
        yield from _iterate_score_items(source, view)
    elif (
        Phase.Audience.RANKS in boards and not phase.battles_alone
    ) and view.is_content_released_in_time(source, ContentKind.OTHERS):
        yield from _iterate_rank_items(source, view)


def _iterate_score_items(
    source: PhaseRevealingSecretContent, view: LeakBudgetScope
) -> Iterator[LeakBudgetItem]:
    phase, tries = source.phase, find_max_runs_per_team(source.phase)
    if phase.public_part:
        yield from _iterate_items_of_split_gold(source, view)
    elif phase.ladder and not view.accepts_runs_after_source_closes(source):
        bits = (
            None
            if tries is None
            else compute_max_bits_by_ladder(tries, source.gold.instances)
        )
        yield LeakBudgetItem(
            phase=phase,
            kind=LeakBudgetItemKind.LADDER,
            bits=bits,
            rules=next(iter(phase.task.rules), ""),
            tries=tries,
            is_foreign=source.is_foreign,
        )
    else:
        most = min(source.shared, view.secret)
        yield from _iterate_items_per_rule_set(
            source, view, LeakBudgetItemKind.SCORES, most
        )


def _iterate_items_of_split_gold(
    source: PhaseRevealingSecretContent, view: LeakBudgetScope
) -> Iterator[LeakBudgetItem]:
    """Yield the budget items of a phase whose gold has a public part.

    Scores on the public part count no bits if the phase of the budget has the same
    public part. Ranks reveal information about the private part of the gold. Final
    scores also count bits if the phase of the budget still accepts runs when this phase
    has ended.
    """
    shared = min(source.shared, view.secret)
    is_known = view.part is not None and have_same_public_part(view.part, source)
    most = min(shared, source.public)
    yield from _iterate_items_per_rule_set(
        source, view, LeakBudgetItemKind.PUBLIC, most, is_known=is_known
    )
    yield from _iterate_rank_items(source, view)
    if view.accepts_runs_after_source_closes(source):
        private = source.gold.instances - source.public
        yield from _iterate_items_per_rule_set(
            source, view, LeakBudgetItemKind.PRIVATE, min(shared, private)
        )


def _iterate_items_per_rule_set(
    source: PhaseRevealingSecretContent,
    view: LeakBudgetScope,
    kind: LeakBudgetItemKind,
    most: int,
    *,
    is_known: bool = False,
) -> Iterator[LeakBudgetItem]:
    """Yield one budget item for each rule set of the phase. Each score is computed on
    at most ``most`` instances.
    """
    tries, classes = (
        find_max_runs_per_team(source.phase),
        view.load_shown_class_sizes(source),
    )
    for rules, metrics in _count_scores_by_rule_set(source.phase.task).items():
        sizes = [source.gold.instances] * metrics + classes
        bits = 0.0 if is_known else None
        if bits is None and tries is not None:
            bits = compute_max_bits_by_scores(
                tries, [min(size, most) for size in sizes]
            )
        yield LeakBudgetItem(
            phase=source.phase,
            kind=kind,
            bits=bits,
            rules=rules,
            tries=tries,
            numbers=len(sizes),
            is_foreign=source.is_foreign,
            is_known=is_known,
        )


def _count_scores_by_rule_set(task: Task) -> dict[str, int]:
    """Return the number of scores under each rule set, or an empty mapping if this site
    cannot score the task.
    """
    if not task.declaration_id and task.type not in task_types():
        return {}
    try:
        options = task.task_type.validate_options(task.options)
    except OptionRefused:
        return {}
    metrics = {
        rules: task.task_type.list_metrics_of_rule_set(rules, options)
        for rules in task.rules
    }
    counts = {rules: len(own) for rules, own in metrics.items()}
    if task.rules:
        counts[task.ranking_rules] += _count_calibration_values(
            metrics[task.ranking_rules]
        )
    return counts


def _count_calibration_values(metrics: Iterable[MetricRef]) -> int:
    """Return the number of calibration results on the page of a run, which has one for
    each bin and two for all bins together.

    The confidences in the run determine which instances belong to a bin.
    """
    for metric in metrics:
        kind = import_referenced_object(metric.metric)
        if issubclass(kind, CalibrationError):
            return int(metric.arguments.get("bins", DEFAULT_BINS)) + 2
        if issubclass(kind, EqualSizeCalibrationError):
            return DEFAULT_BINS + 2
    return 0


def _iterate_rank_items(
    source: PhaseRevealingSecretContent, view: LeakBudgetScope
) -> Iterator[LeakBudgetItem]:
    """Yield a budget item for a team's rank under each rule set. A team learns its rank
    with each run, or with each publication of ranks on a private part.
    """
    phase, tries = source.phase, find_max_runs_per_team(source.phase)
    if phase.public_part:
        tries = (
            MAX_RANK_PUBLICATIONS_PER_YEAR
            if source.is_foreign
            else count_rank_publications_per_year(phase, source.gold)
        )
    if tries == 0:
        return
    teams = view.teams[phase.task.season_id]
    bits = None if tries is None else compute_bits_by_ranks(tries, teams + 1)
    for rules in phase.task.rules:
        yield LeakBudgetItem(
            phase=phase,
            kind=LeakBudgetItemKind.RANKS,
            bits=bits,
            rules=rules,
            tries=tries,
            is_foreign=source.is_foreign,
        )


def find_max_runs_per_team(phase: Phase) -> int | None:
    days = min(
        DAYS_OF_ENDLESS_PHASE,
        max(1, (phase.accepts_runs_until - phase.opens) / dt.timedelta(days=1)),
    )
    limits = [
        phase.runs_in_total,
        phase.runs_per_day and int(phase.runs_per_day * days),
    ]
    return min((limit for limit in limits if limit is not None), default=None)


def _query_class_sizes(source: PhaseRevealingSecretContent) -> list[int]:
    """Return the number of instances in each class whose scores a team sees. The newest
    scored run of the phase determines the sizes of the classes.
    """
    phase = source.phase
    scored = Evaluation.objects.filter(gold=source.gold, withheld="").order_by("-pk")
    newest = scored.filter(phase=phase).first() or scored.first()
    if newest is None:
        return []
    hidden = differences.find_hidden_classes(
        [newest.pk], phase, visibility.Audience.TEAM
    )
    return [
        number.n
        for row in newest.breakdowns.select_related("classes")
        for label, numbers in row.by_class().items()
        if label not in hidden.get(row.classes.dimension, ())
        for number in numbers.values()
    ]
