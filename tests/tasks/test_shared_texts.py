"""What organisers read of texts that a season of others has too: one sentence, once they publish them."""

import json

import pytest
from django.urls import reverse

from tasks.delivery.notifications.wording import write_notification_text
from tasks.gold.publishing import (
    MIN_SHARED_INSTANCES_TO_NOTIFY,
    compare_new_publications,
)
from tasks.models import Gold, GoldPublication, Notification, Phase, Season
from tasks.seasons.organisers import add_organiser
from tests import factories
from tests.api.conftest import API
from tests.web.reading import text_of
from tests.web.test_gold_pages import archive

pytestmark = pytest.mark.django_db

SENTENCE = "shares texts with a season of another organiser; staff can say more"
TEXTS = [
    [f"D05-{number:04}", "3", ["1"], "Method_Citation"]
    for number in range(MIN_SHARED_INSTANCES_TO_NOTIFY + 4)
]
OTHERWISE = [[*one[:2], ["4"], "Aim_Citation"] for one in TEXTS]


def make(title: str, citances=None, *, is_public: bool = True, organiser=None) -> Phase:
    """Open, with all that it has, in a season of its own organiser; ``citances`` are its gold, if any."""
    organiser = organiser or factories.make_user()
    season = factories.make_season(
        organiser=organiser, title=title, is_public=is_public
    )
    task = factories.make_task(season=season, title=f"Task of {title}")
    phase = factories.make_phase(
        task=task, with_gold=False, shows_instances=True, gold_is_public=True
    )
    if citances:
        publish(phase, citances)
    return phase


def publish(phase: Phase, citances) -> Gold:
    return factories.make_gold(phase=phase, citances=citances, topics=["D01-0001"])


def told() -> list[Notification]:
    compare_new_publications()
    return list(Notification.objects.filter(kind="texts-shared").order_by("pk"))


@pytest.fixture
def first() -> Phase:
    """Published before, and its organisers were told of nothing."""
    phase = make("First", TEXTS)
    assert told() == []
    return phase


@pytest.fixture
def second(first) -> Phase:
    return make("Second")


def organiser_of(phase: Phase):
    return phase.task.season.organisers.get().user


def test_who_publishes_gold_reads_that_it_shares_texts_and_no_more(second):
    publish(second, TEXTS)
    [message] = told()
    assert message.user == organiser_of(second)
    words = write_notification_text(message)
    assert words.text == f"It {SENTENCE}."
    assert "First" not in f"{words.title} {words.text} {json.dumps(message.facts)}"


@pytest.mark.parametrize("citances", [TEXTS, OTHERWISE, TEXTS[:10] + OTHERWISE[10:]])
def test_the_sentence_is_the_same_whatever_the_texts_are_answered(second, citances):
    publish(second, citances)
    assert [write_notification_text(message).text for message in told()] == [
        f"It {SENTENCE}."
    ]


@pytest.mark.parametrize(
    ("shared", "messages"),
    [(MIN_SHARED_INSTANCES_TO_NOTIFY - 1, 0), (MIN_SHARED_INSTANCES_TO_NOTIFY, 1)],
)
def test_fewer_than_twenty_texts_are_not_told_of(second, shared, messages):
    own = [[f"X05-{number:04}", "3", ["1"], "Method_Citation"] for number in range(40)]
    publish(second, TEXTS[:shared] + own)
    assert len(told()) == messages


def test_of_one_season_it_is_told_once(second):
    publish(second, TEXTS)
    assert len(told()) == 1
    publish(second, TEXTS[:22])
    assert len(told()) == 1


def test_a_draft_is_told_nothing_until_it_is_public(second):
    Season.objects.filter(pk=second.task.season_id).update(is_public=False)
    publish(second, TEXTS)
    assert told() == []
    Season.objects.update(is_public=True)
    assert len(told()) == 1


def test_what_a_draft_of_others_holds_is_not_told(second):
    make("Draft", [[f"X-{name}", *rest] for name, *rest in TEXTS], is_public=False)
    publish(second, [[f"X-{name}", *rest] for name, *rest in TEXTS])
    assert told() == []


def test_of_seasons_of_the_same_organisers_nothing_is_told(first):
    make("Third", TEXTS, organiser=organiser_of(first))
    assert told() == []


def test_who_organises_both_seasons_is_told_nothing(first, second):
    add_organiser(season=second.task.season, user=organiser_of(first), by=None)
    publish(second, TEXTS)
    assert organiser_of(first) not in [message.user for message in told()]


def test_helpers_are_told_nothing(second):
    helper = factories.make_user()
    add_organiser(season=second.task.season, user=helper, by=None, role="helper")
    publish(second, TEXTS)
    assert helper not in [message.user for message in told()]


class TestOverTheWeb:
    @pytest.fixture
    def sent(self, second, client, tmp_path, django_capture_on_commit_callbacks):
        """Publishes the texts as gold of the second season; the answer."""
        client.force_login(organiser_of(second))

        def send(query=""):
            upload = archive(tmp_path, citances=TEXTS)
            where = f"{API}/tasks/{second.task.pk}/gold/{query}"
            with django_capture_on_commit_callbacks(execute=True):
                return client.post(
                    where, {"file": upload, "reason": "The first version."}
                )

        return send

    def sentences(self, client) -> int:
        return client.get(reverse("messages")).content.decode().count(SENTENCE)

    def test_the_sentence_comes_with_the_publication(self, sent, client):
        assert sent().status_code == 201
        assert self.sentences(client) == 1

    def test_a_dry_run_brings_no_sentence_and_publishes_nothing(
        self, sent, client, second
    ):
        answer = sent("?dry_run=true")
        assert (answer.status_code, SENTENCE in answer.content.decode()) == (200, False)
        assert self.sentences(client) == 0
        assert not GoldPublication.objects.filter(gold__task=second.task).exists()

    def test_it_stands_on_no_page_of_the_season_and_not_in_its_json(
        self, sent, client, second
    ):
        sent()
        for name in (
            "organise-secrecy",
            "organise-gold",
            "organise",
            "organise-secrecy-json",
        ):
            answer = client.get(reverse(name, args=[second.task.season.slug]))
            assert SENTENCE not in answer.content.decode(), name

    def test_staff_read_on_the_page_how_many_texts_both_have(
        self, sent, client, second
    ):
        sent()
        client.force_login(factories.make_user(is_staff=True))
        page = text_of(
            client.get(reverse("organise-secrecy", args=[second.task.season.slug]))
        )
        assert f"First, Task of First, test, v1: scored instances: {len(TEXTS)}" in page

    def test_publishing_the_season_brings_it_too(
        self, client, second, django_capture_on_commit_callbacks
    ):
        client.force_login(organiser_of(second))
        Season.objects.filter(pk=second.task.season_id).update(is_public=False)
        publish(second, TEXTS)
        with django_capture_on_commit_callbacks(execute=True):
            values = {"settings": json.dumps({"season.public": True})}
            client.post(f"{API}/seasons/{second.task.season.slug}/settings/", values)
        assert self.sentences(client) == 1
