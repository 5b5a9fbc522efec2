"""Score a run with other gold, rules or options, and do not store the scores."""

from collections.abc import Mapping
from contextlib import closing
from functools import partial
from typing import Any

from scoring.results.board.gold_keys import build_gold_key_options
from scoring.worker import child, local_copies
from scoring.worker.scorers import (
    SCORER_POLL_SECONDS,
    SCORING_FAULT_MESSAGE,
    build_option_arguments,
    build_scoring_limits,
    create_scorer_process,
)
from tasks.jobs import interruptions
from tasks.models import Gold, Submission


def compute_scores_without_storing(
    run: Submission, scoring: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Return the scores of a run by metric, without storing the scores. Raises the
    exception of the scorer if the run cannot be scored.
    """
    with closing(create_scorer_process()) as scorer:
        command = child.ScorerCommand(
            [
                "score",
                scoring["type"],
                f"--gold={local_copies.get_or_make_copy_of_stored_gold(scoring['gold'])}",
                *_build_gold_key_options(scoring),
                f"--rules={scoring['rules']}",
                f"--run={local_copies.copy_run_file_to_folder(run, scorer.folder)}",
                f"--run-name={run.filename}",
                f"--statistics={scorer.folder / 'dry.npz'}",
                *build_option_arguments(scoring["options"]),
            ],
            doing="Scoring",
            fault=SCORING_FAULT_MESSAGE,
            refused=partial(child.build_failure_from_problems, run_name=run.filename),
        )
        scorer.start_command(command, build_scoring_limits(run.phase.task))
        while not scorer.wait_for_end(within=SCORER_POLL_SECONDS):
            interruptions.raise_if_stop_requested()
        for result in scorer.results():
            metrics: Mapping[str, Any] = result["metrics"]
            return metrics
        raise scorer.verdict(scoring["rules"])


def _build_gold_key_options(scoring: Mapping[str, Any]) -> list[str]:
    gold = Gold.objects.filter(file=scoring["gold"]).order_by("number").last()
    return (
        [f"--reading={scoring.get('reading', 1)}"]
        if gold is None
        else build_gold_key_options(gold)
    )
