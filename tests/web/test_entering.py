"""A team's place in a season: open, by approval, closed; one team for each person."""

import pytest
from django.core import mail
from django.urls import reverse
from django.utils import timezone

from citeboard.core.audit import find_history_of_place
from citeboard.teams.membership import renew_invitation, sign_invitation_secret
from tasks.jobs.mails import send_due_mails
from tasks.models import Job, Registration, Season
from tasks.submissions.refusals import TeamNotRegistered
from tasks.submissions.submit import submit_run
from tests import factories
from tests.scoring import boards
from tests.tasks.mailing import letters_to, refuse_connections
from tests.web.reading import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.fixture
def organiser():
    return factories.make_user(name="Olga")


@pytest.fixture
def season(organiser):
    return factories.make_season(
        organiser=organiser, registration="approval", title="The season"
    )


@pytest.fixture
def lead():
    return factories.make_user(name="Ada")


def entered(client, season, team, person) -> str:
    client.force_login(person)
    return text_of(
        client.post(
            reverse("enter", args=[season.slug]), {"team": team.slug}, follow=True
        )
    )


def decide(client, organiser, season, team, **data) -> str:
    client.force_login(organiser)
    entry = Registration.objects.get(season=season, team=team)
    return text_of(
        client.post(
            reverse("organise-decide", args=[season.slug, entry.pk]), data, follow=True
        )
    )


def send(phase, team):
    return submit_run(
        phase=phase,
        team=team,
        user=None,
        upload=factories.make_upload(factories.other_run(1)),
        system="System",
    )


def test_a_team_that_waits_for_approval_sends_no_run_until_it_is_approved(
    client, season, organiser, lead
):
    phase = factories.make_phase(task=factories.make_task(season=season))
    team = factories.make_team(lead=lead, name="Night Shift", slug="night-shift")
    assert "an organiser has yet to approve it" in entered(client, season, team, lead)
    assert "Night Shift waits for an organiser's approval" in text_of(
        client.get(reverse("season", args=[season.slug]))
    )
    with pytest.raises(TeamNotRegistered):
        send(phase, team)
    assert "Night Shift takes part." in decide(
        client, organiser, season, team, decision="approve"
    )
    assert send(phase, team).number == 1
    client.force_login(lead)
    assert "You take part with Night Shift" in text_of(
        client.get(reverse("season", args=[season.slug]))
    )


def test_the_upload_page_of_a_team_that_waits_says_so_and_lets_it_check(
    client, season, lead
):
    phase = factories.make_phase(task=factories.make_task(season=season))
    team = factories.make_team(lead=lead, name="Night Shift")
    entered(client, season, team, lead)
    page = client.get(boards.address("upload", phase))
    assert "An organiser has yet to approve Night Shift." in text_of(page)
    assert "Check without submitting" in text_of(page)
    assert 'value="submit"' not in page.content.decode()


def test_a_lead_is_written_to_when_the_team_is_decided_on(
    client, season, organiser, lead
):
    team = factories.make_team(lead=lead, name="Night Shift")
    entered(client, season, team, lead)
    decide(
        client,
        organiser,
        season,
        team,
        decision="refuse",
        reason="It has a member of the jury.",
    )
    # It waits while the decision can be taken back.
    assert letters_to(lead) == []
    Job.all_kinds.update(due_at=timezone.now())
    send_due_mails()
    [letter] = [sent for sent in mail.outbox if sent.to == [lead.email]]
    assert letter.to == [lead.email]
    assert letter.subject == "[Citeboard] Night Shift does not take part in The season"
    assert "It has a member of the jury." in letter.body
    decide(client, organiser, season, team, decision="approve")
    Job.all_kinds.update(due_at=timezone.now())
    assert "[Citeboard] Night Shift takes part in The season" in letters_to(lead)[-1]


