"""Boards that a process has computed: for other views of the same, and never for who may see less of it."""

import datetime as dt
import random

import pytest
from django.core.cache import caches
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone, translation

from citeboard.core.audit import history
from citeboard.core.database import FEW
from citeboard.core.templatetags.page import rendered
from citeboard.teams.models import Team
from citeboard.web.boards import board as board_module
from citeboard.web.boards.board import BoardFacts
from scoring.models import Breakdown, Evaluation, Score, Snapshot
from scoring.results.board import counting, differences, standings as standings_module
from scoring.results.board.query import BoardQuery
from scoring.results.board.snapshots import keep
from scoring.results.board.standings import standings
from scoring.results.board.table import MAX_WRITERS, Writer, table
from tasks.models import Phase, Season
from tasks.models.seasons import MAX_CHANGED, bump_version, bump_versions
from tasks.seasons.history import delete_phase, undo
from tasks.submissions import run_acts
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


def queries_of(client, query: str) -> list[str]:
    with CaptureQueriesContext(connection) as asked:
        read(client, query)
    return [found["sql"] for found in asked.captured_queries]


def number_kept() -> int:
    """Boards; scores and written rows, which the next board of the phase takes over, lie beside."""
    return sum(
        isinstance(kept, BoardFacts) for kept in caches["boards"]._cache.values()
    )


def test_a_new_score_reads_its_own_numbers_and_writes_its_own_row(
    client, phase, monkeypatch
):
    read(client)
    run = boards.scored_run(phase, None, 0.3, system="A baseline")
    bump_version(phase.pk)
    asked, written = [], []
    scores_of, write = standings_module.scores_of, Writer._row

    def noted(writer, row, **how):
        written.append(row.system)
        return write(writer, row, **how)

    monkeypatch.setattr(
        standings_module, "scores_of", lambda new: asked.append(new) or scores_of(new)
    )
    monkeypatch.setattr(Writer, "_row", noted)
    page = read(client)
    assert all(
        system in page for system in ("System of 0.5", "System of 0.25", "A baseline")
    )
    assert asked == [[run.evaluations.get().pk]]
    assert written == ["A baseline"]


def test_what_stands_around_a_board_is_written_once_for_all_of_its_scores(
    client, phase, monkeypatch
):
    written = []
    render = board_module.render_to_string
    monkeypatch.setattr(
        board_module,
        "render_to_string",
        lambda name, *given: written.append(name) or render(name, *given),
    )
    read(client)
    assert board_module.TEMPLATE in written
    written.clear()
    boards.scored_run(phase, None, 0.3, system="A baseline")
    bump_version(phase.pk)
    assert "A baseline" in read(client)
    assert written == ["boards/_standings.html"]
    Phase.objects.update(title="Another title")
    assert "Another title" in read(client)
    assert board_module.TEMPLATE in written


def test_a_row_that_was_scored_anew_shows_its_new_number(client, phase):
    assert "0.312" not in read(client)
    evaluation = Evaluation.objects.get(submission__system="System of 0.25")
    old = evaluation.scores.get()
    evaluation.scores.all().delete()
    Evaluation.objects.filter(pk=evaluation.pk).update(replaced_at=timezone.now())
    Score.objects.create(evaluation=evaluation, shared=old.shared, value=0.312, n=old.n)
    bump_version(phase.pk)
    assert "0.312" in read(client)


def test_after_a_score_the_runs_of_its_team_alone_are_looked_for(
    client, phase, monkeypatch
):
    read(client)
    heron = phase.task.season.registrations.get(team__slug="heron").team
    asked, look = [], counting._read

    def noted(*board, teams=()):
        asked.append(teams)
        return look(*board, teams=teams)

    monkeypatch.setattr(counting, "_read", noted)
    boards.scored_run(phase, heron, 0.75, system="Its better one")
    bump_version(phase.pk, heron.pk)
    page = read(client)
    assert "Its better one" in page
    assert "System of 0.5" in page
    assert "System of 0.25" not in page
    bump_version(phase.pk, 0)
    assert "Its better one" in read(client)
    assert asked == [{heron.pk}]


