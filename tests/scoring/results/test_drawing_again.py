"""The draw of a public part by a secret, and a part of before that is drawn again."""

import datetime as dt

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from citeboard.core.refusals import ActionRefused
from citeboard.web.organise.attention import find_season_concerns
from scoring.models import Evaluation
from scoring.offline.parts import parse_part
from scoring.results.board.leak_budget import compute_leak_budget_of_phase
from scoring.worker.drawing import draw_again
from scoring.worker.release import find_part_scored_now
from tasks.models import Job, Phase
from tasks.types.digests import compute_draw_commitment
from tests.api.conftest import API
from tests.api.sending import score
from tests.factories import (
    CITANCES,
    answers,
    make_gold,
    make_phase,
    make_season,
    make_submission,
    make_task,
    make_team,
    make_user,
    run_bytes,
)

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

TOPICS = tuple(f"D01-00{number}" for number in range(10, 20))


@pytest.fixture
def organiser():
    return make_user()


@pytest.fixture
def phase(organiser) -> Phase:
    season = make_season(organiser=organiser, is_public=True)
    made = make_phase(
        task=make_task(season=season), with_gold=False, public_part=30, board="everyone"
    )
    make_gold(phase=made, topics=TOPICS)
    return made


@pytest.fixture
def guessable(phase) -> Phase:
    Phase.objects.filter(pk=phase.pk).update(part_seed=7)
    return again(phase)


def again(phase: Phase) -> Phase:
    return Phase.objects.select_related("task__season").get(pk=phase.pk)


def run(phase: Phase):
    sent = make_submission(
        phase=phase,
        team=make_team(season=phase.task.season),
        content=run_bytes(answers(topics=TOPICS)),
    )
    score(sent)
    return sent


def test_the_first_run_draws_the_part_by_a_secret_that_only_the_scorer_is_given(phase):
    part = parse_part(find_part_scored_now(phase))
    drawn = again(phase)
    assert part.nonce == drawn.part_nonce
    assert drawn.part_seed is None
    assert drawn.get_scored_part_at(timezone.now()) == str(part)
    assert drawn.draw_commitment == compute_draw_commitment(part.nonce)
    assert part.nonce not in str(part)


def test_the_board_commits_to_the_draw_and_the_release_of_the_gold_opens_it(phase):
    sent = run(phase)
    told = Client().get(f"{API}/phases/{phase.pk}/").json()["commitments"]
    nonce = again(phase).part_nonce
    assert told["draw"] == compute_draw_commitment(nonce)
    assert told["draw_nonce"] is None
    address = reverse(
        "board", args=[phase.task.season.slug, phase.task.slug, phase.slug]
    )
    page = Client().get(address).content.decode()
    assert told["draw"] in page
    assert nonce not in page
    Phase.objects.update(
        closes=timezone.now() - dt.timedelta(minutes=1), gold_is_public=True
    )
    score(sent)
    told = Client().get(f"{API}/phases/{phase.pk}/").json()["commitments"]
    assert told["draw_nonce"] == nonce


def test_phases_on_the_same_gold_share_the_secret(phase):
    beside = make_phase(task=phase.task, split=phase.split, public_part=30)
    find_part_scored_now(phase)
    find_part_scored_now(beside)
    assert again(phase).part_nonce == again(beside).part_nonce


def test_gold_that_shows_the_same_and_answers_otherwise_has_the_same_part(phase):
    beside = make_phase(
        task=make_task(season=phase.task.season), with_gold=False, public_part=30
    )
    otherwise = [(*place, ["4"], facet) for *place, _answer, facet in CITANCES]
    make_gold(phase=beside, topics=TOPICS, citances=otherwise)
    find_part_scored_now(phase)
    find_part_scored_now(beside)
    assert again(phase).part_nonce == again(beside).part_nonce
    assert compute_leak_budget_of_phase(again(phase)).unequal == ()


def test_a_part_of_before_is_drawn_again_and_its_runs_are_scored_on_the_new_one(
    guessable, organiser
):
    sent = run(guessable)
    assert Evaluation.objects.get().part == "public-30-7"
    draw_again(phase=guessable, by=organiser)
    drawn = again(guessable)
    assert (drawn.part_seed, drawn.has_guessable_part) == (None, False)
    assert Job.objects.filter(submission=sent, state="queued").exists()
    score(sent)
    assert Evaluation.objects.get().part == drawn.get_scored_part_at(timezone.now())


def test_phases_that_share_the_draw_are_drawn_again_together(guessable, organiser):
    beside = make_phase(
        task=guessable.task, split=guessable.split, public_part=30, part_seed=7
    )
    draw_again(phase=guessable, by=organiser)
    assert again(beside).part_nonce == again(guessable).part_nonce != ""


def test_under_the_ladder_a_run_has_a_number_of_the_new_part_and_none_of_the_old(
    guessable, organiser
):
    Phase.objects.update(ladder=True)
    sent = run(again(guessable))
    before = Evaluation.objects.get().rank_value
    Evaluation.objects.update(rank_value=before - 0.5)
    draw_again(phase=again(guessable), by=organiser)
    score(sent)
    assert Evaluation.objects.get().rank_value == before


@pytest.mark.parametrize("what", ["secret", "over", "no part", "not drawn"])
def test_what_cannot_be_drawn_again_is_refused(what, guessable, organiser):
    changes = {
        "secret": {"part_nonce": "5f" * 32, "part_seed": None},
        "over": {"closes": timezone.now() - dt.timedelta(minutes=1)},
        "no part": {"public_part": None},
        "not drawn": {"part_seed": None},
    }
    Phase.objects.filter(pk=guessable.pk).update(**changes[what])
    with pytest.raises(ActionRefused):
        draw_again(phase=again(guessable), by=organiser)


def test_its_organisers_are_told_and_their_settings_offer_a_new_draw(
    guessable, organiser
):
    season = guessable.task.season
    run(guessable)
    [concern] = [one for one in find_season_concerns(season) if one.name == "parts"]
    client = Client()
    client.force_login(organiser)
    page = client.get(concern.lines[0].href).content.decode()
    assert "Draw the public part again" in page
    Phase.objects.update(part_seed=None, part_nonce="5f" * 32)
    assert "parts" not in {one.name for one in find_season_concerns(season)}


def test_a_program_rehearses_the_draw_before_it_is_made(guessable, organiser):
    run(guessable)
    client = Client()
    client.force_login(organiser)
    address = f"{API}/phases/{guessable.pk}/draw/"
    rehearsed = client.post(f"{address}?dry_run=true")
    assert rehearsed.status_code == 200
    told = " ".join(rehearsed.json()["done"])
    assert "drew the public part" in told
    assert "scored again" in told
    assert again(guessable).part_seed == 7
