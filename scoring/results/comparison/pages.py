from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from citeboard.core.words import count_with_noun, join_names, localize_separators
from scoring.figures import Axis, Dots, Measured, Series
from scoring.results.board import differences, formatting
from scoring.results.board.formatting import dimension_label, metric_label
from scoring.results.board.gold_keys import DRAW, gold_key_without_nonce
from scoring.results.board.visibility import Audience
from scoring.results.comparison.changes import InstanceChange, RunChanges
from scoring.results.comparison.contenders import TwoRunsInstancesQuery, TwoRunsQuery
from scoring.results.comparison.paired_scores import (
    ClassDifference,
    EvaluationPair,
    Told,
    class_differences,
    differing_instances,
    shared_dimensions,
)
from scoring.stats import jackknife, signature, significance
from tasks.gold.secrecy import embargoes_of
from tasks.types.base import printed_options
from tasks.types.stored_judges import PLACEHOLDERS, with_label_files


def _interval_text(result: Mapping[str, Any], scale: float) -> str:
    """Return the interval of a difference between two scores as text, or the reason for
    a missing interval.
    """
    match result.get("no_interval"):
        case jackknife.NoInterval.SAME:
            return _("the same in every unit")
        case jackknife.NoInterval.TOO_FAR as reason:
            return formatting.missing_interval_reason(reason)
    return formatting.interval(result["low"], result["high"], scale)


def paired_test_context(
    pair: EvaluationPair, results: Told | None, query: TwoRunsQuery
) -> dict[str, Any]:
    scores = [
        {score.metric: score for score in side.scores.all()}
        for side in (pair.a, pair.b)
    ]
    lines = []
    for metric in pair.metrics:
        a, b = (one[metric.name] for one in scores)
        both = a.value is not None and b.value is not None
        line = {
            "label": metric_label(metric.name),
            "a": formatting.shown(a.value, a.scale, is_infinite=a.is_infinite),
            "b": formatting.shown(b.value, b.scale, is_infinite=b.is_infinite),
            "difference": formatting.shown(
                a.value - b.value if both else None,  # type: ignore[operator]
                a.scale,
            ),
        }
        if results and metric.is_exchangeable:
            result = results[metric.name]
            line |= {
                "interval": _interval_text(result, metric.scale),
                "p": p_value_text(result["p"]),
                "p_holm": p_value_text(result["p_holm"]),
                "verdict": "",
                "test": result["test"],
            }
            p, difference = result["p_holm"], result["difference"]
            if p is not None and p <= significance.ALPHA and difference is not None:
                is_more = difference > 0
                sides = (
                    ("higher", "lower")
                    if metric.higher_is_better is None
                    else ("a", "b")
                )
                line["verdict"] = sides[
                    0 if is_more == (metric.higher_is_better is not False) else 1
                ]
        lines.append(line)
    first = next(iter(results.values())) if results else None
    units = first["units"] if first else 0
    # The page states the smallest p-value that this number of units can reach.
    smallest = 2.0 / 2 ** min(units, 60)
    return {
        "lines": lines,
        "is_made": results is not None,
        "untested": join_names(
            [metric_label(one.name) for one in pair.metrics if not one.is_exchangeable]
        ),
        "left_out": len(scores[0].keys() | scores[1].keys()) - len(pair.metrics),
        "make_href": query.with_(tests=True),
        "units": units,
        "alpha": significance.ALPHA,
        "smallest": p_value_text(smallest)
        if units and smallest > significance.ALPHA
        else "",
        "command": _offline_compare_command(pair, significance.trials_for(units))
        if first
        else "",
    }


def p_value_text(p: float | None) -> str:
    return (
        formatting.EN_DASH
        if p is None
        else localize_separators("< 0.001" if p < 0.001 else f"{p:.3f}")
    )


def _offline_compare_command(pair: EvaluationPair, trials: int) -> str:
    names = [side.submission.neutral_filename for side in (pair.a, pair.b)]
    if names[0] == names[1]:
        names = [f"A/{names[0]}", f"B/{names[1]}"]
    return signature.compare_command(
        pair.a.phase.task.type,
        rules=pair.a.rules,
        options=printed_options(with_label_files(pair.a.options, PLACEHOLDERS)),
        gold="GOLD",
        runs=(names[0], names[1]),
        trials=trials,
        seed=significance.SEED,
        part=pair.a.part,
        key=gold_key_without_nonce(pair.a.gold),
        draw=DRAW,
    )


def class_comparison_context(
    pair: EvaluationPair, a: str, b: str, query: TwoRunsQuery, audience: Audience
) -> dict[str, Any] | None:
    names = [name for name in shared_dimensions([pair.a, pair.b]) if pair.by(name)]
    if not names:
        return None
    dimension = query.dimension if query.dimension in names else names[0]
    measured = pair.by(dimension)
    metric = next(
        (shared for shared in measured if shared.name == query.metric), measured[0]
    )
    phase = pair.a.phase
    hidden = differences.hidden_classes([pair.a.pk, pair.b.pk], phase, audience).get(
        dimension, frozenset()
    )
    lines = class_differences(pair, dimension, metric, hidden)
    label = formatting.metric_label(metric.name)
    title = f"{label}: {a} {formatting.MINUS_SIGN} {b}"
    # In the chart, a class is right of zero if the first run has the higher score.
    drawn = [line for line in lines if line.difference is not None]
    points = [
        Measured(
            value=line.difference,
            low=line.low,
            high=line.high,
            is_faint=not line.has_support,
        )
        for line in drawn
    ]
    return {
        "dimensions": query.choices(
            "dimension", names, dimension, dimension_label, label="", page=1
        ),
        "metrics": query.choices(
            "metric",
            [shared.name for shared in measured],
            metric.name,
            metric_label,
            page=1,
        ),
        "dimension_label": formatting.dimension_label(dimension),
        "metric_label": label,
        "lines": [
            {
                "label": formatting.class_label(line.label),
                "n": line.n,
                "has_support": line.has_support,
                "withheld": line.withheld,
                "a": formatting.shown(
                    line.a, metric.scale, withheld=line.withheld and line.a is None
                ),
                "b": formatting.shown(
                    line.b, metric.scale, withheld=line.withheld and line.b is None
                ),
                "difference": formatting.shown(
                    line.difference, metric.scale, withheld=line.withheld
                ),
                "interval": formatting.interval(line.low, line.high, metric.scale),
            }
            for line in lines
        ],
        "has_intervals": any(line.low is not None for line in lines),
        "min_class_size": embargoes_of(phase).min_class_size if hidden else 0,
        "few": any(not line.has_support and not line.withheld for line in lines),
        "figure": Dots(
            title=title,
            labels=[formatting.class_label(line.label) for line in drawn],
            series=[Series(name=_("difference"), values=points)],
            axis=Axis(
                title=title, decimals=formatting.decimals(metric.scale), has_zero=True
            ),
        ),
        "words": class_differences_text(lines, a, b),
    }


