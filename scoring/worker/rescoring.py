"""Request, stop and resume the repeated scoring of a run, a phase or a season. request,
stop and resume.
"""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from django.core.cache import cache
from django.db import transaction
from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone
from django.utils.translation import gettext as _

from citeboard.core import audit
from citeboard.core.database import fetch_database_time
from citeboard.core.refusals import ActionRefused
from citeboard.core.release import compute_release_digest
from citeboard.teams.models import User
from scoring.metrics import build_metrics
from scoring.models import Evaluation, Rescore, Score, UsedJudgements
from scoring.results.board.counting import (
    build_outdated_release_filter,
    find_unfinished_runs_on_gold,
)
from scoring.results.board.snapshots import RUN_STATES_BEFORE_RESULT
from scoring.stats.interval_methods import WILSON_JACKKNIFE
from scoring.stats.signature import INTERVAL_VERSION_KEY
from tasks.gold.early import refuse_early_disclosure
from tasks.gold.gold_files import (
    StoredGold,
    make_gold_digest_change,
    read_kit_checksums_of_gold,
    record_gold_version,
    record_kit_change,
    store_uploaded_gold,
)
from tasks.jobs.leases import (
    compute_options_digest,
    create_scoring_jobs,
    queue_missing_scorings,
    restart_job,
    retry_failed_check,
)
from tasks.models import Gold, Job, Phase, Season, Submission, Task
from tasks.models.seasons import increment_board_version
from tasks.types import InputRefused, Problem
from tasks.types.files import CURRENT_PARSING_RULES_VERSION
from tasks.types.positional_citations.parsing import RULE_BASED_PARSER
from tasks.types.problems import select_problems_to_list

JobState, SubmissionStatus = Job.State, Submission.Status
WAITING_JOB_STATES = (JobState.QUEUED, JobState.WAITING)
_DEFAULT_INTERVAL_SIGNATURE = f"|interval:{WILSON_JACKKNIFE}|"
#: Maximum number of queued jobs that score runs again, so that new runs need not wait.
MAX_QUEUED_RESCORINGS = 100
#: The number of runs whose jobs are created in one transaction.
RUNS_PER_TRANSACTION = 25
#: Runs whose intervals have an earlier version than this are scored again.
MIN_CURRENT_INTERVAL_VERSION = 3
#: Seconds after which a phase is checked again for outdated versions of metrics.
STALE_CHECK_SECONDS = 24 * 3600
#: States of a single run that organisers may request to score again.
ENDED_RUN_STATES = (SubmissionStatus.SCORED, SubmissionStatus.FAILED)


@dataclass(frozen=True, kw_only=True)
class RescoringProgress:
    phase: Phase
    gold: Gold | None
    runs: int
    left: int
    failed: int
    waiting: int
    order: Rescore | None

    @property
    def done(self) -> int:
        return self.runs - self.left

    @property
    def is_moving(self) -> bool:
        return self.waiting > 0 or (
            self.order is not None and self.order.stopped_at is None
        )

    @property
    def is_stopped(self) -> bool:
        return self.left > 0 and not self.is_moving


def request_rescoring_of_phase(*, phase: Phase, by: User | None) -> Rescore:
    with transaction.atomic():
        asked = {"asked_by": by, "asked_at": fetch_database_time()}
        order, is_new = Rescore.objects.get_or_create(
            phase=phase, ended_at=None, defaults=asked
        )
        if is_new or order.stopped_at is not None:
            Rescore.objects.filter(pk=order.pk).update(stopped_at=None)
            _record_in_history(phase, by, "rescore-asked")
    queue_rescoring_jobs(phase)
    order.refresh_from_db()
    return order


def queue_all_rescorings_of_phase(phase: Phase) -> list[Job]:
    Rescore.objects.filter(phase=phase, ended_at=None).update(ended_at=timezone.now())
    jobs = queue_missing_scorings(phase)
    if (gold := Gold.objects.current(phase)) is not None:
        jobs += [
            job
            for job in _find_jobs_to_restart_on_request(phase, gold)
            if restart_job(job)
        ]
    return jobs


