"""A client that others' generator makes of the description: it is imported, reads and sends."""

import importlib
import subprocess
import sys
from io import BytesIO

import pytest
from django.test import Client

from citeboard.teams.models import Team, Token
from tasks.models import Submission
from tests.api.conftest import API
from tests.api.sending import score
from tests.factories import make_phase, make_submission, make_team, make_user, run_bytes


@pytest.fixture
def package(transactional_db, tmp_path, monkeypatch) -> str:
    """The name of the generated package, which can be imported."""
    (tmp_path / "schema.json").write_bytes(Client().get(f"{API}/schema/").content)
    generate = [
        sys.executable,
        "-m",
        "openapi_python_client",
        "generate",
        "--meta",
        "none",
    ]
    places = [
        "--path",
        str(tmp_path / "schema.json"),
        "--output-path",
        str(tmp_path / "generated_client"),
    ]
    subprocess.run([*generate, *places], check=True, capture_output=True, timeout=180)
    monkeypatch.syspath_prepend(str(tmp_path))
    return "generated_client"


@pytest.mark.slow
def test_it_lists_seasons_reads_a_board_and_sends_a_run(package, live_server):
    phase, member = make_phase(board="everyone"), make_user()
    make_team(season=phase.task.season, lead=member)
    scored = make_submission(phase=phase, team=Team.objects.get())
    score(scored)

    def module(name: str):
        return importlib.import_module(f"{package}.{name}")

    token = Token.objects.create_token(user=member, name="generated")[1]
    with module("client").AuthenticatedClient(
        live_server.url, token, prefix="Token"
    ) as client:
        seasons = module("api.seasons.seasons").sync(client=client)
        assert [season.slug for season in seasons.results] == [phase.task.season.slug]
        board = module("api.phases.leaderboard").sync(phase.pk, client=client)
        assert [row.submission for row in board.rows] == [scored.pk]
        run = module("types").File(
            BytesIO(run_bytes()), "run.jsonl", "application/jsonl"
        )
        form = module("models.run_form_request").RunFormRequest(
            run=run, system="Generated"
        )
        taken = module("api.phases.submit").sync(phase.pk, client=client, body=form)
        assert Submission.objects.get(pk=taken.id).system == "Generated"
        unknown = module("api.phases.leaderboard").sync(phase.pk + 1, client=client)
        assert isinstance(unknown, module("models.error").Error)
