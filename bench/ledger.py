"""Measure imports, exports, scoring and pages with a million judgements and a run of 100,000 pairs.

Usage: python bench/ledger.py [--rows N] [--responses N] [--topology sqlite|postgresql]

Each step runs in its own process and reports its peak memory. The page of the judge, with 10,000 repeated
judgements, and the number of repeats on it are timed beside one pass over all rows. The exit code is 1 if the
import takes more than three minutes, if importer, exporter or scorer need more than 500 MB, or if the page
takes longer than such passes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent / "faults"))

from house import ROOT, SMALL, TOPOLOGIES, set_up

JUDGE = "tiny@0123456789ab"
MOST_SECONDS, MOST_MB = 180, 500
#: Judgements that repeat one of a pair of the run, and how often each page is timed.
REPEATED, TIMES = 10_000, 5
#: A judge's page may take as long as MOST_PASSES passes over the rows.
MOST_PASSES = 4.0


class Cost(NamedTuple):
    """Seconds and peak memory of a process."""

    seconds: float
    computing: float
    megabytes: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--responses", type=int, default=3_334)
    parser.add_argument("--topology", choices=TOPOLOGIES, default=SMALL)
    given = parser.parse_args()
    folder = set_up(given.topology)
    costs: dict[str, Cost] = {}
    run, files = waiting_run(folder / "run", given.responses)
    asked = folder / "asked.jsonl"
    empty = folder / "empty.jsonl"
    empty.write_text(json.dumps({"model": JUDGE, "kept": True}) + "\n")
    costs["scorer that asks"] = scored(files, empty, asked)
    rows = folder / "rows.jsonl"
    pairs = write_rows(rows, asked, given.rows)
    print(f"{given.rows:,} rows, {pairs:,} pairs of the run", flush=True)
    manage = [sys.executable, str(ROOT / "manage.py")]
    costs["import"] = measured([*manage, "import_labels", str(rows)])
    out = folder / "out.jsonl"
    with out.open("w") as file:
        costs["export"] = measured([*manage, "export_labels", JUDGE, "--rows"], file)
    with out.open() as file:
        assert sum(1 for _line in file) == given.rows + 1
    labels = folder / "labels"
    labels.mkdir()
    costs["look-up"], queries = in_child(lambda: look_up(run, asked, labels))
    costs["scorer"] = scored(
        files, labels / "labels-entails.jsonl", folder / "left.jsonl"
    )
    for name, cost in costs.items():
        print(
            f"{name:>18}{cost.seconds:>9.1f} s{cost.computing:>9.1f} s of CPU"
            f"{cost.megabytes:>9.0f} MB",
            flush=True,
        )
    print(f"{queries:,} statements looked up the pairs of the run")
    passes = time_page(folder, run, asked, manage)
    limited = ("import", "export", "scorer", "scorer that asks")
    too_large = [name for name in limited if costs[name].megabytes > MOST_MB]
    is_slow = costs["import"].seconds > MOST_SECONDS or passes > MOST_PASSES
    sys.exit(bool(too_large) or is_slow)


def time_page(folder: Path, run: object, asked: Path, manage: list[str]) -> float:
    """Return how many passes over the rows of the ledger the page of the judge takes."""
    from django.core.management import call_command
    from django.test import Client
    from django.urls import reverse

    from scoring.models import Judge, Judgement
    from scoring.results.board.judge_repeats import load_repeated_label_counts
    from scoring.results.board.judges import asked_judge
    from scoring.results.board.standings import compute_board

    again = folder / "again.jsonl"
    repeated = write_repeats(again, asked)
    measured([*manage, "import_labels", str(again)])
    phase = shown_run(folder / "shown", manage, asked)
    # Waiting runs make an empty judge of the season, and the imports are shared.
    judges = list(Judge.objects.filter(name=JUDGE).values_list("pk", flat=True))
    rows = Judgement.objects.standing().filter(judge__in=judges).exclude(label="maybe")
    task = phase.task
    address = reverse("board-judge", args=[task.season.slug, task.slug, phase.slug])
    call_command("collectstatic", verbosity=0, interactive=False)
    client = Client(HTTP_HOST="localhost")
    board, own = compute_board(phase, None), asked_judge(phase, None, JUDGE)

    def page() -> None:
        answer = client.get(address)
        assert answer.status_code == 200, answer.status_code
        assert f" of {repeated}" in answer.content.decode()

    steps = {
        "pass over rows": rows.count,
        "judge's page": page,
        "repeats alone": lambda: load_repeated_label_counts(board, own),
    }
    seconds = {name: seconds_of(step) for name, step in steps.items()}
    for name, spent in seconds.items():
        ratio = spent / seconds["pass over rows"]
        print(f"{name:>18}{spent:>9.3f} s{ratio:>9.2f} passes", flush=True)
    return seconds["judge's page"] / seconds["pass over rows"]


def seconds_of(step: Callable[[], object]) -> float:
    from django.core.cache import caches

    found = []
    for _ in range(TIMES + 1):
        caches["results"].clear()
        begun = time.perf_counter()
        step()
        found.append(time.perf_counter() - begun)
    return statistics.median(found[1:])


def write_repeats(path: Path, asked: Path) -> int:
    """Write second judgements of pairs of the run; return their number."""
    rows = [
        {"items": items, "label": "yes" if number % 7 else "no", "repeat": 1}
        for number, items in enumerate(islice(iter_pairs(asked), REPEATED))
    ]
    head = {"kind": "entails", "judge": JUDGE}
    path.write_text("".join(f"{json.dumps(row)}\n" for row in [head, *rows]))
    return len(rows)


def shown_run(folder: Path, manage: list[str], asked: Path) -> object:
    """Return a public phase with a small scored run, whose scores rest on the pairs of the large run."""
    from scoring.models import UsedJudgements
    from scoring.models.ledger import (
        hash_items_to_eight_bytes,
        hash_units_to_four_bytes,
    )
    from scoring.worker.entailment_labels import (
        find_jobs_waiting_for_labels,
        iterate_open_pairs,
    )
    from scoring.worker.score import score

    run, _files = waiting_run(folder, 3)
    for number in range(3):
        for job in run.jobs.filter(state="queued"):
            score(job.pk)
        labels = folder / f"labels-{number}.jsonl"
        pairs = list(
            iterate_open_pairs(
                list(find_jobs_waiting_for_labels().filter(job__submission=run))
            )
        )
        rows = [{"texts": list(pair.values()), "label": "yes"} for pair in pairs]
        head = {"kind": "entails", "judge": JUDGE}
        labels.write_text("".join(f"{json.dumps(row)}\n" for row in [head, *rows]))
        if rows:
            measured([*manage, "import_labels", str(labels)])
    items = [
        " ".join(one.partition(":")[2] for one in pair) for pair in iter_pairs(asked)
    ]
    count = len(items)
    changed = UsedJudgements.objects.filter(evaluation__submission=run).update(
        items=hash_items_to_eight_bytes(items).tobytes(),
        labels=bytes(number % 2 for number in range(count)),
        units=hash_units_to_four_bytes(
            str(number // 30) for number in range(count)
        ).tobytes(),
        rows=count,
    )
    assert changed == 1
    run.phase.board = "everyone"
    run.phase.save()
    return run.phase


def measured(command: list[str], out: object = None) -> Cost:
    begun = time.monotonic()
    process = subprocess.Popen(command, cwd=ROOT, stdout=out or subprocess.DEVNULL)
    _pid, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode in (0, 6), process.returncode
    return cost_since(begun, usage)


def cost_since(begun: float, usage: resource.struct_rusage) -> Cost:
    computing = usage.ru_utime + usage.ru_stime
    return Cost(time.monotonic() - begun, computing, usage.ru_maxrss / 1024)


def in_child(work: Callable[[], int]) -> tuple[Cost, int]:
    """Return the cost of the work in a child process, and the number that the work returned."""
    from django.db import connections

    connections.close_all()
    reader, writer = os.pipe()
    begun = time.monotonic()
    if not (pid := os.fork()):
        os.write(writer, str(work()).encode())
        os._exit(0)
    os.close(writer)
    _pid, _status, usage = os.wait4(pid, 0)
    return cost_since(begun, usage), int(os.read(reader, 20))


def look_up(run: object, asked: Path, folder: Path) -> int:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    from scoring.worker.gathering import start_judgement_collection

    gathered = start_judgement_collection(run.jobs.first())
    with CaptureQueriesContext(connection) as queries:
        assert gathered.add(asked)
    gathered.options(folder)
    return len(queries)


def scored(files: list[str], labels: Path, pending: Path) -> Cost:
    words = ["score", "positional-citations", *files, f"--pending={pending}"]
    options = [f"--option=entailment=labels:{labels}", "--rules=corrected"]
    return measured([sys.executable, "-m", "scoring", *words, *options, "--json"])


def waiting_run(folder: Path, responses: int) -> tuple[object, list[str]]:
    """Return a run of a site, and its files in the form that the offline scorer reads."""
    import random

    from claims_page import SENTENCES, question, words

    from tests import factories
    from tests.scoring.citing import citing_gold
    from tests.tasks.types.citations import write_parses

    folder.mkdir()
    draw = random.Random(responses)
    outputs = {
        f"q{number}": [words(draw, 20) for _ in range(SENTENCES)]
        for number in range(responses)
    }
    parses = write_parses(folder, *{text for own in outputs.values() for text in own})
    options = {"parser": str(parses), "entailment": f"store:{JUDGE}"}
    season = factories.make_season(organiser=factories.make_user())
    task = factories.make_task(
        season=season, type="positional-citations", rules=["corrected"], options=options
    )
    phase = factories.make_phase(task=task, with_gold=False)
    citing_gold(phase, folder, *(question(draw, name) for name in outputs))
    records = [
        {"id": name, "output": " ".join(f"{text} [1][2]." for text in own)}
        for name, own in outputs.items()
    ]
    content = factories.run_bytes(records)
    run = factories.make_submission(phase=phase, content=content)
    (folder / "run.jsonl").write_bytes(content)
    [gold] = folder.glob("gold*")
    files = [f"--gold={gold}", f"--run={folder / 'run.jsonl'}"]
    return run, [*files, f"--option=parser={parses}"]


def write_rows(path: Path, asked: Path, count: int) -> int:
    """Write labels of the run's pairs and of other pairs; return the number of pairs."""
    pairs = 0
    with path.open("w") as out:
        out.write(json.dumps({"kind": "entails", "judge": JUDGE}) + "\n")
        for number, items in enumerate(digests(asked, count)):
            pairs += items is not None
            both = items or (digest(f"premise {number}"), digest(f"claim {number}"))
            label = "yes" if number % 3 else "no"
            out.write(json.dumps({"items": both, "label": label}) + "\n")
    return pairs


def digests(asked: Path, count: int) -> Iterator[tuple[str, str] | None]:
    with asked.open(encoding="utf-8", newline="\n") as lines:
        for _number in range(count):
            line = next(lines, None)
            pair = json.loads(line) if line else None
            yield pair and (digest(pair["premise"]), digest(pair["hypothesis"]))


def iter_pairs(asked: Path) -> Iterator[tuple[str, str]]:
    with asked.open(encoding="utf-8", newline="\n") as lines:
        for pair in map(json.loads, lines):
            yield digest(pair["premise"]), digest(pair["hypothesis"])


def digest(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


if __name__ == "__main__":
    main()
