"""What a scorer's process is sent to do for a job, with gold and run on this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from scoring.metrics.entailment import stored_model
from scoring.tools.baselines import baseline
from scoring.worker.child import PENDING, STATISTICS, RunFailed, ScorerCommand, refusal
from scoring.worker.entailment_labels import local_options
from scoring.worker.local_copies import gold_copy, inputs_copy, run_copy
from tasks.models import Job, Submission

#: The run of a built-in baseline, in the folder of the process that computes it.
WRITTEN = "written.jsonl"

SCORING_FAULT = (
    "The scorer failed on this run by a fault of its own. Your file need not be at fault: "
    "the organisers can see what happened and score the run again."
)
CHECK_FAULT = (
    "The check of this run failed by a fault of its own. Your file need not be at fault: "
    "the organisers can see what happened and have the run checked again."
)


def scorer_command(job: Job, folder: Path) -> ScorerCommand:
    """By the job's step. Raises RunFailed or ScorerWaits where the files cannot be had."""
    submission = job.submission
    task_type = submission.phase.task.type
    if job.step == Job.Step.WRITE:
        chosen = baseline(submission.built_in)
        source = gold_copy(job.gold) if chosen.learns_from_gold else inputs_copy(job.gold)
        wanted = [option.name for option in chosen.options if option.name in job.options]
        options = _options({name: job.options[name] for name in wanted})
        what, otherwise = "The baseline could not be computed", "it cannot read the files of this phase"
        return ScorerCommand(
            ["baseline", chosen.name, f"--gold={source}", f"--out={folder / WRITTEN}", *options],
            doing="Computing the baseline",
            fault="The baseline failed by a fault of its own; the log says what happened.",
            refused=partial(_impossible, what, otherwise),
        )
    gold = f"--gold={gold_copy(job.gold)}"
    rules, statistics = f"--rules={job.rules}", f"--statistics={folder / STATISTICS}"
    if submission.kind == Submission.Kind.HUMAN:
        return ScorerCommand(
            ["papers", "human-line", task_type, gold, rules, *_options(job.options), statistics],
            doing="Scoring",
            fault="The human line could not be scored by a fault of the scorer; the log says what happened.",
            refused=partial(_impossible, "The human line cannot be scored", "the gold does not allow it"),
        )
    name = submission.filename
    files = [task_type, gold, f"--run={run_copy(submission, folder)}", f"--run-name={name}"]
    refused = partial(refusal, run_name=name)
    if job.step == Job.Step.CHECK:
        arguments = ["check", *files, *_options(job.options)]
        return ScorerCommand(arguments, doing="Checking", fault=CHECK_FAULT, refused=refused)
    arguments = ["score", *files, rules, *_options(local_options(job, folder)), statistics]
    if stored_model(job.options) is not None:
        arguments.append(f"--pending={folder / PENDING}")
    return ScorerCommand(arguments, doing="Scoring", fault=SCORING_FAULT, refused=refused)


def _options(options: Mapping[str, str]) -> list[str]:
    return [f"--option={name}={value}" for name, value in options.items()]


def _impossible(what: str, otherwise: str, problems: Sequence[Mapping[str, Any]], more: int) -> RunFailed:
    return RunFailed(f"{what}: {problems[0]['message'] if problems else otherwise}.")
