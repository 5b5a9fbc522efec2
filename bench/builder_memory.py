"""Building a diagnostic split from corpora of growing size: time and peak memory, which is to stay flat.

Usage: python bench/builder_memory.py [--contexts N ...]

The corpus is made up: 30 contexts and 40 references a paper; 10,000 and 200,000 contexts by default.
Parts of speech are left out, whose model is no part of what is measured.
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
CONTEXTS_A_PAPER, REFERENCES_A_PAPER = 30, 40
FIELDS = (
    "Biology",
    "Chemistry",
    "Computer Science",
    "Mathematics",
    "Medicine",
    "Physics",
    "History",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--contexts", type=int, nargs="+", default=[10_000, 200_000])
    for contexts in parser.parse_args().contexts:
        with tempfile.TemporaryDirectory(prefix="citeboard-bench-") as name:
            folder = Path(name)
            write_corpus(folder / "corpus", contexts)
            size = (
                sum(path.stat().st_size for path in (folder / "corpus").iterdir()) / 1e6
            )
            command = [
                sys.executable,
                "-m",
                "scoring",
                "build-diagnostic",
                str(folder / "corpus"),
            ]
            options = [
                "--out",
                str(folder / "season"),
                "--tagger",
                "none",
                "--no-baselines",
            ]
            begun = time.perf_counter()
            process = subprocess.Popen(
                [*command, *options], cwd=ROOT, stdout=subprocess.PIPE, text=True
            )
            assert process.stdout is not None, "standard output is a pipe"
            printed = process.stdout.read().partition(", in ")[0]
            _, status, usage = os.wait4(process.pid, 0)
            seconds = time.perf_counter() - begun
            if status:
                raise SystemExit(f"the builder ended with status {status}")
            peak = usage.ru_maxrss / 1024
            print(
                f"{contexts:>9,} contexts, {size:5,.0f} MB: {seconds:6.1f} s {peak:6,.0f} MiB; {printed}"
            )


def write_corpus(folder: Path, contexts: int) -> None:
    chance = random.Random(0)
    folder.mkdir()
    papers = contexts // CONTEXTS_A_PAPER
    with (
        (folder / "papers.jsonl").open("w") as people,
        (folder / "references.jsonl").open("w") as listed,
        (folder / "contexts.jsonl").open("w") as rows,
    ):
        for paper in range(papers):
            name = f"p{paper:06d}"
            field = chance.choices(FIELDS, weights=(9, 9, 9, 9, 9, 9, 1))[0]
            people.write(
                json.dumps({"paper_id": name, "discipline": field, "year": 2021}) + "\n"
            )
            for number in range(REFERENCES_A_PAPER):
                cited = chance.randrange(papers * 5 + 1)
                reference = {
                    "paper_id": name,
                    "ref_id": f"{name}-{number}",
                    "cited_paper_id": f"w{cited}",
                    "raw": f"Somebody, {1990 + cited % 31}. On the matter of {cited}. Journal of Matters.",
                    "citation_count": cited % 900,
                }
                listed.write(json.dumps(reference) + "\n")
            for number in range(CONTEXTS_A_PAPER):
                words = [
                    f"word{chance.randrange(900)}" for _ in range(chance.randint(5, 45))
                ]
                words.insert(chance.randint(0, len(words)), "<REF>")
                context = {
                    "context_id": f"{name}_{number:04d}",
                    "paper_id": name,
                    "section": "Introduction",
                    "sentence": " ".join(words) + ".",
                    "before": "What stands before it.",
                    "after": "What stands after it.",
                    "gold": [f"{name}-{chance.randrange(REFERENCES_A_PAPER)}"],
                    "n_markers": 1,
                }
                rows.write(json.dumps(context) + "\n")


if __name__ == "__main__":
    main()
