"""What readers see of published results: as printed, with the place of every figure, apart from our own."""

import csv
import io
import re

import pytest
from django.core.management import call_command
from django.urls import reverse

from scoring.models import Reported
from tests import factories
from tests.demo.worlds import make_without_runs
from tests.kept_worlds import KeptWorld, keep_world
from tests.scoring import boards
from tests.scoring.publications import PLACEMENTS, load, write
from tests.web.reading import text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def task(tmp_path):
    load(write(tmp_path / "own.json"))
    return factories.make_task(
        is_reported_only=True, published=PLACEMENTS, title="The task"
    )


def address(name, task) -> str:
    return reverse(name, args=[task.season.slug, task.slug])


def order(html: str) -> list[str]:
    return re.findall(r'<span class="system">([^<]+)</span>', html)


def test_systems_stand_best_first_with_their_figures_as_printed(client, task):
    page = client.get(address("published", task)).content.decode()
    assert order(page)[:3] == ["Ibis", "Heron", "Jay"]
    assert ">.10</a>" in page
    assert "0.250" in page
    assert "&lt;0.01" in page
    # An interval that is printed is drawn, and its ends are no columns of their own.
    assert 'aria-label="0.4000 to 0.6000"' in page
    assert "not computed here: no run, no signature" in page


def test_every_figure_leads_to_its_table_and_line(client, task):
    page = client.get(address("published", task)).content.decode()
    assert 'href="/published/own-2020/#table-1-2"' in page
    paper = client.get("/published/own-2020/").content.decode()
    for anchor in set(re.findall(r'href="/published/own-2020/#([\w-]+)"', page)):
        assert f'id="{anchor}"' in paper, anchor


def test_the_highest_figure_of_each_group_of_systems_is_bold_with_all_that_are_equal(
    client, root
):
    """Duma and Klein print .391, .413 and twice .469 as the best of their three groups of methods."""
    load(root / "examples" / "citation-resolution-2014" / "duma-klein-2014.json")
    page = client.get("/published/duma-klein-2014/").content.decode()
    assert re.findall(r"<strong>(0\.\d+)</strong>", page) == [
        "0.391",
        "0.413",
        "0.469",
        "0.469",
    ]
    told = text_of(client.get("/published/duma-klein-2014/"))
    assert "holds: in 5 of 5 cases, by +0.086 [0.074, 0.097] on average" in told


def test_doubted_figures_say_so_by_a_word_and_why(client, task):
    page = text_of(client.get(address("published", task)))
    assert "0.500 doubted" in page
    assert "Ibis, F1 (it cannot be so high)" in page
    assert "Jay (the figures of the row contradict each other)" in page


def test_a_table_by_class_is_drawn_and_told_with_its_overall_row_among_the_systems(
    client, task
):
    response = client.get(address("published", task))
    page = text_of(response)
    assert "Where systems differ, by topic" in page
    assert "T1 20.5 (1.5) 30.5 (1.5)" in page
    assert order(response.content.decode())[3:] == ["Ibis", "Heron"]
    by_class = response.context["by_class"][0]
    assert by_class["heat"].values == [[20.5, 30.5], [41.0, 40.0]]
    bars = by_class["bars"]
    assert [
        (own.name, [value.value for value in own.values]) for own in bars.series
    ] == [
        ("Ibis", [30.5, 40.0]),
        ("Heron", [20.5, 41.0]),
    ], "the best first"
    assert bars.axis.title == by_class["measure"].label
    chosen = client.get(address("published", task), {"system": "Heron"}).context[
        "by_class"
    ][0]
    assert [own.name for own in chosen["bars"].series] == ["Heron"]
    assert chosen["systems"] == [("Heron", True), ("Ibis", False)]
    assert [line["label"] for line in by_class["lines"]] == ["T1", "T2"]


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        ("F1", ["Ibis", "Heron", "Jay"]),
        ("-F1", ["Jay", "Heron", "Ibis"]),
        ("P", ["Ibis", "Heron", "Jay"]),
        ("nonsense", ["Ibis", "Heron", "Jay"]),
    ],
)
def test_the_address_says_how_it_is_sorted(client, task, sort, expected):
    page = client.get(address("published", task) + f"?sort={sort}").content.decode()
    assert order(page)[:3] == expected


def test_figures_are_taken_away_with_their_places(client, task):
    rows = list(
        csv.DictReader(
            io.StringIO(client.get(address("published-csv", task)).content.decode())
        )
    )
    assert len(rows) == 18
    assert (
        rows[0]
        | {"paper": "own-2020", "table": "Table 1", "line": "2", "system": "Ibis"}
        == rows[0]
    )
    taken = client.get(address("published-json", task)).json()
    assert taken["papers"][0]["title"] == "A paper of our own"
    assert {figure["class"] for figure in taken["figures"]} == {
        None,
        "T1",
        "T2",
        "Average",
    }


