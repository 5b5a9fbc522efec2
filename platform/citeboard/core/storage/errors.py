"""What keeps the storage from answering, in the same words for a disk and a bucket."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

#: No room is left, on the disk or for this user.
FULL = (errno.ENOSPC, errno.EDQUOT)


class StorageAway(OSError):
    """The storage does not answer, or refuses; the same may be asked again later."""


class StorageFull(StorageAway):
    """Nothing more can be written."""


class FileMissing(StorageAway, FileNotFoundError):
    """The storage answers and has no file of this name, which a row of the database names."""


@contextmanager
def told(name: str) -> Iterator[None]:
    """Raises one of these for every fault of a storage; ``name`` is that of the file."""
    try:
        yield
    except StorageAway:
        raise
    except FileNotFoundError as reason:
        raise FileMissing(errno.ENOENT, "the storage has no such file", name) from reason
    except OSError as reason:
        kind = StorageFull if reason.errno in FULL else StorageAway
        raise kind(reason.errno or errno.EIO, reason.strerror or str(reason), name) from reason


def words_of(reason: BaseException) -> str:
    """What is wrong, as the beginning of a sentence for everybody."""
    if isinstance(reason, FileMissing):
        return "A file is missing in the storage of the site"
    if isinstance(reason, OSError) and reason.errno in FULL:
        return "The disk of the site is full"
    return "The storage of the site does not answer"
