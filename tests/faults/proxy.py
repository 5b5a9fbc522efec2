"""A door in front of PostgreSQL that a test can shut: to a site it looks as if the server had stopped."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager, suppress


class Door:
    """Forwards connections to a server until it is shut or stalled."""

    def __init__(self, host: str, port: int) -> None:
        self.target = (host, port)
        self._listener = _listening(0)
        self.port = self._listener.getsockname()[1]
        self._open: list[socket.socket] = []
        self._lock = threading.Lock()
        self._moves = threading.Event()
        self._moves.set()
        threading.Thread(
            target=self._accept, args=(self._listener,), daemon=True
        ).start()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                near, _ = listener.accept()
                far = socket.create_connection(self.target)
            except OSError:
                return
            with self._lock:
                if listener.fileno() < 0:  # it was shut in between
                    _end(near)
                    _end(far)
                    return
                self._open += [near, far]
            for source, sink in ((near, far), (far, near)):
                threading.Thread(
                    target=self._forward, args=(source, sink), daemon=True
                ).start()

    def _forward(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                self._moves.wait()
                sink.sendall(data)
        for each in (source, sink):
            _end(each)

    @contextmanager
    def shut(self):
        """Connections break and new ones are refused: the server is restarted."""
        self.close()
        try:
            yield
        finally:
            self._listener = _listening(self.port)
            threading.Thread(
                target=self._accept, args=(self._listener,), daemon=True
            ).start()

    @contextmanager
    def stalled(self):
        """Connections stand, and nothing comes through: the server was stopped and goes on afterwards."""
        self._moves.clear()
        try:
            yield
        finally:
            self._moves.set()

    def close(self) -> None:
        _end(self._listener)
        with self._lock:
            for each in self._open:
                _end(each)
            self._open.clear()


def _listening(port: int) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(50)
    return listener


def _end(door: socket.socket) -> None:
    # Closing alone leaves a thread that waits on it waiting.
    with suppress(OSError):
        door.shutdown(socket.SHUT_RDWR)
    door.close()
