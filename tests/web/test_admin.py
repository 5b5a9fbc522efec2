"""Django's admin, for what is rare: facts are read there and changed nowhere, secrets are not shown."""

import io
import re

import pytest
from allauth.account.models import EmailAddress
from django.contrib import admin
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from citeboard.core.admin import ReadOnlyAdmin
from citeboard.core.audit import find_history_of_place, record_action
from citeboard.core.models import AuditEntry
from citeboard.teams.membership import invite_by_mail, renew_invitation
from citeboard.teams.models import Team, Token, User
from scoring.models import Evaluation, Paper, Reported, Score
from tasks.models import Gold, Job, Registration, Submission
from tests import factories
from tests.growth.seasons import make_waiting
from tests.scoring import boards
from tests.scoring.publications import write

pytestmark = pytest.mark.django_db
OURS = [
    model
    for model in admin.site._registry
    if model.__module__.startswith(("citeboard", "tasks", "scoring"))
]


@pytest.fixture
def staff(client):
    person = factories.make_user(is_staff=True, is_superuser=True)
    client.force_login(person)
    return person


@pytest.fixture
def something(staff, tmp_path):
    """One row of everything that is registered."""
    phase = factories.make_phase(
        task=factories.make_task(season=factories.make_season(organiser=staff))
    )
    run = factories.make_submission(phase=phase, status="scored")
    boards.score(run, 0.5, gold=Gold.objects.get())
    renew_invitation(team=run.team, by=staff)
    invite_by_mail(team=run.team, address="somebody@example.org", by=staff)
    Token.objects.create_token(user=staff, name="a program")
    record_action("member-joined", actor=staff, subject=run, place=phase.task.season)
    call_command(
        "reported_results", str(write(tmp_path / "own.json")), stdout=io.StringIO()
    )


def address(model, what, *arguments) -> str:
    return reverse(
        f"admin:{model._meta.label_lower.replace('.', '_')}_{what}", args=arguments
    )


def test_everything_is_registered_that_an_operator_looks_for():
    wanted = {
        Submission,
        Job,
        Gold,
        Registration,
        Evaluation,
        Reported,
        Paper,
        User,
        Token,
        AuditEntry,
    }
    assert wanted <= set(OURS)


@pytest.mark.both_databases
@pytest.mark.parametrize("model", OURS)
def test_every_list_and_every_row_can_be_opened_and_searched(client, something, model):
    row = model.objects.first()
    assert row is not None
    assert client.get(address(model, "changelist") + "?q=x").status_code == 200
    assert client.get(address(model, "changelist")).status_code == 200
    assert client.get(address(model, "change", row.pk)).status_code == 200


FACTS = [
    model for model in OURS if isinstance(admin.site._registry[model], ReadOnlyAdmin)
]


@pytest.mark.parametrize("model", FACTS)
def test_facts_are_neither_added_nor_changed_nor_deleted(client, something, model):
    row = model.objects.first()
    before = model.objects.values().get(pk=row.pk)
    assert client.get(address(model, "add")).status_code == 403
    assert (
        client.post(address(model, "change", row.pk), {"_save": "Save"}).status_code
        == 403
    )
    assert (
        client.post(address(model, "delete", row.pk), {"post": "yes"}).status_code
        == 403
    )
    assert model.objects.values().get(pk=row.pk) == before


@pytest.mark.both_databases
def test_a_list_of_many_says_that_there_are_more_and_is_read_to_its_end(
    client, staff, monkeypatch
):
    monkeypatch.setattr(admin.site._registry[Submission], "list_per_page", 2)
    make_waiting(factories.make_phase(), 25, 1)

    def told(**asked):
        page = client.get(address(Submission, "changelist"), asked).content.decode()
        return re.findall(r">(System \d+)<", page), re.findall(
            r"([\d+]+) submissions?\s", page
        )

    pages = [told(p=number) for number in range(1, 14)]
    assert sorted(system for systems, _ in pages for system in systems) == sorted(
        f"System {number}" for number in range(25)
    )
    assert [number for _, [number] in pages] == ["20+", "22+", "24+", *["25"] * 10]
    assert told(q="System 1")[1] == ["12"]


def test_scores_are_shown_with_their_run_and_stay(client, something):
    evaluation = Evaluation.objects.get()
    page = client.get(address(Evaluation, "change", evaluation.pk)).content.decode()
    assert evaluation.scores.get().signature in page
    assert Score.objects.count() == 1


def test_no_secret_is_shown(client, something):
    token = Token.objects.get()
    for model, row in ((Token, token), (User, token.user)):
        page = client.get(address(model, "change", row.pk)).content.decode()
        assert token.digest not in page
        assert token.user.password not in page


def test_a_token_is_revoked_and_an_account_closed(client, something):
    token = Token.objects.get()
    client.post(
        address(Token, "changelist"),
        {"action": "revoke", "_selected_action": [token.pk]},
    )
    token.refresh_from_db()
    assert token.revoked_at is not None
    person = factories.make_user(name="Ada")
    client.post(
        address(User, "change", person.pk),
        {"name": "Ada", "email": "other@example.org"},
    )
    person.refresh_from_db()
    assert not person.is_active
    assert person.email != "other@example.org"


@pytest.mark.both_databases
def test_a_paper_goes_with_its_figures(client, something):
    response = client.post(
        address(Paper, "delete", Paper.objects.get().pk), {"post": "yes"}
    )
    assert response.status_code == 302
    assert not Reported.objects.exists()


def test_nothing_is_created_past_its_service(client, something):
    assert set(admin.site._registry) == {*OURS, EmailAddress}
    for model in admin.site._registry:
        assert client.get(address(model, "add")).status_code == 403, model


@pytest.mark.both_databases
def test_an_organiser_is_added_and_removed_with_an_entry_in_the_history(client, staff):
    season, person = factories.make_season(), factories.make_user()
    form = {
        "slug": season.slug, "title": season.title, "registration": "open", "is_public": "on",
            "time_zone": "UTC",
        "organisers-TOTAL_FORMS": 1, "organisers-INITIAL_FORMS": 0, "organisers-0-user": person.pk,
        "organisers-0-season": season.pk,
    }  # fmt: skip
    assert (
        client.post(address(type(season), "change", season.pk), form).status_code == 302
    )
    assert season.organisers.get().user == person
    assert find_history_of_place(season).filter(action="organiser-added").exists()


@pytest.mark.both_databases
def test_a_team_that_gets_another_name_here_has_it_on_every_page_at_once(
    client, something
):
    phase = Submission.objects.get().phase
    season, team = phase.task.season, Submission.objects.get().team
    pages = [
        reverse("season", args=[season.slug]),
        reverse("board", args=[season.slug, phase.task.slug, phase.slug]),
    ]
    visitor = Client()
    before = {
        (reader, page): reader.get(page)
        for reader in (client, visitor)
        for page in pages
    }
    assert all(team.name in read.content.decode() for read in before.values())
    form = {"name": "Sandpipers", "description": "", "links": "[]"}
    numbers = {"memberships-TOTAL_FORMS": 0, "memberships-INITIAL_FORMS": 0}
    assert (
        client.post(address(Team, "change", team.pk), form | numbers).status_code == 302
    )
    for (reader, page), read in before.items():
        known = {"If-None-Match": read["ETag"]} if "ETag" in read else {}
        assert "Sandpipers" in reader.get(page, headers=known).content.decode()
