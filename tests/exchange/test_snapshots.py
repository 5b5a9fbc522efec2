"""A board that was cited, replaced or closed is kept as it stood, and stays as secret as it was."""

import datetime as dt
import hashlib
import json

import pytest
from django.urls import reverse
from django.utils import timezone

from scoring.models import Snapshot
from scoring.results.board.snapshots import save_due_snapshots
from tasks.models import Phase
from tests import factories
from tests.scoring import boards

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

ALL = ("snapshot", "snapshot-json", "snapshot-bib")


@pytest.fixture
def organiser():
    return factories.make_user()


@pytest.fixture
def phase(organiser):
    phase = boards.make_phase(
        factories.make_season(organiser=organiser), rules=["corrected"]
    )
    for name, value in (("Ada", 0.6123), ("Bo", 0.2)):
        boards.scored_run(
            phase, boards.make_team(phase, name), value, system=f"{name}'s"
        )
    return phase


def cited(client, phase) -> str:
    response = client.get(boards.address("cite", phase))
    assert response.status_code == 302
    return response["Location"]


def addresses(phase, kept: Snapshot) -> list[str]:
    return [
        reverse(
            name, args=[phase.task.season.slug, phase.task.slug, phase.slug, kept.short]
        )
        for name in ALL
    ]


def close(phase, **fields) -> None:
    past = timezone.now() - dt.timedelta(hours=1)
    Phase.objects.filter(pk=phase.pk).update(closes=past, **fields)
    phase.refresh_from_db()


def test_what_was_cited_never_shows_later_numbers(client, phase):
    where = cited(client, phase)
    before = client.get(where).content.decode()
    assert "0.6123" in before
    assert where in before  # the citation leads to the page itself
    boards.scored_run(phase, boards.make_team(phase, "Cy"), 0.9876, system="Later")
    Phase.objects.update(version=9)
    after = client.get(where).content.decode()
    assert "0.6123" in after
    assert "Later" not in after
    assert cited(client, phase) != where
    assert "Later" in client.get(cited(client, phase)).content.decode()


def test_citing_twice_keeps_one(client, phase):
    assert cited(client, phase) == cited(client, phase)
    client.get(boards.address("board-bib", phase))
    assert Snapshot.objects.count() == 1


def test_the_file_has_the_digest_that_the_page_says(client, phase):
    cited(client, phase)
    kept = Snapshot.objects.get()
    _, file, _ = addresses(phase, kept)
    content = client.get(file).content
    assert hashlib.sha256(content).hexdigest() == kept.digest
    assert (
        json.loads(content)["rows"][0]["scores"]["overlap_f1_micro"]["value"] == 0.6123
    )


@pytest.mark.parametrize("board", ["organisers", "nobody"])
def test_a_hidden_board_is_kept_at_close_for_its_organisers_alone(
    client, phase, organiser, board
):
    close(phase, board=board)
    assert save_due_snapshots() == 1
    assert save_due_snapshots() == 0
    kept = Snapshot.objects.get()
    assert (kept.audience, kept.occasion) == ("organiser", "close")
    for published in (False, True):
        if published:
            Phase.objects.update(board="everyone")
        client.logout()
        assert [client.get(where).status_code for where in addresses(phase, kept)] == [
            404
        ] * 3
        client.force_login(organiser)
        assert [client.get(where).status_code for where in addresses(phase, kept)] == [
            200
        ] * 3


def test_a_board_of_ranks_is_kept_without_numbers(client, phase):
    close(phase, board="ranks")
    assert save_due_snapshots() == 2
    public = Snapshot.objects.get(audience="public")
    page, file, _ = addresses(phase, public)
    assert "Ada&#x27;s" in client.get(page).content.decode()
    assert b"0.61" not in client.get(file).content
    # Numbers that are published later do not come into it.
    Phase.objects.update(board="everyone")
    assert b"0.61" not in client.get(file).content


def test_a_board_that_is_hidden_again_takes_its_citations_along(client, phase):
    where = cited(client, phase)
    Phase.objects.update(board="ranks")
    assert client.get(where).status_code == 404
    assert client.get(boards.address("cite", phase)).status_code == 404


def test_the_board_of_older_gold_is_kept_once_newer_gold_has_taken_its_place(
    client, phase
):
    second = boards.make_gold(phase, 2, "A fix")
    runs = list(phase.submissions.all())
    boards.score(runs[0], 0.5, gold=second)
    assert save_due_snapshots() == 0
    boards.score(runs[1], 0.4, gold=second)
    Phase.objects.update(version=8)
    assert save_due_snapshots() == 1
    kept = Snapshot.objects.get()
    assert (kept.occasion, kept.gold.number) == ("gold", 1)
    assert b"0.6123" in client.get(addresses(phase, kept)[0]).content


def test_nothing_is_kept_while_runs_of_a_closed_phase_are_still_scored(phase):
    waiting = boards.make_run(phase, phase.submissions.first().team, status="queued")
    close(phase)
    assert save_due_snapshots() == 0
    waiting.delete()
    assert save_due_snapshots() == 1


def test_a_phase_that_closes_a_second_time_is_kept_a_second_time(phase):
    close(phase)
    save_due_snapshots()
    Snapshot.objects.update(created_at=timezone.now() - dt.timedelta(days=3))
    boards.scored_run(phase, boards.make_team(phase, "Cy"), 0.9)
    Phase.objects.update(version=5)
    assert save_due_snapshots() == 1


def test_hidden_names_of_teams_stay_hidden_whoever_cites_the_board(
    client, phase, organiser
):
    Phase.objects.update(shows_teams=False)
    for person in (organiser, phase.submissions.get(system="Ada's").team.members.get()):
        client.force_login(person)
        where = cited(client, phase)
        client.logout()
        assert "0.2000" in client.get(where).content.decode()
    for kept in Snapshot.objects.all():
        assert {row["team"] for row in kept.content["rows"]} == {None}


def test_what_was_cited_with_names_is_not_shown_once_names_are_hidden(client, phase):
    where = cited(client, phase)
    Phase.objects.update(shows_teams=False)
    assert client.get(where).status_code == 404


def test_the_page_of_a_board_lists_what_was_kept(client, phase):
    close(phase)
    save_due_snapshots()
    page = client.get(boards.address("board", phase)).content.decode()
    assert Snapshot.objects.get().short in page


def test_a_page_of_the_board_that_was_read_before_lists_what_is_kept_later(
    client, phase
):
    close(phase)
    board = boards.address("board", phase)
    assert "snapshots/" not in client.get(board).content.decode()
    save_due_snapshots()
    assert Snapshot.objects.get().short in client.get(board).content.decode()


def test_reading_a_citation_again_stores_nothing_and_an_hour_has_its_limit(
    client, phase, monkeypatch
):
    monkeypatch.setattr("scoring.models.boards.MAX_SNAPSHOTS_PER_HOUR", 1)
    for _ in range(2):
        assert (
            "/snapshots/"
            in client.get(boards.address("board-bib", phase)).content.decode()
        )
        assert phase.snapshots.count() == 1
    boards.scored_run(phase, factories.make_team(season=phase.task.season), 0.9)
    told = client.get(boards.address("board-bib", phase)).content.decode()
    assert "/snapshots/" not in told
    assert phase.snapshots.count() == 1
    page = client.get(boards.address("cite", phase), follow=True)
    assert "which is as often as they are" in page.content.decode()
    phase.snapshots.update(created_at=timezone.now() - dt.timedelta(hours=2))
    assert (
        "/snapshots/" in client.get(boards.address("board-bib", phase)).content.decode()
    )
    assert phase.snapshots.count() == 2
