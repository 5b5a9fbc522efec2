"""A task's card and downloads, and entering a season; none of it shows a score."""

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.timezone import now
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from citeboard.core import storage
from citeboard.core.storage.downloads import download
from citeboard.core.words import sentence
from citeboard.teams.api import asking_user
from scoring.board.open_gold import described_splits
from scoring.exchange import linked_data
from scoring.exchange.citations import of_task
from scoring.exchange.data_sets import released_phases
from scoring.web.pages import Answer, task_readers
from tasks.gold.secrecy import with_phases
from tasks.models import Gold, Task
from tasks.registration.entries import terms_to_accept
from tasks.seasons.access import entered_teams, may_have_inputs, may_organise, phase_for, require_inputs
from tasks.seasons.cards import card
from tasks.submissions.refusals import InputsNotReleased, TermsNotAccepted
from tasks.types.citation_text.instances import MAX_INPUT, MAX_OUTPUT, SELF_REFERENCES


@task_readers.page()
def task(request: HttpRequest, task: Task) -> Answer:
    with_phases([task])
    phases = task.phases.all()
    released = released_phases(task)
    golds = {gold.split: gold for gold in Gold.objects.filter(task=task).order_by("number")}
    context = {
        "season": task.season,
        "task": task,
        "card": card(task),
        "citation": of_task(task),
        "is_released": bool(released),
        "described": linked_data.data_set_in_page(task, released) if released else "",
        "has_trec": task.task_type.trec is not None,
        "has_data_sets": task.task_type.statistics is not None,
        "phases": [
            (phase, golds.get(phase.split) if may_have_inputs(request.user, phase) else None)
            for phase in phases
        ],
        "open_phases": [phase for phase in phases if phase.is_open()],
        "now": now(),
        "terms": terms_to_accept(task.season, request.user),
        "has_entered": entered_teams(request.user, task.season).exists(),
    }
    response = render(request, "seasons/task.html", context)
    response["Link"] = linked_data.task_links(task, released)
    return response


@require_safe
def inputs(request: HttpRequest, season: str, task: str, phase: str) -> HttpResponseBase:
    """What participants may have of a split, by session or token: never its gold."""
    person = asking_user(request)
    found = phase_for(person, season, task, phase)
    try:
        require_inputs(person, found)
    except InputsNotReleased:
        gold = None
    except TermsNotAccepted as refused:
        terms = f"{settings.BASE_URL}{reverse('terms', args=[found.task.season.slug])}"
        where = _("They are at %(address)s.") % {"address": terms}
        raise PermissionDenied(f"{sentence(refused)} {where}") from refused
    else:
        gold = Gold.objects.current(found)
    if gold is None:
        raise Http404(_("The inputs of this phase are not published yet."))
    name = f"{found.task.season.slug}-{found.task.slug}-{found.split}-inputs.zip"
    return download(request, storage.gold, gold.public, filename=name, content_type="application/zip")


@task_readers.page("seasons/data_sets.html")
def data_sets(request: HttpRequest, task: Task) -> Answer:
    if task.task_type.statistics is None:
        raise Http404(_("The data of this task are not described by data set."))
    return {
        "splits": described_splits(task, request.user),
        "may_organise": may_organise(request.user, task.season),
        "max_input": MAX_INPUT,
        "max_output": MAX_OUTPUT,
        "phrases": SELF_REFERENCES,
    }
