"""Find out which packages and models tasks need, and which of them this machine has."""

from django.utils.translation import gettext as _

from citeboard.core.words import count_with_noun
from scoring.metrics import build_metrics
from scoring.metrics.base import Requirement
from scoring.models import Judge
from tasks.models import Task
from tasks.types import OptionRefused, Problem
from tasks.types.judge_views import list_judges_of_rule_sets_and_views
from tasks.types.ledger import ASSIGNS_KIND, ENTAILS_KIND, SUPPORTS_KIND

LABEL_NAMES_BY_KIND = {
    ENTAILS_KIND: "entailment labels",
    SUPPORTS_KIND: "support labels",
    ASSIGNS_KIND: "nugget labels",
}


def list_requirements_of_task(task: Task) -> list[Requirement]:
    """Return each package or model that the rule sets of a task need once, and whether
    this machine has it.
    """
    try:
        options = task.task_type.validate_options(task.options)
    except OptionRefused as refused:
        return [Requirement(kind="options", name=task.slug, missing=str(refused))]
    wanted: dict[Requirement, None] = {}
    for rules in task.rules:
        for metric in build_metrics(task.task_type, rules, options):
            wanted |= dict.fromkeys(metric.requirements())
    for judge in list_judges_of_rule_sets_and_views(task.rules, options):
        deciding = Judge.objects.deciding(judge.name, task.season, judge.kind)
        place = _("stored by this site: %(labels)s")
        place %= {
            "labels": count_with_noun(sum(kept.decided for kept in deciding), "label")
        }
        kind = LABEL_NAMES_BY_KIND[judge.kind]
        wanted[Requirement(kind=kind, name=judge.name, place=place)] = None
    return list(wanted)


def warn_of_missing_requirements(task: Task) -> list[Problem]:
    """Return a warning for each missing package or model for which runs of the task
    have to wait.
    """
    words = _(
        "a run cannot be scored yet: %(missing)s; the site's staff have to supply it, "
        "and until then the run waits and spends no try"
    )
    return [
        Problem(message=words % {"missing": need.missing}, fatal=False)
        for need in list_requirements_of_task(task)
        if need.missing
    ]