def request_rescoring_of_season(*, season: Season, by: User | None) -> list[Rescore]:
    sent = Submission.objects.filter(
        phase=OuterRef("pk"), status=SubmissionStatus.SCORED
    )
    phases = Phase.objects.filter(Exists(sent), task__season=season).select_related(
        "task__season"
    )
    return [
        request_rescoring_of_phase(phase=phase, by=by)
        for phase in phases
        if Gold.objects.current(phase)
    ]


def rescore_run(*, submission: Submission, by: User | None) -> int:
    phase = submission.phase
    gold = Gold.objects.current(phase)
    if submission.status not in ENDED_RUN_STATES or gold is None:
        words = _("a run that is %(status)s cannot be rescored")
        raise ActionRefused(words % {"status": submission.get_status_display()})
    if submission.status == SubmissionStatus.FAILED and submission.problems:
        raise ActionRefused(
            _("a refused file cannot be rescored; its team submits a corrected one")
        )
    stood = Evaluation.objects.with_scores_existing_at(phase.frozen_from).filter(
        submission=submission, gold=gold
    )
    if phase.is_frozen() and stood.exists():
        raise ActionRefused(
            _(
                "the board is frozen with this run's scores; it can be rescored once "
                "it is revealed"
            )
        )
    with transaction.atomic():
        if not (queued := int(retry_failed_check(submission, gold))):
            jobs = submission.jobs.order_by("pk")
            if submission.is_unwritten:
                jobs = jobs.filter(kind=Job.Kind.WRITE)
            else:
                queued, digest = (
                    len(create_scoring_jobs(submission, gold)),
                    compute_options_digest(phase.task.options),
                )
                jobs = jobs.filter(
                    gold=gold, rules__in=phase.task.rules, options_digest=digest
                )
            queued += sum(restart_job(job) for job in jobs)
        if queued:
            _record_in_history(phase, by, "run-rescored", run=str(submission))
    return queued


def stop_rescoring(*, phase: Phase, by: User | None) -> int:
    """Delete queued rescoring jobs. Running rescoring jobs finish."""
    with transaction.atomic():
        going = Rescore.objects.filter(phase=phase, ended_at=None, stopped_at=None)
        was_going = going.update(stopped_at=timezone.now())
        scored = Evaluation.objects.filter(
            submission=OuterRef("submission"), rules=OuterRef("rules")
        )
        waiting = Job.objects.filter(Exists(scored), state__in=WAITING_JOB_STATES)
        again = waiting.filter(
            submission__phase=phase, submission__status=SubmissionStatus.SCORED
        )
        if taken := sum(_revoke_rescoring_job(job) for job in again.order_by("pk")):
            stopped = {"asked_by": by, "stopped_at": timezone.now()}
            Rescore.objects.get_or_create(phase=phase, ended_at=None, defaults=stopped)
        if taken or was_going:
            _record_in_history(phase, by, "rescore-stopped")
            # A cached page of the board may say that runs are being scored again.
            increment_board_version(phase.pk, 0)
    return taken


def queue_rescoring_jobs(*phases: Phase) -> int:
    """Queue jobs that score runs again, until the maximum number of such jobs is
    queued. Return the number of jobs that were queued.

    If ``phases`` is empty, queue jobs for the requests of all phases.
    """
    orders = Rescore.objects.filter(ended_at=None, stopped_at=None).select_related(
        "phase__task__season"
    )
    if phases:
        orders = orders.filter(phase__in=phases)
    if not (orders := orders.order_by("pk")):
        return 0
    before = _count_queued_rescorings()
    for order in orders:
        gold = Gold.objects.current(order.phase)
        going = Rescore.objects.filter(pk=order.pk, stopped_at=None)
        while _count_queued_rescorings() < MAX_QUEUED_RESCORINGS and going.exists():
            if gold is not None and queue_missing_scorings(
                order.phase, most=RUNS_PER_TRANSACTION
            ):
                continue
            # The request restarts each job with outdated scores once, and then ends.
            done = (
                _find_jobs_to_restart_on_request(order.phase, gold).filter(
                    started_at__lt=order.asked_at
                )
                if gold
                else ()
            )
            if not sum([restart_job(job) for job in done[:RUNS_PER_TRANSACTION]]):
                going.update(ended_at=timezone.now())
                increment_board_version(order.phase.pk, 0)
                break
    return _count_queued_rescorings() - before


