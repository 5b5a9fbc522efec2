"""A reader of runs that does what the first word of the file says."""

from pathlib import Path

from citeboard.core.confined import UPLOAD_FILE_NAME
from tests.core.confined import hostile


def check(given, index):
    word = Path(UPLOAD_FILE_NAME).read_text(encoding="utf-8").split()[0]
    found = getattr(hostile, word)(
        {"path": "/etc/passwd", "host": "127.0.0.1", "port": 9}
    )
    return {
        "is_read": True,
        "problems": [],
        "about": {"description": "", "card": {}, "figures": {}},
        "found": found,
    }
