"""Two runs instance by instance: what was given, the gold, both answers, and what each metric saw."""

import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from django.http import Http404
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from numpy.typing import NDArray

from scoring.board.comparisons import open_statistics, reading_failed, statistics_of
from scoring.board.differences import natural_order
from scoring.board.open_gold import may_have_gold, open_run
from scoring.board.query import board_of
from scoring.board.standings import Board
from scoring.board.visibility import (
    Audience,
    audience_of,
    is_free,
    may_see_instances,
    may_see_outcome,
    may_see_submission,
)
from scoring.comparison.contenders import ChosenTwo, ReadQuery, chosen_two, evaluations_of, on_board, own_runs
from scoring.comparison.paired_scores import Two, names_of, two, values_by_instance
from scoring.metrics import Metric
from scoring.metrics.base import Floats
from scoring.models import Evaluation
from scoring.offline.evaluate import Statistics, load_instances
from scoring.stats.breakdown import NO_CLASS
from scoring.stats.significance import ROUNDING
from tasks.gold.secrecy import Kind
from tasks.models import Phase, Submission
from tasks.seasons.access import may_have_inputs
from tasks.types.base import ShownInstance

#: Which instances are read; the first where values are shown, the second where they are not.
DIFFER, ANSWERS, ALL = "differ", "answers", "all"
A_BETTER, B_BETTER, A_RIGHT, B_RIGHT = "a-better", "b-better", "a-right", "b-right"
WHICH = {
    DIFFER: gettext_lazy("the values differ"),
    A_BETTER: gettext_lazy("A better"),
    B_BETTER: gettext_lazy("B better"),
    A_RIGHT: gettext_lazy("A right, B wrong"),
    B_RIGHT: gettext_lazy("B right, A wrong"),
    ANSWERS: gettext_lazy("the answers differ"),
    ALL: gettext_lazy("all"),
}
#: What is asked of A where the two change places.
SWAPPED = {A_BETTER: B_BETTER, B_BETTER: A_BETTER, A_RIGHT: B_RIGHT, B_RIGHT: A_RIGHT}


@dataclass(frozen=True, kw_only=True)
class Rights:
    given: bool
    gold: bool
    values: bool


def rights(phase: Phase, viewer: object, runs: Sequence[Submission]) -> Rights | None:
    if not all(may_see_submission(run, viewer) or open_run(phase, viewer, run.pk) for run in runs):
        return None
    audience = audience_of(phase, viewer)
    if audience == Audience.ORGANISER:
        gold = values = True
    else:
        gold = may_have_gold(phase, viewer) and all(is_free(Kind.GOLD, run) for run in runs)
        values = may_see_instances(phase, audience) and all(is_free(Kind.INSTANCES, run) for run in runs)
    return Rights(given=may_have_inputs(viewer, phase), gold=gold, values=gold or values)


@dataclass(frozen=True, kw_only=True)
class ReadInstance:
    """One instance. Values go by metric, first that of A; a text that is not shown is empty."""

    name: str
    given: str
    gold: str
    a: str
    b: str
    is_kept: bool
    values: Mapping[str, tuple[float, float]]


