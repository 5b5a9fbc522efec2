"""Scoring a run: have a process of its own do it, and publish what came out."""

import hashlib
import json
import logging
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files.base import File
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from citeboard.core import storage
from citeboard.core.confined.limits import Limits
from citeboard.core.confinement import why_nothing_is_read
from citeboard.core.instruments import span
from scoring.metrics.entailment import stored_model
from scoring.models import (
    Breakdown,
    Comparison,
    Evaluation,
    Score,
    Signature,
    save_breakdowns,
)
from scoring.receipts.log import write_receipt
from scoring.results.board import comparison_state as board_orders
from scoring.stats.signature import ENTAILMENT_LABELS, provenance_of, shared_form
from scoring.tools.baselines import baseline
from scoring.worker import child, local_copies
from scoring.worker.baseline_runs import keep_written
from scoring.worker.entailment_labels import is_outdated, local_options, wait_for_labels
from scoring.worker.local_copies import stored_gold
from scoring.worker.release import Told, by_ladder, drawn_part, ranking_of, told_of
from tasks.jobs import engine, interruptions, leases
from tasks.jobs.interruptions import (
    DATABASE_ERRORS,
    default_on_database_error,
    retry_on_database_error,
)
from tasks.jobs.work import settle, take_job, take_jobs
from tasks.models import Job, Submission, Task
from tasks.models.declarations import may_be_run
from tasks.seasons.own_measures import tell_organisers
from tasks.submissions.refusals import RunRejected
from tasks.submissions.run_card import as_warnings
from tasks.submissions.submit import read_late
from tasks.types import Problem
from tasks.types.problems import capped

TICK = 0.25  # seconds between looks at the scorer
MAX_SILENCE = 2.0  # seconds between signs of life; a cancelled run ends within so many
log = logging.getLogger(__name__)

#: Wakes of earlier releases name them.
score_next, score = take_jobs, take_job


def score_run(job: Job) -> None:
    """The job with those of the run's other rule sets, in one process; each comes to an end of its own."""
    if undecided := why_nothing_is_read():
        raise child.ScorerWaits(f"{undecided[:1].upper()}{undecided[1:]}.")
    left = [job, *retry_on_database_error(leases.claim_others, job)]
    try:
        with closing(ready_scorer()) as scorer:
            try:
                with span("scorer", rule_sets=len(left)):
                    _score_and_publish(left, scorer)
            except interruptions.Stopping as reason:
                # Before the scorer says farewell, for which a group that ends does not wait.
                while left:
                    settle(left.pop(), reason)
    except DATABASE_ERRORS:
        raise
    except Exception as reason:  # noqa: BLE001  (whatever it is, the jobs say so)
        for unfinished in left:
            _settle(unfinished, reason)


def _score_and_publish(left: list[Job], scorer: child.Scorer) -> None:
    """Takes each job out of ``left`` that has come to its end. What is raised is the end of the others."""
    jobs = list(left)
    silent_since = began = time.monotonic()
    scorer.begin(
        scorer_command(jobs, scorer.folder),
        limits_for(jobs[0].submission.phase.task, len(jobs)),
    )
    has_ended = is_logged = False
    while not has_ended:
        has_ended = scorer.ended(within=TICK)
        if scorer.pid and not is_logged:
            is_logged = True
            for job in jobs:
                log.info(
                    "Job %s is scored by process %s",
                    job.pk,
                    scorer.pid,
                    extra=engine.described(job),
                )
        for result in scorer.results():
            # A process that has but one may say no rule set.
            for job in [
                job
                for job in left
                if len(jobs) == 1 or job.rules == result.get("rules")
            ]:
                left.remove(job)
                _publish_or_settle(job, scorer, result, time.monotonic() - began)
                began = time.monotonic()
                scorer.begin_step()
        interruptions.check()
        if time.monotonic() - silent_since > min(
            MAX_SILENCE, settings.LEASE_SECONDS / 4
        ):
            _renew_leases(left, scorer)
            if not left:
                return
            silent_since = time.monotonic()
    if scorer.last_words:
        words = "The scorer of job %s said: %s"
        log.warning(
            words, jobs[0].pk, scorer.last_words, extra=engine.described(jobs[0])
        )
    _end_left(left, scorer)


