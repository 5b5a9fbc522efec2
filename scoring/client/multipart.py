"""A form with one file as the body of a request, read from disk while it is sent."""

from __future__ import annotations

import io
import uuid
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from scoring.offline.terminal import Done


class MultipartFile:
    """What `http.client` reads; ``length`` is that of the whole body. Each reading says how far it is."""

    def __init__(
        self,
        fields: Mapping[str, str],
        name: str,
        path: Path,
        moved: Done,
        small: Mapping[str, Path] | None = None,
    ) -> None:
        """``small`` are files by their field, which are read at once and sent before the large one."""
        boundary = uuid.uuid4().hex
        self.content_type = f"multipart/form-data; boundary={boundary}"
        head = "".join(
            f'--{boundary}\r\nContent-Disposition: form-data; name="{field}"\r\n\r\n{value}\r\n'
            for field, value in fields.items()
        )
        tail = f"\r\n--{boundary}--\r\n"
        begin = head.encode() + b"".join(
            _head_of_file(boundary, field, own) + own.read_bytes() + b"\r\n"
            for field, own in (small or {}).items()
        )
        begin += _head_of_file(boundary, name, path)
        self._parts: list[IO[bytes]] = [
            io.BytesIO(begin),
            path.open("rb"),
            io.BytesIO(tail.encode()),
        ]
        self.length = len(begin) + path.stat().st_size + len(tail.encode())
        self._moved, self._sent = moved, 0

    def read(self, size: int = -1) -> bytes:
        for part in self._parts:
            if found := part.read(size):
                self._sent += len(found)
                self._moved(self._sent)
                return found
        return b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._parts[1].close()


def _head_of_file(boundary: str, name: str, path: Path) -> bytes:
    quoted = path.name.replace("\\", "\\\\").replace('"', '\\"').replace("\r", " ").replace("\n", " ")
    return (
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"; filename="{quoted}"\r\n'
        "Content-Type: application/octet-stream\r\n\r\n"
    ).encode()
