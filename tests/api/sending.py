"""Sending runs as a program does, and scoring them as a worker does, in this process."""

import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile

from scoring.offline.parts import parse_part
from scoring.offline.scoring import ScoringRequest, score as score_offline
from scoring.results.board.gold_keys import build_gold_key
from scoring.worker.gathering import start_judgement_collection
from scoring.worker.local_copies import (
    copy_run_file_to_folder,
    get_or_make_local_gold_copy,
)
from scoring.worker.publishing import store_statistics_file
from scoring.worker.recording import record_scores
from scoring.worker.release import find_part_scored_now, select_published_scores
from tasks.jobs.engine import claim_job
from tasks.jobs.leases import complete_job
from tasks.models import Job, Phase, Submission
from tasks.types.problems import JudgementsPending
from tests.api.conftest import API
from tests.factories import run_bytes


def run_file(
    content: bytes | None = None, name: str = "run.jsonl"
) -> SimpleUploadedFile:
    return SimpleUploadedFile(name, run_bytes() if content is None else content)


def send(client, phase: Phase, content: bytes | None = None, *, headers=None, **fields):
    form = {"run": run_file(content), "system": "A system", **fields}
    given = {name: value for name, value in form.items() if value is not None}
    return client.post(f"{API}/phases/{phase.pk}/submissions/", given, headers=headers)


def check(client, phase: Phase, content: bytes | None = None, **fields):
    return client.post(
        f"{API}/phases/{phase.pk}/check/", {"run": run_file(content), **fields}
    )


def content(response) -> bytes:
    """All of the answer; a file that is sent is closed at its end."""
    return (
        b"".join(response.streaming_content) if response.streaming else response.content
    )


def score(submission: Submission) -> dict[str, dict[str, Any]]:
    """Score every waiting job of the run and publish what came out; what the scorer printed, by rule set."""
    printed = {}
    for job_id in list(
        submission.jobs.filter(state="queued").values_list("pk", flat=True)
    ):
        job = claim_job(job_id, "this test")
        assert job is not None
        with tempfile.TemporaryDirectory() as folder:
            result = _scored(job, Path(folder))
            told = select_published_scores(job, result, Path(folder) / "statistics.npz")
            name = store_statistics_file(job, Path(folder) / "statistics.npz")
            answers = sha256((Path(folder) / "statistics.npz").read_bytes()).hexdigest()
        printed[job.rules] = result
        assert complete_job(
            job, _recorder(job, result, statistics=name, told=told, answers=answers)
        )
    submission.refresh_from_db()
    return printed


def _scored(job: Job, folder: Path) -> dict[str, Any]:
    """Score the job; once more with the judgements that the first scorer lacked."""
    task_type, gathered = (
        job.submission.phase.task.task_type,
        start_judgement_collection(job),
    )
    part, pending = find_part_scored_now(job.submission.phase), folder / "pending.jsonl"
    run = copy_run_file_to_folder(job.submission, folder)
    for is_last in (gathered is None, True):
        options = gathered.options(folder) if gathered else job.options
        try:
            return score_offline(
                ScoringRequest(
                    task_type=task_type,
                    gold=[get_or_make_local_gold_copy(job.gold)],
                    run=run,
                    rules=job.rules,
                    options=task_type.validate_options(options),
                    resamples=50,
                    statistics=folder / "statistics.npz",
                    part=parse_part(part) if part else None,
                    key=build_gold_key(job.gold),
                    pending=pending if gathered else None,
                )
            )
        except JudgementsPending:
            assert not is_last
            assert gathered.add(pending)
    raise AssertionError("the last scorer lacks no judgement")


def _recorder(job, result, **facts):
    return lambda: record_scores(job=job, result=result, seconds=0.1, **facts)
