"""What strangers may send in a zip, through the door that a user has: the offline checker."""

import io
import stat
import struct
import zipfile
from pathlib import Path

import pytest

from scoring.__main__ import main
from tasks.types.files import (
    ArchiveLimits,
    _find_member_faults,
    count_files_in_zip_directory,
)
from tests.tasks.types.corpus import answer_line, write_topic

LINE = answer_line("D01-0001", "D05-0001", "3", ["1"])


@pytest.fixture
def gold(tmp_path) -> Path:
    return write_topic(tmp_path / "gold", "D01-0001")


def refusal(capsys, gold: Path, run: Path) -> str:
    assert main(["check", "clsumm-1a", "--gold", str(gold), "--run", str(run)]) == 2
    return capsys.readouterr().err


def archive(path: Path, members: dict[str, str | bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as kept:
        for name, content in members.items():
            kept.writestr(name, content)
    return path


def test_an_honest_archive_is_read(gold, tmp_path):
    run = archive(tmp_path / "run.zip", {"Task1/D01-0001.annv3.txt": LINE})
    assert main(["check", "clsumm-1a", "--gold", str(gold), "--run", str(run)]) == 0


@pytest.mark.parametrize(
    "name",
    [
        "../D01-0001.annv3.txt",
        "/etc/D01-0001.txt",
        "a/../../b.txt",
        "..\\b.txt",
        "C:/b.txt",
    ],
)
def test_a_name_that_leads_out_of_the_archive_is_refused(capsys, gold, tmp_path, name):
    run = archive(tmp_path / "run.zip", {name: LINE})
    assert "leads out of the archive" in refusal(capsys, gold, run)


def test_a_bomb_is_refused_before_it_is_unpacked(capsys, gold, tmp_path):
    run = archive(tmp_path / "run.zip", {"Task1/D01-0001.annv3.txt": b"0" * 50_000_000})
    assert "unpacks to 50,000,000 bytes" in refusal(capsys, gold, run)


@pytest.mark.parametrize(
    ("packed", "size", "is_told"),
    [
        (9, 1 << 20, 0),
        (9, (1 << 20) + 1, 1),
        (5000, 1_250_000, 0),
        (5000, 1_250_001, 1),
    ],
)
def test_a_text_may_unpack_to_a_mebibyte_and_to_250_times_its_packed_size(
    packed, size, is_told
):
    member = zipfile.ZipInfo("a.txt")
    member.compress_type, member.compress_size, member.file_size = (
        zipfile.ZIP_DEFLATED,
        packed,
        size,
    )
    assert len(list(_find_member_faults(member, ArchiveLimits()))) == is_told


def test_a_member_that_lies_about_its_size_is_refused(capsys, gold, tmp_path):
    run = archive(tmp_path / "run.zip", {"Task1/D01-0001.annv3.txt": LINE * 200})
    data = bytearray(run.read_bytes())
    for signature, offset in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        place = data.rindex(signature) + offset
        data[place : place + 4] = struct.pack("<I", 10)
    run.write_bytes(data)
    assert "damaged" in refusal(capsys, gold, run)


def test_overlapping_members_are_refused(capsys, gold, tmp_path):
    """One packed text that many entries point to: small on disk, large in memory."""
    run = archive(
        tmp_path / "run.zip",
        {
            f"Task1/D01-000{n}.annv3.txt": io.BytesIO(bytes(range(256)) * 40).read()
            for n in range(9)
        },
    )
    data = bytearray(run.read_bytes())
    place = data.index(b"PK\x01\x02")
    while place >= 0:
        data[place + 20 : place + 24] = struct.pack("<I", len(data))
        place = data.find(b"PK\x01\x02", place + 4)
    run.write_bytes(data)
    assert "overlap" in refusal(capsys, gold, run)


def test_a_link_is_refused(capsys, gold, tmp_path):
    link = zipfile.ZipInfo("Task1/D01-0001.annv3.txt")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    run = tmp_path / "run.zip"
    with zipfile.ZipFile(run, "w") as kept:
        kept.writestr(link, "/etc/passwd")
    assert "a link, not a file" in refusal(capsys, gold, run)


def test_an_archive_inside_the_archive_is_refused(capsys, gold, tmp_path):
    inner = archive(tmp_path / "inner.zip", {"D01-0001.annv3.txt": LINE})
    run = archive(tmp_path / "run.zip", {"Task1/inner.zip": inner.read_bytes()})
    assert "an archive inside the archive" in refusal(capsys, gold, run)


def test_a_name_that_stands_twice_is_refused(capsys, gold, tmp_path):
    run = archive(
        tmp_path / "run.zip",
        {"Task1/D01-0001.annv3.txt": LINE, "Task1/D01-0001.annv4.txt": LINE},
    )
    run.write_bytes(run.read_bytes().replace(b"annv4", b"annv3"))
    assert "holds this name twice" in refusal(capsys, gold, run)


def test_every_fault_of_an_archive_is_told_at_once(capsys, gold, tmp_path):
    run = archive(
        tmp_path / "run.zip", {"../a.txt": LINE, "b.zip": LINE, "c\x01.txt": LINE}
    )
    told = refusal(capsys, gold, run)
    for fault in ("leads out", "an archive inside", "control character"):
        assert fault in told


def test_what_is_no_archive_is_refused(capsys, gold, tmp_path):
    run = tmp_path / "run.zip"
    run.write_bytes(b"PK\x03\x04 and nothing more")
    assert "not a readable zip archive" in refusal(capsys, gold, run)


def test_what_file_managers_leave_behind_is_passed_over(gold, tmp_path):
    run = archive(
        tmp_path / "run.zip",
        {
            "Task1/D01-0001.annv3.txt": LINE,
            "__MACOSX/Task1/._D01-0001.annv3.txt": b"\x00\x05\x16",
            "Task1/.DS_Store": b"\x00",
        },
    )
    assert main(["check", "clsumm-1a", "--gold", str(gold), "--run", str(run)]) == 0


def test_a_list_that_claims_fewer_files_than_it_has_is_counted_itself(tmp_path):
    run = archive(tmp_path / "run.zip", {f"{number}.txt": LINE for number in range(5)})
    data = bytearray(run.read_bytes())
    end = data.rindex(b"PK\x05\x06")
    for claimed in (2, 5):
        data[end + 8 : end + 12] = struct.pack("<HH", claimed, claimed)
        assert count_files_in_zip_directory(io.BytesIO(data), 100) == 5
    # Counting ends beyond what is allowed.
    assert (
        count_files_in_zip_directory(
            io.BytesIO(data[: end + 8] + struct.pack("<HH", 1, 1) + data[end + 12 :]), 3
        )
        == 4
    )


@pytest.mark.parametrize(
    ("record", "locator", "expected"),
    [(b"PK\6\6", b"PK\6\7", 7), (b"PK\6\6", b"PK\6\0", 2), (b"PK\6\0", b"PK\6\7", 2)],
)
def test_a_large_archive_is_counted_by_its_own_end_where_both_of_its_marks_stand(
    record, locator, expected
):
    large = struct.pack(
        "<4sQ2H2L4Q", record, 44, 45, 45, 0, 0, 7, 7, 0, 0
    ) + struct.pack("<4sLQL", locator, 0, 0, 1)
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 2, 2, 0, 0, 0)
    assert count_files_in_zip_directory(io.BytesIO(large + end), 100) == expected
    assert count_files_in_zip_directory(io.BytesIO(large[1:] + end), 100) == 2


def test_a_name_with_a_space_is_no_fault_and_one_with_a_control_character_is(
    capsys, gold, tmp_path
):
    spaced = archive(tmp_path / "spaced.zip", {"Task 1/D01-0001.annv3.txt": LINE})
    assert main(["check", "clsumm-1a", "--gold", str(gold), "--run", str(spaced)]) == 0
    bell = archive(tmp_path / "bell.zip", {"Task\x1f1/D01-0001.annv3.txt": LINE})
    assert "its name holds a control character" in refusal(capsys, gold, bell)
