"""The site's own processes: what a killed or hanging one leaves behind, and how `serve` starts and ends."""

import json
import os
import random
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from django.conf import settings
from prometheus_client.parser import text_string_to_metric_families

from citeboard.teams.models import Membership, Token
from tasks.models import Submission
from tests.factories import other_run
from tests.faults.promises import assert_scored_exactly_once, wait_until_settled
from tests.faults.serving import (
    PATIENCE,
    ROOT,
    SHORT,
    free_port,
    is_running,
    kill,
    until,
)
from tests.faults.uploading import answers, upload

pytestmark = [pytest.mark.worker, pytest.mark.slow]


@pytest.fixture
def token(team) -> str:
    lead = team.memberships.get(role=Membership.Role.LEAD).user
    return Token.objects.create_token(user=lead, name="test")[1]


def stored_runs() -> list[str]:
    folder = settings.DATA_DIR / "files" / "runs"
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def counted(served, route: str) -> float:
    """Requests of this route, as `/metrics` has them."""
    told = httpx.get(f"http://127.0.0.1:{served.port}/metrics", timeout=30)
    assert told.status_code == 200
    return sum(
        sample.value
        for family in text_string_to_metric_families(told.text)
        for sample in family.samples
        if sample.name.endswith("_request_seconds_count")
        and sample.labels["route"] == route
    )


@pytest.mark.both_databases
def test_whichever_web_process_is_asked_counts_for_all_of_them_and_for_those_that_were_killed(
    serve,
):
    served = serve(only="site", CITEBOARD_WEB_WORKERS="2")
    # The first of them answers before the other has begun.
    until(lambda: len(served.web_processes) == 2, "both have begun")
    before = served.web_processes
    for _ in range(20):
        assert (
            httpx.get(
                f"http://127.0.0.1:{served.port}/robots.txt", timeout=30
            ).status_code
            == 200
        )
    assert {counted(served, "robots") for _ in range(10)} == {20}
    for pid in before:
        kill(pid)
    # In this order: who answers is not one of those that were killed.
    until(
        lambda: len({*served.web_processes} - {*before}) == 2 and answers(served.port),
        "others have begun",
    )
    assert {counted(served, "robots") for _ in range(10)} == {20}
    served.stop()
    assert counted(serve(only="site"), "robots") == 0


def until_uploaded(served, phase, token, number: int = 1) -> int:
    """Sends it until the site has said 201, as people do."""
    done = []
    until(
        lambda: (
            done.append(upload(served.port, phase.pk, token, other_run(number)))
            or done[-1]
        ),
        "an upload is taken",
    )
    return done[-1]


@pytest.mark.both_databases
def test_web_processes_killed_leave_no_half_upload_and_every_upload_that_was_answered(
    serve, phase, token
):
    served = serve(only=None, CITEBOARD_WEB_WORKERS="2")
    before = stored_runs()
    head = (
        f"POST /api/v1/phases/{phase.pk}/submissions/ HTTP/1.1\r\nHost: localhost\r\n"
        f"Authorization: Token {token}\r\nContent-Type: multipart/form-data; boundary=x\r\n"
        "Content-Length: 1000000\r\n\r\n"
        '--x\r\nContent-Disposition: form-data; name="system"\r\n\r\nA system\r\n'
        '--x\r\nContent-Disposition: form-data; name="run"; filename="run.jsonl"\r\n\r\n'
    )
    incoming = settings.FILE_UPLOAD_TEMP_DIR
    with socket.create_connection(("127.0.0.1", served.port)) as sender:
        sender.sendall(head.encode() + b"x" * 500_000)
        until(lambda: list(incoming.iterdir()), "the upload arrives")
        for pid in served.web_processes:
            kill(pid)
    until(lambda: answers(served.port), "the site answers again")
    assert not Submission.objects.exists()
    assert stored_runs() == before
    half = list(incoming.iterdir())
    assert half
    for path in half:
        os.utime(path, (0, 0))
    until(
        lambda: not list(incoming.iterdir()),
        "the sweeper has removed what had half arrived",
    )
    seed = random.Random(7)
    with ThreadPoolExecutor(3) as pool:
        sent = [
            pool.submit(until_uploaded, served, phase, token, number)
            for number in range(1, 13)
        ]
        found: list[int] = []
        for _ in range(3):
            found.clear()
            until(
                lambda: found.extend(served.web_processes) or found,
                "there is a web process",
            )
            kill(seed.choice(found))
            until(lambda: answers(served.port), "the site answers again")
        answered = [each.result() for each in sent]
    submissions = list(Submission.objects.all())
    assert set(answered) <= {submission.pk for submission in submissions}
    assert len(set(answered)) == 12
    wait_until_settled(*submissions)
    assert_scored_exactly_once(*submissions)
    # A process that was killed between the file and its row leaves the file alone, which nobody ever sees.
    assert len(stored_runs()) >= len(submissions)


def test_a_site_that_hangs_is_started_anew_and_ctrl_c_ends_it_as_well(serve):
    served = serve(only="site")
    before = served.site
    for pid in served.web_processes:
        os.kill(pid, signal.SIGSTOP)
    until(lambda: served.site not in (None, before), "the site is started anew")
    until(lambda: answers(served.port), "the site answers again")
    assert not is_running(before)
    family = served.family()
    served.process.send_signal(signal.SIGINT)
    served.process.wait(PATIENCE)
    assert served.process.returncode == 0
    until(lambda: not [pid for pid in family if is_running(pid)], "nothing is left")


@pytest.mark.both_databases
def test_the_whole_house_is_started_and_ended_by_one_command_and_doctor_finds_it_well(
    serve, phase, token
):
    served = serve(only=None, CITEBOARD_WEB_WORKERS="2")
    address = f"http://127.0.0.1:{served.port}"
    assert (
        f"Citeboard is ready on {address} (Ctrl-C ends it)."
        in served.said().splitlines()
    )
    number = until_uploaded(served, phase, token)
    run = Submission.objects.get(pk=number)
    wait_until_settled(run)
    assert_scored_exactly_once(run)
    told = command(served.environment, "doctor", "--json")
    # On a busy machine what reads files may begin so late that it is begun once more.
    assert [
        line for line in told.stderr.splitlines() if "The fork server" not in line
    ] == []
    states = {found["name"]: found["state"] for found in json.loads(told.stdout)}
    assert (states["workers"], states["sweeper"]) == ("good", "good")
    assert [name for name, state in states.items() if state == "bad"] == []
    assert served.stop() < 30
    assert served.process.returncode == 0


def command(environment, *arguments: str, **more: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env={**SHORT, **environment, **more},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )


def test_a_port_that_is_taken_is_named_in_one_sentence(child_environment):
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        door.listen()
        port = door.getsockname()[1]
        ended = command(child_environment, "serve", PORT=str(port))
    assert ended.returncode == 1
    assert ended.stderr == (
        f"CommandError: Port {port} of 127.0.0.1 is taken, perhaps by a Citeboard that already runs. "
        f"Stop it, or choose another port with PORT={port + 1}.\n"
    )


@pytest.mark.both_databases
def test_a_database_that_was_not_migrated_is_named_before_anything_is_started(
    child_environment, tmp_path
):
    environment = {
        **child_environment,
        "DATABASE_URL": f"sqlite:///{tmp_path / 'empty.sqlite3'}",
    }
    ended = command(environment, "serve", "--no-migrate", PORT=str(free_port()))
    assert ended.returncode == 1
    assert "run `manage.py migrate`" in ended.stderr
    assert "Traceback" not in ended.stderr
