"""Collect the scores of one run under each rule set, the rank of the run, and its
scores by class.
"""

from __future__ import annotations

import datetime as dt
import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from django.utils.translation import gettext as _, gettext_lazy

from citeboard.core.words import count_with_noun, join_names, localize_separators
from scoring.figures import Axis, Bars, Measured, Point, PointSeries, Scatter, Series
from scoring.metrics import (
    OF_LABELS,
    Metric,
    base,
    calibration,
    known_metric,
    names_by,
    weighted,
)
from scoring.models import SMALL_CLASS_NUMBER, ClassNumber, Evaluation, Score
from scoring.results.board import (
    charts,
    comparisons,
    differences,
    formatting,
    standings,
)
from scoring.results.board.gold_keys import DRAW, gold_key_without_nonce
from scoring.stats.signature import (
    NO_INTERVAL,
    NO_VALUE,
    offline_command,
    provenance_of,
)
from tasks.models import Gold, Phase, Submission
from tasks.types import task_type as the_type
from tasks.types.base import printed_options
from tasks.types.stored_judges import PLACEHOLDERS, with_label_files

#: A chart by class has at most MAX_METRICS_DRAWN metrics, but the table has all metrics.
MAX_METRICS_DRAWN = 3


def latest_evaluations(
    submission: Submission, at: dt.datetime | None = None
) -> dict[str, Evaluation]:
    """Return the evaluation of a run under each rule set, in the order of the task, on
    the newest gold version before the time ``at``.
    """
    newest: dict[str, Evaluation] = {}
    evaluations = (
        submission.evaluations.known_at(at)
        .select_related("gold")
        .prefetch_related("scores")
    )
    for evaluation in evaluations.order_by("-gold__number", "-id"):
        evaluation.phase = submission.phase
        newest.setdefault(evaluation.rules, evaluation)
    return {
        rules: newest[rules] for rules in submission.phase.task.rules if rules in newest
    }


def previous_scored_run(submission: Submission, gold: Gold) -> Submission | None:
    if submission.team_id is None:
        return None
    earlier = Submission.objects.filter(
        phase=submission.phase,
        team=submission.team_id,
        number__lt=submission.number,
        status=Submission.Status.SCORED,
        evaluations__gold=gold,
    )
    return earlier.distinct().order_by("-number").first()


def numbers(
    submission: Submission, evaluations: Mapping[str, Evaluation]
) -> list[dict[str, Any]]:
    """Return a line for each metric with the run's score under each rule set, or None
    for a rule set without the metric.
    """
    task_type = submission.phase.task.type
    by_rules: dict[str, dict[str, ExplainedScore]] = {
        rules: {
            number.metric: number
            for number in explain_scores(
                evaluation.scores.all(), evaluation, task_type, submission.filename
            )
        }
        for rules, evaluation in evaluations.items()
    }
    names = dict.fromkeys(name for group in by_rules.values() for name in group)
    lines = []
    for name in names:
        numbers = [group.get(name) for group in by_rules.values()]
        differs = len({number.value for number in numbers if number}) > 1
        lines.append(
            {
                "label": formatting.metric_label(name),
                "numbers": numbers,
                "differs": differs,
            }
        )
    return lines


def is_undefined_line(line: Mapping[str, Any]) -> bool:
    """Return True if the metric is undefined under every rule set, for another reason
    than an embargo.
    """
    return all(
        number is None or (number.value == formatting.EN_DASH and not number.withheld)
        for number in line["numbers"]
    )


def metrics_lacking_probabilities(evaluation: Evaluation) -> list[str]:
    """Return the displayed names of the metrics that need probabilities, if the run
    contains no probabilities.
    """
    task_type = evaluation.phase.task.task_type
    options = task_type.checked_options(evaluation.options, builds=False)
    return [
        formatting.metric_label(score.metric)
        for score in evaluation.scores.all()
        if _lacks_probabilities(
            score, known_metric(task_type, score.metric, evaluation.rules, options)
        )
    ]


def _lacks_probabilities(score: Score, metric: Metric | None) -> bool:
    is_undefined = score.value is None and not score.withheld and not score.is_infinite
    return is_undefined and isinstance(metric, PROBABILITY_METRICS)


def organiser_only_scores(evaluation: Evaluation) -> list[tuple[str, str, str]]:
    """Return the metric, value and interval of each score of the run that only
    organisers may see.
    """
    return [
        (
            formatting.metric_label(name),
            formatting.shown(said["value"], said["scale"]),
            formatting.interval(said["low"], said["high"], said["scale"]),
        )
        for name, said in evaluation.untold.items()
    ]


