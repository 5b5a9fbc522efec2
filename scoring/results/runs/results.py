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
from scoring.figures import (
    Axis,
    BarChart,
    FigureValue,
    PointSeries,
    ScatterPlot,
    ScatterPoint,
    ValueSeries,
)
from scoring.metrics import (
    PART_BY_LABEL_METRIC_NAME,
    Metric,
    base,
    build_metric_if_known,
    calibration,
    list_metric_names_for_dimension,
    weighted,
)
from scoring.models import WITHHELD_SMALL_CLASS_SCORE, ClassScore, Evaluation, Score
from scoring.results.board import (
    charts,
    comparisons,
    differences,
    formatting,
    standings,
)
from scoring.results.board.gold_keys import (
    DRAW_SEED_PLACEHOLDER,
    build_gold_key_options_for_display,
)
from scoring.stats.signature import (
    NO_INTERVAL_KEY,
    NO_VALUE_REASON_KEY,
    format_score_command,
    parse_signature,
)
from tasks.models import Gold, Phase, Submission
from tasks.types import task_type as the_type
from tasks.types.base import replace_paths_by_file_names
from tasks.types.stored_judges import (
    LABEL_FILE_PLACEHOLDERS,
    replace_judges_by_label_files,
)

#: A chart by class has at most MAX_METRICS_IN_CLASS_CHART metrics, but the table has all metrics.
MAX_METRICS_IN_CLASS_CHART = 3


def find_latest_evaluations_by_rule_set(
    submission: Submission, at: dt.datetime | None = None
) -> dict[str, Evaluation]:
    """Return the evaluation of a run under each rule set, in the order of the task, on
    the newest gold version before the time ``at``.
    """
    newest: dict[str, Evaluation] = {}
    evaluations = (
        submission.evaluations.with_scores_existing_at(at)
        .select_related("gold")
        .prefetch_related("scores")
    )
    for evaluation in evaluations.order_by("-gold__number", "-id"):
        evaluation.phase = submission.phase
        newest.setdefault(evaluation.rules, evaluation)
    return {
        rules: newest[rules] for rules in submission.phase.task.rules if rules in newest
    }


def find_previous_scored_run(submission: Submission, gold: Gold) -> Submission | None:
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
                "label": formatting.display_name_of_metric(name),
                "numbers": numbers,
                "differs": differs,
            }
        )
    return lines


def has_only_undefined_scores(line: Mapping[str, Any]) -> bool:
    """Return True if the metric is undefined under every rule set, for another reason
    than an embargo.
    """
    return all(
        number is None or (number.value == formatting.EN_DASH and not number.withheld)
        for number in line["numbers"]
    )


def list_metrics_lacking_probabilities(evaluation: Evaluation) -> list[str]:
    """Return the displayed names of the metrics that need probabilities, if the run
    contains no probabilities.
    """
    task_type = evaluation.phase.task.task_type
    options = task_type.validate_options(evaluation.options, builds=False)
    return [
        formatting.display_name_of_metric(score.metric)
        for score in evaluation.scores.all()
        if _lacks_probabilities(
            score,
            build_metric_if_known(task_type, score.metric, evaluation.rules, options),
        )
    ]


def _lacks_probabilities(score: Score, metric: Metric | None) -> bool:
    is_undefined = score.value is None and not score.withheld and not score.is_infinite
    return is_undefined and isinstance(metric, PROBABILITY_METRICS)


def list_organiser_only_scores(evaluation: Evaluation) -> list[tuple[str, str, str]]:
    """Return the metric, value and interval of each score of the run that only
    organisers may see.
    """
    return [
        (
            formatting.display_name_of_metric(name),
            formatting.format_score(said["value"], said["scale"]),
            formatting.format_interval(said["low"], said["high"], said["scale"]),
        )
        for name, said in evaluation.untold.items()
    ]


