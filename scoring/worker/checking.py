"""The check of a large run, in a job: the same process and limits as its scoring, and the same words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from scoring.worker.child import RunFailed, refusal
from tasks.jobs import leases
from tasks.models import Job
from tasks.submissions.run_card import as_warnings
from tasks.types import Problem
from tasks.types.problems import capped


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
