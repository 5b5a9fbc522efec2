"""Everything that is kept of somebody, as a file, and deleting an account for good."""

import json

import pytest
from django.core import mail
from django.urls import reverse

from citeboard.core.audit import find_history_of_place
from citeboard.core.models import AuditEntry
from citeboard.teams.models import Membership, Team, Token, User
from scoring.models import Annotator, Rating
from tasks.models import SeasonFile, Submission, TermsAcceptance
from tasks.registration.entries import accept_terms, change_entry_list, publish_terms
from tasks.seasons.organisers import add_organiser
from tasks.submissions.run_acts import withdraw_run
from tests import factories
from tests.scoring import boards, sheets
from tests.web.reading import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

NAME, ADDRESS = "Ada Lovelace", "ada@example.org"


@pytest.fixture
def olga():
    return factories.make_user(name="Olga")


@pytest.fixture
def ada():
    return factories.make_user(
        name=NAME, email=ADDRESS, affiliation="Analytical Engines"
    )


@pytest.fixture
def phase(olga):
    return boards.make_phase(factories.make_season(organiser=olga))


def delete(client, person, proof=factories.PASSWORD):
    client.force_login(person)
    return client.post(reverse("account-delete"), {"proof": proof}, follow=True)


@pytest.fixture
def left_traces(phase, olga, ada):
    """Ada has done one of everything that leaves a name; her team is left with its run."""
    season = phase.task.season
    team = boards.make_team(phase, "Night Shift", ada)
    run = boards.scored_run(phase, team, 0.5, submitted_by=ada)
    withdraw_run(run, ada)
    publish_terms(season=season, text="Cite us.", by=olga)
    accept_terms(season=season, number=1, user=ada)
    add_organiser(season=season, user=ada, by=olga)
    change_entry_list(season=season, addresses=f"{ADDRESS}\n@uni.example", by=ada)
    SeasonFile.objects.create(
        season=season,
        values={f"season.organisers.{ADDRESS}": True, "season.title": "T"},
    )
    other = boards.make_run(phase, boards.make_team(phase, "Others"))
    sheet = sheets.make_sheet(phase, {"r-1": {other: "A text."}}, annotators=[ada])
    sheets.rate(sheet, NAME, {("r-1", other): (4, 5)})
    Token.objects.create_token(user=ada, name="a program")
    return run


def everything() -> str:
    """All rows that name people, as text."""
    kept = [
        list(model.objects.values())
        for model in (
            AuditEntry,
            User,
            Membership,
            Submission,
            TermsAcceptance,
            Annotator,
            SeasonFile,
            Token,
        )
    ]
    return json.dumps([kept, list(Team.objects.values())], default=str)


def test_an_account_is_deleted_and_its_name_and_address_stand_nowhere(
    client, left_traces, ada
):
    number = ada.pk
    assert NAME in everything()
    page = delete(client, ada)
    assert "Your account is deleted." in text_of(page)
    assert NAME not in everything()
    assert ADDRESS not in everything()
    assert not User.objects.filter(pk=number).exists()
    assert reverse("account_login") in client.get(reverse("teams"))["Location"]


def test_what_has_to_stay_is_of_a_numbered_deleted_account(
    client, left_traces, phase, olga, ada
):
    season, called = phase.task.season, f"deleted account {ada.pk}"
    delete(client, ada)
    run = Submission.objects.get(pk=left_traces.pk)
    assert run.team.name == "Night Shift"
    assert run.submitted_by is None
    assert run.reason == f"Withdrawn by {called}."
    assert Rating.objects.get().annotator.name == called
    assert season.terms.get().acceptances.get().name == called
    season.refresh_from_db()
    assert season.entry_list == "@uni.example"
    told = [str(entry) for entry in find_history_of_place(season)]
    assert f"{called} left as organiser" in told
    assert f"Olga made {called} an organiser" in told
    assert f"{called} accepted version 1 of the terms" in told
    client.force_login(olga)
    assert called in text_of(
        client.get(reverse("organise-history", args=[season.slug]))
    )


def test_whoever_has_been_in_the_team_longest_leads_it_then(client, ada):
    bob, eve = factories.make_user(name="Bob"), factories.make_user(name="Eve")
    team = factories.make_team(lead=ada, members=[bob, eve])
    delete(client, ada)
    assert [
        (str(place.user), place.role)
        for place in team.memberships.order_by("joined_at")
    ] == [
        ("Bob", "lead"),
        ("Eve", "member"),
    ]


def test_a_team_that_took_part_nowhere_goes_with_its_last_member(client, ada):
    factories.make_team(lead=ada)
    delete(client, ada)
    assert not Team.objects.exists()


def test_without_the_password_nothing_is_deleted(client, ada):
    response = delete(client, ada, "another password")
    assert response.status_code == 422
    assert "This is not your password." in text_of(response)
    assert User.objects.filter(pk=ada.pk).exists()


def test_who_has_no_password_gives_the_address(client, ada):
    ada.set_unusable_password()
    ada.save()
    assert "This is not your address." in text_of(
        delete(client, ada, "eve@example.org")
    )
    delete(client, ada, "ADA@example.org")
    assert not User.objects.exists()


def test_staff_and_the_only_organiser_can_delete_their_accounts_too(
    client, phase, olga
):
    User.objects.filter(pk=olga.pk).update(is_staff=True, is_superuser=True)
    olga.refresh_from_db()
    delete(client, olga)
    assert not phase.task.season.organisers.exists()


def test_a_last_mail_says_what_went_and_what_stays(client, ada):
    number = ada.pk
    delete(client, ada)
    [sent] = mail.outbox
    assert sent.to == [ADDRESS]
    assert sent.subject == "[Citeboard] Your account is deleted"
    assert sent.body == (
        "Your Citeboard account is deleted, with your name, your addresses and your tokens.\n\n"
        "Runs stay with the teams that you sent them for. Where something of yours has to stay, it is said "
        f"to be of “deleted account {number}”.\n"
    )


def test_somebody_downloads_everything_that_is_kept_of_them(
    client, left_traces, phase, ada
):
    client.force_login(ada)
    kept = json.loads(client.get(reverse("account-data")).content)
    assert kept["account"]["address"] == ADDRESS
    assert kept["account"]["affiliation"] == "Analytical Engines"
    assert [(own["team"], own["role"]) for own in kept["teams"]] == [
        ("Night Shift", "lead")
    ]
    assert [own["version"] for own in kept["terms"]] == [1]
    assert [(run["id"], run["system"]) for run in kept["runs"]] == [
        (left_traces.pk, left_traces.system)
    ]
    assert "status" not in kept["runs"][0]
    assert [rating["consistency"] for rating in kept["ratings"]] == [5]
    assert "accepted version 1 of the terms" in [act["did"] for act in kept["history"]]
    assert "digest" not in json.dumps(kept)
    _, secret = Token.objects.create_token(user=ada, name="another program")
    asked = client.get(
        "/api/v1/account/data/", headers={"Authorization": f"Token {secret}"}
    )
    assert asked.json()["runs"] == kept["runs"]


def test_of_a_team_that_somebody_has_left_they_keep_what_they_sent_and_read_nothing_new(
    client, phase, ada
):
    bob = factories.make_user()
    team = boards.make_team(phase, "Night Shift", bob, ada)
    run = boards.scored_run(phase, team, 0.5, submitted_by=ada)
    Membership.objects.filter(user=ada).delete()
    client.force_login(ada)
    [kept] = json.loads(client.get(reverse("account-data")).content)["runs"]
    assert kept["sha256"] == run.sha256
    assert "system" not in kept
