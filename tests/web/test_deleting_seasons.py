"""An organiser deletes a draft: never a season that was public, or in which a team has submitted a run."""

import pytest
from django.contrib.auth import get_user_model
from django.urls import reverse

from citeboard.core.models import AuditEntry
from citeboard.core.refusals import ActionRefused
from citeboard.ops.pruning import delete_season
from citeboard.teams.models import Token
from tasks.models import Gold, Registration, Season
from tasks.seasons.file.load import load_season_from_values
from tests import factories
from tests.web.reading import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

VALUES = {
    "season": {
        "slug": "a-draft",
        "title": "A draft",
        "public": False,
        "organisers": [],
    },
    "tasks": [],
}


@pytest.fixture
def olga():
    return factories.make_user(name="Olga")


@pytest.fixture
def draft(olga):
    return factories.make_season(
        organiser=olga, slug="a-draft", title="A draft", is_public=False
    )


def post(client, person, season, slug):
    client.force_login(person)
    return client.post(
        reverse("organise-delete", args=[season.slug]), {"slug": slug}, follow=True
    )


def test_a_draft_goes_with_gold_baselines_and_entries_and_the_history_says_so(
    client, olga, draft
):
    phase = factories.make_phase(task=factories.make_task(season=draft))
    factories.make_baseline(phase=phase)
    team = factories.make_team(season=draft)
    client.force_login(olga)
    assert "Delete this draft" in text_of(
        client.get(reverse("organise-settings", args=["a-draft"]))
    )
    assert "The draft A draft is deleted." in text_of(
        post(client, olga, draft, "a-draft")
    )
    assert not Season.objects.exists()
    assert not Gold.objects.exists()
    assert not Registration.objects.exists()
    assert type(team).objects.filter(pk=team.pk).exists()
    entry = AuditEntry.objects.get(action="season-deleted")
    assert str(entry) == "Olga deleted the draft A draft (a-draft)"


@pytest.mark.parametrize("typed", ["", "another", "A draft"])
def test_its_name_in_addresses_has_to_be_typed(client, olga, draft, typed):
    assert "Type “a-draft” to delete the season." in text_of(
        post(client, olga, draft, typed)
    )
    assert Season.objects.exists()


def test_a_public_season_stays_and_its_page_offers_nothing_else(client, olga, draft):
    Season.objects.update(is_public=True)
    assert "is public, and stays" in text_of(post(client, olga, draft, "a-draft"))
    assert "Delete this draft" not in text_of(
        client.get(reverse("organise-settings", args=["a-draft"]))
    )


def test_a_draft_that_was_public_before_stays(olga):
    made = load_season_from_values(
        {**VALUES, "season": {**VALUES["season"], "public": True}}, by=olga
    ).season
    load_season_from_values(VALUES, by=olga, slug="a-draft")
    made.refresh_from_db()
    assert (made.is_public, made.was_public) == (False, True)
    with pytest.raises(ActionRefused, match="was public"):
        delete_season(season=made, by=olga)


def test_a_draft_that_was_never_public_is_known_as_one(olga):
    made = load_season_from_values(VALUES, by=olga).season
    assert not Season.objects.get(pk=made.pk).was_public
    load_season_from_values(
        {**VALUES, "season": {**VALUES["season"], "title": "Another"}},
        by=olga,
        slug="a-draft",
    )
    delete_season(season=made, by=olga)
    assert not Season.objects.exists()


def test_a_draft_with_a_run_of_a_team_stays(olga, draft):
    phase = factories.make_phase(task=factories.make_task(season=draft))
    factories.make_submission(phase=phase)
    with pytest.raises(ActionRefused, match="runs of teams"):
        delete_season(season=draft, by=olga)
    assert Season.objects.exists()
    assert not AuditEntry.objects.filter(action="season-deleted").exists()


def test_a_season_that_was_made_a_draft_in_the_admin_was_public(client):
    season = factories.make_season()
    client.force_login(
        get_user_model().objects.create_superuser("root@example.org", "x")
    )
    where = reverse("admin:tasks_season_change", args=[season.pk])
    form = client.get(where).context["adminform"].form
    fields = {
        name: "" if value is None else value for name, value in form.initial.items()
    }
    fields.pop("is_public")
    formset = {
        "organisers-TOTAL_FORMS": 0, "organisers-INITIAL_FORMS": 0,
        "organisers-MIN_NUM_FORMS": 0, "organisers-MAX_NUM_FORMS": 0,
    }  # fmt: skip
    plain = {
        name: value for name, value in fields.items() if not hasattr(value, "isoformat")
    }
    client.post(where, {**plain, **formset})
    season.refresh_from_db()
    assert (season.is_public, season.was_public) == (False, True)


def test_a_draft_is_deleted_by_token(client, olga, draft):
    _, secret = Token.objects.create_token(user=olga, name="a program")
    headers = {"Authorization": f"Token {secret}"}
    where = "/api/v1/seasons/a-draft/settings/season/"
    Season.objects.update(is_public=True)
    assert client.delete(where, headers=headers).status_code == 409
    Season.objects.update(is_public=False)
    assert client.delete(where, headers=headers).status_code == 204
    assert not Season.objects.exists()