class Reading:
    def __init__(self, pair: Two, metric: Metric, rights: Rights) -> None:
        self.pair, self.metric, self.rights = pair, metric, rights
        self._texts = [texts_of(side) for side in (pair.a, pair.b)]
        names = [names_of(side) or list(row) for side, row in zip((pair.a, pair.b), self._texts, strict=True)]
        self._numbers = {name: number for number, name in enumerate(dict.fromkeys([*names[0], *names[1]]))}
        self._places = [
            np.fromiter((self._numbers[name] for name in row), dtype=np.intp, count=len(row)) for row in names
        ]
        self._statistics: list[Statistics] = []
        if rights.values:
            wanted = {metric.statistic for metric in pair.pooled}
            self._statistics = [statistics_of(side, wanted) for side in (pair.a, pair.b)]

    @property
    def has_texts(self) -> bool:
        return all(self._texts)

    @property
    def instances(self) -> int:
        return len(self._numbers)

    @property
    def offered(self) -> list[str]:
        if not self.rights.values:
            return [ANSWERS, ALL]
        ways = [DIFFER]
        if self.metric.higher_is_better is not None:
            ways += [A_BETTER, B_BETTER]
            if self._is_right(0).any() or self._is_right(1).any():
                ways += [A_RIGHT, B_RIGHT]
        return [*ways, ANSWERS, ALL]

    @property
    def classes(self) -> dict[str, list[str]]:
        named: dict[str, list[str]] = {}
        for dimension in self._statistics[0].features if self._statistics else ():
            present = dict.fromkeys(
                label for side in (0, 1) for labels in self._labels(side, dimension) for label in labels
            )
            if len(present) > 1:
                named[dimension] = natural_order(list(present))
        return named

    def _labels(self, side: int, dimension: str) -> list[tuple[str, ...]]:
        rows = self._statistics[side].features.get(dimension, [()] * len(self._places[side]))
        return [row or (NO_CLASS,) for row in rows]

    def of_class(self, dimension: str, label: str) -> set[str]:
        names = list(self._numbers)
        return {
            names[place]
            for side in (0, 1)
            for place, labels in zip(self._places[side], self._labels(side, dimension), strict=True)
            if label in labels
        }

    def chosen(self, which: str) -> list[str]:
        names = list(self._numbers)
        if which == ALL:
            return names
        if which == ANSWERS:
            a, b = self._texts
            return [name for name in names if name in a and name in b and a[name].answer != b[name].answer]
        tolerance = ROUNDING * max(1.0, self.metric.scale)
        values = [self._values(self.metric, side) for side in (0, 1)]
        with np.errstate(invalid="ignore"):
            differences = values[0] - values[1]
            if which == DIFFER:
                is_chosen = np.abs(differences) > tolerance
            elif which in (A_BETTER, B_BETTER):
                sign = 1 if self.metric.higher_is_better == (which == A_BETTER) else -1
                is_chosen = sign * differences > tolerance
            else:
                right = 0 if which == A_RIGHT else 1
                is_chosen = self._is_right(right) & ~self._is_right(1 - right)
        size = np.nan_to_num(np.abs(differences), nan=0.0)
        places = np.flatnonzero(is_chosen)
        return [names[place] for place in places[np.argsort(-size[places], kind="stable")]]

    def _is_right(self, side: int) -> NDArray[np.bool_]:
        metric = self.metric
        best = metric.value_range[1 if metric.higher_is_better else 0]
        values = self._values(metric, side)
        with np.errstate(invalid="ignore"):
            return np.abs(values - best) <= ROUNDING * max(1.0, metric.scale)

    def _values(self, metric: Metric, side: int, only: NDArray[np.intp] | None = None) -> Floats:
        """On every instance, or those of these numbers; a run's missing rows count as rows of zeros."""
        stats, places = self._statistics[side].matrices[metric.statistic], self._places[side]
        if only is not None:
            rows = np.flatnonzero(np.isin(places, only))
            stats, places = stats[rows], np.searchsorted(only, places[rows])
        count = self.instances if only is None else len(only)
        sums = np.zeros((count, stats.shape[1]))
        for column in range(stats.shape[1]):
            sums[:, column] = np.bincount(places, weights=stats[:, column], minlength=count)
        return metric.aggregate(sums)

    def read(self, names: Sequence[str]) -> list[ReadInstance]:
        shown = [name for name in names if name in self._numbers]
        values: dict[str, dict[str, tuple[float, float]]] = {name: {} for name in shown}
        if self.rights.values and shown:
            only = np.array(sorted(self._numbers[name] for name in shown), dtype=np.intp)
            for metric in self.pair.pooled:
                a, b = (self._values(metric, side, only) for side in (0, 1))
                for name in shown:
                    place = int(np.searchsorted(only, self._numbers[name]))
                    values[name][metric.name] = (float(a[place]), float(b[place]))
        instances = []
        for name in shown:
            first, second = (texts.get(name) for texts in self._texts)
            either = first or second or ShownInstance(name=name)
            instances.append(
                ReadInstance(
                    name=name,
                    given=either.given if self.rights.given else "",
                    gold=((first and first.gold) or either.gold) if self.rights.gold else "",
                    a=first.answer if first else "",
                    b=second.answer if second else "",
                    is_kept=first is not None or second is not None,
                    values=values[name],
                )
            )
        return instances


def texts_of(evaluation: Evaluation) -> dict[str, ShownInstance]:
    try:
        with open_statistics(evaluation) as kept:
            return load_instances(kept)
    except (OSError, KeyError, ValueError, TypeError, zipfile.BadZipFile) as reason:
        raise reading_failed(evaluation, reason) from reason


#: Instances on one page.
PAGE = 10


@dataclass(frozen=True, kw_only=True)
class ReadPage:
    board: Board
    chosen: ChosenTwo
    pair: Two
    metric: Metric
    rights: Rights
    which: str
    offered: list[str]
    instances: list[ReadInstance]
    classes: dict[str, list[str]]
    of_class: tuple[str, str] | None
    single: str
    count: int
    of: int
    number: int
    pages: int
    has_texts: bool


