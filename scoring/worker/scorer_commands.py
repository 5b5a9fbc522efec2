"""What a scorer's process is sent to do for a job, with gold and run on this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from scoring.metrics.entailment.labels import stored_model
from scoring.tools.baselines import baseline
from scoring.worker.child import Order, RunFailed, ScorerCommand, refusal
from scoring.worker.entailment_labels import local_options
from scoring.worker.local_copies import gold_copy, inputs_copy, run_copy
from tasks.jobs import leases
from tasks.models import Job, Submission
from tasks.submissions.run_card import as_warnings
from tasks.types import Problem
from tasks.types.problems import capped

#: The run of a built-in baseline, in the folder of the process that computes it.
WRITTEN = "written.jsonl"


@dataclass(frozen=True, kw_only=True)
class Writing:
    """One run of a built-in baseline, from the public inputs or, where it learns from it, the gold."""

    name: str
    source: Path
    out: Path
    options: Mapping[str, str]
    doing: str = "Computing the baseline"
    fault: str = "The baseline failed by a fault of its own; the log says what happened."

    def arguments(self, statistics: Path) -> list[str]:
        """A run that is written has no statistics yet."""
        given = [f"--gold={self.source}", f"--out={self.out}"]
        options = [f"--option={name}={value}" for name, value in self.options.items()]
        return ["baseline", self.name, *given, *options, "--progress", "--json"]

    def refused(self, problems: Sequence[Mapping[str, Any]], more: int) -> RunFailed:
        found = str(problems[0]["message"]) if problems else "it cannot read the files of this phase"
        return RunFailed(f"The baseline could not be computed: {found}.")


@dataclass(frozen=True, kw_only=True)
class HumanLine:
    """All annotators, each against the others, scored as one run."""

    task_type: str
    gold: Path
    rules: str
    options: Mapping[str, str]
    doing: str = "Scoring"
    fault: str = "The human line could not be scored by a fault of the scorer; the log says what happened."

    def arguments(self, statistics: Path) -> list[str]:
        return [
            "papers",
            "human-line",
            self.task_type,
            f"--gold={self.gold}",
            f"--rules={self.rules}",
            *(f"--option={name}={value}" for name, value in self.options.items()),
            f"--statistics={statistics}",
            "--progress",
            "--json",
        ]

    def refused(self, problems: Sequence[Mapping[str, Any]], more: int) -> RunFailed:
        found = str(problems[0]["message"]) if problems else "the gold does not allow it"
        return RunFailed(f"The human line cannot be scored: {found}.")


def scorer_command(job: Job, folder: Path) -> ScorerCommand:
    """By the job's step. Raises RunFailed or ScorerWaits where the files cannot be had."""
    submission = job.submission
    task_type = submission.phase.task.type
    if job.step == Job.Step.WRITE:
        chosen = baseline(submission.built_in)
        source = gold_copy(job.gold) if chosen.learns_from_gold else inputs_copy(job.gold)
        options = {
            option.name: job.options[option.name] for option in chosen.options if option.name in job.options
        }
        return Writing(name=chosen.name, source=source, out=folder / WRITTEN, options=options)
    gold = gold_copy(job.gold)
    if submission.kind == Submission.Kind.HUMAN:
        return HumanLine(task_type=task_type, gold=gold, rules=job.rules, options=job.options)
    run, name = run_copy(submission, folder), submission.filename
    if job.step == Job.Step.CHECK:
        return Check(task_type=task_type, gold=gold, run=run, run_name=name, options=job.options)
    return Order(
        task_type=task_type,
        gold=gold,
        run=run,
        run_name=name,
        rules=job.rules,
        options=local_options(job, folder),
        stops_at_pending=stored_model(job.options) is not None,
    )


@dataclass(frozen=True, kw_only=True)
class Check:
    """One check of one run; ``run_name`` is what its team calls the file."""

    task_type: str
    gold: Path
    run: Path
    run_name: str
    options: Mapping[str, str]
    doing: str = "Checking"
    fault: str = (
        "The check of this run failed by a fault of its own. Your file need not be at fault: "
        "the organisers can see what happened and have the run checked again."
    )

    def arguments(self, statistics: Path) -> list[str]:
        """A check keeps no statistics."""
        return [
            "check",
            self.task_type,
            f"--gold={self.gold}",
            f"--run={self.run}",
            f"--run-name={self.run_name}",
            *(f"--option={name}={value}" for name, value in self.options.items()),
            "--progress",
            "--json",
        ]

    def refused(self, problems: Sequence[Mapping[str, Any]], more: int) -> RunFailed:
        return refusal(problems, more, self.run_name)


def accept(job: Job, result: Mapping[str, Any]) -> bool:
    """Queue what can be scored, with the warnings of its check; False if the job is not ours any more."""
    name = job.submission.filename
    found = [Problem(**warning) for warning in result["warnings"]]
    named = [problem if problem.file else replace(problem, file=name) for problem in found]
    return leases.accept(job, as_warnings(*capped(named)))
