"""Says in one sentence that the site's port is taken, before anything else is done."""

import errno
import os
import socket
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "platform")]

from django.core.exceptions import ImproperlyConfigured


def complaint(address: str, port: int) -> str | None:
    """Why nothing can listen there, or None."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as door:
        # A port that was closed a moment ago is free for the site too.
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            door.bind((address, port))
        except OSError as reason:
            if reason.errno == errno.EADDRINUSE:
                return (
                    f"Port {port} of {address} is taken, perhaps by a Citeboard that already runs. "
                    f"Stop it, or choose another port: PORT={port + 1} make run"
                )
            return f"The site cannot listen on {address}, port {port}: {reason.strerror}"
    return None


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "citeboard.settings")
    try:
        from citeboard import settings
    except ImproperlyConfigured as refusal:
        sys.exit(str(refusal))
    words = complaint(settings.BIND, settings.PORT)
    if words:
        sys.exit(words)


if __name__ == "__main__":
    main()
