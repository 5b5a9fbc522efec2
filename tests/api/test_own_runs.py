"""Runs one by one and as a list: whose they are, what became of them, taking them back."""

import datetime as dt

import pytest

from citeboard.api.own_runs import find_runs_of_user
from scoring.results.board.visibility import may_see_submission
from tasks.jobs.engine import claim_job
from tasks.models import Job, Submission
from tests.api.conftest import API, ROLES
from tests.api.sending import content, score, send
from tests.factories import (
    make_baseline,
    make_phase,
    make_submission,
    other_run,
    run_bytes,
)

MEMBERS = {
    "id", "number", "phase", "team", "bundle", "system", "description", "card", "links", "kind",
    "filename", "sha256", "size", "submitted_at", "begun_at", "is_late", "exclusion", "exclusion_reason",
    "priority", "seeds_of", "status", "since", "reason", "replace_until", "team_reported", "progress", "url",
    "page",
}  # fmt: skip


def submission(world, **fields) -> Submission:
    return make_submission(phase=world.phase, team=world.team, **fields)


def address(run: Submission, action: str = "") -> str:
    return f"{API}/submissions/{run.pk}/{action}"


@pytest.mark.both_databases
def test_the_list_holds_the_runs_of_ones_teams_newest_first(world):
    mine = [submission(world), submission(world)]
    make_submission(phase=world.phase, team=world.other_team)
    body = world.member.get(f"{API}/submissions/").json()
    assert body["count"] == 2
    assert [result["id"] for result in body["results"]] == [
        run.pk for run in reversed(mine)
    ]
    assert set(body["results"][0]) == MEMBERS
    assert body["results"][0]["team"] == world.team.slug


@pytest.mark.both_databases
def test_the_list_is_filtered_by_phase_and_team(world):
    here, there = (
        submission(world),
        make_submission(phase=make_phase(task=world.task), team=world.team),
    )
    theirs = make_submission(phase=world.phase, team=world.other_team)

    def listed(role, query):
        return [
            result["id"]
            for result in world.ask(role)
            .get(f"{API}/submissions/?{query}")
            .json()["results"]
        ]

    assert listed("member", f"phase={here.phase_id}") == [here.pk]
    assert listed("member", f"phase={there.phase_id}") == [there.pk]
    assert listed("organiser", f"team={world.other_team.slug}") == [theirs.pk]
    assert listed("member", f"team={world.other_team.slug}") == []
    assert listed("organiser", f"team={world.team.slug}&phase={there.phase_id}") == [
        there.pk
    ]


@pytest.mark.parametrize(
    "query", ["phase=first", "phase=0", "phase=99999999999999999999", "team=%00"]
)
def test_a_filter_that_cannot_be_meant_is_named(world, query):
    response = world.member.get(f"{API}/submissions/?{query}")
    assert response.status_code == 400
    assert list(response.json()["errors"]) == [query.partition("=")[0]]


@pytest.mark.both_databases
def test_a_long_list_comes_in_pages(world):
    for _ in range(3):
        submission(world)
    first = world.member.get(f"{API}/submissions/?page_size=2").json()
    assert len(first["results"]) == 2
    assert first["previous"] is None
    second = world.member.get(first["next"]).json()
    assert len(second["results"]) == 1
    assert second["next"] is None
    assert world.member.get(f"{API}/submissions/?page=9").status_code == 404


@pytest.mark.both_databases
@pytest.mark.usefixtures("one_minute")
def test_a_list_of_any_length_takes_the_same_number_of_queries(
    world, django_assert_max_num_queries
):
    for _ in range(4):
        submission(world)
    world.member.get(f"{API}/submissions/")
    with django_assert_max_num_queries(5):
        assert world.member.get(f"{API}/submissions/").json()["count"] == 4


def test_what_the_list_shows_is_what_may_be_seen_one_by_one(world):
    runs = [
        submission(world),
        make_submission(phase=world.phase, team=world.other_team),
        make_submission(),
        make_baseline(phase=world.phase),
    ]
    for role in ROLES[1:]:
        user = world.people[role]
        assert set(find_runs_of_user(user)) == {
            run for run in runs if may_see_submission(run, user)
        }, role


@pytest.mark.both_databases
def test_a_waiting_run_says_its_place_in_the_queue_and_the_next_moves_up(world):
    first, second = submission(world), submission(world)

    def place(run):
        return world.member.get(address(run)).json()["place"]

    assert (place(first), place(second)) == (1, 2)
    claim_job(first.jobs.get(sets_status=True).pk, "a worker")
    assert (place(first), place(second)) == (None, 1)


