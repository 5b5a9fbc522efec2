"""Files in a bucket: read by ranges, written in parts, and every fault of the server in our words."""

import io
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest
from django.core.files.base import ContentFile, File

from citeboard.core import storage
from citeboard.core.env import build_storage_settings, parse_bucket_url
from citeboard.core.storage import bucket as bucket_module
from tests.faults.proxy import Door

MEGABYTE = 1 << 20


class Large(io.RawIOBase):
    """A file of so many bytes, none of which is in memory."""

    def __init__(self, size: int) -> None:
        self.size, self.place = size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self.place = {io.SEEK_SET: 0, io.SEEK_CUR: self.place, io.SEEK_END: self.size}[
            whence
        ] + offset
        return self.place

    def tell(self) -> int:
        return self.place

    def readinto(self, buffer) -> int:
        count = min(len(buffer), self.size - self.place)
        buffer[:count] = bytes(
            place % 251 for place in range(self.place, self.place + count)
        )
        self.place += count
        return count


@contextmanager
def asked(monkeypatch):
    """The ranges that are asked for in the block."""
    ranges = []
    given = bucket_module.SeekableBucketFile.readinto

    def noted(file, buffer):
        ranges.append((file.tell(), len(buffer)))
        return given(file, buffer)

    with monkeypatch.context() as patched:
        patched.setattr(bucket_module.SeekableBucketFile, "readinto", noted)
        yield ranges


def test_a_file_comes_back_by_ranges_of_it_and_in_any_order(in_bucket, monkeypatch):
    content = bytes(place % 251 for place in range(3 * MEGABYTE + 7))
    name = storage.run_file_storage.save("a/run.jsonl", ContentFile(content))
    with asked(monkeypatch) as ranges, storage.run_file_storage.open(name) as file:
        assert file.size == len(content)
        file.seek(2 * MEGABYTE)
        assert file.read(10) == content[2 * MEGABYTE : 2 * MEGABYTE + 10]
        assert ranges == [(2 * MEGABYTE, MEGABYTE)]
        file.seek(-7, io.SEEK_END)
        assert file.read() == content[-7:]
        file.seek(0)
        assert b"".join(file.chunks()) == content
        assert max(length for _, length in ranges) == MEGABYTE


@pytest.mark.slow
def test_neither_way_is_a_whole_file_in_memory(
    in_bucket, s3_server, tmp_path, monkeypatch
):
    """The server of this test has it all in memory, so that parts and ranges are counted and not bytes."""
    size = 40 * MEGABYTE
    sent, given = [], in_bucket.client.upload_part
    monkeypatch.setattr(
        in_bucket.client,
        "upload_part",
        lambda **told: sent.append(len(told["Body"])) or given(**told),
    )
    name = storage.run_file_storage.save(
        "large.jsonl", File(io.BufferedReader(Large(size)), "large.jsonl")
    )
    assert sent == [8 * MEGABYTE] * 5
    with asked(monkeypatch) as ranges:
        copy = storage.copy_to_local_folder(storage.run_file_storage, name, tmp_path)
    assert (copy.stat().st_size, max(length for _, length in ranges)) == (
        size,
        MEGABYTE,
    )


def test_names_lie_below_the_prefix_and_are_listed_with_size_and_time(in_bucket):
    storage.run_file_storage.save("3f/one", ContentFile(b"1"))
    storage.run_file_storage.save("3f/two/deep", ContentFile(b"22"))
    storage.gold_file_storage.save("3f/gold.zip", ContentFile(b"g"))
    found = list(storage.run_file_storage.entries("3f"))
    assert [(entry.name, entry.size) for entry in found] == [
        ("3f/one", 1),
        ("3f/two/deep", 2),
    ]
    assert all(entry.modified.tzinfo for entry in found)
    assert [entry.name for entry in storage.run_file_storage.entries("")] == [
        "3f/one",
        "3f/two/deep",
    ]
    keys = in_bucket.client.list_objects_v2(Bucket=in_bucket.bucket_name)["Contents"]
    assert {key["Key"].split("/")[0] for key in keys} == {"site"}
    assert list(storage.run_file_storage.entries("no-such-folder")) == []


