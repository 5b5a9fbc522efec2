"""Which runs count, in which day, and when the next may be sent."""

import datetime as dt
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from tasks.models import Submission
from tasks.submissions.refusals import RunQuotaExceeded
from tasks.submissions.submit import (
    compute_local_day_bounds,
    compute_remaining_quota,
    require_remaining_try,
)
from tests.factories import lasting_day, make_phase, make_submission, make_team

pytestmark = pytest.mark.both_databases

UTC = dt.UTC


def at(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=UTC)


# An instant, and the day of its zone around it, in UTC; times are those of the zone's own clocks.
DAYS = [
    ("UTC", "2026-03-01 12:00", "2026-03-01 00:00", "2026-03-02 00:00"),
    ("UTC", "2026-03-01 00:00", "2026-03-01 00:00", "2026-03-02 00:00"),
    (
        "Europe/Rome",
        "2026-03-29 11:00",
        "2026-03-28 23:00",
        "2026-03-29 22:00",
    ),  # 23 hours
    (
        "Europe/Rome",
        "2026-10-25 11:00",
        "2026-10-24 22:00",
        "2026-10-25 23:00",
    ),  # 25 hours
    (
        "Europe/Rome",
        "2026-10-25 00:30",
        "2026-10-24 22:00",
        "2026-10-25 23:00",
    ),  # 02:30, the first
    (
        "Europe/Rome",
        "2026-10-25 01:30",
        "2026-10-24 22:00",
        "2026-10-25 23:00",
    ),  # 02:30, the second
    (
        "Africa/Cairo",
        "2026-04-24 10:00",
        "2026-04-23 22:00",
        "2026-04-24 21:00",
    ),  # midnight is skipped
    (
        "America/Havana",
        "2026-11-01 04:30",
        "2026-11-01 04:00",
        "2026-11-02 05:00",
    ),  # midnight comes twice
    ("America/Havana", "2026-11-01 05:30", "2026-11-01 04:00", "2026-11-02 05:00"),
    ("Etc/GMT+12", "2026-03-01 11:59", "2026-02-28 12:00", "2026-03-01 12:00"),
    ("Pacific/Kiritimati", "2026-03-01 10:00", "2026-03-01 10:00", "2026-03-02 10:00"),
    ("Asia/Kathmandu", "2026-03-01 18:14", "2026-02-28 18:15", "2026-03-01 18:15"),
]


@pytest.mark.parametrize(("zone", "instant", "begins", "ends"), DAYS)
def test_a_day_goes_from_midnight_to_midnight_where_the_phase_is(
    zone, instant, begins, ends
):
    assert compute_local_day_bounds(at(instant), ZoneInfo(zone)) == (
        at(begins),
        at(ends),
    )


@pytest.mark.parametrize(
    "zone", ["Europe/Rome", "Africa/Cairo", "America/Havana", "Pacific/Apia"]
)
def test_days_follow_each_other_without_gap_or_overlap(zone):
    instant = at("2026-01-01 00:00")
    begins, ends = compute_local_day_bounds(instant, ZoneInfo(zone))
    for _ in range(400):
        assert begins <= instant < ends
        instant = ends
        begins, following = compute_local_day_bounds(instant, ZoneInfo(zone))
        assert begins == ends
        ends = following


@pytest.fixture
def phase(db):
    return make_phase(
        runs_per_day=2,
        runs_in_total=5,
        time_zone="Europe/Rome",
        opens=at("2020-01-01 00:00"),
        closes=at("2090-01-01 00:00"),
    )


@pytest.fixture
def team(phase):
    return make_team(season=phase.task.season)


def sent(phase, team, when: str, status: str = "scored", **facts) -> None:
    """A run as it stands in the database; the limits of now do not matter to the past."""
    number = Submission.objects.filter(phase=phase, team=team).count() + 1
    Submission.objects.create(
        phase=phase,
        team=team,
        number=number,
        system="S",
        size=1,
        status=status,
        submitted_at=at(when),
        **facts,
    )


def left(phase, team, when: str) -> tuple:
    now = compute_remaining_quota(phase, team, at(when))
    return now.left_today, now.left_in_total, now.left


def test_without_runs_everything_is_left(phase, team):
    assert left(phase, team, "2026-03-01 12:00") == (2, 5, 2)


