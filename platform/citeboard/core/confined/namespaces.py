"""A file system of its own: where the kernel has no Landlock, a process sees but the folders it names.

In a new user and mount namespace they are bound, read only but for its own, into an empty file system that
becomes its root. The kernel needs no privilege for it where it lets users make namespaces.
"""

import ctypes
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_NEW_USER, _NEW_MOUNTS = 0x10000000, 0x00020000
_READ_ONLY, _NO_SUID, _NO_DEVICES, _REMOUNT, _BIND, _RECURSIVE, _PRIVATE = 1, 2, 4, 32, 4096, 16384, 1 << 18
_DETACH = 2
#: Numbers of pivot_root.
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_ROOT, _BEFORE = ".root", ".before"


def close_files(*, readable: Iterable[Path], writable: Path) -> bool:
    """Leave these folders, and ``writable``, the present one; False where the kernel makes no namespaces."""
    pivot_root = _PIVOT_ROOT.get(os.uname().machine) if sys.platform == "linux" else None
    if pivot_root is None:
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    user, group, own = os.geteuid(), os.getegid(), writable.resolve()
    if libc.unshare(_NEW_MOUNTS) != 0:
        if libc.unshare(_NEW_USER | _NEW_MOUNTS) != 0:
            return False
        for name, content in (
            ("setgroups", "deny"),
            ("uid_map", f"{user} {user} 1"),
            ("gid_map", f"{group} {group} 1"),
        ):
            Path(f"/proc/self/{name}").write_text(content)

    def mount(source: str, target: Path, kind: str | None, flags: int) -> None:
        given = (source.encode(), os.fsencode(target), kind and kind.encode(), ctypes.c_ulong(flags), None)
        if libc.mount(*given) != 0:
            raise OSError(ctypes.get_errno(), "mount", str(target))

    mount("none", Path("/"), None, _RECURSIVE | _PRIVATE)
    root = own / _ROOT
    root.mkdir()
    # In here the folder is an empty one; outside, nothing of it is seen.
    mount("none", root, "tmpfs", _NO_SUID | _NO_DEVICES)
    for path in dict.fromkeys([*(folder.resolve() for folder in readable if folder.is_dir()), own]):
        target = root / path.relative_to("/")
        target.mkdir(parents=True, exist_ok=True)
        mount(str(path), target, None, _BIND)
        if path != own:
            mount("none", target, None, _BIND | _REMOUNT | _READ_ONLY | _NO_SUID | _flags_of(target))
    for link in (Path("/lib"), Path("/lib64")):
        if link.is_symlink():
            with suppress(FileExistsError):
                (root / link.name).symlink_to(link.readlink())
    (root / _BEFORE).mkdir()
    if libc.syscall(pivot_root, os.fsencode(root), os.fsencode(root / _BEFORE)) != 0:
        raise OSError(ctypes.get_errno(), "pivot_root")
    os.chdir("/")
    if libc.umount2(os.fsencode(f"/{_BEFORE}"), _DETACH) != 0:
        raise OSError(ctypes.get_errno(), "umount2")
    Path(f"/{_BEFORE}").rmdir()
    os.chdir(own)
    return True


def _flags_of(path: Path) -> int:
    """What a user may not take away from a mount that was there before."""
    return os.statvfs(path).f_flag & (_NO_SUID | _NO_DEVICES | 8 | 1024 | 2048)
