"""The history of a season: what was done, what it was before, who reads it, and how it is taken back."""

import pytest
from django.urls import reverse

from citeboard.core import audit
from citeboard.core.refusals import ActionRefused
from citeboard.ops.accounts import delete_account
from tasks.models import Phase, Registration, Season
from tasks.registration.entries import refuse_team_entry
from tasks.seasons.announcements import announce
from tasks.seasons.history import delete_phase, delete_task
from tasks.seasons.phase_acts import close_now
from tests import factories
from tests.web.reading import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.fixture
def organiser():
    return factories.make_user(name="Olga")


@pytest.fixture
def phase(organiser):
    return factories.make_phase(
        task=factories.make_task(season=factories.make_season(organiser=organiser))
    )


def read(client, phase) -> str:
    return text_of(
        client.get(reverse("organise-history", args=[phase.task.season.slug]))
    )


def undo(client, phase) -> None:
    season = phase.task.season
    entry = audit.find_history_of_place(season)[0]
    client.post(reverse("organise-undo", args=[season.slug, entry.pk]))


def test_the_whole_text_of_an_announcement_is_kept(client, phase, organiser):
    text = "We extend. " * 100
    announce(season=phase.task.season, text="Welcome.", by=organiser)
    announce(season=phase.task.season, text=text, by=organiser)
    (change,) = audit.find_history_of_place(phase.task.season)[0].changes
    assert (change["before"], change["after"]) == ("Welcome.", text.strip())
    client.force_login(organiser)
    assert "announcement : Welcome. → We extend." in read(client, phase)


def test_an_edit_in_the_admin_stands_in_the_history_and_on_the_boards(client, phase):
    staff = factories.make_user(is_staff=True, is_superuser=True, name="Stan")
    client.force_login(staff)
    where = reverse("admin:tasks_phase_change", args=[phase.pk])
    form = client.get(where).context["adminform"].form
    values = {
        name: form.get_initial_for_field(field, name)
        for name, field in form.fields.items()
    }
    values = {
        name: value
        for name, value in values.items()
        if value is not None and "_" not in name[-2:]
    }
    assert client.post(where, {**values, "board": "nobody"}).status_code == 302
    entry = audit.find_history_of_place(phase.task.season)[0]
    assert (entry.actor, entry.action) == (staff, "changed-in-admin")
    assert {"key": "board", "before": "everyone", "after": "nobody"} in entry.changes
    phase.refresh_from_db()
    assert (phase.board, phase.version) == ("nobody", 3)


def test_a_deleted_phase_is_brought_back_as_it_was(client, phase, organiser):
    before = Phase.objects.values().get(pk=phase.pk)
    delete_phase(phase=phase, by=organiser)
    assert not Phase.objects.exists()
    client.force_login(organiser)
    assert "Take back" in read(client, phase)
    undo(client, phase)
    assert Phase.objects.values().get(pk=before["id"]) == before
    assert "Take back" not in read(client, phase)


def test_what_was_deleted_in_the_admin_is_brought_back_there(client, phase):
    other = factories.make_season(title="A draft")
    task = factories.make_task(season=other)
    factories.make_phase(task=task, with_gold=False)
    client.force_login(factories.make_user(is_staff=True, is_superuser=True))
    client.post(reverse("admin:tasks_season_delete", args=[other.pk]), {"post": "yes"})
    assert not Season.objects.filter(pk=other.pk).exists()
    entry = audit.find_history_of_place(other)[0]
    client.post(
        reverse("admin:core_auditentry_changelist"),
        {"action": "bring_back", "_selected_action": [entry.pk]},
    )
    assert Season.objects.get(pk=other.pk).tasks.get().phases.count() == 1


def test_what_has_runs_or_gold_is_not_deleted(phase, organiser):
    with pytest.raises(ActionRefused, match="has gold, which stays"):
        delete_task(task=phase.task, by=organiser)
    factories.make_submission(phase=phase)
    with pytest.raises(ActionRefused, match="has runs, which stay"):
        delete_phase(phase=phase, by=organiser)
    assert (
        not audit.find_history_of_place(phase.task.season)
        .filter(action="deleted")
        .exists()
    )


def test_a_place_that_was_taken_since_is_not_overwritten(phase, organiser):
    delete_phase(phase=phase, by=organiser)
    factories.make_phase(task=phase.task, slug=phase.slug)
    with pytest.raises(audit.RowsNotRestored, match="something else has its place"):
        audit.restore_deleted_rows(
            entry=audit.find_history_of_place(phase.task.season)[0], by=organiser
        )
    assert Phase.objects.count() == 1


def test_a_team_that_was_kept_out_is_let_in_again(client, phase, organiser):
    team = factories.make_team(season=phase.task.season)
    refuse_team_entry(
        registration=Registration.objects.get(), by=organiser, reason="By mistake."
    )
    client.force_login(organiser)
    undo(client, phase)
    assert team.registrations.get().is_approved
    assert "Take back" not in read(client, phase)


def test_a_team_reads_what_concerns_it_and_not_what_concerns_others(
    client, phase, organiser
):
    season = phase.task.season
    lead = factories.make_user()
    team = factories.make_team(season=season, lead=lead)
    other = factories.make_team(season=season, name="Night Shift")
    refuse_team_entry(
        registration=other.registrations.get(), by=organiser, reason="No runs."
    )
    refuse_team_entry(
        registration=team.registrations.get(), by=organiser, reason="Sent too late."
    )
    close_now(phase=phase, by=organiser)
    client.force_login(lead)
    page = text_of(client.get(reverse("team", args=[team.slug])))
    assert "Sent too late." in page
    assert f"closed {phase.task}, {phase}" in page
    assert "Night Shift" not in page
    told = client.get(f"/api/v1/seasons/{season.slug}/history/").json()
    assert [row["action"] for row in told["results"]] == [
        "phase-closed",
        "team-refused",
    ]
    client.force_login(organiser)
    assert client.get(f"/api/v1/seasons/{season.slug}/history/").json()["count"] == 3


def test_somebody_who_has_left_is_an_account_that_was_deleted(phase, organiser):
    other = factories.make_user(name="Peter Pan")
    season, number = phase.task.season, other.pk
    audit.record_action(
        "member-removed",
        actor=organiser,
        subject=other,
        place=season,
        facts={"person": other},
    )
    close_now(phase=phase, by=other)
    delete_account(other)
    assert [
        (entry.actor_name, entry.words) for entry in audit.find_history_of_place(season)
    ] == [
        (f"deleted account {number}", f"closed {phase.task}, {phase}"),
        ("Olga", f"removed deleted account {number}"),
    ]
