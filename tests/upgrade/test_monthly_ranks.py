"""Monthly ranks that were stored as lists are stored with names after the migration."""

import datetime as dt
from importlib import import_module

import pytest
from django.apps import apps
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from citeboard.core.instants import ENDLESS_PHASE_END
from scoring.models import MonthlyRanks
from scoring.results.board.standings import compute_board, first_day_of_month
from tests.scoring import boards

pytestmark = pytest.mark.both_databases

BEFORE, AFTER = "0022_revised_comparisons", "0023_named_monthly_ranks"
migration = import_module(f"scoring.migrations.{AFTER}")


@pytest.fixture
def phase(db):
    opens = timezone.now() - dt.timedelta(days=60)
    return boards.make_phase(public_part=30, opens=opens, closes=ENDLESS_PHASE_END)


def store(phase, runs: list, month: dt.date | None = None) -> MonthlyRanks:
    month = month or first_day_of_month(timezone.now())
    return MonthlyRanks.objects.create(
        phase=phase, rules="corrected", month=month, runs=runs
    )


def test_a_board_shows_the_ranks_that_were_stored_as_lists(phase):
    first, second = (boards.make_team(phase, name) for name in ("First", "Second"))
    runs = [boards.make_run(phase, team) for team in (first, second)]
    for run, value in zip(runs, (0.4, 0.6), strict=True):
        boards.score(run, value)
    store(phase, [[runs[0].pk, first.slug, 1], [runs[1].pk, second.slug, 2]])
    migration.add_names(apps, None)
    ranks = {row.team_slug: row.rank for row in compute_board(phase, None).rows}
    assert ranks == {first.slug: 1, second.slug: 2}


def test_every_batch_is_rewritten(phase, monkeypatch):
    monkeypatch.setattr(migration, "BATCH", 2)
    for month in range(1, 6):
        store(phase, [[month, "team", 1]], dt.date(2026, month, 1))
    migration.add_names(apps, None)
    stored = MonthlyRanks.objects.order_by("month").values_list("runs", flat=True)
    assert list(stored) == [
        [{"run": month, "team": "team", "rank": 1}] for month in range(1, 6)
    ]


def test_a_run_without_a_team_and_a_month_without_runs_are_rewritten(phase):
    ranked = store(phase, [[7, None, 3]], dt.date(2026, 1, 1))
    empty = store(phase, [], dt.date(2026, 2, 1))
    migration.add_names(apps, None)
    ranked.refresh_from_db()
    empty.refresh_from_db()
    assert (ranked.runs, empty.runs) == ([{"run": 7, "team": None, "rank": 3}], [])


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_the_migration_can_be_undone_and_repeated(phase):
    ranked = store(phase, [{"run": 7, "team": "first", "rank": 1}])
    MigrationExecutor(connection).migrate([("scoring", BEFORE)])
    ranked.refresh_from_db()
    assert ranked.runs == [[7, "first", 1]]
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes("scoring"))
    ranked.refresh_from_db()
    assert ranked.runs == [{"run": 7, "team": "first", "rank": 1}]
