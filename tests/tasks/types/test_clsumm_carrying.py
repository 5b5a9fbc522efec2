"""What a file is to tasks is found by looking at a part of it, however much it unpacks to."""

import io

import pytest

from tasks.types.clsumm import runs
from tasks.types.files import InputFile


def files(count: int, line: bytes, lines: int, read: list[int]) -> list[InputFile]:
    """Files that unpack without end, as it were; ``read`` counts what is taken of them."""

    class Counted(io.BytesIO):
        def readline(self, size=-1):
            read.append(1)
            return super().readline(size)

    names = [f"Task1/{number}.txt" for number in range(count)]
    return [
        InputFile(name, f"a.zip!{name}", lambda: Counted(line * lines))
        for name in names
    ]


def test_facets_are_looked_for_up_to_a_limit_of_all_files_together(monkeypatch):
    monkeypatch.setattr(runs, "MAX_BYTES_SEARCHED", 1000)
    read: list[int] = []
    assert not runs.contains_facet_answers(files(50, b"x" * 99 + b"\n", 100, read))
    assert sum(read) <= 11


@pytest.mark.parametrize(("more", "is_found"), [(0, True), (1, False)])
def test_a_facet_within_64_mebibytes_of_all_files_is_found(more, is_found):
    """All lines are counted, the one with the facet too."""
    facet = b"Discourse Facet: Method\n"
    content = (
        (b"x" * 1023 + b"\n") * ((64 << 10) - 1)
        + b"x" * (1023 - len(facet) + more)
        + b"\n"
        + facet
    )
    own = [InputFile("Task1/a.txt", "a.txt", lambda: io.BytesIO(content))]
    assert runs.contains_facet_answers(own) is is_found
    assert runs.contains_citance_answers(own)
