"""A scorer that reads the gold once and scores any number of runs."""

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.types import InputRefused, Problem, task_type
from tasks.types.files import (
    CURRENT_PARSING_RULES_VERSION,
    open_files_of_all_inputs,
    open_input_files,
)
from tasks.types.jsonlines import format_as_json_lines
from tasks.types.problems import select_fatal_problems
from tasks.types.runs import read_run

#: A run, given as a sequence of its lines or as the path of a file, folder or zip.
Answers = Iterable[Mapping[str, Any]] | Path | str


@dataclass(frozen=True, kw_only=True)
class Scored:
    """The unrounded value of a metric on the scale that publications use, or None if
    undefined.

    ``low`` and ``high`` are the ends of the 95 % interval, or None if not requested.
    ``n`` is the number of instances with gold. Two scores with the same ``column`` are
    comparable.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    column: str
    signature: str


@dataclass(frozen=True)
class Result(Mapping[str, Scored]):
    """Maps the name of each metric to the run's score, in the order of the rule set.
    ``warnings`` are the problems of a run that do not prevent scoring.
    """

    metrics: Mapping[str, Scored]
    warnings: Sequence[Problem]

    def __getitem__(self, name: str) -> Scored:
        return self.metrics[name]

    def __iter__(self) -> Any:
        return iter(self.metrics)

    def __len__(self) -> int:
        return len(self.metrics)

    @property
    def values_only(self) -> dict[str, float | None]:
        """Return only the values of metrics, without intervals, for loggers."""
        return {name: scored.value for name, scored in self.metrics.items()}


class Scorer:
    """A scorer that reads the gold once and yields the values of `citeboard score`.

    ``rules`` is a rule set of the type, by default its first. ``options`` are the
    options of the task type. ``reading`` is the version of the rules by which gold and
    answers are parsed. Raises InputRefused, UnknownTaskType or OptionRefused.
    """

    def __init__(
        self,
        kind: str,
        gold: Sequence[Path | str],
        *,
        rules: str | None = None,
        options: Mapping[str, str] | None = None,
        reading: int = CURRENT_PARSING_RULES_VERSION,
    ) -> None:
        self.task_type = task_type(kind)
        self.rules = self.task_type.validate_rule_set_name(rules)
        self.options = self.task_type.validate_options(dict(options or {}))
        self._split = self.task_type.gold_of(
            open_files_of_all_inputs([Path(path) for path in gold], reading=reading),
            self.options,
        )

    def check(self, answers: Answers) -> list[Problem]:
        """Return all problems of a run. A run with fatal problems cannot be scored."""
        return self._read_answers(answers)[1]

    def score(self, answers: Answers, *, intervals: bool = False) -> Result:
        """Score the answers. Raises InputRefused for a run with fatal problems, and
        Unavailable if a model is missing.

        With ``intervals=False``, scoring is fast enough for a training loop.
        """
        from scoring.offline.evaluate import IntervalSettings, evaluate_pairs

        read, problems = self._read_answers(answers)
        if select_fatal_problems(problems):
            raise InputRefused(problems)
        scores = evaluate_pairs(
            self.task_type,
            self.task_type.pairs_of(self._split, read, self.rules, self.options),
            rules=self.rules,
            options=self.options,
            gold=self._split.digest,
            reading=self._split.reading,
            resampling=IntervalSettings(resamples=1000 if intervals else 0),
        )
        metrics = {}
        for name, value in scores.metrics.items():
            printed = value.as_dict()
            metrics[name] = Scored(
                **{field: printed[field] for field in Scored.__dataclass_fields__}
            )
        return Result(metrics, problems)

    def _read_answers(self, answers: Answers) -> tuple[Any, list[Problem]]:
        if isinstance(answers, Path | str):
            return self._read_answers_file(Path(answers))
        with tempfile.TemporaryDirectory(prefix="citeboard-answers-") as folder:
            path = Path(folder) / "answers.jsonl"
            path.write_bytes(format_as_json_lines(answers))
            return self._read_answers_file(path)

    def _read_answers_file(self, path: Path) -> tuple[Any, list[Problem]]:
        return read_run(
            self.task_type,
            open_input_files(path, reading=self._split.reading),
            self._split.index,
            self.options,
            name=path.name,
        )
