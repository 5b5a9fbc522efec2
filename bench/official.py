"""The programs of CL-SciSumm 2018 and ROUGE-1.5.5 beside ours, processor time of whole processes in turn.

Usage: python bench/official.py --programs FOLDER --corpus FOLDER [--python PYTHON]

``FOLDER`` of the programs is `2018-evaluation-script/program` of the corpus's repository; its scripts are for
Python 2 and are brought to Python 3 by lib2to3 in a copy. They need beautifulsoup4 and lxml (``--python`` may
name an interpreter that has them), ROUGE-1.5.5 the Perl module XML::DOM. The corpus has the two public topics
of 2018 in `test2018` and a run of them in `golden/csv/top3_lexical/submission`. OFFICIAL_PROGRAMS,
CLSUMM_CORPUS and OFFICIAL_PYTHON name all three for `make bench`; without them nothing is measured.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from measuring import ROOT, Measurements, Row

SCRIPTS = (
    "task1_eval.py",
    "task1_rouge_eval.py",
    "create_setting_task2_rouge.py",
    "task2_eval.py",
)
REPEATS = 3
KINDS = ("abstract", "community", "human")
ROUGE_OPTIONS = [
    "-f",
    "A",
    "-a",
    "-x",
    "-s",
    "-d",
    "-t",
    "1",
    "-m",
    "-2",
    "-4",
    "-u",
    "-n",
    "2",
]


def main() -> None:
    given = arguments()
    measured = Measurements(
        "official", "The official programs of CL-SciSumm", ("numpy",)
    )
    if given.programs is None or given.corpus is None:
        print("  the official programs were not given; nothing is measured")
        return
    with tempfile.TemporaryDirectory() as folder:
        work = Work(Path(folder), given.programs, given.corpus, given.python)
        compare(
            measured,
            "tasks 1A and 1B: counts, two topics by three annotators",
            work.ours_counts,
            work.counts,
        )
        compare(
            measured, "task 1A: ROUGE-S* of every citance", work.ours_rouge, work.rouge
        )
        compare(
            measured,
            "task 2: ROUGE-2 and -SU* with 1,000 resamples",
            work.ours_summaries,
            work.summaries,
        )
    measured.keep()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=Path, default=_path("OFFICIAL_PROGRAMS"))
    parser.add_argument("--corpus", type=Path, default=_path("CLSUMM_CORPUS"))
    parser.add_argument(
        "--python", default=os.environ.get("OFFICIAL_PYTHON", sys.executable)
    )
    return parser.parse_args()


def _path(name: str) -> Path | None:
    value = os.environ.get(name)
    return Path(value) if value else None


class Work:
    """The programs, the gold and the run as the programs want them, and ours on the same files."""

    def __init__(self, folder: Path, programs: Path, corpus: Path, python: str) -> None:
        self.corpus, self.python = corpus, python
        self.programs, self.given, self.out = (
            folder / "program",
            folder / "in",
            folder / "out",
        )
        shutil.copytree(programs, self.programs)
        paths = [str(self.programs / name) for name in SCRIPTS]
        run([sys.executable, "-W", "ignore", "-m", "lib2to3", "-w", "-n", *paths])
        self.out.mkdir()
        self.stop_words = self.programs / "rouge" / "data" / "smart_common_words.txt"
        for task in ("Task1", "Task2"):
            gold = self.given / "ref" / task
            gold.mkdir(parents=True)
            for path in (corpus / "test2018").glob(f"*/gold/{task}/*"):
                shutil.copy(path, gold)
        self.run = corpus / "golden" / "csv" / "top3_lexical" / "submission"
        self.summary_run = corpus / "golden" / "task2" / "lead250" / "submission"
        for task, run_folder in (("Task1", self.run), ("Task2", self.summary_run)):
            answers = self.given / "res" / task
            answers.mkdir(parents=True)
            for path in run_folder.rglob("*.*"):
                shutil.copy(path, answers)

    def counts(self) -> None:
        self._script("task1_eval.py")

    def rouge(self) -> None:
        self._script("task1_rouge_eval.py", str(self.programs))

    def summaries(self) -> None:
        for kind in KINDS:
            self._script("create_setting_task2_rouge.py", kind)
            rouge = self.programs / "rouge"
            command = [
                "perl",
                str(rouge / "ROUGE-1.5.5.pl"),
                "-e",
                str(rouge / "data"),
                *ROUGE_OPTIONS,
            ]
            raw = run([*command, str(self.out / "task2_settings.xml")])
            (self.out / "task2_raw").write_text(raw)
            self._script("task2_eval.py", kind)

    def _script(self, name: str, *more: str) -> None:
        run(
            [
                self.python,
                str(self.programs / name),
                str(self.given),
                str(self.out),
                *more,
            ]
        )

    def ours_counts(self) -> None:
        for task in ("clsumm-1a", "clsumm-1b"):
            self._ours(task, self.run)

    def ours_rouge(self) -> None:
        self._ours("clsumm-1a", self.run, "--option", f"stopwords={self.stop_words}")

    def ours_summaries(self) -> None:
        self._ours(
            "clsumm-2", self.summary_run, "--option", f"stopwords={self.stop_words}"
        )

    def _ours(self, task: str, answers: Path, *more: str) -> None:
        gold = str(self.corpus / "test2018")
        command = [
            sys.executable,
            "-m",
            "scoring",
            "score",
            task,
            "--gold",
            gold,
            "--run",
            str(answers),
        ]
        run([*command, "--rules", "official-2018", "--intervals", "0", *more, "--json"])


def run(command: Sequence[str]) -> str:
    done = subprocess.run(
        command, cwd=ROOT, check=True, capture_output=True, text=True, errors="replace"
    )
    return done.stdout


def compare(
    measured: Measurements,
    what: str,
    ours: Callable[[], None],
    official: Callable[[], None],
) -> None:
    pairs = [(seconds(ours), seconds(official)) for _ in range(REPEATS)]
    own, other = (statistics.median(side) for side in zip(*pairs, strict=True))
    ratio = statistics.median(theirs / mine for mine, theirs in pairs)
    note = "processes from start to end"
    measured.add(
        Row(
            what=what,
            ours=own,
            reference=other,
            against="the official program",
            ratio=ratio,
            note=note,
        )
    )


def seconds(work: Callable[[], None]) -> float:
    """Processor time of everything that it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
