"""Many uploads at once against a limit, each with a connection of its own: exactly the limit is accepted."""

import datetime as dt
import json
import threading
from collections import Counter
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connections
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart

from citeboard.teams.models import Token
from tasks.models import Bundle, Job, Submission
from tasks.submissions.bundles import BundleRefused, submit_bundle
from tasks.submissions.refusals import RunQuotaExceeded
from tasks.submissions.run_card import RunDetails
from tasks.submissions.submit import compute_remaining_quota, submit_run
from tests.factories import make_phase, make_task, make_team, make_upload, other_run

pytestmark = pytest.mark.both_databases

RUNNERS = 12
LIMIT = 3


def together(count, do) -> list:
    """What each of so many threads comes to; all of them begin at the same moment."""
    gate = threading.Barrier(count)
    outcomes = [None] * count

    def run(number):
        try:
            gate.wait()
            outcomes[number] = do(number)
        except Exception as reason:  # noqa: BLE001  (whatever it is, the test looks at it)
            outcomes[number] = reason
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


@pytest.fixture
def entry(transactional_db):
    phase = make_phase(runs_per_day=LIMIT)
    return phase, make_team(season=phase.task.season)


def test_twelve_runs_at_once_against_a_limit_of_three_leave_three(entry):
    phase, team = entry
    uploads = [make_upload(other_run(number)) for number in range(RUNNERS)]

    def send(number):
        return submit_run(
            phase=phase,
            team=team,
            user=None,
            upload=uploads[number],
            system=f"S{number}",
        )

    outcomes = together(RUNNERS, send)
    assert Counter(type(outcome) for outcome in outcomes) == {
        Submission: LIMIT,
        RunQuotaExceeded: RUNNERS - LIMIT,
    }, outcomes
    assert sorted(Submission.objects.values_list("number", flat=True)) == [1, 2, 3]
    assert Job.objects.count() == LIMIT
    refused = [outcome for outcome in outcomes if isinstance(outcome, RunQuotaExceeded)]
    assert {each.left for each in refused} == {0}
    assert len({each.renews_at for each in refused}) == 1


def test_twelve_bundles_at_once_against_a_limit_of_three_leave_three_in_each_task(
    entry,
):
    phase, team = entry
    season = phase.task.season
    other = make_phase(task=make_task(season=season), runs_per_day=LIMIT)
    uploads = [make_upload(other_run(number)) for number in range(RUNNERS)]

    def send(number):
        details = RunDetails(
            system=f"S{number}", description="", kind=Submission.Kind.PRIMARY
        )
        return submit_bundle(
            season=season, team=team, user=None, upload=uploads[number], details=details
        )

    outcomes = together(RUNNERS, send)
    assert Counter(type(outcome) for outcome in outcomes) == {
        Bundle: LIMIT,
        BundleRefused: RUNNERS - LIMIT,
    }, outcomes
    assert Bundle.objects.count() == LIMIT
    for each in (phase, other):
        assert sorted(each.submissions.values_list("number", flat=True)) == [1, 2, 3]
    assert Job.objects.count() == 2 * LIMIT


def test_bundles_and_runs_at_once_share_one_limit(entry):
    phase, team = entry
    uploads = [make_upload(other_run(number)) for number in range(RUNNERS)]

    def send(number):
        details = RunDetails(
            system=f"S{number}", description="", kind=Submission.Kind.PRIMARY
        )
        if number % 2:
            return submit_run(
                phase=phase,
                team=team,
                user=None,
                upload=uploads[number],
                system=f"S{number}",
            )
        return submit_bundle(
            season=phase.task.season,
            team=team,
            user=None,
            upload=uploads[number],
            details=details,
        )

    together(RUNNERS, send)
    assert sorted(Submission.objects.values_list("number", flat=True)) == [1, 2, 3]


def test_one_key_sent_many_times_at_once_is_one_run(entry):
    phase, team = entry
    upload = make_upload()

    def send(number):
        return submit_run(
            phase=phase,
            team=team,
            user=None,
            upload=upload,
            system="S",
            idempotency_key="once",
        )

    outcomes = together(8, send)
    assert {getattr(outcome, "pk", outcome) for outcome in outcomes} == {
        Submission.objects.get().pk
    }


def test_the_limit_of_one_team_does_not_hold_up_another(entry):
    phase, first = entry
    second = make_team(season=phase.task.season)
    uploads = [make_upload(other_run(number)) for number in range(8)]

    def send(number):
        team = (first, second)[number % 2]
        return submit_run(
            phase=phase, team=team, user=None, upload=uploads[number], system="S"
        )

    together(8, send)
    assert Counter(Submission.objects.values_list("team", flat=True)) == {
        first.pk: LIMIT,
        second.pk: LIMIT,
    }


def test_through_http_the_limit_holds_and_the_refused_are_told_what_is_left(
    entry, live_server, settings
):
    """Real requests to a real server, whose threads have connections of their own."""
    settings.CHECKS = (
        RUNNERS + 1
    )  # One account has all places but one, and waits for none here.
    phase, team = entry
    lead = team.memberships.get().user
    _, token = Token.objects.create_token(user=lead, name="race")

    def post(number):
        file = SimpleUploadedFile("run.jsonl", other_run(number))
        body = encode_multipart(BOUNDARY, {"system": f"S{number}", "run": file})
        request = Request(
            f"{live_server.url}/api/v1/phases/{phase.pk}/submissions/", body
        )
        request.add_header("Content-Type", MULTIPART_CONTENT)
        request.add_header("Authorization", f"Token {token}")
        try:
            with urlopen(request, timeout=60) as answer:
                return answer.status, json.load(answer)
        except HTTPError as refused:
            with refused:
                return refused.code, json.load(refused)

    outcomes = together(RUNNERS, post)
    assert Counter(status for status, _ in outcomes) == {
        201: LIMIT,
        429: RUNNERS - LIMIT,
    }, outcomes
    renews_at = compute_remaining_quota(phase, team).renews_at
    for status, answer in outcomes:
        if status == 429:
            assert answer["left"] == 0
            assert dt.datetime.fromisoformat(answer["renews_at"]) == renews_at
    assert sorted(Submission.objects.values_list("number", flat=True)) == [1, 2, 3]
