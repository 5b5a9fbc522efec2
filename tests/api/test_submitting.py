"""Sending runs: taken, checked, refused, sent twice."""

import datetime as dt

import pytest
from django.utils import timezone

from tasks.models import Phase, Registration, Submission
from tests.api.conftest import API
from tests.api.sending import check, run_file, send
from tests.factories import (
    answers,
    lasting_day,
    make_phase,
    make_season,
    make_task,
    make_team,
    other_run,
    run_bytes,
)

BAD = b"""{"topic": "D01-0001", "citing": "D05-0001", "marker": "3", "sentences": ["1"]}
not json
{"topic": "X"}
"""


def test_a_run_is_taken_with_its_number_and_where_to_follow_it(world):
    response = send(
        world.member, world.phase, system="Two words", description="How it works."
    )
    submission = Submission.objects.get()
    assert response.status_code == 201
    assert response.json() == {
        "id": submission.pk,
        "number": 1,
        "status": "queued",
        "url": f"http://testserver{API}/submissions/{submission.pk}/",
        "page": f"http://testserver/submissions/{submission.pk}/",
        "warnings": [],
    }
    assert response["Location"] == response.json()["url"]
    assert world.member.get(response.json()["url"]).json()["system"] == "Two words"
    assert submission.team == world.team
    assert submission.submitted_by == world.people["member"]
    assert (submission.description, submission.kind) == ("How it works.", "primary")


def test_every_rule_set_of_the_task_gets_a_job(world):
    send(world.member, world.phase)
    assert sorted(Submission.objects.get().jobs.values_list("rules", flat=True)) == [
        "corrected",
        "official-2017",
    ]


def test_a_run_may_be_contrastive_and_nothing_else_than_primary(world):
    assert send(world.member, world.phase, kind="contrastive").status_code == 201
    refused = send(world.member, world.phase, kind="baseline")
    assert refused.status_code == 400
    assert refused.json()["detail"].startswith("kind: ")
    assert Submission.objects.get().kind == "contrastive"


def test_what_can_be_scored_although_something_is_odd_comes_back_as_warnings(world):
    response = send(world.member, world.phase, run_bytes(answers()[:1]))
    assert response.status_code == 201
    warnings = response.json()["warnings"]
    assert set(warnings[0]) == {"file", "line", "message", "expected", "quote", "fatal"}
    assert not any(warning["fatal"] for warning in warnings)
    assert world.member.get(response.json()["url"]).json()["warnings"] == warnings


def test_a_bad_run_names_every_line_and_costs_nothing(world):
    Phase.objects.update(runs_in_total=1)
    response = send(world.member, world.phase, BAD)
    body = response.json()
    assert response.status_code == 422
    assert set(body) == {"detail", "problems", "more"}
    assert body["more"] == 0
    assert body["detail"].endswith("problems.")
    assert {problem["line"] for problem in body["problems"]} == {2, 3}
    assert {problem["file"] for problem in body["problems"]} == {"run.jsonl"}
    assert all(problem["fatal"] and problem["message"] for problem in body["problems"])
    assert not Submission.objects.exists()
    assert send(world.member, world.phase).status_code == 201


def test_a_run_of_empty_answers_is_refused_and_costs_nothing(world):
    Phase.objects.update(runs_in_total=1)
    refused = send(world.member, world.phase, run_bytes(answers(sentences=())))
    assert refused.status_code == 422
    assert (
        "the run answers no instance of the split"
        in refused.json()["problems"][0]["message"]
    )
    assert not Submission.objects.exists()
    assert send(world.member, world.phase).status_code == 201


def test_a_run_with_very_many_problems_says_how_many_more_there_are(world):
    body = send(world.member, world.phase, b"{not json\n" * 450).json()
    assert [problem["count"] for problem in body["problems"]] == [450]
    assert body["more"] == 0
    assert body["detail"] == "The run has 450 problems."


def test_an_empty_file_is_a_run_like_any_other_and_is_told_what_is_missing(world):
    response = send(world.member, world.phase, b"")
    assert response.status_code in (201, 422)
    assert response.json().get("problems") or response.json().get("warnings")


