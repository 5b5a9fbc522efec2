"""The wheel in a fresh environment, from the public inputs to the board of a running site."""

import hashlib
import json
import os
import socket
import subprocess

import pytest

from citeboard.teams.models import Token
from tasks.models import Season, Submission, TermsAcceptance
from tasks.registration.entries import publish_terms
from tests.factories import make_phase, make_team, make_user, other_run, run_bytes

pytestmark = pytest.mark.worker


@pytest.fixture
def command(installed, tmp_path):
    """Runs `citeboard` as its owner would, with a home of its own; its exit code is what was expected."""

    def run(
        *arguments: object, code: int = 0, given: str = ""
    ) -> subprocess.CompletedProcess[str]:
        kept = ("PATH", "LANG", "LC_ALL")
        environment = {name: os.environ[name] for name in kept if name in os.environ}
        done = subprocess.run(
            [installed, *map(str, arguments)],
            cwd=tmp_path,
            env={**environment, "HOME": str(tmp_path), "no_proxy": "*"},
            input=given,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done

    return run


@pytest.fixture
def phase(transactional_db):
    return make_phase(slug="test")


@pytest.fixture
def token(phase) -> str:
    member = make_user()
    make_team(season=phase.task.season, lead=member, name="The walkers", slug="walkers")
    return Token.objects.create_token(user=member, name="walk")[1]


@pytest.fixture
def signed_in(command, live_server, token, tmp_path):
    told = command("login", live_server.url, given=f"{token}\n").stdout
    path = tmp_path / ".config/citeboard/tokens.json"
    assert str(path) in told
    assert path.stat().st_mode & 0o777 == 0o600
    return command


def named(phase) -> str:
    return f"{phase.task.season.slug}/{phase.task.slug}/{phase.slug}"


def test_check_submit_follow_scores_and_board(signed_in, phase, worker, tmp_path):
    (tmp_path / "run.jsonl").write_bytes(run_bytes())
    listed = json.loads(signed_in("seasons", phase.task.season.slug, "--json").stdout)
    assert listed["tasks"][0]["phases"][0]["id"] == phase.pk
    assert named(phase) in signed_in("seasons", phase.task.season.slug).stdout
    signed_in("data", named(phase), "--out", "inputs.zip")
    checked = signed_in(
        "check", phase.task.type, "--inputs", "inputs.zip", "--run", "run.jsonl"
    ).stdout
    assert "can be scored" in checked
    assert "would be taken" in signed_in(*submission(phase), "--dry-run").stdout
    assert not Submission.objects.exists()

    taken = json.loads(signed_in(*submission(phase), "--json").stdout)
    assert taken["status"] == "queued"
    followed = signed_in("follow", taken["id"])
    assert f"run {taken['id']} (A walk): scored" in followed.stderr
    assert f"rank 1 among 1 on the board, {taken['page']}" in followed.stdout
    scores = json.loads(signed_in("scores", taken["id"], "--json").stdout)
    run = Submission.objects.get(pk=taken["id"])
    value = run.evaluations.get(rules=phase.task.ranking_rules).scores.first()
    assert scores["metrics"][value.metric]["value"] == value.value
    assert f"{value.value:.6f}" in signed_in("scores", taken["id"]).stdout
    row, counting = signed_in("board", named(phase)).stdout.splitlines()[1:]
    assert counting == "The board has the best run of each team."
    assert row.split()[:2] == ["1", "walkers"]
    assert f"{value.value:.6f}" in row
    assert (
        json.loads(signed_in("board", phase.pk, "--json").stdout)["rows"][0][
            "submission"
        ]
        == run.pk
    )
    # Of two that are as good one stands there, and the other says why it does not.
    (tmp_path / "run.jsonl").write_bytes(other_run(1))
    again = json.loads(signed_in(*submission(phase), "--json").stdout)
    said = signed_in("follow", again["id"]).stdout + signed_in("scores", run.pk).stdout
    assert said.count("not on the board, which has the best run of each team") == 1


def test_a_season_is_entered_with_a_team_that_is_founded_once_its_terms_are_accepted(
    command, live_server, phase
):
    newcomer = make_user()
    command(
        "login",
        live_server.url,
        given=f"{Token.objects.create_token(user=newcomer, name='walk')[1]}\n",
    )
    season = phase.task.season
    publish_terms(season=season, text="Cite the *data*.", by=None)
    assert (
        "you are in none; or found one"
        in command("enter", season.slug, "--accept-terms", 1, code=2).stderr
    )
    TermsAcceptance.objects.all().delete()
    Season.objects.update(asks_country=True)
    refused = command("enter", season.slug, "--found", "Newcomers", code=2).stderr
    assert "Cite the *data*." in refused
    assert (
        "adds --accept-terms 1; they ask for --country, where your account does not say it"
        in refused
    )
    enter = ("enter", season.slug, "--found", "Newcomers", "--accept-terms", 1)
    assert "country" in command(*enter, code=4).stderr
    assert not newcomer.teams.exists()
    done = command(*enter, "--country", "IT", "--json").stdout
    assert TermsAcceptance.objects.get().given == {"country": "IT"}
    assert json.loads(done)["state"] == "approved"
    assert "Newcomers (newcomers) has entered" in command("enter", season.slug).stdout


def submission(phase) -> tuple[str, ...]:
    return "submit", named(phase), "--run", "run.jsonl", "--system", "A walk"


def test_a_run_without_the_card_that_the_phase_requires_is_refused_by_name(
    signed_in, phase, tmp_path
):
    phase.card_required = ["code", "model"]
    phase.save()
    (tmp_path / "run.jsonl").write_bytes(run_bytes())
    refused = signed_in(*submission(phase), "--card", "model=closed", code=2).stderr
    assert "lacks Code (code); give that with the run" in refused
    assert (
        "“modle=closed” does not begin with one of code, paper"
        in signed_in(*submission(phase), "--card", "modle=closed", code=2).stderr
    )
    assert (
        "meta.yaml: there is no such file"
        in signed_in(*submission(phase), "--metadata", "meta.yaml", code=2).stderr
    )
    (tmp_path / "meta.yaml").write_text(
        "run card: {code: https://example.org/x, model: open}\n"
    )
    signed_in(*submission(phase), "--card", "model=closed", "--metadata", "meta.yaml")
    assert Submission.objects.get().card == {
        "model": "closed",
        "code": "https://example.org/x",
    }


def test_a_run_takes_the_place_that_it_is_sent_with_where_its_phase_goes_by_priority(
    signed_in, phase, tmp_path
):
    phase.counting = "priority"
    phase.save()
    for number, options in enumerate(([], ["--priority", 1])):
        (tmp_path / "run.jsonl").write_bytes(
            run_bytes() if not number else other_run(number)
        )
        signed_in(*submission(phase), *options)
    order = Submission.objects.order_by("priority").values_list("number", flat=True)
    assert list(order) == [2, 1]


def test_a_place_is_refused_before_anything_is_sent_where_runs_have_none(
    signed_in, phase, tmp_path
):
    (tmp_path / "run.jsonl").write_bytes(run_bytes())
    for dry in ([], ["--dry-run"]):
        refused = signed_in(*submission(phase), "--priority", 1, *dry, code=2).stderr
        assert (
            f"runs have no priority in {named(phase)}, whose counting is “best”"
            in refused
        )
    phase.counting = "priority"
    phase.save()
    refused = signed_in(
        *submission(phase), "--priority", 1, "--kind", "contrastive", code=2
    ).stderr
    assert "a contrastive run has no priority" in refused
    for place in ("0", "1001", "first"):
        refused = signed_in(*submission(phase), "--priority", place, code=2).stderr
        assert f"“{place}” is no place from 1, the first, to 1000" in refused
    assert not Submission.objects.exists()


def test_a_run_that_is_refused_is_told_line_by_line(signed_in, phase, tmp_path):
    (tmp_path / "run.jsonl").write_bytes(b"nonsense\n" + run_bytes())
    refused = signed_in(*submission(phase), code=2).stderr
    assert "run.jsonl:1: " in refused
    assert not Submission.objects.exists()


def test_a_folder_is_sent_as_a_zip(signed_in, phase, tmp_path):
    (tmp_path / "run.jsonl").mkdir()
    (tmp_path / "run.jsonl" / "answers.jsonl").write_bytes(run_bytes())
    signed_in(*submission(phase))
    assert Submission.objects.get().filename == "run.jsonl.zip"


def test_a_failed_run_is_a_failure_for_scripts(signed_in, phase, tmp_path):
    (tmp_path / "run.jsonl").write_bytes(run_bytes())
    number = json.loads(signed_in(*submission(phase), "--json").stdout)["id"]
    Submission.objects.filter(pk=number).update(
        status="failed", reason="The file is gone."
    )
    assert "The file is gone." in signed_in("follow", number, code=1).stderr


@pytest.mark.parametrize(
    "words", [("board", "nowhere/1a"), ("scores", "999999"), ("seasons", "nowhere")]
)
def test_what_the_site_does_not_have_is_the_sites_refusal(signed_in, words):
    assert signed_in(*words, code=4).stderr.startswith("citeboard: ")


def test_a_name_that_fits_no_phase_names_those_there_are(signed_in, phase):
    season, task = phase.task.season.slug, phase.task.slug
    assert f"it has {task}" in signed_in("board", f"{season}/none", code=2).stderr
    assert (
        f"{season}/{task} has test"
        in signed_in("board", f"{season}/{task}/none", code=2).stderr
    )
    assert "SEASON/TASK/PHASE" in signed_in("board", "test", code=2).stderr


def test_a_token_that_is_not_known_is_not_kept(command, live_server, tmp_path):
    assert (
        "citeboard: "
        in command("login", live_server.url, code=4, given="wrong\n").stderr
    )
    assert not (tmp_path / ".config").exists()


def test_a_file_of_tokens_that_others_may_read_is_refused(signed_in, tmp_path):
    (tmp_path / ".config/citeboard/tokens.json").chmod(0o640)
    assert (
        "mode 640, others may read it; expected 600"
        in signed_in("seasons", code=2).stderr
    )


def test_a_site_that_is_not_there_cannot_be_reached(command, unused_port):
    site = f"http://127.0.0.1:{unused_port}"
    assert "cannot be reached" in command("seasons", "--site", site, code=5).stderr


@pytest.fixture
def unused_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


def test_without_a_site_or_a_token_the_command_says_how_to_give_one(
    command, live_server, phase, tmp_path
):
    assert "CITEBOARD_SITE, or sign in" in command("seasons", code=2).stderr
    assert (
        "CITEBOARD_TOKEN, or sign in"
        in command("scores", 1, "--site", live_server.url, code=2).stderr
    )
    assert (
        phase.task.season.title in command("seasons", "--site", live_server.url).stdout
    )


def test_the_site_hands_out_the_wheel_with_its_checksum(client, wheel):
    page = client.get("/client/").content.decode()
    assert f"/client/{wheel.name}" in page
    given = client.get(f"/client/{wheel.name}")
    assert given.content == wheel.read_bytes()
    digest, name = client.get(f"/client/{wheel.name}.sha256").content.decode().split()
    assert (digest, name) == (hashlib.sha256(given.content).hexdigest(), wheel.name)
    assert digest in page
    assert client.get("/client/citeboard-0.0.1-py3-none-any.whl").status_code == 404
