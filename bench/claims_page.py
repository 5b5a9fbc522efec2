"""The CPU of a page of the claim inspector, of a run of 1,000 responses beside one of 50.

Usage: python bench/claims_page.py [--responses N] [--few N]

The responses have five sentences with two marks each, and passages of a hundred words. Parses are flat and
entailment is the stand-in for tests; what a page shows is as long as for a run of a model. It ends with 1
where a page of the large run costs more than twice as much as one of the small run.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "faults"))

from house import set_up

SENTENCES, PASSAGES, WORDS = 5, 5, 100
AT_MOST, TIMES = 2.0, 9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--responses", type=int, default=1000)
    parser.add_argument("--few", type=int, default=50)
    given = parser.parse_args()
    folder = set_up()
    from django.core.management import call_command

    call_command("collectstatic", verbosity=0, interactive=False)
    small, large = (pages(folder, number) for number in (given.few, given.responses))
    print(f"{'ms of CPU':>12}{given.few:>10,}{given.responses:>10,}{'ratio':>8}")
    worst = 0.0
    for name in small:
        ratio = large[name] / small[name]
        worst = max(worst, ratio)
        print(
            f"{name:>12}{1e3 * small[name]:>10.1f}{1e3 * large[name]:>10.1f}{ratio:>8.2f}"
        )
    sys.exit(worst > AT_MOST)


def pages(folder: Path, responses: int) -> dict[str, float]:
    """Seconds of CPU for the first page, the last one, and one that is found by a response's name."""
    from django.test import Client

    from scoring.results.runs.claims import RESPONSES_PER_PAGE

    run = scored(folder / str(responses), responses)
    client = Client(HTTP_HOST="localhost")
    client.force_login(run.submitted_by)
    last = {"page": -(-responses // RESPONSES_PER_PAGE)}
    asked = {"first": {}, "last": last, "by name": {"id": f"q{responses - 1}"}}
    return {
        name: cpu(client, f"/submissions/{run.pk}/claims/", query)
        for name, query in asked.items()
    }


def cpu(client: object, address: str, query: dict) -> float:
    found = []
    for _ in range(TIMES + 1):
        begun = time.process_time()
        response = client.get(address, query)
        found.append(time.process_time() - begun)
        assert response.status_code == 200, response.status_code
    return statistics.median(found[1:])


def scored(folder: Path, responses: int) -> object:
    from scoring.worker.score import score
    from tests import factories
    from tests.scoring.citing import citing_gold
    from tests.tasks.types.citations import write_parses

    folder.mkdir()
    draw = random.Random(responses)
    outputs = {
        f"q{number}": [words(draw, 20) for _ in range(SENTENCES)]
        for number in range(responses)
    }
    parses = write_parses(folder, *{text for own in outputs.values() for text in own})
    task = factories.make_task(
        season=factories.make_season(organiser=factories.make_user()),
        type="positional-citations",
        rules=["corrected"],
        options={"parser": str(parses), "entailment": "word-overlap"},
    )
    phase = factories.make_phase(task=task, with_gold=False)
    citing_gold(phase, folder, *(question(draw, name) for name in outputs))
    records = [
        {"id": name, "output": " ".join(f"{text} [1][2]." for text in own)}
        for name, own in outputs.items()
    ]
    run = factories.make_submission(phase=phase, content=factories.run_bytes(records))
    for job in run.jobs.all():
        score(job.pk)
    return run


def question(draw: random.Random, name: str) -> dict:
    docs = [
        {"title": f"Passage {n}", "text": f"{words(draw, WORDS)}."}
        for n in range(PASSAGES)
    ]
    return {
        "id": name,
        "dataset": "made up",
        "question": f"What of {name}?",
        "docs": docs,
        "answer": "That.",
    }


def words(draw: random.Random, number: int) -> str:
    """Beginning with a capital, as a sentence does."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    found = (
        "".join(draw.choices(letters, k=draw.randint(2, 9))) for _ in range(number)
    )
    return " ".join(found).capitalize()


if __name__ == "__main__":
    main()
