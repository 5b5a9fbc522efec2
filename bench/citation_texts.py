"""Citation texts with all default metrics: the whole scorer beside rouge-score and sacreBLEU.

Usage: python bench/citation_texts.py [--pairs N] [--words W] [--repeats R]

Both are processes of their own, run in turn; what counts is the processor time of each pair. The peer reads
the same JSON lines and computes the same eight numbers, without intervals, breakdowns or a check of the run.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SIZES = ((5000, 50, 8), (1000, 250, 16))

PEER = """
import json, sys
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics import BLEU, CHRF
read = lambda path, key: [json.loads(line)[key] for line in open(path)]
gold, answers = read(sys.argv[1], "target"), read(sys.argv[2], "prediction")
values = {}
for stemmed, end in ((False, ""), (True, "_stemmed")):
    scorer = RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=stemmed)
    scored = [scorer.score(*pair) for pair in zip(gold, answers)]
    for kind in "12L":
        f1 = [100 * one[f"rouge{kind}"].fmeasure for one in scored]
        values[f"rouge_{kind.lower()}_f1{end}"] = sum(f1) / len(f1)
values["bleu"] = BLEU().corpus_score(answers, [gold]).score
values["chrf"] = CHRF().corpus_score(answers, [gold]).score
print(json.dumps(values))
"""


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    options.add_argument("--pairs", type=int, help="of so many texts alone")
    options.add_argument("--words", type=int, default=50)
    options.add_argument("--repeats", type=int, default=5)
    given = options.parse_args()
    for pairs, words, wanted in (
        ((given.pairs, given.words, 0),) if given.pairs else SIZES
    ):
        with tempfile.TemporaryDirectory(prefix="citeboard-bench-") as folder:
            compare(Path(folder), pairs, words, wanted, given.repeats)


def compare(folder: Path, count: int, words: int, wanted: int, repeats: int) -> None:
    gold, run = folder / "gold.jsonl", folder / "run.jsonl"
    write(gold, run, count, words)
    inputs = ["--gold", str(gold), "--run", str(run), "--json"]
    scorer = [sys.executable, "-m", "scoring", "score", "citation-text", *inputs]
    peer = [sys.executable, "-c", PEER, str(gold), str(run)]
    os.environ["CITEBOARD_CACHE_DIR"] = str(folder / "cache")
    ratios, seconds, peaks = [], [], []
    for _ in range(repeats):
        own, peak, printed = measured(scorer)
        theirs, _, said = measured(peer)
        ratios.append(theirs / own)
        seconds.append((own, theirs))
        peaks.append(peak)
    values = {
        name: metric["value"] for name, metric in json.loads(printed)["metrics"].items()
    }
    # Sums are added in another order: the last digits of a mean may differ.
    differing = [
        name
        for name, value in json.loads(said).items()
        if abs(values[name] - value) > 1e-10
    ]
    own, theirs = (statistics.median(column) for column in zip(*seconds, strict=True))
    print(
        f"{count:,} texts of {words} words: {own:.2f} s CPU beside {theirs:.2f}, "
        f"{statistics.median(ratios):.1f} times ({min(ratios):.1f} to {max(ratios):.1f}"
        f"{f', wanted {wanted}' if wanted else ''}), {max(peaks):,.0f} MiB; "
        f"{'numbers differ: ' + ', '.join(differing) if differing else 'the same numbers'}",
        flush=True,
    )


def write(gold: Path, run: Path, count: int, words: int) -> None:
    sys.path.insert(0, str(ROOT))
    from tests.scoring.texts import related_pairs

    pairs = related_pairs(random.Random(words), count, words)
    cited = [
        "<abs> Of sands and winds. </abs>",
        "Wind carries sand over dunes, and rivers carry it to the sea.",
    ]
    with gold.open("w") as targets, run.open("w") as predictions:
        for number, (target, prediction) in enumerate(pairs):
            name = f"made-{number:05d}"
            targets.write(
                json.dumps({"id": name, "input": cited, "target": target}) + "\n"
            )
            predictions.write(json.dumps({"id": name, "prediction": prediction}) + "\n")


def measured(command: list[str]) -> tuple[float, float, str]:
    """Seconds of processor time, the peak of memory in MiB, and what was printed."""
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None, "standard output is a pipe"
    printed = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command[:5])} ended with status {status}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, printed


if __name__ == "__main__":
    main()