def test_a_task_without_published_results_has_no_such_page(client):
    other = factories.make_task()
    assert client.get(address("published", other)).status_code == 404
    unknown = factories.make_task(
        published=[{**PLACEMENTS[0], "paper": "never-loaded"}]
    )
    assert client.get(address("published", unknown)).status_code == 404


def test_the_season_and_the_first_page_lead_to_them(client, task):
    for page in (reverse("home"), reverse("season", args=[task.season.slug])):
        html = client.get(page).content.decode()
        assert address("published", task) in html
    season = text_of(client.get(reverse("season", args=[task.season.slug])))
    assert "Deadlines" not in season
    assert "Take part" not in season
    assert (
        address("published", task)
        in client.get(
            reverse("task", args=[task.season.slug, task.slug])
        ).content.decode()
    )


def board_with_published():
    phase = boards.make_phase()
    phase.task.published = PLACEMENTS
    phase.task.save()
    boards.scored_run(phase, boards.make_team(phase, "Night Shift"), 0.4, system="Owl")
    return phase


def test_a_board_shows_them_apart_in_italics_with_a_word_and_without_rank(client, task):
    phase = board_with_published()
    page = client.get(boards.address("board", phase) + "?view=published")
    own, _, reported = page.content.decode().partition('class="published-below"')
    assert "Owl" in own
    assert "Ibis" not in own
    assert order(reported) == ["Ibis", "Heron", "Jay"]
    assert reported.count('<tr class="reported">') == 3
    assert '<span class="team">published</span>' in reported
    assert "Own F1" in reported


def test_they_are_hidden_and_filtered_by_the_address(client, task):
    phase = board_with_published()
    board = boards.address("board", phase)
    page = client.get(board + "?reported=no").content.decode()
    assert "Ibis" not in page
    assert "view=published" not in page
    filtered = client.get(board + "?q=heron&view=published").content.decode()
    assert order(filtered.partition('class="published-below"')[2]) == ["Heron"]
    form = client.get(board + "?reported=no&adjust=yes").content.decode()
    assert 'name="reported"' in form


def test_a_board_of_a_task_that_nothing_is_published_of_does_not_mention_it(client):
    phase = boards.make_phase()
    boards.scored_run(phase, boards.make_team(phase, "Night Shift"), 0.4)
    page = client.get(boards.address("board", phase)).content.decode()
    assert "published" not in page


@pytest.fixture(scope="module")
def kept_demo(django_db_setup, django_db_blocker) -> KeptWorld:
    return keep_world(make_without_runs, django_db_blocker)


@pytest.mark.slow
def test_the_season_that_ships_shows_the_history_of_the_task(client, kept_demo):
    kept_demo()
    call_command("load_season", "examples/cl-summ-2014", stdout=(told := io.StringIO()))
    assert told.getvalue() == "season cl-summ-2014: nothing to change\n"
    home = client.get(reverse("home")).content.decode()
    assert 'href="/seasons/cl-summ-2014/1a/published/"' in home
    first = client.get("/seasons/cl-summ-2014/1a/published/")
    assert order(first.content.decode()) == [
        "clair_umich", "TALN.UPF", "MQ", "context", "MMR", "topics", "TF.IDF",
    ]  # fmt: skip
    facets = client.get("/seasons/cl-summ-2014/1b/published/").context["by_class"][0]
    assert [line["label"] for line in facets["lines"]] == [
        "Aim",
        "Method",
        "Implication",
        "Results",
        "Hypothesis",
    ]
    topics = client.get("/seasons/cl-summ-2014/2/published/").context["by_class"][0]
    assert len(topics["lines"]) == 9
    assert client.post("/enter/cl-summ-2014/").status_code == 302


@pytest.mark.shared
def test_the_figures_that_ship_are_those_of_the_paper(client, shared, root):
    call_command(
        "reported_results",
        str(root / "examples/cl-summ-2014/jaidka-2014.json"),
        stdout=io.StringIO(),
    )
    names = ("table__name", "key", "metric", "value", "printed", "line", "system")
    ours = set(Reported.objects.values_list(*names))
    Reported.objects.all().delete()
    call_command(
        "reported_results",
        str(shared / "published/cl-summ-2014.json"),
        stdout=io.StringIO(),
    )
    assert set(Reported.objects.values_list(*names)) == ours
    assert len(ours) == 154
