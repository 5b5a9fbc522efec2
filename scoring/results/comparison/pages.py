from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from citeboard.core.words import count_with_noun, join_names, localize_separators
from scoring.figures import Axis, DotPlot, FigureValue, ValueSeries
from scoring.results.board import differences, formatting
from scoring.results.board.formatting import (
    display_name_of_dimension,
    display_name_of_metric,
)
from scoring.results.board.gold_keys import (
    DRAW_SEED_PLACEHOLDER,
    build_gold_key_options_for_display,
)
from scoring.results.board.visibility import Audience
from scoring.results.comparison.changes import InstanceChange, RunChanges
from scoring.results.comparison.contenders import TwoRunsInstancesQuery, TwoRunsQuery
from scoring.results.comparison.paired_scores import (
    ClassDifference,
    EvaluationPair,
    PairedTestResults,
    compute_class_differences,
    find_differing_instances,
    list_shared_dimensions,
)
from scoring.stats import jackknife, signature, significance
from tasks.gold.secrecy import get_embargoes_of_phase
from tasks.types.base import replace_paths_by_file_names
from tasks.types.stored_judges import (
    LABEL_FILE_PLACEHOLDERS,
    replace_judges_by_label_files,
)


def _format_difference_interval(result: Mapping[str, Any], scale: float) -> str:
    """Return the interval of a difference between two scores as text, or the reason for
    a missing interval.
    """
    match result.get("no_interval"):
        case jackknife.NoIntervalReason.SAME:
            return _("the same in every unit")
        case jackknife.NoIntervalReason.TOO_FAR as reason:
            return formatting.describe_missing_interval(reason)
    return formatting.format_interval(result["low"], result["high"], scale)


def build_paired_test_context(
    pair: EvaluationPair, results: PairedTestResults | None, query: TwoRunsQuery
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
            "label": display_name_of_metric(metric.name),
            "a": formatting.format_score(a.value, a.scale, is_infinite=a.is_infinite),
            "b": formatting.format_score(b.value, b.scale, is_infinite=b.is_infinite),
            "difference": formatting.format_score(
                a.value - b.value if both else None,  # type: ignore[operator]
                a.scale,
            ),
        }
        if results and metric.is_exchangeable:
            result = results[metric.name]
            line |= {
                "interval": _format_difference_interval(result, metric.scale),
                "p": format_p_value_or_dash(result["p"]),
                "p_holm": format_p_value_or_dash(result["p_holm"]),
                "verdict": "",
                "test": result["test"],
            }
            p, difference = result["p_holm"], result["difference"]
            if (
                p is not None
                and p <= significance.FAMILYWISE_ERROR_RATE
                and difference is not None
            ):
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
            [
                display_name_of_metric(one.name)
                for one in pair.metrics
                if not one.is_exchangeable
            ]
        ),
        "left_out": len(scores[0].keys() | scores[1].keys()) - len(pair.metrics),
        "make_href": query.build_query_string(tests=True),
        "units": units,
        "alpha": significance.FAMILYWISE_ERROR_RATE,
        "smallest": format_p_value_or_dash(smallest)
        if units and smallest > significance.FAMILYWISE_ERROR_RATE
        else "",
        "command": _build_offline_compare_command(
            pair, significance.choose_number_of_exchanges(units)
        )
        if first
        else "",
    }


def format_p_value_or_dash(p: float | None) -> str:
    return (
        formatting.EN_DASH
        if p is None
        else localize_separators("< 0.001" if p < 0.001 else f"{p:.3f}")
    )


def _build_offline_compare_command(pair: EvaluationPair, trials: int) -> str:
    names = [side.submission.filename_without_team_details for side in (pair.a, pair.b)]
    if names[0] == names[1]:
        names = [f"A/{names[0]}", f"B/{names[1]}"]
    return signature.format_compare_command(
        pair.a.phase.task.type,
        rules=pair.a.rules,
        options=replace_paths_by_file_names(
            replace_judges_by_label_files(pair.a.options, LABEL_FILE_PLACEHOLDERS)
        ),
        gold="GOLD",
        runs=(names[0], names[1]),
        trials=trials,
        seed=significance.SEED,
        part=pair.a.part,
        key=build_gold_key_options_for_display(pair.a.gold),
        draw=DRAW_SEED_PLACEHOLDER,
    )


