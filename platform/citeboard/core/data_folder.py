"""The data folder with the secret key that a site makes for itself there, and a machine's folder for work."""

import hashlib
import os
import stat
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured
from django.core.management.utils import get_random_secret_key

PARTS = ("files", "incoming", "static")
SHORTEST = 50


def data_folder(path: Path) -> Path:
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        for part in PARTS:
            (path / part).mkdir(mode=0o700, exist_ok=True)
    except OSError as reason:
        raise ImproperlyConfigured(
            f"CITEBOARD_DATA_DIR: {path} cannot be made a folder ({reason.strerror})"
        ) from reason
    if not os.access(path, os.W_OK | os.X_OK):
        raise ImproperlyConfigured(f"CITEBOARD_DATA_DIR: {path} cannot be written to")
    return path


def default_work_folder(data: Path) -> Path:
    """Of this user and this data folder; not in `/tmp`, which may be memory."""
    digest = hashlib.sha256(str(data).encode()).hexdigest()
    return Path("/var/tmp") / f"citeboard-{os.geteuid()}-{digest[:8]}"  # noqa: S108  (checked when it is used)


def private_folder(path: Path) -> Path:
    """The folder, made if it is missing. Where anybody may make one of its name, it must be our own."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = path.lstat()
    is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077
    if path.parent.stat().st_mode & stat.S_IWOTH and not is_ours:
        raise ImproperlyConfigured(
            f"{path} is not a folder of this user alone, and anybody can make one there; remove it, or name "
            "another folder of this machine in CITEBOARD_WORK_DIR"
        )
    return path


def secret_key_from(path: Path) -> str:
    """The key in the file, made at the first start and readable by its owner alone.

    Site and worker start at the same time: each writes a file of its own and links it to the name, which
    one of them wins, and both read what stands there.
    """
    if not path.exists():
        _make(path)
    key = path.read_text(encoding="ascii").strip()
    if len(key) < SHORTEST:
        raise ImproperlyConfigured(
            f"{path} holds no usable secret key; remove it and a new key is made (everyone signs in anew)"
        )
    return key


def _make(path: Path) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(get_random_secret_key())
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
