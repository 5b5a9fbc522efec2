"""The folder of derived things: what is kept is found, damaged files are passed over, the oldest go."""

import hashlib
import os
import tempfile

import numpy as np
import pytest

from scoring.metrics.cache import (
    cache_arrays,
    compute_digest_of_texts,
    folder,
    load_cached_arrays,
)


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("CITEBOARD_CACHE_DIR", str(tmp_path))
    return tmp_path / "words"


def test_what_was_kept_is_found_and_counts_as_used(place):
    cache_arrays("words", "d", {"numbers": np.arange(3), "ends": np.array([0.5])})
    os.utime(place / "d.npz", (1, 1))
    found = load_cached_arrays("words", "d")
    assert found["numbers"].tolist() == [0, 1, 2]
    assert found["ends"].tolist() == [0.5]
    assert (place / "d.npz").stat().st_mtime > 1
    assert [path.name for path in place.iterdir()] == ["d.npz"]
    assert load_cached_arrays("words", "other") is None


def test_a_folder_within_folders_that_are_missing_is_made(place, monkeypatch):
    monkeypatch.setenv("CITEBOARD_CACHE_DIR", str(place / "new" / "newer"))
    cache_arrays("words", "d", {"numbers": np.arange(3)})
    assert load_cached_arrays("words", "d")


def test_what_is_kept_is_written_beside_it_on_the_same_disk(place, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(place / "elsewhere"))
    cache_arrays("words", "d", {"numbers": np.arange(3)})
    assert load_cached_arrays("words", "d")


def test_a_damaged_file_and_one_that_would_run_code_count_as_none(place):
    place.mkdir()
    (place / "empty.npz").write_bytes(b"")
    (place / "text.npz").write_bytes(b"PK\x03\x04 no archive")
    np.savez(
        place / "objects.npz",
        rows=np.array([{"a": 1}], dtype=object),
        allow_pickle=True,
    )
    assert [
        load_cached_arrays("words", name) for name in ("empty", "text", "objects")
    ] == [None] * 3


def test_where_there_is_no_more_room_what_was_used_longest_ago_goes(place, monkeypatch):
    rows = {"rows": np.zeros(50_000)}
    for age, name in enumerate(("new", "older", "oldest")):
        cache_arrays("words", name, rows)
        os.utime(place / f"{name}.npz", (10_000 - age, 10_000 - age))
    monkeypatch.setenv("CITEBOARD_CACHE_MB", "1")
    cache_arrays("words", "newest", rows)
    assert sorted(path.stem for path in place.iterdir()) == ["new", "newest"]
    monkeypatch.setenv("CITEBOARD_CACHE_MB", "0")
    cache_arrays("words", "none", rows)
    assert list(place.iterdir()) == []
    monkeypatch.setenv("CITEBOARD_CACHE_MB", "lots")
    cache_arrays("words", "all", rows)
    assert load_cached_arrays("words", "all")


def test_the_folder_is_the_one_that_is_named_or_that_of_the_system(
    tmp_path, monkeypatch
):
    assert folder() == tmp_path
    monkeypatch.delenv("CITEBOARD_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert folder() == tmp_path / "xdg" / "citeboard"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert folder() == tmp_path / "home" / ".cache" / "citeboard"


def test_a_digest_of_texts_knows_where_one_ends():
    assert compute_digest_of_texts(["ab", "c"]) != compute_digest_of_texts(["a", "bc"])
    assert compute_digest_of_texts(["ä\ud800"]) == compute_digest_of_texts(["ä\ud800"])
    assert (
        compute_digest_of_texts([])
        == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    )
    assert (
        compute_digest_of_texts(["a"])
        == hashlib.sha256(bytes(7) + b"\x01a").hexdigest()
    )