def request_rescoring_of_stale_phases() -> int:
    """Request that runs of all stale phases are scored again, and return the number of
    stale phases.

    A phase is stale if the rules for withholding scores have changed, if scores depend
    on the rule-based parser although a better parser is installed, or if a metric has a
    newer version and the phase still accepts runs. The scores of a closed phase keep
    the versions of their metrics.
    """
    limited = Q(public_part__isnull=False) | Q(ladder=True)
    limited |= Q(min_answered__isnull=False) | Q(min_answered_share__isnull=False)
    was_limited = Evaluation.objects.filter(~Q(release=""), phase=OuterRef("pk"))
    parsed = Evaluation.objects.filter(
        scores__shared__column__contains=f"|parser:{RULE_BASED_PARSER}-"
    )
    by_rules = parsed.filter(phase=OuterRef("pk"))
    going = Rescore.objects.filter(phase=OuterRef("pk"), ended_at=None)
    scored = Evaluation.objects.filter(phase=OuterRef("pk"))
    now = timezone.now()
    takes_runs = (Q(closes__gt=now) | Q(late_until__gt=now)) & Exists(scored)
    phases = Phase.objects.filter(
        limited | Exists(was_limited) | Exists(by_rules) | takes_runs
    ).exclude(Exists(going))
    asked = 0
    for phase in phases.select_related("task__season"):
        gold = Gold.objects.current(phase)
        moving = Submission.objects.filter(
            phase=phase, status__in=RUN_STATES_BEFORE_RESULT
        )
        if phase.accepts_runs_until <= now and moving.exists():
            # The final board is stored only when no run is waiting for its scores.
            continue
        if gold is not None and _must_rescore_phase(phase, gold):
            request_rescoring_of_phase(phase=phase, by=None)
            increment_board_version(phase.pk)
            asked += 1
    return asked


def _must_rescore_phase(phase: Phase, gold: Gold) -> bool:
    """Return True if the site must score runs of the phase again without a request."""
    if _find_finished_jobs_of_evaluations(
        phase, gold, find_evaluations_with_outdated_release(phase, gold)
    ).exists():
        return True
    key = f"versions:{compute_release_digest()}:{phase.pk}:{gold.pk}"
    if phase.accepts_runs_until <= timezone.now() or cache.get(key):
        return False
    is_stale = _find_outdated_finished_jobs(phase, gold).exists()
    # From now on, new runs are scored with the metric versions of this release.
    cache.set(key, not is_stale, STALE_CHECK_SECONDS)
    return is_stale


def compute_rescoring_progress(phase: Phase) -> RescoringProgress:
    gold = Gold.objects.current(phase)
    runs = Submission.objects.filter(phase=phase, status=SubmissionStatus.SCORED)
    jobs = Job.objects.filter(submission__in=runs, gold=gold)
    return RescoringProgress(
        phase=phase,
        gold=gold,
        runs=runs.count(),
        left=find_unfinished_runs_on_gold(phase, gold).count() if gold else 0,
        failed=jobs.filter(state=JobState.FAILED)
        .values("submission")
        .distinct()
        .count(),
        waiting=jobs.filter(state__in=Job.MOVING).count(),
        order=Rescore.objects.filter(phase=phase, ended_at=None)
        .select_related("asked_by")
        .first(),
    )


def _find_evaluations_with_current_options(
    phase: Phase, gold: Gold
) -> QuerySet[Evaluation]:
    return Evaluation.objects.filter(
        phase=phase,
        gold=gold,
        options_digest=compute_options_digest(phase.task.options),
        submission__status=SubmissionStatus.SCORED,
    )


def find_evaluations_with_outdated_release(
    phase: Phase, gold: Gold
) -> QuerySet[Evaluation]:
    """Return evaluations of which the site would now publish other scores, or whose
    parser has been replaced by a better parser.
    """
    task = phase.task
    options = task.task_type.validate_options(task.options)
    replaced = Q(pk__in=())
    for rules in task.rules:
        for metric in build_metrics(task.task_type, rules, options):
            if metric.replaces:
                replaced |= Q(
                    rules=rules,
                    scores__shared__metric=metric.name,
                    scores__shared__column__contains=metric.replaces,
                )
    return (
        _find_evaluations_with_current_options(phase, gold)
        .filter(replaced | build_outdated_release_filter(phase))
        .distinct()
    )