def test_a_run_being_scored_says_how_far_it_is(world):
    run = submission(world)
    assert world.member.get(address(run)).json()["progress"] is None
    job = claim_job(run.jobs.get(sets_status=True).pk, "a worker")
    Job.objects.filter(pk=job.pk).update(progress=0.4)
    body = world.member.get(address(run)).json()
    assert (body["status"], body["progress"], body["scores"]) == ("scoring", 0.4, None)
    assert body["since"] > body["submitted_at"]


def test_a_failed_run_says_why(world):
    run = submission(
        world, status="failed", reason="The scorer took longer than 30 minutes."
    )
    body = world.member.get(address(run)).json()
    assert body["reason"] == "The scorer took longer than 30 minutes."
    assert body["scores"] is None


def test_its_team_gets_the_file_back_byte_for_byte(world):
    sent = run_bytes() + b"\n \n"
    run = submission(world, content=sent)
    for role in ("member", "organiser", "staff"):
        response = world.ask(role).get(address(run, "run/"))
        assert content(response) == sent
        assert response["Content-Type"] == "application/octet-stream"
        assert response["Content-Disposition"] == 'attachment; filename="run.jsonl"'
        assert response["X-Content-Type-Options"] == "nosniff"


def test_a_file_comes_whatever_the_program_says_it_accepts(world):
    run = submission(world, content=run_bytes())
    for accepted in (
        "application/octet-stream",
        "text/html",
        "application/json",
        "nonsense",
    ):
        response = world.member.get(address(run, "run/"), headers={"Accept": accepted})
        assert response.status_code == 200
        assert content(response) == run_bytes()


def test_a_waiting_run_is_cancelled_and_costs_nothing(world):
    world.phase.runs_in_total = 1
    world.phase.save()
    run = submission(world)
    response = world.member.post(address(run, "cancel/"))
    assert response.status_code == 200
    assert set(response.json()) == MEMBERS
    assert response.json()["status"] == "cancelled"
    assert world.member.post(address(run, "cancel/")).json() == response.json()
    assert send(world.member, world.phase, other_run(1)).status_code == 201


@pytest.mark.parametrize("asked", ["true", "True", "1"])
def test_an_act_that_nothing_rehearses_refuses_a_dry_run_and_does_nothing(world, asked):
    run = submission(world)
    score(run)
    answer = world.member.post(address(run, "withdraw/") + f"?dry_run={asked}")
    assert (answer.status_code, list(answer.json()["errors"])) == (400, ["dry_run"])
    run.refresh_from_db()
    assert run.status == "scored"


def test_a_scored_run_is_withdrawn_and_leaves_the_board(world):
    run = submission(world)
    score(run)
    board = f"{API}/phases/{world.phase.pk}/leaderboard/"
    assert [row["submission"] for row in world.member.get(board).json()["rows"]] == [
        run.pk
    ]
    before = world.member.get(board).json()["version"]
    assert world.member.post(address(run, "withdraw/")).json()["status"] == "withdrawn"
    assert world.member.get(board).json()["rows"] == []
    assert world.member.get(board).json()["version"] > before
    assert world.member.get(address(run)).json()["scores"]["metrics"]


def test_what_cannot_be_done_with_a_run_as_it_is_says_what_can(world):
    waiting, scored = submission(world), submission(world)
    score(scored)
    for run, action, otherwise in (
        (waiting, "withdraw/", "cancelled"),
        (scored, "cancel/", "withdrawn"),
    ):
        response = world.member.post(address(run, action))
        assert response.status_code == 409
        assert otherwise in response.json()["detail"]


@pytest.mark.both_databases
def test_a_run_is_taken_back_by_its_own_team_and_by_organisers_with_a_reason(world):
    run = submission(world)
    for action in ("cancel/", "withdraw/"):
        refused = world.ask("organiser").post(address(run, action))
        assert refused.status_code == 400
        assert "Say why: the team reads it." in refused.content.decode()
        assert world.ask("stranger").post(address(run, action)).status_code == 404
        assert world.ask("visitor").post(address(run, action)).status_code == 401
    run.refresh_from_db()
    assert run.status == "queued"


def test_times_are_in_utc(world):
    body = world.member.get(address(submission(world))).json()
    assert dt.datetime.fromisoformat(body["submitted_at"]).utcoffset() == dt.timedelta(
        0
    )
