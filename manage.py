#!/usr/bin/env python
"""Run one of the site's commands, from any folder."""

import gc
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent


def main() -> None:
    # Modules that are imported at start-up stay in memory.
    # Default thresholds of garbage collection cost a seventh of the start-up time.
    # Web processes set their own thresholds, in `citeboard.wsgi`.
    gc.set_threshold(10_000, 20, 20)
    # The standard library has a module `platform`, so `platform/` is not a package.
    # The root folder contains `tasks` and `scoring`.
    # Python already searches the root folder first if this file runs as a script.
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
        # The message names the invalid setting, so this program prints no traceback.
        sys.exit(str(refusal))


if __name__ == "__main__":
    main()
