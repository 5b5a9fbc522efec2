"""Ranking a whole collection by BM25: time and memory by its size, and what ten million would take.

Usage: python bench/candidates.py [--papers N ...] [--contexts N]

The collection is made up: papers with a title and an abstract of 150 words whose frequencies fall as those of
a language do (Zipf), in our own form. Each size is built by `build-diagnostic --candidates all` and ranked by
`baseline bm25-okapi`, in processes of their own; the last line goes on as the first and the last size differ.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
#: Papers of the collection that the benchmark of Maharjan 2024 ranks, about.
WHOLE = 10_000_000
WORDS, LENGTH = 200_000, 150


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--papers", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--contexts", type=int, default=300)
    given = parser.parse_args()
    print(f"{'papers':>10} {'build':>9} {f'{given.contexts} contexts':>14} {'peak':>9}")
    measured = [measure(papers, given.contexts) for papers in given.papers]
    (before, *_, papers), (earlier, *_, last) = given.papers, measured
    slopes = [
        (one - other) / (papers - before)
        for one, other in zip(last, earlier, strict=True)
    ]
    show(
        WHOLE,
        [
            one + slope * (WHOLE - papers)
            for one, slope in zip(last, slopes, strict=True)
        ],
    )


def show(papers: int, values: list[float]) -> None:
    build, ranking, peak = values
    print(
        f"{papers:>10,} {build:>8,.1f}s {ranking:>13,.1f}s {peak:>7,.0f}MB", flush=True
    )


def measure(papers: int, contexts: int) -> list[float]:
    """Seconds of computing to build and to rank, and MiB at most."""
    with tempfile.TemporaryDirectory(prefix="citeboard-bench-") as name:
        folder = Path(name)
        write_corpus(folder / "corpus", papers, contexts)
        out = [
            "--out",
            str(folder / "season"),
            "--candidates",
            "all",
            "--every-context",
        ]
        build, _ = run(
            "build-diagnostic",
            str(folder / "corpus"),
            *out,
            "--tagger",
            "none",
            "--no-baselines",
        )
        gold = folder / "season" / "gold"
        ranking = run(
            "baseline",
            "bm25-okapi",
            "--gold",
            str(gold),
            "--out",
            str(folder / "run.jsonl"),
        )
    show(papers, [build, *ranking])
    return [build, *ranking]


def run(*words: str) -> tuple[float, float]:
    process = subprocess.Popen(
        [sys.executable, "-m", "scoring", *words], cwd=ROOT, stdout=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"`scoring {words[0]}` ends with {status}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def write_corpus(folder: Path, papers: int, contexts: int) -> None:
    folder.mkdir()
    draw = np.random.default_rng(0)
    chances = 1 / np.arange(2, WORDS + 2)
    cumulated = np.cumsum(chances / chances.sum())
    with (folder / "papers.jsonl").open("w") as file:
        for number in range(papers):
            words = [
                f"w{place}" for place in np.searchsorted(cumulated, draw.random(LENGTH))
            ]
            paper = {
                "paper_id": f"p{number}",
                "title": " ".join(words[:10]),
                "abstract": " ".join(words[10:]),
            }
            file.write(json.dumps(paper) + "\n")
            if number < contexts:
                sentence = f"{' '.join(words[20:40])} <REF>."
                context = {
                    "context_id": f"c{number}",
                    "paper_id": f"p{papers - 1 - number}",
                }
                with (folder / "contexts.jsonl").open("a") as lines:
                    lines.write(
                        json.dumps({**context, "sentence": sentence, "gold": ["r"]})
                        + "\n"
                    )
                cited = {
                    "paper_id": context["paper_id"],
                    "ref_id": "r",
                    "cited_paper_id": f"p{number}",
                }
                with (folder / "references.jsonl").open("a") as lines:
                    lines.write(json.dumps(cited) + "\n")


if __name__ == "__main__":
    main()
