"""Send one prompt to a chat endpoint, read the reply, and repeat failed requests.

The text of a reply is not trusted, because an endpoint could repeat the key or the
prompt. Only a label and two token counts from a reply reach the other packages.
"""

from __future__ import annotations

import email.utils
import json
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal

from scoring.judges.connections import RequestDeadlineWatcher, create_connection_pool
from scoring.judges.declared import ChatJudge
from tasks.types.guarded.json_reader import read_json
from tasks.types.problems import SoftwareUnavailable, convert_to_unavailable

with convert_to_unavailable("urllib3 is not installed, which chat endpoints need"):
    import urllib3

#: The maximum size of a reply in bytes.
MAX_REPLY_BYTES = 1 << 18
#: The maximum number of attempts after temporary faults.
MAX_REQUEST_ATTEMPTS = 4
#: Shortest and longest pause in seconds, where each pause doubles the one before.
FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 1.0, 120.0
#: HTTP statuses after which the endpoint will refuse every further request.
FATAL_STATUS_MESSAGES = {
    401: "the endpoint refuses the key (401)",
    403: "the endpoint refuses the key (403)",
    404: "the endpoint knows no such address or model (404)",
}
RETRIED_STATUS_CODES = frozenset((408, 409, 425, 429, *range(500, 600)))


@dataclass(frozen=True)
class ChatReply:
    """The text and the token counts of an endpoint's reply. A missing or invalid token
    count is None.

    ``charged`` is the number of earlier attempts of the request that may incur costs.
    """

    text: str
    input_tokens: int | None
    output_tokens: int | None
    charged: int = 0


class ChatRequestFailed(Exception):
    """A request to a chat endpoint failed.

    ``cause`` contains no text from the endpoint. ``charged`` is the number of attempts
    at the request that the endpoint may charge for.
    """

    def __init__(self, cause: str, *, charged: int = 0) -> None:
        self.cause, self.charged = cause, charged
        super().__init__(cause)


class EndpointRefusesAll(SoftwareUnavailable):
    """The endpoint would refuse every request, for example because the key is invalid.

    ``charged`` is the number of earlier attempts that may incur costs, and ``cost`` is
    the cost of these attempts.
    """

    charged = 0
    cost = Decimal(0)


class ChatRequestNotSent(Exception):
    """The request was not sent, because the job is about to stop.

    ``charged`` is the number of earlier attempts of the request that may incur costs.
    """

    charged = 0


#: Errors that occur before a request is sent.
ERRORS_BEFORE_REQUEST_IS_SENT = (
    urllib3.exceptions.NewConnectionError,
    urllib3.exceptions.ConnectTimeoutError,
)


class _ChatRequestFault(Exception):
    def __init__(self, cause: str, *, is_charged: bool, is_again: bool = True) -> None:
        self.cause, self.is_charged, self.is_again = cause, is_charged, is_again
        self.pause: float | None = None
        super().__init__(cause)


