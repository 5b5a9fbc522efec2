"""How long a new site takes to fill the boards of the demo season, from an empty data folder on.

`.venv/bin/python bench/demo.py` prints the seconds after which the site was loaded, every run scored, and the
significance of every board's ranks computed, as a reader of the site sees it.
"""

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.request import urlopen

ROOT = Path(__file__).resolve().parent.parent
PORT = os.environ.get("BENCH_PORT", "8976")
SITE = f"http://127.0.0.1:{PORT}"
GIVE_UP = 600  # seconds
LEFT = (
    "from tasks.models import Job, Submission as S;"
    "print(Job.objects.exclude(state__in=['done']).count(), S.objects.exclude(status='scored').count())"
)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="citeboard-bench-") as folder:
        environment = {
            **os.environ,
            "CITEBOARD_DATA_DIR": folder,
            "CITEBOARD_INSECURE_HTTP": "yes",
            "CITEBOARD_LOG_LEVEL": "WARNING",
            "PORT": PORT,
        }
        begin = time.monotonic()
        manage(environment, "migrate", "--verbosity", "0")
        manage(environment, "collectstatic", "--no-input", "--verbosity", "0")
        demo = json.loads(manage(environment, "demo", "--json"))
        shown("the demo season is loaded", begin)
        site = subprocess.Popen(
            [sys.executable, "manage.py", "serve"], cwd=ROOT, env=environment
        )
        try:
            season = until(
                lambda: asked(f"seasons/{demo['phases'][0]['season']}/"), begin
            )
            shown("the site answers", begin)
            phases = [
                phase["id"] for task in season["tasks"] for phase in task["phases"]
            ]
            until(lambda: all(is_compared(phase) for phase in phases), begin)
            shown(f"the significance of {len(phases)} boards is computed", begin)
            until(
                lambda: (
                    manage(environment, "shell", "-c", LEFT).split()[-2:] == ["0", "0"]
                ),
                begin,
            )
            shown("every run is scored", begin)
        finally:
            site.send_signal(signal.SIGTERM)
            site.wait()
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(
            f"{used.ru_utime + used.ru_stime:6.1f} s  of CPU in all, on {os.cpu_count()} cores"
        )


def manage(environment: dict[str, str], *words: str) -> str:
    command = [sys.executable, "manage.py", *words]
    return subprocess.run(
        command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True
    ).stdout


def asked(path: str) -> Any:
    try:
        with urlopen(f"{SITE}/api/v1/{path}") as answer:  # noqa: S310  (our own address)
            return json.load(answer)
    except OSError:
        return None


def is_compared(phase: int) -> bool:
    """With every row of the board scored; a board without rows is none."""
    board = asked(f"phases/{phase}/leaderboard/")
    return bool(board and board["rows"] and board["compared"])


def until(found: Any, begin: float) -> Any:
    while not (value := found()):
        if time.monotonic() - begin > GIVE_UP:
            sys.exit(f"not within {GIVE_UP} seconds")
        time.sleep(0.5)
    return value


def shown(what: str, begin: float) -> None:
    print(f"{time.monotonic() - begin:6.1f} s  {what}", flush=True)


if __name__ == "__main__":
    main()
