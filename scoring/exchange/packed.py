"""Many files as one archive."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterable
from unicodedata import normalize

from tasks.gold.archive_writing import NO_TIME

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def packed(files: Iterable[tuple[str, str | bytes]]) -> bytes:
    """The same bytes whenever they are the same files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in files:
            archive.writestr(zipfile.ZipInfo(name, NO_TIME), content, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def file_name(text: str) -> str:
    """A name of people's choosing as one part of a path.

    >>> file_name("../Ünder water, v2")
    'Under-water-v2'
    """
    plain = normalize("NFKD", text).encode("ascii", "ignore").decode()
    return _UNSAFE.sub("-", plain).strip("-.") or "system"
