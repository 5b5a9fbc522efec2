"""Changes between two runs of a team, and the limits of a phase with hidden gold."""

import re

import pytest

from scoring.metrics.calibration import Brier
from scoring.results.comparison.changes import RunChanges
from scoring.results.comparison.paired_scores import ClassDifference
from tasks.models import Phase, Submission
from tests import factories
from tests.api.conftest import API
from tests.kept_worlds import keep_world
from tests.scoring import boards
from tests.scoring.compared import make_phase, scored

pytestmark = pytest.mark.django_db

CITANCE = "D01-0004, citance 1 (D05-0001)"


def make_runs() -> tuple[Phase, Submission, Submission, Submission]:
    """Create a phase with an earlier and a better later run of one team, and a run of another team."""
    phase = make_phase()
    team = factories.make_team(season=phase.task.season, lead=factories.make_user())
    own = scored(phase, 3, team=team), scored(phase, 9, team=team)
    return (phase, *own, scored(phase, 5))


@pytest.fixture(scope="module")
def kept_runs(django_db_setup, django_db_blocker):
    return keep_world(make_runs, django_db_blocker)


@pytest.fixture
def runs(db, kept_runs):
    return kept_runs()


@pytest.fixture
def phase(runs) -> Phase:
    return runs[0]


@pytest.fixture
def own(runs, client) -> tuple[Submission, Submission]:
    """Sign in as a member of the team of the two runs."""
    client.force_login(runs[1].team.memberships.get().user)
    return runs[1:3]


@pytest.fixture
def other(runs) -> Submission:
    return runs[3]


def page_of(client, phase, runs, *, status=200) -> str:
    query = {"a": runs[0].pk, "b": runs[1].pk}
    response = client.get(boards.address("compare", phase), query)
    assert response.status_code == status
    return re.sub(r"\s+", " ", response.content.decode())


def changes(client, run, *, status=200, **query):
    response = client.get(f"{API}/submissions/{run.pk}/changes/", query)
    assert response.status_code == status
    return response.json()


def show_instances(phase, **fields) -> None:
    Phase.objects.filter(pk=phase.pk).update(shows_instances=True, **fields)


def test_where_the_phase_shows_instances_page_and_api_name_those_that_turned(
    client, phase, own
):
    show_instances(phase)
    found = changes(client, own[1])
    instances = found["instances"]
    assert found["since"] == own[0].pk
    assert (len(instances["turned_right"]), instances["turned_wrong"]) == (12, [])
    assert instances["of"] == 20
    assert CITANCE in [one["name"] for one in instances["turned_right"]]
    page = page_of(client, phase, own)
    assert "What changed from run 1 to run 2" in page
    assert "12 of 20 instances turned right and 0 turned wrong" in page
    assert CITANCE in page
    # Changes go from the earlier to the later run, in either order of the address.
    assert "What changed from run 1 to run 2" in page_of(client, phase, own[::-1])


def test_a_run_is_compared_with_the_last_scored_run_before_it(client, phase, own):
    third = scored(phase, 12, team=own[0].team)
    assert changes(client, third)["since"] == own[1].pk


def test_backwards_the_same_instances_turned_wrong(client, phase, own):
    show_instances(phase)
    instances = changes(client, own[0], since=own[1].pk)["instances"]
    assert (instances["turned_right"], len(instances["turned_wrong"])) == ([], 12)


def test_elsewhere_numbers_alone_are_compared(client, phase, own):
    found = changes(client, own[1])
    assert found["instances"] is None
    by_name = {line["name"]: line for line in found["metrics"]}
    assert by_name["overlap_f1_micro"]["difference"] == pytest.approx(
        by_name["overlap_f1_micro"]["after"] - by_name["overlap_f1_micro"]["before"]
    )
    page = page_of(client, phase, own)
    assert "This phase shows no single instances" in page
    assert "turned right" not in page
    assert "D05-0001" not in page


def test_gold_that_is_public_shows_instances_as_well(client, phase, own):
    show_instances(phase, gold_is_public=True)
    assert changes(client, own[1])["instances"]["of"] == 20


@pytest.mark.parametrize("board", ["ranks", "nobody"])
def test_a_board_without_numbers_shows_no_instances_either(client, phase, own, board):
    show_instances(phase, board=board, own_scores="scores")
    assert changes(client, own[1])["instances"] is None
    assert "turned right" not in page_of(client, phase, own)


def test_a_phase_that_hides_own_scores_reveals_nothing(client, phase, own):
    show_instances(phase, board="nobody", own_scores="")
    changes(client, own[1], status=404)
    page_of(client, phase, own, status=404)


def test_a_team_compares_its_own_runs_alone(client, phase, own, other):
    show_instances(phase)
    changes(client, own[1], since=other.pk, status=404)
    changes(client, other, since=own[0].pk, status=404)
    assert "turned right" not in page_of(client, phase, (own[1], other))
    # Other users do not find the team's changes, even on a public board.
    client.force_login(factories.make_user())
    changes(client, own[1], since=own[0].pk, status=404)
    client.logout()
    changes(client, own[1], since=own[0].pk, status=401)


def test_organisers_compare_runs_of_one_team_and_not_of_two(client, own, other):
    client.force_login(factories.make_user(is_staff=True))
    assert changes(client, own[1])["instances"]["of"] == 20
    changes(client, own[1], since=other.pk, status=404)


def test_only_scored_runs_have_changes(client, phase, own):
    first, second = own
    waiting = factories.make_submission(phase=phase, team=first.team)
    changes(client, waiting, status=404)
    changes(client, second, since=waiting.pk, status=404)
    changes(client, second, since=second.pk, status=404)
    changes(client, first, status=404)
    Submission.objects.filter(pk=first.pk).update(status="withdrawn")
    changes(client, second, since=first.pk, status=404)
    page_of(client, phase, own, status=404)


def test_runs_under_another_rule_set_are_not_mixed(client, phase, own):
    found = changes(client, own[1], rules="corrected")
    assert found["rules"] == "corrected"
    phase.task.rules = ["corrected", "official-2017"]
    phase.task.save()
    changes(client, own[1], rules="official-2017", status=404)
    changes(client, own[1], rules="unknown", status=404)


def test_a_run_of_another_phase_is_not_compared(client, phase, own):
    elsewhere = make_phase(task=phase.task, slug="other")
    there = scored(elsewhere, 5, team=own[0].team)
    changes(client, own[1], since=there.pk, status=404)


def test_the_comparison_of_a_run_with_itself_asks_for_another(client, phase, own):
    page = page_of(client, phase, (own[0], own[0]))
    assert "Choose two different runs." in page
    assert "does not have two yet" not in page


def difference(label: str, low: float | None, high: float | None) -> ClassDifference:
    return ClassDifference(label, 20, 0.5, 0.4, 0.1, low, high, "")


def test_a_class_changed_where_its_interval_leaves_out_zero():
    lines = [
        difference("Aim", 0.1, 0.3),
        difference("Method", -0.1, 0.3),
        difference("Results", -0.3, -0.1),
        difference("Hypothesis", None, None),
    ]
    found = RunChanges(
        before=Submission(),
        after=Submission(),
        rules="corrected",
        numbers=[],
        metric=Brier("brier_score", "corrected", labels=("a", "b")),
        dimension="facet",
        classes=lines,
        instances=None,
        sees_instances=False,
    )
    # A smaller loss is better.
    assert (found.better, found.worse) == (["Results"], ["Aim"])
