"""Score a run with other gold, rules or options, and do not store the scores."""

from collections.abc import Mapping
from contextlib import closing
from functools import partial
from typing import Any

from scoring.results.board.gold_keys import gold_key_options
from scoring.worker import child, local_copies
from scoring.worker.scorers import (
    POLL_SECONDS,
    SCORING_FAULT_MESSAGE,
    make_scorer,
    option_arguments,
    scoring_limits_for,
)
from tasks.jobs import interruptions
from tasks.models import Gold, Submission


def dry_score(run: Submission, scoring: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the scores of a run by metric, without storing the scores. Raises the
    exception of the scorer if the run cannot be scored.
    """
    with closing(make_scorer()) as scorer:
        command = child.ScorerCommand(
            [
                "score",
                scoring["type"],
                f"--gold={local_copies.local_copy_of_stored_gold(scoring['gold'])}",
                *_gold_key_options(scoring),
                f"--rules={scoring['rules']}",
                f"--run={local_copies.run_copy(run, scorer.folder)}",
                f"--run-name={run.filename}",
                f"--statistics={scorer.folder / 'dry.npz'}",
                *option_arguments(scoring["options"]),
            ],
            doing="Scoring",
            fault=SCORING_FAULT_MESSAGE,
            refused=partial(child.failure_of_problems, run_name=run.filename),
        )
        scorer.begin(command, scoring_limits_for(run.phase.task))
        while not scorer.ended(within=POLL_SECONDS):
            interruptions.raise_if_stop_requested()
        for result in scorer.results():
            metrics: Mapping[str, Any] = result["metrics"]
            return metrics
        raise scorer.verdict(scoring["rules"])


def _gold_key_options(scoring: Mapping[str, Any]) -> list[str]:
    gold = Gold.objects.filter(file=scoring["gold"]).order_by("number").last()
    return (
        [f"--reading={scoring.get('reading', 1)}"]
        if gold is None
        else gold_key_options(gold)
    )