def test_a_mail_server_that_is_away_keeps_nobody_from_deciding(
    client, season, organiser, lead, monkeypatch
):
    team = factories.make_team(lead=lead, name="Night Shift")
    entered(client, season, team, lead)
    refuse_connections(monkeypatch)
    assert "Night Shift takes part." in decide(
        client, organiser, season, team, decision="approve"
    )
    assert send_due_mails() == 0
    assert Registration.objects.get().is_approved


def test_a_refused_team_reads_why(client, season, organiser, lead):
    team = factories.make_team(lead=lead, name="Night Shift")
    entered(client, season, team, lead)
    decide(
        client,
        organiser,
        season,
        team,
        decision="refuse",
        reason="It has a member of the jury.",
    )
    client.force_login(lead)
    for page in (
        reverse("season", args=[season.slug]),
        reverse("team", args=[team.slug]),
    ):
        assert "It has a member of the jury." in text_of(client.get(page))
    phase = factories.make_phase(task=factories.make_task(season=season))
    assert client.get(boards.address("upload", phase)).status_code == 403
    client.logout()
    public = text_of(client.get(reverse("season", args=[season.slug])))
    assert "Night Shift" not in public
    assert "jury" not in public


def test_excluding_a_team_takes_its_runs_off_the_board_and_approving_brings_them_back(
    client, organiser
):
    phase = boards.make_phase(season=factories.make_season(organiser=organiser))
    team = boards.make_team(phase, "Night Shift")
    boards.scored_run(phase, team, 0.5, system="Owl")
    board = boards.address("board", phase)
    assert "Owl" in text_of(client.get(board))
    decide(
        client,
        organiser,
        phase.task.season,
        team,
        decision="refuse",
        reason="It sent gold.",
    )
    client.logout()
    assert "Owl" not in text_of(client.get(board))
    decide(client, organiser, phase.task.season, team, decision="approve")
    client.logout()
    assert "Owl" in text_of(client.get(board))


def test_a_closed_season_takes_no_more_teams(client, lead):
    season = factories.make_season(registration="closed", title="The season")
    team = factories.make_team(lead=lead)
    assert "The season takes no more teams." in entered(client, season, team, lead)
    assert not Registration.objects.exists()
    assert "This season does not accept new teams." in text_of(
        client.get(reverse("season", args=[season.slug]))
    )


def test_teams_of_different_people_enter_are_approved_and_grow(
    client, season, organiser, lead
):
    bob = factories.make_user(name="Bob")
    for person in (lead, bob):
        team = factories.make_team(lead=person, name=f"Team of {person}")
        assert "an organiser has yet to approve it" in entered(
            client, season, team, person
        )
        assert f"{team} takes part." in decide(
            client, organiser, season, team, decision="approve"
        )
    link = reverse(
        "join", args=[sign_invitation_secret(renew_invitation(team=team, by=bob))]
    )
    client.force_login(factories.make_user())
    client.post(link)
    assert team.memberships.count() == 2


def test_nobody_enters_with_a_second_team(client, season, lead):
    first, second = (
        factories.make_team(lead=lead, name=name) for name in ("First", "Second")
    )
    entered(client, season, first, lead)
    assert "Ada already takes part in The season with another team." in entered(
        client, season, second, lead
    )
    assert Registration.objects.get().team == first


def test_one_season_says_nothing_of_another(client, lead):
    """A team enters both, or its lead enters the other with another team."""
    first, second, third = (
        factories.make_season(title=title) for title in ("First", "Second", "Third")
    )
    team, other = (
        factories.make_team(lead=lead, name=name) for name in ("Owls", "Larks")
    )
    for season, entering in ((first, team), (second, team), (third, other)):
        assert f"{entering} takes part" in entered(client, season, entering, lead)
    assert Registration.objects.filter(team=team).count() == 2
    assert Registration.objects.get(season=third).team == other


