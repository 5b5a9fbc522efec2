"""Request and store runs of the built-in baselines and of human performance. Organisers
request the runs, and a worker computes each run once for each configuration.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from django.db import transaction
from django.db.models import Max, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from citeboard.core import audit
from citeboard.core.confinement import build_organiser_upload_limits, read_upload
from citeboard.core.refusals import ActionRefused
from citeboard.teams.models import User
from scoring.tools import baselines
from scoring.worker.child import ScoringOfRunFailed
from scoring.worker.local_copies import (
    convert_storage_errors,
    get_or_make_local_gold_copy,
)
from tasks.jobs import leases
from tasks.jobs.interruptions import retry_on_database_error
from tasks.jobs.leases import (
    compute_options_digest,
    create_baseline_writing_job,
    create_scoring_jobs,
    restart_job,
)
from tasks.models import Gold, Job, Phase, Submission, Task
from tasks.submissions.run_acts import withdraw_replaced_run
from tasks.submissions.run_card import RunCheckResult, format_warnings_as_dicts
from tasks.submissions.submit import check_run
from tasks.submissions.uploads import (
    StoredRunFile,
    UploadedRunFile,
    compute_sha256_of_file,
    delete_stored_run_file,
    store_run_file,
)
from tasks.types.problems import select_problems_to_list

SubmissionStatus, SubmissionKind = Submission.Status, Submission.Kind

HUMAN_PERFORMANCE_BASELINE_NAME = "human-line"
HUMAN_PERFORMANCE_SYSTEM_NAME = "Annotators, each against the others"
HUMAN_PERFORMANCE_DESCRIPTION = (
    "What each annotator of the gold scores where the others' annotation is the gold; all of them together, "
    "and one by one under the classes of “Answered by”."
)

#: The function with which a confined process checks if gold has several annotators.
SEVERAL_ANNOTATORS_PROGRAM = "scoring.worker.reading:has_several_annotators"


@dataclass(frozen=True, kw_only=True)
class RequestedBaseline:
    name: str
    submission: Submission
    is_new: bool


def list_baseline_names(phase: Phase) -> list[str]:
    names = list(baselines.find_baselines_of_task_type(phase.task.task_type))
    has_line = (
        phase.task.type in baselines.TASK_TYPES_WITH_HUMAN_LINE
        and baselines.is_papers_package_installed()
    )
    return [*names, HUMAN_PERFORMANCE_BASELINE_NAME] if has_line else names


def find_baselines_lacking_requirements(phase: Phase) -> dict[str, str]:
    """Return the names of the baselines that cannot run, with the missing package or
    model of each.
    """
    known = baselines.find_baselines_of_task_type(phase.task.task_type)
    reasons = {name: known[name].lacks() for name in known}
    return {name: reason for name, reason in reasons.items() if reason}


def request_baselines(
    *, phase: Phase, names: Sequence[str] | None = None, by: User | None
) -> list[RequestedBaseline]:
    """Request the baselines with the given names, or all baselines whose packages and
    models are installed. Raises Refused.
    """
    if (gold := Gold.objects.current(phase)) is None:
        words = _("%(task)s, %(phase)s: the split %(split)s has no gold yet")
        raise ActionRefused(
            words % {"task": phase.task, "phase": phase, "split": phase.split}
        )
    if names is None:
        unavailable = find_baselines_lacking_requirements(phase)
        names = [
            name
            for name in list_baseline_names(phase)
            if name not in unavailable
            and (
                name != HUMAN_PERFORMANCE_BASELINE_NAME or has_several_annotators(gold)
            )
        ]
    elif HUMAN_PERFORMANCE_BASELINE_NAME in names and not has_several_annotators(gold):
        words = _("%(task)s, %(phase)s: no topic of the gold has two annotators")
        raise ActionRefused(words % {"task": phase.task, "phase": phase})
    if unknown := [name for name in names if name not in list_baseline_names(phase)]:
        try:
            baselines.baseline(unknown[0], phase.task.task_type)
        except baselines.UnknownBaseline as refused:
            raise ActionRefused(str(refused)) from refused
        there_are = ", ".join(list_baseline_names(phase)) or _("no baselines")
        words = _("“%(name)s” is no baseline of %(task_type)s, which has %(names)s")
        raise ActionRefused(
            words
            % {"name": unknown[0], "task_type": phase.task.type, "names": there_are}
        )
    for name, reason in find_baselines_lacking_requirements(phase).items():
        if name in names:
            words = _("“%(name)s” cannot be computed: %(reason)s")
            raise ActionRefused(words % {"name": name, "reason": reason})
    asked = [_request_baseline(name, phase, gold) for name in names]
    if new := [request.name for request in asked if request.is_new]:
        facts = {"phase": f"{phase.task}, {phase}", "names": ", ".join(new)}
        audit.record_action(
            "baselines-asked",
            actor=by,
            subject=phase,
            place=phase.task.season,
            facts=facts,
        )
    return asked


def has_several_annotators(gold: Gold) -> bool:
    task = gold.task
    if task.type not in baselines.TASK_TYPES_WITH_HUMAN_LINE:
        return False
    given = {
        "task_type": task.type,
        "options": task.task_type.validate_options(task.options),
        "reading": gold.reading_version,
    }
    with read_upload(
        SEVERAL_ANNOTATORS_PROGRAM,
        get_or_make_local_gold_copy(gold),
        given,
        owner=None,
        limits=build_organiser_upload_limits(),
    ) as done:
        return bool(done.result)


def find_built_in_baseline_runs(phase: Phase) -> QuerySet[Submission]:
    runs = (
        Submission.objects.filter(phase=phase)
        .exclude(built_in="")
        .exclude(status=SubmissionStatus.WITHDRAWN)
    )
    return runs.order_by("-number")


def _request_baseline(name: str, phase: Phase, gold: Gold) -> RequestedBaseline:
    with transaction.atomic():
        # Lock the task, so that concurrent requests get different run numbers.
        Task.objects.select_for_update().get(pk=phase.task_id)
        runs = (
            find_built_in_baseline_runs(phase)
            .filter(built_in=name)
            .exclude(status=SubmissionStatus.CANCELLED)
        )
        if name != HUMAN_PERFORMANCE_BASELINE_NAME:
            written = Job.objects.filter(kind=Job.Kind.WRITE, gold=gold)
            runs = runs.filter(
                jobs__in=written.filter(
                    options_digest=compute_options_digest(phase.task.options)
                )
            )
        if (run := runs.first()) is None:
            without_team = Submission.objects.filter(phase=phase, team=None)
            last = without_team.aggregate(last=Max("number"))["last"] or 0
            sent = dict.fromkeys(("submitted_at", "status_since"), timezone.now())
            if name == HUMAN_PERFORMANCE_BASELINE_NAME:
                kind, system, words = (
                    SubmissionKind.HUMAN,
                    HUMAN_PERFORMANCE_SYSTEM_NAME,
                    HUMAN_PERFORMANCE_DESCRIPTION,
                )
            else:
                words = describe_baseline(
                    baselines.baseline(name, phase.task.task_type)
                )
                kind, system = SubmissionKind.BASELINE, name
            facts = {"kind": kind, "system": system, "description": words}
            run = Submission.objects.create(
                phase=phase, number=last + 1, built_in=name, **sent, **facts
            )
            queue: Callable[[Submission, Gold], object] = (
                create_scoring_jobs
                if name == HUMAN_PERFORMANCE_BASELINE_NAME
                else create_baseline_writing_job
            )
            queue(run, gold)
            return RequestedBaseline(name=name, submission=run, is_new=True)
        # Restart jobs that failed, and create jobs that are missing.
        made = [] if run.is_unwritten else create_scoring_jobs(run, gold)
        jobs = (
            run.jobs.filter(kind=Job.Kind.WRITE)
            if run.is_unwritten
            else run.jobs.filter(gold=gold)
        )
        restarted = [
            job for job in jobs.filter(state=Job.State.FAILED) if restart_job(job)
        ]
        return RequestedBaseline(
            name=name, submission=run, is_new=bool(made or restarted)
        )


def describe_baseline(own: baselines.Baseline) -> str:
    return f"{own.summary} {own.source}. It sees {own.sees}."


def store_baseline_run(job: Job, path: Path, rests_on: str) -> bool:
    """Store the run that a baseline has written, and end the job. Return False if
    another worker took over the job.
    """
    upload = UploadedRunFile(path, f"{job.submission.built_in}.jsonl")
    found = check_run(phase=job.submission.phase, upload=upload)
    if found.errors:
        raise ScoringOfRunFailed(
            f"The run that it computed cannot be scored: {found.errors[0]}"
        )
    with ExitStack() as stack:
        with convert_storage_errors():
            stored = stack.enter_context(
                store_run_file(upload, compute_sha256_of_file(path), is_checked=True)
            )
        record = partial(_record_baseline_run, job, stored, found, rests_on)
        is_completed = retry_on_database_error(leases.complete_job, job, record)
    # If the connection was lost after the commit, a run already refers to the file.
    if not is_completed and not Submission.objects.filter(file=stored.file).exists():
        delete_stored_run_file(stored.file)
    return is_completed


def _record_baseline_run(
    job: Job, stored: StoredRunFile, found: RunCheckResult, rests_on: str
) -> None:
    written = baselines.baseline(
        job.submission.built_in, job.submission.phase.task.task_type
    )
    Submission.objects.filter(pk=job.submission.pk).update(
        **{
            name: getattr(stored, name)
            for name in ("file", "filename", "sha256", "size")
        },
        warnings=format_warnings_as_dicts(*select_problems_to_list(found.problems)),
        description=" ".join(filter(None, [describe_baseline(written), rests_on])),
    )
    submission = Submission.objects.select_related("phase__task").get(
        pk=job.submission.pk
    )
    gold = Gold.objects.current(submission.phase)
    assert gold is not None, "gold is never taken away"
    # Only the scorer checks large runs, because no user waits for error messages.
    create_scoring_jobs(submission, gold)
    earlier = Submission.objects.filter(
        phase=submission.phase, built_in=submission.built_in
    )
    earlier = earlier.filter(number__lt=submission.number)
    for before in earlier.exclude(status=Submission.Status.WITHDRAWN):
        withdraw_replaced_run(before, submission)
