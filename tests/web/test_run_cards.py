"""Run cards on pages, boards, exports, by token and by the command line."""

import csv
import io
import json

import pytest
import yaml
from django.urls import reverse

from citeboard.teams.models import Token
from tasks.models import Phase, Submission
from tests import factories
from tests.api.sending import send
from tests.scoring import boards
from tests.web.reading import text_of

pytestmark = pytest.mark.django_db

CLOSED = {
    "model": "closed",
    "code": "https://example.org/owl",
    "knowledge_cutoff": "2023-09",
}


@pytest.fixture
def phase():
    return factories.make_phase(card_required=["code", "model"])


@pytest.fixture
def member(phase, client):
    user = factories.make_user()
    factories.make_team(
        season=phase.task.season, lead=user, name="The owls", slug="owls"
    )
    client.force_login(user)
    return user


def named(content: bytes, name: str) -> io.BytesIO:
    file = io.BytesIO(content)
    file.name = name
    return file


def upload(client, phase, **fields):
    form = {
        "do": "submit",
        "run": named(factories.run_bytes(), "run.jsonl"),
        "system": "Owl",
        **fields,
    }
    return client.post(boards.address("upload", phase), form)


def test_the_page_says_what_is_required_and_refuses_a_run_without_it_at_its_fields(
    client, phase, member
):
    page = text_of(client.get(boards.address("upload", phase)))
    assert "Run card this phase requires: Code and Model" in page
    refused = upload(client, phase, code="https://example.org/owl")
    assert refused.status_code == 422
    assert (
        "this one lacks Model (model); give that with the run, or in a file of ir_metadata"
        in text_of(refused)
    )
    assert refused.context["form"].errors == {"model": ["This phase asks for it."]}
    assert not Submission.objects.exists()


def test_the_page_takes_the_card_and_shows_it_to_its_team(client, phase, member):
    assert upload(client, phase, **CLOSED).status_code == 302
    run = Submission.objects.get()
    assert run.card == CLOSED
    page = text_of(client.get(reverse("submission", args=[run.pk])))
    assert "Knowledge cut-off 2023-09" in page
    assert "Model closed: some model is available as a service alone" in page


def test_a_file_of_ir_metadata_fills_the_card_on_the_page_and_a_bad_one_is_told_at_its_field(
    client, phase, member
):
    bad = upload(client, phase, metadata=named(b"method: [\n", "meta.yaml"))
    assert bad.status_code == 422
    assert "Meta.yaml: no YAML" in bad.context["form"].errors["metadata"][0]
    good = yaml.safe_dump({"run card": CLOSED}).encode()
    assert upload(client, phase, metadata=named(good, "meta.yaml")).status_code == 302
    assert Submission.objects.get().card == CLOSED


def test_a_team_changes_its_card_by_page_and_by_token(client, phase, member):
    upload(client, phase, **CLOSED)
    run = Submission.objects.get()
    where = reverse("submission-describe", args=[run.pk])
    client.post(where, {"description": "", "links": "", **CLOSED, "model": ""})
    page = text_of(client.get(reverse("submission", args=[run.pk])))
    assert "Model: this phase asks for it, so that it cannot be taken back." in page
    client.post(where, {"description": "", "links": "", **CLOSED, "model": "open"})
    assert Submission.objects.get().card["model"] == "open"
    client.post(where, {"description": "Words alone.", "links": ""})
    assert Submission.objects.get().card == {**CLOSED, "model": "open"}
    _, secret = Token.objects.create_token(user=member, name="a program")
    answer = client.post(
        f"/api/v1/submissions/{run.pk}/description/", {"paper": "https://example.org/paper"},
        headers={"Authorization": f"Token {secret}"},
    )  # fmt: skip
    assert answer.json()["card"] == {
        **CLOSED,
        "model": "open",
        "paper": "https://example.org/paper",
    }


