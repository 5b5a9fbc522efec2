"""Class charts open on the dimension that the papers of a task type are about."""

import pytest

from scoring.results.board import differences
from scoring.results.board.standings import compute_board
from tasks.models import Phase, Task
from tests.scoring import boards

pytestmark = pytest.mark.django_db

PLACES = {"within sentences": 0.2, "sentence ends": 0.3}
THIRDS = {"first third": 0.2, "last third": 0.3}


def first_dimension(phase: Phase) -> str:
    board = compute_board(Phase.objects.get(pk=phase.pk), None, "corrected")
    return differences.list_selectable_dimensions(board)[0]


def test_positional_citations_open_on_where_marks_stand():
    phase = boards.make_phase()
    run = boards.scored_run(phase, None, 0.3)
    boards.by_class(run, "mark_position", THIRDS)
    boards.by_class(run, "dataset", {"asqa": 0.1, "eli5": 0.2})
    Task.objects.filter(pk=phase.task_id).update(type="positional-citations")
    assert first_dimension(phase) == "mark_position"
    boards.by_class(run, "placing", PLACES)
    assert first_dimension(phase) == "placing"


def test_a_dimension_of_a_single_class_is_not_opened():
    phase = boards.make_phase()
    run = boards.scored_run(phase, None, 0.3)
    boards.by_class(run, "mark_position", THIRDS)
    boards.by_class(run, "placing", {"sentence ends": 0.3})
    Task.objects.filter(pk=phase.task_id).update(type="positional-citations")
    assert first_dimension(phase) == "mark_position"
