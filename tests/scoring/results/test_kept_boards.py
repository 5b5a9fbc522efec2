"""The standings cache serves all views of a board, and never a reader who may see less of it."""

import datetime as dt

import pytest
from django.core.cache import caches
from django.urls import reverse
from django.utils import timezone

from citeboard.core.audit import find_history_of_place
from scoring.models import Evaluation, Score, Snapshot
from scoring.results.board import standings as standings_module
from scoring.results.board.snapshots import save_snapshot
from scoring.results.board.standings import compute_board
from tasks.models import Phase, Season
from tasks.models.seasons import (
    MAX_CHANGED_VERSIONS_CHARACTERS,
    increment_board_version,
)
from tasks.seasons.history import delete_phase, undo_history_entry
from tests import factories
from tests.scoring import boards
from tests.web.reading import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.fixture
def phase():
    """Two teams with a run each, one of them better."""
    season = factories.make_season(slug="s", organiser=factories.make_user(name="Olga"))
    phase = factories.make_phase(
        task=factories.make_task(season=season, slug="t"), slug="p"
    )
    for name, value in (("Canary", 0.5), ("Heron", 0.25)):
        team = factories.make_team(season=season, name=name, slug=name.lower())
        run = factories.make_submission(
            phase=phase, team=team, system=f"System of {value}", status="scored"
        )
        boards.score(run, value)
    return phase


def lead_of(phase, slug):
    return (
        phase.task.season.registrations.get(team__slug=slug).team.memberships.get().user
    )


def read(client, query: str = "", reader=None) -> str:
    client.cookies.clear()
    if reader is not None:
        client.force_login(reader)
    return text_of(client.get(reverse("board", args=["s", "t", "p"]) + query))


def number_kept() -> int:
    return len(caches["boards"]._cache)


def test_a_row_that_was_scored_anew_shows_its_new_number(client, phase):
    assert "0.312" not in read(client)
    evaluation = Evaluation.objects.get(submission__system="System of 0.25")
    old = evaluation.scores.get()
    evaluation.scores.all().delete()
    Evaluation.objects.filter(pk=evaluation.pk).update(replaced_at=timezone.now())
    Score.objects.create(evaluation=evaluation, shared=old.shared, value=0.312, n=old.n)
    increment_board_version(phase.pk)
    assert "0.312" in read(client)


def test_more_changes_than_are_known_are_looked_for_as_a_whole(phase):
    team = phase.task.season.registrations.first().team
    before = Phase.objects.get(pk=phase.pk)
    for _ in range(100):
        increment_board_version(phase.pk, team.pk)
    now = Phase.objects.get(pk=phase.pk)
    assert len(now.changed) <= MAX_CHANGED_VERSIONS_CHARACTERS
    assert now.list_teams_changed_since(before.version) is None
    assert now.list_teams_changed_since(now.version - 20) == {team.pk}
    increment_board_version(phase.pk)
    assert Phase.objects.get(pk=phase.pk).list_teams_changed_since(now.version) is None


def test_another_view_of_a_board_counts_no_runs_and_reads_no_scores(
    client, phase, monkeypatch
):
    read(client)

    def refuse(*_board):
        raise AssertionError("the standings were computed again")

    monkeypatch.setattr(standings_module, "find_runs_shown_on_board", refuse)
    monkeypatch.setattr(standings_module, "query_score_rows", refuse)
    assert "System of 0.5" in read(client, "?sort=-system&q=of")
    assert number_kept() == 1


def test_page_export_and_api_share_the_standings_of_visitors(client, phase):
    read(client)
    place = ["s", "t", "p"]
    assert client.get(reverse("board-csv", args=place)).status_code == 200
    assert client.get(reverse("api:leaderboard", args=[phase.pk])).status_code == 200
    assert number_kept() == 1


def test_a_view_changes_nothing_of_the_standings_that_others_get(client, phase):
    boards.scored_run(phase, None, 0.9, system="A person", kind="human")
    assert "A person" in read(client)
    place = ["s", "t", "p"]
    for name in ("differences", "board-tex", "costs", "pairings"):
        client.get(reverse(name, args=place))
    assert "A person" in read(client, "?sort=system")


