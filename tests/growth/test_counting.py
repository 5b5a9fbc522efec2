"""Which runs count is found at the same cost however many runs the teams sent.

PostgreSQL reads a table of so few runs as a whole, so that only SQLite is measured.
"""

import pytest
from django.db import transaction

from scoring.models import Evaluation
from tasks.models import Gold, Phase
from tests.growth.looks import Look, look
from tests.growth.seasons import TEAMS, make_runs
from tests.growth.test_sizes import grows
from tests.mass import mass

pytestmark = [pytest.mark.django_db, pytest.mark.mass]

FEW, MANY = 500, mass(2_000, 100_000)
#: By these rules one run of each team counts.
RULES = (Phase.CountedRunsRule.BEST, Phase.CountedRunsRule.LAST)


def test_one_run_of_each_team_is_found_without_a_look_at_its_other_runs():
    few, many = costs(FEW), costs(MANY)
    assert [
        (rule, few[rule], many[rule]) for rule in RULES if grows(few[rule], many[rule])
    ] == []


def costs(size: int) -> dict[str, Look]:
    with transaction.atomic():
        phase = make_runs(size)
        found = {rule: look(lambda rule=rule: count(phase, rule)) for rule in RULES}
        transaction.set_rollback(True)
    return found


def count(phase: Phase, rule: str) -> None:
    phase.counting = rule
    gold = Gold.objects.current(phase)
    evaluations = Evaluation.objects.counting(phase, "corrected", gold)
    assert len(evaluations.values_list("pk")) == TEAMS