def find_outdated_evaluations(phase: Phase, gold: Gold) -> QuerySet[Evaluation]:
    """Return the evaluations of scored runs that must be computed again.

    The scores of these evaluations lack the current version of a metric or interval,
    would be withheld or published differently now, or are based on withdrawn
    judgements.
    """
    task = phase.task
    options = task.task_type.validate_options(task.options)
    own = _find_evaluations_with_current_options(phase, gold)
    found = Q(pk__in=())
    for rules in task.rules:
        metrics = build_metrics(task.task_type, rules, options)
        current = Q(pk__in=())
        for metric in metrics:
            of_today = Q(
                scores__shared__metric=metric.name,
                scores__shared__column__endswith=f"|v:{metric.version}",
            )
            if metric.replaces:
                of_today &= ~Q(scores__shared__column__contains=metric.replaces)
            if metric.interval_version >= MIN_CURRENT_INTERVAL_VERSION:
                text = f"|{INTERVAL_VERSION_KEY}:{metric.interval_version}|"
                is_default = Q(
                    scores__shared__text__contains=_DEFAULT_INTERVAL_SIGNATURE
                )
                of_today &= Q(scores__shared__text__contains=text) | ~is_default
            current |= of_today
        up_to_date = (
            own.filter(rules=rules)
            .alias(n=Count("scores", filter=current))
            .filter(n=len(metrics))
        )
        found |= Q(rules=rules) & ~Q(pk__in=up_to_date.values("pk"))
    used = UsedJudgements.objects.filter(is_current=True)
    withdrawn = used.filter(imports__withdrawn_at__isnull=False).values("evaluation")
    return own.filter(
        found | build_outdated_release_filter(phase) | Q(pk__in=withdrawn)
    )


def _find_evaluations_before_judgements(
    phase: Phase, gold: Gold
) -> QuerySet[Evaluation]:
    """Return the evaluations that were computed before newer judgements of the same
    pairs. Evaluations that lack newer judgements are computed again only on request.
    """
    used = UsedJudgements.objects.filter(is_current=True, outdated_at__isnull=False)
    return _find_evaluations_with_current_options(phase, gold).filter(
        pk__in=used.values("evaluation")
    )


def _find_outdated_finished_jobs(phase: Phase, gold: Gold) -> QuerySet[Job]:
    return _find_finished_jobs_of_evaluations(
        phase, gold, find_outdated_evaluations(phase, gold)
    )


def _find_jobs_to_restart_on_request(phase: Phase, gold: Gold) -> QuerySet[Job]:
    """Return the finished jobs that a request to score runs again restarts."""
    either = Q(pk__in=find_outdated_evaluations(phase, gold).values("pk"))
    either |= Q(pk__in=_find_evaluations_before_judgements(phase, gold).values("pk"))
    return _find_finished_jobs_of_evaluations(
        phase, gold, Evaluation.objects.filter(either)
    )


def _find_finished_jobs_of_evaluations(
    phase: Phase, gold: Gold, evaluations: QuerySet[Evaluation]
) -> QuerySet[Job]:
    """Return the finished jobs of the given evaluations.

    Return no job while the board is frozen, because new scores would replace the scores
    that the board shows.
    """
    if phase.is_frozen():
        return Job.objects.none()
    of_job = {
        name: OuterRef(name) for name in ("submission", "rules", "options_digest")
    }
    same = Evaluation.objects.filter(pk__in=evaluations.values("pk"), **of_job)
    done = Job.objects.filter(Exists(same), gold=gold, state=JobState.DONE)
    return done.select_related("submission").order_by("pk")


def _count_queued_rescorings() -> int:
    return Job.objects.filter(
        state=JobState.QUEUED, submission__status=SubmissionStatus.SCORED
    ).count()


def _revoke_rescoring_job(job: Job) -> int:
    # If a worker claims the job at the same time, the query matches no row.
    waiting = Job.objects.filter(pk=job.pk, state__in=WAITING_JOB_STATES)
    evaluation = Evaluation.objects.filter(
        submission=job.submission_id,
        gold=job.gold_id,
        rules=job.rules,
        options_digest=job.options_digest,
    ).first()
    if evaluation is not None and job.started_at is not None:
        ended = job.started_at + dt.timedelta(seconds=evaluation.seconds)
        if waiting.update(
            state=JobState.DONE, progress=1, reason="", finished_at=ended
        ):
            return 1
    return waiting.delete()[0]


