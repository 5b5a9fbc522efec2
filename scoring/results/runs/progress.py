"""Describe the progress of a run by the completed steps, the current step and the
expected duration.
"""

import datetime as dt
from dataclasses import dataclass
from statistics import median

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy

from citeboard.core.instants import format_day_and_time
from citeboard.core.words import count_with_noun, format_duration
from scoring.models import Evaluation
from tasks.jobs.queue_choice import (
    MAX_QUEUE_POSITION,
    compute_position_in_queue,
    explain_unserved_queue,
)
from tasks.models import Job, Submission

SubmissionStatus = Submission.Status
#: In addition to scoring, a run takes SCORING_OVERHEAD_SECONDS seconds.
SCORING_OVERHEAD_SECONDS = 0.3
#: The expected duration is estimated from the RECENT_SCORING_COUNT newest scorings.
RECENT_SCORING_COUNT = 20


@dataclass(frozen=True)
class ProgressStep:
    """A step in the progress of a run, whose ``state`` is `done`, `now`, `ahead` or
    `failed`.
    """

    name: str
    state: str = "ahead"
    at: dt.datetime | None = None
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class RunProgress:
    """The progress of a run. ``share`` is the share of the scoring that is complete, or
    None before the scoring starts.
    """

    sentence: str
    since: dt.datetime
    steps: list[ProgressStep]
    share: float | None
    advice: str = ""


def describe_run_progress(submission: Submission) -> RunProgress:
    job = (
        submission.jobs.filter(sets_status=True)
        .order_by("-gold__number", "-id")
        .first()
    )
    place = compute_position_in_queue(submission)
    advice = ADVICE_BY_STATUS.get(SubmissionStatus(submission.status), "")
    if submission.problems:
        advice = REFUSED_ADVICE
        if submission.replace_until and submission.replace_until > timezone.now():
            instant = format_day_and_time(submission.replace_until)
            advice = (
                f"{REFUSED_ADVICE} {REPLACEABLE_UNTIL_ADVICE % {'instant': instant}}"
            )
    elif submission.built_in and submission.status == SubmissionStatus.FAILED:
        advice = RECOMPUTE_ADVICE
    elif submission.hit_limit:
        advice = OVER_LIMIT_ADVICE
    return RunProgress(
        sentence=_build_status_sentence(
            submission, place, estimate_wait_seconds(submission, place)
        ),
        # Workers retry waiting runs, so the status changes often.
        since=submission.submitted_at
        if submission.status == SubmissionStatus.WAITING
        else submission.status_since,
        steps=_build_progress_steps(submission, job),
        share=job.progress
        if job and job.state == Job.State.RUNNING and submission.is_moving
        else None,
        advice=str(advice),
    )


def describe_progress_without_outcome(submission: Submission) -> RunProgress:
    at = submission.submitted_at
    advice = _(
        "In this phase teams do not see whether their runs are scored yet; you get a "
        "message if one fails."
    )
    steps = [
        ProgressStep(_("received"), "done", at),
        ProgressStep(_("checked"), "done", note=_format_warning_count(submission)),
    ]
    return RunProgress(
        sentence=_("Received."), since=at, steps=steps, share=None, advice=advice
    )


def _format_warning_count(submission: Submission) -> str:
    warnings = sum(warning.get("count", 1) for warning in submission.warnings)
    return count_with_noun(warnings, "warning") if warnings else _("no problems")


