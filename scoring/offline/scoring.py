"""Scoring without a database: what the commands do, and what the worker's child does."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scoring.stats.interval_methods import METHODS
from tasks.types import InputRefused, Pairs, Problem, Split, TaskType
from tasks.types.base import ShownInstance, as_written
from tasks.types.files import InputFile, input_digest, open_input, open_inputs
from tasks.types.problems import fatal
from tasks.types.runs import read_run

if TYPE_CHECKING:
    from scoring.offline.evaluate import Scores

Progress = Callable[[str, float], None]


@dataclass(frozen=True, kw_only=True)
class Scoring:
    """What is asked of the offline scorer."""

    task_type: TaskType
    gold: Sequence[Path]
    run: Path
    rules: str
    options: Mapping[str, str]
    resamples: int = 1000
    seed: int = 0
    method: str = METHODS[0]
    statistics: Path | None = None
    run_name: str | None = None
    #: Where pending pairs are written; a run that has any is then not scored.
    pending: Path | None = None


@dataclass(frozen=True, kw_only=True)
class Checking:
    """What is asked of a check: by the gold, or by the public inputs that participants have."""

    task_type: TaskType
    run: Path
    options: Mapping[str, str]
    gold: Sequence[Path] = ()
    inputs: Sequence[Path] = ()
    run_name: str | None = None


def no_progress(step: str, done: float) -> None:
    """For those who do not ask."""


def read_split(task_type: TaskType, gold: Sequence[Path], options: Mapping[str, str]) -> Split:
    return task_type.read_gold(open_inputs(gold), options)


def check(checking: Checking, progress: Progress = no_progress) -> dict[str, Any]:
    """What `check --json` prints. Raises InputRefused with every problem where one is fatal."""
    task_type, options = checking.task_type, checking.options
    result: dict[str, Any] = {"task_type": task_type.slug, "options": dict(options)}
    if checking.gold:
        progress("reading gold", 0.0)
        split = read_split(task_type, checking.gold, options)
        index = split.index
        result["gold"] = {"sha256": split.digest, "instances": split.instances}
    else:
        index = task_type.read_inputs(open_inputs(checking.inputs), options)
    progress("reading the run", 0.5)
    files = open_input(checking.run, shown=checking.run_name)
    problems = read_run(task_type, files, index, options, name=checking.run_name or str(checking.run))[1]
    if fatal(problems):
        raise InputRefused(problems)
    progress("done", 1.0)
    result["run"] = {"sha256": input_digest(files)}
    return {**result, "warnings": [problem.as_dict() for problem in problems]}


def read_pairs(
    scoring: Scoring, progress: Progress = no_progress
) -> tuple[Split, list[InputFile], Pairs, list[Problem]]:
    """Raises InputRefused with every problem where one is fatal."""
    progress("reading gold", 0.0)
    split = read_split(scoring.task_type, scoring.gold, scoring.options)
    progress("reading the run", 0.2)
    files = open_input(scoring.run, shown=scoring.run_name)
    name = scoring.run_name or str(scoring.run)
    answers, problems = read_run(scoring.task_type, files, split.index, scoring.options, name=name)
    if fatal(problems):
        raise InputRefused(problems)
    progress("scoring", 0.4)
    return split, files, scoring.task_type.pair(split, answers, scoring.rules, scoring.options), problems


def score(scoring: Scoring, progress: Progress = no_progress) -> dict[str, Any]:
    """What `score --json` prints.

    Raises InputRefused with every problem where one is fatal, Unavailable where something is missing.
    """
    from scoring.offline.evaluate import Resampling, evaluate

    split, files, pairs, problems = read_pairs(scoring, progress)
    if scoring.pending:
        from scoring.metrics import metrics_of
        from scoring.offline.entailment_exchange import stop_where_pending

        metrics = metrics_of(scoring.task_type, scoring.rules, scoring.options)
        stop_where_pending(metrics, pairs, scoring.pending)
    scores = evaluate(
        scoring.task_type,
        pairs,
        rules=scoring.rules,
        options=scoring.options,
        gold=split.digest,
        resampling=Resampling(resamples=scoring.resamples, seed=scoring.seed, method=scoring.method),
        progress=lambda share: progress("scoring", 0.4 + 0.5 * share),
    )
    if scoring.statistics:
        progress("keeping the statistics", 0.9)
        show = scoring.task_type.show_instances or as_written
        shown = show(open_inputs(scoring.gold), split, pairs, scoring.options)
        keep_statistics(scoring, scoring.statistics, scores, pairs, shown)
    progress("done", 1.0)
    warnings = [problem.as_dict() for problem in problems]
    return printed(scoring, split, scores) | {"run": {"sha256": input_digest(files)}, "warnings": warnings}


def keep_statistics(
    scoring: Scoring, path: Path, scores: Scores, pairs: Pairs, instances: Iterable[ShownInstance] = ()
) -> None:
    from scoring.metrics import metrics_of
    from scoring.offline.evaluate import details_of, save_statistics

    metrics = metrics_of(scoring.task_type, scoring.rules, scoring.options)
    save_statistics(path, scores, pairs, details_of(metrics, pairs.answers), instances)


def printed(scoring: Scoring, split: Split, scores: Scores) -> dict[str, Any]:
    """The scores and what they were computed with; whose run it is follows."""
    return {
        "task_type": scoring.task_type.slug,
        "rules": scoring.rules,
        "options": dict(scoring.options),
        "gold": {"sha256": split.digest, "instances": split.instances, "notes": list(split.notes)},
        "run": {},
        "metrics": {name: value.as_dict() for name, value in scores.metrics.items()},
        "breakdowns": scores.breakdowns,
        "notes": dict(scores.notes),
        "warnings": [],
    }


def described(task_type: TaskType) -> dict[str, Any]:
    """What `types --json` prints of one task type."""
    return {
        "slug": task_type.slug,
        "title": task_type.title,
        "rules": list(task_type.rules),
        "metrics": list(task_type.metrics),
        "dimensions": list(task_type.dimensions),
        "options": [
            {"name": o.name, "default": o.default, "summary": o.summary, "choices": list(o.choices)}
            for o in task_type.options
        ],
    }


def as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
