"""Exits 0 if the site on this machine answers that it lives; with `worker`, if somebody looks after workers.

For health checks of the image, which run often: it imports nothing of the site.
"""

import os
import sys
import time
import urllib.request
from pathlib import Path

PATIENCE = 4  # seconds
#: As `citeboard.ops.serving` calls the file that it touches after each look at its workers.
SIGN = "workers-watched"
#: Seconds without one: a sweep that finds the database away takes half a minute.
MAX_SILENCE = 120


def site() -> str:
    """What is wrong; empty where nothing is."""
    address = f"http://127.0.0.1:{os.environ.get('PORT') or 8000}/health/live"
    # A proxy of the environment is for the world outside.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(address, timeout=PATIENCE) as answer:
            return "" if answer.status == 200 else f"{address}: {answer.status}"
    except OSError as reason:
        return f"{address}: {reason}"


def worker() -> str:
    """The same."""
    sign = Path(os.environ["CITEBOARD_WORK_DIR"], SIGN)
    try:
        silent = time.time() - sign.stat().st_mtime
    except OSError as reason:
        return str(reason)
    bound = MAX_SILENCE + 3 * float(os.environ.get("CITEBOARD_SWEEP_SECONDS") or 10)
    return (
        ""
        if silent < bound
        else f"nobody has looked after the workers for {silent:.0f} s"
    )


def main() -> int:
    trouble = worker() if sys.argv[1:] == ["worker"] else site()
    if trouble:
        print(trouble, file=sys.stderr)
    return 1 if trouble else 0


if __name__ == "__main__":
    sys.exit(main())
