"""Score an answer to one instance of the public sample with every metric of the task
type.

The functions of this module run in a confined process. Arguments and results are JSON
values; Django is not imported.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from citeboard.core.confined import UPLOAD_FILE_NAME
from scoring.metrics import Metric, SoftwareUnavailable, build_metrics
from scoring.metrics.base import Floats, compute_metric_value, finite_or_none
from scoring.offline.evaluate import (
    collect_details,
    compute_matrix,
    number_distinct_names,
)
from scoring.offline.marking import iterate_instances_with_marks
from scoring.offline.sample import SAMPLE_FOLDER, SAMPLE_RUN_FILE, open_sample
from tasks.types import InputRefused, Options, Pairs, Problem, TaskType, task_type
from tasks.types.declared.folder import open_sample_files
from tasks.types.files import open_input_files
from tasks.types.problems import (
    convert_problems_to_dicts,
    select_fatal_problems,
    sort_problems,
)
from tasks.types.runs import read_run


def tried(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the problems of an answer to an instance of the public sample. If the
    answer has no problems, return the instance and its scores by rule set and metric.
    """
    kind, name = task_type(given["task_type"]), given["filename"]
    # Leave out options with files, which contain parses of the sample's answers.
    gold, split, options = open_sample(kind, given["sample"], has_files=False)
    try:
        file = open_input_files(Path(UPLOAD_FILE_NAME), shown=name)
        answers, problems = read_run(kind, file, split.index, options, name=name)
    except InputRefused as refused:
        return {"problems": convert_problems_to_dicts(sort_problems(refused.problems))}
    named = None
    if given["sample"] and isinstance(answers, dict):
        # If the task needs all instances, the sample has answers for the others.
        named, run = (
            set(answers),
            open_sample_files(given["sample"], f"{SAMPLE_FOLDER}{SAMPLE_RUN_FILE}"),
        )
        answers = {**read_run(kind, run, split.index, options)[0], **answers}
        problems = [problem for problem in problems if problem.line]
    if select_fatal_problems(problems):
        return {"problems": convert_problems_to_dicts(select_fatal_problems(problems))}
    pairs = kind.pairs_of(split, answers, given["rules"][0], options)
    every = iterate_instances_with_marks(
        kind,
        kind.show_instances(gold, split, pairs, options),
        build_metrics(kind, given["rules"][0], options),
        pairs,
    )
    shown = [
        one for one in every if (one.answer if named is None else one.name in named)
    ]
    if len(shown) != 1:
        found = f"{len(shown)} instances have an answer"
        return {
            "problems": convert_problems_to_dicts(
                [Problem(file=name, message=found, expected="the answer to one")]
            )
        }
    return {
        "problems": [],
        "shown": asdict(shown[0]),
        "details": _compute_instance_details_by_metric(
            kind, pairs, given["rules"][0], options
        ).get(shown[0].name, {}),
        "values": {
            rules: _compute_instance_scores_by_metric(
                kind,
                kind.pairs_of(split, answers, rules, options),
                rules,
                options,
                shown[0].name,
            )
            for rules in given["rules"]
        },
    }


def _compute_instance_details_by_metric(
    kind: TaskType, pairs: Pairs, rules: str, options: Options
) -> Mapping[str, Any]:
    try:
        return collect_details(build_metrics(kind, rules, options), pairs.answers)
    except SoftwareUnavailable:
        return {}


def _compute_instance_scores_by_metric(
    kind: TaskType, pairs: Pairs, rules: str, options: Options, name: str
) -> dict[str, Any]:
    rows = [row for row, own in enumerate(pairs.names or ()) if own == name]
    units = number_distinct_names(pairs.units)[1][rows]
    return {
        metric.name: {
            "scale": metric.scale,
            **_compute_instance_score(metric, pairs, rows, units),
        }
        for metric in build_metrics(kind, rules, options)
    }


def _compute_instance_score(
    metric: Metric, pairs: Pairs, rows: list[int], units: Any
) -> dict[str, Any]:
    """Return the score of the answer by one metric.

    If the metric has no score, ``lacks`` is the reason, which is a missing model, an
    official program that does not run here, or a metric that needs whole runs.
    """
    if not (metric.is_decomposable and metric.is_exchangeable):
        return {"value": None, "lacks": "run"}
    try:
        stats: Floats = compute_matrix(metric, pairs)[rows]
    except SoftwareUnavailable:
        return {"value": None, "lacks": "model"}
    except InputRefused:
        return {"value": None, "lacks": "program"}
    return {
        "value": finite_or_none(
            compute_metric_value(metric, stats, units) if len(rows) else math.nan
        ),
        "lacks": "",
    }
