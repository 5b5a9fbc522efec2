"""Scoring one submission of CL-Summ by every rule set: wall time and peak memory of the offline scorer.

Usage: python bench/clsumm.py [--gold PATH ...] [--stopwords PATH]

Each scoring is a process of its own, started as anybody starts it, imports and intervals included. The
submission is a built-in baseline's. Without `--gold` it is the demo season's four topics.

CITEBOARD_OFFICIAL names the folder of the program of 2017, `2017-evaluation-script/program` of the corpus's
repository, with `task1_eval.py`. It is brought to Python 3 by lib2to3 in a copy and scores the same answers
in the text form, in turn with ours; it needs beautifulsoup4 (OFFICIAL_PYTHON may name an interpreter that
has it).
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scoring.tools.baselines import baseline
from tasks.types import task_type
from tasks.types.clsumm.topics import group_files_into_topic_folders, read_topics
from tasks.types.files import open_files_of_all_inputs

ROOT = Path(__file__).resolve().parent.parent
REPEATS = 3
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
            baseline(name).write(open_files_of_all_inputs(given.gold), run)
            for rules in task_type(slug).rules:
                seconds, instances = measured(slug, rules, given, run)
                print(
                    f"{slug:<12} {rules:<16} {instances:>5} instances {seconds:8.2f} s"
                )
        beside_the_official_program(Path(folder), given)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"peak memory of any scoring {peak:26.0f} MB")


def beside_the_official_program(folder: Path, given: argparse.Namespace) -> None:
    """The program of 2017 for tasks 1A and 1B, in the same run; what it lacks is said instead."""
    named = os.environ.get("CITEBOARD_OFFICIAL", "")
    if not named or not (Path(named) / "task1_eval.py").is_file():
        why = (
            f"{named} has no task1_eval.py"
            if named
            else "CITEBOARD_OFFICIAL names no folder"
        )
        print(f"the official program was not timed: {why}")
        return
    program, given_in, out = folder / "program", folder / "in", folder / "out"
    shutil.copytree(named, program)
    script = program / "task1_eval.py"
    # Its parser is for Python 2; that of today has another name, and wraps what it reads unless told not to.
    today = "from bs4 import BeautifulSoup as Soup\nBeautifulSoup = lambda text: Soup(text, 'html.parser')"
    text = script.read_text().replace("from BeautifulSoup import BeautifulSoup", today)
    script.write_text(text)
    subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "lib2to3", "-w", "-n", str(script)],
        check=True,
        capture_output=True,
    )
    run = folder / f"{RUNS['clsumm-1a']}.jsonl"
    text_form(given.gold, run, given_in)
    out.mkdir()
    official = [
        os.environ.get("OFFICIAL_PYTHON", sys.executable),
        str(script),
        str(given_in),
        str(out),
    ]
    ours = [
        [*scored(slug, "official-2017", given, run), "--intervals", "0"]
        for slug in ("clsumm-1a", "clsumm-1b")
    ]
    try:
        pairs = [
            (
                seconds(lambda: [started(one) for one in ours]),
                seconds(lambda: started(official)),
            )
            for _ in range(REPEATS)
        ]
    except subprocess.CalledProcessError as stopped:
        print(
            f"the official program was not timed: {stopped.stderr.decode().splitlines()[-1]}"
        )
        return
    own, theirs = (sorted(side)[1] for side in zip(*pairs, strict=True))
    print(
        f"1A and 1B, no intervals, medians: ours {own:.2f} s, the program of 2017 {theirs:.2f} s"
    )


def text_form(gold: list[Path], run: Path, folder: Path) -> None:
    """Gold and answers as the program of 2017 has them: `ref/Task1` and `res/Task1`."""
    for side in ("ref", "res"):
        (folder / side / "Task1").mkdir(parents=True)
    answers = [json.loads(line) for line in run.read_text().splitlines()]
    files = open_files_of_all_inputs(gold)
    places = {
        f.stem: f
        for one in group_files_into_topic_folders(files)
        for f in one.files("annotation")
        if "annv3" in f.name
    }
    for topic in read_topics(files, {"annotation": "annv3"}):
        (folder / "ref" / "Task1" / f"{topic.name}.annv3.txt").write_bytes(
            places[topic.name].read()
        )
        own = {
            answer["citance"]: answer
            for answer in answers
            if answer["topic"] == topic.name
        }
        lines = []
        for name in topic.asked:
            ids = own[name.number]["sentences"]
            quoted = "".join(
                f'<S sid="{sid}">{topic.sentences[topic.order[sid]].text}</S>'
                for sid in ids
            )
            lines.append(
                f"Citance Number: {name.number} | Reference Article: {name.reference}.xml | "
                f"Citing Article: {name.citing}.xml | Citation Marker Offset: ['{name.marker}'] | "
                f"Citation Marker: - | Citation Offset: ['{name.marker}'] | Citation Text: - | "
                f"Reference Offset: {ids} | Reference Text: {quoted} | Discourse Facet: Method_Citation | "
                f"Annotator: - |"
            )
        (folder / "res" / "Task1" / f"{topic.name}.annv3.txt").write_text(
            "\n".join(lines)
        )


def started(command: list[str]) -> None:
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--gold", type=Path, nargs="+", default=[ROOT / "examples" / "demo-season"]
    )
    parser.add_argument(
        "--stopwords", type=Path, help="without it the official ROUGE is not computed"
    )
    return parser.parse_args()


def scored(slug: str, rules: str, given: argparse.Namespace, run: Path) -> list[str]:
    command = [
        sys.executable,
        "-m",
        "scoring",
        "score",
        slug,
        "--rules",
        rules,
        "--run",
        str(run),
        "--json",
    ]
    command += ["--gold", *map(str, given.gold)]
    if given.stopwords and any(
        option.name == "stopwords" for option in task_type(slug).options
    ):
        command += ["--option", f"stopwords={given.stopwords}"]
    return command


def measured(
    slug: str, rules: str, given: argparse.Namespace, run: Path
) -> tuple[float, int]:
    start = time.perf_counter()
    done = subprocess.run(
        scored(slug, rules, given, run),
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return time.perf_counter() - start, json.loads(done.stdout)["gold"]["instances"]


if __name__ == "__main__":
    main()
