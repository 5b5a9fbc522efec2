"""Prepare pages that show the input, the gold, the answers and a metric's values for
instances of runs.

A page shows one run, two compared runs, or all systems of a board. The reader of a page
selects the instances.
"""

import itertools
import math
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean, stdev
from typing import Any

import numpy as np
from django.http import Http404
from django.utils.translation import gettext as _, gettext_lazy
from numpy.typing import NDArray

from citeboard.core.query import invalid_value
from scoring.metrics import Metric, base, metrics_by
from scoring.models import SMALL_CLASS_NUMBER, Evaluation, class_numbers_of_evaluations
from scoring.offline.evaluate import Statistics, load_instances
from scoring.results.board import standings, visibility
from scoring.results.board.comparisons import (
    open_statistics,
    read_statistics,
    statistics_error,
)
from scoring.results.board.differences import (
    fixed_classes,
    hidden_classes,
    sort_labels_naturally,
)
from scoring.results.board.open_gold import may_have_gold, run_released_with_gold
from scoring.results.board.query import cached_board_or_404
from scoring.results.comparison import contenders, drawing
from scoring.results.comparison.paired_scores import (
    EvaluationPair,
    instance_names_of,
    pair_evaluations,
    shared_dimensions,
)
from scoring.stats.breakdown import NO_CLASS, has_support
from scoring.stats.jackknife import ROUNDING
from tasks.gold.secrecy import ContentKind, embargoes_of
from tasks.models import Phase, Submission
from tasks.seasons.access import may_have_inputs
from tasks.types.base import AnswerPart, Marks, ShownInstance

#: DIFFER, ANSWERS and ALL select the instances on which two runs are compared.
#: DIFFER is the default for readers who may see values, and ANSWERS for all others.
DIFFER, ANSWERS, ALL = "differ", "answers", "all"
A_BETTER, B_BETTER, A_RIGHT, B_RIGHT = "a-better", "b-better", "a-right", "b-right"
PAIR_SELECTION_LABELS = {
    DIFFER: gettext_lazy("the values differ"),
    A_BETTER: gettext_lazy("A better"),
    B_BETTER: gettext_lazy("B better"),
    A_RIGHT: gettext_lazy("A right, B wrong"),
    B_RIGHT: gettext_lazy("B right, A wrong"),
    ANSWERS: gettext_lazy("the answers differ"),
    ALL: gettext_lazy("all"),
}
#: SWAPPED_SELECTIONS maps a selection to the equivalent selection with runs A and B exchanged.
SWAPPED_SELECTIONS = {
    A_BETTER: B_BETTER,
    B_BETTER: A_BETTER,
    A_RIGHT: B_RIGHT,
    B_RIGHT: A_RIGHT,
}
#: WORST and BEST sort the instances by the value of one run or of all runs.
#: MOST_BETTER, ALONE_BEST and NONE_RIGHT compare the run with other systems.
WORST, BEST, MOST_BETTER, ALONE_BEST, NONE_RIGHT = (
    "worst",
    "best",
    "most-better",
    "alone-best",
    "none-right",
)
SELECTION_ORDER_LABELS = {
    WORST: gettext_lazy("worst first"),
    BEST: gettext_lazy("best first"),
    ALL: gettext_lazy("in the order of the gold"),
    MOST_BETTER: gettext_lazy("most other systems are better"),
    ALONE_BEST: gettext_lazy("better than every other system"),
    NONE_RIGHT: gettext_lazy("no system has anything right"),
}
SELECTIONS_AGAINST_OTHERS = (MOST_BETTER, ALONE_BEST, NONE_RIGHT)
#: If a page is about all systems, it shows at most MAX_ANSWERS_SHOWN answers.
MAX_ANSWERS_SHOWN = 6


@dataclass(frozen=True, kw_only=True)
class InstanceRights:
    given: bool
    gold: bool
    values: bool
    answers: bool = True


