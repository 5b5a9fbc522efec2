"""Announcements with what they said before, and the feeds of a season and a board."""

import datetime as dt
from xml.etree import ElementTree as ET

import pytest
from django.urls import reverse
from django.utils import timezone

from citeboard.core.audit import find_history_of_place
from tasks.delivery.notifications.reading import list_notifications_of_user
from tasks.delivery.notifications.wording import write_notification_text
from tasks.models import Announcement, Notification, Phase, Season
from tasks.seasons.phase_acts import move_phase
from tests import factories
from tests.api.conftest import API
from tests.scoring import boards
from tests.tasks.mailing import letters_to
from tests.web.reading import text_of

pytestmark = pytest.mark.django_db

ATOM = "{http://www.w3.org/2005/Atom}"


@pytest.fixture
def organiser(client):
    person = factories.make_user(name="Olga")
    client.force_login(person)
    return person


@pytest.fixture
def phase(organiser):
    return boards.make_phase(
        season=factories.make_season(organiser=organiser, title="The season")
    )


def say(client, phase, text: str) -> Announcement:
    client.post(
        reverse("organise-announcement", args=[phase.task.season.slug]), {"text": text}
    )
    return Announcement.objects.first()


def edit(client, own: Announcement, text: str):
    return client.post(
        reverse("organise-announcement-edit", args=[own.season.slug, own.pk]),
        {"text": text},
    )


def listed(client, phase) -> str:
    return text_of(client.get(reverse("announcements", args=[phase.task.season.slug])))


def entries(client, route: str, *where: str) -> dict[str, str]:
    """What a feed says, by title."""
    response = client.get(reverse(route, args=where))
    assert response["Content-Type"].startswith("application/atom+xml")
    found = ET.fromstring(response.content).iter(f"{ATOM}entry")  # noqa: S314  (our own)
    return {
        own.findtext(f"{ATOM}title"): own.findtext(f"{ATOM}summary") for own in found
    }


def season_feed(client, phase) -> dict[str, str]:
    return entries(client, "season-feed", phase.task.season.slug)


def board_feed(client, phase) -> dict[str, str]:
    return entries(
        client, "board-feed", phase.task.season.slug, phase.task.slug, phase.slug
    )


@pytest.mark.both_databases
def test_earlier_announcements_stay_in_the_list(client, phase):
    say(client, phase, "Welcome.")
    say(client, phase, "We **extend**.")
    client.logout()
    page = listed(client, phase)
    assert page.index("We extend .") < page.index("Welcome.")
    assert "Welcome." not in text_of(
        client.get(reverse("season", args=[phase.task.season.slug]))
    )


@pytest.mark.both_databases
def test_an_edited_announcement_says_what_it_said_before(client, phase):
    own = say(client, phase, "It ends on 1 May.")
    edit(client, own, "It ends on 3 May.")
    assert edit(client, own, "").status_code == 422
    page = listed(client, phase)
    assert "It ends on 3 May." in page
    assert "it said: It ends on 1 May." in page
    assert "It ends on 3 May." in text_of(
        client.get(reverse("season", args=[phase.task.season.slug]))
    )
    entry = find_history_of_place(phase.task.season).first()
    assert entry.changes == [
        {
            "key": "announcement",
            "before": "It ends on 1 May.",
            "after": "It ends on 3 May.",
        }
    ]


def test_editing_tells_nobody_twice_and_changes_what_they_read(client, phase):
    ada = factories.make_user()
    boards.make_team(phase, "Night Shift", ada)
    own = say(client, phase, "It ends on 1 May.")
    edit(client, own, "It ends on 3 May.")
    [letter] = letters_to(ada)
    assert "It ends on 3 May." in letter
    assert [
        write_notification_text(told).text for told in list_notifications_of_user(ada)
    ] == ["It ends on 3 May."]


