"""After the upgrade workers look at every board once more, which stores its ranks."""

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from scoring.models import BoardOrder
from scoring.results.board import comparison_state
from tests.scoring import boards

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]

BEFORE = "0023_named_monthly_ranks"


@pytest.mark.slow
def test_no_board_of_an_earlier_release_counts_as_looked_at():
    phase = boards.make_phase()
    comparison_state.get_or_create_board_order(phase.pk, "corrected")
    BoardOrder.objects.update(version=5)
    MigrationExecutor(connection).migrate([("scoring", BEFORE)])
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes("scoring"))
    assert BoardOrder.objects.get().version == 0
