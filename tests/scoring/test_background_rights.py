"""What is queued is done for organisers alone."""

import pytest

from scoring.models import Sheet
from tasks.models import Organiser
from tests.scoring.background import work_off
from tests.scoring.test_background import asked, organiser, phase, run

pytestmark = pytest.mark.django_db
__all__ = ["organiser", "phase", "run"]


def test_who_organises_no_more_gets_nothing_done(client, phase, run, organiser):
    asked(client, phase, run)
    Organiser.objects.filter(user=organiser).delete()
    [job] = work_off()
    assert job.state == "failed"
    assert not Sheet.objects.exists()