def test_a_file_that_changes_while_it_is_read_is_not_patched_together(in_bucket):
    name = storage.run_file_storage.save("run", ContentFile(b"x" * 2 * MEGABYTE))
    with storage.run_file_storage.open(name) as file:
        file.read(10)
        in_bucket._save(f"runs/{name}", ContentFile(b"y" * 2 * MEGABYTE))
        with pytest.raises(OSError, match="PreconditionFailed"):
            file.read()


def test_a_missing_object_is_a_missing_file(kept_in):
    with pytest.raises(storage.StoredFileMissing):
        storage.run_file_storage.open("no-such-run")
    assert not storage.run_file_storage.exists("no-such-run")
    storage.run_file_storage.delete("no-such-run")


def test_reads_and_writes_that_are_refused_are_told(in_bucket, refused):
    name = storage.run_file_storage.save("run", ContentFile(b"x"))
    refused()
    for ask in (
        lambda: storage.run_file_storage.open(name),
        lambda: storage.run_file_storage.save("other", ContentFile(b"x")),
        lambda: storage.run_file_storage.exists(name),
        lambda: storage.run_file_storage.delete(name),
        lambda: list(storage.run_file_storage.entries("")),
    ):
        with pytest.raises(storage.StorageUnavailable) as told:
            ask()
        assert not isinstance(told.value, storage.StoredFileMissing)


def test_a_bucket_that_is_not_there_is_no_missing_file(settings, bucket, tmp_path):
    other = parse_bucket_url(bucket.replace("s3://citeboard", "s3://nobody-s"))
    settings.STORAGES = {
        **settings.STORAGES,
        "default": build_storage_settings(other, tmp_path),
    }
    for ask in (
        lambda: storage.run_file_storage.save("run", ContentFile(b"x")),
        lambda: list(storage.run_file_storage.entries("")),
    ):
        with pytest.raises(storage.StorageUnavailable, match="NoSuchBucket") as told:
            ask()
        assert not isinstance(told.value, storage.StoredFileMissing)


@pytest.mark.parametrize("fault", [Door.shut, Door.stalled])
def test_a_server_that_is_gone_or_hangs_is_away_and_comes_back(
    settings, bucket, tmp_path, monkeypatch, fault
):
    # Of this process itself, which may be busy: what is asked before and afterwards must come within it.
    monkeypatch.setattr(bucket_module, "READ_TIMEOUT_SECONDS", 2)
    server = urlsplit(parse_bucket_url(bucket).endpoint)
    door = Door(server.hostname, server.port)
    behind = parse_bucket_url(bucket.replace(f":{server.port}", f":{door.port}"))
    settings.STORAGES = {
        **settings.STORAGES,
        "default": build_storage_settings(behind, tmp_path),
    }
    try:
        name = storage.run_file_storage.save("run", ContentFile(b"content"))
        with fault(door):
            for ask in (
                lambda: storage.run_file_storage.open(name),
                lambda: storage.run_file_storage.save("other", ContentFile(b"x")),
            ):
                with pytest.raises(storage.StorageUnavailable):
                    ask()
        with storage.run_file_storage.open(name) as file:
            assert file.read() == b"content"
    finally:
        door.close()


@pytest.mark.parametrize(
    "address",
    [
        "s3://",
        "http://bucket",
        "s3://key:secret@bucket",
        "s3://bucket?secret=x",
        "s3://bucket?endpoint=store:9000",
        "s3://bucket?endpoint=https://me:pw@store",
        "s3://bucket/../other",
        "s3://bucket?addressing=upside-down",
        "bucket",
    ],
)
def test_an_address_that_cannot_be_meant_is_refused(address):
    with pytest.raises(ValueError):  # noqa: PT011  (the reader of the environment says what was expected)
        parse_bucket_url(address)


def test_an_address_says_bucket_prefix_server_and_region():
    found = parse_bucket_url(
        "s3://board/site/one?endpoint=http://store:9000&region=eu-1&addressing=path"
    )
    assert (found.name, found.prefix, found.endpoint) == (
        "board",
        "site/one",
        "http://store:9000",
    )
    assert (found.region, found.addressing, str(found)) == (
        "eu-1",
        "path",
        "s3://board/site/one",
    )
