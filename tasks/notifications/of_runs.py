"""What a team is told of its runs."""

from __future__ import annotations

import datetime as dt

from tasks.models import ExtraTries, Job, Phase, Submission
from tasks.models.notifications import Kind
from tasks.notifications.writing import members_of, notify
from tasks.webhooks.queueing import queue_event

Status = Submission.Status


def tell_scored(job: Job, *, is_first: bool) -> None:
    """That the job's run was scored; again, if it was before, and then once for all runs of a team."""
    run = _run_of(job)
    if run is None:
        return
    if is_first:
        _post(Kind.SCORED, f"run-{run.pk}-scored-{job.pk}", run)
    if run.phase.own_runs_show == Phase.OwnRuns.NOTHING:
        return
    if is_first:
        _tell(Kind.SCORED, f"run-{run.pk}-scored-{job.pk}", run)
    elif run.status == Status.SCORED:
        assert run.team is not None
        notify(
            Kind.RESCORED,
            f"phase-{run.phase_id}-team-{run.team_id}-rescored-{job.gold_id}-{job.options_digest[:16]}",
            members_of(run.team),
            season=run.phase.task.season_id,
            phase=run.phase,
            team=run.team,
            facts={"gold": job.gold.number},
        )


def tell_failed(job: Job, *, has_problems: bool) -> None:
    """That it will not be scored: for what is wrong with its file, or for another reason."""
    run = _run_of(job)
    if run is not None and run.status == Status.FAILED:
        attempt = "" if job.started_at is None else f"-{job.started_at:%Y%m%d%H%M%S%f}"
        kind, event = Kind.REFUSED if has_problems else Kind.FAILED, f"run-{run.pk}-failed-{job.pk}{attempt}"
        _post(kind, event, run)
        _tell(kind, event, run)


def tell_tries(given: ExtraTries) -> None:
    """That the team may send more runs than others."""
    notify(
        Kind.TRIES,
        f"tries-{given.pk}",
        members_of(given.team),
        season=given.phase.task.season_id,
        phase=given.phase,
        team=given.team,
        facts={"tries": given.tries, "reason": given.reason},
    )


def tell_excluded(run: Submission, exclusion: str, reason: str, *, at: dt.datetime) -> None:
    """That it stands on no board any more, or may again where ``exclusion`` is empty."""
    _tell(Kind.EXCLUDED, f"run-{run.pk}-excluded-{at.timestamp()}", run, exclusion=exclusion, reason=reason)


def _run_of(job: Job) -> Submission | None:
    """As it is now; None where no team waits for it."""
    if not job.sets_status:
        return None
    runs = Submission.objects.select_related("phase__task", "team")
    return runs.filter(pk=job.submission_id, team__isnull=False).first()


def _post(kind: Kind, event: str, run: Submission) -> None:
    """Organisers see every run, whatever the phase shows its team."""
    assert run.team is not None
    where = {"task": run.phase.task.slug, "phase": run.phase.slug, "team": run.team.slug}
    queue_event(kind, event, run.phase.task.season_id, run=run.pk, number=run.number, **where)


def _tell(kind: Kind, event: str, run: Submission, **facts: str) -> None:
    assert run.team is not None
    notify(
        kind,
        event,
        members_of(run.team),
        season=run.phase.task.season_id,
        phase=run.phase,
        team=run.team,
        submission=run,
        facts=facts,
    )
