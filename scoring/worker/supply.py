"""Find out which packages and models tasks need, and which of them this machine has."""

from django.utils.translation import gettext as _

from citeboard.core.words import counted
from scoring.metrics import metrics_of
from scoring.metrics.base import Requirement
from scoring.metrics.entailment import stored_model
from scoring.models import Judge
from tasks.models import Task
from tasks.types import OptionRefused, Problem
from tasks.types.judge_views import further_judges


def needs_of(task: Task) -> list[Requirement]:
    """Return each package or model that the rule sets of a task need once, and whether
    this machine has it.
    """
    try:
        options = task.task_type.checked_options(task.options)
    except OptionRefused as refused:
        return [Requirement(kind="options", name=task.slug, missing=str(refused))]
    wanted: dict[Requirement, None] = {}
    for rules in task.rules:
        for metric in metrics_of(task.task_type, rules, options):
            wanted |= dict.fromkeys(metric.requirements())
    first = stored_model(options)
    for model in [first, *further_judges(task.rules)] if first else ():
        deciding = Judge.objects.deciding(model, task.season)
        place = _("stored by this site: %(labels)s")
        place %= {"labels": counted(sum(kept.decided for kept in deciding), "label")}
        wanted[Requirement(kind="entailment labels", name=model, place=place)] = None
    return list(wanted)


def supply_warnings(task: Task) -> list[Problem]:
    """Return a warning for each missing package or model for which runs of the task
    have to wait.
    """
    words = _(
        "a run cannot be scored yet: %(missing)s; the site's staff have to supply it, "
        "and until then the run waits and spends no try"
    )
    return [
        Problem(message=words % {"missing": need.missing}, fatal=False)
        for need in needs_of(task)
        if need.missing
    ]
