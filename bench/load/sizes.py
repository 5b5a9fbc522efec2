"""Queries and rows of each page with few and with many runs.

Usage: python bench/load/sizes.py [--topology sqlite|postgresql] [--runs N ...]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "faults"))

from house import SMALL, TOPOLOGIES, set_up


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--topology", choices=list(TOPOLOGIES), default=SMALL)
    parser.add_argument("--runs", type=int, nargs="+", default=[1_000, 100_000])
    given = parser.parse_args()
    if len(given.runs) == 1:
        print(json.dumps(measured(given.topology, given.runs[0])))
        return
    found = {}
    for size in sorted(given.runs):
        command = [
            sys.executable,
            __file__,
            "--topology",
            given.topology,
            "--runs",
            str(size),
        ]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        found[size] = json.loads(done.stdout.splitlines()[-1])
    few, many = min(found), max(found)
    for name, (queries, rows, seconds) in found[few].items():
        now = found[many][name]
        print(
            f"{name:<28} queries {queries:>4} {now[0]:>4}  rows {rows:>9,} {now[1]:>10,}"
            f" {now[1] / max(rows, 1):>7.2f}  ms {1000 * seconds:>6.0f} {1000 * now[2]:>7.0f}"
        )


def measured(topology: str, size: int) -> dict[str, tuple[int, int, float]]:
    set_up(topology, CITEBOARD_ALLOWED_HOSTS="testserver,127.0.0.1")
    from django.conf import settings

    from tests.growth.looks import look
    from tests.growth.seasons import doors, make_runs

    settings.STORAGES["staticfiles"] = {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
    }
    began = time.perf_counter()
    pages = doors(make_runs(size))
    print(f"seeded in {time.perf_counter() - began:.0f} s", file=sys.stderr)
    told = {}
    for name, ask in pages.items():
        seen = look(ask)
        began = time.process_time()
        ask()
        told[name] = (seen.queries, seen.rows, time.process_time() - began)
    return told


if __name__ == "__main__":
    main()