def read_page(phase: Phase, viewer: object, query: ReadQuery) -> ReadPage:
    board = board_of(phase, viewer, query.rules, query.gold)
    offered = [*on_board(board), *own_runs(board, viewer)]
    chosen = chosen_two(board, viewer, offered, (query.a, query.b))
    read = evaluations_of(board, chosen or ())
    scored = [evaluation for evaluation in read if evaluation is not None]
    if chosen is None or len(scored) < 2:
        raise Http404(_("There are no two runs here that were scored alike."))
    viewer_rights = may_read(phase, viewer, scored)
    if viewer_rights is None:
        raise Http404(_("The answers of these runs are not shown to you."))
    pair = two(scored[0], scored[1])
    if not pair.pooled:
        raise Http404(_("These runs share no metric that has a value on single instances."))
    metric = next((shared for shared in pair.pooled if shared.name == query.metric), pair.pooled[0])
    reading = Reading(pair, metric, viewer_rights)
    which = query.which if query.which in reading.offered else reading.offered[0]
    names = [query.instance] if query.instance else reading.chosen(which)
    dimension, _sep, label = query.of_class.partition(":")
    of_class = (dimension, label) if label in reading.classes.get(dimension, ()) else None
    if of_class is not None and not query.instance:
        wanted = reading.of_class(*of_class)
        names = [name for name in names if name in wanted]
    pages = max(1, -(-len(names) // PAGE))
    number = min(query.page, pages)
    instances = reading.read(names[PAGE * (number - 1) : PAGE * number])
    if query.instance and not instances:
        raise Http404(_("The runs have no instance of this name."))
    return ReadPage(
        board=board,
        chosen=chosen,
        pair=pair,
        metric=metric,
        rights=viewer_rights,
        which=which,
        offered=reading.offered,
        instances=instances,
        classes=reading.classes,
        of_class=of_class,
        single=query.instance,
        count=len(names),
        of=reading.instances,
        number=number,
        pages=pages,
        has_texts=reading.has_texts,
    )


def may_read(phase: Phase, viewer: object, scored: list[Evaluation]) -> Rights | None:
    for evaluation in scored:
        evaluation.submission.phase = phase
    return rights(phase, viewer, [evaluation.submission for evaluation in scored])


@dataclass(frozen=True, kw_only=True)
class ShownAnswer:
    """One instance; a text that is not shown is empty, and so are values that are not."""

    name: str
    given: str
    gold: str
    answer: str
    is_kept: bool
    values: Mapping[str, float]
    #: Outcome and sentence; nothing for whom the gold is not shown.
    judged: Sequence[tuple[str, str]]


@dataclass(frozen=True, kw_only=True)
class OwnPage:
    instances: list[ShownAnswer]
    metrics: Mapping[str, Metric]
    count: int
    number: int
    pages: int
    has_texts: bool
    #: How many instances have a sentence of each outcome.
    outcomes: Mapping[str, int]


def rights_to(run: Submission, viewer: object) -> Rights | None:
    """As where two runs are compared; a team that is told nothing of its run yet reads nothing either."""
    if may_see_submission(run, viewer) and not may_see_outcome(run, viewer):
        return None
    return rights(run.phase, viewer, [run])


def own_page(
    evaluation: Evaluation, may: Rights, number: int, single: str = "", outcome: str = ""
) -> OwnPage | None:
    """None where the run has no instance of that name. Raises Unreadable."""
    texts = texts_of(evaluation)
    names = list(dict.fromkeys(names_of(evaluation) or texts))
    if single and single not in names:
        return None
    judged = {name: {one for one, _ in text.judged} for name, text in texts.items()} if may.gold else {}
    if outcome and judged:
        names = [name for name in names if outcome in judged.get(name, ())]
    pages = max(1, -(-len(names) // PAGE))
    number = min(number, pages)
    metrics = {metric.name: metric for metric in two(evaluation, evaluation).pooled} if may.values else {}
    values = values_by_instance(evaluation, list(metrics.values()))
    instances = []
    for name in [single] if single else names[PAGE * (number - 1) : PAGE * number]:
        text = texts.get(name)
        instances.append(
            ShownAnswer(
                name=name,
                given=text.given if text and may.given else "",
                gold=text.gold if text and may.gold else "",
                answer=text.answer if text else "",
                is_kept=text is not None,
                values={metric: by_name[name] for metric, by_name in values.items()},
                judged=text.judged if text and may.gold else (),
            )
        )
    return OwnPage(
        instances=instances,
        metrics=metrics,
        count=len(names),
        number=number,
        pages=pages,
        has_texts=bool(texts),
        outcomes=Counter(one for outcomes in judged.values() for one in outcomes),
    )