def test_a_program_is_refused_with_the_same_sentence_and_may_send_the_file(
    client, phase, member
):
    _, secret = Token.objects.create_token(user=member, name="a program")
    headers = {"Authorization": f"Token {secret}"}
    refused = send(client, phase, headers=headers)
    assert refused.status_code == 422
    assert (
        "this one lacks Code (code) and Model (model)"
        in refused.json()["problems"][0]["message"]
    )
    wrong = send(client, phase, headers=headers, model="large")
    assert wrong.status_code == 400
    assert "model" in wrong.json()["errors"]
    good = named(json.dumps({"run card": CLOSED}).encode(), "meta.json")
    sent = send(client, phase, headers=headers, metadata=good)
    assert sent.status_code == 201, sent.content
    assert client.get(sent.json()["url"], headers=headers).json()["card"] == CLOSED


def test_a_file_for_several_tasks_brings_one_card_for_all_its_runs(
    client, phase, member
):
    where = reverse("season-upload", args=[phase.task.season.slug])
    run = named(factories.run_bytes(), "run.jsonl")
    refused = client.post(where, {"do": "submit", "run": run, "system": "Owl"})
    assert refused.status_code == 422
    assert "lacks Code (code) and Model (model)" in text_of(refused)
    assert set(refused.context["form"].errors) == {"code", "model"}
    run.seek(0)
    sent = client.post(where, {"do": "submit", "run": run, "system": "Owl", **CLOSED})
    assert sent.status_code == 302
    assert Submission.objects.get().card == CLOSED


@pytest.fixture
def board():
    phase = boards.make_phase()
    cards = {
        "Ada": {"model": "closed", "code": "https://example.org/ada"},
        "Bo": {"trained_on_test_year": "yes", "model": "open"},
        "Cy": {},
    }
    for value, (name, card) in enumerate(cards.items(), start=1):
        boards.scored_run(
            phase,
            boards.make_team(phase, name),
            value / 10,
            system=f"{name}'s",
            card=card,
        )
    return phase


def file_of(board, name: str) -> str:
    return f"{boards.address('board', board)}board.{name}"


def standing_of(board, run) -> str:
    return f"{boards.address('board', board)}runs/{run.pk}/"


def systems(client, board, query: str) -> list[str]:
    content = client.get(file_of(board, "csv") + query).content.decode()
    return [row["system"] for row in csv.DictReader(io.StringIO(content))]


def test_the_board_marks_rows_in_words_and_leaves_them_out_by_its_address(
    client, board
):
    where = boards.address("board", board)
    answer = client.get(where + "?adjust=yes")
    page = answer.content.decode()
    assert '<span class="run-mark">closed model</span>' in page
    assert '<span class="run-mark">trained on the test year</span>' in page
    assert "Hide closed model" in text_of(answer)
    assert 'name="without" value="model">' in page
    answer = client.get(where + "?without=model&adjust=yes")
    less = answer.content.decode()
    assert '<span class="run-mark">closed model</span>' not in less
    assert "1 row left out" in text_of(answer)
    assert 'name="without" value="model" checked>' in less
    assert 'name="without" value="trained_on_test_year">' in less
    assert systems(client, board, "") == ["Cy's", "Bo's", "Ada's"]
    assert systems(client, board, "?without=model&without=trained_on_test_year") == [
        "Cy's"
    ]
    assert client.get(where + "?without=nothing").status_code == 400


