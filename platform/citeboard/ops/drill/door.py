"""A TCP proxy in front of a server, which is unreachable while the proxy is shut."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class InterruptibleProxy:
    """A TCP proxy that forwards connections to a server until `shut` is called."""

    def __init__(self, host: str, port: int) -> None:
        """Listen on a local port for connections to the server.

        If the server's host begins with /, the host is the folder of PostgreSQL's Unix
        socket.
        """
        self._target = (host, port)
        self._lock = threading.Lock()
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._accept_connections()

    def _accept_connections(self) -> None:
        listener = self._listener
        threading.Thread(
            target=self._accept_loop, args=(listener,), daemon=True
        ).start()

    def _accept_loop(self, listener: socket.socket) -> None:
        # When the listening socket is closed, `accept` raises an OSError.
        with suppress(OSError):
            while True:
                near, _ = listener.accept()
                self._forward_connection(near)

    def _forward_connection(self, near: socket.socket) -> None:
        try:
            far = _connect_to_server(*self._target)
        except OSError:
            near.close()
            return
        with self._lock:
            self._open += [near, far]
        for source, sink in ((near, far), (far, near)):
            threading.Thread(
                target=_forward_bytes, args=(source, sink), daemon=True
            ).start()

    @contextmanager
    def interrupt_connections(self) -> Iterator[None]:
        """Break all connections to the server and refuse new connections."""
        self.close()
        try:
            yield
        finally:
            self._listener = socket.create_server(("127.0.0.1", self.port))
            self._accept_connections()

    def close(self) -> None:
        _shut_down_socket(self._listener)
        with self._lock:
            for each in self._open:
                _shut_down_socket(each)
            self._open.clear()


def _connect_to_server(host: str, port: int) -> socket.socket:
    if not host.startswith("/"):
        return socket.create_connection((host, port))
    far = socket.socket(socket.AF_UNIX)
    try:
        far.connect(f"{host}/.s.PGSQL.{port}")
    except OSError:
        far.close()
        raise
    return far


def _forward_bytes(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
    _shut_down_socket(source)
    _shut_down_socket(sink)


def _shut_down_socket(each: socket.socket) -> None:
    with suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)
    each.close()
