"""Mails of organisers to the teams that a query finds: shown before, listed, and ended by who gets them."""

import datetime as dt

import pytest
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from citeboard.core.models import AuditEntry
from citeboard.teams.models import Token
from tasks.delivery.notifications.events import send_deadline_reminders
from tasks.delivery.notifications.reading import load_channels_by_kind
from tasks.jobs.mails import send_due_mails
from tasks.models import Job, Notification, Phase, Season, Submission
from tasks.models.notifications import NotificationChannel, NotificationKind
from tests import factories
from tests.api.conftest import API
from tests.scoring import boards
from tests.web.reading import text_of
from tests.web.test_rehearsals import go_on

pytestmark = pytest.mark.django_db
SAID = {"subject": "Your runs", "text": "Please look at them."}


@pytest.fixture
def organiser():
    return factories.make_user(name="Olga")


@pytest.fixture
def browser(organiser) -> Client:
    client = Client()
    client.force_login(organiser)
    return client


@pytest.fixture
def phase(organiser) -> Phase:
    """Closed, with a team that has a run that waits to be confirmed, one with a late run and one without."""
    season = factories.make_season(organiser=organiser, title="The season", slug="one")
    ended = timezone.now() - dt.timedelta(hours=1)
    phase = boards.make_phase(
        season,
        confirms_results=True,
        opens=ended - dt.timedelta(days=9),
        closes=ended,
        own_scores="scores",
    )
    boards.scored_run(
        phase, boards.make_team(phase, "Scored", factories.make_user(name="Ada")), 0.5
    )
    boards.scored_run(
        phase,
        boards.make_team(phase, "Tardy", factories.make_user()),
        0.4,
        is_late=True,
    )
    boards.make_team(phase, "Silent", factories.make_user(name="Sam"))
    boards.make_run(
        phase, boards.make_team(phase, "Gone", factories.make_user()), "withdrawn"
    )
    return phase


WHERE = "/seasons/one/organise/mails/"


def send(browser, **query):
    """As far as it takes: what is shown first, and what was said in the end."""
    asked = browser.post(WHERE, {**SAID, **query})
    return text_of(asked), go_on(browser, WHERE, asked)


@pytest.mark.both_databases
@pytest.mark.parametrize(
    ("group", "teams"),
    [
        ("all", "Gone, Scored, Silent and Tardy"),
        ("without-run", "Gone and Silent"),
        ("late", "Tardy"),
        ("not-confirmed", "Scored"),
    ],
)
def test_who_is_told_and_in_which_words_is_shown_before_anything_is_sent(
    browser, phase, group, teams
):
    asked = browser.post(WHERE, {**SAID, "group": group})
    said, people = text_of(asked), len(teams.replace(" and", ",").split(","))
    assert asked.status_code == 409
    assert f": {teams}" in said
    assert (
        f"{people} {'person' if people == 1 else 'people'}, {people} by e-mail, after ten minutes:"
        in said
    )
    assert "Organisers of The season: Your runs Please look at them." in said
    assert not Notification.objects.exists()


def test_a_phase_decides_by_its_own_runs(browser, phase):
    other = factories.make_phase(
        task=phase.task, slug="other", title="Other", with_gold=False
    )
    said, _sent = send(browser, group="without-run", phase=other.pk)
    assert "Gone, Scored, Silent and Tardy" in said
    assert f"{phase.task}, Other: Gone, Scored" in text_of(browser.get(WHERE))


@pytest.mark.both_databases
def test_it_waits_ten_minutes_in_the_list_and_is_taken_back_until_then(browser, phase):
    _said, sent = send(browser, group="late")
    assert sent.status_code == 302
    assert send_due_mails() == 0
    assert (
        "1 person is notified, 0 by e-mails that were sent. 1 e-mail waits until"
        in text_of(browser.get(WHERE))
    )
    browser.post(
        reverse(
            "organise-undo",
            args=["one", AuditEntry.objects.get(action="teams-mailed").pk],
        )
    )
    assert not Notification.objects.exists()
    assert "Taken back. 0 people are notified" in text_of(browser.get(WHERE))


def test_who_ends_such_mails_by_their_link_without_signing_in_still_gets_those_about_dates(
    browser, phase
):
    silent = (
        phase.task.season.registrations.get(team__slug="silent")
        .team.memberships.get()
        .user
    )
    send(browser, group="without-run", phase=phase.pk)
    Job.all_kinds.update(due_at=timezone.now())
    send_due_mails()
    assert "2 people are notified, 2 by e-mails that were sent." in text_of(
        browser.get(WHERE)
    )
    [letter] = [letter for letter in mail.outbox if letter.to == [silent.email]]
    assert letter.subject == "[Citeboard] Organisers of The season: Your runs"
    link = (
        letter.extra_headers["List-Unsubscribe"]
        .strip("<>")
        .partition("//")[2]
        .partition("/")[2]
    )
    assert "E-mails of organisers to some of the teams" in text_of(
        Client().post(f"/{link}")
    )
    assert (
        load_channels_by_kind(silent)[NotificationKind.MAILED]
        == NotificationChannel.SITE
    )
    assert "1 by e-mail, after ten minutes" in send(browser, group="without-run")[0]
    Phase.objects.update(closes=timezone.now() + dt.timedelta(hours=9))
    send_deadline_reminders()
    told = Notification.objects.filter(user=silent)
    assert {row.kind for row in told if row.job_id} == {
        NotificationKind.MAILED,
        NotificationKind.DEADLINE,
    }
    assert told.filter(kind=NotificationKind.MAILED, job=None).count() == 1


def test_nobody_is_mailed_of_a_group_without_teams_or_of_a_draft(browser, phase):
    Submission.objects.update(is_late=False)
    assert "no teams with a late run" in text_of(
        browser.post(WHERE, {**SAID, "group": "late"})
    )
    Season.objects.update(is_public=False)
    assert "is a draft" in text_of(browser.post(WHERE, {**SAID, "group": "all"}))
    assert not AuditEntry.objects.filter(action="teams-mailed").exists()


def test_a_program_is_shown_the_same_by_a_dry_run(client, phase, organiser):
    _token, secret = Token.objects.create_token(user=organiser, name="program")
    token = {"headers": {"Authorization": f"Token {secret}"}}
    where, body = f"{API}/seasons/one/mails/", {**SAID, "group": "late"}
    [told] = client.post(f"{where}?dry_run=true", body, **token).json()["told"]
    assert (told["people"], told["title"]) == (1, "Organisers of The season: Your runs")
    assert not Notification.objects.exists()
    assert client.post(where, body, **token).status_code == 204
    assert Notification.objects.get().facts["text"] == SAID["text"]
    assert client.post(where, {**body, "phase": 999999}, **token).status_code == 404