def rights(
    phase: Phase, viewer: object, runs: Sequence[Submission]
) -> InstanceRights | None:
    if not all(
        visibility.may_see_submission(run, viewer)
        or run_released_with_gold(phase, viewer, run.pk)
        for run in runs
    ):
        return None
    gold, values = _may_see_gold_and_values(
        phase, viewer, visibility.audience_of(phase, viewer), runs
    )
    return InstanceRights(
        given=may_have_inputs(viewer, phase), gold=gold, values=values
    )


def _may_see_gold_and_values(
    phase: Phase,
    viewer: object,
    audience: visibility.Audience,
    runs: Sequence[Submission],
) -> tuple[bool, bool]:
    """Return True or False for the right to see the gold of all these runs, and True or
    False for the right to see values on single instances.
    """
    if audience == visibility.Audience.ORGANISER:
        return True, True
    gold = may_have_gold(phase, viewer) and all(
        visibility.is_released_for_run(ContentKind.GOLD, run) for run in runs
    )
    values = visibility.may_see_instances(phase, audience)
    return gold, gold or (
        values
        and all(
            visibility.is_released_for_run(ContentKind.INSTANCES, run) for run in runs
        )
    )


@dataclass(frozen=True, kw_only=True)
class DisplayedInstance:
    """An instance with the answers of the shown runs and the values of these answers,
    where hidden texts are empty.
    """

    name: str
    given: str
    gold: str
    answers: Sequence[str]
    #: If the gold is hidden from the reader, outcomes and judged sentences are empty.
    judged: Sequence[Sequence[tuple[str, str]]]
    #: ``beside`` has each run's scores of candidates or probabilities of labels.
    beside: Sequence[Sequence[tuple[str, float]]]
    pool: int
    #: Instances of declared tasks have input fields, and parts of gold and answers.
    #: Readers who may not see the input fields get parts without texts.
    #: Readers who may not see the gold get no marks, as marks reveal the gold.
    fields: Mapping[str, Any]
    gold_parts: Sequence[AnswerPart]
    answer_parts: Sequence[Sequence[AnswerPart]]
    marks: Sequence[Sequence[Marks]]
    is_kept: bool
    values: Mapping[str, Sequence[float]]


