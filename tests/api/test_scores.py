"""The numbers of a run: those the offline scorer prints, and for those alone who may see them."""

import pytest

from scoring.models import Breakdown, Signature, save_breakdowns
from tasks.jobs.leases import queue_missing_scorings
from tasks.models import Phase
from tests.access.scene import without_instants
from tests.api.conftest import API
from tests.api.sending import score
from tests.factories import CITANCES, make_gold, make_submission

#: What the scorer prints of its reading of files; the site tells it with the run.
KEPT_ELSEWHERE = {"warnings"}


def scored(world, **fields):
    run = make_submission(phase=world.phase, team=world.team, **fields)
    return run, score(run)


def seen(world, role, run) -> dict:
    response = world.ask(role).get(f"{API}/submissions/{run.pk}/")
    assert response.status_code == 200
    return response.json()


def as_promised(printed: dict) -> dict:
    promised = {
        name: value for name, value in printed.items() if name not in KEPT_ELSEWHERE
    }
    gold = printed["gold"]
    return {
        **promised,
        "gold": {"sha256": gold["hmac_sha256"], "instances": gold["instances"]},
    }


@pytest.mark.both_databases
def test_the_scores_are_to_the_last_digit_what_the_offline_scorer_prints(world):
    run, printed = scored(world)
    body = seen(world, "member", run)
    assert body["status"] == "scored"
    assert body["scores"] == as_promised(printed["corrected"])
    assert body["evaluations"] == [
        as_promised(printed["corrected"]),
        as_promised(printed["official-2017"]),
    ]
    assert body["scores"]["breakdowns"]["topic"]


@pytest.mark.both_databases
def test_metrics_and_classes_keep_the_order_of_the_scorer(world):
    run, printed = scored(world)
    scores = seen(world, "member", run)["scores"]
    assert list(scores["metrics"]) == list(printed["corrected"]["metrics"])
    for dimension, classes in printed["corrected"]["breakdowns"].items():
        assert list(scores["breakdowns"][dimension]) == list(classes)
        for label, metrics in classes.items():
            assert list(scores["breakdowns"][dimension][label]) == list(metrics)


def test_a_count_is_a_number_without_a_scale_and_says_so(world):
    run, printed = scored(world)
    Signature.objects.filter(metric="overlap_f1_micro").update(scale=0)
    found = seen(world, "member", run)["scores"]["metrics"]["overlap_f1_micro"]
    assert found == printed["corrected"]["metrics"]["overlap_f1_micro"] | {
        "scale": 1,
        "is_count": True,
    }


@pytest.mark.both_databases
def test_what_is_infinite_is_null_and_says_so(world):
    run, _ = scored(world)
    evaluation = run.evaluations.get(rules="corrected")
    evaluation.scores.filter(shared__metric="overlap_f1_micro").update(
        value=None, is_infinite=True
    )
    evaluation.breakdowns.all().delete()
    said = {"D01-0001": {"overlap_f1_micro": {"value": None, "infinite": True, "n": 5}}}
    save_breakdowns([Breakdown.of(evaluation, "topic", said)])
    scores = seen(world, "member", run)["scores"]
    assert scores["metrics"]["overlap_f1_micro"]["value"] is None
    assert scores["metrics"]["overlap_f1_micro"]["infinite"] is True
    assert "infinite" not in scores["metrics"]["overlap_recall_micro"]
    [one, *_] = next(iter(scores["breakdowns"]["topic"].values())).values()
    assert (one["value"], one["infinite"]) == (None, True)


def test_the_scores_are_against_the_newest_gold_that_the_run_was_scored_against(world):
    run, printed = scored(world)
    old = printed["corrected"]["gold"]["hmac_sha256"]
    gold = make_gold(
        phase=world.phase,
        citances=[*CITANCES[:1], ("D05-0002", "7", ["1"], "Results_Citation")],
    )
    assert gold.number == 2
    assert seen(world, "member", run)["scores"]["gold"]["sha256"] == old
    assert queue_missing_scorings(world.phase)
    score_again = {job.rules for job in run.jobs.filter(gold=gold)}
    assert score_again == {"corrected", "official-2017"}
    run.jobs.exclude(gold=gold).delete()
    printed = score(run)
    assert seen(world, "member", run)["scores"] == as_promised(printed["corrected"])
    assert printed["corrected"]["gold"]["hmac_sha256"] == gold.digest != old


@pytest.mark.parametrize(
    ("board", "member", "organiser"),
    [
        ("nobody", False, True),
        ("organisers", False, True),
        ("ranks", False, True),
        ("everyone", True, True),
    ],
)
@pytest.mark.parametrize("own_scores", ["", "scores"])
def test_a_team_sees_its_own_scores_where_everybody_does_or_the_phase_says_so(
    world, board, member, organiser, own_scores
):
    run, _ = scored(world)
    Phase.objects.update(board=board, own_scores=own_scores)
    member = member or bool(own_scores)
    for role, may in (("member", member), ("organiser", organiser), ("staff", True)):
        body = seen(world, role, run)
        assert body["scores_hidden"] is not may, role
        assert bool(body["scores"]) is may, role
        assert bool(body["evaluations"]) is may, role
        assert body["status"] == "scored"


def test_a_hidden_phase_lets_no_number_through(world):
    run, printed = scored(world)
    Phase.objects.update(board="nobody")
    text = without_instants(
        world.member.get(f"{API}/submissions/{run.pk}/").content.decode()
    )
    for metric, value in printed["corrected"]["metrics"].items():
        assert metric not in text
        assert repr(value["value"]) not in text or value["value"] in (0.0, 1.0)


def test_a_run_that_is_not_scored_has_none(world):
    run = make_submission(phase=world.phase, team=world.team)
    body = seen(world, "member", run)
    assert (body["scores"], body["evaluations"], body["scores_hidden"]) == (
        None,
        [],
        False,
    )


@pytest.mark.both_databases
@pytest.mark.usefixtures("one_minute")
def test_one_run_takes_a_bounded_number_of_queries(
    world, django_assert_max_num_queries
):
    run, _ = scored(world)
    seen(world, "member", run)
    with django_assert_max_num_queries(16):
        seen(world, "member", run)
