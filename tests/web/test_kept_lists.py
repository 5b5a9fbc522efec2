"""The home page and a season's are made once for all visitors, and anew when something has changed."""

import datetime as dt

import pytest
from django.utils import timezone

from tasks.models import Phase, Season
from tasks.seasons.announcements import announce
from tests import factories
from tests.scoring import boards

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.fixture
def phase():
    return factories.make_phase()


def pages(phase: Phase) -> list[str]:
    return ["/", f"/seasons/{phase.task.season.slug}/"]


def tags(client, phase: Phase) -> list[str]:
    return [client.get(page)["ETag"] for page in pages(phase)]


def score_a_run(phase: Phase) -> None:
    boards.scored_run(phase, boards.make_team(phase, "Night Shift"), 0.5)


def say_a_word(phase: Phase) -> None:
    announce(season=phase.task.season, text="Gold is fixed.", by=factories.make_user())


def let_the_deadline_pass(phase: Phase) -> None:
    Phase.objects.filter(pk=phase.pk).update(
        closes=timezone.now() - dt.timedelta(seconds=1)
    )


def publish_another_season(phase: Phase) -> None:
    factories.make_season()


def test_a_second_visitor_gets_the_page_of_the_first(
    client, phase, django_assert_max_num_queries
):
    first = [client.get(page).content for page in pages(phase)]
    with django_assert_max_num_queries(3):
        assert [client.get(page).content for page in pages(phase)] == first
    for page, tag in zip(pages(phase), tags(client, phase), strict=True):
        assert client.get(page, headers={"If-None-Match": tag}).status_code == 304


@pytest.mark.parametrize(
    "change",
    [score_a_run, say_a_word, let_the_deadline_pass, publish_another_season],
    ids=lambda f: f.__name__,
)
def test_a_page_is_made_anew_when_something_has_changed(client, phase, change):
    before = tags(client, phase)
    change(phase)
    assert tags(client, phase) != before


def test_what_changed_stands_on_the_page(client, phase):
    tags(client, phase)
    say_a_word(phase)
    assert "Gold is fixed." in client.get(pages(phase)[1]).content.decode()


def test_a_season_that_is_a_draft_again_is_on_neither(client, phase):
    tags(client, phase)
    Season.objects.update(is_public=False)
    home, season = (client.get(page) for page in pages(phase))
    assert phase.task.season.title not in home.content.decode()
    assert season.status_code == 404


def test_who_is_signed_in_gets_a_page_of_their_own(client, phase):
    tags(client, phase)
    client.force_login(factories.make_user())
    for page in pages(phase):
        response = client.get(page)
        assert "ETag" not in response
        assert response["Cache-Control"] == "private, no-store"
        assert "Sign out" in response.content.decode()