def test_checking_says_the_same_and_stores_nothing(world):
    refused = check(world.member, world.phase, BAD)
    assert refused.status_code == 422
    assert refused.json() == send(world.member, world.phase, BAD).json()
    accepted = check(world.member, world.phase, run_bytes(answers()[:1]))
    assert accepted.status_code == 200
    assert {warning["fatal"] for warning in accepted.json()["warnings"]} == {False}
    assert not Submission.objects.exists()


def test_checking_needs_neither_a_team_nor_an_open_phase_nor_a_run_that_is_left(world):
    Phase.objects.update(runs_in_total=0, closes=timezone.now() - dt.timedelta(hours=1))
    for role in ("reader", "member", "organiser"):
        assert check(world.ask(role), world.phase).json() == {"warnings": []}


def test_a_used_up_quota_says_what_is_left_and_when_it_renews(world):
    Phase.objects.update(runs_per_day=1, time_zone=lasting_day())
    assert send(world.member, world.phase).status_code == 201
    response = send(world.member, world.phase, other_run(1))
    assert response.status_code == 429
    body = response.json()
    assert set(body) == {"detail", "left", "renews_at"}
    assert body["left"] == 0
    renews_at = dt.datetime.fromisoformat(body["renews_at"])
    assert (
        timezone.now() < renews_at <= timezone.now() + dt.timedelta(days=1, minutes=1)
    )
    assert body["detail"].startswith("No run is left in this phase")
    assert Submission.objects.count() == 1


def test_a_quota_that_never_renews_says_so(world):
    Phase.objects.update(runs_in_total=0)
    assert send(world.member, world.phase).json()["renews_at"] is None


def test_a_phase_that_is_over_answers_with_its_times(world):
    closes = timezone.now() - dt.timedelta(hours=1)
    Phase.objects.update(closes=closes)
    response = send(world.member, world.phase)
    assert response.status_code == 409
    assert set(response.json()) == {"detail", "opens", "closes", "late_by_seconds"}
    assert dt.datetime.fromisoformat(response.json()["closes"]) == closes


def test_a_phase_without_gold_takes_nothing_yet(world):
    phase = make_phase(task=make_task(season=world.season), with_gold=False)
    assert send(world.member, phase).status_code == 409
    assert check(world.member, phase).status_code == 409


def test_a_draft_looks_absent_to_all_but_its_organisers(world):
    world.season.is_public = False
    world.season.save()
    assert send(world.member, world.phase).status_code == 404
    assert send(world.ask("organiser"), world.phase).status_code == 403


def test_somebody_without_a_team_is_told_so(world):
    response = send(world.ask("reader"), world.phase)
    assert response.status_code == 403
    assert response.json() == {
        "detail": "You are in no team that takes part in this season."
    }


def test_a_team_that_is_not_approved_yet_sends_nothing(world):
    Registration.objects.filter(team=world.team).update(is_approved=False)
    response = send(world.member, world.phase)
    assert response.status_code == 403
    assert "not approved" in response.json()["detail"]


def test_a_member_of_several_teams_names_one(world):
    second = make_team(season=world.season, lead=world.people["member"])
    make_team(season=make_season(), lead=world.people["member"])
    unnamed = send(world.member, world.phase)
    assert unnamed.status_code == 400
    assert sorted(unnamed.json()["errors"]) == ["team"]
    assert world.team.slug in unnamed.json()["detail"]
    assert send(world.member, world.phase, team=second.slug).status_code == 201
    assert Submission.objects.get().team == second


def test_a_team_that_was_refused_is_none_between_which_a_member_chooses(world):
    refused = make_team(season=world.season, lead=world.people["member"])
    refused.registrations.update(is_approved=False, decided_at=timezone.now())
    assert send(world.member, world.phase).status_code == 201
    assert Submission.objects.get().team == world.team


def test_a_team_of_others_looks_absent_whether_it_exists_or_not(world):
    theirs = send(world.member, world.phase, team=world.other_team.slug)
    nobodys = send(world.member, world.phase, team="nobody")
    assert theirs.status_code == nobodys.status_code == 404
    assert theirs.json() == nobodys.json()
    assert not Submission.objects.exists()