def estimate_wait_seconds(submission: Submission, place: int | None) -> float | None:
    scored = Evaluation.objects.filter(phase=submission.phase_id).order_by("-id")
    recent = list(scored.values_list("seconds", flat=True)[:RECENT_SCORING_COUNT])
    if (
        place is None
        or place > MAX_QUEUE_POSITION
        or not recent
        or submission.status != SubmissionStatus.QUEUED
    ):
        return None
    seconds_per_run = SCORING_OVERHEAD_SECONDS + median(recent) * max(
        1, len(submission.phase.task.rules)
    )
    return float(-(-place // settings.WORKERS) * seconds_per_run)


ADVICE_BY_STATUS = {
    SubmissionStatus.FAILED: gettext_lazy(
        "A failed run does not count against your team's limit. If the reason lies in the file, correct it "
        "and submit it again; if it does not, write to the organisers and name this run."
    ),
    SubmissionStatus.WAITING: gettext_lazy(
        "You need not submit the file again: the site scores the run once what is "
        "missing has been supplied."
    ),
    SubmissionStatus.CANCELLED: gettext_lazy(
        "A cancelled run does not count against your team's limit."
    ),
    SubmissionStatus.WITHDRAWN: gettext_lazy(
        "A withdrawn run is on no board. It still counts against your team's limit."
    ),
}

OVER_LIMIT_ADVICE = gettext_lazy(
    "The first run of a team that needs too much computing time or memory does not count against its limit; "
    "the next ones do. If you do not see why the run needs so much, write to the organisers and name it."
)
REPLACEABLE_UNTIL_ADVICE = gettext_lazy(
    "It may be replaced until %(instant)s UTC, even if the phase has closed by then."
)
REFUSED_ADVICE = gettext_lazy(
    "Correct the file and submit it again: a run that was refused does not count against your team's limit. "
    "The file stays here, for you to look at."
)

#: A built-in baseline in one of the states SENTENCES_FOR_UNWRITTEN_BASELINE_RUN has no run yet.
SENTENCES_FOR_UNWRITTEN_BASELINE_RUN = {
    SubmissionStatus.QUEUED: gettext_lazy("Waiting for a worker to compute the run."),
    SubmissionStatus.SCORING: gettext_lazy("The run is being computed now."),
    SubmissionStatus.FAILED: gettext_lazy("The run could not be computed."),
}
RECOMPUTE_ADVICE = gettext_lazy(
    "Organisers can have it recomputed, here or on their page of baselines."
)


def _build_status_sentence(
    submission: Submission, place: int | None, wait: float | None
) -> str:
    if submission.status == SubmissionStatus.CHECKING:
        if not place:
            return _("Being checked now.")
        return " ".join(
            [_("Waiting to be checked."), _format_count_of_runs_ahead(place)]
        )
    if submission.problems:
        return _("This run was refused.")
    if (
        submission.is_unwritten
        and submission.status in SENTENCES_FOR_UNWRITTEN_BASELINE_RUN
    ):
        return str(
            SENTENCES_FOR_UNWRITTEN_BASELINE_RUN[SubmissionStatus(submission.status)]
        )
    if submission.status == SubmissionStatus.QUEUED:
        about = (
            ""
            if wait is None
            else _("Scored in about %(time)s.") % {"time": format_duration(wait)}
        )
        return " ".join(
            filter(
                None,
                [_("Waiting to be scored."), _format_count_of_runs_ahead(place), about],
            )
        )
    return {
        SubmissionStatus.SCORING: _("Being scored now."),
        SubmissionStatus.WAITING: _(
            "Cannot be scored yet: something is missing on this site."
        ),
        SubmissionStatus.SCORED: _("Scored."),
        SubmissionStatus.FAILED: _("This run could not be scored."),
        SubmissionStatus.CANCELLED: _("Cancelled before it was scored."),
        SubmissionStatus.WITHDRAWN: _("Withdrawn."),
    }[SubmissionStatus(submission.status)]


def _format_count_of_runs_ahead(place: int | None) -> str:
    if place is None:
        return ""
    if place > MAX_QUEUE_POSITION:
        return _("At least %(runs)s before it.") % {
            "runs": count_with_noun(MAX_QUEUE_POSITION, "run")
        }
    return (
        _("It is next.")
        if place == 1
        else _("%(runs)s before it.") % {"runs": count_with_noun(place - 1, "run")}
    )


def _build_progress_steps(
    submission: Submission, job: Job | None
) -> list[ProgressStep]:
    received = ProgressStep(_("received"), "done", submission.submitted_at)
    if submission.is_unwritten:
        # The site computes the run of a built-in baseline before scoring the run.
        first = ProgressStep(_("asked for"), "done", submission.submitted_at)
        if not submission.is_moving:
            return [
                first,
                ProgressStep(
                    submission.get_status_display(), "failed", submission.status_since
                ),
            ]
        computing = ProgressStep(_("computing the run"), "now", submission.status_since)
        return [
            first,
            computing,
            *map(ProgressStep, (_("queued"), _("scoring"), _("scored"))),
        ]
    check = submission.jobs.filter(kind=Job.Kind.CHECK).order_by("-id").first()
    if check is not None and check.state != Job.State.DONE:
        return [received, *_build_steps_of_unfinished_check(submission, check)]
    checked_at = check.finished_at if check else submission.submitted_at
    steps = [
        received,
        ProgressStep(
            _("checked"), "done", checked_at, _format_warning_count(submission)
        ),
    ]
    queued_at = job.created_at if job else submission.submitted_at
    started_at = job.started_at if job else None
    status = submission.status
    if status == SubmissionStatus.QUEUED:
        steps.append(
            ProgressStep(_("queued"), "now", queued_at, _build_queue_note(job))
        )
        return [*steps, ProgressStep(_("scoring")), ProgressStep(_("scored"))]
    steps.append(ProgressStep(_("queued"), "done", queued_at))
    if status in (SubmissionStatus.SCORING, SubmissionStatus.WAITING):
        name = _("scoring") if status == SubmissionStatus.SCORING else _("waiting")
        at = (
            started_at
            if status == SubmissionStatus.SCORING
            else submission.submitted_at
        )
        return [*steps, ProgressStep(name, "now", at), ProgressStep(_("scored"))]
    if started_at:
        steps.append(
            ProgressStep(_("scoring"), "done", started_at, _format_job_duration(job))
        )
    if status in (SubmissionStatus.SCORED, SubmissionStatus.WITHDRAWN):
        steps.append(
            ProgressStep(
                _("scored"), "done", job.finished_at if job else submission.status_since
            )
        )
    if status != SubmissionStatus.SCORED:
        state = "failed" if status == SubmissionStatus.FAILED else "done"
        steps.append(
            ProgressStep(
                submission.get_status_display(), state, submission.status_since
            )
        )
    return steps


def _build_queue_note(job: Job | None) -> str:
    if job is None:
        return ""
    again = _("begun again after an interruption") if job.attempt else ""
    queue = (
        ""
        if job.queue == Job.LIGHT
        else _("in the queue %(queue)s") % {"queue": job.queue}
    )
    return "; ".join(filter(None, [again, queue, explain_unserved_queue(job.queue)]))


def _build_steps_of_unfinished_check(
    submission: Submission, check: Job
) -> list[ProgressStep]:
    """Return the steps of a large run that is still being checked by a separate job, or
    whose check has failed.
    """
    if not submission.is_moving:
        name = _("refused") if submission.problems else submission.get_status_display()
        state = "failed" if submission.status == SubmissionStatus.FAILED else "done"
        return [ProgressStep(name, state, submission.status_since)]
    name = (
        _("waiting") if submission.status == SubmissionStatus.WAITING else _("checking")
    )
    note = (
        _("begun again after an interruption")
        if check.attempt and check.state == Job.State.QUEUED
        else ""
    )
    under_way = ProgressStep(name, "now", submission.status_since, note)
    return [under_way, *map(ProgressStep, (_("queued"), _("scoring"), _("scored")))]


def _format_job_duration(job: Job | None) -> str:
    if job is None or job.started_at is None or job.finished_at is None:
        return ""
    time = format_duration((job.finished_at - job.started_at).total_seconds())
    if job.attempt < 2:
        return _("took %(time)s") % {"time": time}
    return _("took %(time)s, in %(attempts)s attempts") % {
        "time": time,
        "attempts": job.attempt,
    }
