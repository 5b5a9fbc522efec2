"""Seccomp: a process takes system calls away from itself: all but a few, or those that reach others."""

import ctypes
import errno
import os
import sys

_SET_SECCOMP, _MODE_FILTER = 22, 2
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER_AT, _ARCHITECTURE_AT = 0, 4
_ALLOW, _KILL_PROCESS = 0x7FFF0000, 0x80000000
_REFUSE = 0x00050000 | errno.EPERM
_X32 = 0x40000000

_ARCHITECTURES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}

#: Numbers on x86_64 and on aarch64; None where the architecture has no such call.
_Calls = dict[str, tuple[int | None, int | None]]
_NETWORK: _Calls = {
    "socket": (41, 198),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
}
_OTHERS: _Calls = {
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
}
_SYSTEM: _Calls = {
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
}
#: Memory and messages that processes share by name, System V's and POSIX's.
_SHARED: _Calls = {
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
}
_REFUSED = _NETWORK | _OTHERS | _SYSTEM | _SHARED
#: What is left to a process that only reads files and computes: on x86_64, and on aarch64.
_READING = (
    # Files that are open or can be opened, and their folders.
    (*range(9), *range(16, 23), 32, 33, 40, *range(72, 85), 87, 89, 90, 91, 95, 137, 138, 217, 221, 257, 258,
     262, 263, 264, 267, 268, 269, 280, 285, 292, 293, 316, 326, 332, 436, 437, 439),
    (17, 23, 24, 25, 29, 32, 34, 35, 38, *range(43, 51), 52, 53, 56, 57, 59, *range(61, 69), 71, 78, 79, 80,
     82, 83, 88, 166, 223, 276, 285, 291, 436, 437, 439),
), (
    # Memory, signals to itself, waiting, clocks, chance, what it is and may use, and its end.
    (*range(9, 16), 23, 24, 25, 26, 27, 28, 34, 35, 39, 60, 63, *range(96, 101), 102, 104, 107, 108, 110, 127,
     128, 130, 131, 140, 158, 186, 202, 204, 218, 219, 228, 229, 230, 231, 270, 271, 273, 302, 318, 324, 334),
    (72, 73, 93, 94, 96, 98, 99, 101, 113, 114, 115, 123, 124, 128, *range(132, 138), 139, 141, 153, 160, 163,
     165, 169, *range(172, 180), 214, 215, 216, 222, 226, 227, 232, 233, 261, 278, 283, 293),
)  # fmt: skip


class _Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_uint16),
        ("if_true", ctypes.c_uint8),
        ("if_false", ctypes.c_uint8),
        ("value", ctypes.c_uint32),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("instructions", ctypes.POINTER(_Instruction)))


def is_known() -> bool:
    return sys.platform == "linux" and os.uname().machine in _ARCHITECTURES


def restrict_calls(*, may_start_processes: bool) -> bool:
    """Leave what reading files takes; where processes may be started, refuse what reaches network and system.

    False where the kernel cannot. The process must have given up gaining privileges (`PR_SET_NO_NEW_PRIVS`).
    """
    if not is_known():
        return False
    architecture, column = _ARCHITECTURES[os.uname().machine]
    if may_start_processes:
        numbers = [number for numbers in _REFUSED.values() if (number := numbers[column]) is not None]
        otherwise, if_named = _ALLOW, _REFUSE
    else:
        numbers = [number for group in _READING for number in group[column]]
        otherwise, if_named = _REFUSE, _ALLOW
    # A jump counts the instructions it leaves out; the last two are for what is not named and what is.
    instructions = [
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL_PROCESS),
        (_LOAD, 0, 0, _NUMBER_AT),
        (_AT_LEAST, 0, 1, _X32),
        (_RETURN, 0, 0, _REFUSE),
        *((_EQUAL, len(numbers) - place, 0, number) for place, number in enumerate(numbers)),
        (_RETURN, 0, 0, otherwise),
        (_RETURN, 0, 0, if_named),
    ]
    rows = (_Instruction * len(instructions))(*(_Instruction(*row) for row in instructions))
    program = _Program(len(rows), rows)
    libc = ctypes.CDLL(None, use_errno=True)
    return bool(libc.prctl(_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program), 0, 0) == 0)
