"""Uploads for which no reader is free: taken with 202, read in a job, replaced where that refuses them."""

import datetime as dt

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from citeboard.core.confined.turns import SandboxPoolFull
from scoring.worker.score import score
from tasks.models import LateReading, Phase, Submission
from tasks.submissions import bundles, run_card
from tasks.submissions.submit import compute_remaining_quota
from tests.api.conftest import API
from tests.api.sending import send
from tests.factories import run_bytes

BAD = b'{"topic": "no JSON\n'


@pytest.fixture
def busy(monkeypatch):
    """No reader is free while runs arrive; whoever reads them later finds one."""

    def turns_away(module):
        read = module.read_upload

        def full(*given, owner, **facts):
            if owner is not None:
                raise SandboxPoolFull
            return read(*given, owner=owner, **facts)

        monkeypatch.setattr(module, "read_upload", full)

    for module in (bundles, run_card):
        turns_away(module)


def worked(run):
    while job := run.jobs.filter(state="queued").first():
        score(job.pk)
    return Submission.objects.get(pk=run.pk)


def of(answer) -> Submission:
    return Submission.objects.get(pk=answer.json()["id"])


def test_it_is_taken_with_202_and_scored_in_its_turn(world, busy):
    answer = send(world.member, world.phase)
    assert answer.status_code == 202, answer.content
    told = answer.json()
    assert (told["number"], told["status"]) == (1, "checking")
    assert answer["Location"] == told["url"]
    assert "all readers of files were busy" in told["warnings"][0]["message"]
    run = worked(of(answer))
    assert run.status == "scored"
    assert not LateReading.objects.exists()


def test_the_same_by_the_page_leads_to_the_page_of_the_run(world, busy):
    client = Client()
    client.force_login(world.people["member"])
    address = reverse(
        "upload", args=[world.season.slug, world.task.slug, world.phase.slug]
    )
    form = {
        "run": SimpleUploadedFile("run.jsonl", run_bytes()),
        "system": "S",
        "do": "submit",
    }
    answer = client.post(address, form)
    assert answer.status_code == 302
    assert "Waiting to be checked" in client.get(answer["Location"]).content.decode()


def test_a_check_that_is_not_stored_is_told_to_come_back(world, busy):
    answer = world.member.post(
        f"{API}/phases/{world.phase.pk}/check/",
        {"run": SimpleUploadedFile("run.jsonl", run_bytes())},
    )
    assert answer.status_code == 503
    assert not Submission.objects.exists()


def test_one_that_is_refused_gives_its_try_back_and_may_be_replaced_over_a_close(
    world, busy
):
    phase, team = world.phase, world.team
    Phase.objects.filter(pk=phase.pk).update(runs_per_day=1)
    phase.refresh_from_db()
    refused = worked(of(send(world.member, phase, BAD)))
    assert (refused.status, refused.problems[0]["line"]) == ("failed", 1)
    assert compute_remaining_quota(phase, team).left == 1
    assert (
        dt.timedelta(minutes=14)
        < refused.replace_until - timezone.now()
        <= dt.timedelta(minutes=15)
    )
    told = world.member.get(f"{API}/submissions/{refused.pk}/").json()
    assert told["replace_until"] is not None
    close(phase)
    answer = send(world.member, phase)
    assert answer.status_code == 202
    replaced = of(answer)
    assert not replaced.is_late
    assert worked(replaced).status == "scored"
    assert send(world.member, phase).status_code == 409


def test_what_replaces_one_after_the_end_is_not_replaced_again(world, busy):
    worked(of(send(world.member, world.phase, BAD)))
    close(world.phase)
    second = worked(of(send(world.member, world.phase, BAD + b" ")))
    assert (second.status, second.is_late, second.replace_until) == (
        "failed",
        False,
        None,
    )
    assert send(world.member, world.phase).status_code == 409


def test_after_a_quarter_of_an_hour_it_may_not(world, busy):
    refused = worked(of(send(world.member, world.phase, BAD)))
    Submission.objects.filter(pk=refused.pk).update(replace_until=timezone.now())
    close(world.phase)
    assert send(world.member, world.phase).status_code == 409


def test_one_that_arrived_in_time_is_in_time_however_late_it_is_read(world, busy):
    run = of(send(world.member, world.phase))
    close(world.phase)
    run = worked(run)
    assert (run.status, run.is_late) == ("scored", False)


def test_its_card_may_stand_in_metadata_or_header_that_nobody_had_read(world, busy):
    phase = require_card(world)
    metadata = SimpleUploadedFile(
        "about.yml", b"run card:\n  external_resources: WordNet\n"
    )
    taken = of(send(world.member, phase, metadata=metadata))
    assert taken.card == {}
    taken = worked(taken)
    assert (taken.status, taken.card) == ("scored", {"external_resources": "WordNet"})


def test_without_the_card_that_the_phase_requires_it_is_refused_then(world, busy):
    run = worked(of(send(world.member, require_card(world))))
    assert run.status == "failed"
    assert "this one lacks" in run.problems[0]["message"]
    assert run.replace_until is not None


def test_metadata_that_cannot_be_read_refuses_it_then(world, busy):
    metadata = SimpleUploadedFile("about.yml", b"- a list\n")
    run = worked(of(send(world.member, world.phase, metadata=metadata)))
    assert run.status == "failed"
    assert "about.yml: YAML, but no names" in run.problems[0]["message"]


def send_bundle(world, **fields):
    form = {
        "run": SimpleUploadedFile("run.jsonl", run_bytes()),
        "system": "S",
        **fields,
    }
    return world.member.post(f"{API}/seasons/{world.season.slug}/submissions/", form)


def test_a_file_for_several_tasks_enters_each_that_it_turns_out_to_fit(world, busy):
    """What does not fit a task that nobody has named is no failure there."""
    answer = send_bundle(world)
    assert answer.status_code == 202, answer.content
    [part] = answer.json()["submissions"]
    assert worked(Submission.objects.get(pk=part["id"])).status == "scored"
    [part] = send_bundle(world, run=SimpleUploadedFile("run.jsonl", BAD)).json()[
        "submissions"
    ]
    other = worked(Submission.objects.get(pk=part["id"]))
    assert (other.status, other.replace_until) == ("cancelled", None)


def test_a_task_that_its_sender_named_refuses_what_does_not_fit(world, busy):
    answer = send_bundle(
        world, tasks=world.task.slug, run=SimpleUploadedFile("run.jsonl", BAD)
    )
    assert answer.status_code == 202
    [part] = answer.json()["submissions"]
    assert worked(Submission.objects.get(pk=part["id"])).status == "failed"


@pytest.mark.both_databases
def test_a_team_has_so_much_room_and_is_told_so(world, settings):
    settings.TEAM_STORAGE_MB = 1
    assert send(world.member, world.phase).status_code == 201
    Submission.objects.update(size=1 << 20)
    answer = send(world.member, world.phase, run_bytes() + b"\n")
    assert answer.status_code == 507
    assert "take 1.0 of 1 MB" in answer.json()["detail"]
    assert Submission.objects.count() == 1


def close(phase):
    Phase.objects.filter(pk=phase.pk).update(
        opens=timezone.now() - dt.timedelta(days=9),
        closes=timezone.now() - dt.timedelta(seconds=1),
    )


def require_card(world):
    Phase.objects.filter(pk=world.phase.pk).update(card_required=["external_resources"])
    return Phase.objects.get(pk=world.phase.pk)
