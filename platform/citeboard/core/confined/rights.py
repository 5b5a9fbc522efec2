"""Confinement of a process before it reads an upload, by the mechanisms that the kernel
supports.
"""

import ctypes
import errno
import os
import sys
import sysconfig
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

_SET_SECCOMP, _MODE_FILTER = 22, 2
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER_AT, _ARCHITECTURE_AT = 0, 4
_ALLOW, _KILL_PROCESS = 0x7FFF0000, 0x80000000
_REFUSE_WITH_EPERM = 0x00050000 | errno.EPERM
_X32_CALL_BIT = 0x40000000

_AUDIT_ARCHITECTURES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}

#: _REFUSED_CALLS maps forbidden system calls to numbers on x86_64 and aarch64.
_REFUSED_CALLS = {
    # Network.
    "socket": (41, 198),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    # Other processes.
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kill": (62, 129),
    "tkill": (200, 130),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "pidfd_send_signal": (424, 424),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    # These refused system calls administer the machine.
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "acct": (163, 89),
    "mount": (165, 40),
    "umount2": (166, 39),
    "swapon": (167, 224),
    "reboot": (169, 142),
    "init_module": (175, 105),
    "delete_module": (176, 106),
    "finit_module": (313, 273),
    "kexec_load": (246, 104),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "unshare": (272, 97),
    "setns": (308, 268),
    "perf_event_open": (298, 241),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "mount_setattr": (442, 442),
    # These system calls use shared memory, semaphores and message queues.
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "semget": (64, 190),
    "semop": (65, 193),
    "semctl": (66, 191),
    "semtimedop": (220, 192),
    "msgget": (68, 186),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    "mq_timedsend": (242, 182),
    "mq_timedreceive": (243, 183),
    "mq_notify": (244, 184),
    "mq_getsetattr": (245, 185),
    # These system calls change the scheduling of processes.
    "setpriority": (141, 140),
    "ioprio_set": (251, 30),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
}
#: The system call prlimit64 has number 302 on x86_64 and 261 on aarch64.
#: A process can read and set limits of other processes of its user with prlimit64.
#: The arguments of prlimit64 are a process id, a resource, and the new and old limits.
_PRLIMIT_NUMBERS = (302, 261)
#: The calls in _ALLOWED_CALLS suffice for a process that reads files and computes.
#: Each group lists numbers of system calls, first on x86_64 and then on aarch64.
_ALLOWED_CALLS = (
    # These system calls serve files and folders.
    (*range(9), *range(16, 23), 32, 33, 40, *range(72, 85), 87, 89, 90, 91, 95, 137,
     138, 217, 221, 257, 258, 262, 263, 264, 267, 268, 269, 280, 285, 292, 293, 316,
     326, 332, 436, 437, 439),
    (17, 23, 24, 25, 29, 32, 34, 35, 38, *range(43, 51), 52, 53, 56, 57, 59,
     *range(61, 69), 71, 78, 79, 80, 82, 83, 88, 166, 223, 276, 285, 291, 436, 437, 439),
), (
    # These system calls serve memory, signals, clocks, limits, waiting and exit.
    (*range(9, 16), 23, 24, 25, 26, 27, 28, 34, 35, 39, 60, 63, *range(96, 101), 102,
     104, 107, 108, 110, 127, 128, 130, 131, 140, 158, 186, 202, 204, 218, 219, 228,
     229, 230, 231, 270, 271, 273, 318, 324, 334),
    (72, 73, 93, 94, 96, 98, 99, 101, 113, 114, 115, 123, 124, 128, *range(132, 138),
     139, 141, 153, 160, 163, 165, 169, *range(172, 180), 214, 215, 216, 222, 226, 227,
     232, 233, 278, 283, 293),
)  # fmt: skip


class _FilterInstruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_uint16),
        ("if_true", ctypes.c_uint8),
        ("if_false", ctypes.c_uint8),
        ("value", ctypes.c_uint32),
    )


class _FilterProgram(ctypes.Structure):
    _fields_ = (
        ("length", ctypes.c_uint16),
        ("instructions", ctypes.POINTER(_FilterInstruction)),
    )


def has_call_filter() -> bool:
    return sys.platform == "linux" and os.uname().machine in _AUDIT_ARCHITECTURES


