"""A file cache for arrays.

The name of a cache file is a digest of the inputs from which the arrays were computed.
CITEBOARD_CACHE_DIR sets the folder. The default cache folder is `citeboard` in the
user's cache folder. Cached files can be removed at any time. If the cache exceeds
CITEBOARD_CACHE_MB megabytes, the least recently used files are removed.
"""

import hashlib
import os
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

DEFAULT_CACHE_MEGABYTES = 4096


def compute_digest_of_texts(parts: Iterable[str]) -> str:
    """Return a digest of a list of texts. Two lists that differ only in the boundaries
    between texts have different digests.
    """
    digest = hashlib.sha256()
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "big"))
        digest.update(encoded)
    return digest.hexdigest()


def folder() -> Path:
    if named := os.environ.get("CITEBOARD_CACHE_DIR"):
        return Path(named)
    return (
        Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "citeboard"
    )


def load_cached_arrays(kind: str, digest: str) -> dict[str, NDArray[Any]] | None:
    """Return the cached arrays, or None if the file is missing or damaged."""
    path = folder() / kind / f"{digest}.npz"
    try:
        # The file is opened here, because NumPy does not close damaged archives.
        with path.open("rb") as opened, np.load(opened) as file:
            arrays = {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile):
        return None
    with suppress(OSError):
        os.utime(path)
    return arrays


def cache_arrays(kind: str, digest: str, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a cache file atomically. Errors of the file system, such as a full disk,
    are ignored.
    """
    target = folder() / kind
    with suppress(OSError):
        target.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target)
        try:
            with os.fdopen(handle, "wb") as file:
                np.savez(file, **arrays)  # type: ignore[arg-type]
            Path(name).replace(target / f"{digest}.npz")
        finally:
            Path(name).unlink(missing_ok=True)
        megabytes = os.environ.get("CITEBOARD_CACHE_MB", "")
        room = (
            int(megabytes) if megabytes.isdecimal() else DEFAULT_CACHE_MEGABYTES
        ) << 20
        by_use = sorted(
            (-(status := path.stat()).st_mtime, status.st_size, path)
            for path in target.glob("*.npz")
        )
        for _, size, path in by_use:
            room -= size
            if room < 0:
                path.unlink()
