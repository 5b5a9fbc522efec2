"""Two runs instance by instance: what was given, the gold, both answers, and what each metric saw."""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from django.http import Http404
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from numpy.typing import NDArray

from citeboard.core import storage
from scoring.board.comparisons import reading_failed, statistics_of
from scoring.board.differences import natural_order
from scoring.board.open_gold import may_have_gold, open_run
from scoring.board.query import board_of
from scoring.board.standings import Board
from scoring.board.visibility import (
    Audience,
    audience_of,
    may_see_instances,
    may_see_outcome,
    may_see_submission,
)
from scoring.comparison.contenders import ChosenTwo, ReadQuery, chosen_two, evaluation_of, on_board, own_runs
from scoring.comparison.paired_scores import Two, names_of, two, values_by_instance
from scoring.metrics import Metric
from scoring.metrics.base import Floats
from scoring.models import Evaluation
from scoring.offline.matrices import Statistics, load_instances
from scoring.stats.breakdown import NO_CLASS
from scoring.stats.significance import ROUNDING
from tasks.models import Phase, Submission
from tasks.seasons.access import may_have_inputs
from tasks.types.instance_view import ShownInstance

#: Which instances are read; the first where values are shown, the second where they are not.
DIFFER, ANSWERS, A_BETTER, B_BETTER, A_RIGHT, B_RIGHT, ALL = (
    "differ",
    "answers",
    "a-better",
    "b-better",
    "a-right",
    "b-right",
    "all",
)
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
    """What of an instance somebody may see beside two answers."""

    given: bool
    gold: bool
    values: bool


def rights(phase: Phase, viewer: object, runs: Sequence[Submission]) -> Rights | None:
    """None where one of the answers is not theirs to see.

    They may see the runs that they could download: their own, all where they run the season, and those of the
    board where gold and runs are given out.
    """
    if not all(may_see_submission(run, viewer) or open_run(phase, viewer, run.pk) for run in runs):
        return None
    audience = audience_of(phase, viewer)
    gold = audience == Audience.ORGANISER or may_have_gold(phase, viewer)
    return Rights(
        given=may_have_inputs(viewer, phase), gold=gold, values=gold or may_see_instances(phase, audience)
    )


@dataclass(frozen=True, kw_only=True)
class ReadInstance:
    """One instance. Values go by metric, first that of A; a text that is not shown is empty.

    ``is_kept`` is False where its texts were not kept with one of the scores.
    """

    name: str
    given: str
    gold: str
    a: str
    b: str
    is_kept: bool
    values: Mapping[str, tuple[float, float]]


