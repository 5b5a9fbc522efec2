"""Packages and models that the tasks need, and those that this machine lacks."""

from django.utils.translation import gettext as _

from citeboard.core.words import counted
from scoring.metrics import metrics_of
from scoring.metrics.base import Requirement
from scoring.metrics.entailment import stored_model
from scoring.models import EntailmentModel
from tasks.models import Task
from tasks.types import OptionRefused, Problem


def needs_of(task: Task) -> list[Requirement]:
    """Return each requirement of the task's rule sets once, with its state on this machine."""
    try:
        options = task.task_type.checked_options(task.options)
    except OptionRefused as refused:
        return [Requirement(kind="options", name=task.slug, missing=str(refused))]
    wanted: dict[Requirement, None] = {}
    for rules in task.rules:
        for metric in metrics_of(task.task_type, rules, options):
            wanted |= dict.fromkeys(metric.requirements())
    if model := stored_model(options):
        deciding = EntailmentModel.objects.deciding(model, task.season)
        place = _("kept by this site: %(labels)s")
        place %= {"labels": counted(sum(kept.decided for kept in deciding), "label")}
        wanted[Requirement(kind="entailment labels", name=model, place=place)] = None
    return list(wanted)


def supply_warnings(task: Task) -> list[Problem]:
    """Warn of each package or model without which runs of the task wait, and say who has to supply it."""
    words = _(
        "a run cannot be scored yet: %(missing)s; those who run the site have to supply it, and until then "
        "the run waits and spends no try"
    )
    return [
        Problem(message=words % {"missing": need.missing}, fatal=False)
        for need in needs_of(task)
        if need.missing
    ]
