"""Terms of the field are explained on the page, without scripts."""

import re
from types import SimpleNamespace

import pytest
from django.urls import reverse

from citeboard.core.glossary import GLOSSARY_TERMS
from citeboard.core.templatetags.page import sentence_case
from scoring.results.runs.results import has_only_undefined_scores
from tests import factories
from tests.scoring import boards
from tests.web.reading import text_of


def explained(page: str) -> list[str]:
    return re.findall(r"<dt><dfn>([^<]+)</dfn></dt>\s*<dd>[^<]{20,}</dd>", page)


def test_the_guide_to_boards_explains_all_of_them(client):
    page = client.get(reverse("about")).content.decode()
    assert explained(page) == [str(word.term) for word in GLOSSARY_TERMS.values()]
    assert [*GLOSSARY_TERMS] == explained(page)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("home", ["run", "gold"]),
        ("season", ["run"]),
        ("task", ["run", "gold", "citance", "rules", "micro"]),
    ],
)
def test_pages_explain_the_words_that_they_use_first(client, page, words):
    task = boards.make_phase().task
    address = {"home": [], "season": [task.season.slug]}.get(
        page, [task.season.slug, task.slug]
    )
    told = client.get(reverse(page, args=address)).content.decode()
    assert explained(told) == words


@pytest.mark.django_db
def test_a_form_for_several_tasks_has_no_check_box_without_effect(client):
    phase, person = boards.make_phase(), factories.make_user()
    factories.make_team(season=phase.task.season, lead=person)
    client.force_login(person)
    address = reverse("season-upload", args=[phase.task.season.slug])
    page = client.get(address).content.decode()
    assert 'name="run"' in page
    assert 'name="again"' not in page


@pytest.mark.parametrize(
    ("label", "written"),
    [
        ("Current Password", "Current password"),
        ("ORCID iD", "ORCID iD"),
        ("My name and ORCID iD", "My name and ORCID iD"),
        ("", ""),
    ],
)
def test_labels_are_sentences_and_keep_names(label, written):
    assert sentence_case(label) == written


@pytest.mark.parametrize(
    ("numbers", "is_left_out"),
    [
        ([("\u2013", "")], True),
        ([("\u2013", ""), None], True),
        ([("\u2013", ""), ("0.5000", "")], False),
        ([("withheld", "of a small class")], False),
        ([("\u221e", "")], False),
    ],
)
def test_a_metric_without_any_value_has_no_row(numbers, is_left_out):
    line = {
        "numbers": [
            number and SimpleNamespace(value=number[0], withheld=number[1])
            for number in numbers
        ]
    }
    assert has_only_undefined_scores(line) == is_left_out


@pytest.mark.django_db
def test_the_page_of_a_score_leaves_out_metrics_that_no_run_has(client):
    phase = boards.make_phase(rules=("corrected",))
    run, other = (
        boards.make_run(phase, boards.make_team(phase, name)) for name in ("A", "B")
    )
    boards.score(run, 0.5, rouge_l_f1=None, rouge_s_star_f1=None)
    boards.score(other, 0.4, rouge_l_f1=0.3, rouge_s_star_f1=None)
    where = boards.address("board", phase) + f"runs/{run.pk}/"
    page = text_of(client.get(where))
    assert "ROUGE-S* F1" not in page
    # Another run has this metric: its cell on the board leads here.
    assert "ROUGE-L F1" in page