def test_runs_count_in_the_day_of_the_phase_s_own_time_zone(phase, team):
    sent(phase, team, "2026-07-01 21:59")  # 23:59 in Rome
    sent(phase, team, "2026-07-01 22:00")  # 00:00 in Rome
    assert left(phase, team, "2026-07-01 21:59") == (1, 3, 1)
    assert left(phase, team, "2026-07-01 22:01") == (1, 3, 1)
    assert left(phase, team, "2026-07-03 12:00") == (2, 3, 2)


@pytest.mark.parametrize(
    ("status", "counts"),
    [
        ("checking", True),
        ("queued", True),
        ("scoring", True),
        ("waiting", True),
        ("scored", True),
        ("withdrawn", True),
        ("failed", False),
        ("cancelled", False),
    ],
)
def test_a_run_counts_unless_it_failed_or_was_cancelled(phase, team, status, counts):
    sent(phase, team, "2026-03-01 12:00", status)
    assert left(phase, team, "2026-03-01 13:00") == ((1, 4, 1) if counts else (2, 5, 2))


def test_runs_over_their_limit_count_from_the_second_on(phase, team):
    for number, expected in enumerate([(2, 5, 2), (1, 4, 1), (0, 3, 0)]):
        sent(phase, team, f"2026-03-01 12:0{number}", "failed", hit_limit=True)
        assert left(phase, team, "2026-03-01 13:00") == expected
    assert left(phase, make_team(season=phase.task.season), "2026-03-01 13:00") == (
        2,
        5,
        2,
    )


def test_every_status_is_either_counted_or_free():
    assert set(Submission.Status) - set(Submission.COUNTED) == {"failed", "cancelled"}


def test_another_team_and_another_phase_have_runs_of_their_own(phase, team):
    sent(phase, team, "2026-03-01 12:00")
    other_phase = make_phase(task=phase.task, runs_per_day=2, runs_in_total=5)
    assert left(phase, make_team(season=phase.task.season), "2026-03-01 12:00") == (
        2,
        5,
        2,
    )
    assert left(other_phase, team, "2026-03-01 12:00") == (2, 5, 2)


def test_the_day_s_limit_renews_at_the_next_midnight_of_the_phase(phase, team):
    assert compute_remaining_quota(phase, team, at("2026-07-01 12:00")).renews_at == at(
        "2026-07-01 22:00"
    )


def test_a_used_up_total_renews_never(phase, team):
    for day in range(1, 6):
        sent(phase, team, f"2026-03-0{day} 12:00")
    now = compute_remaining_quota(phase, team, at("2026-03-20 12:00"))
    assert (now.left_today, now.left_in_total, now.left, now.renews_at) == (
        2,
        0,
        0,
        None,
    )


def test_a_limit_that_was_lowered_below_what_was_sent_leaves_none(phase, team):
    for _ in range(2):
        sent(phase, team, "2026-03-01 12:00")
    phase.runs_per_day = 1
    assert left(phase, team, "2026-03-01 13:00") == (0, 3, 0)


def test_a_phase_without_limits_takes_any_number(db):
    phase = make_phase()
    team = make_team(season=phase.task.season)
    now = compute_remaining_quota(phase, team)
    assert (now.left_today, now.left_in_total, now.left, now.renews_at) == (
        None,
        None,
        None,
        None,
    )


def test_a_cancelled_run_gives_its_try_back(db):
    phase = make_phase(runs_per_day=1)
    team = make_team(season=phase.task.season)
    submission = make_submission(phase=phase, team=team)
    with pytest.raises(RunQuotaExceeded):
        make_submission(phase=phase, team=team)
    Submission.objects.filter(pk=submission.pk).update(status="cancelled")
    assert make_submission(phase=phase, team=team).number == 2


def test_a_refusal_says_in_words_when_the_next_run_may_be_sent(db):
    phase = make_phase(runs_per_day=1, time_zone="Pacific/Kiritimati")
    team = make_team(season=phase.task.season)
    sent(phase, team, "2026-03-01 12:00")
    with pytest.raises(
        RunQuotaExceeded, match=r"no run is left .* at 2 Mar 2026, 10:00 UTC"
    ):
        require_remaining_try(phase, team, at("2026-03-01 13:00"))


def test_the_day_in_which_tests_count_runs_lasts_for_an_hour_at_any_time(monkeypatch):
    for hour in range(24):
        now = at(f"2026-03-01 {hour:02d}:59")
        monkeypatch.setattr(timezone, "now", lambda now=now: now)
        _, ends = compute_local_day_bounds(now, ZoneInfo(lasting_day()))
        assert ends - now > dt.timedelta(hours=1)
