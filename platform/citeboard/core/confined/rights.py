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

_PRCTL_SET_SECCOMP, _SECCOMP_MODE_FILTER = 22, 2
_BPF_LOAD_WORD, _BPF_JUMP_IF_EQUAL, _BPF_JUMP_IF_AT_LEAST, _BPF_RETURN = (
    0x20,
    0x15,
    0x35,
    0x06,
)
_CALL_NUMBER_OFFSET, _ARCHITECTURE_OFFSET = 0, 4
_SECCOMP_RETURN_ALLOW, _SECCOMP_RETURN_KILL_PROCESS = 0x7FFF0000, 0x80000000
_SECCOMP_RETURN_EPERM = 0x00050000 | errno.EPERM
_X32_SYSTEM_CALL_BIT = 0x40000000

_AUDIT_CODES_BY_MACHINE = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}

#: _REFUSED_SYSTEM_CALL_NUMBERS maps forbidden system calls to numbers on x86_64 and aarch64.
_REFUSED_SYSTEM_CALL_NUMBERS = {
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
_PRLIMIT_CALL_NUMBERS = (302, 261)
#: The calls in _ALLOWED_SYSTEM_CALL_NUMBERS suffice for a process that reads files and computes.
#: Each group lists numbers of system calls, first on x86_64 and then on aarch64.
_ALLOWED_SYSTEM_CALL_NUMBERS = (
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


class _SeccompInstruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_uint16),
        ("if_true", ctypes.c_uint8),
        ("if_false", ctypes.c_uint8),
        ("value", ctypes.c_uint32),
    )


class _SeccompProgram(ctypes.Structure):
    _fields_ = (
        ("length", ctypes.c_uint16),
        ("instructions", ctypes.POINTER(_SeccompInstruction)),
    )


def has_system_call_filter() -> bool:
    return sys.platform == "linux" and os.uname().machine in _AUDIT_CODES_BY_MACHINE


def install_system_call_filter(
    *, may_start_processes: bool, may_set_limits: bool = True
) -> bool:
    """Install a seccomp filter of system calls, or return False without kernel support.

    With ``may_start_processes`` the filter refuses only dangerous calls. Without
    ``may_start_processes`` the filter allows only calls that read files and compute. A
    process can never set the limits of other processes. With ``may_set_limits``, a
    process can set its own limits.
    """
    if not has_system_call_filter():
        return False
    architecture, column = _AUDIT_CODES_BY_MACHINE[os.uname().machine]
    if may_start_processes:
        numbers = [numbers[column] for numbers in _REFUSED_SYSTEM_CALL_NUMBERS.values()]
        otherwise, if_named = _SECCOMP_RETURN_ALLOW, _SECCOMP_RETURN_EPERM
    else:
        numbers = [
            number for group in _ALLOWED_SYSTEM_CALL_NUMBERS for number in group[column]
        ]
        otherwise, if_named = _SECCOMP_RETURN_EPERM, _SECCOMP_RETURN_ALLOW
    # The target of a jump instruction is the number of skipped instructions.
    # The last two instructions return the results for unlisted and listed system calls.
    instructions = [
        (_BPF_LOAD_WORD, 0, 0, _ARCHITECTURE_OFFSET),
        (_BPF_JUMP_IF_EQUAL, 1, 0, architecture),
        (_BPF_RETURN, 0, 0, _SECCOMP_RETURN_KILL_PROCESS),
        (_BPF_LOAD_WORD, 0, 0, _CALL_NUMBER_OFFSET),
        (_BPF_JUMP_IF_AT_LEAST, 0, 1, _X32_SYSTEM_CALL_BIT),
        (_BPF_RETURN, 0, 0, _SECCOMP_RETURN_EPERM),
        *_build_prlimit_instructions(
            _PRLIMIT_CALL_NUMBERS[column], may_set_limits=may_set_limits
        ),
        *(
            (_BPF_JUMP_IF_EQUAL, len(numbers) - index, 0, number)
            for index, number in enumerate(numbers)
        ),
        (_BPF_RETURN, 0, 0, otherwise),
        (_BPF_RETURN, 0, 0, if_named),
    ]
    rows = (_SeccompInstruction * len(instructions))(
        *(_SeccompInstruction(*row) for row in instructions)
    )
    program = _SeccompProgram(len(rows), rows)
    libc = ctypes.CDLL(None, use_errno=True)
    return bool(
        libc.prctl(
            _PRCTL_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0
        )
        == 0
    )


