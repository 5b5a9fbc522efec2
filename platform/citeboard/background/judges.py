"""The background job that asks an LLM judge or estimates the cost."""

from citeboard.background.kinds import Outcome
from scoring.models import BackgroundJob
from scoring.worker.judge_jobs import estimated, judged
from scoring.worker.judging import ask_for_judging


def prepared_judging(job: BackgroundJob) -> Outcome:
    if job.given.get("dry_run"):
        estimate = estimated(job)
        return Outcome(lambda: estimate)
    done = judged(job)

    def ask_again() -> None:
        # Runs that began to wait just before the job's end need another judging job.
        if done.has_more():
            ask_for_judging(done.row)

    return Outcome(lambda: done.numbers, after=ask_again)
