"""Seasons of before that hold the same texts, as the migrations and the first sweep after them leave them."""

from importlib import import_module

import pytest
from django.apps import apps

from tasks.gold.publishing import compare_new_publications
from tasks.gold.secrecy import are_own_scores_visible_to_teams
from tasks.models import (
    Claim,
    GoldContent,
    GoldOverlap,
    GoldPublication,
    Notification,
    Phase,
)
from tests import factories

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

STEPS = {
    "0065_gold_of_other_organisers": "by_organisers_of_now",
    "0066_publications_of_gold": "of_public_seasons",
    "0067_claims_on_texts": "of_before",
}
TEXTS = [[f"D05-{number:04}", "3", ["1"], "Method_Citation"] for number in range(20)]


def make(organiser, *, is_public: bool = True, **fields) -> Phase:
    season = factories.make_season(organiser=organiser, is_public=is_public)
    task = factories.make_task(season=season)
    phase = factories.make_phase(task=task, with_gold=False, **fields)
    factories.make_gold(phase=phase, citances=TEXTS, topics=["D01-0001"])
    return phase


def upgrade() -> None:
    """From rows as an earlier release has them."""
    GoldContent.objects.update(organisers=[])
    GoldOverlap.objects.update(binds=False, is_claimed=False, shown=0)
    GoldPublication.objects.all().delete()
    for migration, step in STEPS.items():
        getattr(import_module(f"tasks.migrations.{migration}"), step)(apps, None)
    compare_new_publications()


def shows(phase: Phase) -> bool:
    return are_own_scores_visible_to_teams(Phase.objects.get(pk=phase.pk))


@pytest.fixture
def hidden() -> Phase:
    return make(factories.make_user(), board="nobody", own_scores="nothing")


def test_a_season_of_other_organisers_shows_its_board_and_both_are_told(hidden):
    shown = make(factories.make_user())
    upgrade()
    assert shows(shown)
    told = Notification.objects.filter(kind="texts-shared").values_list(
        "season", flat=True
    )
    assert set(told) == {hidden.task.season_id, shown.task.season_id}


def test_staff_are_to_decide_on_it(hidden):
    shown = make(factories.make_user())
    upgrade()
    claim = Claim.objects.get()
    assert (claim.state, claim.season, claim.later) == (
        "open",
        hidden.task.season,
        shown.task.season,
    )


def test_a_season_of_the_same_organisers_goes_on_hiding_what_the_other_hides(hidden):
    shown = make(hidden.task.season.organisers.get().user)
    upgrade()
    assert not shows(shown)
    assert not Claim.objects.exists()


def test_a_draft_of_before_has_published_nothing(hidden):
    draft = make(factories.make_user(), is_public=False)
    upgrade()
    assert list(
        GoldPublication.objects.values_list("gold__task__season", flat=True)
    ) == [hidden.task.season_id]
    assert shows(draft)
    assert not Notification.objects.exists()