def install_call_filter(
    *, may_start_processes: bool, may_set_limits: bool = True
) -> bool:
    """Install a seccomp filter of system calls, or return False without kernel support.

    With ``may_start_processes`` the filter refuses only dangerous calls. Without
    ``may_start_processes`` the filter allows only calls that read files and compute. A
    process can never set the limits of other processes. With ``may_set_limits``, a
    process can set its own limits.
    """
    if not has_call_filter():
        return False
    architecture, column = _AUDIT_ARCHITECTURES[os.uname().machine]
    if may_start_processes:
        numbers = [numbers[column] for numbers in _REFUSED_CALLS.values()]
        otherwise, if_named = _ALLOW, _REFUSE_WITH_EPERM
    else:
        numbers = [number for group in _ALLOWED_CALLS for number in group[column]]
        otherwise, if_named = _REFUSE_WITH_EPERM, _ALLOW
    # The target of a jump instruction is the number of skipped instructions.
    # The last two instructions return the results for unlisted and listed system calls.
    instructions = [
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL_PROCESS),
        (_LOAD, 0, 0, _NUMBER_AT),
        (_AT_LEAST, 0, 1, _X32_CALL_BIT),
        (_RETURN, 0, 0, _REFUSE_WITH_EPERM),
        *_prlimit_instructions(_PRLIMIT_NUMBERS[column], may_set_limits=may_set_limits),
        *(
            (_EQUAL, len(numbers) - index, 0, number)
            for index, number in enumerate(numbers)
        ),
        (_RETURN, 0, 0, otherwise),
        (_RETURN, 0, 0, if_named),
    ]
    rows = (_FilterInstruction * len(instructions))(
        *(_FilterInstruction(*row) for row in instructions)
    )
    program = _FilterProgram(len(rows), rows)
    libc = ctypes.CDLL(None, use_errno=True)
    return bool(
        libc.prctl(_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program), 0, 0) == 0
    )


def _prlimit_instructions(
    number: int, *, may_set_limits: bool
) -> list[tuple[int, ...]]:
    """Return the filter instructions for the system call ``prlimit64``.

    In a call, the process id 0 means the calling process, and the address 0 of the new
    limits means that the call sets no limits.
    """
    zeros = [_argument_offset(0)]
    if not may_set_limits:
        zeros += [_argument_offset(2), _argument_offset(2) + 4]
    checks = [
        instruction
        for place in zeros
        for instruction in (
            (_LOAD, 0, 0, place),
            (_EQUAL, 1, 0, 0),
            (_RETURN, 0, 0, _REFUSE_WITH_EPERM),
        )
    ]
    allowed = [*checks, (_RETURN, 0, 0, _ALLOW)]
    return [(_EQUAL, 0, len(allowed), number), *allowed]


def _argument_offset(place: int) -> int:
    return 16 + 8 * place


#: Landlock's system calls have the same numbers on every architecture.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION, _PATH_BENEATH = 1, 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = (1 << bit for bit in range(4))
_TRUNCATE, _IOCTL_DEVICE = 1 << 14, 1 << 15
#: Each version of Landlock's interface has a number of file access rights.
_FILE_RIGHTS_BY_VERSION = {1: 13, 2: 14, 3: 15, 4: 15}
_LATEST_FILE_RIGHTS = 16
_READ_RIGHTS = _EXECUTE | _READ_FILE | _READ_DIR
_SINGLE_FILE_RIGHTS = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEVICE
_ALL_TCP, _ALL_SCOPES = 0b11, 0b11
_TCP_SINCE, _SCOPES_SINCE = 4, 6


class _LandlockRuleset(ctypes.Structure):
    _fields_ = (
        ("files", ctypes.c_uint64),
        ("tcp", ctypes.c_uint64),
        ("scopes", ctypes.c_uint64),
    )