def _renew_leases(left: list[Job], scorer: child.Scorer) -> None:
    """Renew the lease of each job; remove and settle the jobs that lost theirs."""
    for job in list(left):
        heartbeat = partial(engine.heartbeat, job, progress=scorer.progress)
        if not default_on_database_error(heartbeat, otherwise=True):
            left.remove(job)
            settle(job, engine.JobLost())


def _end_left(left: list[Job], scorer: child.Scorer) -> None:
    """End the job whose rule set the scorer was at; requeue the others unless all are refused."""
    is_under_way = True
    while left:
        job = left.pop(0)
        if is_under_way or scorer.has_refused_all:
            _end_without_result(job, scorer)
            is_under_way = False
        else:
            begin_anew = partial(engine.requeue, is_counted=False)
            retry_on_database_error(
                begin_anew, job, "The scorer ended with another rule set of the run."
            )


def _publish_or_settle(
    job: Job, scorer: child.Scorer, result: Mapping[str, Any], seconds: float
) -> None:
    try:
        is_published = publish(job, scorer, result, seconds)
    except DATABASE_ERRORS:
        raise
    except Exception as reason:  # noqa: BLE001  (whatever it is, the job says so)
        _settle(job, reason)
    else:
        if not is_published:
            settle(job, engine.JobLost())


def _end_without_result(job: Job, scorer: child.Scorer) -> None:
    verdict = scorer.verdict(job.rules)
    if not isinstance(verdict, child.PairsPending):
        _settle(job, verdict)
        return
    # Until its labels come; if some came while it was scored, it goes on at once.
    has_waited = retry_on_database_error(
        wait_for_labels, job, verdict, scorer.folder / pending_file(job)
    )
    if has_waited and retry_on_database_error(is_outdated, job, scorer.folder):
        retry_on_database_error(engine.resume, job)


def _settle(job: Job, reason: Exception) -> None:
    if isinstance(reason, child.OurFault) and job.attempt < settings.MAX_ATTEMPTS:
        local_copies.forget_gold(job.gold)
        reason = child.ScorerDied(BEGUN_AGAIN)
    if isinstance(reason, child.MeasureStopped):
        retry_on_database_error(tell_organisers, job.submission.phase.task, reason.why)
    if isinstance(reason, child.RunFailed):
        fail = partial(leases.fail, hit_limit=reason.hit_limit)
        retry_on_database_error(fail, job, str(reason), reason.problems)
    else:
        settle(job, reason)


def ready_scorer() -> child.Scorer:
    with local_copies.storage_in_use():
        return child.Scorer(local_copies.work_folder())


def limits_for(task: Task, rule_sets: int = 1) -> Limits:
    seconds = min(
        task.max_seconds or settings.SCORING_TIMEOUT, settings.SCORING_TIMEOUT
    )
    return Limits(
        cpu_seconds=seconds,
        # On a busy machine a second of computing takes longer, which is not the run's fault.
        wall_seconds=2 * seconds,
        memory_mb=min(
            task.max_memory_mb or settings.SCORING_MEMORY_MB, settings.SCORING_MEMORY_MB
        ),
        file_mb=1024,
        steps=rule_sets,
    )


#: The run of a built-in baseline, in the folder of the process that computes it.
WRITTEN = "written.jsonl"

SCORING_FAULT = (
    "The scorer failed on this run by a fault of its own. Your file need not be at fault: "
    "the organisers can see what happened and score the run again."
)
BEGUN_AGAIN = "The scorer failed by a fault that is not the run's; it begins again from a fresh copy of the gold."
CHECK_FAULT = (
    "The check of this run failed by a fault of its own. Your file need not be at fault: "
    "the organisers can see what happened and have the run checked again."
)


