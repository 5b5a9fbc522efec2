"""What the data sets of a task consist of, as far as a viewer may know it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from scoring.board.open_gold import may_have_gold
from tasks.models import Gold, Phase, Task
from tasks.seasons.access import may_organise

OF_INSTANCES = ("long_inputs", "long_outputs", "printed_self_references", "self_references")


@dataclass(frozen=True)
class Line:
    """A data set; ``gold`` is empty where the viewer may not know it."""

    label: str
    inputs: dict[str, Any]
    gold: dict[str, Any]

    @property
    def shares(self) -> dict[str, float]:
        """What is counted in instances, in percent of them."""
        counts = {**self.inputs, **self.gold}
        return {name: 100 * counts[name] / counts["instances"] for name in OF_INSTANCES if name in counts}


@dataclass(frozen=True)
class DescribedSplit:
    split: str
    gold: Gold
    has_gold: bool

    @property
    def lines(self) -> list[Line]:
        return [
            Line(
                _("all data sets") if own["name"] is None else own["name"],
                own["inputs"],
                own["gold"] if self.has_gold else {},
            )
            for own in self.gold.statistics
        ]


def described_splits(task: Task, viewer: object) -> list[DescribedSplit]:
    """For organisers every split that has gold; for others those that have released their inputs, and with
    what follows from the gold alone where they may have that.
    """
    return list(_described(task, viewer, is_organiser=may_organise(viewer, task.season)))


def _described(task: Task, viewer: object, *, is_organiser: bool) -> Iterator[DescribedSplit]:
    phases: dict[str, list[Phase]] = {}
    for phase in task.phases.select_related("task__season"):
        phases.setdefault(phase.split, []).append(phase)
    for split, own in phases.items():
        gold = Gold.objects.current(own[0])
        if gold is None or not (is_organiser or any(phase.has_released_inputs() for phase in own)):
            continue
        has_gold = is_organiser or any(may_have_gold(phase, viewer) for phase in own)
        yield DescribedSplit(split, gold, has_gold)
