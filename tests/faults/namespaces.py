"""Containers as far as a kernel gives them without an engine: their own process ids, host name and mounts."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from contextlib import suppress
from functools import cache

import pytest

#: With a user namespace the same works for who is not root.
UNSHARE = (
    "unshare",
    "--pid",
    "--uts",
    "--mount",
    "--ipc",
    "--fork",
    "--kill-child",
    "--mount-proc",
)


@cache
def _command() -> tuple[str, ...]:
    for command in (UNSHARE, (*UNSHARE, "--user", "--map-root-user")):
        with suppress(OSError, subprocess.CalledProcessError):
            subprocess.run([*command, "true"], capture_output=True, check=True)
            return command
    return ()


def in_namespaces(
    command: Sequence[str], *, host: str, own_folder: str = ""
) -> list[str]:
    """The command as it is run there; ``own_folder`` is an empty one that no other container sees.

    The command becomes the first process, as in a container.
    """
    if not _command():
        pytest.skip("this kernel gives no namespaces")
    mount = f"mount -t tmpfs -o mode=700 work {own_folder} && " if own_folder else ""
    return [
        *_command(),
        "sh",
        "-c",
        f'hostname "$0" && {mount}exec "$@"',
        host,
        *command,
    ]
