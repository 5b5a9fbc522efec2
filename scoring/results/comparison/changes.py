"""Compare a run of a team with a later run, by instances that became right or wrong,
and by scores in classes.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from django.http import Http404
from django.utils.translation import gettext as _

from citeboard.core.query import (
    PageParameters,
    declare_number_parameter,
    declare_text_parameter,
)
from scoring.metrics import Metric
from scoring.models import Evaluation
from scoring.results.board import visibility
from scoring.results.board.differences import find_hidden_classes
from scoring.results.board.query import load_cached_board_or_404
from scoring.results.comparison import contenders, reading
from scoring.results.comparison.paired_scores import (
    ClassDifference,
    EvaluationPair,
    compute_class_differences,
    list_shared_dimensions,
    load_classes_by_instance,
    load_values_by_instance,
    pair_evaluations,
)
from scoring.results.runs.results import find_previous_scored_run
from scoring.stats.breakdown import NO_CLASS_LABEL
from scoring.stats.jackknife import ROUNDING_TOLERANCE
from tasks.models import Submission


@dataclass(frozen=True, kw_only=True)
class ChangesQuery(PageParameters):
    """The query parameters of the page that compares a run with an earlier run.
    ``since`` is the id of the earlier run, which is the previous run of the team by
    default.
    """

    since: int | None = declare_number_parameter("since")
    rules: str | None = declare_text_parameter("rules", default=None)
    gold: int | None = declare_number_parameter("gold")
    dimension: str = declare_text_parameter("dimension")
    metric: str = declare_text_parameter("metric")


@dataclass(frozen=True, kw_only=True)
class ScoreChange:
    name: str
    before: float | None
    after: float | None

    @property
    def difference(self) -> float | None:
        if self.before is None or self.after is None:
            return None
        return self.after - self.before


@dataclass(frozen=True, kw_only=True)
class InstanceChange:
    name: str
    classes: Sequence[str]
    before: float
    after: float


@dataclass(frozen=True, kw_only=True)
class InstanceChanges:
    """The instances on which the answers of two runs have different values. ``better``
    and ``worse`` are the numbers of instances whose value changed although they became
    neither right nor wrong.

    An instance is right in a run if the metric has its best possible value on the
    instance.
    """

    metric: Metric
    turned_right: list[InstanceChange]
    turned_wrong: list[InstanceChange]
    better: int
    worse: int
    of: int

    @cached_property
    def count_turned_right_by_class(self) -> Counter[str]:
        return _count_changes_by_class(self.turned_right)

    @cached_property
    def count_turned_wrong_by_class(self) -> Counter[str]:
        return _count_changes_by_class(self.turned_wrong)


@dataclass(frozen=True, kw_only=True)
class RunChanges:
    """The differences between an earlier and a later run of a team. ``instances`` is
    None if the viewer may not see values on instances, or if the metric has no such
    values.
    """

    before: Submission
    after: Submission
    rules: str
    numbers: list[ScoreChange]
    metric: Metric | None
    dimension: str
    classes: list[ClassDifference]
    instances: InstanceChanges | None
    sees_instances: bool

    @property
    def better(self) -> list[str]:
        return self._find_classes_with_significant_change(1)

    @property
    def worse(self) -> list[str]:
        return self._find_classes_with_significant_change(-1)

    def _find_classes_with_significant_change(self, sign: int) -> list[str]:
        """Return the classes in which the score became better, or worse, by a
        difference whose interval excludes zero.
        """
        if self.metric is None or self.metric.higher_is_better is None:
            return []
        upward = sign if self.metric.higher_is_better else -sign
        return [
            line.label
            for line in self.classes
            if line.low is not None
            and line.high is not None
            and (line.low > 0 if upward > 0 else line.high < 0)
        ]


def find_changes_since_earlier_run(
    run: Submission, viewer: object, query: ChangesQuery
) -> RunChanges:
    """Return the differences between an earlier run of a team and this run. Raises
    Http404, Unreadable.
    """
    board = load_cached_board_or_404(run.phase, viewer, query.rules, query.gold)
    before = query.since
    if before is None and board.gold is not None:
        earlier = find_previous_scored_run(run, board.gold)
        before = earlier.pk if earlier else None
    if before is None or before == run.pk:
        raise Http404(_("Name another run of the team with “since”."))
    chosen = [
        contenders.find_comparable_run_or_404(board, viewer, (), number)
        for number in (run.pk, before)
    ]
    scored = [
        one for one in contenders.find_newest_evaluations_of_runs(board, chosen) if one
    ]
    if len(scored) < 2 or not are_runs_of_one_team(scored[0], scored[1], viewer):
        raise Http404(
            _("There are no two runs of one team here that were scored alike.")
        )
    return compute_changes_between_evaluations(
        scored[1], scored[0], viewer, query.dimension, query.metric
    )


def are_runs_of_one_team(a: Evaluation, b: Evaluation, viewer: object) -> bool:
    """Return True if both runs belong to the same team, and the viewer is a member of
    the team or runs the season.
    """
    runs = [a.submission, b.submission]
    return runs[0].team_id == runs[1].team_id is not None and all(
        visibility.may_see_submission(run, viewer) for run in runs
    )


def sort_by_submission_time(
    a: Evaluation, b: Evaluation
) -> tuple[Evaluation, Evaluation]:
    """Return the evaluations of two runs in the order in which the runs were submitted."""
    sent = [(one.submission.submitted_at, one.submission.pk) for one in (a, b)]
    return (a, b) if sent[0] < sent[1] else (b, a)


def compute_changes_between_evaluations(
    before: Evaluation,
    after: Evaluation,
    viewer: object,
    dimension: str = "",
    metric: str = "",
) -> RunChanges:
    """Return the differences between an earlier and a later run that the viewer may
    see. Raises Unreadable.
    """
    pair, phase = pair_evaluations(after, before), after.phase
    audience = visibility.determine_audience(phase, viewer)
    names = [name for name in list_shared_dimensions([after, before]) if pair.by(name)]
    chosen = dimension if dimension in names else next(iter(names), "")
    measured = pair.by(chosen) if chosen else []
    of_classes = _find_metric_by_name(measured, metric)
    hidden = find_hidden_classes([after.pk, before.pk], phase, audience)
    rights = reading.determine_rights_to_evaluations(phase, viewer, [after, before])
    sees_instances = rights is not None and rights.values
    return RunChanges(
        before=before.submission,
        after=after.submission,
        rules=after.rules,
        numbers=_compute_score_changes(pair),
        metric=of_classes,
        dimension=chosen,
        classes=compute_class_differences(
            pair, chosen, of_classes, hidden.get(chosen, frozenset())
        )
        if of_classes
        else [],
        instances=_load_instance_changes(pair, chosen, metric)
        if sees_instances
        else None,
        sees_instances=sees_instances,
    )


def _compute_score_changes(pair: EvaluationPair) -> list[ScoreChange]:
    after, before = (
        {score.metric: score.value for score in side.scores.all()}
        for side in (pair.a, pair.b)
    )
    return [
        ScoreChange(
            name=metric.name, before=before[metric.name], after=after[metric.name]
        )
        for metric in pair.metrics
    ]


def _find_metric_by_name(metrics: Sequence[Metric], name: str) -> Metric | None:
    first = next(iter(metrics), None)
    return next((metric for metric in metrics if metric.name == name), first)


def _load_instance_changes(
    pair: EvaluationPair, dimension: str, name: str
) -> InstanceChanges | None:
    with_merit = [
        one
        for one in pair.metrics_with_instance_values
        if one.higher_is_better is not None
    ]
    metric = _find_metric_by_name(with_merit, name)
    if metric is None:
        return None
    after, before = (
        load_values_by_instance(side, [metric]).get(metric.name, {})
        for side in (pair.a, pair.b)
    )
    labels = load_classes_by_instance(pair.a, dimension) if dimension else {}
    shared = [name for name in after if name in before]
    return (
        _classify_instance_changes(metric, shared, before, after, labels)
        if shared
        else None
    )


def _classify_instance_changes(
    metric: Metric,
    names: Sequence[str],
    before: Mapping[str, float],
    after: Mapping[str, float],
    labels: Mapping[str, tuple[str, ...]],
) -> InstanceChanges:
    sign = 1 if metric.higher_is_better else -1
    tolerance = ROUNDING_TOLERANCE * max(1.0, metric.scale)
    right: list[InstanceChange] = []
    wrong: list[InstanceChange] = []
    better = worse = 0
    for name in names:
        gain = sign * (after[name] - before[name])
        if (
            not abs(gain) > tolerance
        ):  # False for NaN, the difference of two infinite values
            continue
        change = InstanceChange(
            name=name,
            classes=labels.get(name) or (NO_CLASS_LABEL,),
            before=before[name],
            after=after[name],
        )
        if gain > 0 and _is_best_possible_value(metric, after[name]):
            right.append(change)
        elif gain < 0 and _is_best_possible_value(metric, before[name]):
            wrong.append(change)
        elif gain > 0:
            better += 1
        else:
            worse += 1
    return InstanceChanges(
        metric=metric,
        turned_right=right,
        turned_wrong=wrong,
        better=better,
        worse=worse,
        of=len(names),
    )


def _is_best_possible_value(metric: Metric, value: float) -> bool:
    best = metric.value_range[bool(metric.higher_is_better)]
    return abs(value - best) <= ROUNDING_TOLERANCE * max(1.0, metric.scale)


def _count_changes_by_class(changes: Sequence[InstanceChange]) -> Counter[str]:
    return Counter(label for change in changes for label in change.classes)