@pytest.mark.parametrize("is_old", [False, True])
@pytest.mark.parametrize(
    "query", ["?sort=-system", "?q=<Her%26>", "?system=3&dimension=x", "?columns=all"]
)
def test_a_view_of_a_board_is_the_page_that_it_would_be_if_nothing_were_kept(
    client, phase, query, is_old
):
    """Whichever view was asked for before it, in whichever language."""
    address = reverse("board", args=["s", "t", "p"])
    if is_old:
        boards.make_gold(phase, 2, "A fix")
        query += "&gold=1"
    for before in ("?", "?sort=system&metric=y", "?q=anything"):
        client.get(f"{address}{before}&gold=1" if is_old else address + before)
    asked = [
        (address + query, {"accept-language": language}) for language in ("en", "de")
    ]
    found = [client.get(view, headers=headers).content for view, headers in asked]
    assert (b"gold=2" in found[0]) == is_old
    for name in ("pages", "boards", "results"):
        caches[name].clear()
    assert found == [
        client.get(view, headers=headers).content for view, headers in asked
    ]


def test_a_new_score_is_on_every_view_of_it(client, phase):
    assert "Heron" in read(client, "?q=heron")
    heron = phase.task.season.registrations.get(team__slug="heron").team
    boards.score(
        factories.make_submission(
            phase=phase, team=heron, system="Better", status="scored"
        ),
        0.75,
    )
    increment_board_version(phase.pk)
    assert "Better" in read(client, "?q=heron")


def test_a_board_that_was_kept_after_the_end_is_named_on_the_page(client, phase):
    Phase.objects.update(closes=timezone.now() - dt.timedelta(hours=1))
    assert "The board as it stood" not in read(client)
    save_snapshot(compute_board(Phase.objects.get(), None), Snapshot.Occasion.CLOSE)
    increment_board_version(phase.pk)
    assert "The board as it stood" in read(client)


def test_a_phase_that_is_deleted_or_brought_back_is_so_in_the_links_of_the_others(
    client, phase
):
    olga = phase.task.season.organisers.get().user
    other = factories.make_phase(
        task=phase.task,
        slug="other",
        title="Rehearsal",
        split="rehearsal",
        with_gold=False,
    )
    assert "Rehearsal" in read(client)
    delete_phase(phase=other, by=olga)
    for reader in (None, olga):
        assert "Rehearsal" not in read(client, reader=reader)
    undo_history_entry(
        season=phase.task.season,
        entry=find_history_of_place(phase.task.season).first(),
        by=olga,
    )
    for reader in (None, olga):
        assert "Rehearsal" in read(client, reader=reader)


def test_views_in_other_orders_have_the_same_rows(client, phase):
    forwards, backwards = (
        read(client, f"?sort={order}").partition("ranked by")[2]
        for order in ("system", "-system")
    )
    assert forwards.index("System of 0.25") < forwards.index("System of 0.5")
    assert backwards.index("System of 0.5") < backwards.index("System of 0.25")


def test_each_team_is_told_which_row_is_its_own_and_no_other(client, phase):
    for own, other in (("Canary", "Heron"), ("Heron", "Canary")):
        page = read(client, reader=lead_of(phase, own.lower()))
        assert f"{own}, your team" in page
        assert f"{other}, your team" not in page
    assert "your team" not in read(client)
    # For teams and for visitors, whoever they are.
    assert number_kept() == 2


def test_where_names_are_hidden_each_team_reads_its_own_alone(client, phase):
    Season.objects.update(anonymous_until=timezone.now() + dt.timedelta(days=1))
    for _ in range(2):
        for own, other in (("Canary", "Heron"), ("Heron", "Canary")):
            page = read(client, reader=lead_of(phase, own.lower()))
            assert own in page
            assert other not in page
        page = read(client)
        assert "Canary" not in page
        assert "Heron" not in page


def test_who_runs_the_season_leaves_nothing_for_others_to_read(client, phase):
    Phase.objects.update(board="organisers", version=7)
    organiser = phase.task.season.organisers.get().user
    for _ in range(2):
        assert "System of 0.5" in read(client, reader=organiser)
        assert "System of 0.5" not in read(client)
        assert "System of 0.5" not in read(client, reader=lead_of(phase, "canary"))


def test_a_board_of_very_many_numbers_is_not_kept(client, phase, monkeypatch):
    monkeypatch.setattr(
        "scoring.results.board.standings.MAX_SCORE_CELLS_OF_CACHED_BOARD", 1
    )
    assert "System of 0.5" in read(client)
    assert number_kept() == 0


def test_a_process_keeps_so_many_boards_and_forgets_those_that_nobody_reads(
    client, phase, settings
):
    bound = settings.CACHES["boards"]["OPTIONS"]["MAX_ENTRIES"]
    for version in range(1, bound + 10):
        Phase.objects.update(version=version)
        read(client)
        assert number_kept() <= bound
