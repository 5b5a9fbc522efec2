"""Score a run with other gold, rules or options, and do not store the scores."""

from collections.abc import Mapping
from contextlib import closing
from functools import partial
from typing import Any

from scoring.results.board.gold_keys import key_arguments
from scoring.worker import child, local_copies
from scoring.worker.scorers import (
    POLL_SECONDS,
    SCORING_FAULT,
    limits_for,
    option_arguments,
    ready_scorer,
)
from tasks.jobs import interruptions
from tasks.models import Gold, Submission


def dry_score(run: Submission, scoring: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the scores of a run by metric, without storing the scores. Raises the
    exception of the scorer if the run cannot be scored.
    """
    with closing(ready_scorer()) as scorer:
        command = child.ScorerCommand(
            [
                "score",
                scoring["type"],
                f"--gold={local_copies.stored_gold(scoring['gold'])}",
                *_key_of(scoring),
                f"--rules={scoring['rules']}",
                f"--run={local_copies.run_copy(run, scorer.folder)}",
                f"--run-name={run.filename}",
                f"--statistics={scorer.folder / 'dry.npz'}",
                *option_arguments(scoring["options"]),
            ],
            doing="Scoring",
            fault=SCORING_FAULT,
            refused=partial(child.refusal, run_name=run.filename),
        )
        scorer.begin(command, limits_for(run.phase.task))
        while not scorer.ended(within=POLL_SECONDS):
            interruptions.check()
        for result in scorer.results():
            metrics: Mapping[str, Any] = result["metrics"]
            return metrics
        raise scorer.verdict(scoring["rules"])


def _key_of(scoring: Mapping[str, Any]) -> list[str]:
    gold = Gold.objects.filter(file=scoring["gold"]).order_by("number").last()
    return (
        [f"--reading={scoring.get('reading', 1)}"]
        if gold is None
        else key_arguments(gold)
    )