def _build_prlimit_instructions(
    number: int, *, may_set_limits: bool
) -> list[tuple[int, ...]]:
    """Return the filter instructions for the system call ``prlimit64``.

    In a call, the process id 0 means the calling process, and the address 0 of the new
    limits means that the call sets no limits.
    """
    zeros = [_seccomp_argument_offset(0)]
    if not may_set_limits:
        zeros += [_seccomp_argument_offset(2), _seccomp_argument_offset(2) + 4]
    checks = [
        instruction
        for place in zeros
        for instruction in (
            (_BPF_LOAD_WORD, 0, 0, place),
            (_BPF_JUMP_IF_EQUAL, 1, 0, 0),
            (_BPF_RETURN, 0, 0, _SECCOMP_RETURN_EPERM),
        )
    ]
    allowed = [*checks, (_BPF_RETURN, 0, 0, _SECCOMP_RETURN_ALLOW)]
    return [(_BPF_JUMP_IF_EQUAL, 0, len(allowed), number), *allowed]


def _seccomp_argument_offset(place: int) -> int:
    return 16 + 8 * place


#: Landlock's system calls have the same numbers on every architecture.
_LANDLOCK_CREATE_RULESET_CALL, _LANDLOCK_ADD_RULE_CALL, _LANDLOCK_RESTRICT_SELF_CALL = (
    444,
    445,
    446,
)
_LANDLOCK_VERSION_FLAG, _LANDLOCK_PATH_BENEATH_RULE = 1, 1

_EXECUTE_RIGHT, _WRITE_FILE_RIGHT, _READ_FILE_RIGHT, _READ_DIR_RIGHT = (
    1 << bit for bit in range(4)
)
_TRUNCATE_RIGHT, _IOCTL_DEVICE_RIGHT = 1 << 14, 1 << 15
#: Each version of Landlock's interface has a number of file access rights.
_FILE_RIGHT_COUNTS_BY_LANDLOCK = {1: 13, 2: 14, 3: 15, 4: 15}
_NEWEST_FILE_RIGHT_COUNT = 16
_LANDLOCK_READ_RIGHTS = _EXECUTE_RIGHT | _READ_FILE_RIGHT | _READ_DIR_RIGHT
_LANDLOCK_SINGLE_FILE_RIGHTS = (
    _EXECUTE_RIGHT
    | _WRITE_FILE_RIGHT
    | _READ_FILE_RIGHT
    | _TRUNCATE_RIGHT
    | _IOCTL_DEVICE_RIGHT
)
_ALL_TCP_RIGHTS, _ALL_LANDLOCK_SCOPES = 0b11, 0b11
_TCP_SINCE_LANDLOCK_VERSION, _SCOPES_SINCE_LANDLOCK_VERSION = 4, 6


class _LandlockRuleset(ctypes.Structure):
    _fields_ = (
        ("files", ctypes.c_uint64),
        ("tcp", ctypes.c_uint64),
        ("scopes", ctypes.c_uint64),
    )


