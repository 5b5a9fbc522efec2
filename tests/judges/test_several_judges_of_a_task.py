"""The judges of a task that names several: their keys in addresses, and the one that determines the ranks."""

import re
from types import SimpleNamespace

import pytest
from django.template.loader import render_to_string

from citeboard.web.boards import judges as pages
from scoring.results.board.judges import (
    BoardJudge,
    JudgesOfBoard,
    asked_judge,
    find_visible_judges_of_board,
    has_several_judges,
    judges_of_rules,
    ranking_judge,
)
from scoring.results.board.visibility import BoardVisibility
from tasks.models import Phase, Season, Task

TWO = {"assignments": "store:nuggets-a", "supports": "store:support-a"}
#: The judge of citations is also the further judge of nuggets.
BY_THE_OTHER = "corrected@support-a"


def phase_with(*views, options=TWO, rules=("corrected",)):
    season = Season(slug="season")
    task = Task(season=season, slug="task", rules=[*rules, *views], options=options)
    return Phase(task=task, slug="phase")


def board_ranked_by(key, *views):
    ranking = SimpleNamespace(key=key, metric=key.partition("|")[0])
    return SimpleNamespace(phase=phase_with(*views), rules="corrected", ranking=ranking)


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
    board = SimpleNamespace(phase=phase, rules="corrected")
    page = render_to_string("boards/_judges.html", page_facts(board, first, named))
    assert links_in(page) == {
        "nuggets-a": f"{ABOUT}?judge=nuggets-a",
        "support-a (citations)": f"{ABOUT}?judge=support-a%40supports",
    }


ABOUT = "/seasons/season/task/phase/judges/about/"


def page_facts(board, *named):
    lines = [
        {
            "judge": judge,
            "kinds": "",
            "href": pages.build_judge_page_href(board, judge.key),
        }
        for judge in named
    ]
    return {"named": lines, "views": []}


def links_in(page: str) -> dict[str, str]:
    """Return the address of each link by its text, which no other link has."""
    links = re.findall(r'<a (?:class="\w+" )?href="([^"]*)">([^<]*)</a>', page)
    texts = [text for _address, text in links]
    assert len(texts) == len(set(texts)) > 0
    return {text: address for address, text in links}


def view_facts(board, judge):
    """Return what the tab shows of a view without numbers."""
    return {
        "judge": judge,
        "compared": "support-a",
        "href": f"?rules={judge.rules}",
        "about_href": pages.build_judge_page_href(board, judge.key),
    }


@pytest.mark.parametrize(
    "views",
    [
        ("corrected@b", "corrected@b@supports"),
        ("corrected@b@assigns", "corrected@b@supports"),
        (BY_THE_OTHER, "corrected@nuggets-a@supports"),
    ],
)
def test_links_to_the_pages_of_a_judge_of_two_kinds_have_different_names(views):
    phase = phase_with(*views)
    board = SimpleNamespace(phase=phase, rules="corrected")
    first, named, *others = judges_of_rules(phase, "corrected")
    facts = page_facts(board, first, named)
    facts["views"] = [view_facts(board, judge) for judge in others]
    links = links_in(render_to_string("boards/_judges.html", facts))
    for judge in others:
        assert links[f"about {judge.label}"] == pages.build_judge_page_href(
            board, judge.key
        )


@pytest.mark.parametrize(
    ("rules", "key", "query"),
    [
        ("corrected", "", ""),
        ("corrected", "support-a", "?judge=support-a"),
        ("corrected@b", "b", "?judge=b"),
        ("official", "", "?rules=official"),
        ("official", "support-a", "?rules=official&judge=support-a"),
        ("official@b@supports", "b@supports", "?rules=official&judge=b%40supports"),
    ],
)
def test_the_address_of_a_judge_s_page_keeps_the_rule_set(rules, key, query):
    phase = phase_with("corrected@b", rules=("corrected", "official"))
    board = SimpleNamespace(phase=phase, rules=rules)
    assert pages.build_judge_page_href(board, key) == f"{ABOUT}{query}"


@pytest.mark.parametrize("options", [{}, {"supports": "labels.jsonl"}])
def test_a_task_with_views_and_no_stored_judge_has_no_judges(options):
    phase = phase_with("corrected@b", "corrected@c", options=options)
    assert judges_of_rules(phase, "corrected") == []
    assert not has_several_judges(phase, "corrected")
    board = SimpleNamespace(
        phase=phase, rules="corrected", visibility=BoardVisibility.SCORES
    )
    assert find_visible_judges_of_board(board, None) is None


@pytest.mark.parametrize(
    ("key", "judge"),
    [
        ("nuggets_vital|rules:corrected|assignments:nuggets-a|v:1", "nuggets-a"),
        ("citation_f1|rules:corrected|supports:support-a|v:1", "support-a"),
        ("coverage|rules:corrected|v:1", ""),
    ],
)
def test_the_judge_whose_labels_determine_the_ranks_is_named_for_them(key, judge):
    assert ranking_judge(board_ranked_by(key)) == judge


def test_the_tab_of_judges_names_the_judge_of_citations_if_they_rank(monkeypatch):
    key = "citation_f1|rules:corrected|supports:support-a|v:1"
    page = tab_of_judges(board_ranked_by(key), monkeypatch)
    assert "The judge support-a determines the ranks." in page
    assert '<th scope="col" class="n">support-a</th>' in page


@pytest.mark.parametrize("options", [TWO, {"supports": "store:support-a"}])
def test_the_tab_of_judges_names_no_judge_if_the_ranks_use_no_labels(
    monkeypatch, options
):
    board = board_ranked_by("coverage|rules:corrected|v:1")
    board.phase.task.options = options
    page = tab_of_judges(board, monkeypatch)
    assert "The ranks use no labels of a judge." in page
    assert "determines the ranks" not in page
    assert '<th scope="col" class="n">The board</th>' in page


def tab_of_judges(board, monkeypatch) -> str:
    """Return the tab with a view by the judge b."""
    found = JudgesOfBoard(
        first=board, named=judges_of_rules(board.phase, "corrected"), views=[]
    )
    monkeypatch.setattr(
        pages, "find_visible_judges_of_board", lambda board, viewer: found
    )
    context = pages.build_judges_tab_context(board, None, None)
    judge = BoardJudge(
        name="b", kinds=("supports",), rules="corrected@b", kind="supports"
    )
    facts = {**context, "views": [view_facts(board, judge)]}
    return render_to_string("boards/_judges.html", facts)
