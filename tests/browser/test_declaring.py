"""From the organiser's page to a task with its gold and a board, by keyboard and without scripts."""

import json

import pytest
from django.urls import reverse

from tasks.models import Phase, Task
from tests import factories
from tests.browser.driving import sign_in
from tests.factories import PASSWORD

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
#: Clicks and fields together, from the organiser's page to the saved task.
MOST_STEPS = 15


def test_a_task_is_made_from_its_gold_without_scripts_in_a_few_steps(
    visit, live_server, tmp_path
):
    organiser = factories.make_user(name="Olga")
    season = factories.make_season(organiser=organiser, slug="one", is_public=False)
    gold = tmp_path / "gold.jsonl"
    rows = [
        {
            "id": f"s{n}",
            "text": f"Sentence {n} of many others",
            "label": ("uses", "extends")[n % 3 == 0],
        }
        for n in range(30)
    ]
    gold.write_text("".join(json.dumps(row) + "\n" for row in rows))
    page = visit(java_script_enabled=False)
    sign_in(page, live_server, organiser.email, PASSWORD)
    page.goto(live_server.url + reverse("organise", args=[season.slug]))
    steps = []

    def press(where: str) -> None:
        page.focus(where)
        page.keyboard.press("Enter")
        steps.append(where)

    press('nav[aria-label="Organiser\'s pages"] a:text-is("Settings")')
    press('a:text-is("Create a task from its gold")')
    page.focus("#id_title")
    page.keyboard.type("Why cite")
    page.set_input_files("#id_file", gold)
    steps += ["title", "file"]
    press('button:text-is("Read it")')
    page.wait_for_selector("table.entries >> text=The gold itself")
    press('button:text-is("Save the task")')
    page.wait_for_selector("text=Why cite is saved with 30 instances from 30 rows.")
    assert len(steps) <= MOST_STEPS
    assert len(steps) == 6
    task = Task.objects.get(season=season)
    assert task.gold.get().instances == 30
    assert Phase.objects.get(task=task).is_open()
