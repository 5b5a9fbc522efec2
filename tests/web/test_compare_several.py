"""Several runs side by side, and a run against the one before."""

import re

import numpy as np
import pytest

from tasks.models import Phase, Submission
from tests import factories
from tests.api.conftest import API
from tests.kept_worlds import KeptWorld, keep_world
from tests.scoring import boards, compared
from tests.scoring.compared import scored

pytestmark = pytest.mark.django_db


def make_three() -> tuple[Phase, list[Submission]]:
    phase = compared.make_phase()
    return phase, [scored(phase, right, system=f"Of {right}") for right in (9, 6, 3)]


@pytest.fixture(scope="module")
def kept(django_db_setup, django_db_blocker) -> KeptWorld:
    return keep_world(make_three, django_db_blocker)


@pytest.fixture
def world(request, db, kept) -> tuple[Phase, list[Submission]]:
    return kept() if "runs" in request.fixturenames else (compared.make_phase(), [])


@pytest.fixture
def phase(world) -> Phase:
    return world[0]


@pytest.fixture
def runs(world) -> list[Submission]:
    return world[1]


def ask(client, phase, *runs, status=200, **query) -> str:
    given = {"run": [run.pk for run in runs], **query}
    response = client.get(boards.address("compare-several", phase), given)
    assert response.status_code == status
    return re.sub(r"\s+", " ", response.content.decode())


def read(client, phase, *runs, **query):
    response = client.get(
        f"{API}/phases/{phase.pk}/several/", {"run": [run.pk for run in runs], **query}
    )
    assert response.status_code == 200
    return response.json()


def test_every_metric_and_class_is_held_against_the_first_run(client, phase, runs):
    found = read(client, phase, *runs, dimension="facet")
    assert [run["system"] for run in found["runs"]] == ["Of 9", "Of 6", "Of 3"]
    line = next(own for own in found["metrics"] if own["name"] == "overlap_f1_micro")
    first, second, third = line["values"]
    assert first["value"] > second["value"] > third["value"]
    assert (first["difference"], second["difference"]) == (
        0,
        second["value"] - first["value"],
    )
    assert found["dimension"] == "facet"
    assert {own["name"] for own in found["classes"]} >= {"Method", "Results"}
    page = ask(client, phase, *runs, dimension="facet")
    assert f"−{abs(third['value'] - first['value']):.4f}" in page
    assert f"compare/?a={runs[0].pk}&amp;b={runs[2].pk}" in page


def test_beside_the_numbers_stand_their_mean_and_standard_deviation(
    client, phase, runs
):
    found = read(client, phase, *runs, dimension="facet")
    for line in (*found["metrics"], *found["classes"]):
        known = [own["value"] for own in line["values"]]
        is_whole = None not in known
        assert line["mean"] == (
            pytest.approx(np.mean(known), rel=1e-12) if is_whole else None
        )
        assert line["deviation"] == (
            pytest.approx(np.std(known, ddof=1), rel=1e-9) if is_whole else None
        )
    line = next(own for own in found["metrics"] if own["name"] == "overlap_f1_micro")
    page = ask(client, phase, *runs)
    assert (
        f'{line["mean"]:.4f} <span class="soft">{line["deviation"]:.4f}</span>' in page
    )


def test_one_run_alone_has_no_standard_deviation(client, phase, runs):
    line = next(
        own
        for own in read(client, phase, runs[0])["metrics"]
        if own["name"] == "overlap_f1_micro"
    )
    assert (line["mean"], line["deviation"]) == (line["values"][0]["value"], None)


def test_the_address_decides_which_run_is_the_first(client, phase, runs):
    found = read(client, phase, runs[2], runs[0])
    line = next(own for own in found["metrics"] if own["name"] == "overlap_f1_micro")
    assert line["values"][1]["difference"] > 0
    assert "+0." in ask(client, phase, runs[2], runs[0])


def test_without_an_address_the_first_of_the_board_stand_there(client, phase, runs):
    page = ask(client, phase)
    assert page.count(" checked") == 3
    assert (
        "More than two side by side"
        in client.get(boards.address("compare", phase)).content.decode()
    )


def test_numbers_of_another_board_are_nobodys(client, phase, runs):
    Phase.objects.filter(pk=phase.pk).update(board="organisers", own_scores="scores")
    ask(client, phase, *runs, status=404)
    ask(client, phase, status=404)
    client.force_login(runs[0].team.memberships.get().user)
    ask(client, phase, *runs, status=404)
    assert "Of 9" in ask(client, phase, runs[0])


def test_metrics_computed_otherwise_for_one_run_are_left_out(client, phase, runs):
    boards.set_version_0(
        runs[1].evaluations.get().scores.get(shared__metric="overlap_f1_micro")
    )
    assert "1 metric left out" in ask(client, phase, *runs)
    assert "1 metric left out" not in ask(client, phase, runs[0], runs[2])


def test_a_dimension_of_one_class_is_not_offered(client, phase, runs):
    everywhere = set(re.findall(r"dimension=(\w+)", ask(client, phase, *runs)))
    task = factories.make_task(rules=["corrected"])
    single = compared.make_phase(task=task, topics=compared.TOPICS[:1])
    pair = [scored(single, right, topics=compared.TOPICS[:1]) for right in (1, 0)]
    offered = set(re.findall(r"dimension=(\w+)", ask(client, single, *pair)))
    assert everywhere - offered >= {"topic"}
    compare = client.get(
        boards.address("compare", single), {"a": pair[0].pk, "b": pair[1].pk}
    )
    assert "dimension=topic" not in compare.content.decode()
    assert "dimension=facet" in compare.content.decode()


def test_no_cache_stores_what_a_visitor_reads_of_several_runs(client, phase, runs):
    given = {"run": [run.pk for run in runs]}
    page = client.get(boards.address("compare-several", phase), given)
    assert page["Cache-Control"] == "private, no-store"


def test_no_cache_stores_what_the_api_tells_a_visitor_of_several_runs(
    client, phase, runs
):
    given = {"run": [run.pk for run in runs]}
    answer = client.get(f"{API}/phases/{phase.pk}/several/", given)
    assert answer["Cache-Control"] == "private, no-store"


def test_a_team_is_led_to_the_run_before(client, phase):
    person = factories.make_user()
    team = factories.make_team(season=phase.task.season, lead=person)
    first, second = scored(phase, 3, team=team), scored(phase, 6, team=team)
    client.force_login(person)
    page = client.get(f"/submissions/{second.pk}/").content.decode()
    assert f"?a={second.pk}&amp;b={first.pk}" in page
    assert (
        "What changed since"
        not in client.get(f"/submissions/{first.pk}/").content.decode()
    )
