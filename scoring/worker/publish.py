"""What is done with what a scorer has found, by the step of its job: all of it in the end, or nothing."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from django.core.files.base import File
from django.db import transaction
from django.utils import timezone

from citeboard.core import storage
from scoring.board import comparison_state as board_orders
from scoring.board.comparisons import forget_comparisons
from scoring.models import Breakdown, Evaluation, Score, Signature, save_breakdowns
from scoring.stats.signature import ENTAILMENT_LABELS, provenance_of, shared_form
from scoring.worker.baseline_runs import keep_written
from scoring.worker.child import Scorer, ScorerDied
from scoring.worker.interruptions import retry_on_database_error
from scoring.worker.local_copies import forget_gold, storage_in_use
from scoring.worker.scorer_commands import WRITTEN
from tasks.jobs import leases
from tasks.models import Job, Submission
from tasks.submissions.run_card import as_warnings
from tasks.types import Problem
from tasks.types.problems import capped


def publish(job: Job, scorer: Scorer, result: Mapping[str, Any], seconds: float) -> bool:
    if job.step == Job.Step.WRITE:
        return keep_written(job, scorer.folder / WRITTEN, str(result.get("rests_on", "")))
    if result["gold"]["sha256"] != job.gold.digest:
        forget_gold(job.gold)
        raise ScorerDied("The gold that the scorer read is not the gold of this phase.")
    if job.step == Job.Step.CHECK:
        # Queue what can be scored, with the warnings of the check.
        problems = [Problem(**warning) for warning in result["warnings"]]
        named = [own if own.file else replace(own, file=job.submission.filename) for own in problems]
        return retry_on_database_error(leases.accept, job, as_warnings(*capped(named)))
    name = keep_statistics(job, scorer.statistics)
    is_published = False
    try:
        record = partial(record_scores, job=job, result=result, statistics=name, seconds=seconds)
        is_published = retry_on_database_error(leases.complete, job, record)
    finally:
        if not is_published:
            retry_on_database_error(discard_statistics, name)
    return is_published


def keep_statistics(job: Job, path: Path) -> str:
    # No name is ever used for other content, so that whoever copies files by name has what a row meant.
    name = f"{job.submission_id}/job-{job.pk}-{job.attempt}-{secrets.token_hex(4)}.npz"
    with storage_in_use(), path.open("rb") as content:
        return storage.statistics.save(name, File(content))


def discard_statistics(name: str) -> None:
    """Remove what no evaluation names: a commit may have succeeded although its answer was lost."""
    if not Evaluation.objects.filter(statistics=name).exists():
        storage.statistics.delete(name)


def record_scores(*, job: Job, result: Mapping[str, Any], statistics: str, seconds: float) -> Evaluation:
    """Replace what is known of the job's scoring, in the transaction that ends the job."""
    submission, metrics = job.submission, result["metrics"]
    same: dict[str, Any] = {
        "submission": submission,
        "gold": job.gold,
        "rules": job.rules,
        "options_digest": job.options_digest,
    }
    before = _numbers_of(same)
    # Its team may have merged into another while the run was scored.
    teams = Submission.objects.select_for_update().filter(pk=submission.pk).values_list("team_id", flat=True)
    provenance = [provenance_of(said["signature"]) for said in metrics.values()]
    digests = (own.get(ENTAILMENT_LABELS) for own in provenance)
    missing = provenance[0].get("missing", "")
    evaluation, is_new = Evaluation.objects.update_or_create(
        **same,
        defaults={
            "options": job.options,
            "phase_id": submission.phase_id,
            "team_id": teams.get(),
            "rank_value": rank_value(metrics),
            "submitted_at": submission.submitted_at,
            "statistics": statistics,
            "run_sha256": result["run"]["sha256"],
            "notes": result["notes"],
            "missing": int(missing) if missing.isdecimal() else None,
            "labels_digest": next((digest for digest in digests if digest), ""),
            "seconds": seconds,
            "attempt": job.attempt,
            "has_class_intervals": False,
        },
    )
    evaluation.scores.all().delete()
    evaluation.breakdowns.all().delete()
    save_scores(evaluation, metrics)
    breakdowns = result["breakdowns"].items()
    save_breakdowns([Breakdown.of(evaluation, *said) for said in breakdowns if any(said[1].values())])
    if not is_new and _numbers_of(same) != before:
        Evaluation.objects.filter(pk=evaluation.pk).update(replaced_at=timezone.now())
    forget_comparisons(evaluation)

    def forget_earlier_attempts() -> None:
        folder, _, kept = statistics.partition("/")
        job_prefix = "-".join(kept.split("-")[:2])
        for other in storage.statistics.listdir(folder)[1]:
            if other != kept and other.startswith(f"{job_prefix}-"):
                storage.statistics.delete(f"{folder}/{other}")

    transaction.on_commit(forget_earlier_attempts, robust=True)
    transaction.on_commit(lambda: board_orders.ask(evaluation.phase_id, evaluation.rules), robust=True)
    return evaluation


def _numbers_of(same: Mapping[str, Any]) -> set[tuple[Any, ...]]:
    scores = Score.objects.filter(**{f"evaluation__{name}": own for name, own in same.items()}).order_by()
    return set(scores.values_list("shared_id", "value", "is_infinite", "low", "high", "n"))


def rank_value(metrics: Mapping[str, Mapping[str, Any]]) -> float | None:
    """The first metric's value, turned so that higher is better; None where it is undefined or infinite."""
    first = next(iter(metrics.values()))
    value: float | None = first["value"]
    if value is None:
        return None
    return -value if first["higher_is_better"] is False else value


def save_scores(evaluation: Evaluation, metrics: Mapping[str, Mapping[str, Any]]) -> None:
    signatures = [
        Signature(
            metric=name,
            column=said["column"],
            scale=float(0 if said.get("is_count") else said["scale"]),
            position=place,
            text=shared_form(said["signature"], evaluation.own_parts | {"n": said["n"]}),
        )
        for place, (name, said) in enumerate(metrics.items())
    ]
    keys = Signature.objects.ids_of(signatures)
    Score.objects.bulk_create(
        Score(
            evaluation=evaluation,
            shared_id=key,
            value=said["value"],
            is_infinite=said.get("infinite", False),
            low=said["low"],
            high=said["high"],
            n=said["n"],
        )
        for key, said in zip(keys, metrics.values(), strict=True)
    )