@pytest.mark.parametrize("number", [FEW, FEW + 1])
def test_runs_of_many_teams_that_were_scored_between_two_views_are_all_on_the_second(
    client, phase, number
):
    teams = [factories.make_team(season=phase.task.season) for _ in range(number)]
    read(client)
    for team in teams:
        boards.scored_run(phase, team, 0.75, system=f"One of {team.slug}.")
        bump_version(phase.pk, team.pk)
    page = read(client)
    assert [team.slug for team in teams if f"One of {team.slug}." not in page] == []


def _scored(phase: Phase, chance: random.Random) -> None:
    team = chance.choice(
        [None, *(entry.team for entry in phase.task.season.registrations.all())]
    )
    kind = chance.choice(KINDS) if team else "baseline"
    run = boards.scored_run(phase, team, chance.random(), kind=kind)
    boards.by_class(run, "facet", {"Aim": chance.random()}, n=chance.randrange(1, 9))
    bump_version(phase.pk, team and team.pk)


def _scored_anew(phase: Phase, chance: random.Random) -> None:
    evaluation = chance.choice(list(phase.evaluations.all()))
    value = chance.random()
    Score.objects.filter(evaluation=evaluation).update(value=value)
    Evaluation.objects.filter(pk=evaluation.pk).update(
        statistics=f"s{value}", rank_value=value
    )
    evaluation.breakdowns.all().delete()
    boards.by_class(
        evaluation.submission, "facet", {"Method": value}, n=chance.randrange(1, 9)
    )
    bump_version(phase.pk, evaluation.team_id)


def _compared(phase: Phase, chance: random.Random) -> None:
    bump_version(phase.pk, 0)


def _withdrawn(phase: Phase, chance: random.Random) -> None:
    runs = list(phase.submissions.filter(status="scored"))
    # Never the last one.
    for run in chance.sample(runs[1:], k=len(runs) > 1):
        run_acts.withdraw(run, phase.task.season.organisers.get().user, "a mistake")


def _chosen(phase: Phase, chance: random.Random) -> None:
    run = chance.choice(list(phase.submissions.exclude(team=None)))
    phase.submissions.filter(team=run.team).update(is_selected=False)
    phase.submissions.filter(pk=run.pk).update(
        is_selected=True, priority=chance.randrange(3)
    )
    bump_version(phase.pk)


def _renamed(phase: Phase, chance: random.Random) -> None:
    entry = chance.choice(list(phase.task.season.registrations.all()))
    Team.objects.filter(pk=entry.team_id).update(name=f"Team {chance.random()}")
    bump_versions(phase.task.season)


KINDS = ("primary", "contrastive")


@pytest.mark.parametrize("counts", ["best", "last", "all", "selected", "priority"])
def test_rows_and_classes_that_follow_what_changed_are_those_of_a_whole_look(
    phase, counts
):
    Phase.objects.filter(pk=phase.pk).update(
        counting=counts, priority_runs=2, shows_contrastive=True
    )
    chance = random.Random(counts)
    acts = [
        _scored,
        _scored,
        _scored,
        _scored_anew,
        _scored_anew,
        _compared,
        _withdrawn,
        _chosen,
        _renamed,
    ]
    for _ in range(40):
        act = chance.choice(acts)
        act(phase, chance)
        now = Phase.objects.select_related("task__season").get(pk=phase.pk)
        if chance.random() < 0.7:
            whole = sorted(standings(now, None).rows, key=lambda row: row.evaluation)
            board = standings(now, None, by_version=True)
            assert sorted(board.rows, key=lambda row: row.evaluation) == whole, (
                act.__name__
            )
            stored = Breakdown.objects.filter(
                evaluation__in=[row.evaluation for row in whole]
            )
            facts = [
                (own.classes.dimension, own.metrics_with_numbers(), own.sizes())
                for own in stored
            ]
            assert sorted(differences._class_facts(board), key=str) == sorted(
                facts, key=str
            ), act.__name__


