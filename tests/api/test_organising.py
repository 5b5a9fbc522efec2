"""What is organised by token: gold in versions, times that move, who is in a team, boards as files."""

import datetime as dt
import io
import json
import zipfile

import pytest

from citeboard.core.models import AuditEntry
from scoring.exchange.formats import BOARD_FILE_WRITERS
from tasks.models import Gold, Job, Phase, Task
from tests.api.conftest import API
from tests.api.sending import content, score
from tests.factories import make_submission
from tests.web.test_gold_pages import archive


def publish(world, role, upload, **fields):
    given = {"file": upload, "reason": "A span was wrong", **fields}
    return world.ask(role).post(f"{API}/tasks/{world.task.pk}/gold/", given)


@pytest.mark.both_databases
def test_gold_that_is_published_by_token_is_a_version_and_every_run_is_scored_against_it(
    world, tmp_path
):
    run = make_submission(phase=world.phase, team=world.team)
    score(run)
    made = publish(world, "organiser", archive(tmp_path))
    assert (made.status_code, made.json()["number"]) == (201, 2)
    assert Job.objects.filter(submission=run, gold__number=2).count() == len(
        world.task.rules
    )
    listed = world.ask("organiser").get(f"{API}/tasks/{world.task.pk}/gold/").json()
    assert [version["number"] for version in listed["results"]] == [2, 1]
    assert listed["results"][0] == made.json()
    assert AuditEntry.objects.filter(
        action="gold-added", actor=world.people["organiser"]
    ).exists()


