"""Provide a scorer with the methods of Hugging Face's `evaluate`, which are `add`,
`add_batch` and `compute`.

References are read from the gold files of the task type, and are not passed as
arguments.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from scoring.adapters.scorer import Scorer


class Evaluation:
    """Collects the predictions of a run until `compute` scores the run. A prediction is
    one line of a run file.
    """

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer
        self._collected: list[Mapping[str, Any]] = []

    @property
    def name(self) -> str:
        return self._scorer.task_type.slug

    def add(self, *, prediction: Mapping[str, Any]) -> None:
        self._collected.append(prediction)

    def add_batch(self, *, predictions: Iterable[Mapping[str, Any]]) -> None:
        self._collected.extend(predictions)

    def compute(
        self, *, predictions: Iterable[Mapping[str, Any]] = ()
    ) -> dict[str, float | None]:
        """Score the predictions that were added, and then discard these predictions.
        Return the value of each metric. Raises InputRefused.
        """
        answers = [*self._collected, *predictions]
        self._collected = []
        return self._scorer.score(answers).values_only


def load(
    kind: str, gold: Sequence[Path | str], *, rules: str | None = None, **options: str
) -> Evaluation:
    """Return a scorer of a task type with the interface that `evaluate.load` returns.
    The first argument is the name of a task type, not of a metric.
    """
    return Evaluation(Scorer(kind, gold, rules=rules, options=options))
