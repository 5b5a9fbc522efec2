"""Uploads while storage or disk are in trouble: each door says so, and when to come back; nothing is kept."""

import errno
import hashlib
from contextlib import suppress

import pytest
from django.conf import settings as given
from django.core.files.storage import FileSystemStorage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import InterfaceError, OperationalError
from django.test import Client
from django.urls import reverse

from citeboard.core import storage
from citeboard.core.env import build_storage_settings
from citeboard.teams.models import Membership, Token
from tasks.models import Bundle, Gold, Job, Submission
from tasks.submissions.uploads import DiskUploadHandler, store_run_file
from tests.factories import (
    make_phase,
    make_season,
    make_task,
    make_team,
    make_upload,
    make_user,
    run_bytes,
)
from tests.going_on import GoesOn
from tests.web.test_gold_pages import archive

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


def refuse_writes(monkeypatch, number: int) -> None:
    def refuse(*_):
        raise OSError(number, "words of the system")

    monkeypatch.setattr(FileSystemStorage, "_save", refuse)


def refuse_arrivals(monkeypatch, number: int) -> None:
    def refuse(*_):
        raise OSError(number, "words of the system")

    monkeypatch.setattr(DiskUploadHandler, "receive_data_chunk", refuse)


def take_folder_away(monkeypatch, number: int) -> None:
    monkeypatch.setattr(given, "FILE_UPLOAD_TEMP_DIR", given.DATA_DIR / "unmounted")


FAULTS = {
    "the storage is full": (refuse_writes, errno.ENOSPC, 507),
    "the storage does not answer": (refuse_writes, errno.EIO, 503),
    "the disk is full as the file arrives": (refuse_arrivals, errno.ENOSPC, 507),
    "the folder of what arrives is gone": (take_folder_away, 0, 503),
}


@pytest.fixture
def doors(tmp_path, settings):
    """By the name of a door how a file is sent through it."""
    settings.STORAGES = {
        **settings.STORAGES,
        "default": build_storage_settings(None, tmp_path / "files"),
    }
    lead = make_user()
    phase = make_phase(task=make_task(season=make_season(organiser=lead)))
    season, task = phase.task.season, phase.task
    make_team(season=season, lead=lead)
    _, secret = Token.objects.create_token(user=lead, name="test")
    page = GoesOn(raise_request_exception=False)
    page.force_login(lead)
    api = Client(
        raise_request_exception=False, headers={"Authorization": f"Token {secret}"}
    )
    new_gold = archive(tmp_path).read()

    def run() -> dict:
        return {
            "system": "S",
            "kind": "primary",
            "run": SimpleUploadedFile("run.jsonl", run_bytes()),
        }

    def gold() -> dict:
        file = SimpleUploadedFile("gold.zip", new_gold)
        return {
            "split": f"{phase.task_id}/{phase.split}",
            "reason": "Corrected",
            "file": file,
        }

    upload = reverse("upload", args=[season.slug, task.slug, phase.slug])
    return {
        "page": lambda: page.post(upload, run()),
        "page, as its script sends it": lambda: page.post(
            upload, run(), headers={"HX-Request": "true"}
        ),
        "page of a bundle": lambda: page.post(
            reverse("season-upload", args=[season.slug]), run()
        ),
        "API": lambda: api.post(reverse("api:submit", args=[phase.pk]), run()),
        "API, a bundle": lambda: api.post(
            reverse("api:bundle", args=[season.slug]), run()
        ),
        "gold": lambda: page.post(reverse("organise-gold", args=[season.slug]), gold()),
    }


def kept() -> tuple:
    rows = (Submission, Bundle, Job, Gold)
    files = sorted(
        entry.name for place in storage.FOLDER_STORAGES for entry in place.entries("")
    )
    return [model.objects.count() for model in rows], files


@pytest.mark.parametrize("fault", FAULTS)
def test_every_door_says_what_is_wrong_and_keeps_nothing(doors, fault, monkeypatch):
    # Other processes of the test run have their uploads here too.
    incoming = given.DATA_DIR / "incoming"
    before, arrived = kept(), set(incoming.iterdir())
    begin, number, status = FAULTS[fault]
    begin(monkeypatch, number)
    for door, send in doors.items():
        response = send()
        assert (response.status_code, "Retry-After" in response) == (status, True), door
        text = response.content.decode()
        assert "Nothing was stored or counted. Please try again in" in text, door
        assert ('id="outcome"' in text) == ("page" in door or door == "gold")
        assert "words of the system" not in text
    assert kept() == before
    assert set(incoming.iterdir()) == arrived
    monkeypatch.undo()


def test_what_was_refused_is_taken_once_the_trouble_is_over(doors, monkeypatch):
    with monkeypatch.context() as patched:
        refuse_writes(patched, errno.ENOSPC)
        for send in doors.values():
            send()
    before = kept()
    assert [doors[door]().status_code for door in ("page", "API", "gold")] == [
        302,
        201,
        302,
    ]
    (runs, _, _, golds), files = kept()
    assert (runs, golds) == (2, 2)
    assert len(files) == len(before[1]) + 2 + 3


@pytest.mark.parametrize(
    ("error", "stays"),
    [(OperationalError, True), (InterfaceError, True), (ValueError, False)],
)
def test_a_run_whose_commit_may_have_been_made_stays_until_a_sweep_knows(error, stays):
    upload = make_upload()
    digest = hashlib.sha256(upload.path.read_bytes()).hexdigest()
    with suppress(error), store_run_file(upload, digest, is_checked=True) as stored:
        raise error
    assert storage.run_file_storage.exists(stored.file) is stays


def test_a_refusal_stays_what_it_is_where_its_file_cannot_be_removed(monkeypatch):
    def refuse(*_):
        raise OSError(errno.EIO, "no answer")

    monkeypatch.setattr(FileSystemStorage, "delete", refuse)
    with (
        pytest.raises(ValueError, match="the quota"),
        store_run_file(make_upload(), "3f" * 32, is_checked=True),
    ):
        raise ValueError("the quota is used up")


def test_a_bucket_that_refuses_is_answered_503(in_bucket, refused):
    phase = make_phase()
    team = make_team(season=phase.task.season)
    _, secret = Token.objects.create_token(
        user=team.memberships.get(role=Membership.Role.LEAD).user, name="test"
    )
    api = Client(
        raise_request_exception=False, headers={"Authorization": f"Token {secret}"}
    )
    refused()
    run = {"system": "S", "run": SimpleUploadedFile("run.jsonl", run_bytes())}
    response = api.post(reverse("api:submit", args=[phase.pk]), run)
    assert (response.status_code, response["Retry-After"]) == (503, "10")
    assert response.json()["detail"].startswith(
        "The storage of the site does not answer. Nothing was stored"
    )
    assert not Submission.objects.exists()
