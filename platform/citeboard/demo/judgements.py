"""Publish invented ratings of responses with positional citations.

The invented ratings resemble the ratings in Table 4 of Xu et al. (2025).
"""

import json
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from citeboard.demo.prepare import (
    DEMO_SEASON_SLUG,
    ORGANISER_ROLE,
    PRACTICE_PHASE_SLUG,
    call_when_sandbox_process_free,
    get_or_create_account,
)
from citeboard.demo.systems import SYSTEMS_BY_TASK, create_seeded_random
from scoring.human import claim_review
from scoring.models import HIGHEST_RATING, LOWEST_RATING, Evaluation, JudgedRun
from scoring.offline.evaluate import load_page_of_details
from scoring.results.board import comparisons
from scoring.results.board.snapshots import RUN_STATES_BEFORE_RESULT
from tasks.models import Submission

JUDGED_TASK_SLUG = "positional"
#: BIASES_BY_ANNOTATOR maps each annotator to the bias of the annotator's ratings.
BIASES_BY_ANNOTATOR = {"Annotator A": 0.2, "Annotator B": -0.2, "Annotator C": 0.0}
#: The demo checks every POLL_SECONDS seconds whether the workers have finished.
POLL_SECONDS = 2


def publish_judgements(*, patience: float = 0) -> bool:
    """Publish invented ratings of each team's run once the run has claims.

    Existing judgements of runs stay unchanged. Wait up to ``patience`` seconds for a
    worker to find the claims. Return False if a run of the demo still has no claims.
    """
    deadline = time.monotonic() + patience
    qualities = {
        system.name: system.quality for system in SYSTEMS_BY_TASK[JUDGED_TASK_SLUG]
    }
    while True:
        runs = Submission.objects.filter(
            phase__task__season__slug=DEMO_SEASON_SLUG,
            phase__task__slug=JUDGED_TASK_SLUG,
            phase__slug=PRACTICE_PHASE_SLUG,
            kind=Submission.Kind.PRIMARY,
            system__in=qualities,
        ).select_related("phase__task__season")
        waiting = runs.exclude(pk__in=JudgedRun.objects.values("submission"))
        # A worker may score a run while the loop publishes ratings of other runs.
        is_settled = not waiting.filter(status__in=RUN_STATES_BEFORE_RESULT).exists()
        for run in waiting.order_by("pk"):
            if evaluation := claim_review.find_evaluation_with_claims(run):
                _publish_claim_review(
                    run, _simulate_claim_ratings(run, evaluation, qualities[run.system])
                )
        if is_settled:
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)


def _publish_claim_review(
    run: Submission, ratings: Iterable[Mapping[str, Any]]
) -> None:
    organiser = get_or_create_account(ORGANISER_ROLE)
    lines = [json.dumps(rating) for rating in ratings]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "judgements.jsonl"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        claim_review.store_judgement_file(
            submission=run, path=path, filename=path.name, by=organiser
        )
    call_when_sandbox_process_free(
        claim_review.publish_judged_run, submission=run, by=organiser
    )


def _simulate_claim_ratings(
    run: Submission, evaluation: Evaluation, quality: float
) -> Iterator[dict[str, Any]]:
    with comparisons.open_statistics_file(evaluation) as kept:
        responses, _ = load_page_of_details(kept, 0, sys.maxsize)
    for name in sorted(dict(responses)):
        for annotator, bias in BIASES_BY_ANNOTATOR.items():
            drawn = create_seeded_random(annotator, run.system, name)
            utility = round(1.8 + 2.8 * quality + bias + drawn.gauss(0, 0.6))
            yield {
                "annotator": annotator,
                "id": name,
                "utility": min(HIGHEST_RATING, max(LOWEST_RATING, utility)),
                "citation_utility": int(drawn.random() < quality),
            }
