"""Where the kernel does not give what is required: the site takes runs, reads none, and says so."""

import json
from io import StringIO

import pytest
from django.core.management import call_command
from django.test import Client

from citeboard.core import confinement
from scoring.worker.score import score
from tasks.models import Submission
from tests.api.sending import check, send


@pytest.fixture
def open_kernel(monkeypatch, settings):
    settings.CONFINEMENT = "required"
    monkeypatch.setattr(confinement, "find_unprotected_resources", lambda: ("files",))


def test_a_run_is_taken_and_waits_until_an_operator_decides(
    world, open_kernel, settings
):
    answer = send(world.member, world.phase)
    assert answer.status_code == 202, answer.content
    run = Submission.objects.get(pk=answer.json()["id"])
    score(run.jobs.get().pk)
    run.refresh_from_db()
    assert run.status == "waiting"
    assert run.reason.startswith(
        "This site reads no files until its operator has decided how"
    )
    settings.CONFINEMENT = "best-effort"
    run.jobs.update(state="queued")
    while job := run.jobs.filter(state="queued").first():
        score(job.pk)
    run.refresh_from_db()
    assert run.status == "scored"


def test_what_is_not_stored_is_refused_with_the_reason(world, open_kernel):
    answer = check(world.member, world.phase)
    assert answer.status_code == 503
    assert (
        "leaves open what readers of files must not reach (files)"
        in answer.json()["detail"]
    )


def test_probe_and_doctor_say_so(db, open_kernel, monkeypatch):
    told = Client().get("/health/ready").json()
    assert [lack["what"] for lack in told["missing"] if "worker" in lack["stops"]] == [
        "confinement"
    ]
    assert Client().get("/health/ready?for=worker").status_code == 503
    out = StringIO()
    monkeypatch.setattr(confinement, "find_allowed_mechanisms", lambda: ("seccomp",))
    with pytest.raises(SystemExit) as ended:
        call_command("doctor", "--json", "--only", "confinement", stdout=out)
    assert ended.value.code == 1
    [found] = json.loads(out.getvalue())
    assert (found["name"], found["state"]) == ("confinement", "bad")
    assert "CITEBOARD_CONFINEMENT=best-effort" in found["advice"]


def test_it_is_the_default_where_the_address_is_not_this_machine(settings):
    assert (
        "kernel" if "127.0.0.1" in settings.BASE_URL else "required"
    ) == settings.CONFINEMENT
