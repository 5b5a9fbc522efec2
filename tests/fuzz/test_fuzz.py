"""Whatever is done to a run, it is refused with problems or scored; `make fuzz` tries many more."""

import zipfile

import pytest

from tasks.types import InputRefused, task_types
from tasks.types.files import open_input_files
from tests.fuzz import kinds
from tests.fuzz.trying import Subject, tried
from tests.growth.readers import gold_files, in_memory
from tests.mass import mass

FILES = mass(700, 14_000)
OF_EACH_KIND = mass(60, 4_000)


@pytest.mark.mass
def test_no_mutated_run_is_more_than_refused_or_scored(tmp_path):
    subjects = [Subject(task_type, tmp_path) for task_type in task_types().values()]
    for _ in tried(subjects, FILES, seed=20):
        pass
    for subject in subjects:
        assert set(subject.counts) == {"refused", "scored"}, subject.task_type.slug


@pytest.mark.mass
@pytest.mark.parametrize("name", kinds.KINDS)
def test_nothing_that_people_send_is_more_than_refused_or_read(tmp_path, name):
    """Of archives `tests/archive/test_archive.py` says so."""
    counts = kinds.tried(kinds.kinds(tmp_path)[name], OF_EACH_KIND, seed=25)
    assert set(counts) == {"refused", "read"}


@pytest.mark.parametrize("name", ["", ".", "a/.."])
def test_a_member_of_an_archive_without_a_name_is_told(tmp_path, name):
    info = zipfile.ZipInfo("x")
    with zipfile.ZipFile(tmp_path / "gold.zip", "w") as archive:
        archive.writestr(info, b"{}")
    data = (tmp_path / "gold.zip").read_bytes()
    if name:
        with zipfile.ZipFile(tmp_path / "gold.zip", "w") as archive:
            archive.writestr(name, b"{}")
    else:
        data = bytearray(data)
        # The length of the name, in the member's own header and in the list.
        for place in (26, data.index(b"PK\x01\x02") + 28):
            data[place] = 0
        data = data.replace(b"x{}", b"{}").replace(b"x", b"", 1)
        listed = data.index(b"PK\x01\x02")
        end = data.index(b"PK\x05\x06")
        data[end + 12 : end + 20] = (end - listed).to_bytes(
            4, "little"
        ) + listed.to_bytes(4, "little")
        (tmp_path / "gold.zip").write_bytes(data)
    with pytest.raises(InputRefused) as refused:
        open_input_files(tmp_path / "gold.zip")
    assert [problem.message for problem in refused.value.problems] in (
        ["a file without a name"],
        ["its name leads out of the archive"],
    )


def test_a_paper_in_utf_16_without_a_byte_order_mark_is_told_by_its_name():
    task_type = task_types()["clsumm-1a"]
    files = [
        in_memory(
            file.name,
            file.read().decode().encode("utf-16-le")
            if file.suffix == ".xml"
            else file.read(),
        )
        for file in gold_files(task_type)
    ]
    with pytest.raises(InputRefused) as refused:
        task_type.read_gold(files, task_type.validate_options({}))
    problem = refused.value.problems[0]
    assert (problem.file.endswith(".xml"), problem.message) == (
        True,
        "not a text in UTF-8: it holds a NUL",
    )
