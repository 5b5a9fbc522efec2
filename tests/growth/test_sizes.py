"""What pages and workers look at does not grow with what is stored: queries, and rows or steps of them."""

import pytest
from django.db import connection

from tasks.jobs import engine
from tasks.jobs.queue_choice import compute_position_in_queue
from tests.factories import make_phase
from tests.growth.looks import look
from tests.growth.seasons import make_waiting
from tests.mass import mass

pytestmark = [pytest.mark.django_db, pytest.mark.mass, pytest.mark.both_databases]

MAX_RATIO = 1.3
#: Of rows: those that PostgreSQL looks at in its indexes though they are gone.
UNSURE = 50
#: Waiting runs.
FEW, MANY = 250, mass(1_500, 10_000)


@pytest.mark.parametrize(
    "teams", [1, 50, 10**6], ids=["of one team", "of fifty", "each of another team"]
)
def test_a_claim_and_a_place_cost_the_same_however_many_wait(teams):
    phase = make_phase()
    few, many = (costs_of_waiting(phase, size, teams) for size in (FEW, MANY))
    assert [
        (name, few[name], many[name]) for name in few if grows(few[name], many[name])
    ] == []


def costs_of_waiting(phase, size, teams):
    runs = make_waiting(phase, size, min(teams, size))
    if connection.vendor == "postgresql":
        # Of a table of a few pages it reads the whole, where it would use an index of a large one.
        connection.cursor().execute("SET LOCAL enable_seqscan = off")
    return {
        "claim": look(lambda: engine.claim_next_job("group:1.1", "group:")),
        "place of one in the middle": look(
            lambda: compute_position_in_queue(runs[size // 2])
        ),
        "place of the last": look(lambda: compute_position_in_queue(runs[-1])),
    }


def grows(few, many):
    return many.queries > few.queries or many.rows > MAX_RATIO * few.rows + UNSURE