def list_offline_commands_by_rule_set(
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


def build_score_notes_by_rule_set(
    evaluations: Mapping[str, Evaluation],
) -> list[tuple[str, list[str]]]:
    notes = []
    for rules, evaluation in evaluations.items():
        counts = [
            (name, n)
            for name, n in evaluation.notes.items()
            if n and not name.endswith("_not_given")
        ]
        if counts:
            notes.append(
                (
                    rules,
                    [
                        formatting.format_score_note(name, count)
                        for name, count in counts
                    ],
                )
            )
    return notes


def list_metrics_without_value(
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


def find_rank_or_reason_without_rank(
    submission: Submission, viewer: object
) -> dict[str, object]:
    """Return the rank of a run and the number of teams on the board, or the reason why
    the run has no rank.
    """
    phase = submission.phase
    if submission.kind == Submission.Kind.CONTRASTIVE and phase.shows_contrastive:
        return {"reason": _("A contrastive run is on the board without a rank.")}
    if submission.kind == Submission.Kind.CONTRASTIVE:
        return {"reason": _("A contrastive run is scored and is not on the board.")}
    rules = phase.task.rules
    board = standings.load_cached_board(phase, viewer, rules[0] if rules else None)
    if mean := board.mean_of(submission.pk):
        words = _(
            "A seed of %(system)s, whose mean over %(number)s runs is on the board."
        )
        return {"reason": words % {"system": mean.system, "number": len(mean.runs)}}
    for row in board.rows:
        if row.submission == submission.pk:
            teams = sum(other.rank is not None for other in board.rows)
            reason = "" if row.rank else _("Not ranked.")
            return {
                "rank": board.format_rank_of_row(row),
                "teams": teams,
                "reason": reason,
            }
    slug = submission.team.slug if submission.team else None
    mine = next(
        (row for row in board.rows if row.team_slug == slug and not row.is_contrastive),
        None,
    )
    words = ""
    if mine is None and phase.counting == Phase.CountedRunsRule.SELECTED:
        words = _("Nothing is on the board for a team until it chooses a run.")
    elif mine is not None and phase.counting == Phase.CountedRunsRule.PRIORITY:
        words = _("The first %(runs)s of a team by priority are on the board.")
        words %= {"runs": count_with_noun(phase.judged_runs, "run")}
    elif mine is not None:
        words = _("Run %(number)s, %(system)s, is on the board for your team.")
        words %= {"number": mine.number, "system": mine.system}
    return {"reason": words}


def build_class_score_tables(
    evaluation: Evaluation, hidden: differences.HiddenClassesByDimension
) -> list[dict[str, Any]]:
    scales = dict.fromkeys(PART_BY_LABEL_METRIC_NAME, 1.0) | {
        score.metric: score.scale for score in evaluation.scores.all()
    }
    task_type, rules = evaluation.phase.task.task_type, evaluation.rules
    options = task_type.validate_options(evaluation.options)
    dimensions = []
    for row in evaluation.breakdowns.select_related("classes"):
        name = row.classes.dimension
        numbers = row.by_class()
        told = {
            label: dict.fromkeys(numbers[label], WITHHELD_SMALL_CLASS_SCORE)
            if label in hidden.get(name, ())
            else numbers[label]
            for label in differences.sort_labels_naturally(list(numbers))
        }
        valid = list_metric_names_for_dimension(
            task_type, name, row.classes.metrics, rules, options
        )
        if valid and any(told.values()):
            own = {metric: scale for metric, scale in scales.items() if metric in valid}
            dimensions.append(_build_class_score_table(name, told, own))
    return dimensions


def _build_class_score_table(
    name: str,
    classes: Mapping[str, Mapping[str, ClassScore]],
    scales: Mapping[str, float],
) -> dict[str, Any]:
    metrics = [
        metric
        for metric in scales
        if any(metric in values for values in classes.values())
    ]
    lines = [
        {
            "label": formatting.display_name_of_class(label),
            "support": max((value.n for value in values.values()), default=0),
            "is_withheld": any(value.withheld for value in values.values()),
            "cells": [
                (
                    metric,
                    formatting.format_score(
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
        :MAX_METRICS_IN_CLASS_CHART
    ]
    labels = [formatting.display_name_of_metric(metric) for metric in alike]
    in_range = (
        _("Score, 0 to %(scale)s") % {"scale": f"{scale:g}"} if scale else _("Score")
    )
    words = {
        "metrics": join_names(labels),
        "dimension": formatting.display_name_of_dimension(name),
    }
    figure = BarChart(
        title=_("%(metrics)s by %(dimension)s") % words,
        labels=[formatting.display_name_of_class(label) for label in classes],
        series=[
            ValueSeries(
                name=label,
                values=[
                    FigureValue.of(values.get(metric)) for values in classes.values()
                ],
            )
            for metric, label in zip(alike, labels, strict=True)
        ],
        axis=charts.build_score_axis(
            labels[0] if len(labels) == 1 else in_range, scale, has_zero=True
        ),
    )
    return {
        "name": name,
        "label": formatting.display_name_of_dimension(name),
        "heads": [formatting.display_name_of_metric(metric) for metric in metrics],
        "lines": lines,
        "figure": figure,
    }


#: From MIN_INSTANCES_FOR_RELIABLE_INTERVAL instances, interval coverage is nominal except for rare classes.
MIN_INSTANCES_FOR_RELIABLE_INTERVAL = 30
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
    options = kind.validate_options(evaluation.options, builds=False)
    printed = replace_paths_by_file_names(
        replace_judges_by_label_files(evaluation.options, LABEL_FILE_PLACEHOLDERS)
    )
    for score in scores:
        metric, signature = (
            build_metric_if_known(kind, score.metric, evaluation.rules, options),
            score.signature,
        )
        # Old versions stored no reason for a missing interval.
        parts = parse_signature(signature)
        why_none = parts.get(NO_VALUE_REASON_KEY) or parts.get(NO_INTERVAL_KEY, "")
        yield ExplainedScore(
            id=score.pk,
            metric=score.metric,
            rules=evaluation.rules,
            label=formatting.display_name_of_metric(score.metric),
            value=formatting.format_stored_score(score),
            withheld=score.get_withheld_display(),
            interval=_("needs probabilities; this run gives none")
            if _lacks_probabilities(score, metric)
            else formatting.format_interval(score.low, score.high, score.scale)
            or formatting.describe_missing_interval(why_none),
            n=score.n,
            is_percentage=score.scale == 100,
            upward=str(DIRECTION_LABELS[metric.higher_is_better if metric else None]),
            definition=find_metric_definition(metric) if metric else "",
            citation=metric.citation if metric else "",
            signature=signature,
            parts=split_signature_into_parts(signature),
            command=format_score_command(
                task_type,
                rules=evaluation.rules,
                options=printed,
                signature=signature,
                gold=["GOLD"],
                run=filename,
                key=build_gold_key_options_for_display(evaluation.gold),
                draw=DRAW_SEED_PLACEHOLDER,
            ),
            has_interval=score.low is not None,
            caution=explain_unreliable_interval(metric, score)
            if metric and score.low is not None
            else "",
        )


def explain_unreliable_interval(metric: Metric, score: Score) -> str:
    """Return the reasons why the interval of a score may be too narrow, as described in
    docs/uncertainty.md, or an empty text.
    """
    reasons = []
    if score.n < MIN_INSTANCES_FOR_RELIABLE_INTERVAL:
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


def find_metric_definition(metric: Metric) -> str:
    text = inspect.getdoc(type(metric)) or ""
    return " ".join(text.replace("*", "").split())


def split_signature_into_parts(signature: str) -> tuple[tuple[str, str], ...]:
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


def build_reliability_context(
    evaluation: Evaluation, min_bin_size: int
) -> dict[str, Any] | None:
    """Return the reliability chart and table of a run, or None if no probabilities or
    no matrices of the run are stored.
    """
    metric, sums = _load_calibration_metric_and_sums(evaluation)
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
    hidden = differences.select_classes_to_hide(
        {one.label: one.size for one in bins}, min_bin_size
    )
    seen = [one for one in bins if one.label not in hidden]
    lines = [
        {
            "label": one.label,
            "count": one.size,
            "confidence": formatting.format_score(one.confidence),
            "right": formatting.format_score(one.right),
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
        "figure": build_reliability_chart(seen),
        "min_size": min_bin_size if hidden else 0,
        "error": formatting.format_score(error),
        "debiased": formatting.format_score(debiased),
        "p": formatting.format_score(calibration.compute_calibration_p_value(sums)),
    }


def _load_calibration_metric_and_sums(
    evaluation: Evaluation,
) -> tuple[calibration.CalibrationError | None, base.Floats]:
    """Return the calibration metric of the run and the sums over the rows of its
    matrix, or zeros if the matrix has no rows.
    """
    task_type = evaluation.phase.task.task_type
    options = task_type.validate_options(evaluation.options)
    named = (
        build_metric_if_known(task_type, score.metric, evaluation.rules, options)
        for score in evaluation.scores.all()
    )
    kinds = calibration.CalibrationError, weighted.EqualSizeCalibrationError
    metric = next((metric for metric in named if isinstance(metric, kinds)), None)
    if metric is None:
        return None, np.zeros(0)
    try:
        rows = comparisons.read_statistics_of_run(
            evaluation, [metric.statistic]
        ).matrices[metric.statistic]
    except (comparisons.UnreadableStatistics, KeyError):
        return None, np.zeros(0)
    if isinstance(metric, calibration.CalibrationError):
        return metric, rows.sum(axis=0)
    equal_width = calibration.CalibrationError(
        "ece", evaluation.rules, labels=metric.labels
    )
    return equal_width, equal_width.compute_bin_columns(
        rows[:, 0], rows[:, 1], rows[:, 2] > 0
    ).sum(axis=0)


def build_reliability_chart(bins: Sequence[ConfidenceBin]) -> ScatterPlot:
    """Return the reliability chart, which shows accuracy (y axis) against confidence (x
    axis). On the diagonal of the chart, accuracy equals confidence.
    """
    places = [
        ScatterPoint(
            name=_("%(count)s instances")
            % {"count": localize_separators(f"{one.size:,}")},
            x=FigureValue(
                value=one.confidence,
                text=_("confidence %(value)s")
                % {"value": formatting.format_score(one.confidence)},
            ),
            y=FigureValue(
                value=one.right,
                text=_("%(share)s right")
                % {"share": formatting.format_score(one.right)},
            ),
        )
        for one in bins
    ]
    ends = [
        ScatterPoint(name="", x=FigureValue(value=end), y=FigureValue(value=end))
        for end in (0.0, 1.0)
    ]
    return ScatterPlot(
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