class Reading:
    """The instances of two runs under one metric. Raises Unreadable."""

    def __init__(self, pair: Two, metric: Metric, rights: Rights) -> None:
        self.pair, self.metric, self.rights = pair, metric, rights
        self._texts = [texts_of(side) for side in (pair.a, pair.b)]
        names = [names_of(side) or list(own) for side, own in zip((pair.a, pair.b), self._texts, strict=True)]
        self._numbers = {name: number for number, name in enumerate(dict.fromkeys([*names[0], *names[1]]))}
        self._places = [
            np.fromiter((self._numbers[name] for name in own), dtype=np.intp, count=len(own)) for own in names
        ]
        self._statistics: list[Statistics] = []
        if rights.values:
            wanted = {own.statistic for own in pair.pooled}
            self._statistics = [statistics_of(side, wanted) for side in (pair.a, pair.b)]

    @property
    def has_texts(self) -> bool:
        return all(self._texts)

    @property
    def instances(self) -> int:
        return len(self._numbers)

    @property
    def offered(self) -> list[str]:
        """The ways to choose instances. An instance is right where the metric is at its best."""
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
        """By dimension its classes in their order; where values are shown, and where there are several."""
        found: dict[str, list[str]] = {}
        for dimension in self._statistics[0].features if self._statistics else ():
            own = dict.fromkeys(
                label for side in (0, 1) for labels in self._labels(side, dimension) for label in labels
            )
            if len(own) > 1:
                found[dimension] = natural_order(list(own))
        return found

    def _labels(self, side: int, dimension: str) -> list[tuple[str, ...]]:
        """The classes of each row."""
        rows = self._statistics[side].features.get(dimension, [()] * len(self._places[side]))
        return [own or (NO_CLASS,) for own in rows]

    def of_class(self, dimension: str, label: str) -> set[str]:
        """The names of the instances of a class, as either run has them."""
        names = list(self._numbers)
        return {
            names[place]
            for side in (0, 1)
            for place, labels in zip(self._places[side], self._labels(side, dimension), strict=True)
            if label in labels
        }

    def chosen(self, which: str) -> list[str]:
        """Their names: by values the largest difference first, otherwise in their own order."""
        names = list(self._numbers)
        if which == ALL:
            return names
        if which == ANSWERS:
            a, b = self._texts
            return [name for name in names if name in a and name in b and a[name].answer != b[name].answer]
        differences = self._differences()
        size = np.nan_to_num(np.abs(differences), nan=0.0)
        places = np.flatnonzero(self._is_chosen(which, differences))
        return [names[place] for place in places[np.argsort(-size[places], kind="stable")]]

    def _is_chosen(self, which: str, differences: Floats) -> NDArray[np.bool_]:
        sign = 1 if self.metric.higher_is_better else -1
        tolerance = ROUNDING * max(1.0, self.metric.scale)
        with np.errstate(invalid="ignore"):
            if which == DIFFER:
                return np.abs(differences) > tolerance
            if which in (A_BETTER, B_BETTER):
                own = differences if which == A_BETTER else -differences
                return sign * own > tolerance
        own_side = 0 if which == A_RIGHT else 1
        return self._is_right(own_side) & ~self._is_right(1 - own_side)

    def _is_right(self, side: int) -> NDArray[np.bool_]:
        """Where the metric has its best value."""
        metric = self.metric
        best = metric.value_range[1 if metric.higher_is_better else 0]
        values = self._values(metric, side)
        with np.errstate(invalid="ignore"):
            return np.abs(values - best) <= ROUNDING * max(1.0, metric.scale)

    def _differences(self) -> Floats:
        a, b = (self._values(self.metric, side) for side in (0, 1))
        with np.errstate(invalid="ignore"):
            return a - b

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
        """Those of these names, in this order; names that are none are passed over."""
        known = [name for name in names if name in self._numbers]
        values = self._values_of(known)
        return [self._instance(name, values.get(name, {})) for name in known]

    def _values_of(self, names: Sequence[str]) -> dict[str, dict[str, tuple[float, float]]]:
        if not self.rights.values or not names:
            return {}
        only = np.array(sorted(self._numbers[name] for name in names), dtype=np.intp)
        place_of = {name: int(np.searchsorted(only, self._numbers[name])) for name in names}
        found: dict[str, dict[str, tuple[float, float]]] = {name: {} for name in names}
        for metric in self.pair.pooled:
            a, b = (self._values(metric, side, only) for side in (0, 1))
            for name, place in place_of.items():
                found[name][metric.name] = (float(a[place]), float(b[place]))
        return found

    def _instance(self, name: str, values: Mapping[str, tuple[float, float]]) -> ReadInstance:
        a, b = (own.get(name) for own in self._texts)
        either = a or b or ShownInstance(name=name)
        return ReadInstance(
            name=name,
            given=either.given if self.rights.given else "",
            gold=(a.gold if a and a.gold else either.gold) if self.rights.gold else "",
            a=a.answer if a else "",
            b=b.answer if b else "",
            is_kept=a is not None or b is not None,
            values=values,
        )


def texts_of(evaluation: Evaluation) -> dict[str, ShownInstance]:
    try:
        with storage.statistics.open(evaluation.statistics) as kept:
            return load_instances(kept)
    except (OSError, KeyError, ValueError, TypeError, zipfile.BadZipFile) as reason:
        raise reading_failed(evaluation, reason) from reason


#: Instances on one page.
PAGE = 10


@dataclass(frozen=True, kw_only=True)
class ReadPage:
    """Some instances of two runs; ``number`` counts pages from 1. A single instance has no pages."""

    board: Board
    chosen: ChosenTwo
    pair: Two
    metric: Metric
    rights: Rights
    which: str
    offered: list[str]
    instances: list[ReadInstance] = field(default_factory=list)
    classes: dict[str, list[str]] = field(default_factory=dict)
    of_class: tuple[str, str] | None = None
    single: str = ""
    count: int = 0
    of: int = 0
    number: int = 1
    pages: int = 1
    has_texts: bool = True


