"""The background job that asks an LLM judge or estimates the cost."""

from citeboard.background.kinds import JobOutcome
from scoring.models import BackgroundJob
from scoring.worker.judge_jobs import ask_judge_for_job, estimate_judging_cost
from scoring.worker.judging import queue_judging_job


def prepare_judging(job: BackgroundJob) -> JobOutcome:
    if job.given.get("dry_run"):
        estimate = estimate_judging_cost(job)
        return JobOutcome(lambda: estimate)
    done = ask_judge_for_job(job)

    def queue_runs_awaiting_judge() -> None:
        # Runs that began to wait just before the job's end need another judging job.
        if done.has_more():
            queue_judging_job(done.row)

    return JobOutcome(lambda: done.numbers, after=queue_runs_awaiting_judge)
