"""Landlock: a process closes the file system to itself, but for the folders it names.

The kernel needs no privilege for it (Linux 5.13; TCP from 6.7, signals from 6.12). What is restricted cannot
be opened again, and holds for whatever the process starts. See `landlock(7)`.
"""

import ctypes
import os
import sys
from collections.abc import Iterable
from pathlib import Path

#: System calls, the same on every architecture.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION, _PATH_BENEATH = 1, 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = (1 << bit for bit in range(4))
_TRUNCATE, _IOCTL_DEVICE = 1 << 14, 1 << 15
#: The rights of each version of the interface, from the first on: so many bits.
_FILE_BITS = {1: 13, 2: 14, 3: 15, 4: 15}
_LATEST_FILE_BITS = 16
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_FOR_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEVICE
_ALL_TCP, _ALL_SCOPES = 0b11, 0b11
_TCP_SINCE, _SCOPES_SINCE = 4, 6


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("tcp", ctypes.c_uint64), ("scopes", ctypes.c_uint64))


class _PathRule(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def version() -> int:
    if sys.platform != "linux":
        return 0
    number: int = _libc().syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _ASK_VERSION)
    return max(0, number)


def restrict_files(*, readable: Iterable[Path], writable: Iterable[Path]) -> bool:
    """Close everything but these files and folders; False where the kernel cannot. No TCP either.

    The kernel refuses it to a process that could still gain privileges, so `PR_SET_NO_NEW_PRIVS` comes first.
    """
    number = version()
    if not number:
        return False
    rights = (1 << _FILE_BITS.get(number, _LATEST_FILE_BITS)) - 1
    ruleset = _Ruleset(
        rights, _ALL_TCP if number >= _TCP_SINCE else 0, _ALL_SCOPES if number >= _SCOPES_SINCE else 0
    )
    size = 24 if number >= _SCOPES_SINCE else 16 if number >= _TCP_SINCE else 8
    rules = _libc().syscall(_CREATE_RULESET, ctypes.byref(ruleset), ctypes.c_size_t(size), 0)
    if rules < 0:
        return False
    try:
        for paths, allowed in ((readable, _READ & rights), (writable, rights & ~_EXECUTE)):
            for path in paths:
                _allow(rules, path, allowed)
        return bool(_libc().syscall(_RESTRICT_SELF, rules, 0) == 0)
    finally:
        os.close(rules)


def _allow(rules: int, path: Path, allowed: int) -> None:
    try:
        parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        rule = _PathRule(allowed if path.is_dir() else allowed & _FOR_FILES, parent)
        if _libc().syscall(_ADD_RULE, rules, _PATH_BENEATH, ctypes.byref(rule), 0) != 0:
            raise OSError(ctypes.get_errno(), "landlock_add_rule", str(path))
    finally:
        os.close(parent)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
