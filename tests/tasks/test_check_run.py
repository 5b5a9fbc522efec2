"""What strangers may send, through the check that an upload goes through: refused in words, never a crash."""

import contextlib
import io
import stat
import struct
import tempfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from citeboard.core.confined import UPLOAD_FILE_NAME
from tasks.gold.gold_files import load_instance_index_of_gold
from tasks.models import Gold, Submission
from tasks.submissions import reading
from tasks.submissions.submit import check_run
from tasks.types import task_type
from tasks.types.problems import select_fatal_problems
from tests.factories import (
    TOPICS,
    answers,
    make_gold,
    make_phase,
    make_task,
    make_upload,
    run_bytes,
)
from tests.tasks.types.corpus import CITANCES, answer_line

pytestmark = pytest.mark.django_db
LINE = answer_line("D01-0001", "D05-0001", "3", ["1"])
NAME = "Task1/D01-0001.annv3.txt"


@pytest.fixture(params=["clsumm-1a", "clsumm-1b"])
def phase(request):
    return make_phase(task=make_task(type=request.param))


def archive(
    members: dict[str, str | bytes], method: int = zipfile.ZIP_DEFLATED
) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", method) as kept:
        for name, content in members.items():
            kept.writestr(name, content)
    return packed.getvalue()


def problems(phase, content: bytes, filename: str = "run.zip") -> list:
    found = check_run(phase=phase, upload=make_upload(content, filename)).problems
    assert not Submission.objects.exists()
    return found


def refusal(phase, content: bytes, filename: str = "run.zip") -> str:
    """Everything that is said of a run that is refused."""
    found = select_fatal_problems(problems(phase, content, filename))
    assert found
    assert all(str(problem).startswith(filename) for problem in found)
    return "\n".join(map(str, found))


def test_a_good_run_has_no_problems(phase):
    assert problems(phase, run_bytes(), "run.jsonl") == []
    text = {
        f"Task1/{topic}.annv3.txt": LINE.replace("D01-0001", topic) for topic in TOPICS
    }
    assert select_fatal_problems(problems(phase, archive(text))) == []


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
def test_a_member_that_leads_out_of_the_archive(phase, name):
    assert "leads out of the archive" in refusal(
        phase, archive({NAME: LINE, name: LINE})
    )


def test_a_bomb(phase):
    assert "too good to be a text" in refusal(phase, archive({NAME: b"0" * 30_000_000}))


def test_an_archive_in_the_archive(phase):
    assert "an archive inside" in refusal(
        phase, archive({NAME: LINE, "more.zip": archive({NAME: LINE})})
    )


def test_a_link(phase):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as kept:
        link = zipfile.ZipInfo(NAME)
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        kept.writestr(link, "/etc/passwd")
    assert "a link, not a file" in refusal(phase, packed.getvalue())


def test_the_same_name_twice(phase):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as kept:
        kept.writestr(NAME, LINE)
        with pytest.warns(UserWarning, match="Duplicate"):
            kept.writestr(NAME, LINE)
    assert "holds this name twice" in refusal(phase, packed.getvalue())


def test_members_that_share_their_bytes(phase):
    """One compressed body under many names: the directory's entries all point to it."""
    data = archive({f"Task1/D01-000{n}.annv3.txt": LINE * 200 for n in range(9)})
    end = data.rindex(b"PK\x05\x06")
    directory = struct.unpack("<I", data[end + 16 : end + 20])[0]
    entries = bytearray(data[directory:end])
    place = 0
    while place < len(entries):
        entries[place + 42 : place + 46] = struct.pack("<I", 0)
        lengths = struct.unpack("<HHH", entries[place + 28 : place + 34])
        place += 46 + sum(lengths)
    first = data[: data.index(b"PK\x03\x04", 4)]
    tail = bytearray(data[end:])
    tail[16:20] = struct.pack("<I", len(first))
    assert "overlap" in refusal(phase, first + bytes(entries) + bytes(tail))


def test_a_member_that_lies_about_its_size(phase):
    data = bytearray(archive({NAME: LINE * 200}))
    for signature, offset in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        place = data.rindex(signature) + offset
        data[place : place + 4] = struct.pack("<I", 10)
    assert "damaged" in refusal(phase, bytes(data))


def test_a_member_that_is_encrypted(phase):
    data = bytearray(archive({NAME: LINE}))
    for signature, offset in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        data[data.rindex(signature) + offset] |= 1
    assert "encrypted" in refusal(phase, bytes(data))


def test_a_method_that_unpacks_without_bounds(phase):
    assert "other than deflate" in refusal(
        phase, archive({NAME: LINE}, zipfile.ZIP_LZMA)
    )


@pytest.mark.parametrize("offset", [1, 0x7FFFFFFF, 0xFFFFFFFE])
def test_a_directory_that_points_nowhere(phase, offset):
    data = bytearray(archive({NAME: LINE}))
    place = data.rindex(b"PK\x01\x02") + 42
    data[place : place + 4] = struct.pack("<I", offset)
    assert refusal(phase, bytes(data))


@given(
    edits=st.lists(
        st.tuples(st.integers(0, 400), st.integers(0, 255)), min_size=1, max_size=12
    ),
    cut=st.integers(0, 40),
)
def test_no_damage_to_an_archive_is_more_than_a_refusal(edits, cut):
    data = bytearray(archive({NAME: LINE, "Task1/D01-0002.annv3.txt": LINE}))
    for place, value in edits:
        data[-1 - place % len(data)] = value
    index = {"topics": {topic: {"citances": [], "sentences": []} for topic in TOPICS}}
    options = task_type("clsumm-1a").validate_options({})
    given = {
        "task_type": "clsumm-1a",
        "options": options,
        "filename": "run.zip",
        "max_bytes": 1 << 20,
        "reading": 2,
    }
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path(UPLOAD_FILE_NAME).write_bytes(bytes(data[: len(data) - cut]))
        found = reading.check(given, index)["problems"]
    assert all(problem["file"].startswith("run.zip") for problem in found)