def test_nobody_joins_a_second_team_of_a_season(client):
    season, ada = (
        factories.make_season(title="The season"),
        factories.make_user(name="Ada"),
    )
    factories.make_team(season=season, lead=ada)
    other = factories.make_team(season=season)
    link = reverse(
        "join",
        args=[
            sign_invitation_secret(renew_invitation(team=other, by=other.members.get()))
        ],
    )
    client.force_login(ada)
    response = client.post(link)
    assert response.status_code == 409
    assert "Ada already takes part in The season with another team." in text_of(
        response
    )
    assert other.memberships.count() == 1


def test_a_season_may_allow_several_teams_for_a_person(client, lead):
    season = factories.make_season(allows_several_teams=True)
    factories.make_team(season=season, lead=lead)
    second = factories.make_team(lead=lead, name="Second", slug="second")
    assert "Second takes part" in entered(client, season, second, lead)
    assert Registration.objects.filter(is_approved=True).count() == 2


def test_a_person_whose_team_was_refused_may_enter_with_another(
    client, season, organiser, lead
):
    first, second = (
        factories.make_team(lead=lead, name=name) for name in ("First", "Second")
    )
    entered(client, season, first, lead)
    decide(client, organiser, season, first, decision="refuse")
    entered(client, season, second, lead)
    assert Registration.objects.get(team=second).is_waiting
    told = decide(client, organiser, season, first, decision="approve")
    assert "Ada already takes part in The season with another team." in told
    assert Registration.objects.get(team=first).is_refused


def test_an_entry_is_taken_back_while_no_run_is_sent(client, lead):
    phase = boards.make_phase()
    team = boards.make_team(phase, "Night Shift", lead)
    client.force_login(lead)
    address = reverse("take-back", args=[phase.task.season.slug])
    season = reverse("season", args=[phase.task.season.slug])
    assert "Withdraw the entry of Night Shift" in text_of(client.get(season))
    boards.make_run(phase, team, status="failed")
    boards.make_run(phase, boards.make_team(phase, "Day Shift"))
    assert "Withdraw the entry" not in text_of(client.get(season))
    assert "Night Shift has submitted runs" in text_of(
        client.post(address, {"team": team.slug}, follow=True)
    )
    team.submissions.all().delete()
    assert "does not take part" in text_of(
        client.post(address, {"team": team.slug}, follow=True)
    )
    assert [entry.team.name for entry in Registration.objects.all()] == ["Day Shift"]


def test_who_did_what_about_an_entry_is_in_the_history_of_the_season(
    client, season, organiser, lead
):
    team = factories.make_team(lead=lead, name="Night Shift")
    entered(client, season, team, lead)
    decide(
        client,
        organiser,
        season,
        team,
        decision="refuse",
        reason="It has a member of the jury.",
    )
    client.force_login(lead)
    client.post(reverse("take-back", args=[season.slug]), {"team": team.slug})
    client.force_login(organiser)
    client.post(reverse("organise-entry", args=[season.slug]), {"registration": "open"})
    assert [
        (entry.actor_name, entry.action, entry.subject)
        for entry in find_history_of_place(season)
    ] == [
        ("Olga", "entry-changed", "The season"),
        ("Ada", "entry-taken-back", "Night Shift"),
        ("Olga", "team-refused", "Night Shift"),
        ("Ada", "team-entered", "Night Shift"),
    ]


def test_how_teams_enter_is_changed_by_organisers(client, season, organiser, lead):
    waiting = factories.make_team(lead=lead)
    entered(client, season, waiting, lead)
    client.force_login(organiser)
    response = client.post(
        reverse("organise-entry", args=[season.slug]),
        {"registration": "open"},
        follow=True,
    )
    assert "Entering The season is open to every team now." in text_of(response)
    assert Season.objects.get().registration == "open"
    assert Registration.objects.get(team=waiting).is_waiting
    where = reverse("organise-entry", args=[season.slug])
    assert "There is no such way" in text_of(
        client.post(where, {"registration": "x"}, follow=True)
    )
