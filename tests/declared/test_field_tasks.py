"""The second demo season: the field's tasks, declared by folders, with runs of the demo's teams."""

import pytest

from citeboard.demo.prepare import FIELD_TASKS_SEASON_SLUG, load_field_tasks
from tasks.models import Season, Submission
from tests.declared.folders import EXAMPLES


@pytest.mark.django_db
def test_each_folder_of_the_examples_is_a_task_with_runs_and_bringing_it_again_changes_nothing():
    folders = {path.name for path in EXAMPLES.iterdir()}
    load_field_tasks()
    season = Season.objects.get(slug=FIELD_TASKS_SEASON_SLUG)
    assert set(season.tasks.values_list("slug", flat=True)) == folders
    sent = Submission.objects.filter(phase__task__season=season)
    assert sent.exclude(team=None).count() == 4 * len(folders)
    before = sent.count()
    load_field_tasks()
    assert sent.count() == before
    # An earlier release submitted other systems against other gold.
    sent.filter(system="coinflip").update(system="By lot")
    load_field_tasks()
    assert sent.count() == before
