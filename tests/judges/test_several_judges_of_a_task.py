"""The judges of a task that names several, and their keys in addresses."""

from types import SimpleNamespace

import pytest
from django.template.loader import render_to_string

from scoring.results.board.judges import asked_judge, judges_of_rules
from tasks.models import Phase, Task

TWO = {"assignments": "store:nuggets-a", "supports": "store:support-a"}
#: The judge of citations is also the further judge of nuggets.
BY_THE_OTHER = "corrected@support-a"


def phase_with(*views, options=TWO):
    return Phase(task=Task(rules=["corrected", *views], options=options))


@pytest.mark.parametrize(
    "views",
    [
        (),
        (BY_THE_OTHER,),
        ("corrected@b", "corrected@b@supports"),
        (BY_THE_OTHER, "corrected@nuggets-a@supports"),
    ],
)
def test_the_key_of_each_judge_of_a_board_leads_to_this_judge(views):
    phase = phase_with(*views)
    judges = judges_of_rules(phase, "corrected")
    assert len(judges) == 2 + len(views)
    for judge in judges:
        assert asked_judge(phase, None, judge.key) == judge


def test_a_judge_in_the_options_and_in_a_view_has_a_label_and_a_link_for_each():
    phase = phase_with(BY_THE_OTHER)
    first, named, view = judges_of_rules(phase, "corrected")
    assert (first.key, named.key, view.key) == (
        "nuggets-a",
        "support-a@supports",
        "support-a",
    )
    assert named.label == "support-a (citations)"
    assert (named.rules, view.rules) == ("corrected", BY_THE_OTHER)
    page = render_to_string("boards/_judges.html", page_facts([first, named]))
    assert 'about/?judge=support-a%40supports"' in page
    assert 'about/?judge=support-a"' not in page


def page_facts(named):
    slugs = {name: SimpleNamespace(slug=name) for name in ("season", "task", "phase")}
    lines = [{"judge": judge, "kinds": ""} for judge in named]
    return {**slugs, "named": lines, "views": []}
