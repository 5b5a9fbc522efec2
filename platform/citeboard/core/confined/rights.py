"""What a process gives up before it looks at a stranger's file, as far as the kernel lets it."""

import ctypes
import os
import sys
import sysconfig
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from citeboard.core.confined.landlock import restrict_files
from citeboard.core.confined.namespaces import close_files
from citeboard.core.confined.seccomp import restrict_calls

#: The user that owns nothing, by the number it has wherever there is one.
NOBODY = 65534
#: What the kernel gives; simulations of other kernels leave some of it out.
LANDLOCK, NAMESPACES, SECCOMP = MEANS = ("landlock", "namespaces", "seccomp")
_NO_NEW_PRIVILEGES, _DUMPABLE = 38, 4
_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib")


@dataclass(frozen=True, kw_only=True)
class Rights:
    """What is left to a confined process; all else of the file system, and the network, is closed."""

    readable: Sequence[Path] = field(default_factory=tuple)
    writable: Sequence[Path] = field(default_factory=tuple)
    may_start_processes: bool = False


def give_up_files(rights: Rights, means: Collection[str] = MEANS) -> None:
    _control(_NO_NEW_PRIVILEGES, 1)
    readable = [*interpreter_folders(), *rights.readable]
    if LANDLOCK in means and restrict_files(readable=readable, writable=rights.writable):
        return
    # Scorers read single files and devices, which only Landlock tells apart.
    if NAMESPACES in means and not rights.may_start_processes:
        close_files(readable=readable, writable=rights.writable[0])


def give_up_calls(rights: Rights, means: Collection[str] = MEANS) -> None:
    """Last of all: what sets limits and changes the user is closed then."""
    if SECCOMP in means:
        restrict_calls(may_start_processes=rights.may_start_processes)


def become_nobody() -> None:
    if os.geteuid() != 0:
        return
    try:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    except OSError:
        # A container without such a user: the other measures stand.
        return
    _control(_DUMPABLE, 0)


def interpreter_folders() -> list[Path]:
    named = (sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    return [Path(path) for path in dict.fromkeys([*named, *_LIBRARIES])]


def _control(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
