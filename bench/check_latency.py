"""How long a check takes that its sender waits for, through HTTP: small runs, and one of a megabyte.

Usage: python bench/check_latency.py [--checks N]

The site is started as `manage.py serve --only site` does it, with the default settings. One sender, one check
after the other, on a connection that stays open.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "faults"))

from house import served, set_up

WARM_UP = 10
BOUNDARY = "a-boundary-of-this-bench"
INSTANCES, WORDS = 4_000, 35


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checks", type=int, default=200)
    checks = parser.parse_args().checks
    folder = set_up(
        CITEBOARD_API_UPLOADS_PER_MINUTE="100000",
        CITEBOARD_API_REQUESTS_PER_MINUTE="100000",
    )
    from citeboard.teams.models import Token
    from tests.factories import make_season, make_team, make_user

    sender, season = make_user(), make_season()
    make_team(season=season, lead=sender)
    _, secret = Token.objects.create_token(user=sender, name="bench")
    runs = list(runs_of(season))
    with served(folder, only="site") as house:
        for name, phase, run in runs:
            times = measured(house.port, secret, phase, run, checks)
            print(
                f"{name}, {len(run) / 1000:,.1f} kB: median {1000 * statistics.median(times):.1f} ms, "
                f"p95 {1000 * statistics.quantiles(times, n=20)[-1]:.1f} ms, most {1000 * max(times):.1f} ms"
            )


def runs_of(season: object) -> Iterator[tuple[str, int, bytes]]:
    """What is checked, the number of its phase, the run."""
    from tests.factories import make_phase, make_task, run_bytes

    yield "CL-SciSumm 1A", make_phase(task=make_task(season=season)).pk, run_bytes()
    phase = make_phase(
        task=make_task(season=season, type="citation-text"), with_gold=False
    )
    yield "Citation text", phase.pk, write_texts(phase)


def write_texts(phase: object) -> bytes:
    """Loads gold of many instances and returns a run for it."""
    from tasks.gold.gold_files import load_gold
    from tests.scoring.texts import related_pairs

    gold, run = [], []
    for number, (target, answer) in enumerate(
        related_pairs(random.Random(3), INSTANCES, WORDS)
    ):
        gold.append({"id": f"i{number}", "input": ["An abstract."], "target": target})
        run.append({"id": f"i{number}", "prediction": answer})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "instances.jsonl"
        path.write_bytes(as_lines(gold))
        load_gold(task=phase.task, split=phase.split, paths=[path], reason="bench")
    return as_lines(run)


def as_lines(records: list[dict[str, object]]) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def measured(
    port: int, secret: str, phase: int, run: bytes, checks: int
) -> list[float]:
    """Seconds of each check, after a few that are not counted."""
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="run"; filename="run.jsonl"\r\n\r\n'
    body = head.encode() + run + f"\r\n--{BOUNDARY}--\r\n".encode()
    headers = {
        "Authorization": f"Token {secret}",
        "Content-Type": f"multipart/form-data; boundary={BOUNDARY}",
    }
    connection = http.client.HTTPConnection("127.0.0.1", port)
    times = []
    for number in range(WARM_UP + checks):
        began = time.perf_counter()
        connection.request("POST", f"/api/v1/phases/{phase}/check/", body, headers)
        answer = connection.getresponse()
        told = answer.read()
        if number >= WARM_UP:
            times.append(time.perf_counter() - began)
        assert answer.status == 200, told
    return times


if __name__ == "__main__":
    main()