#: The page lists at most MAX_TURNED_INSTANCES_LISTED instances that became right, or that became wrong.
MAX_TURNED_INSTANCES_LISTED = 12


def run_changes_context(changes: RunChanges, query: TwoRunsQuery) -> dict[str, Any]:
    """Return the context data of a page about the changes from an earlier run to a
    later run.
    """
    part: dict[str, Any] = {
        "before": changes.before,
        "after": changes.after,
        "metric_label": metric_label(changes.metric.name) if changes.metric else "",
        "dimension_label": dimension_label(changes.dimension),
        "better": join_names(list(map(formatting.class_label, changes.better))),
        "worse": join_names(list(map(formatting.class_label, changes.worse))),
        "has_classes": any(line.low is not None for line in changes.classes),
        "sees_instances": changes.sees_instances,
    }
    if (of := changes.instances) is None:
        return part
    read = TwoRunsInstancesQuery(
        a=changes.after.pk,
        b=changes.before.pk,
        rules=query.rules,
        gold=query.gold,
        metric=of.metric.name,
    )
    labels = [line.label for line in changes.classes if not line.withheld]
    return part | {
        "instances": of,
        "instance_metric": metric_label(of.metric.name),
        "turned": [
            _turned_instances_context(
                _("turned right"), of.turned_right, read, "a-right"
            ),
            _turned_instances_context(
                _("turned wrong"), of.turned_wrong, read, "b-right"
            ),
        ],
        "by_class": [
            {
                "label": formatting.class_label(label),
                "right": of.turned_right_by_class[label],
                "wrong": of.turned_wrong_by_class[label],
            }
            for label in labels
            if of.turned_right_by_class[label] or of.turned_wrong_by_class[label]
        ],
    }


def _turned_instances_context(
    heading: str,
    turned: Sequence[InstanceChange],
    read: TwoRunsInstancesQuery,
    which: str,
) -> dict[str, Any]:
    return {
        "heading": heading,
        "count": len(turned),
        "lines": [
            (change.name, read.with_(instance=change.name))
            for change in turned[:MAX_TURNED_INSTANCES_LISTED]
        ],
        "all": read.with_(which=which),
    }


def differing_instances_context(
    pair: EvaluationPair, query: TwoRunsQuery
) -> dict[str, Any] | None:
    if not pair.pooled:
        return None
    names = shared_dimensions([pair.a, pair.b])
    dimension = query.dimension if query.dimension in names else next(iter(names), "")
    metric = next(
        (shared for shared in pair.pooled if shared.name == query.metric),
        pair.pooled[0],
    )
    apart = differing_instances(pair, metric, dimension, query.label, query.page)
    if apart is None:
        return None
    page, pages = apart["page"], apart["pages"]
    return {
        **apart,
        "metric_label": formatting.metric_label(metric.name),
        "dimension": dimension,
        "dimension_label": formatting.dimension_label(dimension),
        "carried": query.pairs(dimension=dimension, label="", page=1),
        "labels": [(label, formatting.class_label(label)) for label in apart["labels"]],
        "label": query.label,
        "class_label": formatting.class_label(query.label),
        "lines": [
            {
                "name": name,
                "classes": ", ".join(map(formatting.class_label, classes)),
                "a": formatting.shown(a, metric.scale),
                "b": formatting.shown(b, metric.scale),
                "difference": formatting.shown(a - b, metric.scale),
            }
            for name, classes, a, b in apart["lines"]
        ],
        "before": query.with_(page=page - 1) if page > 1 else "",
        "after": query.with_(page=page + 1) if page < pages else "",
    }


def class_differences_text(lines: Sequence[ClassDifference], a: str, b: str) -> str:
    apart = [line.difference for line in lines if line.difference is not None]
    more, less = (
        sum(sign * difference > 0 for difference in apart) for sign in (1, -1)
    )
    facts = {
        "classes": count_with_noun(len(apart), "class", "classes"),
        "a": a,
        "b": b,
        "more": more,
        "less": less,
    }
    ends = [
        (line.low, line.high)
        for line in lines
        if line.low is not None and line.high is not None
    ]
    if not ends:
        return (
            _("Of %(classes)s, “%(a)s” has more in %(more)s, “%(b)s” in %(less)s.")
            % facts
        )
    return _(
        "Of %(classes)s, “%(a)s” has more in %(more)s, “%(b)s” in %(less)s; in "
        "%(sure)s the interval excludes zero."
    ) % {**facts, "sure": sum(low * high > 0 for low, high in ends) or _("none")}
