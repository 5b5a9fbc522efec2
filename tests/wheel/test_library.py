"""The client as a library and as a server of tools, against a running site."""

import asyncio
import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd
import polars as pl
import pytest
from mcp import Client
from mcp.types import ElicitResult

from citeboard.teams.models import Team, Token
from scoring import client
from scoring.client.agents import build_mcp_server
from scoring.client.refusals import SiteRefused
from tasks.models import Submission
from tests.api.sending import score
from tests.factories import make_phase, make_submission, make_team, make_user, run_bytes


@pytest.fixture
def phase(transactional_db):
    return make_phase(slug="test", board="everyone")


@pytest.fixture
def site(phase, live_server):
    member = make_user()
    make_team(season=phase.task.season, lead=member, name="The walkers", slug="walkers")
    return client.Site(
        live_server.url, Token.objects.create_token(user=member, name="walk")[1]
    )


@pytest.fixture
def scored(phase, site) -> Submission:
    run = make_submission(phase=phase, team=Team.objects.get())
    score(run)
    return run


def test_seasons_boards_and_runs_are_objects_and_tables(site, phase, scored, tmp_path):
    [season] = site.seasons()
    [found] = season.phases()
    assert (season.title, found.id, found.type) == (
        phase.task.season.title,
        phase.pk,
        phase.task.type,
    )
    board = site.phase(f"{season.slug}/{found.task}/{found.slug}").board()
    name = board.columns[0]["name"]
    value = board.rows[0]["scores"][name]["value"]
    assert (
        board.to_pandas()[name].tolist() == board.to_polars()[name].to_list() == [value]
    )
    assert isinstance(board.to_pandas(), pd.DataFrame)
    board.to_polars().write_parquet(tmp_path / "board.parquet")
    assert pl.read_parquet(tmp_path / "board.parquet").equals(board.to_polars())
    assert isinstance(site.runs(phase.pk).to_polars(), pl.DataFrame)
    run = site.run(scored.pk).wait()
    assert (run.status, run.scores["metrics"][board.columns[0]["metric"]]["value"]) == (
        "scored",
        value,
    )
    with pytest.raises(AttributeError, match="Run has no “stauts”; it has id, number"):
        _ = run.stauts


def test_a_season_file_is_loaded_into_a_new_season_and_into_its_own(
    phase, live_server, tmp_path
):
    staff = make_user(is_staff=True)
    secret = Token.objects.create_token(user=staff, name="load", scope="write")[1]
    site = client.Site(live_server.url, secret)
    path = tmp_path / "season.toml"
    path.write_text('[season]\nslug = "next"\ntitle = "Next"\n')
    made = site.load_season(path)
    assert (made["season"], made["changes"]) == ("next", ["season next: created"])
    path.write_text('[season]\nslug = "next"\ntitle = "The next one"\n')
    shown = site.load_season(path, "next", dry_run="true")
    assert shown["dry_run"]
    assert site.season("next").title == "Next"
    site.load_season(path, season="next")
    assert site.season("next").title == "The next one"
    path.write_text("[season]\n")
    with pytest.raises(SiteRefused, match="The file is refused"):
        site.load_season(path)


def test_every_cell_of_the_notebook_that_reads_a_board_runs(
    root, site, phase, scored, monkeypatch, capsys
):
    monkeypatch.setenv("CITEBOARD_SITE", site.address)
    notebook = json.loads((root / "examples/notebooks/read_a_board.ipynb").read_text())
    names: dict = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), cell["id"], "exec"), names)  # noqa: S102
    told = capsys.readouterr().out
    assert f"{phase.task.season.slug}/{phase.task.slug}/test" in told
    assert "walkers" in told


def test_a_run_is_checked_and_sent(site, phase, tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"nonsense")
    with pytest.raises(SiteRefused) as refused:
        site.phase(phase.pk).check(path)
    assert refused.value.details
    path.write_bytes(run_bytes())
    assert (
        site.phase(phase.pk).submit(path, "A walk", description="On foot.").system
        == "A walk"
    )
    assert Submission.objects.get().description == "On foot."


def called(site, tool: str, mode="auto", user=None, **arguments):
    """Call a tool as an agent's program; ``user`` answers the questions that it shows."""

    async def ask():
        async with Client(
            build_mcp_server(site), mode=mode, elicitation_callback=user
        ) as agent:
            assert len((await agent.list_tools()).tools) == 5
            return await agent.call_tool(tool, arguments)

    with ThreadPoolExecutor(1) as thread:
        # A browser of another test may have left a loop running in this one.
        answer = thread.submit(asyncio.run, ask()).result()
    if answer.is_error:
        return {"error": answer.content[0].text}
    return answer.structured_content or json.loads(answer.content[0].text)


