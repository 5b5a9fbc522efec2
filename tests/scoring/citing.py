"""A phase whose runs are scored by labels that the site keeps, as small as it can be."""

import hashlib
import json
from pathlib import Path

import pytest

from scoring.worker.score import score
from tasks.gold.gold_files import load_gold
from tasks.models import Gold, Job, Phase, Submission
from tests import factories
from tests.tasks.types.citations import RAIN, WIND, write_gold, write_parses

MODEL = "tiny@0123456789ab"
OSLO, ROME, WINDY = (
    "Title: Oslo\nIt rains in Oslo.",
    "Title: Rome\nRome is dry.",
    "Title: Wind\nWind is air that moves.",
)
#: What is asked of the run below: over claims without, over sentences with a full stop.
CLAIM, SENTENCE = "It rains in Oslo", "It rains in Oslo."
PAIRS = tuple(
    (premise, hypothesis)
    for hypothesis in (CLAIM, SENTENCE)
    for premise in (f"{OSLO}\n{ROME}", OSLO, ROME)
)
OUTPUT = f"{CLAIM} [1][2]."


def citing_phase(
    folder: Path,
    *questions: dict,
    organiser=None,
    entailment: str = f"store:{MODEL}",
    **fields,
) -> Phase:
    folder.mkdir(exist_ok=True)
    parses = write_parses(folder, CLAIM, "Wind is air that moves", "Rome is dry")
    task = factories.make_task(
        season=factories.make_season(organiser=organiser),
        type="positional-citations",
        rules=["corrected"],
        options={"parser": str(parses), "entailment": entailment},
    )
    phase = factories.make_phase(task=task, with_gold=False, **fields)
    citing_gold(phase, folder, *questions)
    return phase


def citing_gold(phase: Phase, folder: Path, *questions: dict) -> Gold:
    path = write_gold(folder, *(questions or (RAIN,)))
    return load_gold(
        task=phase.task, split=phase.split, paths=[path], reason="for tests"
    )[0]


def citing_run(phase: Phase, *outputs: str, **fields) -> Submission:
    """A run with an output for each question."""
    records = [
        {"id": question["id"], "output": output}
        for question, output in zip((RAIN, WIND), outputs or (OUTPUT,), strict=False)
    ]
    return factories.make_submission(
        phase=phase, content=factories.run_bytes(records), **fields
    )


def entailment_label(premise: str, hypothesis: str, entailed: int, **more) -> dict:
    digest = hashlib.sha256(premise.encode()).hexdigest()
    return {
        "premise_sha256": digest,
        "hypothesis": hypothesis,
        "entailed": entailed,
        **more,
    }


def decided(
    *pairs: tuple[str, str], entailed=lambda premise: int("Oslo" in premise), **more
) -> list[dict]:
    """By default what speaks of Oslo entails."""
    return [
        entailment_label(
            premise, hypothesis, entailed(premise), **{"model": MODEL, **more}
        )
        for premise, hypothesis in pairs or PAIRS
    ]


def write_lines(path: Path, lines: list) -> Path:
    path.write_text(
        "".join(
            f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines
        )
    )
    return path


def score_queued() -> None:
    """Score all queued runs until none is left."""
    for _round in range(20):
        jobs = list(
            Job.objects.filter(state=Job.State.QUEUED, kind=Job.Kind.SCORE).order_by(
                "pk"
            )
        )
        if not jobs:
            return
        for job in jobs:
            job.refresh_from_db()
            if job.state == Job.State.QUEUED:
                score(job.pk)
    pytest.fail("jobs do not end")
