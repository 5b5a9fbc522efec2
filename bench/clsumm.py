"""Scoring one submission of CL-Summ by every rule set: wall time and peak memory of the offline scorer.

Usage: python bench/clsumm.py [--gold PATH ...] [--stopwords PATH]

Each scoring is a process of its own, started as anybody starts it, imports and intervals included. The
submission is a built-in baseline's. Without `--gold` it is the demo season's four topics.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scoring.tools.baselines import baseline
from tasks.types import task_type
from tasks.types.files import open_inputs

ROOT = Path(__file__).resolve().parent.parent
RUNS = {
    "clsumm-1a": "clsumm-tfidf-top3",
    "clsumm-1b": "clsumm-tfidf-top3",
    "clsumm-2": "clsumm-mq-summary-ranks",
}


def main() -> None:
    given = options()
    with tempfile.TemporaryDirectory() as folder:
        for slug, name in RUNS.items():
            run = Path(folder) / f"{name}.jsonl"
            baseline(name).write(open_inputs(given.gold), run)
            for rules in task_type(slug).rules:
                seconds, instances = measured(slug, rules, given, run)
                print(f"{slug:<12} {rules:<16} {instances:>5} instances {seconds:8.2f} s")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"peak memory of any scoring {peak:26.0f} MB")


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gold", type=Path, nargs="+", default=[ROOT / "examples" / "demo-season"])
    parser.add_argument("--stopwords", type=Path, help="without it the official ROUGE is not computed")
    return parser.parse_args()


def measured(slug: str, rules: str, given: argparse.Namespace, run: Path) -> tuple[float, int]:
    command = [sys.executable, "-m", "scoring", "score", slug, "--rules", rules, "--run", str(run), "--json"]
    command += ["--gold", *map(str, given.gold)]
    if given.stopwords and any(option.name == "stopwords" for option in task_type(slug).options):
        command += ["--option", f"stopwords={given.stopwords}"]
    start = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return time.perf_counter() - start, json.loads(done.stdout)["gold"]["instances"]


if __name__ == "__main__":
    main()
