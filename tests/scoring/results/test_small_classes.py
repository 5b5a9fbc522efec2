"""Classes of so few instances that their scores tell of single ones are shown only where instances are."""

import csv
import io

import pytest
from django.urls import reverse

from scoring.models import load_class_scores_of_evaluations
from scoring.results.board.differences import (
    reveals_sizes_of_hidden_classes,
    select_classes_to_hide,
)
from tasks.models import Phase, Task
from tests import factories
from tests.scoring import boards


@pytest.mark.parametrize(
    ("sizes", "hidden"),
    [
        ({"a": 5, "b": 9}, set()),
        # One alone would be what is left of the total; the smallest of the others goes with it.
        ({"a": 1, "b": 9, "c": 7}, {"a", "c"}),
        # Two that are too small together as well.
        ({"a": 1, "b": 2, "c": 9, "d": 8}, {"a", "b", "d"}),
        ({"a": 4, "b": 4, "c": 9}, {"a", "b"}),
        ({"a": 1}, {"a"}),
        ({"a": 1, "b": 1}, {"a", "b"}),
        ({}, set()),
    ],
)
def test_no_small_class_follows_from_the_others(sizes, hidden):
    assert select_classes_to_hide(sizes, 5) == hidden


def test_in_crossed_classes_no_row_and_no_column_gives_one_away():
    sizes = {f"{row} × {column}": 9 for row in "abc" for column in "xyz"}
    sizes["a × x"] = 1
    hidden = select_classes_to_hide(sizes, 5)
    assert "a × x" in hidden
    for part in "abcxyz":
        group = [label for label in sizes if part in label]
        gone = [label for label in group if label in hidden]
        assert not reveals_sizes_of_hidden_classes(gone, sizes, 5) or len(gone) == len(
            group
        )


@pytest.mark.parametrize("smallest", [1, 2, 5])
def test_whatever_is_hidden_there_is_enough_left(smallest):
    for number in range(200):
        sizes = {
            str(place): 1 + (number * 7 + place * place * 3) % 11
            for place in range(number % 7)
        }
        hidden = select_classes_to_hide(sizes, smallest)
        assert {label for label, size in sizes.items() if size < smallest} <= hidden
        assert not reveals_sizes_of_hidden_classes(
            hidden, sizes, smallest
        ) or hidden == set(sizes)


SMALL, LARGE, OTHER = "Smallclass", "Largeclass", "Otherclass"
SECRET = 0.7654321


@pytest.fixture
def scene(db):
    """Two runs by facet: of three classes two have fewer than five instances."""
    phase = factories.make_phase(task=factories.make_task(min_class_size=5))
    lead = factories.make_user()
    team = factories.make_team(season=phase.task.season, lead=lead)
    runs = []
    for value in (0.5, 0.6):
        run = factories.make_submission(phase=phase, team=team, status="scored")
        boards.score(run, value)
        boards.by_class(run, "facet", {SMALL: SECRET, OTHER: SECRET, LARGE: value}, n=3)
        runs.append(run)
    other = factories.make_submission(phase=phase, status="scored")
    boards.score(other, 0.4)
    boards.by_class(other, "facet", {SMALL: SECRET, OTHER: SECRET, LARGE: 0.3}, n=3)
    return phase, lead, runs, other


def told(client, scene) -> str:
    """All that pages and the API say of the classes."""
    phase, _, runs, other = scene
    place = [phase.task.season.slug, phase.task.slug, phase.slug]
    pages = [
        *(
            reverse(name, args=place) + "?dimension=facet"
            for name in ("differences", "classes-csv", "classes-json", "classes-tex")
        ),
        reverse("differences", args=place) + "?dimension=facet&figure=bars.svg",
        reverse("compare", args=place)
        + f"?a={runs[1].pk}&b={other.pk}&dimension=facet",
        reverse("submission", args=[runs[1].pk]),
        reverse("api:submission", args=[runs[1].pk]),
        *(
            reverse(name, args=place)
            for name in ("board", "board-csv", "board-json", "board-tex")
        ),
    ]
    answers = [client.get(page) for page in pages]
    return "".join(
        answer.content.decode() for answer in answers if answer.status_code == 200
    )


def test_pages_and_the_api_tell_nothing_of_small_classes_and_say_so(client, scene):
    client.force_login(scene[1])
    said = told(client, scene)
    assert "0.765" not in said
    assert "Classes of fewer than 5 instances" in said


def test_what_is_withheld_of_a_class_is_null_with_its_reason_everywhere(client, scene):
    phase, lead, runs, other = scene
    client.force_login(lead)
    why = "the class has too few instances"
    nothing = {"value": None, "withheld": why, "n": None}
    [own] = client.get(reverse("api:submission", args=[runs[1].pk])).json()[
        "evaluations"
    ]
    assert own["breakdowns"]["facet"][SMALL] == {"overlap_f1_micro": nothing}
    assert own["breakdowns"]["facet"][LARGE]["overlap_f1_micro"]["value"] == 0.6
    place = [phase.task.season.slug, phase.task.slug, phase.slug]
    [table] = client.get(reverse("classes-json", args=place)).json()["tables"]
    told_of = {one["class"]: one for one in table["classes"]}
    assert (told_of[SMALL]["support"], told_of[SMALL]["scores"][0]) == (
        None,
        {
            "submission": runs[1].pk,
            "value": None,
            "low": None,
            "high": None,
            "withheld": why,
        },
    )
    lines = csv.DictReader(
        io.StringIO(client.get(reverse("classes-csv", args=place)).content.decode())
    )
    assert {
        line["class"]: (line["value"], line["support"])
        for line in lines
        if line["class"] != LARGE
    } == {
        SMALL: ("withheld", ""),
        OTHER: ("withheld", ""),
    }
    sides = client.get(
        reverse("api:several", args=[phase.pk]),
        {"run": [runs[1].pk, other.pk], "dimension": "facet"},
    ).json()
    [small] = [line for line in sides["classes"] if line["name"] == SMALL]
    assert (small["n"], {cell["withheld"] for cell in small["values"]}) == (None, {why})
    assert {cell["difference"] for cell in small["values"]} == {None}


def test_the_smallest_size_is_the_tasks_choice(client, scene):
    client.force_login(scene[1])
    Task.objects.update(min_class_size=1)
    assert "0.765" in told(client, scene)


def test_where_single_instances_are_shown_all_classes_are(client, scene):
    client.force_login(scene[1])
    Phase.objects.update(shows_instances=True)
    assert "0.765" in told(client, scene)


def test_organisers_see_all_classes(client, scene):
    client.force_login(factories.make_user(is_staff=True))
    assert "0.765" in told(client, scene)


def test_the_scene_has_a_small_class(scene):
    _, _, runs, _ = scene
    evaluation = runs[0].evaluations.get()
    metric = evaluation.scores.first().metric
    numbers = {
        label: number.n
        for label, _, number in load_class_scores_of_evaluations(
            [evaluation.pk], "facet", metric
        )
    }
    assert (numbers[SMALL], numbers[OTHER], numbers[LARGE]) == (3, 4, 5)


def test_a_task_without_a_choice_shows_classes_of_five_and_more():
    assert Task().min_class_size == 5
