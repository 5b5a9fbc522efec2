"""Which labels a run gives for which, from its kept matrix; it tells more of the gold than scores."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from scoring.board.comparisons import Unreadable, statistics_of
from scoring.figures import HeatMap
from scoring.metrics import metrics_by, metrics_of
from scoring.metrics.classification import EachClass
from scoring.models import Evaluation


@dataclass(frozen=True, kw_only=True)
class Confusion:
    """``counts`` go by the gold's label and the answer's; the last is of answers without one."""

    system: str
    labels: Sequence[str]
    counts: Sequence[Sequence[int]]

    @property
    def title(self) -> str:
        return _("Gold and answers of “%(system)s”") % {"system": self.system}

    @property
    def heads(self) -> list[str]:
        return [*self.labels, _("no label")]

    @property
    def lines(self) -> list[tuple[str, int, Sequence[int]]]:
        return [(label, sum(row), row) for label, row in zip(self.labels, self.counts, strict=True)]

    @property
    def heat(self) -> HeatMap:
        """The stronger the colour, the larger a share of the gold's label."""
        return HeatMap(
            title=self.title,
            rows=self.labels,
            columns=self.heads,
            values=[[count / max(1, size) for count in row] for _label, size, row in self.lines],
            texts=[[str(count) for count in row] for row in self.counts],
        )


def confusion_of(evaluation: Evaluation, dimension: str) -> Confusion | None:
    """None where an instance has several labels, or nothing of this is kept."""
    task_type = evaluation.phase.task.task_type
    metrics = metrics_of(task_type, evaluation.rules, task_type.checked_options(evaluation.options))
    own = next((one for one in metrics_by(task_type, dimension, metrics) if isinstance(one, EachClass)), None)
    try:
        matrix = statistics_of(evaluation, [own.statistic]).matrices[own.statistic] if own else None
    except (Unreadable, KeyError):
        return None
    if own is None or matrix is None:
        return None
    size = len(own.labels or ())
    wanted, answered = matrix[:, :size], matrix[:, size : 2 * size]
    if (wanted.sum(axis=1) > 1).any():
        return None
    table = (wanted.T @ answered).astype(int).tolist()
    support = wanted.sum(axis=0).astype(int).tolist()
    return Confusion(
        system=evaluation.submission.system,
        labels=[str(label) for label in own.labels or ()],
        counts=[[*row, count - sum(row)] for row, count in zip(table, support, strict=True)],
    )
