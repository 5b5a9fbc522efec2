"""A scorer with the interface of Hugging Face's `evaluate`: `add`, `add_batch`, `compute`.

References are no argument: the gold is read from its files, in the form that the task type reads.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from scoring.adapters.scorer import Scorer


class Evaluation:
    """Collects predictions, each a line of a run, until they are computed."""

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
        """By metric its value; what was collected is forgotten. Raises InputRefused."""
        answers = [*self._collected, *predictions]
        self._collected = []
        return self._scorer.score(answers).values_only


def load(
    kind: str, gold: Sequence[Path | str], *, rules: str | None = None, **options: str
) -> Evaluation:
    """As `evaluate.load`, with the task type for the metric's name."""
    return Evaluation(Scorer(kind, gold, rules=rules, options=options))
