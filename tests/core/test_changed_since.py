"""What has changed since a commit that passed every test, and what is run therefore."""

import os
import subprocess
from pathlib import Path

import pytest

from scripts.changed_since import UNCHANGED, UNKNOWN, is_touched, main

IDENTITY = {
    f"GIT_{who}_{what}": f"{who}@example.org"
    for who in ("AUTHOR", "COMMITTER")
    for what in ("NAME", "EMAIL")
}


def git(folder: Path, *words: str) -> str:
    own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    return subprocess.run(
        ["git", *words],
        cwd=folder,
        env={**os.environ, **IDENTITY, **own},
        capture_output=True,
        check=True,
        text=True,
    ).stdout.strip()


def commit(folder: Path, *paths: str) -> str:
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(f"{len(list(folder.rglob('*')))}")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "Change files")
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture(autouse=True)
def no_commit_named(monkeypatch):
    monkeypatch.delenv("CITEBOARD_TEST_SINCE", raising=False)


@pytest.fixture
def origin(tmp_path) -> Path:
    folder = tmp_path / "origin"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch", "main")
    commit(folder, "scoring/metrics/rouge.py", "README.md")
    return folder


@pytest.fixture
def clone(origin, tmp_path) -> Path:
    git(tmp_path, "clone", "--quiet", str(origin), "clone")
    return tmp_path / "clone"


@pytest.fixture
def changed(capsys):
    """Return the printed paths, or None where no earlier commit is known."""

    def ask(folder: Path) -> list[str] | None:
        code = main([], folder)
        printed = capsys.readouterr().out.splitlines()
        assert code in (UNKNOWN, 0)
        return None if code == UNKNOWN else printed

    return ask


def test_nothing_has_changed_in_a_fresh_clone(clone, changed):
    assert changed(clone) == []


def test_commits_that_the_default_branch_lacks_have_changed_their_files(clone, changed):
    git(clone, "switch", "--quiet", "--create", "own")
    commit(clone, "docs/one.md")
    commit(clone, "docs/two.md")
    assert changed(clone) == ["docs/one.md", "docs/two.md"]


def test_what_the_default_branch_has_got_meanwhile_has_not_changed_here(
    origin, clone, changed
):
    commit(clone, "docs/own.md")
    commit(origin, "docs/theirs.md")
    git(clone, "fetch", "--quiet")
    assert changed(clone) == ["docs/own.md"]


@pytest.mark.parametrize("is_added", [False, True])
def test_files_that_are_not_committed_have_changed(clone, changed, is_added):
    (clone / "README.md").write_text("Edited.")
    (clone / "tasks").mkdir()
    (clone / "tasks/new file.py").write_text("")
    if is_added:
        git(clone, "add", "--all")
    assert changed(clone) == ["README.md", "tasks/new file.py"]


def test_a_file_that_was_renamed_has_changed_at_both_places(clone, changed):
    git(clone, "mv", "README.md", "READ.md")
    assert changed(clone) == ["READ.md", "README.md"]


def test_a_file_that_was_deleted_has_changed(clone, changed):
    (clone / "README.md").unlink()
    assert changed(clone) == ["README.md"]


def test_files_that_are_ignored_have_not_changed(clone, changed):
    commit(clone, ".gitignore")
    (clone / ".gitignore").write_text(".cache\n")
    (clone / ".cache").mkdir()
    (clone / ".cache/file").write_text("")
    assert changed(clone) == [".gitignore"]


def test_a_named_commit_is_compared_with_instead(origin, changed, monkeypatch):
    first = git(origin, "rev-parse", "HEAD")
    commit(origin, "docs/one.md")
    monkeypatch.setenv("CITEBOARD_TEST_SINCE", first)
    assert changed(origin) == ["docs/one.md"]


@pytest.mark.parametrize("name", ["", "0" * 40, "no-such-branch", "HEAD:README.md"])
def test_a_name_of_no_commit_leaves_nothing_to_compare_with(
    clone, changed, monkeypatch, name
):
    monkeypatch.setenv("CITEBOARD_TEST_SINCE", name)
    assert changed(clone) is None


def test_a_shallow_clone_has_no_earlier_commit(origin, tmp_path, changed):
    commit(origin, "docs/one.md")
    git(tmp_path, "clone", "--quiet", "--depth", "1", f"file://{origin}", "shallow")
    assert changed(tmp_path / "shallow") is None


def test_main_without_a_remote_repository_has_no_earlier_commit(origin, changed):
    commit(origin, "docs/one.md")
    assert changed(origin) is None


def test_a_branch_without_a_remote_repository_is_compared_with_main(origin, changed):
    git(origin, "switch", "--quiet", "--create", "own")
    assert changed(origin) is None
    commit(origin, "docs/one.md")
    assert changed(origin) == ["docs/one.md"]


def test_a_folder_that_is_no_repository_has_no_earlier_commit(tmp_path, changed):
    assert changed(tmp_path) is None


def test_a_folder_within_another_repository_has_no_earlier_commit(clone, changed):
    assert changed(clone / "scoring") is None


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("scoring", 0),
        ("docs", UNCHANGED),
        ("scoring/metrics/rouge.py", 0),
        ("READ*", UNCHANGED),
    ],
)
def test_the_exit_code_says_whether_a_path_has_changed(clone, path, code):
    commit(clone, "scoring/metrics/rouge.py")
    assert main([path], clone) == code


def test_every_path_counts_as_changed_where_no_earlier_commit_is_known(tmp_path):
    assert main(["docs"], tmp_path) == 0


@pytest.mark.parametrize(
    "path",
    ["scoring", "scoring/", "scoring/metrics", "scoring/metrics/rouge.py", "sc*/*"],
)
def test_a_file_is_below_its_folders_and_the_patterns_of_them(path):
    assert is_touched(["docs/scores.md", "scoring/metrics/rouge.py"], ["tasks", path])


@pytest.mark.parametrize(
    "path",
    [
        "metrics",
        "scor",
        "scoring/*.py",
        "scoring/metrics/rouge.py/more",
        "*.py",
        "docs",
    ],
)
def test_a_file_is_below_no_other_path(path):
    assert not is_touched(["scoring/metrics/rouge.py"], [path])