def test_an_archive_that_is_cut_off(phase):
    assert "not a readable zip archive" in refusal(
        phase, archive({NAME: LINE * 50})[:-30]
    )


def test_an_archive_of_nothing(phase):
    assert "no file that can be a run" in refusal(phase, archive({}))


@pytest.mark.parametrize("filename", ["run.jsonl", "D01-0001.annv3.txt"])
def test_a_giant_line(phase, settings, filename):
    settings.CHECK_MAX_MB = 64
    said = refusal(phase, b'{"topic": "' + b"a" * (17 << 20), filename)
    assert said == f"{filename}:1: a line of more than 16,777,216 bytes"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "no answers in this file"),
        (b"\xff\xfe{\x00}\x00", "“topic” is missing"),
        (run_bytes().decode().encode("utf-16")[:-1], "not UTF-16"),
        (b"\x00" * 100, "this is binary data"),
        (b"[" * 100_000, "nested 100,000 deep (limit: 100)"),
        (b'{"topic": 1e999}', "1e999 is not a finite number"),
        (b'{"topic": NaN}', "NaN is not a finite number"),
        (b'{"topic": ' + b"9" * 5000 + b"}", "not JSON"),
        (b'"a text"', "expected a JSON object"),
        (b'{"topic": {"a": 1}, "citance": "1", "sentences": []}', "is an object"),
        (
            b'{"topic": "D01-0001", "citance": "1", "sentences": [["1"]]}',
            "not a list of sentence ids",
        ),
        (
            b'{"topic": "D01-0001", "citance": "1", "sentences": [true]}',
            "not a list of sentence ids",
        ),
        (
            b'{"topic": "D09-9999", "citance": "1", "sentences": ["1"]}',
            "answers no instance of the split",
        ),
    ],
)
def test_a_broken_file_of_answers(phase, content, words):
    assert words in refusal(phase, content, "run.jsonl")


@pytest.mark.parametrize("filename", ["run.exe", "run.pdf", "run.tar.gz"])
def test_a_file_of_another_kind(phase, filename):
    assert "JSON lines" in refusal(phase, run_bytes(), filename)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252"])
def test_the_encodings_of_the_field_are_read(phase, encoding):
    text = "".join(
        LINE.replace("D01-0001", topic).replace("Us,", "Gödel,") for topic in TOPICS[:1]
    )
    content = text.replace("\n", "\r\n").encode(encoding)
    assert select_fatal_problems(problems(phase, content, "D01-0001.annv3.txt")) == []


def test_a_message_quotes_the_sender_s_line_as_it_is_and_not_all_of_it(phase):
    line = b"<script>alert('x')</script>" + b"y" * 500
    (problem,) = select_fatal_problems(problems(phase, line, "run.jsonl"))
    assert problem.quote.startswith("<script>alert('x')</script>yyy")
    assert len(problem.quote) <= 160


def test_what_is_said_of_a_run_does_not_depend_on_the_gold_answers(phase):
    """Two golds that ask the same and answer otherwise: index, public inputs and messages are the same."""
    other = make_phase(task=make_task(type=phase.task.type), with_gold=False)
    asked = [(citing, marker) for citing, marker, _, _ in CITANCES]
    make_gold(
        phase=other,
        citances=[(*names, ["4"], "Implication_Citation") for names in asked],
    )
    golds = [Gold.objects.current(each) for each in (phase, other)]
    assert golds[0].digest != golds[1].digest
    assert load_instance_index_of_gold(golds[0]) == load_instance_index_of_gold(
        golds[1]
    )
    assert golds[0].public.rpartition("/")[2] == golds[1].public.rpartition("/")[2], (
        "the name is a checksum"
    )
    runs = [
        answers(),
        answers(sentences=("4", "77"), facets=("Background",))[1:],
        [
            *answers(),
            {**answers()[0], "marker": "800"},
            {"topic": "D09-9999", "citing": "x", "sentences": []},
        ],
        [{"topic": "D01-0001"}],
    ]
    for records in runs:
        said = [
            problems(each, run_bytes(records), "run.jsonl") for each in (phase, other)
        ]
        assert said[0] == said[1]


def test_a_member_of_an_archive_is_named_with_its_archive(phase):
    said = refusal(phase, archive({NAME: "nothing of this kind\n"}), "our run.zip")
    assert said.startswith(f"our run.zip!{NAME}:1: ")


@pytest.mark.parametrize(
    ("line", "filename"), [(b"{}\n", "run.jsonl"), (b"x\n", "D01-0001.annv3.txt")]
)
def test_a_file_meant_to_fill_the_memory_is_read_no_further(phase, line, filename):
    found = problems(phase, line * 200_000, filename)
    assert len(found) < 1_010
    told = {each.message for each in found}
    assert told & {
        "stopped after 1,000 errors",
        "this looks like plain text",
    }


def test_warnings_without_end_are_cut_off(phase):
    facets = [{**answers()[0], "facets": ["Method", *(f"f{n}" for n in range(30_000))]}]
    found = problems(phase, run_bytes(facets), "run.jsonl")
    assert not select_fatal_problems(found)
    assert 1_000 <= len(found) < 1_010
    assert any(each.message.endswith("more warnings are not listed") for each in found)
