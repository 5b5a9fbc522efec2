"""A run of a million rankings: time and peak memory, beside those of ir_measures on the same file.

Usage: python bench/recommendation_scale.py [--lists N] [--depth K] [--without-peer]

Each step runs in a process of its own, so that its peak memory is its own. The collection is made up: 50,000
candidates, ten contexts a citing paper, nine dimensions of classes. All files go to a temporary folder.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CANDIDATES = 50_000
CONTEXTS_A_PAPER = 10
CLASSES = {
    "field": (
        "Biology",
        "Chemistry",
        "Computer Science",
        "Mathematics",
        "Medicine",
        "Physics",
    ),
    "year_group": ("1996-2000", "2001-2005", "2006-2010", "2011-2015", "2016-2020"),
    "citation_group": tuple(map(str, range(10))),
    "length_class": ("short", "medium", "long"),
    "location_class": ("start", "middle", "end"),
    "context_type": ("background", "method", "result"),
    "pos_before": ("verb", "noun", "adjective", "preposition", "others"),
    "pos_after": ("verb", "noun", "pronoun", "preposition", None),
    "low_resource": ("Art", "History", None),
}
#: Of a million gold papers so many are among the ranked ones.
FOUND = 0.35

PEER = """
import sys, ir_measures
from ir_measures import R, RR, nDCG
qrels = list(ir_measures.read_trec_qrels(sys.argv[1]))
run = ir_measures.read_trec_run(sys.argv[2])
found = ir_measures.calc_aggregate([R @ 10, RR @ 10, nDCG @ 10], qrels, run)
print({str(name): round(value, 6) for name, value in found.items()})
"""


def main() -> None:
    given = options()
    print(f"{given.lists:,} rankings of {given.depth}, {CANDIDATES:,} candidates")
    with tempfile.TemporaryDirectory(prefix="citeboard-bench-") as name:
        folder = Path(name)
        begun = time.perf_counter()
        write_all(folder, given.lists, given.depth)
        print(f"{'made in':<30} {time.perf_counter() - begun:8.1f} s", flush=True)
        for run in ("run.jsonl", "run.trec"):
            size = (folder / run).stat().st_size / 1e6
            print(f"{run}, {size:,.0f} MB")
            inputs = [
                "citation-recommendation",
                "--gold",
                str(folder / "gold"),
                "--run",
                str(folder / run),
            ]
            scorer = [sys.executable, "-m", "scoring"]
            measured("check", [*scorer, "check", *inputs])
            plain = ["--intervals", "0", "--json"]
            print_scores(
                measured("score and break down", [*scorer, "score", *inputs, *plain])
            )
            measured(
                "with 1,000 resamples",
                [*scorer, "score", *inputs, "--method", "percentile", "--json"],
            )
        if not given.without_peer:
            peer = [
                sys.executable,
                "-c",
                PEER,
                str(folder / "qrels"),
                str(folder / "run.trec"),
            ]
            print(measured("ir_measures, no classes", peer).strip())


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lists", type=int, default=1_000_000)
    parser.add_argument("--depth", type=int, default=10)
    parser.add_argument("--without-peer", action="store_true")
    return parser.parse_args()


def write_all(folder: Path, lists: int, depth: int) -> None:
    """Gold, the same run in both forms, and the judgments in TREC's form."""
    chance = random.Random(0)
    gold = folder / "gold"
    gold.mkdir()
    names = [f"W{number:07d}" for number in range(CANDIDATES)]
    with (gold / "references.jsonl").open("w") as file:
        file.writelines(
            json.dumps({"paper_id": "p", "ref_id": name}) + "\n" for name in names
        )
    with (
        (gold / "diagnostic.jsonl").open("w") as contexts,
        (folder / "run.jsonl").open("w") as run,
        (folder / "run.trec").open("w") as trec,
        (folder / "qrels").open("w") as judged,
    ):
        for number in range(lists):
            paper = f"P{number // CONTEXTS_A_PAPER:06d}"
            context = f"{paper}_{number % CONTEXTS_A_PAPER:04d}"
            ranked = [names[place] for place in chance.sample(range(CANDIDATES), depth)]
            cited = (
                chance.choice(ranked)
                if chance.random() < FOUND
                else chance.choice(names)
            )
            classes = {
                dimension: chance.choice(own) for dimension, own in CLASSES.items()
            }
            row = {"id": context, "citing_id": paper, "cited_id": cited, **classes}
            contexts.write(json.dumps(row) + "\n")
            run.write(json.dumps({"id": context, "ranked": ranked}) + "\n")
            judged.write(f"{context} 0 {cited} 1\n")
            trec.writelines(
                f"{context} Q0 {name} {rank} {depth - rank}.5 bench\n"
                for rank, name in enumerate(ranked, start=1)
            )


def measured(what: str, command: list[str]) -> str:
    """Run a command, print its times and the peak of its memory, and give what it printed."""
    begun = time.perf_counter()
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None, "standard output is a pipe"
    printed = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begun
    if status:
        raise SystemExit(f"{what} ended with status {status}")
    busy = usage.ru_utime + usage.ru_stime
    print(
        f"{what:<30} {seconds:8.1f} s, {busy:6.1f} s CPU {usage.ru_maxrss / 1024:8,.0f} MiB",
        flush=True,
    )
    return printed


def print_scores(printed: str) -> None:
    scores = json.loads(printed)
    print(
        {name: round(metric["value"], 6) for name, metric in scores["metrics"].items()}
    )


if __name__ == "__main__":
    main()