class InstanceReader:
    """Several runs with their instances, of which the first runs are ``drawn`` and the
    others are used for comparison.

    Two compared runs are called A and B, and in other cases the runs form one list.
    """

    def __init__(
        self,
        runs: Sequence[Evaluation],
        metrics: Sequence[Metric],
        query: contenders.InstancesQuery,
        rights: InstanceRights,
        *,
        drawn: int,
        is_pair: bool = False,
    ) -> None:
        self._is_pair = is_pair
        self.runs, self.metrics, self.rights = runs, metrics, rights
        self.metric = _requested_metric(metrics, query) if rights.values else None
        self._texts = [stored_instances_of(run) for run in runs[:drawn]]
        names = [
            instance_names_of(run) or list(row)
            for run, row in zip(runs, self._texts, strict=False)
        ]
        self._numbers = {
            name: number
            for number, name in enumerate(dict.fromkeys(itertools.chain(*names)))
        }
        self._read: dict[int, tuple[NDArray[np.intp], Statistics]] = {}
        self._kind = runs[0].phase.task.task_type

    @property
    def has_texts(self) -> bool:
        return all(self._texts)

    @property
    def names(self) -> list[str]:
        return list(self._numbers)

    @cached_property
    def offered(self) -> list[str]:
        metric = self.metric
        if self._is_pair:
            if metric is None:
                return [ANSWERS, ALL]
            ways = [DIFFER]
            if metric.higher_is_better is not None:
                ways += [A_BETTER, B_BETTER]
                if self._is_answered_right(0).any() or self._is_answered_right(1).any():
                    ways += [A_RIGHT, B_RIGHT]
            return [*ways, ANSWERS, ALL]
        if metric is None or metric.higher_is_better is None:
            return [ALL]
        among = (
            [MOST_BETTER, ALONE_BEST]
            if len(self.runs) > 1 and len(self._texts) == 1
            else []
        )
        none_right = (
            [NONE_RIGHT]
            if len(self.runs) > 1 and math.isfinite(self._end(best=False))
            else []
        )
        return [WORST, BEST, ALL, *among, *none_right]

    @cached_property
    def classes(self) -> dict[str, list[str]]:
        if self.metric is None:
            return {}
        sides = range(len(self._texts))
        named: dict[str, list[str]] = {}
        for dimension in self._matrix_of_run(0)[1].features:
            present = dict.fromkeys(
                label
                for side in sides
                for labels in self._labels(side, dimension)
                for label in labels
            )
            if len(present) > 1:
                named[dimension] = sort_labels_naturally(list(present))
        return named

    def _matrix_of_run(self, side: int) -> tuple[NDArray[np.intp], Statistics]:
        """Return the number of the instance of each matrix row, which is -1 for skipped
        instances, and the stored matrices of a run.
        """
        if side not in self._read:
            run = self.runs[side]
            rows = instance_names_of(run) or list(
                self._texts[side] if side < len(self._texts) else ()
            )
            places = np.array(
                [self._numbers.get(name, -1) for name in rows], dtype=np.intp
            )
            self._read[side] = (
                places,
                read_statistics(run, {metric.statistic for metric in self.metrics}),
            )
        return self._read[side]

    def _labels(self, side: int, dimension: str) -> list[tuple[str, ...]]:
        places, statistics = self._matrix_of_run(side)
        return [
            row or (NO_CLASS,)
            for row in statistics.features.get(dimension, [()] * len(places))
        ]

    def of_class(self, dimension: str, label: str) -> set[str]:
        names = self.names
        return {
            names[place]
            for side in range(len(self._texts))
            for place, labels in zip(
                self._matrix_of_run(side)[0], self._labels(side, dimension), strict=True
            )
            if label in labels and place >= 0
        }

    @cached_property
    def kinds(self) -> dict[str, set[str]]:
        """Return the outcomes of each instance in the first run, or no outcomes if the
        task form defines none or if the gold is hidden.
        """
        if not self.rights.gold or len(self._texts) != 1:
            return {}
        return {
            name: drawing.outcomes_of_instance(self._kind, shown)
            for name, shown in self._texts[0].items()
        }

    def has_words(self, name: str, text: str) -> bool:
        read, may = [name], self.rights
        for shown in filter(None, (texts.get(name) for texts in self._texts)):
            parts = (
                (shown.given, may.given),
                (shown.gold, may.gold),
                (shown.answer, may.answers),
            )
            read += [part for part, is_free in parts if is_free]
        whole = "\n".join(read).casefold()
        return all(word in whole for word in text.casefold().split())

    def chosen(self, which: str) -> list[str]:
        names = self.names
        if which == ALL:
            return names
        if which == ANSWERS:
            a, b = self._texts
            return [
                name
                for name in names
                if name in a and name in b and a[name].answer != b[name].answer
            ]
        metric = self.metric
        assert metric is not None
        if which in SELECTION_ORDER_LABELS:
            return self._sort_by_value(metric, which)
        tolerance = ROUNDING * max(1.0, metric.scale)
        values = [self._instance_values(metric, side) for side in (0, 1)]
        with np.errstate(invalid="ignore"):
            differences = values[0] - values[1]
            if which == DIFFER:
                is_chosen = np.abs(differences) > tolerance
            elif which in (A_BETTER, B_BETTER):
                sign = 1 if metric.higher_is_better == (which == A_BETTER) else -1
                is_chosen = sign * differences > tolerance
            else:
                right = 0 if which == A_RIGHT else 1
                is_chosen = self._is_answered_right(right) & ~self._is_answered_right(
                    1 - right
                )
        size = np.nan_to_num(np.abs(differences), nan=0.0)
        places = np.flatnonzero(is_chosen)
        return [
            names[place] for place in places[np.argsort(-size[places], kind="stable")]
        ]

    def _sort_by_value(self, metric: Metric, which: str) -> list[str]:
        """Return the names of the instances in the order of the first run's values, or
        of the mean values of all runs. Instances without a value of the metric come
        last.
        """
        sign = 1.0 if metric.higher_is_better else -1.0
        tolerance = ROUNDING * max(1.0, metric.scale)
        count = (
            len(self.runs)
            if which in SELECTIONS_AGAINST_OTHERS or len(self._texts) > 1
            else 1
        )
        merits = np.stack(
            [sign * self._instance_values(metric, side) for side in range(count)]
        )
        known = np.nan_to_num(merits, nan=-math.inf, posinf=math.inf, neginf=-math.inf)
        own = merits[0] if len(self._texts) == 1 else np.mean(merits, axis=0)
        is_chosen = np.full(len(own), fill_value=True)
        if which == MOST_BETTER:
            is_chosen = np.mean(known[1:] > own + tolerance, axis=0) > 1 / 2
        elif which == ALONE_BEST:
            is_chosen = own > known[1:].max(axis=0) + tolerance
        elif which == NONE_RIGHT:
            is_chosen = known.max(axis=0) <= sign * self._end(best=False) + tolerance
        places = np.flatnonzero(is_chosen)
        order = np.argsort(
            -own[places] if which == BEST else own[places], kind="stable"
        )
        names = self.names
        return [names[place] for place in places[order]]

    def _end(self, *, best: bool) -> float:
        assert self.metric is not None
        return self.metric.value_range[bool(self.metric.higher_is_better) == best]

    def _is_answered_right(self, side: int) -> NDArray[np.bool_]:
        assert self.metric is not None
        return self.is_best(self._instance_values(self.metric, side))

    def is_best(self, values: base.Floats | float) -> NDArray[np.bool_]:
        """Return True for each value that is the best possible value of the metric."""
        assert self.metric is not None
        with np.errstate(invalid="ignore"):
            distance = np.abs(np.asarray(values) - self._end(best=True))
        return np.asarray(distance <= ROUNDING * max(1.0, self.metric.scale))

    def _instance_values(
        self, metric: Metric, side: int, only: NDArray[np.intp] | None = None
    ) -> base.Floats:
        """Return the values of a metric for one run on all instances, or on the
        instances with these numbers. The matrix rows that a run lacks for an instance
        count as zeros.
        """
        places, statistics = self._matrix_of_run(side)
        wanted = np.arange(len(self._numbers)) if only is None else only
        rows = np.flatnonzero(np.isin(places, wanted))
        metric = metric.as_stored(statistics.matrices) or metric
        stats, places = (
            statistics.matrices[metric.statistic][rows],
            np.searchsorted(wanted, places[rows]),
        )
        sums = np.zeros((len(wanted), stats.shape[1]))
        for column in range(stats.shape[1]):
            sums[:, column] = np.bincount(
                places, weights=stats[:, column], minlength=len(wanted)
            )
        return metric.aggregate(sums)

    def values_by_run_and_instance(self, metric: Metric) -> base.Floats:
        """Return the value of each run on each instance as an array (runs, instances),
        with instances in the order of ``names``.
        """
        return np.stack(
            [self._instance_values(metric, side) for side in range(len(self.runs))]
        )

    def read(self, names: Sequence[str]) -> list[DisplayedInstance]:
        shown = [name for name in names if name in self._numbers]
        only = np.array(sorted(self._numbers[name] for name in shown), dtype=np.intp)
        sides = range(len(self.runs) if len(self._texts) > 1 else 1)
        values = {
            metric.name: [self._instance_values(metric, side, only) for side in sides]
            for metric in (self.metrics if self.rights.values and shown else ())
        }
        sees_judged = self.rights.gold and self.rights.answers
        instances = []
        for name in shown:
            texts = [kept.get(name) for kept in self._texts]
            either = next((text for text in texts if text), None) or ShownInstance(
                name=name
            )
            gold = next((text.gold for text in texts if text and text.gold), "")
            place = int(np.searchsorted(only, self._numbers[name]))
            instances.append(
                DisplayedInstance(
                    name=name,
                    given=either.given if self.rights.given else "",
                    gold=gold if self.rights.gold else "",
                    answers=[
                        text.answer if text and self.rights.answers else ""
                        for text in texts
                    ],
                    judged=[
                        text.judged if text and sees_judged else () for text in texts
                    ],
                    beside=[
                        text.beside if text and self.rights.answers else ()
                        for text in texts
                    ],
                    pool=either.pool if self.rights.given else 0,
                    fields=either.fields if self.rights.given else {},
                    gold_parts=self._hide_part_texts(
                        next((one.gold_parts for one in texts if one), ())
                        if self.rights.gold
                        else ()
                    ),
                    answer_parts=[
                        self._hide_part_texts(
                            text.answer_parts if text and self.rights.answers else ()
                        )
                        for text in texts
                    ],
                    marks=[
                        text.marks if text and sees_judged else () for text in texts
                    ],
                    is_kept=any(texts),
                    values={
                        name: [float(own[place]) for own in sides]
                        for name, sides in values.items()
                    },
                )
            )
        return instances

    def _hide_part_texts(self, parts: Sequence[AnswerPart]) -> Sequence[AnswerPart]:
        """Return the parts of gold and answers, without their texts if the reader may
        not see the inputs.
        """
        if self.rights.given:
            return parts
        return [part._replace(text="") for part in parts]


