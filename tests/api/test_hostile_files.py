"""Files that make their reader misbehave, through API and upload page: a sentence, and nothing counts."""

import threading
from contextlib import contextmanager

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from citeboard.core import confinement
from citeboard.core.confined.pool import SandboxedFunctionCall
from citeboard.core.confined.turns import UploadSender
from tasks.models import Submission
from tests.api.sending import check

LIMITS = "the file could not be read within the limits of the site"
FAULT = "the site could not read the file because of an error of its own"


def read_by_hostile_reader(program, *arguments, **given):
    assert program == "tasks.submissions.reading:check"
    return confinement.read_upload(
        "tests.core.confined.hostile_runs:check", *arguments, **given
    )


HOSTILE = "tests.core.confined.hostile_runs"


@contextmanager
def pool_of_hostile_readers(*preload: str, size: int):
    confinement._create_pool.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(confinement, "PRELOADED_MODULES", (*preload, HOSTILE))
        made = confinement._create_pool(
            size,
            settings.DATA_DIR / "checks",
            10_000,
            confinement.find_allowed_mechanisms(),
        )
    confinement._create_pool.cache_clear()
    yield made
    made.close()


@pytest.fixture(scope="module")
def hostile_pool():
    """One for all: none of the processes that it starts meets another."""
    with pool_of_hostile_readers(
        *confinement.PRELOADED_MODULES, size=settings.CHECKS
    ) as pool:
        yield pool


@pytest.fixture
def hostile_reader(monkeypatch, settings, hostile_pool):
    """Runs are read by a reader that does what they say."""
    monkeypatch.setattr(confinement, "get_sandbox_pool", lambda: hostile_pool)
    monkeypatch.setattr(
        "tasks.submissions.run_card.read_upload", read_by_hostile_reader
    )
    # On a busy machine even what is read at once may take a while.
    settings.CHECK_SECONDS = 30
    settings.CHECK_MEMORY_MB = 256


def told(answer) -> str:
    assert answer.status_code == 422, answer.content
    [problem] = answer.json()["problems"]
    assert not Submission.objects.exists()
    return problem["message"]


@pytest.mark.usefixtures("hostile_reader")
class TestThroughTheApi:
    @pytest.mark.parametrize(
        ("content", "seconds", "words"),
        [
            (b"burn", 1, ("took more than 1 s of computing", "took more than 3 s")),
            (b"hang", 1, ("took more than 3 s",)),
            (b"fill_memory", 30, ("needed more than 256 MB of memory",)),
            (b"fill_disk", 30, ("wrote a file of more than 16 MB",)),
        ],
    )
    def test_a_file_over_the_limits_is_told_so_and_costs_nothing(
        self, world, settings, content, seconds, words
    ):
        settings.CHECK_SECONDS = seconds
        message = told(check(world.member, world.phase, content))
        assert message.startswith(LIMITS)
        assert any(each in message for each in words), message

    @pytest.mark.parametrize(
        "content", [b"die", b"fail", b"return_nonsense", b"link_result"]
    )
    def test_a_reader_that_dies_or_fails_is_no_error_of_the_site(self, world, content):
        assert told(check(world.member, world.phase, content)).startswith(FAULT)

    @pytest.mark.parametrize("content", [b"multiply", b"open_file", b"connect"])
    def test_what_a_reader_tries_beside_reading_comes_to_nothing(self, world, content):
        assert check(world.member, world.phase, content).status_code == 200

    def test_the_next_file_is_read_as_if_nothing_had_been(self, world, monkeypatch):
        told(check(world.member, world.phase, b"die"))
        monkeypatch.setattr(
            "tasks.submissions.run_card.read_upload", confinement.read_upload
        )
        assert check(world.member, world.phase).json() == {"warnings": []}


@pytest.fixture
def crowded(hostile_reader, monkeypatch, settings):
    """Lets an account have a file read that never ends; gives up with the pool."""
    settings.CHECK_SECONDS = 200
    monkeypatch.setattr("citeboard.core.confined.turns.MAX_READ_WAIT_SECONDS", 0.2)

    threads = []

    def occupy(user):
        before = len(pool.turns._running)

        def hang():
            work = SandboxedFunctionCall(
                program="tests.core.confined.hostile:hang",
                arguments={},
                limits=confinement.build_run_reading_limits(),
            )
            with (
                pytest.raises(Exception),  # noqa: B017, PT011
                pool.done(work, sender=UploadSender(account=str(user.pk))),
            ):
                pass

        threads.append(threading.Thread(target=hang))
        threads[-1].start()
        assert pool.turns.wait_for_running_requests(before + 1, 60)

    with pool_of_hostile_readers(size=2) as pool:
        monkeypatch.setattr(confinement, "get_sandbox_pool", lambda: pool)
        yield occupy
    for thread in threads:
        thread.join()


def page(world, role) -> tuple[Client, str]:
    client = Client()
    client.force_login(world.people[role])
    address = reverse(
        "upload", args=[world.season.slug, world.task.slug, world.phase.slug]
    )
    return client, address


def test_a_check_is_answered_503_by_a_full_pool_and_when_to_come_back_and_serves_pages_meanwhile(
    world, crowded
):
    crowded(world.people["organiser"])
    crowded(world.people["staff"])
    answer = check(world.member, world.phase, b"echo")
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert answer.json()["detail"].startswith("Many files are being read just now")
    client, address = page(world, "member")
    form = {
        "run": SimpleUploadedFile("run.jsonl", b"echo"),
        "system": "S",
        "do": "check",
    }
    answer = client.post(address, form)
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert (
        "Nothing was stored or counted: many files are being read"
        in answer.content.decode()
    )
    assert not Submission.objects.exists()
    assert client.get(address).status_code == 200


def test_one_account_cannot_occupy_the_pool(world, crowded):
    crowded(world.people["member"])
    answer = check(world.member, world.phase, b"echo")
    assert answer.status_code == 503
    assert answer.json()["detail"].startswith("Many files are being read just now")
    assert check(world.ask("stranger"), world.phase, b"echo").status_code == 200


def test_the_upload_page_says_that_a_file_takes_too_much(world, hostile_reader):
    client, address = page(world, "member")
    form = {"run": SimpleUploadedFile("run.jsonl", b"fill_memory"), "system": "S"}
    answer = client.post(address, form)
    assert answer.status_code == 422
    assert "needed more than 256 MB of memory" in answer.content.decode()
    assert not Submission.objects.exists()
