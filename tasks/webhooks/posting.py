"""One request to the machine that was looked up, with its signature; redirects are not followed."""

from __future__ import annotations

import hashlib
import hmac
import http.client
import json
import socket
import ssl
import threading
from contextlib import suppress
from typing import Any

from tasks.webhooks.addresses import Target

#: Seconds that a request may take in all, however slowly the other side sends.
TIMEOUT = 10
SIGNATURE, TIMESTAMP = "Citeboard-Signature", "Citeboard-Timestamp"


def signature_of(secret: str, timestamp: int, body: bytes) -> str:
    """HMAC-SHA256 of the timestamp, a full stop and the body, in hexadecimal."""
    signed = f"{timestamp}.".encode() + body
    return f"sha256={hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()}"


def body_of(payload: dict[str, Any]) -> bytes:
    return json.dumps(payload, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def post(target: Target, *, body: bytes, secret: str, timestamp: int, delivery: int) -> int:
    """The status of the answer, whose body is not read. Raises OSError or HTTPException."""
    connection = _Pinned(target)
    limit = threading.Timer(TIMEOUT, connection.cut)
    limit.daemon = True
    headers = {
        "Host": target.host if target.port in (80, 443) else f"{target.host}:{target.port}",
        "Content-Type": "application/json",
        "User-Agent": "Citeboard",
        "Citeboard-Delivery": str(delivery),
        TIMESTAMP: str(timestamp),
        SIGNATURE: signature_of(secret, timestamp, body),
    }
    limit.start()
    try:
        connection.request("POST", target.path, body=body, headers=headers)
        return connection.getresponse().status
    finally:
        limit.cancel()
        connection.close()


class _Pinned(http.client.HTTPConnection):
    """Connects to the number that was checked; the name counts for the certificate alone."""

    def __init__(self, target: Target) -> None:
        super().__init__(target.host, target.port, timeout=TIMEOUT)
        self.target = target

    def connect(self) -> None:
        self.sock = socket.create_connection((self.target.number, self.target.port), timeout=TIMEOUT)
        if self.target.scheme == "https":
            context = ssl.create_default_context()
            self.sock = context.wrap_socket(self.sock, server_hostname=self.target.host)

    def cut(self) -> None:
        """Whoever waits on it meets its end."""
        if self.sock is not None:
            with suppress(OSError):
                self.sock.shutdown(socket.SHUT_RDWR)
