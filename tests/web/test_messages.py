"""What somebody was told: the list, the count in the head of pages, choices, and unsubscribing."""

import pytest
from django.test import Client
from django.urls import reverse

from tasks.delivery.notifications.reading import (
    load_channels_by_kind,
    sign_unsubscribe_secret,
    store_notification_channels,
)
from tasks.jobs.mails import load_outgoing_mail_state
from tasks.models import Job, Notification, Phase
from tasks.models.notifications import NotificationChannel, NotificationKind
from tasks.seasons.announcements import announce
from tests import factories
from tests.api.conftest import API
from tests.scoring import boards
from tests.tasks.mailing import letters_to, refuse_connections
from tests.web.reading import text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada(client):
    person = factories.make_user(name="Ada")
    client.force_login(person)
    return person


@pytest.fixture
def phase(ada):
    phase = boards.make_phase(season=factories.make_season(title="The season"))
    boards.make_team(phase, "Night Shift", ada)
    return phase


def tell(phase, text: str) -> None:
    announce(season=phase.task.season, text=text, by=None)


def page_of(client) -> str:
    return text_of(client.get(reverse("messages")))


@pytest.mark.both_databases
def test_messages_are_counted_in_the_head_of_every_page_until_they_are_read(
    client, phase
):
    board = boards.address("board", phase)
    assert "Messages Your" not in text_of(client.get(board))
    first = client.get(board)
    tell(phase, "We extend.")
    tell(phase, "Again.")
    assert "Messages 2 new" in text_of(client.get(reverse("home")))
    # A page that the browser has kept is not good any more.
    again = client.get(board, headers={"If-None-Match": first["ETag"]})
    assert "Messages 2 new" in text_of(again)
    assert "We extend." in page_of(client)
    assert "Messages 2 new" in page_of(client)
    newest = Notification.objects.first()
    client.post(reverse("messages-read"), {"message": newest.pk})
    assert "Messages 1 new" in page_of(client)
    client.post(reverse("messages-read"))
    assert "no new messages" in page_of(client)


@pytest.mark.both_databases
def test_nobody_reads_or_marks_the_messages_of_others(client, phase):
    tell(phase, "We extend.")
    other = Client()
    other.force_login(factories.make_user())
    assert "We extend." not in page_of(other)
    other.post(reverse("messages-read"), {"message": Notification.objects.get().pk})
    assert Notification.objects.get().read_at is None


def test_a_message_of_an_outcome_goes_when_the_phase_hides_it(client, phase, ada):
    Notification.objects.create(
        user=ada, kind=NotificationKind.SCORED, event="e", season=phase.task.season, phase=phase,
        team=ada.teams.get(), submission=boards.make_run(phase, ada.teams.get(), system="Owl"),
    )  # fmt: skip
    assert "Owl" in page_of(client)
    Phase.objects.filter(pk=phase.pk).update(board="nobody", own_scores="nothing")
    assert "Owl" not in page_of(client)
    assert "Messages 1 new" not in page_of(client)


@pytest.mark.both_databases
def test_choices_are_kept_and_what_is_no_choice_changes_nothing(client, phase, ada):
    address = reverse("message-choices")
    client.post(
        address,
        {
            NotificationKind.ANNOUNCED: NotificationChannel.NONE,
            NotificationKind.SCORED: "pigeon",
        },
    )
    assert (
        load_channels_by_kind(ada)[NotificationKind.ANNOUNCED]
        == NotificationChannel.NONE
    )
    assert (
        load_channels_by_kind(ada)[NotificationKind.SCORED] == NotificationChannel.SITE
    )
    assert '<option value="none" selected>' in client.get(address).content.decode()
    tell(phase, "We extend.")
    assert "We extend." not in page_of(client)


def unsubscribing(person, kind=NotificationKind.ANNOUNCED) -> str:
    return reverse("unsubscribe", args=[sign_unsubscribe_secret(person, kind)])


def test_one_click_ends_mails_of_a_kind_without_signing_in(phase, ada):
    program = Client(enforce_csrf_checks=True)
    where = unsubscribing(ada)
    assert "Stop these e-mails" in text_of(program.get(where))
    assert (
        load_channels_by_kind(ada)[NotificationKind.ANNOUNCED]
        == NotificationChannel.MAIL
    )
    said = program.post(where, {"List-Unsubscribe": "One-Click"})
    assert said.status_code == 200
    assert "You get no more e-mails of this kind: Announcements" in text_of(said)
    assert (
        load_channels_by_kind(ada)[NotificationKind.ANNOUNCED]
        == NotificationChannel.SITE
    )
    assert (
        load_channels_by_kind(ada)[NotificationKind.MOVED] == NotificationChannel.MAIL
    )
    tell(phase, "We extend.")
    assert letters_to(ada) == []


def test_unsubscribing_tells_nobody_more_than_they_wanted_to_be_told(ada):
    store_notification_channels(
        user=ada, wanted={NotificationKind.ANNOUNCED: NotificationChannel.NONE}
    )
    Client().post(unsubscribing(ada))
    assert (
        load_channels_by_kind(ada)[NotificationKind.ANNOUNCED]
        == NotificationChannel.NONE
    )


@pytest.mark.parametrize(
    "secret", ["x", "1-announced", "1-announced.AAAA", "%00", "a" * 500]
)
def test_a_link_that_was_not_signed_here_leads_nowhere(secret):
    for ask in (Client().get, Client().post):
        assert ask(f"/unsubscribe/{secret}/").status_code == 404


def test_the_operator_sees_a_mail_server_that_is_away_and_tries_again(
    client, phase, monkeypatch
):
    tell(phase, "We extend.")
    refuse_connections(monkeypatch)
    letters_to(factories.make_user())
    staff = factories.make_user(is_staff=True)
    client.force_login(staff)
    page = text_of(client.get(reverse("operate")))
    assert "1 e-mail waiting" in page
    assert "ConnectionRefusedError: no mail server" in page
    Job.all_kinds.update(
        state="failed", reason="The mail server refuses the address (550)."
    )
    assert "refuses the address (550)" in text_of(client.get(reverse("operate")))
    said = text_of(client.post(reverse("operate-mails"), follow=True))
    assert "1 e-mail will be tried again." in said
    assert load_outgoing_mail_state().failed == 0
    Job.all_kinds.update(state="failed")
    assert client.post(f"{API}/site/mails/").json() == {"queued": 1}
    assert load_outgoing_mail_state().failed == 0


@pytest.mark.both_databases
def test_the_api_gives_the_same_messages_and_choices(client, phase, ada):
    tell(phase, "We extend.")
    tell(phase, "Again.")
    own = client.get(f"{API}/messages/").json()
    assert [told["text"] for told in own["results"]] == ["Again.", "We extend."]
    assert own["results"][0]["page"].endswith(f"/seasons/{phase.task.season.slug}/")
    marked = client.post(
        f"{API}/messages/read/", {"messages": [own["results"][0]["id"]]}
    )
    assert marked.json() == {"marked": 1}
    assert client.post(f"{API}/messages/read/").json() == {"marked": 1}
    said = client.post(
        f"{API}/messages/choices/", {"kind": "announced", "channel": "site"}
    )
    assert {"kind": "announced", "channel": "site"} in said.json()["choices"]
    assert (
        client.post(
            f"{API}/messages/choices/", {"kind": "x", "channel": "site"}
        ).status_code
        == 400
    )