def offline_commands_by_rules(
    evaluations: Iterable[str], lines: Sequence[Mapping[str, Any]]
) -> list[tuple[str, str]]:
    return [
        (rules, command)
        for place, rules in enumerate(evaluations)
        if (
            command := next(
                (one.command for line in lines if (one := line["numbers"][place])), ""
            )
        )
    ]


def notes(evaluations: Mapping[str, Evaluation]) -> list[tuple[str, list[str]]]:
    notes = []
    for rules, evaluation in evaluations.items():
        counts = [
            (name, n)
            for name, n in evaluation.notes.items()
            if n and not name.endswith("_not_given")
        ]
        if counts:
            notes.append(
                (rules, [formatting.note_label(name, count) for name, count in counts])
            )
    return notes


def metrics_without_value(
    submission: Submission, evaluations: Mapping[str, Evaluation]
) -> list[tuple[str, int, str]]:
    kind = submission.phase.task.task_type
    lacking = {
        rules: kind.without_value(rules, evaluation.options)
        for rules, evaluation in evaluations.items()
    }
    return [
        (rules, len(names), join_names(sorted(set(names.values()))))
        for rules, names in lacking.items()
        if names
    ]


def place(submission: Submission, viewer: object) -> dict[str, object]:
    """Return the rank of a run and the number of teams on the board, or the reason why
    the run has no rank.
    """
    phase = submission.phase
    if submission.kind == Submission.Kind.CONTRASTIVE and phase.shows_contrastive:
        return {"reason": _("A contrastive run is on the board without a rank.")}
    if submission.kind == Submission.Kind.CONTRASTIVE:
        return {"reason": _("A contrastive run is scored and is not on the board.")}
    rules = phase.task.rules
    board = standings.cached_board(phase, viewer, rules[0] if rules else None)
    if mean := board.mean_of(submission.pk):
        words = _(
            "A seed of %(system)s, whose mean over %(number)s runs is on the board."
        )
        return {"reason": words % {"system": mean.system, "number": len(mean.runs)}}
    for row in board.rows:
        if row.submission == submission.pk:
            teams = sum(other.rank is not None for other in board.rows)
            reason = "" if row.rank else _("Not ranked.")
            return {"rank": board.rank_of(row), "teams": teams, "reason": reason}
    slug = submission.team.slug if submission.team else None
    mine = next(
        (row for row in board.rows if row.team_slug == slug and not row.is_contrastive),
        None,
    )
    words = ""
    if mine is None and phase.counting == Phase.Counting.SELECTED:
        words = _("Nothing is on the board for a team until it chooses a run.")
    elif mine is not None and phase.counting == Phase.Counting.PRIORITY:
        words = _("The first %(runs)s of a team by priority are on the board.")
        words %= {"runs": count_with_noun(phase.judged_runs, "run")}
    elif mine is not None:
        words = _("Run %(number)s, %(system)s, is on the board for your team.")
        words %= {"number": mine.number, "system": mine.system}
    return {"reason": words}


def class_score_tables(
    evaluation: Evaluation, hidden: differences.HiddenClasses
) -> list[dict[str, Any]]:
    scales = dict.fromkeys(OF_LABELS, 1.0) | {
        score.metric: score.scale for score in evaluation.scores.all()
    }
    task_type, rules = evaluation.phase.task.task_type, evaluation.rules
    options = task_type.checked_options(evaluation.options)
    dimensions = []
    for row in evaluation.breakdowns.select_related("classes"):
        name = row.classes.dimension
        numbers = row.by_class()
        told = {
            label: dict.fromkeys(numbers[label], SMALL_CLASS_NUMBER)
            if label in hidden.get(name, ())
            else numbers[label]
            for label in differences.sort_labels_naturally(list(numbers))
        }
        valid = names_by(task_type, name, row.classes.metrics, rules, options)
        if valid and any(told.values()):
            own = {metric: scale for metric, scale in scales.items() if metric in valid}
            dimensions.append(_class_score_table(name, told, own))
    return dimensions


