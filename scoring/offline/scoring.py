"""Score runs without a database, for commands and for the child process of a worker."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from scoring.offline.gold_key import DEFAULT_GOLD_KEY, GoldKey
from scoring.stats.interval_methods import METHODS
from tasks.types import InputRefused, Pairs, Problem, Split, TaskType
from tasks.types.base import ShownInstance
from tasks.types.files import (
    InputFile,
    compute_input_digest,
    open_files_of_all_inputs,
    open_input_files,
)
from tasks.types.problems import (
    merge_equal_problems,
    raise_if_any_problem_is_fatal,
    select_fatal_problems,
)
from tasks.types.runs import read_run

if TYPE_CHECKING:
    from scoring.offline.evaluate import RunScores
    from scoring.offline.parts import RowIndices, SplitPart
    from tasks.types.repairs import RepairedRun

ProgressFunction = Callable[[str, float], None]


@dataclass(frozen=True, kw_only=True)
class ScoringRequest:
    """The arguments of the offline scorer for scoring one run."""

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
    #: If entailment pairs lack labels, the scorer writes the pairs to ``pending``.
    pending: Path | None = None
    #: ``part`` is the part of the split to score, or None for the whole split.
    part: "SplitPart | None" = None
    #: ``key`` determines the digest of the gold in the column keys of scores.
    key: GoldKey = DEFAULT_GOLD_KEY


def ignore_progress(step: str, done: float) -> None:
    """Ignore the progress that the scorer reports."""


def read_split(
    task_type: TaskType,
    gold: Sequence[Path],
    options: Mapping[str, str],
    key: GoldKey = DEFAULT_GOLD_KEY,
) -> Split:
    return task_type.gold_of(
        open_files_of_all_inputs(gold, reading=key.reading), options
    )


class RunRefused(InputRefused):
    """An error about a run that cannot be scored, with a ``repair`` if a correction of
    the file is unambiguous.
    """

    def __init__(
        self, problems: Iterable[Problem], repair: "RepairedRun | None"
    ) -> None:
        super().__init__(problems)
        self.repair = repair


def check(  # noqa: PLR0913  (each is an option of the command)
    task_type: TaskType,
    run: Path,
    options: Mapping[str, str],
    *,
    gold: Sequence[Path] | None,
    inputs: Sequence[Path] | None,
    run_name: str | None,
    progress: ProgressFunction,
    key: GoldKey = DEFAULT_GOLD_KEY,
    encoding: str = "",
    repairs: bool = False,
) -> dict[str, Any]:
    """Return the JSON output of the command `check`, which validates a run file.

    The run is validated against gold or against public inputs. If a problem is fatal,
    the function raises InputRefused with all problems, or RunRefused if ``repairs`` is
    True.
    """
    result: dict[str, Any] = {"task_type": task_type.slug, "options": dict(options)}
    if gold:
        progress("reading gold", 0.0)
        split = key.restore_candidate_order(
            task_type, read_split(task_type, gold, options, key)
        )
        index = split.index
        result["gold"] = key.printed(split)
    else:
        given = open_files_of_all_inputs(inputs or (), reading=key.reading)
        index = task_type.read_inputs(given, options)
    progress("reading the run", 0.5)
    files = open_input_files(
        run, shown=run_name, reading=key.reading, encoding=encoding
    )
    problems = read_run(task_type, files, index, options, name=run_name or str(run))[1]
    if repairs and select_fatal_problems(problems):
        found = None
        # Checking a run needs no packages of the scorer, but repairing a run does.
        with suppress(ImportError):
            from tasks.types.repairs import repair_run_if_unambiguous

            found = repair_run_if_unambiguous(task_type, files, index, options)
        raise RunRefused(problems, found)
    raise_if_any_problem_is_fatal(problems)
    progress("done", 1.0)
    result["run"] = {"sha256": compute_input_digest(files)}
    return {
        **result,
        "warnings": [problem.as_dict() for problem in merge_equal_problems(problems)],
        "problems": [problem.as_check_command_json() for problem in problems],
    }


class ParsedRun(NamedTuple):
    """The gold and the run of a scoring request after parsing, for use with all rule
    sets.
    """

    split: Split
    files: list[InputFile]
    answers: Any
    problems: list[Problem]

    def pairs(self, scoring: ScoringRequest) -> Pairs:
        return scoring.task_type.pairs_of(
            self.split, self.answers, scoring.rules, scoring.options
        )

    def parts(self, scoring: ScoringRequest, pairs: Pairs) -> "Sequence[RowIndices]":
        """Return the rows in the requested part of the split and the rows in the other
        part, or nothing if the whole split is scored.
        """
        if scoring.part is None:
            return ()
        from scoring.offline.parts import find_rows_of_parts

        asked = self.split, self.answers, scoring.rules, scoring.options
        return find_rows_of_parts(scoring.task_type, scoring.part, pairs, *asked)

    def rows(self, scoring: ScoringRequest) -> "tuple[Pairs, RowIndices | None]":
        pairs = self.pairs(scoring)
        return pairs, next(iter(self.parts(scoring, pairs)), None)


def read_gold_and_run(
    scoring: ScoringRequest, progress: ProgressFunction = ignore_progress
) -> ParsedRun:
    """Read the gold and the run of a scoring request from files. Raises InputRefused
    with all problems if a problem is fatal.
    """
    progress("reading gold", 0.0)
    split = read_split(scoring.task_type, scoring.gold, scoring.options, scoring.key)
    split = scoring.key.restore_candidate_order(scoring.task_type, split)
    progress("reading the run", 0.2)
    files = open_input_files(
        scoring.run, shown=scoring.run_name, reading=scoring.key.reading
    )
    name = scoring.run_name or str(scoring.run)
    answers, problems = read_run(
        scoring.task_type, files, split.index, scoring.options, name=name
    )
    raise_if_any_problem_is_fatal(problems)
    return ParsedRun(split, files, answers, problems)


def score(
    scoring: ScoringRequest, progress: ProgressFunction = ignore_progress
) -> dict[str, Any]:
    """Return the JSON output of the command `score`.

    Raises InputRefused with all problems if a problem is fatal, or Unavailable if a
    dependency is missing.
    """
    return score_parsed_run(scoring, read_gold_and_run(scoring, progress), progress)


def score_parsed_run(
    scoring: ScoringRequest,
    read: ParsedRun,
    progress: ProgressFunction = ignore_progress,
    share: tuple[float, float] = (0.4, 1.0),
) -> dict[str, Any]:
    """Return the JSON output of the command `score` for a run that is already parsed.
    The reported progress goes from the first to the second number in ``share``.
    """
    from scoring.metrics import build_metrics
    from scoring.offline.evaluate import (
        IntervalSettings,
        compute_matrices,
        evaluate_pairs,
    )
    from scoring.offline.marking import iterate_instances_with_marks
    from scoring.offline.parts import select_pairs

    split, begin, end = read.split, *share
    progress("scoring", begin)
    pairs = read.pairs(scoring)
    parts = read.parts(scoring, pairs)
    metrics = build_metrics(scoring.task_type, scoring.rules, scoring.options)
    if scoring.pending:
        from scoring.offline.entailment_exchange import raise_if_pairs_pending

        asked = scoring.task_type.asked_items
        items = list(asked(split, pairs)) if asked else []
        raise_if_pairs_pending(metrics, pairs, scoring.pending, items)
    evaluated = partial(
        evaluate_pairs,
        scoring.task_type,
        pairs,
        known=compute_matrices(
            metrics,
            pairs,
            lambda done: progress("scoring", begin + (end - begin) * done * 5 / 6),
        ),
        rules=scoring.rules,
        options=scoring.options,
        gold=scoring.key.compute_gold_digest(split),
        reading=scoring.key.reading,
        nonce=scoring.key.nonce,
        resampling=IntervalSettings(
            resamples=scoring.resamples, seed=scoring.seed, method=scoring.method
        ),
    )
    scores = evaluated(part=str(scoring.part or ""), rows=parts[0] if parts else None)
    if scoring.statistics:
        progress("keeping the statistics", begin + (end - begin) * 5 / 6)
        shown = scoring.task_type.show_instances(
            open_files_of_all_inputs(scoring.gold, reading=scoring.key.reading),
            split,
            pairs,
            scoring.options,
        )
        shown = iterate_instances_with_marks(scoring.task_type, shown, metrics, pairs)
        kept = select_pairs(pairs, parts[0]) if parts else pairs
        if parts:
            names = set(kept.names or ())
            shown = (instance for instance in shown if instance.name in names)
        save_run_statistics(scoring, scoring.statistics, scores, pairs, shown, kept)
    progress("done", end)
    warnings = [problem.as_dict() for problem in merge_equal_problems(read.problems)]
    run = {"run": {"sha256": compute_input_digest(read.files)}, "warnings": warnings}
    result = build_scores_output(scoring, split, scores) | run
    if scoring.part is None:
        return result
    rest = evaluated(part=str(scoring.part.other), rows=parts[1])
    others = {name: value.as_dict() for name, value in rest.metrics.items()}
    other = {"part": str(scoring.part.other), "metrics": others}
    return result | {"part": str(scoring.part), "other_part": other}


def save_run_statistics(
    scoring: ScoringRequest,
    path: Path,
    scores: "RunScores",
    pairs: Pairs,
    instances: Iterable[ShownInstance] = (),
    kept: Pairs | None = None,
) -> None:
    """Save the matrices and units of a scored run to a file. If only some rows of the
    run were scored, ``kept`` contains the pairs of these rows.
    """
    from scoring.metrics import build_metrics
    from scoring.offline.evaluate import collect_details, save_statistics

    metrics = build_metrics(scoring.task_type, scoring.rules, scoring.options)
    save_statistics(
        path, scores, kept or pairs, collect_details(metrics, pairs.answers), instances
    )


def build_scores_output(
    scoring: ScoringRequest, split: Split, scores: "RunScores"
) -> dict[str, Any]:
    """Return the scores of a run for output, together with the task type, rules,
    options and gold. The caller adds the field ``run`` to the output.
    """
    return {
        "task_type": scoring.task_type.slug,
        "rules": scoring.rules,
        "options": dict(scoring.options),
        "gold": {**scoring.key.printed(split), "notes": list(split.notes)},
        "run": {},
        "metrics": {name: value.as_dict() for name, value in scores.metrics.items()},
        "breakdowns": scores.breakdowns,
        "notes": dict(scores.notes),
        "warnings": [],
    }


def describe_task_type(task_type: TaskType) -> dict[str, Any]:
    """Return the JSON output of the command `types` for one task type."""
    return {
        "slug": task_type.slug,
        "title": task_type.title,
        "rules": list(task_type.rules),
        "metrics": list(task_type.metrics),
        "dimensions": list(task_type.dimensions),
        "options": [
            {
                "name": o.name,
                "default": o.default,
                "summary": o.summary,
                "choices": list(o.choices),
            }
            for o in task_type.all_options
        ],
    }


def format_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
