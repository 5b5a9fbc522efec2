"""Runs of several teams that are the same."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tasks.models import Submission
from tasks.submissions.alike import mark_runs_with_same_file
from tests import factories

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


ONE_FILE, OTHER_FILE = "a" * 64, "b" * 64


def marks() -> list[bool]:
    return list(Submission.objects.order_by("pk").values_list("is_alike", flat=True))


def test_the_same_file_of_one_team_is_not_marked():
    first = factories.make_submission(sha256=ONE_FILE)
    factories.make_submission(phase=first.phase, team=first.team, sha256=ONE_FILE)
    mark_runs_with_same_file(first)
    assert marks() == [False, False]


def test_the_same_file_of_two_teams_is_marked_and_others_are_not():
    first = factories.make_submission(sha256=ONE_FILE)
    factories.make_submission(phase=first.phase, sha256=ONE_FILE)
    factories.make_submission(phase=first.phase, sha256=OTHER_FILE)
    mark_runs_with_same_file(first)
    assert marks() == [True, True, False]


def test_rows_are_locked_in_one_order_and_marked_rows_are_left_alone():
    if not connection.features.has_select_for_update:
        pytest.skip("SQLite locks the whole database")
    first = factories.make_submission(sha256=ONE_FILE)
    factories.make_submission(phase=first.phase, sha256=ONE_FILE)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        mark_runs_with_same_file(first)
    [locking] = [row["sql"] for row in queries if "FOR UPDATE" in row["sql"]]
    assert re.search(r"NOT \S*is_alike\S* .*ORDER BY \S+ ASC FOR UPDATE$", locking)