def test_what_is_taken_back_stands_nowhere_and_is_mailed_to_nobody(client, phase):
    ada = factories.make_user()
    boards.make_team(phase, "Night Shift", ada)
    own = say(client, phase, "The password is swordfish.")
    client.post(
        reverse(
            "organise-announcement-take-back", args=[phase.task.season.slug, own.pk]
        )
    )
    assert Season.objects.get().announcement == ""
    assert Notification.objects.count() == 0
    assert letters_to(ada) == []
    client.logout()
    assert "swordfish" not in listed(client, phase)
    assert "swordfish" not in str(season_feed(client, phase))
    assert (
        client.get(f"{API}/seasons/{phase.task.season.slug}/announcements/").json()[
            "results"
        ]
        == []
    )


def test_what_is_taken_back_is_not_edited(client, phase):
    own = say(client, phase, "The password is swordfish.")
    season = phase.task.season.slug
    client.post(reverse("organise-announcement-take-back", args=[season, own.pk]))
    form = reverse("organise-announcement-edit", args=[season, own.pk])
    assert client.get(form).status_code == 404


def test_nobody_edits_the_announcements_of_another_season(client, phase):
    other = factories.make_season(organiser=factories.make_user())
    own = Announcement.objects.create(season=other, text="Welcome.")
    address = reverse(
        "organise-announcement-edit", args=[phase.task.season.slug, own.pk]
    )
    assert client.post(address, {"text": "Ha."}).status_code == 404
    assert Announcement.objects.get().text == "Welcome."


@pytest.mark.both_databases
def test_the_feed_of_a_season_has_announcements_phases_and_moves(
    client, phase, organiser
):
    say(client, phase, "We <b>extend</b> \x07.")
    move_phase(
        phase=phase,
        opens=phase.opens,
        closes=phase.closes + dt.timedelta(days=2),
        by=organiser,
    )
    client.logout()
    feed = season_feed(client, phase)
    name = f"{phase.task}, {phase}"
    [said] = [
        html for title, html in feed.items() if title.startswith("Announcement of")
    ]
    assert "extend" in said
    assert "<script" not in said
    assert f"{name} is open" in feed
    assert any(title.startswith(f"Moved {name} from") for title in feed)
    assert "Olga" not in str(feed)
    Phase.objects.filter(pk=phase.pk).update(closes=timezone.now())
    assert f"{name} is over" in season_feed(client, phase)


def test_a_draft_has_no_feed_even_for_its_organisers(client, phase):
    Season.objects.update(is_public=False)
    season = phase.task.season
    assert client.get(reverse("season-feed", args=[season.slug])).status_code == 404
    where = [season.slug, phase.task.slug, phase.slug]
    assert client.get(reverse("board-feed", args=where)).status_code == 404


def test_the_feed_of_a_board_shows_what_the_public_sees_whoever_asks(client, phase):
    boards.scored_run(
        phase, boards.make_team(phase, "Night Shift"), 0.734, system="Owl"
    )
    assert "0.734" in board_feed(client, phase)["Owl of Night Shift"]
    assert "Gold version 1" in board_feed(client, phase)
    Phase.objects.filter(pk=phase.pk).update(shows_teams=False)
    assert "Night Shift" not in str(board_feed(client, phase))
    Phase.objects.filter(pk=phase.pk).update(board="ranks")
    assert "0.734" not in str(board_feed(client, phase))
    for hidden in ("organisers", "nobody"):
        Phase.objects.filter(pk=phase.pk).update(board=hidden)
        where = [phase.task.season.slug, phase.task.slug, phase.slug]
        # Its organiser asks, and gets what everybody gets.
        assert client.get(reverse("board-feed", args=where)).status_code == 404


def test_the_api_lists_edits_and_takes_back(client, phase):
    own = say(client, phase, "Welcome.")
    address = f"{API}/seasons/{phase.task.season.slug}/announcements/"
    said = client.post(f"{address}{own.pk}/", {"text": "Welcome all."}).json()
    assert (said["text"], said["edits"][0]["text"]) == ("Welcome all.", "Welcome.")
    assert client.get(address).json()["results"][0]["text"] == "Welcome all."
    assert client.delete(f"{address}{own.pk}/").status_code == 204
    assert client.get(address).json()["results"] == []
