"""Which files have changed since a commit that passed every test.

    python scripts/changed_since.py           print them, one a line
    python scripts/changed_since.py PATH...   exit 4 if none of them is or lies below a PATH

A PATH is relative to the root and may be a pattern. CITEBOARD_TEST_SINCE names the
commit to compare with; without it this is the last common commit with the default
branch of the remote repository, or with a local `main` that is not checked out. Files
that are not committed count as changed. Where no such commit is known (no repository,
a shallow clone, a commit that is not in it) the first form exits 3, the second 0.
"""

import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UPSTREAM = ("refs/remotes/origin/HEAD", "refs/remotes/origin/main")
UNKNOWN, UNCHANGED = 3, 4


@dataclass(frozen=True)
class Changed:
    """The commit that was compared with, and the paths of what has changed."""

    commit: str
    paths: frozenset[str]


class UnknownCommitError(LookupError):
    """No commit to compare with is known; the text says why."""


def changed_files(root: Path, since: str | None) -> Changed:
    """Compare with the commit of that name, or with the one to be found."""
    if not _is_root_of_repository(root):
        raise UnknownCommitError("this folder is not a repository of its own")
    commit = _earlier_commit(root) if since is None else _commit(root, since)
    committed = _git(root, "diff", "--name-only", "--no-renames", "-z", commit)
    new = _git(root, "ls-files", "--others", "--exclude-standard", "-z")
    paths = frozenset((committed + new).split("\0")) - {""}
    return Changed(commit, paths)


def is_touched(changed: Iterable[str], paths: Iterable[str]) -> bool:
    """Tell whether a changed file is one of the paths or lies below one."""
    patterns = list(paths)
    return any(_is_below(file, pattern) for file in changed for pattern in patterns)


def _is_below(file: str, pattern: str) -> bool:
    names = file.split("/")
    parts = pattern.strip("/").split("/")
    return len(names) >= len(parts) and all(
        fnmatchcase(name, part) for name, part in zip(names, parts, strict=False)
    )


def _is_root_of_repository(root: Path) -> bool:
    try:
        top = _git(root, "rev-parse", "--show-toplevel")
    except UnknownCommitError:
        return False
    return Path(top.strip()) == root.resolve()


def _commit(root: Path, name: str) -> str:
    try:
        wanted = f"{name}^{{commit}}"
        return _git(root, "rev-parse", "--verify", "--end-of-options", wanted).strip()
    except UnknownCommitError as reason:
        raise UnknownCommitError(f"{name!r} names no commit of this one") from reason


def _earlier_commit(root: Path) -> str:
    if _git(root, "rev-parse", "--is-shallow-repository").strip() != "false":
        raise UnknownCommitError("this clone is shallow")
    for branch in UPSTREAM:
        if commit := _common_commit(root, branch):
            return commit
    commit = _common_commit(root, "refs/heads/main")
    # What is committed to `main` itself need not have passed anything yet.
    if commit in ("", _commit(root, "HEAD")):
        raise UnknownCommitError("no other branch is known that this one comes from")
    return commit


def _common_commit(root: Path, branch: str) -> str:
    try:
        return _git(root, "merge-base", "HEAD", branch).strip()
    except UnknownCommitError:
        return ""


def _git(root: Path, *words: str) -> str:
    try:
        done = subprocess.run(
            ["git", *words], cwd=root, capture_output=True, check=True, text=True
        )
    except (OSError, subprocess.CalledProcessError) as reason:
        raise UnknownCommitError(f"git {words[0]} found none") from reason
    return done.stdout


def main(paths: list[str], root: Path = ROOT) -> int:
    try:
        changed = changed_files(root, os.environ.get("CITEBOARD_TEST_SINCE"))
    except UnknownCommitError as reason:
        print(f"compared with no earlier commit: {reason}", file=sys.stderr)
        return 0 if paths else UNKNOWN
    print(
        f"compared with {changed.commit[:10]}: {len(changed.paths)} files changed",
        file=sys.stderr,
    )
    if paths:
        return 0 if is_touched(changed.paths, paths) else UNCHANGED
    for path in sorted(changed.paths):
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
