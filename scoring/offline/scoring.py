"""Score runs without a database, for commands and for the child process of a worker."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from scoring.offline.gold_key import PLAIN_KEY, GoldKey
from scoring.stats.interval_methods import METHODS
from tasks.types import InputRefused, Pairs, Problem, Split, TaskType
from tasks.types.base import ShownInstance
from tasks.types.files import InputFile, input_digest, open_input, open_inputs
from tasks.types.problems import fatal, merged, refuse
from tasks.types.runs import read_run

if TYPE_CHECKING:
    from scoring.offline.evaluate import Scores
    from scoring.offline.parts import Part, Rows
    from tasks.types.repairs import Repair

Progress = Callable[[str, float], None]


@dataclass(frozen=True, kw_only=True)
class Scoring:
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
    part: "Part | None" = None
    #: ``key`` determines the digest of the gold in the column keys of scores.
    key: GoldKey = PLAIN_KEY


def no_progress(step: str, done: float) -> None:
    """Ignore the progress that the scorer reports."""


def read_split(
    task_type: TaskType,
    gold: Sequence[Path],
    options: Mapping[str, str],
    key: GoldKey = PLAIN_KEY,
) -> Split:
    return task_type.gold_of(open_inputs(gold, reading=key.reading), options)


class RunRefused(InputRefused):
    """An error about a run that cannot be scored, with a ``repair`` if a correction of
    the file is unambiguous.
    """

    def __init__(self, problems: Iterable[Problem], repair: "Repair | None") -> None:
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
    progress: Progress,
    key: GoldKey = PLAIN_KEY,
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
        split = key.ordered(task_type, read_split(task_type, gold, options, key))
        index = split.index
        result["gold"] = key.printed(split)
    else:
        given = open_inputs(inputs or (), reading=key.reading)
        index = task_type.read_inputs(given, options)
    progress("reading the run", 0.5)
    files = open_input(run, shown=run_name, reading=key.reading, encoding=encoding)
    problems = read_run(task_type, files, index, options, name=run_name or str(run))[1]
    if repairs and fatal(problems):
        found = None
        # Checking a run needs no packages of the scorer, but repairing a run does.
        with suppress(ImportError):
            from tasks.types.repairs import repair

            found = repair(task_type, files, index, options)
        raise RunRefused(problems, found)
    refuse(problems)
    progress("done", 1.0)
    result["run"] = {"sha256": input_digest(files)}
    return {
        **result,
        "warnings": [problem.as_dict() for problem in merged(problems)],
        "problems": [problem.as_finding() for problem in problems],
    }


class ReadRun(NamedTuple):
    """The gold and the run of a scoring request after parsing, for use with all rule
    sets.
    """

    split: Split
    files: list[InputFile]
    answers: Any
    problems: list[Problem]

    def pairs(self, scoring: Scoring) -> Pairs:
        return scoring.task_type.pairs_of(
            self.split, self.answers, scoring.rules, scoring.options
        )

    def parts(self, scoring: Scoring, pairs: Pairs) -> "Sequence[Rows]":
        """Return the rows in the requested part of the split and the rows in the other
        part, or nothing if the whole split is scored.
        """
        if scoring.part is None:
            return ()
        from scoring.offline.parts import rows_of_part

        asked = self.split, self.answers, scoring.rules, scoring.options
        return rows_of_part(scoring.task_type, scoring.part, pairs, *asked)

    def rows(self, scoring: Scoring) -> "tuple[Pairs, Rows | None]":
        pairs = self.pairs(scoring)
        return pairs, next(iter(self.parts(scoring, pairs)), None)


def read_scored(scoring: Scoring, progress: Progress = no_progress) -> ReadRun:
    """Read the gold and the run of a scoring request from files. Raises InputRefused
    with all problems if a problem is fatal.
    """
    progress("reading gold", 0.0)
    split = read_split(scoring.task_type, scoring.gold, scoring.options, scoring.key)
    split = scoring.key.ordered(scoring.task_type, split)
    progress("reading the run", 0.2)
    files = open_input(scoring.run, shown=scoring.run_name, reading=scoring.key.reading)
    name = scoring.run_name or str(scoring.run)
    answers, problems = read_run(
        scoring.task_type, files, split.index, scoring.options, name=name
    )
    refuse(problems)
    return ReadRun(split, files, answers, problems)


def score(scoring: Scoring, progress: Progress = no_progress) -> dict[str, Any]:
    """Return the JSON output of the command `score`.

    Raises InputRefused with all problems if a problem is fatal, or Unavailable if a
    dependency is missing.
    """
    return score_read(scoring, read_scored(scoring, progress), progress)


def score_read(
    scoring: Scoring,
    read: ReadRun,
    progress: Progress = no_progress,
    share: tuple[float, float] = (0.4, 1.0),
) -> dict[str, Any]:
    """Return the JSON output of the command `score` for a run that is already parsed.
    The reported progress goes from the first to the second number in ``share``.
    """
    from scoring.metrics import metrics_of
    from scoring.offline.evaluate import Resampling, evaluate, matrices
    from scoring.offline.marking import with_marks
    from scoring.offline.parts import narrowed

    split, begin, end = read.split, *share
    progress("scoring", begin)
    pairs = read.pairs(scoring)
    parts = read.parts(scoring, pairs)
    metrics = metrics_of(scoring.task_type, scoring.rules, scoring.options)
    if scoring.pending:
        from scoring.offline.entailment_exchange import stop_where_pending

        asked = scoring.task_type.asked_items
        items = list(asked(split, pairs)) if asked else []
        stop_where_pending(metrics, pairs, scoring.pending, items)
    evaluated = partial(
        evaluate,
        scoring.task_type,
        pairs,
        known=matrices(
            metrics,
            pairs,
            lambda done: progress("scoring", begin + (end - begin) * done * 5 / 6),
        ),
        rules=scoring.rules,
        options=scoring.options,
        gold=scoring.key.digest_of(split),
        reading=scoring.key.reading,
        nonce=scoring.key.nonce,
        resampling=Resampling(
            resamples=scoring.resamples, seed=scoring.seed, method=scoring.method
        ),
    )
    scores = evaluated(part=str(scoring.part or ""), rows=parts[0] if parts else None)
    if scoring.statistics:
        progress("keeping the statistics", begin + (end - begin) * 5 / 6)
        shown = scoring.task_type.show_instances(
            open_inputs(scoring.gold, reading=scoring.key.reading),
            split,
            pairs,
            scoring.options,
        )
        shown = with_marks(scoring.task_type, shown, metrics, pairs)
        kept = narrowed(pairs, parts[0]) if parts else pairs
        if parts:
            names = set(kept.names or ())
            shown = (instance for instance in shown if instance.name in names)
        keep_statistics(scoring, scoring.statistics, scores, pairs, shown, kept)
    progress("done", end)
    warnings = [problem.as_dict() for problem in merged(read.problems)]
    run = {"run": {"sha256": input_digest(read.files)}, "warnings": warnings}
    result = printed(scoring, split, scores) | run
    if scoring.part is None:
        return result
    rest = evaluated(part=str(scoring.part.other), rows=parts[1])
    others = {name: value.as_dict() for name, value in rest.metrics.items()}
    other = {"part": str(scoring.part.other), "metrics": others}
    return result | {"part": str(scoring.part), "other_part": other}


def keep_statistics(
    scoring: Scoring,
    path: Path,
    scores: "Scores",
    pairs: Pairs,
    instances: Iterable[ShownInstance] = (),
    kept: Pairs | None = None,
) -> None:
    """Save the matrices and units of a scored run to a file. If only some rows of the
    run were scored, ``kept`` contains the pairs of these rows.
    """
    from scoring.metrics import metrics_of
    from scoring.offline.evaluate import details_of, save_statistics

    metrics = metrics_of(scoring.task_type, scoring.rules, scoring.options)
    save_statistics(
        path, scores, kept or pairs, details_of(metrics, pairs.answers), instances
    )


def printed(scoring: Scoring, split: Split, scores: "Scores") -> dict[str, Any]:
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


def described(task_type: TaskType) -> dict[str, Any]:
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


def as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