def test_agents_find_and_read_boards_and_are_told_what_a_number_is(site, phase, scored):
    [found] = called(site, "search_boards", words=phase.task.season.title)["boards"]
    assert called(site, "search_boards", words="no such words")["boards"] == []
    read = called(site, "read_board", phase=found["phase"])
    [row], column = read["rows"], read["columns"][0]
    told = called(
        site,
        "explain_number",
        phase=found["phase"],
        submission=scored.pk,
        column=column["name"],
    )
    assert told["score"]["value"] == row[column["name"]]
    assert told["signature"]


class User:
    """Who sits before the program that an agent works in."""

    def __init__(self, action="accept", send=True, meanwhile=lambda: None) -> None:
        self.action, self.send, self.meanwhile = action, send, meanwhile
        self.questions: list[str] = []

    async def __call__(self, context, params):
        self.questions.append(params.message)
        self.meanwhile()
        content = {"send": self.send} if self.action == "accept" else None
        return ElicitResult(action=self.action, content=content)


class TestSendingByAgents:
    @pytest.fixture
    def run(self, phase, tmp_path) -> dict[str, str]:
        path = tmp_path / "run.jsonl"
        path.write_bytes(run_bytes())
        return {"phase": str(phase.pk), "path": str(path), "system": "A walk"}

    @pytest.mark.parametrize("mode", ["auto", "legacy"])
    def test_a_run_is_sent_once_the_user_confirms_what_the_program_shows(
        self, site, run, mode
    ):
        user = User()
        sent = called(site, "submit_run", mode, user, **run)
        assert (sent["sent"], sent["system"]) == (True, "A walk")
        [question] = user.questions
        assert 'system: "A walk"' in question
        assert hashlib.sha256(run_bytes()).hexdigest() in question

    @pytest.mark.parametrize(
        "user",
        [User("decline"), User("cancel"), User(send=False)],
        ids=["decline", "cancel", "not ticked"],
    )
    def test_nothing_is_sent_without_the_users_agreement(self, site, run, user):
        answer = called(site, "submit_run", user=user, **run)
        assert (answer["sent"], answer["would_be_taken"]) == (False, True)
        assert not Submission.objects.exists()

    @pytest.mark.parametrize("mode", ["auto", "legacy"])
    def test_nothing_is_sent_by_a_program_that_cannot_ask_the_user(
        self, site, run, mode
    ):
        answer = called(site, "submit_run", mode, **run)
        assert "cannot ask the user" in answer["error"]
        assert not Submission.objects.exists()

    def test_no_argument_of_an_agent_counts_as_confirmation(self, site, run):
        first = called(site, "submit_run", user=User("decline"), **run)
        assert "code" not in first
        confirmed = {"code": "1", "answer": {"send": True}, "send": True}
        again = called(site, "submit_run", user=User("decline"), **run, **confirmed)
        assert "sent" not in again or not again["sent"]
        assert not Submission.objects.exists()

    @pytest.mark.parametrize("mode", ["auto", "legacy"])
    def test_a_file_that_is_changed_while_the_user_reads_is_not_sent_by_that_answer(
        self, site, run, mode
    ):
        content = run_bytes() + b"\n"
        user = User(meanwhile=lambda: Path(run["path"]).write_bytes(content))
        assert called(site, "submit_run", mode, user, **run)["sent"]
        confirmed = [question.rpartition("SHA-256: ")[2] for question in user.questions]
        [digest] = Submission.objects.values_list("sha256", flat=True)
        assert f'"{digest}"' == confirmed[-1]

    def test_a_run_that_the_site_refuses_is_not_asked_about(self, site, run):
        Path(run["path"]).write_bytes(b"nonsense")
        user = User()
        answer = called(site, "submit_run", user=user, **run)
        assert (answer["sent"], answer["would_be_taken"]) == (False, False)
        assert user.questions == []

    def test_a_text_of_an_agent_begins_no_line_of_the_question(self, site, run):
        user = User("decline")
        words = "Mine.\nNothing is sent.\u202e\x1b[2J"
        called(site, "submit_run", user=user, **run, description=words)
        [question] = user.questions
        assert len(question.splitlines()) == 6
        assert not {"\u202e", "\x1b"} & set(question)
