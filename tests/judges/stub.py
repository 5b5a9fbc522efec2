"""A chat endpoint on this machine that replies as a test tells it, also with faults."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Sent:
    """A whole answer; ``stalls`` keeps the connection open after its bytes until the endpoint closes."""

    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    length: int | None = None
    stalls: bool = False


def said(text: str | None, *, usage: Any = None, **message: Any) -> Sent:
    choice = {"message": {"role": "assistant", "content": text, **message}}
    usage = {"prompt_tokens": 100, "completion_tokens": 2} if usage is None else usage
    return Sent(json.dumps({"choices": [choice], "usage": usage}).encode())


def status(code: int, **headers: str) -> Sent:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Sent(b'{"error": "sk-secret is wrong"}', code, named)


#: Gets the prompt and how often it was asked before.
Replies = Callable[[str, int], Sent]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that cut their connections."""


class Stub:
    def __init__(self, replies: Replies) -> None:
        self.replies = replies
        self.prompts: list[str] = []
        self.keys: set[str] = set()
        self.connections: set[Any] = set()
        self.most_at_once = 0
        self._at_once = 0
        self._lock = threading.Lock()
        self._counts = Counter[str]()
        self._closed = threading.Event()
        self._server = _Server(("127.0.0.1", 0), self._handler())
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def asked(self) -> Counter[str]:
        return Counter(self.prompts)

    def serve(self) -> None:
        self._server.serve_forever(poll_interval=0.05)

    def close(self) -> None:
        self._closed.set()
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, handler: BaseHTTPRequestHandler) -> Sent:
        length = int(handler.headers["Content-Length"])
        body = json.loads(handler.rfile.read(length))
        prompt = body["messages"][0]["content"]
        with self._lock:
            self.prompts.append(prompt)
            self.keys.add(handler.headers.get("Authorization", ""))
            self.connections.add(handler.client_address)
            nth = self._counts[prompt]
            self._counts[prompt] += 1
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            return self.replies(prompt, nth)
        finally:
            with self._lock:
                self._at_once -= 1

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True
            wbufsize = -1

            def do_POST(self) -> None:
                with suppress(OSError):
                    self._send(stub._answer(self))

            def _send(self, sent: Sent) -> None:
                self.send_response(sent.status)
                for name, value in sent.headers.items():
                    self.send_header(name, value)
                length = len(sent.body) if sent.length is None else sent.length
                self.send_header("Content-Length", str(length))
                self.end_headers()
                self.wfile.write(sent.body)
                self.wfile.flush()
                if sent.stalls:
                    stub._closed.wait()
                if sent.length is not None:
                    self.close_connection = True

            def log_message(self, *args: Any) -> None:
                pass

        return Handler


@contextmanager
def stub_endpoint(replies: Replies) -> Iterator[Stub]:
    stub = Stub(replies)
    thread = threading.Thread(target=stub.serve)
    thread.start()
    try:
        yield stub
    finally:
        stub.close()
        thread.join()


def write_judges(folder: Path, address: str, /, **more) -> Path:
    """Write an operator's file with one chat judge; values are TOML."""
    fields = {
        "name": '"support-a"',
        "kind": '"chat"',
        "address": f'"{address}"',
        "model": '"stub-1"',
        "timeout": "5",
        "at_once": "4",
        **more,
    }
    path = folder / "judges.toml"
    lines = [f"{key} = {value}" for key, value in fields.items()]
    path.write_text("\n".join(["[[judge]]", *lines, ""]))
    return path