def scorer_command(jobs: Sequence[Job], folder: Path) -> child.ScorerCommand:
    """By the step of the jobs, all of one run. Raises RunFailed or ScorerWaits where files are missing."""
    job = jobs[0]
    submission = job.submission
    task_type = submission.phase.task.task_type.reference
    if job.kind == Job.Kind.WRITE:
        declared = submission.phase.task.task_type.declared
        chosen = baseline(submission.built_in, submission.phase.task.task_type)
        named = [json.dumps(declared.files), chosen.name] if declared else [chosen.name]
        source = (
            local_copies.gold_copy(job.gold)
            if chosen.learns_from_gold
            else stored_gold(job.gold.public)
        )
        known = [
            one.name
            for one in chosen.options
            if chosen.learns_from_gold or not one.is_of_gold
        ]
        options = _options(
            {name: job.options[name] for name in known if name in job.options}
        )
        what, otherwise = (
            "The baseline could not be computed",
            "it cannot read the files of this phase",
        )
        return child.ScorerCommand(
            [
                "baseline",
                *named,
                f"--gold={source}",
                f"--out={folder / WRITTEN}",
                *options,
            ],
            doing="Computing the baseline",
            fault="The baseline failed by a fault of its own; the log says what happened.",
            refused=partial(_impossible, what, otherwise),
        )
    gold = f"--gold={local_copies.gold_copy(job.gold)}"
    each = [f"--rules={job.rules}" for job in jobs]
    each += [f"--statistics={folder / statistics_file(job)}" for job in jobs]
    drawn = drawn_part(submission.phase)
    part = [f"--part={drawn}"] if drawn else []
    if submission.kind == Submission.Kind.HUMAN:
        return child.ScorerCommand(
            [
                "papers",
                "human-line",
                task_type,
                gold,
                *each,
                *part,
                *_options(job.options),
            ],
            doing="Scoring",
            fault="The human line could not be scored by a fault of the scorer; the log says what happened.",
            refused=partial(
                _impossible,
                "The human line cannot be scored",
                "the gold does not allow it",
            ),
        )
    name = submission.filename
    files = [
        task_type,
        gold,
        f"--run={local_copies.run_copy(submission, folder)}",
        f"--run-name={name}",
    ]
    refused = partial(child.refusal, run_name=name)
    if job.kind == Job.Kind.CHECK:
        arguments = ["check", *files, *_options(job.options)]
        return child.ScorerCommand(
            arguments, doing="Checking", fault=CHECK_FAULT, refused=refused
        )
    if (own := submission.phase.task.task_type.own_measures) and not may_be_run(own):
        raise child.ScorerWaits(
            "Measures of this task's own wait until those who run the site approve them."
        )
    arguments = ["score", *files, *each, *part, *_options(local_options(job, folder))]
    if stored_model(job.options) is not None:
        arguments += [f"--pending={folder / pending_file(job)}" for job in jobs]
    return child.ScorerCommand(
        arguments,
        doing="Scoring",
        fault=SCORING_FAULT,
        refused=refused,
        runs_measures=bool(own),
    )


def statistics_file(job: Job) -> str:
    return f"statistics-{job.pk}.npz"


def pending_file(job: Job) -> str:
    return f"pending-{job.pk}.jsonl"


def dry_score(run: Submission, scoring: Mapping[str, Any]) -> Mapping[str, Any]:
    """By metric what the run would be told with other gold, rules or options; nothing is kept. Raises what
    a scoring ends with.
    """
    with closing(ready_scorer()) as scorer:
        name = run.filename
        words = [
            f"--gold={local_copies.stored_gold(scoring['gold'])}",
            f"--rules={scoring['rules']}",
        ]
        words += [
            f"--run={local_copies.run_copy(run, scorer.folder)}",
            f"--run-name={name}",
        ]
        words += [
            f"--statistics={scorer.folder / 'dry.npz'}",
            *_options(scoring["options"]),
        ]
        refused = partial(child.refusal, run_name=name)
        command = child.ScorerCommand(
            ["score", scoring["type"], *words], "Scoring", SCORING_FAULT, refused
        )
        scorer.begin(command, limits_for(run.phase.task))
        while not scorer.ended(within=TICK):
            interruptions.check()
        for result in scorer.results():
            metrics: Mapping[str, Any] = result["metrics"]
            return metrics
        raise scorer.verdict(scoring["rules"])


def _options(options: Mapping[str, str]) -> list[str]:
    return [f"--option={name}={value}" for name, value in options.items()]


def _impossible(
    what: str, otherwise: str, problems: Sequence[Mapping[str, Any]], more: int
) -> child.RunFailed:
    return child.RunFailed(
        f"{what}: {problems[0]['message'] if problems else otherwise}."
    )


