"""Building from full texts in one process and in several: contexts a second, and what 63 million would take.

Usage: python bench/builders_at_scale.py [--papers N] [--jobs N ...] [--cluster]

The corpus is made up, in unarXive's form: 12 paragraphs of 8 sentences a paper, a third of them with a
citation of one of 40 references. Parts of speech are left out, whose model is no part of what is measured.
`--cluster` measures two workers of a local Dask cluster as well, where the package distributed is installed.
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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

#: Contexts of S2ORC that Maharjan 2024 starts from.
WHOLE = 63_000_000
PARAGRAPHS, SENTENCES, REFERENCES, FILES = 12, 8, 40, 16


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--papers", type=int, default=3_200)
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--cluster", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="citeboard-bench-") as name:
        folder = Path(name)
        size = write_corpus(folder / "corpus", given.papers) / 1e6
        print(
            f"{given.papers:,} papers in {FILES} files, {size:,.0f} MB; {os.cpu_count()} processors"
        )
        for jobs in given.jobs:
            measure(
                folder,
                f"{jobs} process{'es' if jobs > 1 else ''}",
                ["--jobs", str(jobs)],
            )
        if given.cluster:
            with local_cluster() as address:
                measure(folder, "2 workers of a cluster", ["--cluster", address])


def measure(folder: Path, name: str, options: list[str]) -> None:
    for task in ("build-diagnostic", "build-resolution"):
        with tempfile.TemporaryDirectory(dir=folder) as own:
            command = [
                sys.executable,
                "-m",
                "scoring",
                task,
                str(folder / "corpus"),
                "--no-baselines",
            ]
            places = ["--out", f"{own}/season", "--work", f"{own}/work"]
            more = (
                ["--tagger", "none"]
                if task == "build-diagnostic"
                else ["--collection", "references"]
            )
            begun = time.perf_counter()
            process = subprocess.Popen(
                [*command, *places, *more, *options],
                cwd=ROOT,
                stdout=subprocess.DEVNULL,
            )
            _, status, usage = os.wait4(process.pid, 0)
            seconds = time.perf_counter() - begun
            if status:
                raise SystemExit(f"{task} ended with status {status}")
            sheet = json.loads(
                Path(own, "season", "datasheet.json").read_text(encoding="utf-8")
            )
            contexts = sheet["corpus"]["contexts"]
            rate, peak = contexts / seconds, usage.ru_maxrss / 1024
            print(
                f"{task:<16} {name:<22} {contexts:>9,} contexts {seconds:7.1f} s {rate:9,.0f} a second"
                f" {WHOLE / rate / 3600:6.1f} h for {WHOLE:,} {peak:6,.0f} MiB"
            )


@contextmanager
def local_cluster() -> Iterator[str]:
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as running:
        yield running.scheduler_address


def write_corpus(folder: Path, papers: int) -> int:
    """Write the files; says how many bytes they have."""
    chance = random.Random(0)
    folder.mkdir()
    for number in range(FILES):
        with (folder / f"{number:02d}.jsonl").open("w", encoding="utf-8") as file:
            for paper in range(number, papers, FILES):
                file.write(json.dumps(_paper(paper, papers, chance)) + "\n")
    return sum(path.stat().st_size for path in folder.iterdir())


def _paper(paper: int, papers: int, chance: random.Random) -> dict[str, object]:
    cited = [chance.randrange(papers * 5) for _ in range(REFERENCES)]
    return {
        "paper_id": f"21{1 + paper % 12:02d}.{paper:05d}",
        "metadata": {
            "title": f"On matter {paper}",
            "authors": "A. Body",
            "license": "CC0",
            "abstract": "We ask.",
        },
        "discipline": chance.choice(
            ("Physics", "Mathematics", "Computer Science", "Statistics")
        ),
        "body_text": [
            {
                "section": "Introduction",
                "content_type": "paragraph",
                "text": " ".join(_sentence(paper, chance) for _ in range(SENTENCES)),
            }
            for _ in range(PARAGRAPHS)
        ],
        "bib_entries": {
            f"r{paper}-{number}": {
                "bib_entry_raw": f"Somebody, {1996 + target % 25}. On matter {target}. Journal of Matters.",
                "ids": {"open_alex_id": f"W{target}"},
            }
            for number, target in enumerate(cited)
        },
    }


def _sentence(paper: int, chance: random.Random) -> str:
    words = [f"word{chance.randrange(900)}" for _ in range(chance.randint(8, 30))]
    if chance.random() < 1 / 3:
        words.insert(
            chance.randint(1, len(words)),
            f"{{{{cite:r{paper}-{chance.randrange(REFERENCES)}}}}}",
        )
    return f"{' '.join(words).capitalize()}."


if __name__ == "__main__":
    main()