def read_page(phase: Phase, viewer: object, query: ReadQuery) -> ReadPage:
    """Raises Http404 where the two answers are not the viewer's to see, and Unreadable."""
    board = board_of(phase, viewer, query.rules, query.gold)
    offered = [*on_board(board), *own_runs(board, viewer)]
    chosen = chosen_two(board, viewer, offered, (query.a, query.b))
    found = [evaluation_of(board, run) for run in chosen or ()]
    scored = [evaluation for evaluation in found if evaluation is not None]
    if chosen is None or len(scored) < 2:
        raise Http404(_("There are no two runs here that were scored alike."))
    own = may_read(phase, viewer, scored)
    if own is None:
        raise Http404(_("The answers of these runs are not shown to you."))
    pair = two(scored[0], scored[1])
    if not pair.pooled:
        raise Http404(_("These runs share no metric that has a value on single instances."))
    metric = next((shared for shared in pair.pooled if shared.name == query.metric), pair.pooled[0])
    reading = Reading(pair, metric, own)
    which = query.which if query.which in reading.offered else reading.offered[0]
    names = [query.instance] if query.instance else reading.chosen(which)
    of_class = _class_in(reading.classes, query.of_class)
    if of_class is not None and not query.instance:
        wanted = reading.of_class(*of_class)
        names = [name for name in names if name in wanted]
    return _page(board, chosen, reading, which, names, query, of_class)


def _class_in(classes: dict[str, list[str]], asked: str) -> tuple[str, str] | None:
    """The dimension and the class that are asked for; what is not there is passed over."""
    dimension, _, label = asked.partition(":")
    return (dimension, label) if label in classes.get(dimension, ()) else None


def may_read(phase: Phase, viewer: object, scored: list[Evaluation]) -> Rights | None:
    for evaluation in scored:
        evaluation.submission.phase = phase
    return rights(phase, viewer, [evaluation.submission for evaluation in scored])


def _page(
    board: Board,
    chosen: ChosenTwo,
    reading: Reading,
    which: str,
    names: list[str],
    query: ReadQuery,
    of_class: tuple[str, str] | None,
) -> ReadPage:
    pages = max(1, -(-len(names) // PAGE))
    number = min(query.page, pages)
    instances = reading.read(names[PAGE * (number - 1) : PAGE * number])
    if query.instance and not instances:
        raise Http404(_("The runs have no instance of this name."))
    return ReadPage(
        board=board,
        chosen=chosen,
        pair=reading.pair,
        metric=reading.metric,
        rights=reading.rights,
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


#: Instances on one page.
RUN_PAGE = 10


@dataclass(frozen=True, kw_only=True)
class ShownAnswer:
    """One instance; a text that is not shown is empty, and so are values that are not.

    ``is_kept`` is False where its texts were not kept with the score.
    """

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
    """Some instances of a run, or the one that was asked for; ``number`` counts pages from 1."""

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
    evaluation: Evaluation, own: Rights, number: int, single: str = "", outcome: str = ""
) -> OwnPage | None:
    """None where the run has no instance of that name. Raises Unreadable.

    With an outcome, instances that have a sentence of it.
    """
    texts = texts_of(evaluation)
    names = list(dict.fromkeys(names_of(evaluation) or texts))
    if single and single not in names:
        return None
    found = {name: {one for one, _ in text.judged} for name, text in texts.items()} if own.gold else {}
    if outcome and found:
        names = [name for name in names if outcome in found.get(name, ())]
    pages = max(1, -(-len(names) // RUN_PAGE))
    number = min(number, pages)
    metrics = {metric.name: metric for metric in two(evaluation, evaluation).pooled} if own.values else {}
    values = values_by_instance(evaluation, list(metrics.values()))
    return OwnPage(
        instances=[
            _shown(name, texts.get(name), own, {metric: known[name] for metric, known in values.items()})
            for name in ([single] if single else names[RUN_PAGE * (number - 1) : RUN_PAGE * number])
        ],
        metrics=metrics,
        count=len(names),
        number=number,
        pages=pages,
        has_texts=bool(texts),
        outcomes=Counter(one for outcomes in found.values() for one in outcomes),
    )


def _shown(name: str, text: ShownInstance | None, own: Rights, values: Mapping[str, float]) -> ShownAnswer:
    return ShownAnswer(
        name=name,
        given=text.given if text and own.given else "",
        gold=text.gold if text and own.gold else "",
        answer=text.answer if text else "",
        is_kept=text is not None,
        values=values,
        judged=text.judged if text and own.gold else (),
    )
