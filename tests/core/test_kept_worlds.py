"""Worlds that are built once in a run and laid out in the tests of other processes."""

import pickle

import pytest

from tests import factories
from tests.kept_worlds import KeptWorld
from tests.numbering import OF_ROWS

pytestmark = pytest.mark.django_db


def test_rows_that_come_after_a_world_of_another_process_have_names_of_their_own(
    monkeypatch,
):
    before = OF_ROWS.next
    written = pickle.dumps(KeptWorld(factories.make_user))
    monkeypatch.setattr(OF_ROWS, "next", before)
    person = pickle.loads(written)()  # noqa: S301  (our own)
    assert factories.make_user().email != person.email
