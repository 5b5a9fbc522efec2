"""What a kept zip of a season may be given to."""

import pytest
from django.urls import reverse

from citeboard.background.kinds import compute_paper_access_digest
from scoring.exchange.overview_paper import OverviewPaper
from tasks.models import Phase, Submission, Task
from tasks.models.seasons import increment_board_version
from tests import factories
from tests.background.background import work_off
from tests.scoring import boards

pytestmark = pytest.mark.django_db


def test_rights_of_a_zip_name_all_that_may_be_taken_back():
    season = factories.make_season(organiser=factories.make_user())
    boards.make_phase(season, rules=("corrected",), shows_instances=True)
    Task.objects.update(min_class_size=5)
    before = compute_paper_access_digest(OverviewPaper.for_viewer(season, None))
    Phase.objects.update(shows_instances=False)
    assert compute_paper_access_digest(OverviewPaper.for_viewer(season, None)) != before


@pytest.mark.parametrize(
    "gone",
    [{"exclusion": "hidden", "exclusion_reason": "So."}, {"status": "withdrawn"}],
)
def test_a_run_that_is_taken_off_the_board_is_in_no_zip_that_was_kept(client, gone):
    season = factories.make_season(organiser=factories.make_user())
    phase = boards.make_phase(season, rules=("corrected",))
    run = boards.scored_run(
        phase,
        boards.make_team(phase, "Ada", factories.make_user()),
        0.5,
        system="Canary",
    )
    where = reverse("overview-paper-zip", args=[season.slug])
    client.post(where)
    work_off()
    assert client.get(where).getvalue()
    Submission.objects.filter(pk=run.pk).update(**gone)
    increment_board_version(phase.pk)
    assert client.get(where).status_code == 302
