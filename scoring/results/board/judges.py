"""The judges of a board.

The options of a task name a judge for each kind of labels, and each additional judge has
a separate board, called the judge's view. This module uses only boards and evaluations
that the audience may see.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from django.core.cache import caches
from django.db.models import QuerySet
from django.http import Http404
from django.utils.functional import Promise
from django.utils.translation import gettext as _, gettext_lazy
from numpy.typing import NDArray

from citeboard.core.release import compute_release_digest
from scoring.models import Evaluation, UsedJudgements
from scoring.models.ledger import BYTE_BY_LABEL
from scoring.results.board.cache import (
    PAGE_CACHE_SECONDS,
    board_version,
    hash_cache_key_values,
)
from scoring.results.board.standings import (
    Board,
    BoardRow,
    expand_rows_to_runs,
    load_cached_board,
    round_to_12_digits,
)
from scoring.results.board.visibility import BoardVisibility
from scoring.stats.confusion import ConfusionMatrices, count_confusions
from scoring.stats.correlation import Correlation, correlate_points
from scoring.stats.jackknife import NoIntervalReason
from scoring.stats.resampling import IntervalBounds
from tasks.models import Phase
from tasks.types.base import JUDGE_SEPARATOR, remove_judge_from_rule_set
from tasks.types.judge_views import (
    get_first_judge_name,
    get_judge_in_view_name,
    kind_of_view,
    make_view_name,
    replaced_judges,
)
from tasks.types.ledger import ASSIGNS_KIND, ENTAILS_KIND, NO_VALID_LABEL, SUPPORTS_KIND
from tasks.types.stored_judges import list_ledger_judges

#: The rank correlation is not computed for fewer than MIN_SYSTEMS_FOR_CORRELATION systems.
MIN_SYSTEMS_FOR_CORRELATION = 3
NO_CORRELATION_FEW_SYSTEMS, NO_CORRELATION_ALL_TIED, OTHER_LABELS = (
    "few-systems",
    "all-tied",
    "other-labels",
)
NO_AGREEMENT_PART_WITHHELD, NO_AGREEMENT_NO_PAIRS, NO_AGREEMENT_ONE_LABEL = (
    "part-withheld",
    "no-pairs",
    "one-label",
)
NO_AGREEMENT_SEVERAL_KINDS = "several-kinds"
#: Pages name the units that the labels of each kind describe by these words.
KIND_NAMES: dict[str, Promise] = {
    ENTAILS_KIND: gettext_lazy("claims"),
    SUPPORTS_KIND: gettext_lazy("citations"),
    ASSIGNS_KIND: gettext_lazy("nuggets"),
}


def judge_label(key: str) -> str:
    """Return the name of a judge for readers, with the kind of labels if the key of the
    judge has one, such as `support-b (citations)`.
    """
    name, _mark, kind = key.rpartition(JUDGE_SEPARATOR)
    return f"{name} ({KIND_NAMES[kind]})" if kind in KIND_NAMES else key


@dataclass(frozen=True, kw_only=True)
class BoardJudge:
    """A judge, with the rule set or the view whose scores use labels of the judge.

    ``kinds`` are the kinds of these labels. ``kind`` is empty unless the judge is one of
    a view that replaces the judge of one kind only, unless a view has the same judge, or
    unless a page shows one kind.
    """

    name: str
    kinds: tuple[str, ...]
    rules: str
    kind: str = ""

    @property
    def key(self) -> str:
        """Return the value of the parameter `judge` in addresses."""
        return make_view_name(self.name, self.kind)

    @property
    def label(self) -> str:
        return judge_label(self.key)

    @property
    def is_view(self) -> bool:
        return bool(get_judge_in_view_name(self.rules))

    def list_reference_texts_of_kind(self, kind: str) -> BoardJudge:
        return replace(self, kinds=(kind,), kind=kind)


def judges_of_rules(phase: Phase, rules: str | None) -> list[BoardJudge]:
    """Return the judges in the options of the task, the first judge first, and then the
    judges of the views of a rule set.

    The result is empty if the options name no judge whose labels the site stores, since
    views then replace nobody.
    """
    task, base = phase.task, remove_judge_from_rule_set(rules or "")
    if base not in task.rules or not list_ledger_judges(task.options):
        return []
    kinds: dict[str, list[str]] = {}
    for judge in list_ledger_judges(task.options):
        kinds.setdefault(judge.name, []).append(judge.kind)
    views = _judges_of_views(phase, base)
    # A judge of citations can also be the judge of a view that replaces another judge.
    keys = {judge.key for judge in views}
    named = [
        BoardJudge(
            name=name,
            kinds=tuple(own),
            rules=base,
            kind=own[0] if name in keys else "",
        )
        for name, own in kinds.items()
    ]
    return [*named, *views]


def _judges_of_views(phase: Phase, base: str) -> list[BoardJudge]:
    """Return the judges of the views of a rule set, or of all views without one."""
    return [
        BoardJudge(
            name=get_judge_in_view_name(rules),
            kinds=tuple(
                judge.kind for judge in replaced_judges(rules, phase.task.options)
            ),
            rules=rules,
            kind=kind_of_view(rules),
        )
        for rules in phase.task.rules
        if get_judge_in_view_name(rules)
        and base in ("", remove_judge_from_rule_set(rules))
    ]


def judge_on_board(phase: Phase, rules: str | None) -> BoardJudge | None:
    """Return the judge of a view, or the first judge for a rule set, or None if the
    options name no judge.
    """
    judges = judges_of_rules(phase, rules)
    return next((judge for judge in judges if judge.rules == rules), None)


@dataclass(frozen=True, kw_only=True)
class JudgeAgreement:
    """The agreement of two judges on the pairs of texts that both judges labelled.

    ``kappa`` is Cohen's kappa, and ``interval`` is the interval of kappa, or the reason
    why kappa has no interval. ``reason`` explains why a number is missing.
    """

    pairs: int | None
    same: int | None
    kappa: float | None
    interval: IntervalBounds | NoIntervalReason | None = None
    reason: str = ""

    @property
    def share(self) -> float | None:
        return self.same / self.pairs if self.same is not None and self.pairs else None

    @property
    def facts(self) -> dict[str, Any]:
        found = self.interval
        low, high = found if isinstance(found, tuple) else (None, None)
        return {
            "pairs": self.pairs,
            "same_label": self.same,
            "kappa": self.kappa,
            "kappa_low": low,
            "kappa_high": high,
            "why_no_kappa": self.reason or None,
            "why_no_kappa_interval": str(found)
            if isinstance(found, NoIntervalReason)
            else None,
        }


@dataclass(frozen=True, kw_only=True)
class SystemRanksByJudge:
    """The rows of one system on the board of the first judge and on the board of
    another judge. The row on the other judge's board is None if the judge has not
    labelled the system.
    """

    first: BoardRow
    view: BoardRow | None

    @property
    def ranks_gained(self) -> int | None:
        if self.view is None or self.view.rank is None or self.first.rank is None:
            return None
        return self.first.rank - self.view.rank


@dataclass(frozen=True, kw_only=True)
class BoardOfFurtherJudge:
    """The board of an additional judge, and the board of the judges in the options for
    comparison.

    ``compared`` is the judge that the additional judge replaces.
    """

    judge: BoardJudge
    compared: str
    board: Board
    first: Board

    @cached_property
    def system_ranks(self) -> list[SystemRanksByJudge]:
        """Return the systems with a rank by the first judge, in the order of the first
        judge's board.
        """
        own = {row.submission: row for row in self.board.rows}
        return [
            SystemRanksByJudge(first=row, view=own.get(row.submission))
            for row in self.first.rows
            if row.rank is not None
        ]

    @cached_property
    def correlation(self) -> Correlation:
        """Return Kendall's tau-b between the scores by both judges, over the systems
        with both scores, or NaN if undefined or if the ranks do not use the labels.
        """
        values = [
            (round_to_12_digits(one.first.value), round_to_12_digits(one.view.value))
            for one in self.system_ranks
            if one.view is not None
            and one.first.value is not None
            and one.view.value is not None
        ]
        if len(values) < MIN_SYSTEMS_FOR_CORRELATION or not self.ranks_use_labels:
            return Correlation(math.nan, None, None, len(values))
        first, other = np.array(values).T
        return correlate_points("Kendall", first, other)

    @property
    def missing_correlation_reason(self) -> str:
        if not self.ranks_use_labels:
            return OTHER_LABELS
        if not math.isnan(self.correlation.value):
            return ""
        return (
            NO_CORRELATION_FEW_SYSTEMS
            if self.correlation.n < MIN_SYSTEMS_FOR_CORRELATION
            else NO_CORRELATION_ALL_TIED
        )

    @property
    def ranks_use_labels(self) -> bool:
        return ranks_use_labels(self.first, self.judge.kinds)

    @cached_property
    def agreement(self) -> JudgeAgreement:
        return load_judge_agreement_on_boards(self.first, self.board, self.judge.kinds)

    @cached_property
    def agreement_by_kind(self) -> dict[str, JudgeAgreement]:
        return {
            kind: load_judge_agreement_on_boards(self.first, self.board, [kind])
            for kind in self.judge.kinds
        }

    @property
    def facts(self) -> dict[str, Any]:
        found = self.correlation
        return {
            "judge": self.judge.name,
            "kinds": self.judge.kinds,
            "compared_with": self.compared,
            "rules": self.board.rules,
            "tau_b": None if math.isnan(found.value) else found.value,
            "low": found.low,
            "high": found.high,
            "systems": found.n,
            "why_no_tau_b": self.missing_correlation_reason or None,
            **self.agreement.facts,
            "by_kind": [
                {"kind": kind, **one.facts}
                for kind, one in self.agreement_by_kind.items()
            ],
            "ranks": [
                {
                    "run": one.first.submission,
                    "first_rank": one.first.rank,
                    "rank": one.view.rank if one.view else None,
                }
                for one in self.system_ranks
            ],
        }


@dataclass(frozen=True, kw_only=True)
class JudgesOfBoard:
    """The judges in the options of the task, the first judge first, with their board, and
    the additional judges with their views.
    """

    first: Board
    named: list[BoardJudge]
    views: list[BoardOfFurtherJudge]

    @property
    def first_judge(self) -> str:
        return get_first_judge_name(self.first.phase.task.options)

    @property
    def facts(self) -> dict[str, Any]:
        return {
            "first_judge": self.first_judge,
            "rules": self.first.rules,
            "views": [view.facts for view in self.views],
        }


def ranks_use_labels(board: Board, kinds: Collection[str]) -> bool:
    """Return True if the metric that ranks the board uses labels of one of the kinds."""
    ranking = board.ranking
    options = [
        judge.option
        for judge in list_ledger_judges(board.phase.task.options)
        if judge.kind in kinds
    ]
    # The column key of a metric names the options that the metric uses.
    return ranking is None or any(f"|{name}:" in ranking.key for name in options)


def ranking_judge(board: Board) -> str:
    """Return the judge in the options of the task whose labels determine the ranks, or
    an empty text if the ranks use no labels of a judge.
    """
    deciding = (
        judge.name
        for judge in list_ledger_judges(board.phase.task.options)
        if ranks_use_labels(board, [judge.kind])
    )
    return next(deciding, "")


def judge_keys_of_rules(phase: Phase, rules: str | None) -> list[str]:
    """Return the keys of the judges between which readers of a board can choose, the
    first judge first, or no keys if the rule set has no view.
    """
    judges = judges_of_rules(phase, rules)
    views = [judge.key for judge in judges if judge.is_view]
    return [judges[0].key, *views] if views else []


def build_judge_page_query(board: Board, key: str = "") -> dict[str, str]:
    """Return the parameters of the page of a judge, by default of the first judge. They
    keep the rule set of the board unless the page shows this rule set by default.
    """
    base = remove_judge_from_rule_set(board.rules or "")
    rules = "" if base == board.phase.task.ranking_rules else base
    parameters = {"rules": rules, "judge": key}
    return {name: value for name, value in parameters.items() if value}


def has_several_judges(phase: Phase, rules: str | None) -> bool:
    return len(judges_of_rules(phase, rules)) > 1


def asked_judge(phase: Phase, rules: str | None, key: str) -> BoardJudge:
    """Return the judge with this key, for the given rule set or by default for the
    ranking rule set. The key of each judge may also name one of the judge's kinds.

    Raises Http404 if no scores of the rule set use labels of the judge.
    """
    task = phase.task
    base = remove_judge_from_rule_set(
        rules or (task.ranking_rules if task.rules else "")
    )
    judges = judges_of_rules(phase, base)
    # A judge of a view precedes a judge of the options with the same name.
    ordered = [*judges[:1], *(judge for judge in judges if judge.is_view), *judges[1:]]
    if not rules:
        ordered += _judges_of_views(phase, "")
    found = _matching_judge(ordered, key)
    if found is None:
        words = _("%(task)s has no view by the judge “%(judge)s”; it has %(known)s")
        known = dict.fromkeys(judge.key for judge in judges)
        facts = {"task": task, "judge": key, "known": ", ".join(known) or _("none")}
        raise Http404(words % facts)
    return found


def _matching_judge(judges: Sequence[BoardJudge], key: str) -> BoardJudge | None:
    name, _mark, kind = key.rpartition(JUDGE_SEPARATOR)
    matches = [
        *(judge for judge in judges if judge.key == key),
        *(judge for judge in judges if judge.name == key),
        *(
            judge.list_reference_texts_of_kind(kind)
            for judge in judges
            if judge.name == name and kind in judge.kinds
        ),
    ]
    return matches[0] if matches else None


def find_visible_judges_of_board(board: Board, viewer: object) -> JudgesOfBoard | None:
    """Return the judges of a board whose results the board's audience may see.

    The result is None if the board has only one judge, or if the audience may not see
    scores.
    """
    base = remove_judge_from_rule_set(board.rules or "")
    judges = judges_of_rules(board.phase, base)
    if len(judges) < 2 or board.visibility != BoardVisibility.SCORES:
        return None
    first = _load_board_under_rule_set(board, viewer, base)
    views = [
        BoardOfFurtherJudge(
            judge=judge,
            compared=_replaced_judge_name(board.phase, judge),
            board=_load_board_under_rule_set(board, viewer, judge.rules),
            first=first,
        )
        for judge in judges
        if judge.is_view
    ]
    named = [judge for judge in judges if not judge.is_view]
    return JudgesOfBoard(first=first, named=named, views=views)


def _replaced_judge_name(phase: Phase, judge: BoardJudge) -> str:
    replaced = replaced_judges(judge.rules, phase.task.options)
    return replaced[0].name if replaced else ""


def find_ranks_by_first_judge(board: Board, viewer: object) -> dict[int, int]:
    """Return the rank of each run by the first judge's labels, for display on another
    judge's board, or no ranks for other boards.
    """
    if not get_judge_in_view_name(board.rules or ""):
        return {}
    first = _load_board_under_rule_set(
        board, viewer, remove_judge_from_rule_set(board.rules or "")
    )
    return {row.submission: row.rank for row in first.rows if row.rank is not None}


def _load_board_under_rule_set(board: Board, viewer: object, rules: str) -> Board:
    if board.rules == rules:
        return board
    return load_cached_board(
        board.phase, viewer, rules, gold=board.gold, audience=board.audience
    )


@dataclass(frozen=True)
class JudgedScoresOnBoard:
    """The scores on a board, and the kinds of labels that the scores take from a judge.

    Scores of reports can also use labels of another kind by another judge, who is not
    compared.
    """

    evaluations: frozenset[int]
    kinds: tuple[str, ...]

    @classmethod
    def of(cls, board: Board, kinds: Iterable[str]) -> JudgedScoresOnBoard:
        return cls(
            evaluations=frozenset(
                row.evaluation
                for row in expand_rows_to_runs(board.rows)
                if row.evaluation
            ),
            kinds=tuple(kinds),
        )

    @property
    def facts(self) -> tuple[object, ...]:
        return sorted(self.evaluations), self.kinds

    @property
    def used_judgements(self) -> QuerySet[UsedJudgements]:
        return UsedJudgements.objects.filter(
            evaluation__in=self.evaluations,
            is_current=True,
            kind__in=self.kinds,
        )

    @property
    def has_any_withheld_score(self) -> bool:
        return has_withheld_scores(self.evaluations)


def load_judge_agreement_on_boards(
    first: Board, other: Board, kinds: Sequence[str]
) -> JudgeAgreement:
    """Return the agreement of two judges on the pairs with labels of these kinds from
    which the shown scores are computed.

    If the scores are computed on a part of the gold, the agreement is withheld, because
    it would also depend on the other part.
    """
    left, right = (
        JudgedScoresOnBoard.of(first, kinds),
        JudgedScoresOnBoard.of(other, kinds),
    )
    facts = ("agreement", *left.facts, *right.facts)
    return get_or_cache_per_board_version(
        first.phase, facts, lambda: _compute_judge_agreement(left, right)
    )


def count_labelled_pairs(board: Board, kinds: Iterable[str]) -> int | None:
    """Return the number of distinct pairs with labels of these kinds from which the
    shown scores are computed, or None if scores are withheld.
    """
    shown = JudgedScoresOnBoard.of(board, kinds)
    return get_or_cache_per_board_version(
        board.phase, ("pairs", *shown.facts), lambda: _count_pairs_of_evaluations(shown)
    )


CachedNumber = TypeVar("CachedNumber")


def get_or_cache_per_board_version(
    phase: Phase, facts: tuple[object, ...], number: Callable[[], CachedNumber]
) -> CachedNumber:
    """Return a number about judges from the cache, or compute and cache the number. The
    cache key contains the version of the board and the values in ``facts``.

    The cache stores the number in a tuple, because None is a valid number.
    """
    key = f"judges:{hash_cache_key_values(compute_release_digest(), board_version(phase), *facts)}"
    kept: tuple[CachedNumber] | None = caches["results"].get(key)
    if kept is None:
        kept = (number(),)
        caches["results"].set(key, kept, PAGE_CACHE_SECONDS)
    return kept[0]


def _compute_judge_agreement(
    first: JudgedScoresOnBoard, other: JudgedScoresOnBoard
) -> JudgeAgreement:
    if first.has_any_withheld_score or other.has_any_withheld_score:
        return JudgeAgreement(
            pairs=None, same=None, kappa=None, reason=NO_AGREEMENT_PART_WITHHELD
        )
    left, right = _load_pair_labels(first), _load_pair_labels(other)
    _common, places, others = np.intersect1d(
        left.items, right.items, assume_unique=True, return_indices=True
    )
    a, b = left.labels[places], right.labels[others]
    is_decided = (a != BYTE_BY_LABEL[NO_VALID_LABEL]) & (
        b != BYTE_BY_LABEL[NO_VALID_LABEL]
    )
    a, b = a[is_decided], b[is_decided]
    if not len(a):
        return JudgeAgreement(pairs=0, same=0, kappa=None, reason=NO_AGREEMENT_NO_PAIRS)
    units = _find_units_of_pairs(left, right, places, others)
    both = count_confusions(
        a, b, np.zeros(len(a), np.uint32) if units is None else units[is_decided]
    )
    if len(first.kinds) > 1:
        # Chance agreement on the labels of one kind differs from that of the other.
        return JudgeAgreement(
            pairs=both.judgements,
            same=both.same,
            kappa=None,
            reason=NO_AGREEMENT_SEVERAL_KINDS,
        )
    is_undefined = math.isnan(both.kappa)
    return JudgeAgreement(
        pairs=both.judgements,
        same=both.same,
        kappa=None if is_undefined else both.kappa,
        interval=_compute_kappa_interval(both, has_units=units is not None),
        reason=NO_AGREEMENT_ONE_LABEL if is_undefined else "",
    )


def _find_units_of_pairs(
    left: LabelsOfPairs,
    right: LabelsOfPairs,
    places: NDArray[np.intp],
    others: NDArray[np.intp],
) -> NDArray[np.uint32] | None:
    """Return the topic or question of each pair with labels of two judges, or None if
    no scores of one of the judges have stored them for all pairs.
    """
    if left.units is not None:
        return left.units[places]
    return None if right.units is None else right.units[others]


def _compute_kappa_interval(
    both: ConfusionMatrices, *, has_units: bool
) -> IntervalBounds | NoIntervalReason | None:
    if math.isnan(both.kappa):
        return None
    return both.kappa_interval if has_units else NoIntervalReason.NO_TOPICS


def _count_pairs_of_evaluations(shown: JudgedScoresOnBoard) -> int | None:
    return None if shown.has_any_withheld_score else len(load_pair_digests(shown))


def load_pair_digests(shown: JudgedScoresOnBoard) -> NDArray[np.uint64]:
    """Return the sorted distinct digests of the labelled pairs from which these scores
    are computed.
    """
    used = shown.used_judgements
    # Older versions stored the digests of pairs without the labels of the pairs.
    items = b"".join(map(bytes, used.values_list("items", flat=True)))
    return np.unique(np.frombuffer(items, np.uint64))


def has_withheld_scores(evaluations: Collection[int]) -> bool:
    own = Evaluation.objects.filter(pk__in=evaluations)
    return own.exclude(release="", withheld="").exists()


@dataclass(frozen=True)
class LabelsOfPairs:
    """The sorted distinct digests of labelled pairs, with the label and the unit of
    each pair. A unit is a topic or a question. The units are None if some scores were
    stored without them.
    """

    items: NDArray[np.uint64]
    labels: NDArray[np.uint8]
    units: NDArray[np.uint32] | None


def _load_pair_labels(shown: JudgedScoresOnBoard) -> LabelsOfPairs:
    """Return the labels of pairs that the scorer used for these scores, if the labels
    are stored.
    """
    used = shown.used_judgements
    # All runs have the same label for a pair, unless a run uses outdated judgements.
    # For a pair with several labels, the label of the newest run counts.
    rows = used.exclude(labels=b"").order_by("-pk")
    stored = [
        tuple(map(bytes, row)) for row in rows.values_list("items", "labels", "units")
    ]
    items = np.frombuffer(b"".join(one for one, _labels, _units in stored), np.uint64)
    labels = np.frombuffer(b"".join(one for _items, one, _units in stored), np.uint8)
    units = np.frombuffer(b"".join(one for _items, _labels, one in stored), np.uint32)
    distinct, places = np.unique(items, return_index=True)
    # A pair of several topics counts for one of them, since it counts once.
    has_units = len(units) == len(items)
    return LabelsOfPairs(distinct, labels[places], units[places] if has_units else None)
