"""A run of 14,000 instances with ROUGE, intervals and breakdowns: through the site, and step by step.

First as its team sends it: checked, queued, scored by the worker's confined child, whose peak memory is told,
and its page beside that of a run of 40 instances. Then what a scorer spends on each step, in a process of its
own.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from measuring import ROOT, Measurements, Row

sys.path.insert(0, str(ROOT / "bench" / "faults"))

from house import set_up

from tests.scoring.texts import related_pairs

INSTANCES, WORDS = 14_000, 35
FEW = 40
PAGES = 30  # looks at each page
METRICS = [
    (kind, is_stemmed) for kind in ("1", "2", "l") for is_stemmed in (False, True)
]
DIMENSIONS = {"dataset": 5, "cited papers": 8, "length": 4, "intent": 6, "topic": 200}


def main() -> None:
    measured = Measurements(
        "large_run", "A run of 14,000 instances", ("numpy", "rapidfuzz", "Django")
    )
    through_the_site(measured)
    with tempfile.TemporaryDirectory() as folder:
        write_texts(Path(folder))
        start = time.perf_counter()
        told = subprocess.run(
            [sys.executable, __file__, "--child", folder],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        whole = time.perf_counter() - start
    for line in told.splitlines():
        name, _, seconds = line.rpartition("\t")
        measured.add(Row(what=name, ours=float(seconds)))
    measured.add(Row(what="all steps, in a process of their own", ours=whole))
    measured.keep()


def through_the_site(measured: Measurements) -> None:
    """Seconds by the clock: of sending, of scoring, of looking at the page."""
    set_up()
    large, sending, scoring, spent = sent_and_scored(INSTANCES)
    measured.add(
        Row(what="checking, storing and queueing it, as its sender waits", ours=sending)
    )
    measured.add(
        Row(what="the worker, from the claim to the scores", ours=scoring, note=spent)
    )
    small = sent_and_scored(FEW)[0]
    look_at_pages(measured, large, small)


def sent_and_scored(instances: int) -> tuple[object, float, float, str]:
    """A run with as many instances; seconds for sending it and scoring it, and what its scorer used."""
    from scoring.worker.score import score
    from tests.factories import make_phase, make_submission, make_task

    phase = make_phase(
        task=make_task(type="citation-text", rules=["corrected"]), with_gold=False
    )
    with tempfile.TemporaryDirectory() as folder:
        run = write_benchmark(phase, Path(folder), instances)
    began = time.perf_counter()
    submission = make_submission(phase=phase, content=run)
    sending = time.perf_counter() - began
    began = time.perf_counter()
    score(submission.jobs.get().pk)
    scoring = time.perf_counter() - began
    submission.refresh_from_db()
    assert submission.status == "scored", submission.reason
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = f"its scorer: {submission.evaluations.get().seconds:.1f} s, {usage.ru_maxrss / 1024:.0f} MB at most"  # noqa: E501
    return submission, sending, scoring, spent


def write_benchmark(phase: object, folder: Path, instances: int) -> bytes:
    """Loads gold of five data sets and returns a run for it."""
    from tasks.gold.gold_files import load_gold

    rng = random.Random(3)
    lines = []
    with (folder / "instances.jsonl").open("w") as file:
        for number, (gold, answer) in enumerate(related_pairs(rng, instances, WORDS)):
            name = f"set{number % 5}-{number:05}"
            known = {
                "id": name,
                "dataset": f"set{number % 5}",
                "input": ["An abstract of a cited paper."],
            }
            file.write(json.dumps({**known, "target": gold}) + "\n")
            lines.append(json.dumps({"id": name, "prediction": answer}) + "\n")
    load_gold(
        task=phase.task,
        split=phase.split,
        paths=[folder / "instances.jsonl"],
        reason="bench",
    )
    return "".join(lines).encode()


def look_at_pages(measured: Measurements, large: object, small: object) -> None:
    from django.core.management import call_command
    from django.test import Client

    call_command("collectstatic", interactive=False, verbosity=0)

    def page_of(submission: object) -> Callable[[], object]:
        client = Client(SERVER_NAME="localhost")
        client.force_login(submission.submitted_by)
        answer = client.get(f"/submissions/{submission.pk}/")
        assert answer.status_code == 200, answer.status_code
        return lambda: client.get(f"/submissions/{submission.pk}/")

    measured.compare(
        "its page (the ratio: how many times longer the small one's takes)",
        page_of(large),
        page_of(small),
        against=f"the page of a run of {FEW}",
        repeats=PAGES,
    )


def write_texts(folder: Path) -> None:
    rng = random.Random(3)
    with (folder / "texts.jsonl").open("w") as file:
        for number, (gold, answer) in enumerate(related_pairs(rng, INSTANCES, WORDS)):
            classes = {
                name: f"{name} {rng.randrange(count)}"
                for name, count in DIMENSIONS.items()
            }
            file.write(
                json.dumps(
                    {"id": f"i{number}", "gold": gold, "answer": answer, **classes}
                )
                + "\n"
            )


def child(folder: Path) -> None:
    """What the worker's child does with a run, and how long each step takes."""
    from scoring.offline.evaluate import (
        IntervalSettings,
        evaluate_pairs,
        save_statistics,
    )
    from tasks.types import Pairs

    clock = Clock()
    with (folder / "texts.jsonl").open() as file:
        records = [json.loads(line) for line in file]
    pairs = Pairs(
        gold=[record["gold"] for record in records],
        answers=[record["answer"] for record in records],
        units=[record["id"] for record in records],
        features={name: [(record[name],) for record in records] for name in DIMENSIONS},
    )
    clock.say("reading gold and run")
    classes = sum(DIMENSIONS.values())
    for resamples, what in (
        (0, f"{len(METRICS)} metrics and {classes} classes, without intervals"),
        (1000, "the same once more, with intervals of 1,000 resamples"),
    ):
        scores = evaluate_pairs(
            task_type(),
            pairs,
            rules="corrected",
            options={},
            gold="0" * 64,
            resampling=IntervalSettings(resamples=resamples, method="percentile"),
        )
        clock.say(what)
    save_statistics(folder / "statistics.npz", scores, pairs)
    clock.say(
        f"keeping the statistics, {(folder / 'statistics.npz').stat().st_size / 1e6:.1f} MB"
    )


class Clock:
    def __init__(self) -> None:
        self.last = time.perf_counter()

    def say(self, what: str) -> None:
        now = time.perf_counter()
        print(f"{what}\t{now - self.last}")
        self.last = time.perf_counter()


def task_type():  # noqa: ANN201
    from tasks.types import MetricRef, TaskType

    def unread(*_: object) -> None:
        raise NotImplementedError("the texts are made up")

    def rouge(kind: str, is_stemmed: bool) -> MetricRef:
        name = f"rouge_{kind}_f1{'_stemmed' if is_stemmed else ''}"
        given = {"kind": kind, "part": "f1", "is_stemmed": is_stemmed}
        return MetricRef(name, "scoring.metrics.rouge:Rouge", given)

    return TaskType(
        slug="large",
        title="Large",
        rules={"corrected": tuple(rouge(*metric) for metric in METRICS)},
        dimensions=tuple(DIMENSIONS),
        read_gold=unread,
        read_inputs=unread,
        read_run=unread,
        pair=unread,
        public_files=unread,
        is_gold_file=unread,
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(Path(sys.argv[2]))
    else:
        main()