def test_an_own_team_that_takes_no_part_is_refused(world):
    elsewhere = make_team(season=make_season(), lead=world.people["member"])
    assert send(world.member, world.phase, team=elsewhere.slug).status_code == 403


@pytest.mark.both_databases
@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"run": None}, "run"),
        ({"run": "not a file"}, "run"),
        ({"system": None}, "system"),
        ({"system": "  "}, "system"),
        ({"system": "s" * 81}, "system"),
        ({"system": "a\0b"}, "system"),
        ({"description": "d" * 4001}, "description"),
        ({"kind": "best"}, "kind"),
    ],
)
def test_a_field_that_cannot_be_meant_is_named(world, fields, field):
    response = send(world.member, world.phase, **fields)
    assert response.status_code == 400
    assert list(response.json()["errors"]) == [field]
    assert response.json()["detail"].startswith(f"{field}: ")
    assert not Submission.objects.exists()


def test_a_run_over_the_size_limit_is_refused_in_the_same_shape(world, settings):
    settings.UPLOAD_MAX_MB = 1
    for response in (
        send(world.member, world.phase, b" " * ((1 << 20) + 1)),
        check(world.member, world.phase, b" " * (9 << 20)),
    ):
        assert response.status_code == 413
        assert list(response.json()) == ["detail"]
        assert "1 MB" in response.json()["detail"]
    assert not Submission.objects.exists()


@pytest.mark.both_databases
def test_the_same_key_with_the_same_file_is_the_same_run(world):
    Phase.objects.update(runs_in_total=1)
    headers = {"Idempotency-Key": "5f0c-1"}
    first = send(world.member, world.phase, headers=headers)
    Phase.objects.update(closes=timezone.now())
    again = send(world.member, world.phase, headers=headers)
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    assert Submission.objects.count() == 1


@pytest.mark.both_databases
def test_the_same_key_with_another_file_is_refused(world):
    headers = {"Idempotency-Key": "5f0c-1"}
    send(world.member, world.phase, headers=headers)
    response = send(world.member, world.phase, other_run(1), headers=headers)
    assert response.status_code == 422
    assert "run 1" in response.json()["detail"]
    assert set(response.json()) == {"detail", "problems", "more"}
    assert Submission.objects.count() == 1


def test_without_a_key_the_same_file_is_a_second_run_with_a_warning(world):
    send(world.member, world.phase)
    again = send(world.member, world.phase)
    assert again.json()["number"] == 2
    assert "sent before, as run 1" in again.json()["warnings"][0]["message"]


@pytest.mark.both_databases
def test_the_key_of_another_team_is_its_own(world):
    headers = {"Idempotency-Key": "1"}
    assert send(world.member, world.phase, headers=headers).json()["number"] == 1
    assert send(world.ask("stranger"), world.phase, headers=headers).status_code == 201
    assert Submission.objects.count() == 2


@pytest.mark.both_databases
def test_a_key_of_any_length_is_not_taken(world):
    response = send(world.member, world.phase, headers={"Idempotency-Key": "k" * 101})
    assert response.status_code == 400
    assert list(response.json()["errors"]) == ["idempotency_key"]


@pytest.mark.both_databases
def test_an_upload_that_breaks_off_leaves_nothing(world):
    whole = b'--b\r\nContent-Disposition: form-data; name="system"\r\n\r\nA\r\n'
    broken = (
        whole
        + b'--b\r\nContent-Disposition: form-data; name="run"; filename="run.jsonl"\r\n\r\n'
        + run_bytes()
    )
    response = world.member.post(
        f"{API}/phases/{world.phase.pk}/submissions/",
        broken,
        content_type="multipart/form-data; boundary=b",
    )
    assert response.status_code == 400
    assert list(response.json()["errors"]) == ["run"]
    assert not Submission.objects.exists()


def test_the_file_keeps_its_name_and_a_path_in_it_leads_nowhere(world):
    file = run_file(name="../../etc/run final.jsonl")
    send(world.member, world.phase, run=file)
    assert Submission.objects.get().filename == "run final.jsonl"
