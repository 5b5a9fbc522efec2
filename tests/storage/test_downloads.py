"""Files for whoever may have them: whole or by ranges, from a folder and from a bucket alike."""

import pytest
from django.urls import reverse

from citeboard.core import storage
from citeboard.teams.models import Membership, Token
from tests.factories import make_phase, make_submission, make_team

pytestmark = pytest.mark.django_db


class Downloads:
    def __init__(self, client) -> None:
        phase = make_phase()
        self.run = make_submission(
            phase=phase, team=make_team(season=phase.task.season)
        )
        lead = self.run.team.memberships.get(role=Membership.Role.LEAD).user
        client.force_login(lead)
        _, self.token = Token.objects.create_token(user=lead, name="test")
        self.client = client
        self.address = reverse("submission-run", args=[self.run.pk])
        with storage.run_file_storage.open(self.run.file) as file:
            self.content = file.read()

    def get(self, **headers):
        return self.client.get(self.address, headers=headers)


@pytest.fixture
def downloads(kept_in, client) -> Downloads:
    return Downloads(client)


def body(response) -> bytes:
    return (
        b"".join(response.streaming_content) if response.streaming else response.content
    )


def test_the_whole_file_says_its_length_and_that_ranges_may_be_asked_for(downloads):
    response = downloads.get()
    assert (response.status_code, body(response)) == (200, downloads.content)
    assert response["Content-Length"] == str(len(downloads.content))
    assert response["Accept-Ranges"] == "bytes"
    assert response["Content-Disposition"] == 'attachment; filename="run.jsonl"'
    assert "no-store" in response["Cache-Control"]


RANGES = [
    ("0-0", 0, 1),
    ("5-9", 5, 10),
    ("7-", 7, None),
    ("-4", -4, None),
    ("3-99999", 3, None),
]


def test_a_range_is_answered_with_its_bytes(downloads):
    size = len(downloads.content)
    for asked, start, end in RANGES:
        response, wanted = (
            downloads.get(Range=f"bytes={asked}"),
            downloads.content[start:end],
        )
        assert (response.status_code, body(response)) == (206, wanted)
        first = start % size
        assert (
            response["Content-Range"]
            == f"bytes {first}-{first + len(wanted) - 1}/{size}"
        )
        assert response["Content-Length"] == str(len(wanted))


def test_a_range_beyond_the_file_is_refused_with_its_length(downloads):
    for asked in ("99999-", "-0", "99999-100000"):
        response = downloads.get(Range=f"bytes={asked}")
        told = (response.status_code, response["Content-Range"])
        assert told == (416, f"bytes */{len(downloads.content)}")


def test_what_is_no_single_range_gets_the_whole(downloads):
    for asked in (
        "bytes=9-5",
        "bytes=-",
        "bytes=0-1,3-4",
        "lines=1-2",
        "bytes=a-b",
        "bytes=0",
    ):
        response = downloads.get(Range=asked)
        assert (response.status_code, body(response)) == (200, downloads.content)


def test_a_range_of_another_file_gets_the_whole_of_this_one(downloads):
    response = downloads.get()
    tag, _ = response["ETag"], body(response)
    assert (
        body(downloads.get(**{"Range": "bytes=0-3", "If-Range": tag}))
        == downloads.content[:4]
    )
    assert (
        body(downloads.get(**{"Range": "bytes=0-3", "If-Range": '"another"'}))
        == downloads.content
    )
    assert downloads.get(**{"If-None-Match": tag}).status_code == 304


def test_the_api_and_the_public_inputs_are_given_out_in_the_same_way(downloads):
    response = downloads.client.get(
        reverse("api:run", args=[downloads.run.pk]),
        headers={"Authorization": f"Token {downloads.token}", "Range": "bytes=2-5"},
    )
    assert (response.status_code, body(response)) == (206, downloads.content[2:6])
    phase = downloads.run.phase
    response = downloads.client.get(
        reverse("inputs", args=[phase.task.season.slug, phase.task.slug, phase.slug]),
        headers={"Range": "bytes=0-1"},
    )
    assert (response.status_code, body(response), response["Content-Type"]) == (
        206,
        b"PK",
        "application/zip",
    )


def test_who_may_not_have_a_run_learns_nothing_by_a_range_either(downloads):
    downloads.client.force_login(make_team().memberships.get().user)
    assert downloads.get(Range="bytes=0-0").status_code == 404


def test_a_file_that_is_not_there_is_answered_503(downloads):
    storage.run_file_storage.delete(downloads.run.file)
    downloads.client.raise_request_exception = False
    response = downloads.get()
    assert (response.status_code, response["Retry-After"]) == (503, "10")
    assert (
        "A file is missing in the storage of the site. Please"
        in response.content.decode()
    )
