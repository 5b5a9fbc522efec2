"""Twice the input costs at most 2.6 times the CPU, and memory stays in proportion to the input."""

import itertools
import re
import zipfile
import zlib
from functools import partial

import pytest

import scoring.metrics
import tasks.types
from citeboard.core.markdown import render_markdown
from scoring.metrics import porter
from tasks.types import InputRefused, task_types
from tasks.types.files import open_input_files
from tests.growth import doors, readers, texts
from tests.growth.functions import text_functions
from tests.growth.measuring import growth, peak_memory, steps
from tests.growth.shapes import shapes
from tests.mass import IS_FULL, mass
from tests.resting import rests_on_reading

TYPES = list(task_types().values())
#: In characters. A quadratic reader takes seconds at sizes where the others take no time at all.
#: In bytes, for files that are read as when they are sent.
LARGE = mass(1 << 19, 1 << 22)
SIZE, SMALL = mass(1 << 13, 1 << 14), mass(1 << 12, 1 << 13)
#: The suite takes one shape in so many, others for each subject; `make fuzz` takes all of them, and larger.
SHARE = mass(12, 1)
#: In bytes: for what is there whatever the input, and for each byte of it.
MEMORY_AT_LEAST, MEMORY_PER_BYTE = 8 << 20, 64

pytestmark = [pytest.mark.mass, rests_on_reading]

#: What the readers of texts have been slow at: they are given all of these whatever the share.
NESTED = (
    ("opened", lambda size: "[" * size),
    ("opened, by keys", lambda size: "{a = " * (size // 5)),
    ("parts of a key", lambda size: "a." * (size // 2) + "a"),
    ("digits", lambda size: "9" * size),
    ("lists in lists", lambda size: "- " * (size // 2) + "a"),
)

of_every_type = pytest.mark.parametrize(
    "task_type", TYPES, ids=[each.slug for each in TYPES]
)


def some_shapes(subject):
    found = list(shapes())
    return found[zlib.crc32(subject.encode()) % SHARE :: SHARE]


def beyond_bounds(work, made, size):
    """What grows faster, by name, with the ratio."""
    found = {name: growth(work, make, size) for name, make in made}
    return {name: each for name, each in found.items() if not each.is_bounded}


@of_every_type
def test_no_file_of_a_run_costs_more_than_in_proportion(task_type):
    made = itertools.chain.from_iterable(
        ((f"{shape}: {name}", files) for name, files in readers.hostile_contents(make))
        for shape, make in some_shapes(task_type.slug)
    )
    assert beyond_bounds(readers.reading(task_type), made, SIZE) == {}


@of_every_type
def test_no_field_of_an_answer_costs_more_than_in_proportion(task_type):
    made = itertools.chain.from_iterable(
        (
            (f"{shape}: {name}", files)
            for name, files in readers.hostile_fields(task_type, make)
        )
        for shape, make in some_shapes(task_type.slug)
    )
    assert beyond_bounds(readers.reading(task_type), made, SMALL) == {}


@of_every_type
def test_many_answers_ids_problems_and_members_cost_no_more_than_in_proportion(
    task_type,
):
    assert (
        beyond_bounds(readers.reading(task_type), readers.many(task_type), 4 * SIZE)
        == {}
    )


@of_every_type
def test_no_file_of_gold_costs_more_than_in_proportion(task_type):
    made = itertools.chain.from_iterable(
        (
            (f"{shape}: {name}", files)
            for name, files in readers.hostile_gold(task_type, make)
        )
        for shape, make in some_shapes(task_type.slug)
    )
    assert beyond_bounds(readers.reading_gold(task_type), made, SMALL) == {}


@of_every_type
def test_no_upload_costs_more_than_in_proportion_at_each_doubling(task_type, tmp_path):
    """From a tenth of a megabyte on; `python -m tests.growth` goes up to 16, with gold and other files."""
    found = {}
    for name, read, made in doors.runs(task_type, tmp_path):
        if IS_FULL or name.partition(": ")[2].partition(" as ")[0] in doors.SMALL:
            found[name] = [
                each
                for each in steps(read, made, doors.SMALLEST, LARGE)
                if not each.is_bounded
            ]
    assert {name: each for name, each in found.items() if each} == {}


@pytest.mark.parametrize("kind", texts.READERS)
def test_no_metadata_declaration_or_measures_cost_more_than_in_proportion(kind):
    made = itertools.chain.from_iterable(
        ((f"{shape}: {name}", text) for name, text in texts.shaped(kind, make))
        for shape, make in (*some_shapes(kind), *NESTED)
    )
    assert beyond_bounds(texts.READERS[kind], made, SIZE) == {}


def test_no_tokenizer_or_splitter_costs_more_than_in_proportion():
    """And no other function that takes a text."""
    found = {}
    for name, function in text_functions((tasks.types, scoring.metrics)):
        if beyond := beyond_bounds(function, some_shapes(name), SMALL):
            found[name] = beyond
    assert found == {}


@pytest.mark.parametrize("stem", [porter.stem_as_rouge_score, porter.stem_as_rouge155])
def test_no_word_costs_a_stemmer_more_than_in_proportion(stem):
    words = [
        (
            repr(letters),
            lambda size, letters=letters: letters * (size // len(letters)) + "ing",
        )
        for letters in ("y", "yx", "ay", "a")
    ]
    assert beyond_bounds(stem, words, 1 << 16) == {}


def test_no_markdown_costs_more_than_in_proportion():
    assert (
        beyond_bounds(render_markdown.__wrapped__, some_shapes("markdown"), SMALL) == {}
    )


@of_every_type
def test_the_memory_of_a_reader_stays_in_proportion_to_the_input(task_type):
    read = readers.reading(task_type)
    for name, made in readers.many(task_type):
        size = mass(1 << 14, 1 << 16)
        files = made(size)
        # What the first reading imports is no part of the file.
        read(made(1))
        allowed = MEMORY_AT_LEAST + MEMORY_PER_BYTE * size
        assert (
            peak_memory(lambda files=files: read(files), enough=allowed) <= allowed
        ), name


def test_the_growth_of_what_is_quadratic_is_noticed(monkeypatch):
    """The measure itself: the pattern that once read the tags of annotation lines.

    Its least ratio of a dozen may be one with which the machine was slow; that is not so each time.
    """
    monkeypatch.setattr("tests.growth.measuring.TRIES", 3)
    element = re.compile(r"<s\b([^>]*)>", re.IGNORECASE)
    tags = [("tags", lambda size: "<S " * (size // 3))]
    assert any(beyond_bounds(element.findall, tags, 1 << 16) for _ in range(4))


def test_an_archive_of_many_files_is_refused_before_its_list_is_read(tmp_path):
    """By the number that it claims, and by its list where it claims less."""
    path = tmp_path / "many.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for place in range(30_000):
            archive.writestr(str(place), b"")
    content = path.read_bytes()
    end = content.rfind(b"PK\x05\x06")
    path.with_name("modest.zip").write_bytes(
        content[: end + 8] + b"\1\0\1\0" + content[end + 12 :]
    )
    for name in ("many.zip", "modest.zip"):
        read = partial(_refused_for_its_number, tmp_path / name)
        assert peak_memory(read, enough=1 << 19) < 1 << 20, name


def _refused_for_its_number(path):
    with pytest.raises(InputRefused, match="at most 20,000"):
        open_input_files(path)