def _class_score_table(
    name: str,
    classes: Mapping[str, Mapping[str, ClassNumber]],
    scales: Mapping[str, float],
) -> dict[str, Any]:
    metrics = [
        metric
        for metric in scales
        if any(metric in values for values in classes.values())
    ]
    lines = [
        {
            "label": formatting.class_label(label),
            "support": max((value.n for value in values.values()), default=0),
            "is_withheld": any(value.withheld for value in values.values()),
            "cells": [
                (
                    metric,
                    formatting.shown(
                        values[metric].value,
                        scales[metric],
                        is_infinite=values[metric].is_infinite,
                        withheld=values[metric].withheld,
                    )
                    if metric in values
                    else formatting.EN_DASH,
                )
                for metric in metrics
            ],
        }
        for label, values in classes.items()
    ]
    # The chart by class only contains metrics with the scale of the first metric.
    scale = scales[metrics[0]]
    alike = [metric for metric in metrics if scales[metric] == scale][
        :MAX_METRICS_DRAWN
    ]
    labels = [formatting.metric_label(metric) for metric in alike]
    in_range = (
        _("Score, 0 to %(scale)s") % {"scale": f"{scale:g}"} if scale else _("Score")
    )
    words = {
        "metrics": join_names(labels),
        "dimension": formatting.dimension_label(name),
    }
    figure = Bars(
        title=_("%(metrics)s by %(dimension)s") % words,
        labels=[formatting.class_label(label) for label in classes],
        series=[
            Series(
                name=label,
                values=[Measured.of(values.get(metric)) for values in classes.values()],
            )
            for metric, label in zip(alike, labels, strict=True)
        ],
        axis=charts.score_axis(
            labels[0] if len(labels) == 1 else in_range, scale, has_zero=True
        ),
    )
    return {
        "name": name,
        "label": formatting.dimension_label(name),
        "heads": [formatting.metric_label(metric) for metric in metrics],
        "lines": lines,
        "figure": figure,
    }


#: From MIN_SETTLED_INSTANCES instances, intervals have nominal coverage except for rare classes.
MIN_SETTLED_INSTANCES = 30
DIRECTION_LABELS = {
    True: gettext_lazy("higher is better"),
    False: gettext_lazy("lower is better"),
    None: "",
}


#: The metrics in PROBABILITY_METRICS are undefined for runs without probabilities.
PROBABILITY_METRICS = (
    calibration.LogLoss,
    calibration.Brier,
    calibration.CalibrationError,
)


@dataclass(frozen=True, kw_only=True)
class ExplainedScore:
    id: int
    metric: str
    label: str
    value: str
    withheld: str
    #: ``interval`` is the interval as text, or the reason for a missing interval.
    interval: str
    n: int
    is_percentage: bool
    upward: str
    definition: str
    citation: str
    signature: str
    parts: tuple[tuple[str, str], ...]
    command: str
    has_interval: bool = True
    #: ``caution`` is the reason why the interval may cover less than its nominal level.
    caution: str = ""
    #: ``rules`` is the rule set, or empty for human judgements.
    rules: str = ""


def explain_scores(
    scores: Iterable[Score], evaluation: Evaluation, task_type: str, filename: str
) -> Iterator[ExplainedScore]:
    kind = the_type(task_type)
    options = kind.checked_options(evaluation.options, builds=False)
    printed = printed_options(with_label_files(evaluation.options, PLACEHOLDERS))
    for score in scores:
        metric, signature = (
            known_metric(kind, score.metric, evaluation.rules, options),
            score.signature,
        )
        # Old versions stored no reason for a missing interval.
        parts = provenance_of(signature)
        why_none = parts.get(NO_VALUE) or parts.get(NO_INTERVAL, "")
        yield ExplainedScore(
            id=score.pk,
            metric=score.metric,
            rules=evaluation.rules,
            label=formatting.metric_label(score.metric),
            value=formatting.score_text(score),
            withheld=score.get_withheld_display(),
            interval=_("needs probabilities; this run gives none")
            if _lacks_probabilities(score, metric)
            else formatting.interval(score.low, score.high, score.scale)
            or formatting.missing_interval_reason(why_none),
            n=score.n,
            is_percentage=score.scale == 100,
            upward=str(DIRECTION_LABELS[metric.higher_is_better if metric else None]),
            definition=metric_definition(metric) if metric else "",
            citation=metric.citation if metric else "",
            signature=signature,
            parts=split_signature(signature),
            command=offline_command(
                task_type,
                rules=evaluation.rules,
                options=printed,
                signature=signature,
                gold=["GOLD"],
                run=filename,
                key=gold_key_without_nonce(evaluation.gold),
                draw=DRAW,
            ),
            has_interval=score.low is not None,
            caution=interval_caution(metric, score)
            if metric and score.low is not None
            else "",
        )


def interval_caution(metric: Metric, score: Score) -> str:
    """Return the reasons why the interval of a score may be too narrow, as described in
    docs/uncertainty.md, or an empty text.
    """
    reasons = []
    if score.n < MIN_SETTLED_INSTANCES:
        reasons.append(
            _(
                "So few instances can lack a rare kind: of two kinds, 85 to 15, such "
                "an interval held in 80 of 100 test sets of ten instances."
            )
        )
    if not metric.holds_with_rare_classes:
        reasons.append(
            _(
                "Where a class has few instances its error is that of the mean: with a class of 1 % such an "
                "interval held in 86 of 100 test sets of 200 instances."
            )
        )
    return " ".join(reasons)


