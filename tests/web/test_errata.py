"""An erratum is shown on the board and on every board that was kept before it, for whoever sees them."""

import pytest
from django.urls import reverse

from citeboard.core.audit import find_history_of_place
from tasks.models import Organiser, Phase
from tests import factories
from tests.scoring import boards

pytestmark = pytest.mark.django_db
WORDS = "Two rows <b>were</b> swapped."
SHOWN = "Two rows were swapped."


@pytest.fixture
def phase():
    phase = boards.make_phase()
    boards.scored_run(phase, boards.make_team(phase, "Ada"), 0.6)
    return phase


@pytest.fixture
def organiser(phase):
    found = factories.make_user()
    Organiser.objects.create(season=phase.task.season, user=found)
    return found


def publish(client, organiser, phase, text=WORDS):
    client.force_login(organiser)
    answer = client.post(
        reverse("organise-errata", args=[phase.task.season.slug, phase.pk]),
        {"text": text},
    )
    client.logout()
    return answer


def page(client, where) -> str:
    return client.get(where).content.decode()


def test_it_stands_on_the_board_and_on_what_was_cited_before_and_not_on_what_is_cited_later(
    client, phase, organiser
):
    cited = client.get(boards.address("cite", phase))["Location"]
    board = boards.address("board", phase)
    assert "Erratum" not in page(client, board)
    assert publish(client, organiser, phase).status_code == 302
    assert SHOWN in page(client, board)
    assert SHOWN in page(client, cited)
    later = client.get(boards.address("cite", phase))["Location"]
    assert SHOWN not in page(client, later)
    [told] = client.get(reverse("api:errata", args=[phase.pk])).json()
    assert told["text"] == WORDS
    assert find_history_of_place(phase.task.season).first().changes[0]["after"] == WORDS


def test_it_renders_as_markdown_and_runs_nothing(client, phase, organiser):
    publish(
        client,
        organiser,
        phase,
        "Rows **3** and 4; see [ours](https://example.org).\n\n<script>1</script>",
    )
    shown = page(client, boards.address("board", phase))
    assert "Rows <strong>3</strong> and 4" in shown
    assert 'href="https://example.org"' in shown
    assert "<script>1</script>" not in shown


def test_of_a_hidden_board_nobody_reads_one(client, phase, organiser):
    publish(client, organiser, phase)
    Phase.objects.update(board="nobody")
    assert SHOWN not in page(client, boards.address("board", phase))
    assert client.get(reverse("api:errata", args=[phase.pk])).json() == []


@pytest.mark.parametrize("text", ["", "  ", "x" * 2001])
def test_nothing_and_too_much_are_refused(client, phase, organiser, text):
    assert publish(client, organiser, phase, text).status_code == 422
    assert Phase.objects.get().errata == []


def test_a_second_one_leaves_the_first(client, phase, organiser):
    publish(client, organiser, phase, "One.")
    publish(client, organiser, phase, "Two.")
    told = client.get(reverse("api:errata", args=[phase.pk])).json()
    assert [one["text"] for one in told] == ["Two.", "One."]
