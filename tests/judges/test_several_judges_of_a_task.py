"""The judges of a task that names several: their keys in addresses, and the one that determines the ranks."""

from types import SimpleNamespace

import pytest
from django.template.loader import render_to_string

from citeboard.web.boards import judges as pages
from scoring.results.board.judges import (
    BoardJudge,
    JudgesOfBoard,
    asked_judge,
    judges_of_rules,
    ranking_judge,
)
from tasks.models import Phase, Task

TWO = {"assignments": "store:nuggets-a", "supports": "store:support-a"}
#: The judge of citations is also the further judge of nuggets.
BY_THE_OTHER = "corrected@support-a"


def phase_with(*views, options=TWO):
    return Phase(task=Task(rules=["corrected", *views], options=options))


def board_ranked_by(key):
    return SimpleNamespace(phase=phase_with(), ranking=SimpleNamespace(key=key))


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


@pytest.mark.parametrize(
    ("key", "judge"),
    [
        ("nuggets_vital|rules:corrected|assignments:nuggets-a|v:1", "nuggets-a"),
        ("citation_f1|rules:corrected|supports:support-a|v:1", "support-a"),
        ("coverage|rules:corrected|v:1", "nuggets-a"),
    ],
)
def test_the_judge_whose_labels_determine_the_ranks_is_named_for_them(key, judge):
    assert ranking_judge(board_ranked_by(key)) == judge


def test_the_tab_of_judges_names_the_judge_of_citations_if_they_rank(monkeypatch):
    board = board_ranked_by("citation_f1|rules:corrected|supports:support-a|v:1")
    board.ranking.metric = "citation_f1"
    found = JudgesOfBoard(
        first=board, named=judges_of_rules(board.phase, "corrected"), views=[]
    )
    monkeypatch.setattr(
        pages, "find_visible_judges_of_board", lambda board, viewer: found
    )
    context = pages.build_judges_tab_context(board, None, None)
    assert context["ranking_judge"] == "support-a"
    view = {
        "judge": BoardJudge(name="b", kinds=("supports",), rules="", kind="supports"),
        "compared": "support-a",
    }
    facts = {**page_facts(found.named), **context, "views": [view]}
    page = render_to_string("boards/_judges.html", facts)
    assert "The judge support-a determines the ranks." in page
    assert '<th scope="col" class="n">support-a</th>' in page
