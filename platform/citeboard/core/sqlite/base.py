from pathlib import Path
from typing import Any

from django.db.backends.sqlite3 import base


class DatabaseWrapper(base.DatabaseWrapper):
    #: Device and number of the file, from before it was opened; a file that took its place has others.
    _file: tuple[int, int] | None = None

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        self._file = self._file_there()
        return super().get_new_connection(conn_params)

    def is_usable(self) -> bool:
        return not self.errors_occurred and self._file is not None and self._file == self._file_there()

    def _file_there(self) -> tuple[int, int] | None:
        try:
            state = Path(self.settings_dict["NAME"]).stat()
        except OSError:
            return None
        return state.st_dev, state.st_ino