def test_more_changes_than_are_known_are_looked_for_as_a_whole(phase):
    team = phase.task.season.registrations.first().team
    before = Phase.objects.get(pk=phase.pk)
    for _ in range(100):
        bump_version(phase.pk, team.pk)
    now = Phase.objects.get(pk=phase.pk)
    assert len(now.changed) <= MAX_CHANGED
    assert now.changed_since(before.version) is None
    assert now.changed_since(now.version - 20) == {team.pk}
    bump_version(phase.pk)
    assert Phase.objects.get(pk=phase.pk).changed_since(now.version) is None


def test_another_view_of_a_board_asks_for_nothing_but_whether_it_has_changed(
    client, phase
):
    read(client)
    assert len(queries_of(client, "?sort=-system&q=of")) == 1
    assert number_kept() == 1


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
    rendered.cache_clear()
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
    bump_version(phase.pk)
    assert "Better" in read(client, "?q=heron")


def test_a_board_that_was_kept_after_the_end_is_named_on_the_page(client, phase):
    Phase.objects.update(closes=timezone.now() - dt.timedelta(hours=1))
    assert "The board as it stood" not in read(client)
    keep(standings(Phase.objects.get(), None), Snapshot.Occasion.CLOSE)
    bump_version(phase.pk)
    assert "The board as it stood" in read(client)


def test_a_phase_that_is_deleted_or_brought_back_is_so_in_the_links_of_the_others(
    client, phase
):
    olga = phase.task.season.organisers.get().user
    other = factories.make_phase(
        task=phase.task, slug="other", title="Rehearsal", with_gold=False
    )
    assert "Rehearsal" in read(client)
    delete_phase(phase=other, by=olga)
    for reader in (None, olga):
        assert "Rehearsal" not in read(client, reader=reader)
    undo(season=phase.task.season, entry=history(phase.task.season).first(), by=olga)
    for reader in (None, olga):
        assert "Rehearsal" in read(client, reader=reader)


def test_views_in_other_orders_have_the_same_rows(client, phase):
    forwards, backwards = read(client, "?sort=system"), read(client, "?sort=-system")
    assert forwards.index("System of 0.25") < forwards.index("System of 0.5")
    assert backwards.index("System of 0.5") < backwards.index("System of 0.25")


def test_each_team_is_told_which_row_is_its_own_and_no_other(client, phase):
    for own, other in (("Canary", "Heron"), ("Heron", "Canary")):
        page = read(client, reader=lead_of(phase, own.lower()))
        assert f"{own}, your team" in page
        assert f"{other}, your team" not in page
    assert "your team" not in read(client)
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


def test_rows_are_written_anew_in_another_language(phase):
    board = BoardFacts(standings(phase, None))
    in_english = board.writers.of(board.board.columns, "")
    with translation.override("de"):
        assert board.writers.of(board.board.columns, "") is not in_english
    assert board.writers.of(board.board.columns, "") is in_english
    assert "System of 0.5" in table(board.writers, board.board.rows, BoardQuery()).rows


def test_a_board_of_very_many_numbers_is_not_kept(client, phase, monkeypatch):
    monkeypatch.setattr("scoring.results.board.standings.MAX_NUMBERS", 1)
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
    assert len(queries_of(client, "?q=of")) == 1


def test_no_number_of_columns_to_sort_by_keeps_more_rows_than_some(client, phase):
    board = BoardFacts(standings(phase, None))
    for number in range(MAX_WRITERS + 5):
        board.writers.of(board.board.columns, f"compare/?{number}")
    assert len(board.writers.known) == MAX_WRITERS
