"""The digest of a corpus: of its lines, in whatever order they stand."""

import gzip
from pathlib import Path

import pytest

from scoring.tools.builders.reading import compute_corpus_digest

LINES = [b'{"id": 1}', b'{"id": 2}', b'{"id": 3}']


def written(path: Path, lines: list[bytes], ends: bytes = b"\n") -> Path:
    content = ends.join(lines) + ends
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.mark.parametrize("name", ["papers.jsonl", "papers.jsonl.gz", "papers.ndjson"])
def test_neither_the_order_of_lines_nor_their_ends_count(name, tmp_path):
    before = compute_corpus_digest(written(tmp_path / name, LINES))
    assert before["rule"] == 2
    assert compute_corpus_digest(written(tmp_path / name, LINES[::-1])) == before
    assert compute_corpus_digest(written(tmp_path / name, LINES, b"\r\n")) == before


@pytest.mark.parametrize("lines", [LINES[:2], [*LINES, LINES[0]], [*LINES, b"{}"]])
def test_one_line_less_or_more_is_another_digest(lines, tmp_path):
    before = compute_corpus_digest(written(tmp_path / "papers.jsonl", LINES))
    assert compute_corpus_digest(written(tmp_path / "papers.jsonl", lines)) != before


def test_files_of_another_form_and_names_count_as_they_are(tmp_path):
    digests = [
        compute_corpus_digest(written(tmp_path / name, lines))["sha256"]
        for name in ("papers.json", "others.json")
        for lines in (LINES, LINES[::-1])
    ]
    assert len(set(digests)) == 4
