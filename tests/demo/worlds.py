"""The demo season of the tests, created once per session: without runs, complete, and partly scored."""

import datetime as dt

import pytest

from citeboard.demo import prepare
from citeboard.demo.systems import SYSTEMS_BY_TASK
from tasks.models import Phase, Submission
from tests.api.sending import score
from tests.scoring.compared import compare


def make_without_runs() -> None:
    """For what does not rest on them: sending fifty runs takes seconds."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("submit_demo_runs", "publish_ratings"):
            patch.setattr(prepare, name, lambda *given: None)
        prepare.create_demo()
        prepare.finish_demo()


def make_complete() -> dict[int, dt.datetime]:
    """Return when the runs were sent that come with the season, as dated at the beginning."""
    prepare.create_demo()
    loaded = dict(Submission.objects.values_list("pk", "submitted_at"))
    prepare.finish_demo()
    return loaded


#: Boards of the story, by season, task and phase.
STORY = (
    ("demo", "1a", "practice"),
    ("demo", "2", "practice"),
    ("demo", "recommendation", "practice"),
    ("demo", "resolution", "practice"),
    ("demo-2024", "recommendation", "evaluation"),
)


#: Boards whose story depends on values alone.
BY_VALUE = (("demo", "2", "practice"),)


def make_story() -> None:
    """Score the boards of the story by their first rules and compare them, without built-in baselines."""
    tasks = {task for _, task, _ in STORY}
    sent = {
        task: of_it if task in tasks else () for task, of_it in SYSTEMS_BY_TASK.items()
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prepare, "SYSTEMS_BY_TASK", sent)
        patch.setattr(prepare, "TEAM_NAMES_IN_ALL_PHASES", ())
        patch.setattr(prepare, "BASELINE_NAMES_BY_TASK", {})
        for name in (
            "load_published_seasons",
            "load_reports_season",
            "publish_ratings",
        ):
            patch.setattr(prepare, name, lambda *given: None)
        patch.setattr(prepare.entailment_labels, "import_labels", lambda **given: None)
        make_complete()
    for place in STORY:
        phase = phase_at(*place)
        rules = phase.task.rules[0]
        for run in phase.submissions.all():
            run.jobs.exclude(rules=rules).delete()
            score(run)
        if place not in BY_VALUE:
            compare(phase)


def phase_at(season: str, task: str, phase: str) -> Phase:
    phases = Phase.objects.select_related("task__season")
    return phases.get(task__season__slug=season, task__slug=task, slug=phase)