class _LandlockPathRule(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def landlock_version() -> int:
    if sys.platform != "linux":
        return 0
    number: int = _load_libc().syscall(
        _CREATE_RULESET, None, ctypes.c_size_t(0), _ASK_VERSION
    )
    return max(0, number)


def apply_landlock_rules(*, readable: Iterable[Path], writable: Iterable[Path]) -> bool:
    """Restrict the process by Landlock to these files and folders, and refuse TCP.

    Returns False if the kernel does not support Landlock.

    Landlock needs no privilege. Landlock restricts files from Linux 5.13 on, TCP from
    6.7 and signals from 6.12. The restrictions are permanent and apply to all child
    processes. The manual page `landlock(7)` describes Landlock.
    """
    number = landlock_version()
    if not number:
        return False
    rights = (1 << _FILE_RIGHTS_BY_VERSION.get(number, _LATEST_FILE_RIGHTS)) - 1
    ruleset = _LandlockRuleset(
        rights,
        _ALL_TCP if number >= _TCP_SINCE else 0,
        _ALL_SCOPES if number >= _SCOPES_SINCE else 0,
    )
    size = 24 if number >= _SCOPES_SINCE else 16 if number >= _TCP_SINCE else 8
    rules = _load_libc().syscall(
        _CREATE_RULESET, ctypes.byref(ruleset), ctypes.c_size_t(size), 0
    )
    if rules < 0:
        return False
    try:
        for paths, allowed in (
            (readable, _READ_RIGHTS & rights),
            (writable, rights & ~_EXECUTE),
        ):
            for path in paths:
                _add_path_rule(rules, path, allowed)
        return bool(_load_libc().syscall(_RESTRICT_SELF, rules, 0) == 0)
    finally:
        os.close(rules)


def _add_path_rule(rules: int, path: Path, allowed: int) -> None:
    try:
        parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        rule = _LandlockPathRule(
            allowed if path.is_dir() else allowed & _SINGLE_FILE_RIGHTS, parent
        )
        if (
            _load_libc().syscall(_ADD_RULE, rules, _PATH_BENEATH, ctypes.byref(rule), 0)
            != 0
        ):
            raise OSError(ctypes.get_errno(), "landlock_add_rule", str(path))
    finally:
        os.close(parent)


def _load_libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


#: User id of `nobody`.
NOBODY_USER_ID = 65534
#: Kernel mechanisms for confinement.
#: Tests pass a subset of MEANS to simulate kernels without some mechanisms.
LANDLOCK, NAMESPACES, SECCOMP = MEANS = ("landlock", "namespaces", "seccomp")
_NO_NEW_PRIVILEGES, _DUMPABLE = 38, 4
_LIBRARY_FOLDERS = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib")


@dataclass(frozen=True, kw_only=True)
class SandboxRights:
    """Files and folders that a sandboxed process may use.

    The process can use no other files, and no network.
    """

    readable: Sequence[Path] = field(default_factory=tuple)
    writable: Sequence[Path] = field(default_factory=tuple)
    may_start_processes: bool = False
    #: `may_set_limits` is True if the process sets its own limits later.
    may_set_limits: bool = False


def restrict_file_access(rights: SandboxRights, means: Collection[str] = MEANS) -> None:
    _call_prctl(_NO_NEW_PRIVILEGES, 1)
    named = (
        sysconfig.get_path(name)
        for name in ("stdlib", "platstdlib", "purelib", "platlib")
    )
    readable = [
        *[Path(path) for path in dict.fromkeys([*named, *_LIBRARY_FOLDERS])],
        *rights.readable,
    ]
    if LANDLOCK in means and apply_landlock_rules(
        readable=readable, writable=rights.writable
    ):
        return
    # Only Landlock can allow scorers to start processes and to open single devices.
    if NAMESPACES in means and not rights.may_start_processes:
        hide_other_folders(readable=readable, writable=rights.writable[0])


def filter_system_calls(rights: SandboxRights, means: Collection[str] = MEANS) -> None:
    """Install the filter of system calls in this process, as ``rights`` requires.

    Call this function last, because the kernel may then refuse the calls that set
    limits and change the user.
    """
    if SECCOMP in means:
        install_call_filter(
            may_start_processes=rights.may_start_processes,
            may_set_limits=rights.may_set_limits,
        )


def become_nobody() -> None:
    if os.geteuid() != 0:
        return
    try:
        os.setgroups([])
        os.setresgid(NOBODY_USER_ID, NOBODY_USER_ID, NOBODY_USER_ID)
        os.setresuid(NOBODY_USER_ID, NOBODY_USER_ID, NOBODY_USER_ID)
    except OSError:
        # A container may lack the user NOBODY_USER_ID, but the other restrictions still apply.
        return
    _call_prctl(_DUMPABLE, 0)


def _call_prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


_NEW_USER, _NEW_MOUNTS = 0x10000000, 0x00020000
_READ_ONLY, _NO_SUID, _NO_DEVICES, _REMOUNT, _BIND, _RECURSIVE, _PRIVATE = (
    1,
    2,
    4,
    32,
    4096,
    16384,
    1 << 18,
)
_UMOUNT_DETACH = 2
_PIVOT_ROOT_NUMBERS = dict(
    zip(_AUDIT_ARCHITECTURES, _REFUSED_CALLS["pivot_root"], strict=True)
)
_ROOT, _BEFORE = ".root", ".before"


def _unshare_mounts(libc: ctypes.CDLL) -> bool:
    """Enter a new mount namespace, or return False if the kernel refuses.

    A process without the privilege for mounts also enters a new user namespace.
    """
    user, group = os.geteuid(), os.getegid()
    if libc.unshare(_NEW_MOUNTS) == 0:
        return True
    if libc.unshare(_NEW_USER | _NEW_MOUNTS) != 0:
        return False
    maps = {
        "setgroups": "deny",
        "uid_map": f"{user} {user} 1",
        "gid_map": f"{group} {group} 1",
    }
    for name, content in maps.items():
        Path(f"/proc/self/{name}").write_text(content)
    return True


def _change_root(libc: ctypes.CDLL, pivot_root: int, root: Path) -> None:
    """Make the folder ``root`` the root directory, and unmount the previous root."""
    (root / _BEFORE).mkdir()
    if libc.syscall(pivot_root, os.fsencode(root), os.fsencode(root / _BEFORE)) != 0:
        raise OSError(ctypes.get_errno(), "pivot_root")
    os.chdir("/")
    if libc.umount2(os.fsencode(f"/{_BEFORE}"), _UMOUNT_DETACH) != 0:
        raise OSError(ctypes.get_errno(), "umount2")
    Path(f"/{_BEFORE}").rmdir()


def hide_other_folders(*, readable: Iterable[Path], writable: Path) -> bool:
    """Hide all folders except ``readable`` and ``writable`` from this process.

    ``readable`` folders become read-only, and ``writable`` becomes the working folder.
    Returns False if the kernel refuses namespaces.
    """
    pivot_root = (
        _PIVOT_ROOT_NUMBERS.get(os.uname().machine) if sys.platform == "linux" else None
    )
    if pivot_root is None:
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    own = writable.resolve()
    if not _unshare_mounts(libc):
        return False

    def mount(source: str, target: Path, kind: str | None, flags: int) -> None:
        given = (
            source.encode(),
            os.fsencode(target),
            kind and kind.encode(),
            ctypes.c_ulong(flags),
            None,
        )
        if libc.mount(*given) != 0:
            raise OSError(ctypes.get_errno(), "mount", str(target))

    mount("none", Path("/"), None, _RECURSIVE | _PRIVATE)
    root = own / _ROOT
    root.mkdir()
    # The mounted file system is visible only in the new namespace.
    mount("none", root, "tmpfs", _NO_SUID | _NO_DEVICES)
    for path in dict.fromkeys(
        [*(folder.resolve() for folder in readable if folder.is_dir()), own]
    ):
        target = root / path.relative_to("/")
        target.mkdir(parents=True, exist_ok=True)
        mount(str(path), target, None, _BIND)
        if path != own:
            # An unprivileged process may not clear flags such as `nosuid` of a mount.
            flags = os.statvfs(target).f_flag & (
                _NO_SUID | _NO_DEVICES | 8 | 1024 | 2048
            )
            mount(
                "none", target, None, _BIND | _REMOUNT | _READ_ONLY | _NO_SUID | flags
            )
    for link in (Path("/lib"), Path("/lib64")):
        if link.is_symlink():
            with suppress(FileExistsError):
                (root / link.name).symlink_to(link.readlink())
    _change_root(libc, pivot_root, root)
    os.chdir(own)
    return True
