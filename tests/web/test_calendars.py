"""A season's dates: on its page, and as a file that calendars read."""

import datetime as dt

import pytest
from django.urls import reverse
from icalendar import Calendar

from tasks.seasons.file.load import change_settings
from tasks.seasons.phase_acts import move_phase
from tests.factories import make_phase, make_season, make_task, make_user
from tests.web.reading import text_of

pytestmark = pytest.mark.django_db
MAY = dt.datetime(2031, 5, 1, 11, 59, tzinfo=dt.UTC)


@pytest.fixture
def phase():
    season = make_season(
        organiser=make_user(name="Olga"),
        slug="dates",
        title="Zitate, Bedeutung; und \\ mehr: ein sehr langer Titel, der mit Umlauten gefaltet wird: äöü",
        workshop_at=MAY + dt.timedelta(60),
    )
    return make_phase(
        task=make_task(season=season, title="Wörter"),
        title="Final",
        opens=MAY,
        closes=MAY + dt.timedelta(30),
    )


def content(client, season) -> bytes:
    answer = client.get(reverse("season-calendar", args=[season.slug]))
    assert (answer.status_code, answer["Content-Type"]) == (
        200,
        "text/calendar; charset=utf-8",
    )
    return answer.content


def events(client, season):
    read = Calendar.from_ical(content(client, season))
    assert not read.errors
    return {str(event["UID"]): event for event in read.walk("VEVENT")}


def test_what_opens_closes_and_is_due_is_an_event_in_utc(client, phase):
    season = phase.task.season
    found = events(client, season)
    assert [event["DTSTART"].dt for event in found.values()] == [
        MAY, MAY + dt.timedelta(30), MAY + dt.timedelta(60),
    ]  # fmt: skip
    closes, workshop = list(found.values())[1:]
    assert str(closes["SUMMARY"]) == f"{season.title}: Wörter, Final, closes"
    assert str(workshop["SUMMARY"]) == f"{season.title}: Workshop"
    assert str(closes["URL"]).endswith(
        f"/seasons/dates/{phase.task.slug}/{phase.slug}/"
    )


def test_no_line_has_more_than_75_octets_and_no_sign_is_cut(client, phase):
    lines = content(client, phase.task.season).split(b"\r\n")
    assert lines.pop() == b""
    assert max(map(len, lines)) <= 75
    assert any(line.startswith(b" ") for line in lines)
    assert all(line.decode() for line in lines)
    assert b"\n" not in b"".join(lines)


def test_a_date_that_moves_keeps_its_name_and_counts_on(client, phase):
    season, olga = phase.task.season, phase.task.season.organisers.get().user
    type(season).objects.update(created_at=MAY - dt.timedelta(3000))
    before = events(client, season)
    move_phase(
        phase=phase, opens=phase.opens, closes=phase.closes + dt.timedelta(1), by=olga
    )
    change_settings(
        season=season, values={"season.workshop_at": MAY + dt.timedelta(61)}, by=olga
    )
    after = events(client, season)
    assert list(before) == list(after)
    moved = [after[name]["SEQUENCE"] - before[name]["SEQUENCE"] for name in before]
    assert moved == [0, 1, 1]
    assert [
        name
        for name in before
        if before[name]["DTSTAMP"].dt < after[name]["DTSTAMP"].dt
    ] == list(before)[1:]


def test_a_phase_without_an_end_only_opens_and_a_draft_has_no_calendar(client, phase):
    season = phase.task.season
    type(phase).objects.update(
        closes=dt.datetime(2099, 12, 31, 23, 59, 59, tzinfo=dt.UTC)
    )
    assert len(events(client, season)) == 2
    type(season).objects.update(is_public=False)
    client.force_login(season.organisers.get().user)
    assert client.get(reverse("season-calendar", args=["dates"])).status_code == 404


def test_the_page_of_a_season_draws_its_dates_and_leads_to_the_file(client, phase):
    answer = client.get("/seasons/dates/")
    assert "Workshop" in text_of(answer)
    page = answer.content.decode()
    assert 'class="phase-bar ahead"' in page
    assert 'class="phase-bar point ahead"' in page
    assert 'href="/calendars/dates.ics"' in page