def rank_again(task: Task) -> None:
    """From the stored scores, compute again the values by which the board ranks runs."""
    kind, options = task.task_type, task.task_type.validate_options(task.options)
    for rules in task.rules:
        metric = build_metrics(kind, rules, options)[0]
        sign = -1 if metric.higher_is_better is False else 1
        own = Score.objects.filter(
            evaluation=OuterRef("pk"), shared__metric=metric.name
        ).order_by()
        ranked = Evaluation.objects.filter(phase__task=task, rules=rules)
        ranked.update(rank_value=Subquery(own.values("value")[:1]) * sign)


def _record_in_history(phase: Phase, by: User | None, key: str, **facts: str) -> None:
    facts["phase"] = f"{phase.task}, {phase}"
    audit.record_action(
        key, actor=by, subject=phase, place=phase.task.season, facts=facts
    )


class GoldFileRefused(ActionRefused):
    status = 422

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = problems
        super().__init__("the file is no gold of this task")

    def answer(self) -> dict[str, object]:
        problems, more = select_problems_to_list(self.problems)
        return super().answer() | {
            "problems": [problem.as_dict() for problem in problems],
            "more": more,
        }


@dataclass(frozen=True)
class NewGoldVersion:
    gold: Gold
    is_new: bool
    phases: list[Phase]


def parse_and_store_gold_of_splits(
    splits: Sequence[tuple[Task, str]],
    paths: Sequence[Path],
    filename: str,
    by: User,
    *,
    reading: int = CURRENT_PARSING_RULES_VERSION,
    encoding: str = "",
) -> list[StoredGold]:
    """Read the gold of each split from an uploaded file or archive. Raises GoldFileRefused."""
    try:
        return [
            store_uploaded_gold(
                task=task,
                path=path,
                filename=filename,
                by=by,
                reading=reading,
                encoding=encoding,
            )
            for (task, _split), path in zip(splits, paths, strict=True)
        ]
    except InputRefused as refused:
        raise GoldFileRefused(refused.problems) from refused


def publish_gold(
    *,
    season: Season | Task,
    splits: Sequence[tuple[Task, str]],
    packed: Sequence[StoredGold],
    reason: str,
    by: User,
    again: bool = False,
    read_again: bool = False,
) -> list[NewGoldVersion]:
    """Store gold (reference answers) as the next version of the gold of each split. One
    uploaded file may contain the gold of several splits.

    If the content equals the current version, no new version is stored unless
    ``read_again`` is True, which parses the content with the current rules.
    """
    with transaction.atomic(), refuse_early_disclosure(splits[0][0].season, by=by):
        made = publish_stored_gold(
            splits=splits,
            packed=packed,
            reason=reason,
            by=by,
            again=again,
            anew=read_again,
        )
    rescore_on_new_gold(made, by=by)
    return made


def publish_stored_gold(
    *,
    splits: Sequence[tuple[Task, str]],
    packed: Sequence[StoredGold],
    reason: str,
    by: User,
    again: bool = False,
    anew: bool = False,
) -> list[NewGoldVersion]:
    made = []
    for (task, split), kept in zip(splits, packed, strict=True):
        before = Gold.objects.filter(task=task, split=split).order_by("-number").first()
        kit_before = read_kit_checksums_of_gold(before) if before is not None else {}
        gold, is_new = record_gold_version(
            task=task, split=split, kept=kept, reason=reason, again=again, anew=anew
        )
        phases = list(
            Phase.objects.filter(task=task, split=split).select_related("task__season")
        )
        made.append(NewGoldVersion(gold, is_new, phases))
        if is_new:
            facts, place = (
                {"version": gold.number, "task": task, "reason": reason, "anew": anew},
                task.season,
            )
            changes = [make_gold_digest_change(before, gold)]
            audit.record_action(
                "gold-added",
                actor=by,
                subject=gold,
                place=place,
                facts=facts,
                changes=changes,
            )
        if before is not None:
            record_kit_change(gold, kit_before, by)
    return made


def rescore_on_new_gold(made: Sequence[NewGoldVersion], *, by: User) -> None:
    for new in made:
        for phase in new.phases if new.is_new else ():
            request_rescoring_of_phase(phase=phase, by=by)
