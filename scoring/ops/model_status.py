"""What the tasks of a site are scored with, and whether it is there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.utils.timezone import now
from django.utils.translation import gettext as _

from citeboard.core.words import counted
from scoring.metrics import metrics_of
from scoring.metrics.base import Requirement
from scoring.metrics.entailment.labels import stored_model
from scoring.models import EntailmentModel
from tasks.models import Season, Task
from tasks.types import OptionRefused


@dataclass(frozen=True, kw_only=True)
class TaskModels:
    """A task with what it needs; most need nothing."""

    task: Task
    requirements: Sequence[Requirement]

    @property
    def is_ready(self) -> bool:
        return all(need.is_there for need in self.requirements)


def models_of(season: Season) -> list[TaskModels]:
    """Of every task that scores runs, in their order."""
    return [
        TaskModels(task=task, requirements=needs_of(task))
        for task in season.tasks.filter(is_reported_only=False)
    ]


def needs_of(task: Task) -> list[Requirement]:
    """What any of the task's rule sets needs, each once; what the worker's machine has, if this is it."""
    try:
        options = task.task_type.checked_options(task.options)
    except OptionRefused as refused:
        return [Requirement(kind="options", name=task.slug, missing=str(refused))]
    found: dict[Requirement, None] = {}
    for rules in task.rules:
        for metric in metrics_of(task.task_type, rules, options):
            found |= dict.fromkeys(metric.requirements())
    if model := stored_model(options):
        found[_stored(model, task.season)] = None
    return list(found)


def missing_models() -> list[Requirement]:
    """Of the tasks whose phases are open or still to open."""
    tasks = Task.objects.filter(is_reported_only=False, phases__closes__gt=now()).distinct()
    return _missing(need for task in tasks for need in needs_of(task))


def _missing(requirements: Iterable[Requirement]) -> list[Requirement]:
    return list(dict.fromkeys(need for need in requirements if not need.is_there))


def _stored(model: str, season: Season) -> Requirement:
    deciding = EntailmentModel.objects.deciding(model, season)
    decided = counted(sum(kept.decided for kept in deciding), "label")
    return Requirement(
        kind="entailment labels", name=model, place=_("kept by this site: %(labels)s") % {"labels": decided}
    )
