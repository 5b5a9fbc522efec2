"""Twelve uploads of one team at the same time against a limit of three, again and again: three are taken.

Usage: python bench/faults/races.py [--races N] [--minutes M]

Each race has a phase and a team of its own, and a file of its own for each upload. The database is a new
SQLite file, or the one that CITEBOARD_BENCH_DATABASE_URL names, which is left as full as it gets. Exits 1 if
any race ended otherwise, or if anybody was not told what is left and when it renews.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from house import set_up

RUNNERS, LIMIT = 12, 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--races", type=int, default=1000)
    parser.add_argument(
        "--minutes", type=float, default=20, help="no race begins after so long"
    )
    given = parser.parse_args()
    url = os.environ.pop("CITEBOARD_BENCH_DATABASE_URL", "")
    set_up(**({"DATABASE_URL": url} if url else {}))
    from django.db import connection

    end = time.monotonic() + given.minutes * 60
    outcomes: Counter[str] = Counter()
    with ThreadPoolExecutor(RUNNERS) as pool:
        for _ in range(given.races):
            if time.monotonic() > end:
                break
            outcomes[race(pool)] += 1
    print(
        f"{sum(outcomes.values())} races of {RUNNERS} uploads against {LIMIT} on {connection.display_name}:"
    )
    for outcome, count in outcomes.most_common():
        print(f"{count:>6}  {outcome}")
    sys.exit(0 if list(outcomes) == [expected()] else 1)


def expected() -> str:
    return f"{LIMIT} taken, {RUNNERS - LIMIT} refused"


def race(pool: ThreadPoolExecutor) -> str:
    """What came of one race, in words that are the same for all that went as they must."""
    from tests.factories import make_phase, make_team, make_upload, other_run

    phase = make_phase(runs_per_day=LIMIT)
    team = make_team(season=phase.task.season)
    uploads = [make_upload(other_run(number)) for number in range(RUNNERS)]
    start = threading.Barrier(RUNNERS)
    came = Counter(pool.map(lambda upload: send(phase, team, upload, start), uploads))
    for upload in uploads:
        upload.path.unlink()
    stored = sorted(phase.submissions.values_list("number", flat=True))
    if stored != list(range(1, came["taken"] + 1)):
        return f"{dict(came)}, stored as {stored}"
    return ", ".join(f"{came[word]} {word}" for word in sorted(came, reverse=True))


def send(phase: object, team: object, upload: object, start: threading.Barrier) -> str:
    from django.db import connection

    from tasks.submissions.refusals import RunQuotaExceeded
    from tasks.submissions.submit import submit_run

    start.wait()
    try:
        submit_run(phase=phase, team=team, user=None, upload=upload, system="S")
    except RunQuotaExceeded as refused:
        return (
            "refused"
            if refused.left == 0 and refused.renews_at
            else "refused without a word"
        )
    finally:
        connection.close()
    return "taken"


if __name__ == "__main__":
    main()