def stored_instances_of(evaluation: Evaluation) -> dict[str, ShownInstance]:
    try:
        with open_statistics(evaluation) as kept:
            return load_instances(kept)
    except (OSError, KeyError, ValueError, TypeError, zipfile.BadZipFile) as reason:
        raise statistics_error(evaluation, reason) from reason


#: A page shows at most INSTANCES_PER_PAGE instances.
INSTANCES_PER_PAGE = 10


@dataclass(frozen=True)
class InstancePage:
    """A page of instances. On a page of instances, ``chosen`` contains the names of the
    selected instances, and ``single`` is the instance that the URL names.
    """

    reading: InstanceReader
    which: str
    of_class: tuple[str, str] | None
    kind: str
    single: str
    chosen: Sequence[str]
    number: int
    instances: list[DisplayedInstance]

    @property
    def count(self) -> int:
        return len(self.chosen)

    @property
    def of(self) -> int:
        return len(self.reading.names)

    @property
    def pages(self) -> int:
        return max(1, -(-self.count // INSTANCES_PER_PAGE))

    @property
    def kinds(self) -> Counter[str]:
        return Counter(kind for kinds in self.reading.kinds.values() for kind in kinds)


def select_instance_page(
    reading: InstanceReader, query: contenders.InstancesQuery
) -> InstancePage | None:
    """Return the page with the selected instances, or None if the instance that the URL
    names does not exist. Raises Unreadable.
    """
    if query.which and query.which not in (
        *PAIR_SELECTION_LABELS,
        *SELECTION_ORDER_LABELS,
    ):
        raise invalid_value("which", query.which, reading.offered)
    which = query.which if query.which in reading.offered else reading.offered[0]
    dimension, _sep, label = query.of_class.partition(":")
    of_class = (
        (dimension, label) if label in reading.classes.get(dimension, ()) else None
    )
    kind = (
        query.kind
        if any(query.kind in kinds for kinds in reading.kinds.values())
        else ""
    )
    if query.instance:
        names = [query.instance] if query.instance in reading.names else []
    else:
        names = reading.chosen(which)
        if of_class:
            wanted = reading.of_class(*of_class)
            names = [name for name in names if name in wanted]
        if kind:
            names = [name for name in names if kind in reading.kinds.get(name, ())]
        if query.text:
            names = [name for name in names if reading.has_words(name, query.text)]
    number = min(query.page, max(1, -(-len(names) // INSTANCES_PER_PAGE)))
    instances = reading.read(
        names[INSTANCES_PER_PAGE * (number - 1) : INSTANCES_PER_PAGE * number]
    )
    if query.instance and not instances:
        return None
    return InstancePage(
        reading, which, of_class, kind, query.instance, names, number, instances
    )


@dataclass(frozen=True, kw_only=True)
class TwoRunsInstancePage:
    board: standings.Board
    chosen: contenders.ChosenTwo
    pair: EvaluationPair
    page: InstancePage


def read_instances_of_two_runs(
    phase: Phase, viewer: object, query: contenders.TwoRunsInstancesQuery
) -> TwoRunsInstancePage:
    board = cached_board_or_404(phase, viewer, query.rules, query.gold)
    offered = [
        *contenders.contenders_on_board(board),
        *contenders.contenders_of_own_teams(board, viewer),
    ]
    chosen = contenders.choose_two_contenders(
        board, viewer, offered, (query.a, query.b)
    )
    read = contenders.newest_evaluations_of(board, chosen or ())
    scored = [evaluation for evaluation in read if evaluation is not None]
    if chosen is None or len(scored) < 2:
        raise Http404(_("There are no two runs here that were scored alike."))
    viewer_rights = rights_to_evaluations(phase, viewer, scored)
    if viewer_rights is None:
        raise Http404(_("The answers of these runs are not shown to you."))
    pair = pair_evaluations(scored[0], scored[1])
    if not pair.pooled:
        raise Http404(
            _("These runs share no metric that has a value on single instances.")
        )
    page = select_instance_page(
        InstanceReader(
            scored, pair.pooled, query, viewer_rights, drawn=2, is_pair=True
        ),
        query,
    )
    if page is None:
        raise Http404(_("The runs have no instance of this name."))
    return TwoRunsInstancePage(board=board, chosen=chosen, pair=pair, page=page)


def _requested_metric(
    metrics: Sequence[Metric], query: contenders.InstancesQuery
) -> Metric | None:
    return next(
        (own for own in metrics if own.name == query.metric), next(iter(metrics), None)
    )


def rights_to_evaluations(
    phase: Phase, viewer: object, scored: Sequence[Evaluation]
) -> InstanceRights | None:
    for evaluation in scored:
        evaluation.submission.phase = phase
    return rights(phase, viewer, [evaluation.submission for evaluation in scored])


def instance_rights_to_run(run: Submission, viewer: object) -> InstanceRights | None:
    """Return which texts and values of a run's instances the viewer may see. Members of
    a team may see no instances of a run if they may not see the outcome of the run.
    """
    if visibility.may_see_submission(run, viewer) and not visibility.may_see_outcome(
        run, viewer
    ):
        return None
    return rights(run.phase, viewer, [run])


def read_instances_of_run(
    evaluation: Evaluation,
    may: InstanceRights,
    query: contenders.InstancesQuery,
    others: Callable[[], Sequence[Evaluation]] = tuple,
) -> InstancePage | None:
    """Return the page with the instances of one run, compared with the ``others`` of
    the board if the viewer may see values of the run. Raises Unreadable.
    """
    metrics = pair_evaluations(evaluation, evaluation).pooled
    metric = _requested_metric(metrics, query)
    alike = [
        run
        for run in (others() if may.values and metric else ())
        if metric
        and any(
            metric.name == own.name for own in pair_evaluations(evaluation, run).metrics
        )
    ]
    return select_instance_page(
        InstanceReader([evaluation, *alike], metrics, query, may, drawn=1), query
    )


def comparable_other_systems(
    phase: Phase, viewer: object, evaluation: Evaluation
) -> list[Evaluation]:
    """Return the evaluations of other systems on the board, if the viewer may see the
    values of all systems on single instances.
    """
    board = cached_board_or_404(phase, viewer, evaluation.rules, None)
    runs = (
        comparable_evaluations(board)
        if board.gold and board.gold.pk == evaluation.gold_id
        else []
    )
    is_shown = instance_rights_to_board(board, viewer, runs) is not None
    return [
        run
        for run in runs
        if is_shown and run.submission_id != evaluation.submission_id
    ]


def comparable_evaluations(board: standings.Board) -> list[Evaluation]:
    """Return the evaluations on the board that computed the ranking metric in the same
    way as the board's column.
    """
    ranking = board.ranking
    wanted = {
        row.submission
        for row in board.systems
        if ranking and ranking.name in row.scores
    }
    scored = contenders.newest_evaluations_of(
        board,
        [row for row in contenders.contenders_on_board(board) if row.run in wanted],
    )
    return [
        run for run in scored if run is not None and run.statistics and not run.withheld
    ]


def instance_rights_to_board(
    board: standings.Board, viewer: object, runs: Sequence[Evaluation]
) -> InstanceRights | None:
    """Return which texts and values of these runs' instances the viewer may see, or
    None if values of the runs are hidden.
    """
    phase, submissions = board.phase, [run.submission for run in runs]
    gold, values = _may_see_gold_and_values(phase, viewer, board.audience, submissions)
    if not values:
        return None
    answers = board.audience in visibility.SEASON_STAFF_AUDIENCES or (
        gold and all(run.file for run in submissions)
    )
    return InstanceRights(
        given=may_have_inputs(viewer, phase), gold=gold, values=True, answers=answers
    )


def read_instances_of_all_systems(
    board: standings.Board, viewer: object, query: contenders.InstancesQuery
) -> InstancePage | None:
    """Return the page that shows for each instance which systems on the board answered
    right or wrong. Raises Unreadable.
    """
    runs = comparable_evaluations(board)
    may = instance_rights_to_board(board, viewer, runs) if runs else None
    if may is None:
        raise Http404(_("The instances of this board are not shown to you."))
    return select_instance_page(
        InstanceReader(
            runs,
            shared_instance_metrics(runs),
            query,
            may,
            drawn=min(len(runs), MAX_ANSWERS_SHOWN),
        ),
        query,
    )


def shared_instance_metrics(runs: Sequence[Evaluation]) -> list[Metric]:
    """Return the metrics with values on instances that all these runs computed in the
    same way.
    """
    shared = set.intersection(
        *(
            {metric.name for metric in pair_evaluations(runs[0], run).metrics}
            for run in runs
        )
    )
    return [
        metric
        for metric in pair_evaluations(runs[0], runs[0]).pooled
        if metric.name in shared
    ]


MAX_RUNS_COMPARED = 8
DEFAULT_RUN_COUNT = 3


@dataclass(frozen=True)
class ComparedValue:
    value: float | None
    low: float | None = None
    high: float | None = None
    is_infinite: bool = False
    withheld: str = ""
    difference: float | None = None


@dataclass(frozen=True, kw_only=True)
class ComparedValuesLine:
    name: str
    scale: float
    values: list[ComparedValue]
    n: int = 0

    @property
    def has_support(self) -> bool:
        return has_support(self.n)

    @property
    def is_withheld(self) -> bool:
        return not self.n and any(one.withheld for one in self.values)

    @property
    def mean(self) -> float | None:
        numbers = self._values_if_complete
        return fmean(numbers) if numbers else None

    @property
    def deviation(self) -> float | None:
        numbers = self._values_if_complete
        return stdev(numbers) if len(numbers) > 1 else None

    @property
    def _values_if_complete(self) -> list[float]:
        listed = [one.value for one in self.values if one.value is not None]
        return listed if len(listed) == len(self.values) else []


@dataclass(frozen=True, kw_only=True)
class SeveralRunsComparison:
    """The runs on a board that a reader has chosen for comparison. ``missing`` contains
    chosen runs without scores under the rule set and gold of the board.
    """

    board: standings.Board
    offered: list[contenders.Contender]
    runs: list[contenders.Contender]
    missing: list[contenders.Contender]
    metrics: list[ComparedValuesLine]
    left_out: int
    dimensions: list[str]
    dimension: str
    class_metrics: list[str]
    class_metric: str
    classes: list[ComparedValuesLine]
    min_class_size: int


def compare_several_runs(
    phase: Phase, viewer: object, query: contenders.SeveralRunsQuery
) -> SeveralRunsComparison:
    board = cached_board_or_404(phase, viewer, query.rules, query.gold)
    offered = [
        *contenders.contenders_on_board(board),
        *contenders.contenders_of_own_teams(board, viewer),
    ]
    if not offered and not query.runs:
        raise Http404(_("No numbers of this phase are shown to you."))
    wanted = list(dict.fromkeys(query.runs))[:MAX_RUNS_COMPARED]
    chosen = [
        contenders.visible_contender_or_404(board, viewer, offered, number)
        for number in wanted
    ]
    chosen = chosen or offered[:DEFAULT_RUN_COUNT]
    read = zip(chosen, contenders.newest_evaluations_of(board, chosen), strict=True)
    scored = {run: one for run, one in read if one is not None}
    evaluations = list(scored.values())
    # ``alike`` lists the metrics that all runs computed in the same way.
    alike = [
        {metric.name for metric in pair_evaluations(evaluations[0], other).metrics}
        for other in evaluations
    ]
    shared = (
        pair_evaluations(evaluations[0], evaluations[0]).metrics if evaluations else []
    )
    metrics = [
        metric for metric in shared if all(metric.name in names for names in alike)
    ]
    lines = []
    for metric in metrics:
        scores = [
            {score.metric: score for score in run.scores.all()}[metric.name]
            for run in evaluations
        ]
        values = [
            ComparedValue(
                one.value,
                one.low,
                one.high,
                one.is_infinite,
                one.get_withheld_display(),
            )
            for one in scores
        ]
        lines.append(_values_line_with_differences(metric.name, metric.scale, values))
    shown = shared_dimensions(evaluations) if evaluations else []
    dimension = query.dimension if query.dimension in shown else next(iter(shown), "")
    task_type = phase.task.task_type
    by_class = [
        one
        for one in metrics_by(task_type, dimension, metrics)
        if one.is_exchangeable and shown
    ]
    chosen_metric = next(
        (line for line in by_class if line.name == query.metric),
        next(iter(by_class), None),
    )
    hidden_by = hidden_classes([run.pk for run in evaluations], phase, board.audience)
    hidden = hidden_by.get(dimension, frozenset())
    return SeveralRunsComparison(
        board=board,
        offered=[*offered, *(run for run in chosen if run not in offered)],
        runs=list(scored),
        missing=[run for run in chosen if run not in scored],
        metrics=lines,
        left_out=len(
            {score.metric for run in evaluations for score in run.scores.all()}
        )
        - len(metrics),
        dimensions=shown,
        dimension=dimension,
        class_metrics=[line.name for line in by_class],
        class_metric=chosen_metric.name if chosen_metric else "",
        classes=_values_by_class(evaluations, dimension, chosen_metric, hidden)
        if chosen_metric
        else [],
        min_class_size=embargoes_of(phase).min_class_size if hidden else 0,
    )


def _values_line_with_differences(
    name: str, scale: float, values: Sequence[ComparedValue], n: int = 0
) -> ComparedValuesLine:
    first = values[0].value
    apart = [
        None if one.value is None or first is None else one.value - first
        for one in values
    ]
    shown = [
        replace(one, difference=difference)
        for one, difference in zip(values, apart, strict=True)
    ]
    return ComparedValuesLine(name=name, scale=scale, values=shown, n=n)


def _values_by_class(
    evaluations: Sequence[Evaluation],
    dimension: str,
    metric: Metric,
    hidden: frozenset[str],
) -> list[ComparedValuesLine]:
    by_label: dict[str, dict[int, ComparedValue]] = {}
    fixed = fixed_classes(evaluations[0], dimension, metric.name) if evaluations else {}
    sizes: dict[str, int] = {}
    for label, evaluation, number in class_numbers_of_evaluations(
        [run.pk for run in evaluations], dimension, metric.name
    ):
        value, is_infinite, low, high, n, why = (
            SMALL_CLASS_NUMBER if label in hidden else number
        )
        by_label.setdefault(label, {})[evaluation] = (
            ComparedValue(None)
            if label in fixed
            else ComparedValue(value, low, high, is_infinite, str(why))
        )
        sizes[label] = max(n, sizes.get(label, 0))
    lines = []
    for label in sort_labels_naturally(list(by_label)):
        values = [
            by_label[label].get(run.pk, ComparedValue(None)) for run in evaluations
        ]
        lines.append(
            _values_line_with_differences(label, metric.scale, values, sizes[label])
        )
    return lines
