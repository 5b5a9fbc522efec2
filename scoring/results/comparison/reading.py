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

from citeboard.core.query import build_invalid_value_error
from scoring.metrics import Metric, base, select_metrics_for_dimension
from scoring.models import (
    WITHHELD_SMALL_CLASS_SCORE,
    Evaluation,
    load_class_scores_of_evaluations,
)
from scoring.offline.evaluate import StoredStatistics, load_instances
from scoring.results.board import standings, visibility
from scoring.results.board.comparisons import (
    build_statistics_error,
    open_statistics_file,
    read_statistics_of_run,
)
from scoring.results.board.differences import (
    find_gold_determined_classes,
    find_hidden_classes,
    sort_labels_naturally,
)
from scoring.results.board.open_gold import (
    find_run_released_with_gold,
    may_download_gold,
)
from scoring.results.board.query import load_cached_board_or_404
from scoring.results.comparison import contenders, drawing
from scoring.results.comparison.paired_scores import (
    EvaluationPair,
    list_shared_dimensions,
    load_instance_names_of_evaluation,
    pair_evaluations,
)
from scoring.stats.breakdown import NO_CLASS_LABEL, has_enough_instances
from scoring.stats.jackknife import ROUNDING_TOLERANCE
from tasks.gold.secrecy import ContentKind, get_embargoes_of_phase
from tasks.models import Phase, Submission
from tasks.seasons.access import can_download_inputs
from tasks.types.base import AnswerPart, MeasureCredits, ShownInstance

#: Each of these three constants selects the instances on which two runs are compared.
#: SELECT_DIFFERENT_VALUES is the default for readers who may see values, SELECT_DIFFERENT_ANSWERS for others.
SELECT_DIFFERENT_VALUES, SELECT_DIFFERENT_ANSWERS, SELECT_ALL_INSTANCES = (
    "differ",
    "answers",
    "all",
)
SELECT_A_BETTER, SELECT_B_BETTER, SELECT_ONLY_A_RIGHT, SELECT_ONLY_B_RIGHT = (
    "a-better",
    "b-better",
    "a-right",
    "b-right",
)
PAIR_SELECTION_LABELS = {
    SELECT_DIFFERENT_VALUES: gettext_lazy("the values differ"),
    SELECT_A_BETTER: gettext_lazy("A better"),
    SELECT_B_BETTER: gettext_lazy("B better"),
    SELECT_ONLY_A_RIGHT: gettext_lazy("A right, B wrong"),
    SELECT_ONLY_B_RIGHT: gettext_lazy("B right, A wrong"),
    SELECT_DIFFERENT_ANSWERS: gettext_lazy("the answers differ"),
    SELECT_ALL_INSTANCES: gettext_lazy("all"),
}
#: SWAPPED_SELECTIONS maps a selection to the equivalent selection with runs A and B exchanged.
SWAPPED_SELECTIONS = {
    SELECT_A_BETTER: SELECT_B_BETTER,
    SELECT_B_BETTER: SELECT_A_BETTER,
    SELECT_ONLY_A_RIGHT: SELECT_ONLY_B_RIGHT,
    SELECT_ONLY_B_RIGHT: SELECT_ONLY_A_RIGHT,
}
#: ORDER_WORST_FIRST and ORDER_BEST_FIRST sort the instances by the value of one run or of all runs.
#: SELECT_MOST_RUNS_BETTER, SELECT_BETTER_THAN_ALL_RUNS and SELECT_NO_RUN_RIGHT compare with other systems.
(
    ORDER_WORST_FIRST,
    ORDER_BEST_FIRST,
    SELECT_MOST_RUNS_BETTER,
    SELECT_BETTER_THAN_ALL_RUNS,
    SELECT_NO_RUN_RIGHT,
) = (
    "worst",
    "best",
    "most-better",
    "alone-best",
    "none-right",
)
SELECTION_ORDER_LABELS = {
    ORDER_WORST_FIRST: gettext_lazy("worst first"),
    ORDER_BEST_FIRST: gettext_lazy("best first"),
    SELECT_ALL_INSTANCES: gettext_lazy("in the order of the gold"),
    SELECT_MOST_RUNS_BETTER: gettext_lazy("most other systems are better"),
    SELECT_BETTER_THAN_ALL_RUNS: gettext_lazy("better than every other system"),
    SELECT_NO_RUN_RIGHT: gettext_lazy("no system has anything right"),
}
SELECTIONS_COMPARING_WITH_OTHERS = (
    SELECT_MOST_RUNS_BETTER,
    SELECT_BETTER_THAN_ALL_RUNS,
    SELECT_NO_RUN_RIGHT,
)
#: If a page is about all systems, it shows at most MAX_ANSWERS_SHOWN answers.
MAX_ANSWERS_SHOWN = 6


