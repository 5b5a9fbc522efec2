"""Default intervals of this tree beside those of an earlier one, in pairs of turns of two processes.

    python bench/intervals.py [--earlier COMMIT] [--pairs 30]

The earlier tree is checked out for as long as the measurement runs. Cases are timed by seconds of computing,
in turns, so that what else the machine does falls on both; the ratio is the median over pairs.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
#: The last commit at which every unit of a test set counted.
EARLIER = "a5859e5"
WANTED = 1.5
#: What each tree does: it answers a line with a case's name by the seconds that the case takes.
TURNS = """
import sys, time
sys.path[:0] = [sys.argv[1]]
import numpy as np
from scoring.metrics.classification import ClassAverage, Kappa
from scoring.metrics.clsumm import Overlap
from scoring.metrics.rouge import Rouge
from scoring.stats import jackknife
from scoring.stats.significance import PairedRuns, compute_difference_interval

rng = np.random.default_rng(0)

def rouge(count):
    columns = Rouge("rouge_l_f1", "corrected", kind="l", part="f1", is_stemmed=False).columns
    rows = np.column_stack([rng.random((count, len(columns))), np.ones(count)])
    own = [Rouge(f"r_{c}", "corrected", kind=c[0], part=c[2:], is_stemmed=False) for c in columns]
    return [(metric, rows) for metric in own]

def spans(count):
    rows = rng.integers(1, 20, (count, 3)).astype(float)
    parts = ("precision", "recall", "f1")
    return [(Overlap(f"o_{part}", "corrected", part=part, average="micro"), rows) for part in parts]

def classes(count):
    metrics = [ClassAverage("macro_f1", "corrected", part="f1", average="macro", labels="abcdef"),
               Kappa("kappa", "corrected", labels="abcdef")]
    gold, answers = (rng.choice(list("abcdef"), count).tolist() for _ in range(2))
    return [(metric, metric.instance_stats(gold, answers)) for metric in metrics]

def pairs(count):
    [(metric, rows), *_] = rouge(count)
    is_measured = np.arange(rows.shape[1]) < rows.shape[1] - 1
    others = [rows + rng.normal(0, .05, rows.shape) * is_measured for _ in range(20)]
    return [PairedRuns(metric, rows, other) for other in others]

def all_differences(pairs):
    for pair in pairs:
        compute_difference_interval(pair)

CASES = {
    "9 ROUGE columns, 14,000 instances": (jackknife.intervals, rouge(14_000), 5),
    "9 ROUGE columns, 200 instances": (jackknife.intervals, rouge(200), 100),
    "precision, recall and F1 of spans, 20 topics": (jackknife.intervals, spans(20), 200),
    "precision, recall and F1 of spans, 1,000 topics": (jackknife.intervals, spans(1_000), 100),
    "macro F1 and kappa, 2,000 instances": (jackknife.intervals, classes(2_000), 20),
    "20 differences, 1,000 instances": (all_differences, pairs(1_000), 5),
}
print("\\n".join(CASES), "", sep="\\n", flush=True)
for line in sys.stdin:
    work, given, times = CASES[line.strip()]
    began = time.process_time()
    for _ in range(times):
        work(given)
    print((time.process_time() - began) / times, flush=True)
"""


class Tree:
    """A process in which one tree's code takes its turns."""

    def __init__(self, root: Path) -> None:
        command = [sys.executable, "-c", TURNS, str(root)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root
        )
        self.cases = list(iter(self._answer, ""))

    def _answer(self) -> str:
        assert self._process.stdout
        return self._process.stdout.readline().strip()

    def seconds(self, case: str) -> float:
        assert self._process.stdin
        self._process.stdin.write(f"{case}\n")
        self._process.stdin.flush()
        return float(self._answer())

    def end(self) -> None:
        self._process.communicate()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--earlier", default=EARLIER, metavar="COMMIT")
    parser.add_argument("--pairs", type=int, default=30)
    given = parser.parse_args()
    largest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        earlier = Path(folder) / "earlier"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run(
            [*git, "add", "--detach", earlier, given.earlier],
            check=True,
            capture_output=True,
        )
        try:
            old, new = Tree(earlier), Tree(ROOT)
            for case in new.cases:
                old.seconds(case), new.seconds(case)
                turns = [
                    (old.seconds(case), new.seconds(case)) for _ in range(given.pairs)
                ]
                ratio = median(own / before for before, own in turns)
                before, own = (1000 * median(side) for side in zip(*turns, strict=True))
                largest = max(largest, ratio)
                print(
                    f"{case}: {before:.3g} ms before, {own:.3g} ms now, {ratio:.2f} times",
                    flush=True,
                )
            old.end(), new.end()
        finally:
            subprocess.run([*git, "remove", "--force", earlier], check=True)
    print(f"the largest ratio is {largest:.2f}, at most {WANTED} is wanted")
    return int(largest > WANTED)


if __name__ == "__main__":
    sys.exit(main())