def publish(
    job: Job, scorer: child.Scorer, result: Mapping[str, Any], seconds: float
) -> bool:
    if job.kind == Job.Kind.WRITE:
        return keep_written(
            job, scorer.folder / WRITTEN, str(result.get("rests_on", ""))
        )
    if result["gold"]["sha256"] != job.gold.digest:
        local_copies.forget_gold(job.gold)
        raise child.ScorerDied(
            "The gold that the scorer read is not the gold of this phase."
        )
    if job.kind == Job.Kind.CHECK:
        # Queue what can be scored, with the warnings of the check.
        problems = [Problem(**warning) for warning in result["warnings"]]
        named = [
            own if own.file else replace(own, file=job.submission.filename)
            for own in problems
        ]
        fill_in = read_header(job.submission, scorer.folder)
        return retry_on_database_error(
            leases.accept, job, as_warnings(*capped(named)), fill_in
        )
    told = told_of(job, result, scorer.folder / statistics_file(job))
    path = scorer.folder / statistics_file(job)
    name = keep_statistics(job, path)
    with path.open("rb") as kept:
        answers = hashlib.file_digest(kept, "sha256").hexdigest()
    is_published = False
    try:
        facts: dict[str, Any] = {
            "statistics": name,
            "seconds": seconds,
            "told": told,
            "answers": answers,
        }
        record = partial(record_scores, job=job, result=result, **facts)
        is_published = retry_on_database_error(leases.complete, job, record)
    finally:
        if not is_published:
            retry_on_database_error(discard_statistics, name)
    return is_published


def _tell_same_answers(evaluation: Evaluation) -> None:
    """To a team that sent them before in other bytes, which no upload can see."""
    run = evaluation.submission
    same = {
        name: getattr(evaluation, name)
        for name in ("answers_digest", "gold", "rules", "phase", "team")
    }
    alike = Evaluation.objects.filter(**same, submission__number__lt=run.number)
    alike = (
        alike.exclude(answers_digest="")
        .exclude(team=None)
        .exclude(submission__sha256=run.sha256)
    )
    first = (
        alike.order_by("submission__number")
        .values_list("submission__number", flat=True)
        .first()
    )
    message = f"the same answers were sent before in another file, as run {first}"
    if first is not None and all(
        warning["message"] != message for warning in run.warnings
    ):
        run.warnings = [*run.warnings, Problem(message=message, fatal=False).as_dict()]
        run.save(update_fields=["warnings"])


def _mark_same_answers(evaluation: Evaluation) -> None:
    """Once all can see it, as the same file (`tasks.submissions.submit`)."""
    same = {
        name: getattr(evaluation, name) for name in ("answers_digest", "gold", "rules")
    }
    alike = Evaluation.objects.filter(**same, team__isnull=False).exclude(
        answers_digest=""
    )
    if alike.exclude(team=evaluation.team_id).exists():
        Submission.objects.filter(pk__in=alike.values("submission")).update(
            is_alike=True
        )


def read_header(submission: Submission, folder: Path) -> Callable[[], None] | None:
    """What a run says of itself that nobody has read yet. Raises RunFailed."""
    try:
        return read_late(
            submission, local_copies.copied_run(submission, folder), folder
        )
    except RunRejected as refused:
        words = f"The run cannot be taken: {refused.problems[0].message}."
        raise child.RunFailed(
            words, [problem.as_dict() for problem in refused.problems]
        ) from refused


def keep_statistics(job: Job, path: Path) -> str:
    # No name is ever used for other content, so that whoever copies files by name has what a row meant.
    name = f"{job.submission_id}/job-{job.pk}-{job.attempt}-{secrets.token_hex(4)}.npz"
    with local_copies.storage_in_use(), path.open("rb") as content:
        return storage.statistics.save(name, File(content))


def discard_statistics(name: str) -> None:
    """Remove what no evaluation names: a commit may have succeeded although its answer was lost."""
    if not Evaluation.objects.filter(statistics=name).exists():
        storage.statistics.delete(name)