def test_the_same_gold_once_more_makes_no_version(world, tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    assert publish(world, "organiser", archive(tmp_path / "one")).status_code == 201
    assert publish(world, "organiser", archive(tmp_path / "two")).status_code == 200
    assert Gold.objects.filter(task=world.task).count() == 2


def test_a_file_that_is_no_gold_is_refused_with_its_problems_and_keeps_nothing(world):
    refused = publish(world, "organiser", io.BytesIO(b"nothing"))
    assert refused.status_code == 422
    assert refused.json()["problems"][0]["message"]
    assert Gold.objects.filter(task=world.task).count() == 1


def test_a_split_that_no_phase_has_is_refused_with_those_there_are(world, tmp_path):
    refused = publish(world, "organiser", archive(tmp_path), split="none")
    assert (refused.status_code, list(refused.json()["errors"])) == (400, ["split"])
    assert world.phase.split in refused.json()["detail"]


def test_gold_is_told_to_organisers_alone(world, tmp_path):
    for role in ("visitor", "member"):
        assert world.ask(role).get(
            f"{API}/tasks/{world.task.pk}/gold/"
        ).status_code in (401, 404)
        assert publish(world, role, io.BytesIO(b"{}")).status_code in (401, 404)


@pytest.mark.both_databases
def test_times_move_by_token_with_an_entry_in_the_season_s_history(world):
    address = f"{API}/phases/{world.phase.pk}/times/"
    closes = world.phase.closes.replace(microsecond=0) + dt.timedelta(days=7)
    moved = world.ask("organiser").post(address, {"closes": closes.isoformat()})
    world.phase.refresh_from_db()
    assert (moved.status_code, world.phase.closes) == (200, closes)
    entry = AuditEntry.objects.get(action="phase-moved")
    assert (entry.actor, entry.place_id) == (world.people["organiser"], world.season.pk)
    backwards = world.ask("organiser").post(address, {"closes": "2001-01-01T00:00:00Z"})
    assert (backwards.status_code, backwards.json()["detail"]) == (
        409,
        "A phase closes after it opens.",
    )
    anywhere = {"closes": "2091-05-01 23:59 AoE"}
    assert (
        world.ask("organiser").post(address, anywhere).json()["closes"]
        == "2091-05-02T11:59:00Z"
    )
    board = f"{API}/phases/{world.phase.pk}/board/"
    later = {
        "board_from": "2091-05-01 23:59 AoE",
        "board_then": "everyone",
        "board": "nobody",
    }
    assert (
        world.ask("organiser").post(board, later).json()["board_from"]
        == "2091-05-02T11:59:00Z"
    )
    for text in ("soon", "2091-05-01 23:59 Mars/Base", "x" * 81):
        refused = world.ask("organiser").post(
            board, {"board_from": text, "board_then": "everyone"}
        )
        assert (refused.status_code, list(refused.json()["errors"])) == (
            400,
            ["board_from"],
        )
    unclear = world.ask("organiser").post(address, {"closes": "soon"})
    assert (unclear.status_code, list(unclear.json()["errors"])) == (400, ["closes"])


@pytest.mark.both_databases
def test_a_lead_hands_over_leaves_and_is_gone_by_token(world):
    team = f"{API}/teams/{world.team.slug}/"
    link = world.member.post(f"{team}invitation/").json()["link"]
    world.ask("reader").post(f"{API}/join/", {"invitation": link})
    alone = world.member.post(f"{team}leave/")
    assert (alone.status_code, "Hand the lead over" in alone.json()["detail"]) == (
        409,
        True,
    )
    reader = world.people["reader"].pk
    led = world.member.post(f"{team}members/{reader}/lead/").json()
    assert {member["id"]: member["role"] for member in led["members"]}[reader] == "lead"
    address = {"address": "dave@example.org"}
    sent = world.ask("reader").post(f"{team}invitations/", address).json()["id"]
    assert world.member.get(f"{team}invitations/").status_code == 403
    assert world.member.delete(f"{team}invitations/{sent}/").status_code == 403
    gone = world.people["member"].pk
    assert world.member.delete(f"{team}members/{gone}/").status_code == 403
    assert world.ask("reader").delete(f"{team}members/{gone}/").status_code == 204
    assert world.member.get(team).status_code == 404


@pytest.mark.parametrize("name", BOARD_FILE_WRITERS)
def test_a_board_comes_by_token_in_every_format_and_a_hidden_one_for_its_organisers_alone(
    world, name
):
    score(make_submission(phase=world.phase, team=world.team, system="Two words"))
    Phase.objects.update(board=Phase.Audience.ORGANISERS)
    address = f"{API}/phases/{world.phase.pk}/exports/{name}/"
    assert world.member.get(address).status_code == 404
    body = content(world.ask("organiser").get(address))
    if name.endswith((".zip", "xlsx")):
        with zipfile.ZipFile(io.BytesIO(body)) as packed:
            body = b"".join(packed.read(part) for part in packed.namelist())
    # A file for the Hub has numbers and where they come from, and belongs into the system's own repository.
    assert (
        b"task_id: test_overlap_f1_micro"
        if name == "hugging-face.zip"
        else b"Two words"
    ) in body


def test_a_format_that_there_is_none_of_is_not_there(world):
    assert (
        world.ask("organiser")
        .get(f"{API}/phases/{world.phase.pk}/exports/docx/")
        .status_code
        == 404
    )


def test_a_run_s_status_says_when_to_ask_again_and_is_not_sent_twice(world):
    run = make_submission(phase=world.phase, team=world.team)
    address = f"{API}/submissions/{run.pk}/"
    waiting = world.member.get(address)
    assert 1 <= int(waiting["Retry-After"]) <= 15
    again = world.member.get(address, headers={"If-None-Match": waiting["ETag"]})
    assert (again.status_code, content(again)) == (304, b"")
    assert again["Retry-After"]
    score(run)
    scored = world.member.get(address, headers={"If-None-Match": waiting["ETag"]})
    assert (scored.status_code, scored.json()["status"]) == (200, "scored")
    assert "Retry-After" not in scored
    assert "no-store" in scored["Cache-Control"] or "private" in scored["Cache-Control"]


def test_where_the_site_keeps_the_file_of_an_option_is_told_to_nobody(world, tmp_path):
    run = make_submission(phase=world.phase, team=world.team)
    score(run)
    secret = tmp_path / "kept" / "parses.jsonl"
    run.evaluations.update(
        options={"entailment": f"labels:{secret}", "parser": str(secret)}
    )
    Task.objects.filter(pk=world.task.pk).update(type="positional-citations")
    body = world.ask("organiser").get(f"{API}/submissions/{run.pk}/").json()
    assert body["scores"]["options"]["parser"] == "parses.jsonl"
    assert body["scores"]["options"]["entailment"] == "labels:parses.jsonl"
    assert str(tmp_path) not in json.dumps(body)
    page = world.ask("visitor")
    page.force_login(world.people["organiser"])
    shown = content(page.get(f"/submissions/{run.pk}/")).decode()
    assert "parses.jsonl" in shown
    assert str(tmp_path) not in shown


def test_the_page_of_the_api_has_every_operation_with_its_fields_and_an_example(
    client, db
):
    schema = client.get(f"{API}/schema/").json()
    page = content(client.get("/docs/api/")).decode()
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            assert f'id="{operation["operationId"]}"' in page, (method, path)
    assert page.count("<details id=") == sum(map(len, schema["paths"].values()))
    assert "overlap_f1_micro" in page
    assert 'href="/docs/api-stability/"' in page


def test_a_guide_that_there_is_none_of_is_not_there(client, db):
    for name in ("api-stability", "client"):
        assert client.get(f"/docs/{name}/").status_code == 200
    assert client.get("/docs/no-such-guide/").status_code == 404
