from __future__ import annotations

import os
import threading
from typing import Any

from django.db.backends.sqlite3 import base, features

#: Only one thread of a process at a time waits for SQLite's write lock on a file.
_WRITER_LOCKS: dict[str, threading.Lock] = {}
os.register_at_fork(after_in_child=_WRITER_LOCKS.clear)


class DatabaseFeatures(features.DatabaseFeatures):
    #: All SQLite versions that Python 3.11 supports have JSON fields.
    #: Django's own test for JSON fields fails if another program holds SQLite's lock.
    supports_json_field = True


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection that runs the transactions of a process one after the other, because
    SQLite has no queue of writers.
    """

    features_class = DatabaseFeatures
    _turn: threading.Lock | None = None
    #: `_file` contains the opened file's device and inode, to detect a replaced file.
    _file: tuple[int, int] | None = None

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        self._file = self._stat_file()
        return super().get_new_connection(conn_params)

    def is_usable(self) -> bool:
        return (
            not self.errors_occurred
            and self._file is not None
            and self._file == self._stat_file()
        )

    def _stat_file(self) -> tuple[int, int] | None:
        try:
            state = os.stat(self.settings_dict["NAME"])  # noqa: PTH116  (three times as fast, and called often)
        except OSError:
            return None
        return state.st_dev, state.st_ino

    def _start_transaction_under_autocommit(self) -> None:
        writers = _WRITER_LOCKS.setdefault(
            str(self.settings_dict["NAME"]), threading.Lock()
        )
        if writers.acquire(timeout=self.settings_dict["OPTIONS"].get("timeout", -1)):
            self._turn = writers
        try:
            super()._start_transaction_under_autocommit()  # type: ignore[misc]
        except BaseException:
            self._release_writer_lock()
            raise

    def _commit(self) -> None:
        super()._commit()  # type: ignore[misc]
        # Callbacks after a commit may begin a transaction and need SQLite's lock.
        self._release_writer_lock()

    def _rollback(self) -> None:
        try:
            super()._rollback()  # type: ignore[misc]
        finally:
            self._release_writer_lock()

    def close(self) -> None:
        try:
            super().close()
        finally:
            self._release_writer_lock()

    def _release_writer_lock(self) -> None:
        turn, self._turn = self._turn, None
        if turn is not None:
            turn.release()