def build_class_comparison_context(
    pair: EvaluationPair, a: str, b: str, query: TwoRunsQuery, audience: Audience
) -> dict[str, Any] | None:
    names = [name for name in list_shared_dimensions([pair.a, pair.b]) if pair.by(name)]
    if not names:
        return None
    dimension = query.dimension if query.dimension in names else names[0]
    measured = pair.by(dimension)
    metric = next(
        (shared for shared in measured if shared.name == query.metric), measured[0]
    )
    phase = pair.a.phase
    hidden = differences.find_hidden_classes(
        [pair.a.pk, pair.b.pk], phase, audience
    ).get(dimension, frozenset())
    lines = compute_class_differences(pair, dimension, metric, hidden)
    label = formatting.display_name_of_metric(metric.name)
    title = f"{label}: {a} {formatting.MINUS_SIGN} {b}"
    # In the chart, a class is right of zero if the first run has the higher score.
    drawn = [line for line in lines if line.difference is not None]
    points = [
        FigureValue(
            value=line.difference,
            low=line.low,
            high=line.high,
            is_faint=not line.has_support,
        )
        for line in drawn
    ]
    return {
        "dimensions": query.choices(
            "dimension", names, dimension, display_name_of_dimension, label="", page=1
        ),
        "metrics": query.choices(
            "metric",
            [shared.name for shared in measured],
            metric.name,
            display_name_of_metric,
            page=1,
        ),
        "dimension_label": formatting.display_name_of_dimension(dimension),
        "metric_label": label,
        "lines": [
            {
                "label": formatting.display_name_of_class(line.label),
                "n": line.n,
                "has_support": line.has_support,
                "withheld": line.withheld,
                "a": formatting.format_score(
                    line.a, metric.scale, withheld=line.withheld and line.a is None
                ),
                "b": formatting.format_score(
                    line.b, metric.scale, withheld=line.withheld and line.b is None
                ),
                "difference": formatting.format_score(
                    line.difference, metric.scale, withheld=line.withheld
                ),
                "interval": formatting.format_interval(
                    line.low, line.high, metric.scale
                ),
            }
            for line in lines
        ],
        "has_intervals": any(line.low is not None for line in lines),
        "min_class_size": get_embargoes_of_phase(phase).min_class_size if hidden else 0,
        "few": any(not line.has_support and not line.withheld for line in lines),
        "figure": DotPlot(
            title=title,
            labels=[formatting.display_name_of_class(line.label) for line in drawn],
            series=[ValueSeries(name=_("difference"), values=points)],
            axis=Axis(
                title=title,
                decimals=formatting.decimal_places_for_scale(metric.scale),
                has_zero=True,
            ),
        ),
        "words": describe_class_differences(lines, a, b),
    }


#: The page lists at most MAX_TURNED_INSTANCES_LISTED instances that became right, or that became wrong.
MAX_TURNED_INSTANCES_LISTED = 12


def build_run_changes_context(
    changes: RunChanges, query: TwoRunsQuery
) -> dict[str, Any]:
    """Return the context data of a page about the changes from an earlier run to a
    later run.
    """
    part: dict[str, Any] = {
        "before": changes.before,
        "after": changes.after,
        "metric_label": display_name_of_metric(changes.metric.name)
        if changes.metric
        else "",
        "dimension_label": display_name_of_dimension(changes.dimension),
        "better": join_names(
            list(map(formatting.display_name_of_class, changes.better))
        ),
        "worse": join_names(list(map(formatting.display_name_of_class, changes.worse))),
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
        "instance_metric": display_name_of_metric(of.metric.name),
        "turned": [
            _build_turned_instances_context(
                _("turned right"), of.turned_right, read, "a-right"
            ),
            _build_turned_instances_context(
                _("turned wrong"), of.turned_wrong, read, "b-right"
            ),
        ],
        "by_class": [
            {
                "label": formatting.display_name_of_class(label),
                "right": of.count_turned_right_by_class[label],
                "wrong": of.count_turned_wrong_by_class[label],
            }
            for label in labels
            if of.count_turned_right_by_class[label]
            or of.count_turned_wrong_by_class[label]
        ],
    }


def _build_turned_instances_context(
    heading: str,
    turned: Sequence[InstanceChange],
    read: TwoRunsInstancesQuery,
    which: str,
) -> dict[str, Any]:
    return {
        "heading": heading,
        "count": len(turned),
        "lines": [
            (change.name, read.build_query_string(instance=change.name))
            for change in turned[:MAX_TURNED_INSTANCES_LISTED]
        ],
        "all": read.build_query_string(which=which),
    }


def build_differing_instances_context(
    pair: EvaluationPair, query: TwoRunsQuery
) -> dict[str, Any] | None:
    if not pair.metrics_with_instance_values:
        return None
    names = list_shared_dimensions([pair.a, pair.b])
    dimension = query.dimension if query.dimension in names else next(iter(names), "")
    metric = next(
        (
            shared
            for shared in pair.metrics_with_instance_values
            if shared.name == query.metric
        ),
        pair.metrics_with_instance_values[0],
    )
    apart = find_differing_instances(pair, metric, dimension, query.label, query.page)
    if apart is None:
        return None
    page, pages = apart["page"], apart["pages"]
    return {
        **apart,
        "metric_label": formatting.display_name_of_metric(metric.name),
        "dimension": dimension,
        "dimension_label": formatting.display_name_of_dimension(dimension),
        "carried": query.pairs(dimension=dimension, label="", page=1),
        "labels": [
            (label, formatting.display_name_of_class(label))
            for label in apart["labels"]
        ],
        "label": query.label,
        "class_label": formatting.display_name_of_class(query.label),
        "lines": [
            {
                "name": name,
                "classes": ", ".join(map(formatting.display_name_of_class, classes)),
                "a": formatting.format_score(a, metric.scale),
                "b": formatting.format_score(b, metric.scale),
                "difference": formatting.format_score(a - b, metric.scale),
            }
            for name, classes, a, b in apart["lines"]
        ],
        "before": query.build_query_string(page=page - 1) if page > 1 else "",
        "after": query.build_query_string(page=page + 1) if page < pages else "",
    }


def describe_class_differences(lines: Sequence[ClassDifference], a: str, b: str) -> str:
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