class ChatEndpoint:
    """A pool of persistent connections to one endpoint, shared by threads."""

    def __init__(
        self,
        judge: ChatJudge,
        *,
        stopped: threading.Event | None = None,
        pause: Callable[[float], object] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._judge = judge
        self._secret = judge.secret()
        self._stopped = stopped or threading.Event()
        self._pause, self._clock = pause or self._stopped.wait, clock
        self._deadlines = RequestDeadlineWatcher()
        self._pool, self._path = create_connection_pool(
            judge.address, judge.at_once, judge.timeout
        )
        self._lock = threading.Lock()
        self._open_again = 0.0

    def close(self) -> None:
        self._pool.close()
        self._deadlines.close()

    def ask(self, prompt: str, *, most_charged: int) -> ChatReply:
        """Send a prompt to the endpoint, and repeat the request after temporary faults.
        Raises ChatRequestFailed, EndpointRefusesAll or Stopped.

        The endpoint may charge for at most ``most_charged`` requests with this prompt.
        """
        charged = 0
        for attempt in range(1, MAX_REQUEST_ATTEMPTS + 1):
            try:
                self._wait_until_pause_is_over()
                return replace(self._send_request_once(prompt), charged=charged)
            except (EndpointRefusesAll, ChatRequestNotSent) as end:
                end.charged = charged
                raise
            except _ChatRequestFault as fault:
                charged += fault.is_charged
                if (
                    not fault.is_again
                    or attempt == MAX_REQUEST_ATTEMPTS
                    or charged == most_charged
                ):
                    raise ChatRequestFailed(fault.cause, charged=charged) from None
                self._pause_after_fault(fault.pause, attempt)
        raise AssertionError

    def _wait_until_pause_is_over(self) -> None:
        with self._lock:
            left = self._open_again - self._clock()
        if left > 0:
            self._pause(left)
        if self._stopped.is_set():
            raise ChatRequestNotSent

    def _pause_after_fault(self, asked: float | None, attempt: int) -> None:
        if asked is None:
            spread = random.uniform(0.75, 1.25)  # noqa: S311  (no secret)
            self._pause(
                min(
                    FIRST_PAUSE_SECONDS * 2 ** (attempt - 1) * spread, MAX_PAUSE_SECONDS
                )
            )
            return
        with self._lock:
            self._open_again = max(self._open_again, self._clock() + asked)

    def _send_request_once(self, prompt: str) -> ChatReply:
        body = {
            "model": self._judge.model,
            "messages": [{"role": "user", "content": prompt}],
            "temperature": self._judge.temperature,
            "max_tokens": self._judge.max_tokens,
            "stream": False,
        }
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            # Compressed replies are not requested, because they can expand a lot.
            "Accept-Encoding": "identity",
            "User-Agent": "Citeboard",
        }
        if self._secret:
            headers["Authorization"] = f"Bearer {self._secret}"
        with self._deadlines.limit_request_duration(self._judge.timeout) as deadline:
            try:
                response = self._pool.urlopen(
                    "POST",
                    self._path,
                    body=json.dumps(body, ensure_ascii=False).encode(
                        "utf-8", "replace"
                    ),
                    headers=headers,
                    redirect=False,
                    retries=False,
                    preload_content=False,
                    decode_content=False,
                )
                try:
                    if response.status != 200:
                        raise self._build_error_for_status(response)
                    return _parse_chat_reply(_read_limited_body(response))
                finally:
                    # Close the connection if the reply was not read to its end.
                    response.close()
                    response.release_conn()
            except ERRORS_BEFORE_REQUEST_IS_SENT:
                raise _ChatRequestFault("no connection", is_charged=False) from None
            except (urllib3.exceptions.HTTPError, OSError, ValueError):
                if not deadline.is_sent:
                    raise _ChatRequestFault("no connection", is_charged=False) from None
                # Do not chain the original exception, which has addresses and headers.
                message = (
                    "no reply in time" if deadline.is_over() else "connection lost"
                )
                raise _ChatRequestFault(message, is_charged=True) from None

    def _build_error_for_status(self, response: urllib3.BaseHTTPResponse) -> Exception:
        status = response.status
        # Read the body of the reply, so that the connection can be reused.
        response.read(MAX_REPLY_BYTES)
        if status in FATAL_STATUS_MESSAGES:
            return EndpointRefusesAll(FATAL_STATUS_MESSAGES[status])
        fault = _ChatRequestFault(
            f"status {status}",
            is_charged=False,
            is_again=status in RETRIED_STATUS_CODES,
        )
        if status in (429, 503):
            fault.pause = parse_retry_after_seconds(response.headers.get("Retry-After"))
        return fault


def _read_limited_body(response: urllib3.BaseHTTPResponse) -> bytes:
    parts: list[bytes] = []
    length = 0
    while part := response.read1(1 << 16):
        parts.append(part)
        length += len(part)
        if length > MAX_REPLY_BYTES:
            message = f"longer than {MAX_REPLY_BYTES >> 10} KiB"
            raise _ChatRequestFault(message, is_charged=True, is_again=False)
    return b"".join(parts)


def parse_retry_after_seconds(
    text: str | None, *, now: float | None = None
) -> float | None:
    """Return the seconds in a Retry-After header, at most MAX_PAUSE_SECONDS, or None if the
    header is missing or invalid.
    """
    if not text:
        return None
    text = text.strip()
    if text.isascii() and text.isdigit():
        return min(float(text[:9]), MAX_PAUSE_SECONDS)
    try:
        at = email.utils.parsedate_to_datetime(text).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None
    return min(max(at - (time.time() if now is None else now), 0.0), MAX_PAUSE_SECONDS)


def _parse_chat_reply(content: bytes) -> ChatReply:
    try:
        document = read_json(content)
    except ValueError:
        raise _ChatRequestFault("not JSON", is_charged=True) from None
    try:
        choice = document["choices"][0]
        message = choice["message"]
        text = message.get("content")
        is_refused = bool(message.get("refusal")) or (
            choice.get("finish_reason") == "content_filter"
        )
    except (LookupError, TypeError, AttributeError):
        raise _ChatRequestFault("not a chat reply", is_charged=True) from None
    if is_refused:
        raise _ChatRequestFault("the model refuses", is_charged=True, is_again=False)
    if not isinstance(text, str | None):
        raise _ChatRequestFault("not a chat reply", is_charged=True)
    usage = document.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    return ChatReply(
        text or "",
        _parse_token_count(usage.get("prompt_tokens")),
        _parse_token_count(usage.get("completion_tokens")),
    )


def _parse_token_count(value: object) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31:
        return value
    return None
