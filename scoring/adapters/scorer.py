"""A scorer that has read its gold and scores one set of answers after another."""

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.types import InputRefused, Problem, task_type
from tasks.types.files import READING_VERSION, open_input, open_inputs
from tasks.types.jsonlines import as_lines
from tasks.types.problems import fatal
from tasks.types.runs import read_run

#: Lines of a run, or a run in any form that its task type reads: a file, a folder, a zip.
Answers = Iterable[Mapping[str, Any]] | Path | str


@dataclass(frozen=True, kw_only=True)
class Scored:
    """A metric's value, unrounded, on the scale its field publishes; None where it is undefined.

    ``low`` and ``high`` are the ends of its 95 % interval, None where none was asked for; ``n`` counts
    instances with gold; numbers with the same ``column`` may be compared.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    column: str
    signature: str


@dataclass(frozen=True)
class Result(Mapping[str, Scored]):
    """By metric, in the order of the rule set. ``warnings`` say what was odd and could be scored."""

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
        """What a logger takes."""
        return {name: scored.value for name, scored in self.metrics.items()}


class Scorer:
    """Reads the gold once. The numbers are those of `citeboard score`.

    ``rules`` is a rule set of the type, its first unless given; ``options`` are the type's; ``reading`` is
    the version by which gold and answers are read.
    Raises InputRefused, UnknownTaskType or OptionRefused.
    """

    def __init__(
        self,
        kind: str,
        gold: Sequence[Path | str],
        *,
        rules: str | None = None,
        options: Mapping[str, str] | None = None,
        reading: int = READING_VERSION,
    ) -> None:
        self.task_type = task_type(kind)
        self.rules = self.task_type.checked_rules(rules)
        self.options = self.task_type.checked_options(dict(options or {}))
        self._split = self.task_type.gold_of(
            open_inputs([Path(path) for path in gold], reading=reading), self.options
        )

    def check(self, answers: Answers) -> list[Problem]:
        """Everything that is wrong with the answers; what is fatal cannot be scored."""
        return self._read(answers)[1]

    def score(self, answers: Answers, *, intervals: bool = False) -> Result:
        """Raises InputRefused where a problem is fatal, and Unavailable where a model is missing.

        Without intervals a score costs what its matrices cost, which suits a training loop.
        """
        from scoring.offline.evaluate import Resampling, evaluate

        read, problems = self._read(answers)
        if fatal(problems):
            raise InputRefused(problems)
        scores = evaluate(
            self.task_type,
            self.task_type.pairs_of(self._split, read, self.rules, self.options),
            rules=self.rules,
            options=self.options,
            gold=self._split.digest,
            reading=self._split.reading,
            resampling=Resampling(resamples=1000 if intervals else 0),
        )
        metrics = {}
        for name, value in scores.metrics.items():
            printed = value.as_dict()
            metrics[name] = Scored(
                **{field: printed[field] for field in Scored.__dataclass_fields__}
            )
        return Result(metrics, problems)

    def _read(self, answers: Answers) -> tuple[Any, list[Problem]]:
        if isinstance(answers, Path | str):
            return self._read_file(Path(answers))
        with tempfile.TemporaryDirectory(prefix="citeboard-answers-") as folder:
            path = Path(folder) / "answers.jsonl"
            path.write_bytes(as_lines(answers))
            return self._read_file(path)

    def _read_file(self, path: Path) -> tuple[Any, list[Problem]]:
        return read_run(
            self.task_type,
            open_input(path, reading=self._split.reading),
            self._split.index,
            self.options,
            name=path.name,
        )
