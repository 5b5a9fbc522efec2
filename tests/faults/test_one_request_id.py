"""A run's request id is on every line about it, from the upload to the score, whichever process wrote it."""

import json
import re

import httpx
import pytest

from citeboard.teams.models import Membership, Token
from tasks.models import Submission
from tests.factories import other_run
from tests.faults.promises import wait_until_settled
from tests.faults.serving import kill, stopped, until

pytestmark = [pytest.mark.worker, pytest.mark.slow]

ID = "edge-7f3a91c2"


def events(served) -> list[dict]:
    return [
        json.loads(line) for line in served.said().splitlines() if line.startswith("{")
    ]


def test_one_id_follows_a_run_from_the_upload_through_a_lost_worker_to_its_score(
    serve, phase, team
):
    """Site, queue, two workers and the sweeper each write of it; the first worker is killed at it."""
    served = serve(only=None, CITEBOARD_LOG_FORMAT="json")
    lead = team.memberships.get(role=Membership.Role.LEAD).user
    _, token = Token.objects.create_token(user=lead, name="test")
    with stopped(served.scorer):
        answer = httpx.post(
            f"http://127.0.0.1:{served.port}/api/v1/phases/{phase.pk}/submissions/",
            headers={"Authorization": f"Token {token}", "X-Request-ID": ID},
            data={"system": "A system"},
            files={"run": ("run.jsonl", other_run(1))},
            timeout=60,
        )
        assert (answer.status_code, answer.headers["X-Request-ID"]) == (201, ID)
        run = Submission.objects.get(pk=answer.json()["id"])
        # It says so after it has written that it has the job.
        claimed = f"Job {run.jobs.get().pk} claimed, attempt 1"
        until(lambda: claimed in served.said(), "the first worker scores it")
        kill(served.leader)
        until(
            lambda: "is queued again" in served.said(),
            "the first worker is known to be gone",
        )
    wait_until_settled(run)
    job = run.jobs.get()
    until(
        lambda: [
            line for line in events(served) if line["message"] == f"Job {job.pk} scored"
        ],
        "it is told",
    )
    about = [
        line for line in events(served)
        if line.get("job") == job.pk or re.search(rf"\bjob[ -]{job.pk}\b", line["message"], re.IGNORECASE)
    ]  # fmt: skip
    ours = [line for line in about if line["logger"] != "django-q"]
    assert {line["request_id"] for line in ours} == {ID}
    told = " ".join(line["message"] for line in ours)
    for words in (
        "is made",
        "claimed, attempt 1",
        "is scored by process",
        "is queued again",
        "scored",
    ):
        assert words in told, words
    assert len({line["process"] for line in ours}) == 4, "site, sweeper and two workers"

    # The queue itself writes of no run at the level of a deployment.
    served.stop()
    named = [
        line
        for line in events(served)
        if line["logger"] == "django-q" and "job-" in line["message"]
    ]
    assert {line["level"] for line in named} <= {"DEBUG", "INFO"}