def metric_definition(metric: Metric) -> str:
    text = inspect.getdoc(type(metric)) or ""
    return " ".join(text.replace("*", "").split())


def split_signature(signature: str) -> tuple[tuple[str, str], ...]:
    head, *rest = signature.split("|")
    pairs = [part.partition(":") for part in rest]
    return ("metric", head), *((name, value) for name, _, value in pairs)


class ConfidenceBin(NamedTuple):
    """The instances whose confidence lies in an interval such as `0.1 to 0.2`, which
    does not include its lower bound.
    """

    label: str
    size: int
    confidence: float
    right: float


def reliability_context(
    evaluation: Evaluation, min_bin_size: int
) -> dict[str, Any] | None:
    """Return the reliability chart and table of a run, or None if no probabilities or
    no matrices of the run are stored.
    """
    metric, sums = _calibration_metric_and_sums(evaluation)
    if metric is None or not sums.any():
        return None
    edges = [f"{edge:.2g}" for edge in np.linspace(0, 1, metric.bins + 1)]
    bins = []
    for place, (count, confidence, right) in enumerate(sums.reshape(3, -1).T.tolist()):
        if count:
            ends = {"low": edges[place], "high": edges[place + 1]}
            label = localize_separators(_("%(low)s to %(high)s") % ends)
            bins.append(
                ConfidenceBin(label, round(count), confidence / count, right / count)
            )
    hidden = differences.classes_to_hide(
        {one.label: one.size for one in bins}, min_bin_size
    )
    seen = [one for one in bins if one.label not in hidden]
    lines = [
        {
            "label": one.label,
            "count": one.size,
            "confidence": formatting.shown(one.confidence),
            "right": formatting.shown(one.right),
        }
        for one in seen
    ]
    error, debiased = (
        float(
            kind(
                "ece", evaluation.rules, labels=metric.labels, bins=metric.bins
            ).aggregate(sums)
        )
        for kind in (calibration.CalibrationError, calibration.DebiasedCalibrationError)
    )
    return {
        "lines": lines,
        "figure": reliability_chart(seen),
        "min_size": min_bin_size if hidden else 0,
        "error": formatting.shown(error),
        "debiased": formatting.shown(debiased),
        "p": formatting.shown(calibration.calibration_p_value(sums)),
    }


def _calibration_metric_and_sums(
    evaluation: Evaluation,
) -> tuple[calibration.CalibrationError | None, base.Floats]:
    """Return the calibration metric of the run and the sums over the rows of its
    matrix, or zeros if the matrix has no rows.
    """
    task_type = evaluation.phase.task.task_type
    options = task_type.checked_options(evaluation.options)
    named = (
        known_metric(task_type, score.metric, evaluation.rules, options)
        for score in evaluation.scores.all()
    )
    kinds = calibration.CalibrationError, weighted.EqualSizeCalibrationError
    metric = next((metric for metric in named if isinstance(metric, kinds)), None)
    if metric is None:
        return None, np.zeros(0)
    try:
        rows = comparisons.read_statistics(evaluation, [metric.statistic]).matrices[
            metric.statistic
        ]
    except (comparisons.UnreadableStatistics, KeyError):
        return None, np.zeros(0)
    if isinstance(metric, calibration.CalibrationError):
        return metric, rows.sum(axis=0)
    equal_width = calibration.CalibrationError(
        "ece", evaluation.rules, labels=metric.labels
    )
    return equal_width, equal_width.stats_of(
        rows[:, 0], rows[:, 1], rows[:, 2] > 0
    ).sum(axis=0)


def reliability_chart(bins: Sequence[ConfidenceBin]) -> Scatter:
    """Return the reliability chart, which shows accuracy (y axis) against confidence (x
    axis). On the diagonal of the chart, accuracy equals confidence.
    """
    places = [
        Point(
            name=_("%(count)s instances")
            % {"count": localize_separators(f"{one.size:,}")},
            x=Measured(
                value=one.confidence,
                text=_("confidence %(value)s")
                % {"value": formatting.shown(one.confidence)},
            ),
            y=Measured(
                value=one.right,
                text=_("%(share)s right") % {"share": formatting.shown(one.right)},
            ),
        )
        for one in bins
    ]
    ends = [
        Point(name="", x=Measured(value=end), y=Measured(value=end))
        for end in (0.0, 1.0)
    ]
    return Scatter(
        title=_("Share that is right by confidence"),
        series=[
            PointSeries(name=_("this run"), points=places, has_line=True),
            PointSeries(
                name=_("calibrated"), points=ends, has_points=False, is_reference=True
            ),
        ],
        x=Axis(title=_("Mean confidence"), bounds=(0.0, 1.0), has_zero=True),
        y=Axis(title=_("Share that is right"), bounds=(0.0, 1.0), has_zero=True),
    )
