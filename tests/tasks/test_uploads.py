"""Files on their way in: their names, their size, and connections that break."""

import io
import os
import tempfile
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import RequestFactory
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart

from tasks.submissions.uploads import (
    UploadedRunFile,
    UploadTooLarge,
    make_safe_filename,
    receive_upload,
)

MEGABYTE = 1 << 20


@pytest.fixture
def temporary(tmp_path, settings, monkeypatch, db) -> Path:
    """The folder in which all temporary files of the test are; the database counts for the queue."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    settings.FILE_UPLOAD_TEMP_DIR = str(folder)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def post(temporary):
    """Sends files; the request is closed when the test ends, as the site does when it has answered."""
    requests = []

    def send(*contents, name="run.jsonl"):
        files = {
            f"run{n}": SimpleUploadedFile(name, content)
            for n, content in enumerate(contents)
        }
        requests.append(RequestFactory().post("/", files))
        return list(requests[-1].FILES.values())

    yield send
    for request in requests:
        request.close()
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("run.jsonl", "run.jsonl"),
        ("C90-2039.annv3.txt", "C90-2039.annv3.txt"),
        ("../../etc/passwd", "passwd"),
        ("..\\..\\run.zip", "run.zip"),
        ("/", "run"),
        ("", "run"),
        ("...", "run"),
        (".jsonl", "jsonl"),
        ("été (final).jsonl", "été (final).jsonl"),
        ("<img src=x onerror=alert(1)>.jsonl", "_img src=x onerror=alert(1)_.jsonl"),
        ("run\x00\n.jsonl", "run__.jsonl"),
        ("run\u202ejsonl.exe", "run_jsonl.exe"),
        ("a:b|c?.zip", "a_b_c_.zip"),
        ("\ud800.zip", "_.zip"),
        ("a" * 300 + ".jsonl", "a" * 94 + ".jsonl"),
        ("é" * 300 + ".jsonl", "é" * 47 + ".jsonl"),
        ("." + "b" * 300, "b" * 100),
    ],
)
def test_a_name_leads_nowhere_and_fits_every_file_system(given, kept):
    assert make_safe_filename(given) == kept
    assert make_safe_filename(kept) == kept
    assert len(os.fsencode(kept)) <= 100
    assert UploadedRunFile(Path("/nowhere"), given).filename == kept


def test_a_small_file_arrives_whole_under_its_name(post):
    (file,) = post(b"some bytes", name="my run.jsonl")
    with receive_upload(file) as upload:
        assert upload.path.read_bytes() == b"some bytes"
        assert upload.filename == "my run.jsonl"


def test_a_large_file_goes_to_disk_as_it_arrives_and_is_not_copied_again(
    post, temporary
):
    (file,) = post(b"x" * (3 * MEGABYTE))
    with receive_upload(file) as upload:
        assert [upload.path] == list(temporary.iterdir())
        assert upload.path.stat().st_size == 3 * MEGABYTE


def test_a_file_in_memory_is_written_to_disk_for_as_long_as_it_is_used(temporary):
    with receive_upload(SimpleUploadedFile("run.jsonl", b"some bytes")) as upload:
        assert upload.path.read_bytes() == b"some bytes"
        assert upload.path.parent == temporary
    assert list(temporary.iterdir()) == []


def test_a_file_that_is_too_large_is_refused_and_not_kept_on_disk(post, settings):
    settings.UPLOAD_MAX_MB = 1
    (file,) = post(b"x" * (5 * MEGABYTE))
    assert Path(file.temporary_file_path()).stat().st_size <= MEGABYTE
    assert file.size == 5 * MEGABYTE
    with pytest.raises(UploadTooLarge, match="larger than 1 MB"), receive_upload(file):
        pytest.fail("it was received")


def test_the_limit_itself_is_allowed(post, settings):
    settings.UPLOAD_MAX_MB = 1
    (file,) = post(b"x" * MEGABYTE)
    with receive_upload(file) as upload:
        assert upload.path.stat().st_size == MEGABYTE


def test_many_files_in_one_request_share_the_limit(post, settings):
    settings.UPLOAD_MAX_MB = 1
    files = post(*[b"x" * MEGABYTE] * 4)
    assert (
        sum(Path(file.temporary_file_path()).stat().st_size for file in files)
        <= MEGABYTE
    )


class BrokenConnection(io.BytesIO):
    """Gives what has arrived, then breaks as a socket does."""

    def read(self, *size):
        data = super().read(*size)
        if not data:
            raise ConnectionResetError("the sender is gone")
        return data


def sent_in_part(connection):
    """A request whose sender promised 3 MB and is gone after 2."""
    body = encode_multipart(
        BOUNDARY, {"run": SimpleUploadedFile("run.jsonl", b"x" * (3 * MEGABYTE))}
    )
    arrived = connection(body[: 2 * MEGABYTE])
    return RequestFactory().generic(
        "POST", "/", body, MULTIPART_CONTENT, **{"wsgi.input": arrived}
    )


def test_a_connection_that_breaks_leaves_nothing(temporary):
    request = sent_in_part(BrokenConnection)
    with pytest.raises(OSError, match="the sender is gone"):
        _ = request.FILES
    request.close()
    assert list(temporary.iterdir()) == []


def test_a_body_that_ends_too_early_is_no_file_and_leaves_nothing(temporary):
    """Some servers do not tell a broken connection from an end."""
    request = sent_in_part(io.BytesIO)
    assert not request.FILES
    request.close()
    assert list(temporary.iterdir()) == []