@dataclass(frozen=True, kw_only=True)
class InstanceViewingRights:
    given: bool
    gold: bool
    values: bool
    answers: bool = True


def determine_instance_viewing_rights(
    phase: Phase, viewer: object, runs: Sequence[Submission]
) -> InstanceViewingRights | None:
    if not all(
        visibility.may_see_submission(run, viewer)
        or find_run_released_with_gold(phase, viewer, run.pk)
        for run in runs
    ):
        return None
    gold, values = _may_see_gold_and_values(
        phase, viewer, visibility.determine_audience(phase, viewer), runs
    )
    return InstanceViewingRights(
        given=can_download_inputs(viewer, phase), gold=gold, values=values
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
    gold = may_download_gold(phase, viewer) and all(
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
    marks: Sequence[Sequence[MeasureCredits]]
    is_kept: bool
    values: Mapping[str, Sequence[float]]


class InstancesOfRunsReader:
    """Several runs with their instances, of which the first runs are ``drawn`` and the
    others are used for comparison.

    Two compared runs are called A and B, and in other cases the runs form one list.
    """

    def __init__(
        self,
        runs: Sequence[Evaluation],
        metrics: Sequence[Metric],
        query: contenders.InstancesQuery,
        rights: InstanceViewingRights,
        *,
        drawn: int,
        is_pair: bool = False,
    ) -> None:
        self._is_pair = is_pair
        self.runs, self.metrics, self.rights = runs, metrics, rights
        self.metric = _find_requested_metric(metrics, query) if rights.values else None
        self._texts = [load_stored_instances(run) for run in runs[:drawn]]
        names = [
            load_instance_names_of_evaluation(run) or list(row)
            for run, row in zip(runs, self._texts, strict=False)
        ]
        self._numbers = {
            name: number
            for number, name in enumerate(dict.fromkeys(itertools.chain(*names)))
        }
        self._read: dict[int, tuple[NDArray[np.intp], StoredStatistics]] = {}
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
                return [SELECT_DIFFERENT_ANSWERS, SELECT_ALL_INSTANCES]
            ways = [SELECT_DIFFERENT_VALUES]
            if metric.higher_is_better is not None:
                ways += [SELECT_A_BETTER, SELECT_B_BETTER]
                if self._is_answered_right(0).any() or self._is_answered_right(1).any():
                    ways += [SELECT_ONLY_A_RIGHT, SELECT_ONLY_B_RIGHT]
            return [*ways, SELECT_DIFFERENT_ANSWERS, SELECT_ALL_INSTANCES]
        if metric is None or metric.higher_is_better is None:
            return [SELECT_ALL_INSTANCES]
        among = (
            [SELECT_MOST_RUNS_BETTER, SELECT_BETTER_THAN_ALL_RUNS]
            if len(self.runs) > 1 and len(self._texts) == 1
            else []
        )
        none_right = (
            [SELECT_NO_RUN_RIGHT]
            if len(self.runs) > 1
            and math.isfinite(self._best_or_worst_possible_value(best=False))
            else []
        )
        return [
            ORDER_WORST_FIRST,
            ORDER_BEST_FIRST,
            SELECT_ALL_INSTANCES,
            *among,
            *none_right,
        ]

    @cached_property
    def classes(self) -> dict[str, list[str]]:
        if self.metric is None:
            return {}
        sides = range(len(self._texts))
        named: dict[str, list[str]] = {}
        for dimension in self._load_matrices_of_run(0)[1].features:
            present = dict.fromkeys(
                label
                for side in sides
                for labels in self._load_class_labels_of_run(side, dimension)
                for label in labels
            )
            if len(present) > 1:
                named[dimension] = sort_labels_naturally(list(present))
        return named

    def _load_matrices_of_run(
        self, side: int
    ) -> tuple[NDArray[np.intp], StoredStatistics]:
        """Return the number of the instance of each matrix row, which is -1 for skipped
        instances, and the stored matrices of a run.
        """
        if side not in self._read:
            run = self.runs[side]
            rows = load_instance_names_of_evaluation(run) or list(
                self._texts[side] if side < len(self._texts) else ()
            )
            places = np.array(
                [self._numbers.get(name, -1) for name in rows], dtype=np.intp
            )
            self._read[side] = (
                places,
                read_statistics_of_run(
                    run, {metric.statistic for metric in self.metrics}
                ),
            )
        return self._read[side]

    def _load_class_labels_of_run(
        self, side: int, dimension: str
    ) -> list[tuple[str, ...]]:
        places, statistics = self._load_matrices_of_run(side)
        return [
            row or (NO_CLASS_LABEL,)
            for row in statistics.features.get(dimension, [()] * len(places))
        ]

    def of_class(self, dimension: str, label: str) -> set[str]:
        names = self.names
        return {
            names[place]
            for side in range(len(self._texts))
            for place, labels in zip(
                self._load_matrices_of_run(side)[0],
                self._load_class_labels_of_run(side, dimension),
                strict=True,
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
            name: drawing.find_outcomes_of_instance(self._kind, shown)
            for name, shown in self._texts[0].items()
        }

    def contains_all_words(self, name: str, text: str) -> bool:
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
        if which == SELECT_ALL_INSTANCES:
            return names
        if which == SELECT_DIFFERENT_ANSWERS:
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
        tolerance = ROUNDING_TOLERANCE * max(1.0, metric.scale)
        values = [self._compute_instance_values(metric, side) for side in (0, 1)]
        with np.errstate(invalid="ignore"):
            differences = values[0] - values[1]
            if which == SELECT_DIFFERENT_VALUES:
                is_chosen = np.abs(differences) > tolerance
            elif which in (SELECT_A_BETTER, SELECT_B_BETTER):
                sign = (
                    1 if metric.higher_is_better == (which == SELECT_A_BETTER) else -1
                )
                is_chosen = sign * differences > tolerance
            else:
                right = 0 if which == SELECT_ONLY_A_RIGHT else 1
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
        tolerance = ROUNDING_TOLERANCE * max(1.0, metric.scale)
        count = (
            len(self.runs)
            if which in SELECTIONS_COMPARING_WITH_OTHERS or len(self._texts) > 1
            else 1
        )
        merits = np.stack(
            [
                sign * self._compute_instance_values(metric, side)
                for side in range(count)
            ]
        )
        known = np.nan_to_num(merits, nan=-math.inf, posinf=math.inf, neginf=-math.inf)
        own = merits[0] if len(self._texts) == 1 else np.mean(merits, axis=0)
        is_chosen = np.full(len(own), fill_value=True)
        if which == SELECT_MOST_RUNS_BETTER:
            is_chosen = np.mean(known[1:] > own + tolerance, axis=0) > 1 / 2
        elif which == SELECT_BETTER_THAN_ALL_RUNS:
            is_chosen = own > known[1:].max(axis=0) + tolerance
        elif which == SELECT_NO_RUN_RIGHT:
            is_chosen = (
                known.max(axis=0)
                <= sign * self._best_or_worst_possible_value(best=False) + tolerance
            )
        places = np.flatnonzero(is_chosen)
        order = np.argsort(
            -own[places] if which == ORDER_BEST_FIRST else own[places], kind="stable"
        )
        names = self.names
        return [names[place] for place in places[order]]

    def _best_or_worst_possible_value(self, *, best: bool) -> float:
        assert self.metric is not None
        return self.metric.value_range[bool(self.metric.higher_is_better) == best]

    def _is_answered_right(self, side: int) -> NDArray[np.bool_]:
        assert self.metric is not None
        return self.is_best(self._compute_instance_values(self.metric, side))

    def is_best(self, values: base.Floats | float) -> NDArray[np.bool_]:
        """Return True for each value that is the best possible value of the metric."""
        assert self.metric is not None
        with np.errstate(invalid="ignore"):
            distance = np.abs(
                np.asarray(values) - self._best_or_worst_possible_value(best=True)
            )
        return np.asarray(distance <= ROUNDING_TOLERANCE * max(1.0, self.metric.scale))

    def _compute_instance_values(
        self, metric: Metric, side: int, only: NDArray[np.intp] | None = None
    ) -> base.Floats:
        """Return the values of a metric for one run on all instances, or on the
        instances with these numbers. The matrix rows that a run lacks for an instance
        count as zeros.
        """
        places, statistics = self._load_matrices_of_run(side)
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

    def compute_values_by_run_and_instance(self, metric: Metric) -> base.Floats:
        """Return the value of each run on each instance as an array (runs, instances),
        with instances in the order of ``names``.
        """
        return np.stack(
            [
                self._compute_instance_values(metric, side)
                for side in range(len(self.runs))
            ]
        )

    def read(self, names: Sequence[str]) -> list[DisplayedInstance]:
        shown = [name for name in names if name in self._numbers]
        only = np.array(sorted(self._numbers[name] for name in shown), dtype=np.intp)
        sides = range(len(self.runs) if len(self._texts) > 1 else 1)
        values = {
            metric.name: [
                self._compute_instance_values(metric, side, only) for side in sides
            ]
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


def load_stored_instances(evaluation: Evaluation) -> dict[str, ShownInstance]:
    try:
        with open_statistics_file(evaluation) as kept:
            return load_instances(kept)
    except (OSError, KeyError, ValueError, TypeError, zipfile.BadZipFile) as reason:
        raise build_statistics_error(evaluation, reason) from reason


#: A page shows at most INSTANCES_PER_PAGE instances.
INSTANCES_PER_PAGE = 10


@dataclass(frozen=True)
class InstancePage:
    """A page of instances. On a page of instances, ``chosen`` contains the names of the
    selected instances, and ``single`` is the instance that the URL names.
    """

    reading: InstancesOfRunsReader
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
    reading: InstancesOfRunsReader, query: contenders.InstancesQuery
) -> InstancePage | None:
    """Return the page with the selected instances, or None if the instance that the URL
    names does not exist. Raises Unreadable.
    """
    if query.which and query.which not in (
        *PAIR_SELECTION_LABELS,
        *SELECTION_ORDER_LABELS,
    ):
        raise build_invalid_value_error("which", query.which, reading.offered)
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
            names = [
                name for name in names if reading.contains_all_words(name, query.text)
            ]
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
    chosen: contenders.PairOfComparableRuns
    pair: EvaluationPair
    page: InstancePage


def read_instances_of_two_runs(
    phase: Phase, viewer: object, query: contenders.TwoRunsInstancesQuery
) -> TwoRunsInstancePage:
    board = load_cached_board_or_404(phase, viewer, query.rules, query.gold)
    offered = [
        *contenders.list_comparable_runs_on_board(board),
        *contenders.list_comparable_runs_of_own_teams(board, viewer),
    ]
    chosen = contenders.choose_two_runs_to_compare(
        board, viewer, offered, (query.a, query.b)
    )
    read = contenders.find_newest_evaluations_of_runs(board, chosen or ())
    scored = [evaluation for evaluation in read if evaluation is not None]
    if chosen is None or len(scored) < 2:
        raise Http404(_("There are no two runs here that were scored alike."))
    viewer_rights = determine_rights_to_evaluations(phase, viewer, scored)
    if viewer_rights is None:
        raise Http404(_("The answers of these runs are not shown to you."))
    pair = pair_evaluations(scored[0], scored[1])
    if not pair.metrics_with_instance_values:
        raise Http404(
            _("These runs share no metric that has a value on single instances.")
        )
    page = select_instance_page(
        InstancesOfRunsReader(
            scored,
            pair.metrics_with_instance_values,
            query,
            viewer_rights,
            drawn=2,
            is_pair=True,
        ),
        query,
    )
    if page is None:
        raise Http404(_("The runs have no instance of this name."))
    return TwoRunsInstancePage(board=board, chosen=chosen, pair=pair, page=page)


def _find_requested_metric(
    metrics: Sequence[Metric], query: contenders.InstancesQuery
) -> Metric | None:
    return next(
        (own for own in metrics if own.name == query.metric), next(iter(metrics), None)
    )


def determine_rights_to_evaluations(
    phase: Phase, viewer: object, scored: Sequence[Evaluation]
) -> InstanceViewingRights | None:
    for evaluation in scored:
        evaluation.submission.phase = phase
    return determine_instance_viewing_rights(
        phase, viewer, [evaluation.submission for evaluation in scored]
    )


def determine_instance_rights_to_run(
    run: Submission, viewer: object
) -> InstanceViewingRights | None:
    """Return which texts and values of a run's instances the viewer may see. Members of
    a team may see no instances of a run if they may not see the outcome of the run.
    """
    if visibility.may_see_submission(run, viewer) and not visibility.may_see_outcome(
        run, viewer
    ):
        return None
    return determine_instance_viewing_rights(run.phase, viewer, [run])


def read_instances_of_run(
    evaluation: Evaluation,
    may: InstanceViewingRights,
    query: contenders.InstancesQuery,
    others: Callable[[], Sequence[Evaluation]] = tuple,
) -> InstancePage | None:
    """Return the page with the instances of one run, compared with the ``others`` of
    the board if the viewer may see values of the run. Raises Unreadable.
    """
    metrics = pair_evaluations(evaluation, evaluation).metrics_with_instance_values
    metric = _find_requested_metric(metrics, query)
    alike = [
        run
        for run in (others() if may.values and metric else ())
        if metric
        and any(
            metric.name == own.name for own in pair_evaluations(evaluation, run).metrics
        )
    ]
    return select_instance_page(
        InstancesOfRunsReader([evaluation, *alike], metrics, query, may, drawn=1), query
    )


def list_comparable_other_systems(
    phase: Phase, viewer: object, evaluation: Evaluation
) -> list[Evaluation]:
    """Return the evaluations of other systems on the board, if the viewer may see the
    values of all systems on single instances.
    """
    board = load_cached_board_or_404(phase, viewer, evaluation.rules, None)
    runs = (
        list_comparable_evaluations(board)
        if board.gold and board.gold.pk == evaluation.gold_id
        else []
    )
    is_shown = determine_instance_rights_to_board(board, viewer, runs) is not None
    return [
        run
        for run in runs
        if is_shown and run.submission_id != evaluation.submission_id
    ]


def list_comparable_evaluations(board: standings.Board) -> list[Evaluation]:
    """Return the evaluations on the board that computed the ranking metric in the same
    way as the board's column.
    """
    ranking = board.ranking
    wanted = {
        row.submission
        for row in board.systems
        if ranking and ranking.name in row.scores
    }
    scored = contenders.find_newest_evaluations_of_runs(
        board,
        [
            row
            for row in contenders.list_comparable_runs_on_board(board)
            if row.run in wanted
        ],
    )
    return [
        run for run in scored if run is not None and run.statistics and not run.withheld
    ]


def determine_instance_rights_to_board(
    board: standings.Board, viewer: object, runs: Sequence[Evaluation]
) -> InstanceViewingRights | None:
    """Return which texts and values of these runs' instances the viewer may see, or
    None if values of the runs are hidden.
    """
    phase, submissions = board.phase, [run.submission for run in runs]
    gold, values = _may_see_gold_and_values(phase, viewer, board.audience, submissions)
    if not values:
        return None
    answers = board.audience in visibility.AUDIENCES_OF_SEASON_STAFF or (
        gold and all(run.file for run in submissions)
    )
    return InstanceViewingRights(
        given=can_download_inputs(viewer, phase),
        gold=gold,
        values=True,
        answers=answers,
    )


def read_instances_of_all_systems(
    board: standings.Board, viewer: object, query: contenders.InstancesQuery
) -> InstancePage | None:
    """Return the page that shows for each instance which systems on the board answered
    right or wrong. Raises Unreadable.
    """
    runs = list_comparable_evaluations(board)
    may = determine_instance_rights_to_board(board, viewer, runs) if runs else None
    if may is None:
        raise Http404(_("The instances of this board are not shown to you."))
    return select_instance_page(
        InstancesOfRunsReader(
            runs,
            list_shared_instance_metrics(runs),
            query,
            may,
            drawn=min(len(runs), MAX_ANSWERS_SHOWN),
        ),
        query,
    )


def list_shared_instance_metrics(runs: Sequence[Evaluation]) -> list[Metric]:
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
        for metric in pair_evaluations(runs[0], runs[0]).metrics_with_instance_values
        if metric.name in shared
    ]


MAX_RUNS_COMPARED = 8
DEFAULT_COMPARED_RUN_COUNT = 3


@dataclass(frozen=True)
class ComparedScore:
    value: float | None
    low: float | None = None
    high: float | None = None
    is_infinite: bool = False
    withheld: str = ""
    difference: float | None = None


@dataclass(frozen=True, kw_only=True)
class ComparedScoresRow:
    name: str
    scale: float
    values: list[ComparedScore]
    n: int = 0

    @property
    def has_support(self) -> bool:
        return has_enough_instances(self.n)

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
    offered: list[contenders.ComparableRun]
    runs: list[contenders.ComparableRun]
    missing: list[contenders.ComparableRun]
    metrics: list[ComparedScoresRow]
    left_out: int
    dimensions: list[str]
    dimension: str
    class_metrics: list[str]
    class_metric: str
    classes: list[ComparedScoresRow]
    min_class_size: int


def compare_several_runs(
    phase: Phase, viewer: object, query: contenders.SeveralRunsQuery
) -> SeveralRunsComparison:
    board = load_cached_board_or_404(phase, viewer, query.rules, query.gold)
    offered = [
        *contenders.list_comparable_runs_on_board(board),
        *contenders.list_comparable_runs_of_own_teams(board, viewer),
    ]
    if not offered and not query.runs:
        raise Http404(_("No numbers of this phase are shown to you."))
    wanted = list(dict.fromkeys(query.runs))[:MAX_RUNS_COMPARED]
    chosen = [
        contenders.find_comparable_run_or_404(board, viewer, offered, number)
        for number in wanted
    ]
    chosen = chosen or offered[:DEFAULT_COMPARED_RUN_COUNT]
    read = zip(
        chosen, contenders.find_newest_evaluations_of_runs(board, chosen), strict=True
    )
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
            ComparedScore(
                one.value,
                one.low,
                one.high,
                one.is_infinite,
                one.get_withheld_display(),
            )
            for one in scores
        ]
        lines.append(_build_row_with_differences(metric.name, metric.scale, values))
    shown = list_shared_dimensions(evaluations) if evaluations else []
    dimension = query.dimension if query.dimension in shown else next(iter(shown), "")
    task_type = phase.task.task_type
    by_class = [
        one
        for one in select_metrics_for_dimension(task_type, dimension, metrics)
        if one.is_exchangeable and shown
    ]
    chosen_metric = next(
        (line for line in by_class if line.name == query.metric),
        next(iter(by_class), None),
    )
    hidden_by = find_hidden_classes(
        [run.pk for run in evaluations], phase, board.audience
    )
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
        classes=_build_rows_by_class(evaluations, dimension, chosen_metric, hidden)
        if chosen_metric
        else [],
        min_class_size=get_embargoes_of_phase(phase).min_class_size if hidden else 0,
    )


