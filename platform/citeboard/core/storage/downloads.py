"""Send a stored file as a response, as a whole or by range, with only one block of the
file in memory at a time.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping
from typing import IO, Any

from django.core.files.base import File
from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseBase
from django.utils.cache import get_conditional_response
from django.utils.crypto import salted_hmac

from citeboard.core.storage import FolderStorage

_RANGE_PATTERN = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")


class _FileByteRange:
    def __init__(self, file: IO[bytes] | File[Any], length: int) -> None:
        self._file = file
        self._left = length

    def read(self, size: int) -> bytes:
        content: bytes = self._file.read(min(size, self._left))
        self._left -= len(content)
        return content

    def close(self) -> None:
        self._file.close()


def serve_stored_file(
    request: HttpRequest,
    storage: FolderStorage,
    name: str,
    *,
    filename: str,
    content_type: str,
) -> HttpResponseBase:
    return serve_opened_file(
        request,
        name,
        lambda: storage.open(name),
        filename=filename,
        content_type=content_type,
    )


def serve_opened_file(
    request: HttpRequest,
    name: str,
    open_file: Callable[[], IO[bytes] | File[Any]],
    *,
    filename: str,
    content_type: str,
) -> HttpResponseBase:
    """Send the file that ``open_file`` returns as a response.

    Files with equal ``name`` must have equal content, because the ETag is a digest of
    ``name``.
    """
    # File names may contain digests of gold (reference answers).
    # Clients cannot learn digests of gold from the ETag, an HMAC of the file name.
    named = salted_hmac("citeboard.downloads", name, algorithm="sha256")
    tag = f'"{named.hexdigest()[:32]}"'
    if (unchanged := get_conditional_response(request, etag=tag)) is not None:
        return unchanged
    file = open_file()
    size = file.seek(0, io.SEEK_END)
    span = _parse_byte_range(request.headers, tag, size)
    if span is not None and span[0] >= span[1]:
        file.close()
        return HttpResponse(
            status=416,
            headers={"Content-Range": f"bytes */{size}", "Accept-Ranges": "bytes"},
        )
    start, end = span or (0, size)
    file.seek(start)
    part, code = _FileByteRange(file, end - start), 200 if span is None else 206
    answer = FileResponse(
        part,
        as_attachment=True,
        filename=filename,
        content_type=content_type,
        status=code,
    )
    answer.block_size = 1 << 16
    answer["Content-Length"] = str(end - start)
    answer["Accept-Ranges"] = "bytes"
    answer["ETag"] = tag
    if span is not None:
        answer["Content-Range"] = f"bytes {start}-{end - 1}/{size}"
    return answer


def _parse_byte_range(
    headers: Mapping[str, str], tag: str, size: int
) -> tuple[int, int] | None:
    match = _RANGE_PATTERN.fullmatch(headers.get("Range", "").strip())
    if (
        match is None
        or match.group() == "bytes=-"
        or headers.get("If-Range", tag) != tag
    ):
        return None
    first, last = match.groups()
    if not first:
        return max(0, size - int(last)), size
    if last and int(last) < int(first):
        return None
    return int(first), min(size, int(last) + 1) if last else size
