#!/usr/bin/env python
"""Run one of the site's commands, from any folder."""

import gc
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent


def main() -> None:
    # What is imported at the start stays: with Python's own thresholds looking through
    # it again and again takes a seventh of the start. A web process has the same ones.
    gc.set_threshold(10_000, 20, 20)
    # `platform/` holds packages and is none itself: the standard library owns the name. The root
    # holds `tasks` and `scoring`, and stands first already when this file is run as a script.
    for folder in (ROOT, ROOT / "platform"):
        if str(folder) not in sys.path:
            sys.path.insert(0, str(folder))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "citeboard.settings")
    try:
        from django.core.exceptions import ImproperlyConfigured
        from django.core.management import execute_from_command_line
    except ImportError:
        sys.exit(
            "Django is not installed for this Python. `make run` sets up .venv and uses it."
        )
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as refusal:
        # A setting that cannot be meant: its words say which, and where they came from is of no help.
        sys.exit(str(refusal))


if __name__ == "__main__":
    main()
