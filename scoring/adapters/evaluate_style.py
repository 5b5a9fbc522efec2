"""A scorer with the interface of Hugging Face's `evaluate`: `add`, `add_batch` and
`compute`.

References are read from the gold files of the task type, and are not passed as
arguments.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from scoring.adapters.scorer import Scorer


class Evaluation:
    """Collects predictions until `compute` scores the predictions. Each prediction is a
    line of a run.
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
        """Score the collected answers, and then discard the answers. Return the value
        of each metric. Raises InputRefused.
        """
        answers = [*self._collected, *predictions]
        self._collected = []
        return self._scorer.score(answers).values_only


def load(
    kind: str, gold: Sequence[Path | str], *, rules: str | None = None, **options: str
) -> Evaluation:
    """Return an evaluation as `evaluate.load` does. The first argument is a task type,
    not a metric.
    """
    return Evaluation(Scorer(kind, gold, rules=rules, options=options))
