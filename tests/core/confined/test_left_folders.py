"""Folders that hostile programs leave: none escapes the count of what is written, and each is removed."""

import os
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from citeboard.core.confined.left_folders import remove_folder
from citeboard.core.confined.limits import ResourceLimits
from citeboard.core.confined.pool import (
    UNCOUNTABLE_FOLDER_MESSAGE,
    ResourceLimitExceeded,
    WrittenFilesMonitor,
)
from citeboard.core.confined.rights import NOBODY_USER_ID

LIMITS = ResourceLimits(
    cpu_seconds=1, wall_seconds=1, memory_mb=1, file_mb=1, total_mb=1, total_files=5000
)


def without_privileges(act: Callable[[Path], None]) -> bool:
    """Call ``act`` with a new folder as an account that modes hold back; True if it succeeded."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setresuid(NOBODY_USER_ID, NOBODY_USER_ID, NOBODY_USER_ID)
            folder = Path(tempfile.mkdtemp(dir="/tmp"))
            act(folder)
            remove_folder(folder)
            code = int(folder.exists())
        except BaseException:  # noqa: BLE001  (the child must not go on with the suite)
            traceback.print_exc()
        os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def nested(folder: Path, depth: int, name: str) -> None:
    before = os.open(".", os.O_RDONLY)
    os.chdir(folder)
    for _level in range(depth):
        os.mkdir(name)  # noqa: PTH102  (a path of all of them would be too long)
        os.chdir(name)
    os.fchdir(before)
    os.close(before)


def closed(folder: Path, mode: int) -> None:
    inner = folder / "inner"
    inner.mkdir()
    (inner / "file").write_bytes(b"0" * 100)
    inner.chmod(mode)


LEFT = {
    "closed to reading": lambda folder: closed(folder, 0o300),
    "closed to searching": lambda folder: closed(folder, 0o400),
    "closed": lambda folder: closed(folder, 0o000),
    "a path that is too long": lambda folder: nested(folder, 30, "x" * 200),
    "folders without end": lambda folder: nested(folder, 3000, "x"),
}


@pytest.mark.parametrize("left", LEFT)
def test_a_folder_that_cannot_be_counted_ends_the_program_and_is_removed(left):
    def act(folder: Path) -> None:
        written = WrittenFilesMonitor(folder, LIMITS)
        LEFT[left](folder)
        with pytest.raises(ResourceLimitExceeded, match=UNCOUNTABLE_FOLDER_MESSAGE):
            written.check()

    assert without_privileges(act)


def test_links_are_removed_and_what_they_name_remains(tmp_path):
    kept = tmp_path / "kept"
    kept.mkdir(mode=0o500)
    (kept / "file").touch()
    folder = tmp_path / "left"
    (folder / "deep" / "deeper").mkdir(parents=True)
    (folder / "link").symlink_to(kept)
    (folder / "deep" / "link").symlink_to(kept)
    (folder / "deep" / "deeper" / "file").touch()
    remove_folder(folder)
    assert not folder.exists()
    assert (kept / "file").exists()
    assert kept.stat().st_mode & 0o777 == 0o500


def test_a_folder_that_is_gone_is_no_error(tmp_path):
    remove_folder(tmp_path / "gone")
    assert list(tmp_path.iterdir()) == []