@pytest.mark.both_databases
def test_a_board_is_filtered_by_what_cards_declare_alike_on_page_csv_and_api(client):
    phase = factories.make_phase()
    cards = {
        "Ada": {
            "model": "closed",
            "knowledge_cutoff": "2024-06",
            "trained_on": "SciSummNet, ACL",
        },
        "Bo": {"model": "open", "knowledge_cutoff": "2024", "trained_on": "none"},
        "Cy": {"model": "open", "knowledge_cutoff": "none"},
        "Di": {"knowledge_cutoff": "unknown"},
    }
    for value, (name, card) in enumerate(cards.items(), start=1):
        boards.scored_run(
            phase, boards.make_team(phase, name), value / 10, system=name, card=card
        )
    where, api = (
        boards.address("board", phase),
        reverse("api:leaderboard", args=[phase.pk]),
    )
    for query, left in {
        "model:open": ["Cy", "Bo"],
        "trained_on:acl": ["Ada"],
        "trained_on:none": ["Bo"],
        "knowledge_cutoff:2024-07": ["Cy", "Ada"],
        "knowledge_cutoff:2024-06": ["Cy"],
        "knowledge_cutoff:2025": ["Cy", "Bo", "Ada"],
        "knowledge_cutoff:2025&declared=model:open": ["Cy", "Bo"],
        "model:opne": [],
        "nothing": [],
    }.items():
        asked = f"?declared={query}"
        assert systems(client, phase, asked) == left
        told = client.get(api + asked).json()
        assert [row["system"] for row in told["rows"]] == left
        assert told["leader"] == client.get(api).json()["leader"]
        page = client.get(where + asked).context["page"]
        assert [row.system for row in page.rows] == left
    page = client.get(where + "?declared=model:open&q=o&adjust=yes").content.decode()
    assert '<option value="model:open" selected>' in page
    assert '<option value="knowledge_cutoff:2025">before 2025</option>' in page
    assert '<a id="show-all" href="?adjust=yes">' in page
    assert (
        "No row matches the filter."
        in client.get(where + "?declared=model:none").content.decode()
    )


def test_filters_tell_nothing_of_runs_that_do_not_stand_on_the_board(client):
    phase = factories.make_phase(shows_teams=False, counting=Phase.CountedRunsRule.BEST)
    team = boards.make_team(phase, "Ada")
    boards.scored_run(
        phase, team, 0.5, system="Shown", card={"trained_on": "ACL", "model": "open"}
    )
    boards.scored_run(phase, team, 0.1, system="Lower", card={"model": "closed"})
    where = boards.address("board", phase)
    page = client.get(f"{where}?adjust=yes").content.decode()
    assert 'value="model:open"' in page
    assert "model:closed" not in page
    # What a team writes may say who it is.
    assert "trained_on:" not in page
    assert systems(client, phase, "?declared=model:closed") == []
    assert systems(client, phase, "?declared=trained_on:ACL") == []


def test_cards_are_in_exports_the_api_and_the_page_of_a_row(client, board):
    rows = csv.DictReader(
        io.StringIO(client.get(file_of(board, "csv")).content.decode())
    )
    assert [(row["card_code"], row["card_model"], row["card_trained_on_test_year"]) for row in rows] == [
        ("", "", ""), ("", "open", "yes"), ("https://example.org/ada", "closed", ""),
    ]  # fmt: skip
    found = client.get(file_of(board, "json")).json()["rows"]
    assert [row.get("card") for row in found] == [
        None, {"trained_on_test_year": "yes", "model": "open"},
        {"model": "closed", "code": "https://example.org/ada"},
    ]  # fmt: skip
    by_token = client.get(f"/api/v1/phases/{board.pk}/leaderboard/").json()["rows"]
    assert by_token[2]["card"] == {"model": "closed", "code": "https://example.org/ada"}
    run = Submission.objects.get(system="Ada's")
    page = text_of(client.get(standing_of(board, run)))
    assert "Code https://example.org/ada" in page


def test_where_teams_are_hidden_nothing_of_a_card_names_them(client, board):
    Phase.objects.update(shows_teams=False)
    run = Submission.objects.get(system="Ada's")
    addresses = [
        boards.address("board", board),
        file_of(board, "csv"),
        file_of(board, "json"),
    ]
    addresses += [standing_of(board, run), f"/api/v1/phases/{board.pk}/leaderboard/"]
    for address in addresses:
        content = client.get(address).content.decode()
        assert "example.org/ada" not in content, address
        assert "closed" in content, address