def _build_row_with_differences(
    name: str, scale: float, values: Sequence[ComparedScore], n: int = 0
) -> ComparedScoresRow:
    first = values[0].value
    apart = [
        None if one.value is None or first is None else one.value - first
        for one in values
    ]
    shown = [
        replace(one, difference=difference)
        for one, difference in zip(values, apart, strict=True)
    ]
    return ComparedScoresRow(name=name, scale=scale, values=shown, n=n)


def _build_rows_by_class(
    evaluations: Sequence[Evaluation],
    dimension: str,
    metric: Metric,
    hidden: frozenset[str],
) -> list[ComparedScoresRow]:
    by_label: dict[str, dict[int, ComparedScore]] = {}
    fixed = (
        find_gold_determined_classes(evaluations[0], dimension, metric.name)
        if evaluations
        else {}
    )
    sizes: dict[str, int] = {}
    for label, evaluation, number in load_class_scores_of_evaluations(
        [run.pk for run in evaluations], dimension, metric.name
    ):
        value, is_infinite, low, high, n, why = (
            WITHHELD_SMALL_CLASS_SCORE if label in hidden else number
        )
        by_label.setdefault(label, {})[evaluation] = (
            ComparedScore(None)
            if label in fixed
            else ComparedScore(value, low, high, is_infinite, str(why))
        )
        sizes[label] = max(n, sizes.get(label, 0))
    lines = []
    for label in sort_labels_naturally(list(by_label)):
        values = [
            by_label[label].get(run.pk, ComparedScore(None)) for run in evaluations
        ]
        lines.append(
            _build_row_with_differences(label, metric.scale, values, sizes[label])
        )
    return lines