class _LandlockPathRule(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def find_landlock_version() -> int:
    if sys.platform != "linux":
        return 0
    number: int = _load_libc().syscall(
        _LANDLOCK_CREATE_RULESET_CALL, None, ctypes.c_size_t(0), _LANDLOCK_VERSION_FLAG
    )
    return max(0, number)


def apply_landlock_rules(*, readable: Iterable[Path], writable: Iterable[Path]) -> bool:
    """Restrict the process by Landlock to these files and folders, and refuse TCP.

    Returns False if the kernel does not support Landlock.

    Landlock needs no privilege. Landlock restricts files from Linux 5.13 on, TCP from
    6.7 and signals from 6.12. The restrictions are permanent and apply to all child
    processes. The manual page `landlock(7)` describes Landlock.
    """
    number = find_landlock_version()
    if not number:
        return False
    rights = (
        1 << _FILE_RIGHT_COUNTS_BY_LANDLOCK.get(number, _NEWEST_FILE_RIGHT_COUNT)
    ) - 1
    ruleset = _LandlockRuleset(
        rights,
        _ALL_TCP_RIGHTS if number >= _TCP_SINCE_LANDLOCK_VERSION else 0,
        _ALL_LANDLOCK_SCOPES if number >= _SCOPES_SINCE_LANDLOCK_VERSION else 0,
    )
    size = (
        24
        if number >= _SCOPES_SINCE_LANDLOCK_VERSION
        else 16
        if number >= _TCP_SINCE_LANDLOCK_VERSION
        else 8
    )
    rules = _load_libc().syscall(
        _LANDLOCK_CREATE_RULESET_CALL, ctypes.byref(ruleset), ctypes.c_size_t(size), 0
    )
    if rules < 0:
        return False
    try:
        for paths, allowed in (
            (readable, _LANDLOCK_READ_RIGHTS & rights),
            (writable, rights & ~_EXECUTE_RIGHT),
        ):
            for path in paths:
                _add_landlock_path_rule(rules, path, allowed)
        return bool(_load_libc().syscall(_LANDLOCK_RESTRICT_SELF_CALL, rules, 0) == 0)
    finally:
        os.close(rules)


def _add_landlock_path_rule(rules: int, path: Path, allowed: int) -> None:
    try:
        parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        rule = _LandlockPathRule(
            allowed if path.is_dir() else allowed & _LANDLOCK_SINGLE_FILE_RIGHTS, parent
        )
        if (
            _load_libc().syscall(
                _LANDLOCK_ADD_RULE_CALL,
                rules,
                _LANDLOCK_PATH_BENEATH_RULE,
                ctypes.byref(rule),
                0,
            )
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
#: Tests pass a subset of CONFINEMENT_MECHANISMS to simulate kernels without some mechanisms.
LANDLOCK, NAMESPACES, SECCOMP = CONFINEMENT_MECHANISMS = (
    "landlock",
    "namespaces",
    "seccomp",
)
_PRCTL_SET_NO_NEW_PRIVILEGES, _PRCTL_SET_DUMPABLE = 38, 4
_SYSTEM_LIBRARY_FOLDERS = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib")


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


def restrict_file_access(
    rights: SandboxRights, means: Collection[str] = CONFINEMENT_MECHANISMS
) -> None:
    _call_prctl(_PRCTL_SET_NO_NEW_PRIVILEGES, 1)
    named = (
        sysconfig.get_path(name)
        for name in ("stdlib", "platstdlib", "purelib", "platlib")
    )
    readable = [
        *[Path(path) for path in dict.fromkeys([*named, *_SYSTEM_LIBRARY_FOLDERS])],
        *rights.readable,
    ]
    if LANDLOCK in means and apply_landlock_rules(
        readable=readable, writable=rights.writable
    ):
        return
    # Only Landlock can allow scorers to start processes and to open single devices.
    if NAMESPACES in means and not rights.may_start_processes:
        hide_other_folders(readable=readable, writable=rights.writable[0])


def filter_system_calls(
    rights: SandboxRights, means: Collection[str] = CONFINEMENT_MECHANISMS
) -> None:
    """Install the filter of system calls in this process, as ``rights`` requires.

    Call this function last, because the kernel may then refuse the calls that set
    limits and change the user.
    """
    if SECCOMP in means:
        install_system_call_filter(
            may_start_processes=rights.may_start_processes,
            may_set_limits=rights.may_set_limits,
        )


def switch_to_nobody_user() -> None:
    if os.geteuid() != 0:
        return
    try:
        os.setgroups([])
        os.setresgid(NOBODY_USER_ID, NOBODY_USER_ID, NOBODY_USER_ID)
        os.setresuid(NOBODY_USER_ID, NOBODY_USER_ID, NOBODY_USER_ID)
    except OSError:
        # A container may lack the user NOBODY_USER_ID, but the other restrictions still apply.
        return
    _call_prctl(_PRCTL_SET_DUMPABLE, 0)


def _call_prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


_CLONE_NEW_USER_NAMESPACE, _CLONE_NEW_MOUNT_NAMESPACE = 0x10000000, 0x00020000
(
    _MOUNT_READ_ONLY,
    _MOUNT_NO_SUID,
    _MOUNT_NO_DEVICES,
    _MOUNT_REMOUNT,
    _MOUNT_BIND,
    _MOUNT_RECURSIVE,
    _MOUNT_PRIVATE,
) = (
    1,
    2,
    4,
    32,
    4096,
    16384,
    1 << 18,
)
_UMOUNT_DETACH_FLAG = 2
_PIVOT_ROOT_CALL_NUMBERS = dict(
    zip(
        _AUDIT_CODES_BY_MACHINE, _REFUSED_SYSTEM_CALL_NUMBERS["pivot_root"], strict=True
    )
)
_NEW_ROOT_FOLDER_NAME, _OLD_ROOT_FOLDER_NAME = ".root", ".before"


def _unshare_mounts(libc: ctypes.CDLL) -> bool:
    """Enter a new mount namespace, or return False if the kernel refuses.

    A process without the privilege for mounts also enters a new user namespace.
    """
    user, group = os.geteuid(), os.getegid()
    if libc.unshare(_CLONE_NEW_MOUNT_NAMESPACE) == 0:
        return True
    if libc.unshare(_CLONE_NEW_USER_NAMESPACE | _CLONE_NEW_MOUNT_NAMESPACE) != 0:
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
    (root / _OLD_ROOT_FOLDER_NAME).mkdir()
    if (
        libc.syscall(
            pivot_root, os.fsencode(root), os.fsencode(root / _OLD_ROOT_FOLDER_NAME)
        )
        != 0
    ):
        raise OSError(ctypes.get_errno(), "pivot_root")
    os.chdir("/")
    if libc.umount2(os.fsencode(f"/{_OLD_ROOT_FOLDER_NAME}"), _UMOUNT_DETACH_FLAG) != 0:
        raise OSError(ctypes.get_errno(), "umount2")
    Path(f"/{_OLD_ROOT_FOLDER_NAME}").rmdir()


def hide_other_folders(*, readable: Iterable[Path], writable: Path) -> bool:
    """Hide all folders except ``readable`` and ``writable`` from this process.

    ``readable`` folders become read-only, and ``writable`` becomes the working folder.
    Returns False if the kernel refuses namespaces.
    """
    pivot_root = (
        _PIVOT_ROOT_CALL_NUMBERS.get(os.uname().machine)
        if sys.platform == "linux"
        else None
    )
    if pivot_root is None:
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    own = writable.resolve()
    if not _unshare_mounts(libc):
        return False

    def call_mount(source: str, target: Path, kind: str | None, flags: int) -> None:
        given = (
            source.encode(),
            os.fsencode(target),
            kind and kind.encode(),
            ctypes.c_ulong(flags),
            None,
        )
        if libc.mount(*given) != 0:
            raise OSError(ctypes.get_errno(), "mount", str(target))

    call_mount("none", Path("/"), None, _MOUNT_RECURSIVE | _MOUNT_PRIVATE)
    root = own / _NEW_ROOT_FOLDER_NAME
    root.mkdir()
    # The mounted file system is visible only in the new namespace.
    call_mount("none", root, "tmpfs", _MOUNT_NO_SUID | _MOUNT_NO_DEVICES)
    for path in dict.fromkeys(
        [*(folder.resolve() for folder in readable if folder.is_dir()), own]
    ):
        target = root / path.relative_to("/")
        target.mkdir(parents=True, exist_ok=True)
        call_mount(str(path), target, None, _MOUNT_BIND)
        if path != own:
            # An unprivileged process may not clear flags such as `nosuid` of a mount.
            flags = os.statvfs(target).f_flag & (
                _MOUNT_NO_SUID | _MOUNT_NO_DEVICES | 8 | 1024 | 2048
            )
            call_mount(
                "none",
                target,
                None,
                _MOUNT_BIND
                | _MOUNT_REMOUNT
                | _MOUNT_READ_ONLY
                | _MOUNT_NO_SUID
                | flags,
            )
    for link in (Path("/lib"), Path("/lib64")):
        if link.is_symlink():
            with suppress(FileExistsError):
                (root / link.name).symlink_to(link.readlink())
    _change_root(libc, pivot_root, root)
    os.chdir(own)
    return True
