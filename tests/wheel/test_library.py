"""The client as a library and as a server of tools, against a running site."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor

import pandas as pd
import polars as pl
import pytest
from mcp import Client

from citeboard.teams.models import Team, Token
from scoring import client
from scoring.client.agents import server
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
        live_server.url, Token.objects.issue(user=member, name="walk")[1]
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


def called(site, tool: str, **arguments):
    async def ask():
        async with Client(server(site)) as agent:
            assert len((await agent.list_tools()).tools) == 5
            return await agent.call_tool(tool, arguments)

    with ThreadPoolExecutor(1) as thread:
        # A browser of another test may have left a loop running in this one.
        answer = thread.submit(asyncio.run, ask()).result()
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


def test_agents_send_a_run_only_with_the_code_that_a_person_has_seen(
    site, phase, tmp_path
):
    path = tmp_path / "run.jsonl"
    path.write_bytes(run_bytes())
    run = {"phase": str(phase.pk), "path": str(path), "system": "A walk"}
    assert called(site, "check_run", phase=str(phase.pk), path=str(path))[
        "would_be_taken"
    ]
    first = called(site, "submit_run", **run)
    assert (first["sent"], first["would_be_taken"], Submission.objects.count()) == (
        False,
        True,
        0,
    )
    path.write_bytes(run_bytes() + b"\n")
    assert not called(site, "submit_run", **run, code=first["code"])["sent"]
    path.write_bytes(run_bytes())
    assert called(site, "submit_run", **run, code=first["code"])["system"] == "A walk"
