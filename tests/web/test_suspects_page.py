"""The organisers' page of the instances to read again, after a phase."""

import datetime as dt
import re

import pytest
from django.urls import reverse
from django.utils import timezone

from citeboard.core import storage
from scoring.models import Evaluation
from scoring.stats import items
from tasks.models import Organiser, Phase
from tests import factories
from tests.api.sending import score
from tests.scoring.compared import TOPICS, make_phase

pytestmark = pytest.mark.django_db

SYSTEMS = 8


def content(strength: int) -> bytes:
    """A run that has more topics right the stronger it is; the first topic if it is weak, the last never."""
    right = {*range(1, strength + 1), *([0] if strength <= SYSTEMS // 2 else [])}
    lines = [
        {
            "topic": topic,
            "citing": citing,
            "marker": marker,
            "sentences": list(sentences) if place in right else ["4"],
        }
        for place, topic in enumerate(TOPICS)
        for citing, marker, sentences, _ in factories.CITANCES
    ]
    return factories.run_bytes(lines)


@pytest.fixture
def phase() -> Phase:
    """A phase that closed yesterday."""
    phase = make_phase()
    Phase.objects.update(
        opens=timezone.now() - dt.timedelta(days=2),
        closes=timezone.now() - dt.timedelta(days=1),
    )
    return phase


@pytest.fixture
def runs(phase) -> None:
    Phase.objects.update(closes=timezone.now() + dt.timedelta(days=1))
    for strength in range(1, SYSTEMS + 1):
        team = factories.make_team(season=phase.task.season)
        score(
            factories.make_submission(phase=phase, team=team, content=content(strength))
        )
    Phase.objects.update(closes=timezone.now() - dt.timedelta(days=1))


@pytest.fixture
def for_few(monkeypatch) -> None:
    """Let boards of eight systems have what larger boards have."""
    for name in (
        "MIN_SYSTEMS",
        "MIN_SYSTEMS_FOR_BEST_THIRD",
        "MIN_SYSTEMS_FOR_ITEM_REST",
    ):
        monkeypatch.setattr(items, name, SYSTEMS)


@pytest.fixture
def ask(client, phase):
    organiser = factories.make_user()
    Organiser.objects.create(season=phase.task.season, user=organiser)
    client.force_login(organiser)

    def page(status: int = 200, **query: object) -> str:
        address = reverse("organise-suspects", args=[phase.task.season.slug, phase.pk])
        answer = client.get(address, query)
        assert answer.status_code == status
        return " ".join(answer.content.decode().split())

    return page


def topics_on(page: str) -> list[str]:
    """The topics of the listed instances, in their order."""
    return list(dict.fromkeys(re.findall(r"instance=(D01-\d+)", page)))


def test_instances_on_which_better_systems_do_worse_are_listed_with_the_drawn_instance(
    ask, runs, for_few
):
    page = ask(metric="overlap_f1_micro")
    assert topics_on(page) == [TOPICS[0]]
    # Wilson's interval of 4 of 8.
    assert "mean of all systems 0.5000 (0.2152 to 0.7848)" in page
    assert "correlation with the other instances −0.8" in page
    assert page.count('<p class="part-name">The cited paper</p>') == page.count(
        'class="read"'
    )
    main = re.sub(r"<[^>]+>", " ", page.split("<main")[1].split("</main>")[0])
    assert not re.search(r"\d+ (of \d+ )?instances?\b", main)
    missed = ask(which="missed", metric="overlap_f1_micro")
    assert topics_on(missed) == [TOPICS[0], TOPICS[-1]]
    assert "mean of all systems 0.0000 (0.0000 to 0.3244)" in missed


def test_smaller_boards_have_no_correlation_no_best_third_and_no_list(
    ask, runs, monkeypatch
):
    assert "needs at least 12 systems" in ask()
    monkeypatch.setattr(items, "MIN_SYSTEMS", SYSTEMS)
    page = ask(which="missed", metric="overlap_f1_micro")
    assert topics_on(page) == [TOPICS[0]]
    assert "missed by the best third" not in page
    assert "correlation with the other instances" not in page
    assert (items.MIN_SYSTEMS_FOR_BEST_THIRD, items.MIN_SYSTEMS_FOR_ITEM_REST) == (
        20,
        60,
    )
    for evaluation in Evaluation.objects.all():
        storage.statistics_file_storage.delete(evaluation.statistics)
    assert "The stored statistics of a run are missing" in ask()


def test_the_page_lists_nothing_before_the_phase_has_closed(client, ask, phase):
    phases = reverse("organise-phases", args=[phase.task.season.slug])
    link = reverse("organise-suspects", args=[phase.task.season.slug, phase.pk])
    assert link in client.get(phases).content.decode()
    assert "needs at least 12 systems" in ask()
    assert "which" in ask(status=400, which="other")
    Phase.objects.update(closes=timezone.now() + dt.timedelta(days=1))
    assert "once the phase has closed" in ask()
    assert link not in client.get(phases).content.decode()
