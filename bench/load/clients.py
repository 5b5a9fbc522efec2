"""People and programs that ask a site, and what each was answered after how long."""

from __future__ import annotations

import http.client
import secrets
import statistics
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

#: What a site under load may answer, besides what was asked for.
IN_GOOD_ORDER = {409, 422, 429, 503}
#: Times that somebody comes back who was asked to.
MAX_RETRIES = 60
PATIENCE = 120.0  # seconds that somebody waits for an answer


@dataclass(frozen=True)
class Answer:
    """``status`` is 0 where the connection broke."""

    status: int
    seconds: float
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def retry_after(self) -> float | None:
        said = self.headers.get("retry-after", "")
        return float(said) if said.isdigit() else None


class Client:
    """One connection at a time, new for each request, as many visitors have."""

    def __init__(self, port: int) -> None:
        self._port = port

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        began = time.monotonic()
        connection = http.client.HTTPConnection(
            "127.0.0.1", self._port, timeout=PATIENCE
        )
        try:
            connection.request(method, path, body, dict(headers or {}))
            answer = connection.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException):
            return Answer(0, time.monotonic() - began)
        finally:
            connection.close()
        told = {name.lower(): value for name, value in answer.getheaders()}
        return Answer(answer.status, time.monotonic() - began, told, content)


class Record:
    """What was answered, by what was asked for; threads may write at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seconds: dict[str, list[float]] = defaultdict(list)
        self._statuses: dict[str, Counter[int]] = defaultdict(Counter)
        #: Answers that nobody should get, with what was asked for.
        self.broken: list[str] = []

    def note(self, what: str, answer: Answer, wanted: Collection[int]) -> None:
        is_fine = answer.status in {*wanted, *IN_GOOD_ORDER}
        is_fine = is_fine and (answer.status != 503 or answer.retry_after is not None)
        with self._lock:
            self._seconds[what].append(answer.seconds)
            self._statuses[what][answer.status] += 1
            if not is_fine:
                self.broken.append(f"{what}: {answer.status} {answer.body[:200]!r}")

    def count(self, what: str, *statuses: int) -> int:
        return sum(self._statuses[what][status] for status in statuses)

    def show(self) -> None:
        print(
            f"{'asked for':<22} {'answers':>7} {'p50':>8} {'p95':>8} {'p99':>8} {'longest':>8}  by status"
        )
        for what in sorted(self._seconds):
            told = ", ".join(
                f"{count:,} × {status}"
                for status, count in sorted(self._statuses[what].items())
            )
            print(
                f"{what:<22} {len(self._seconds[what]):>7,} {shown(self._seconds[what])}  {told}"
            )


def shown(seconds: Sequence[float]) -> str:
    """Median, 95 and 99 of a hundred, and the most, in ms."""
    cuts = (
        statistics.quantiles(seconds, n=100, method="inclusive")
        if len(seconds) > 1
        else [seconds[0]] * 99
    )
    found = (cuts[49], cuts[94], cuts[98], max(seconds))
    return " ".join(f"{1000 * value:>5,.0f} ms" for value in found)


def form_of(
    fields: Mapping[str, str], run: bytes, name: str = "run.jsonl"
) -> tuple[bytes, str]:
    """A form with a run as a browser sends it, and its content type."""
    boundary = secrets.token_hex(16)
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields.items()
    ]
    file = f'Content-Disposition: form-data; name="run"; filename="{name}"'
    head = f"{''.join(parts)}--{boundary}\r\n{file}\r\n\r\n"
    body = head.encode() + run + f"\r\n--{boundary}--\r\n".encode()
    return body, f"multipart/form-data; boundary={boundary}"


def signed_in(user: Any) -> tuple[str, str]:
    """The cookies of a session: its key, and the secret of its forms."""
    from django.conf import settings
    from django.middleware.csrf import _get_new_csrf_string
    from django.test import Client as Browser

    browser = Browser()
    browser.force_login(user, backend=settings.AUTHENTICATION_BACKENDS[0])
    return browser.cookies["sessionid"].value, _get_new_csrf_string()
