"""Conclude the ended demo season.

The demo's teams confirm their results, the site creates a citation of the board, and
writes an archive of the season.
"""

import time

from citeboard.background.kinds import queue_archive
from citeboard.demo.prepare import (
    ENDED_DEMO_SEASON_SLUG,
    ORGANISER_ROLE,
    POLL_SECONDS,
    add_to_team,
    demo_email_address,
    get_or_create_account,
)
from citeboard.teams.models import Membership, Team, User
from scoring.models import BackgroundJob
from scoring.results.board.snapshots import (
    RUN_STATES_BEFORE_RESULT,
    save_cited_snapshot,
)
from scoring.results.board.standings import compute_board
from scoring.results.runs.confirming import confirm_result
from tasks.delivery.notifications.reading import store_notification_channels
from tasks.models import Phase, Submission
from tasks.models.notifications import NotificationChannel, NotificationKind


def conclude_ended_demo_season(*, patience: float = 0) -> bool:
    """Confirm the results of the ended demo season, cite its board and archive the
    season, once the board is complete.

    Wait up to ``patience`` seconds for a worker to score the runs. Return False if the
    board of the ended demo season is still incomplete. Demo seasons from earlier
    releases stay unchanged, because their teams do not confirm results.
    """
    phase = Phase.objects.select_related("task__season").get(
        task__season__slug=ENDED_DEMO_SEASON_SLUG
    )
    season, deadline = phase.task.season, time.monotonic() + patience
    archives = season.background_jobs.filter(kind=BackgroundJob.Kind.ARCHIVE)
    if not phase.confirms_results or archives.exists():
        return True
    while not (board := compute_board(phase, None)).is_compared or _has_unsettled_runs(
        phase
    ):
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
        phase.refresh_from_db()
    runs = phase.submissions.filter(kind=Submission.Kind.PRIMARY)
    for run in runs.select_related("team", "phase__task__season"):
        assert run.team is not None
        confirm_result(submission=run, by=_get_or_create_team_lead(run.team))
    save_cited_snapshot(board)
    queue_archive(
        season=season,
        version="1.0",
        with_gold=True,
        by=get_or_create_account(ORGANISER_ROLE),
    )
    return True


def _has_unsettled_runs(phase: Phase) -> bool:
    return phase.submissions.filter(status__in=RUN_STATES_BEFORE_RESULT).exists()


def _get_or_create_team_lead(team: Team) -> User:
    """Return the lead of a demo team, whose account is created if missing."""
    leads = Membership.objects.filter(team=team, role=Membership.Role.LEAD)
    if lead := leads.select_related("user").first():
        return lead.user
    address = demo_email_address(team.slug)
    user = User.objects.filter(email__iexact=address).first()
    if user is None:
        user = User.objects.create_user(address, name=f"Lead of {team}")
        store_notification_channels(
            user=user, wanted=dict.fromkeys(NotificationKind, NotificationChannel.SITE)
        )
    add_to_team(user, team)
    return user