def record_scores(
    *,
    job: Job,
    result: Mapping[str, Any],
    statistics: str,
    seconds: float,
    told: Told | None = None,
    answers: str = "",
) -> Evaluation:
    """In the transaction that ends the job; ``told`` is what may be known of it, all unless given."""
    told = by_ladder(
        job, told or Told(metrics=result["metrics"], breakdowns=result["breakdowns"])
    )
    submission, metrics = job.submission, told.metrics
    same = {
        name: getattr(job, name)
        for name in ("submission", "gold", "rules", "options_digest")
    }
    before = _numbers_of(same)
    # Its team may have merged into another while the run was scored.
    teams = (
        Submission.objects.select_for_update()
        .filter(pk=submission.pk)
        .values_list("team_id", flat=True)
    )
    provenance = [provenance_of(said["signature"]) for said in metrics.values()]
    digests = (own.get(ENTAILMENT_LABELS) for own in provenance)
    missing = provenance[0].get("missing", "")
    evaluation, is_new = Evaluation.objects.update_or_create(
        **same,
        defaults={
            "options": job.options,
            "phase_id": submission.phase_id,
            "team_id": teams.get(),
            "rank_value": rank_value(metrics, submission.phase.task.rank_by),
            "submitted_at": submission.submitted_at,
            "statistics": statistics,
            "run_sha256": result["run"]["sha256"],
            "answers_digest": answers,
            "notes": result["notes"],
            "missing": int(missing) if missing.isdecimal() else None,
            "labels_digest": next((digest for digest in digests if digest), ""),
            "seconds": seconds,
            "attempt": job.attempt,
            "has_class_intervals": False,
            "release": told.release,
            "withheld": told.withheld,
            "untold": dict(told.untold),
            "probe": told.probe,
        },
    )
    evaluation.scores.all().delete()
    evaluation.breakdowns.all().delete()
    save_scores(evaluation, metrics)
    breakdowns = told.breakdowns.items()
    save_breakdowns(
        [
            Breakdown.of(evaluation, *said)
            for said in breakdowns
            if any(said[1].values())
        ]
    )
    if not is_new and _numbers_of(same) != before:
        Evaluation.objects.filter(pk=evaluation.pk).update(replaced_at=timezone.now())
    _tell_same_answers(evaluation)
    write_receipt(evaluation, {**result, "metrics": metrics})
    Comparison.objects.filter(Q(first=evaluation) | Q(second=evaluation)).delete()

    def forget_earlier_attempts() -> None:
        folder, _, current = statistics.partition("/")
        job_prefix = "-".join(current.split("-")[:2])
        for other in storage.statistics.listdir(folder)[1]:
            if other != current and other.startswith(f"{job_prefix}-"):
                storage.statistics.delete(f"{folder}/{other}")

    transaction.on_commit(forget_earlier_attempts, robust=True)
    transaction.on_commit(partial(_mark_same_answers, evaluation), robust=True)
    transaction.on_commit(
        lambda: board_orders.ask(evaluation.phase_id, evaluation.rules), robust=True
    )
    return evaluation


def _numbers_of(same: Mapping[str, Any]) -> set[tuple[Any, ...]]:
    scores = Score.objects.filter(
        **{f"evaluation__{name}": own for name, own in same.items()}
    ).order_by()
    return set(
        scores.values_list("shared_id", "value", "is_infinite", "low", "high", "n")
    )


def rank_value(
    metrics: Mapping[str, Mapping[str, Any]], rank_by: str = ""
) -> float | None:
    """Of the metric that ranks, turned so that higher is better; None where it is undefined or infinite."""
    first = metrics[ranking_of(metrics, rank_by)]
    value: float | None = first["value"]
    return -value if value is not None and first["higher_is_better"] is False else value


def save_scores(
    evaluation: Evaluation, metrics: Mapping[str, Mapping[str, Any]]
) -> None:
    signatures = [
        Signature(
            metric=name,
            column=said["column"],
            scale=float(0 if said.get("is_count") else said["scale"]),
            position=place,
            text=shared_form(
                said["signature"], evaluation.own_parts | {"n": said["n"]}
            ),
        )
        for place, (name, said) in enumerate(metrics.items())
    ]
    Score.objects.bulk_create(
        Score(
            evaluation=evaluation,
            shared_id=key,
            value=said["value"],
            is_infinite=said.get("infinite", False),
            **{part: said[part] for part in ("low", "high", "n")},
            withheld=said.get("withheld", ""),
        )
        for key, said in zip(
            Signature.objects.ids_of(signatures), metrics.values(), strict=True
        )
    )
