"""A season's terms: published in versions, accepted before data are given out, and who accepted what."""

import csv
import datetime as dt
import io

import pytest
from django.urls import reverse
from django.utils import timezone

from citeboard.core.audit import history
from citeboard.teams.models import Token
from tasks.models import Notification, Registration, Submission, Terms
from tasks.notifications.wording import words_of
from tasks.registration.entries import accept_terms, publish_terms, terms_to_accept
from tests import factories
from tests.pages.reading import text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def organiser():
    return factories.make_user(name="Olga", email="olga@example.org")


@pytest.fixture
def phase(organiser):
    return factories.make_phase(task=factories.make_task(season=factories.make_season(organiser=organiser)))


@pytest.fixture
def season(phase):
    return phase.task.season


@pytest.fixture
def terms(season, organiser):
    return publish_terms(season=season, text="Do not pass the **data** on.", by=organiser)


@pytest.fixture
def ada():
    return factories.make_user(name="Ada", email="ada@example.org")


def inputs(phase) -> str:
    return reverse("inputs", args=[phase.task.season.slug, phase.task.slug, phase.slug])


def data_of(client, phase, **asked) -> int:
    """The status of the download, which is read to its end."""
    response = client.get(inputs(phase), **asked)
    response.getvalue()
    return response.status_code


def accept(client, season, number=1):
    return client.post(reverse("terms", args=[season.slug]), {"version": number}, follow=True)


def test_without_terms_the_data_are_there_for_everybody(client, phase):
    assert data_of(client, phase) == 200


def test_the_data_are_given_to_whoever_has_accepted_the_terms(client, phase, season, terms, ada):
    for _ in range(2):
        refused = client.get(inputs(phase))
        assert refused.status_code == 403
        assert "Accept version 1 of the terms" in text_of(refused)
        client.force_login(ada)
    task_page = text_of(client.get(reverse("task", args=[season.slug, phase.task.slug])))
    assert "inputs after the terms are accepted" in task_page
    assert "Do not pass the data on." in text_of(client.get(reverse("terms", args=[season.slug])))
    assert f"You have accepted the terms of {season}." in text_of(accept(client, season))
    assert data_of(client, phase) == 200
    assert "you accepted them" in text_of(client.get(reverse("terms", args=[season.slug])))


def test_looking_at_the_terms_accepts_nothing_and_a_visitor_signs_in_first(client, phase, season, terms):
    client.get(reverse("terms", args=[season.slug]))
    sent_to = client.post(reverse("terms", args=[season.slug]), {"version": 1})
    assert sent_to["Location"].startswith(reverse("account_login"))
    assert not terms.acceptances.exists()


def test_organisers_get_the_data_of_their_season_without_accepting(client, phase, terms, organiser):
    client.force_login(organiser)
    assert data_of(client, phase) == 200


def test_a_new_version_is_accepted_again_and_an_old_one_no_more(client, phase, season, terms, ada, organiser):
    client.force_login(ada)
    accept(client, season)
    publish_terms(season=season, text="Cite us.", by=organiser)
    assert data_of(client, phase) == 403
    assert "Version 2 of the terms holds now" in text_of(accept(client, season, 1))
    assert data_of(client, phase) == 403
    accept(client, season, 2)
    assert data_of(client, phase) == 200


def test_the_same_text_is_no_new_version(season, terms, organiser):
    assert publish_terms(season=season, text=terms.text, by=organiser) == terms


def test_whoever_enters_a_team_accepts_the_terms_first(client, season, terms, ada):
    team = factories.make_team(lead=ada)
    client.force_login(ada)
    entering = client.post(reverse("enter", args=[season.slug]), {"team": team.slug}, follow=True)
    assert entering.redirect_chain[-1][0] == reverse("terms", args=[season.slug])
    assert "Accept version 1 of the terms" in text_of(entering)
    assert not Registration.objects.filter(team=team).exists()
    accept(client, season)
    client.post(reverse("enter", args=[season.slug]), {"team": team.slug})
    assert Registration.objects.filter(team=team).exists()


def test_whoever_sends_or_checks_a_run_accepts_the_terms_first(client, phase, season, terms, ada):
    factories.make_team(season=season, lead=ada)
    client.force_login(ada)
    where = reverse("upload", args=[season.slug, phase.task.slug, phase.slug])
    together = reverse("season-upload", args=[season.slug])
    for address, do in ((where, "submit"), (where, "check"), (together, "submit"), (together, "check")):
        run = io.BytesIO(factories.run_bytes())
        run.name = "run.jsonl"
        said = text_of(client.post(address, {"run": run, "system": "Ours", "kind": "primary", "do": do}))
        assert "Accept version 1 of the terms" in said, (address, do)
    assert not Submission.objects.exists()


def test_a_program_reads_and_accepts_the_terms_and_gets_the_data(client, phase, season, terms, ada):
    _, secret = Token.objects.issue(user=ada, name="a program")
    token = {"Authorization": f"Token {secret}"}
    where = f"/api/v1/seasons/{season.slug}/terms/"
    assert client.get(where).json()["text"] == "Do not pass the **data** on."
    assert data_of(client, phase, headers=token) == 403
    factories.make_team(season=season, lead=ada)
    run = io.BytesIO(factories.run_bytes())
    run.name = "run.jsonl"
    sending = client.post(
        f"/api/v1/phases/{phase.pk}/submissions/", {"run": run, "system": "Ours"}, headers=token
    )
    assert sending.status_code == 403
    assert "Accept version 1 of the terms" in sending.json()["detail"]
    assert client.get(f"/api/v1/phases/{phase.pk}/", headers=token).json()["gold"] is None
    assert client.post(where, {"version": 2}, headers=token).status_code == 409
    assert client.post(where, {"version": 1}, headers=token).json()["accepted_at"]
    assert data_of(client, phase, headers=token) == 200
    assert client.get(f"/api/v1/phases/{phase.pk}/", headers=token).json()["gold"]


def test_an_organiser_publishes_terms_and_exports_who_accepted_which_version(client, season, organiser, ada):
    client.force_login(organiser)
    where = reverse("organise-terms", args=[season.slug])
    assert "the data are given to everybody" in text_of(client.get(where))
    assert "Write the terms." in text_of(client.post(where, {"text": " "}))
    client.post(where, {"text": "First."})
    client.force_login(ada)
    accept(client, season)
    client.force_login(organiser)
    client.post(where, {"text": "Second."})
    exported = client.get(reverse("organise-terms-csv", args=[season.slug])).content.decode()
    [row] = csv.DictReader(io.StringIO(exported))
    acceptance = season.terms.get(number=1).acceptances.get()
    assert row == {
        "version": "1",
        "name": "Ada",
        "address": "ada@example.org",
        "accepted_at": acceptance.accepted_at.isoformat(),
    }
    _, secret = Token.objects.issue(user=organiser, name="a program")
    listed = client.get(
        f"/api/v1/seasons/{season.slug}/terms/acceptances/", headers={"Authorization": f"Token {secret}"}
    ).json()
    assert [(each["version"], each["name"]) for each in listed["results"]] == [(1, "Ada")]
    assert [str(entry) for entry in history(season)] == [
        "Olga published version 2 of the terms",
        "Ada accepted version 1 of the terms",
        "Olga published version 1 of the terms",
    ]


def test_a_version_that_counts_later_locks_nobody_out_before_its_day_and_everybody_is_told(
    client, season, phase, terms, organiser, ada
):
    factories.make_team(season=season, lead=ada)
    accept_terms(season=season, number=1, user=ada)
    client.force_login(organiser)
    day = timezone.now() + dt.timedelta(days=3)
    sent = {"text": "Cite the data.", "counts_from": f"{day:%Y-%m-%d %H:%M} UTC"}
    client.post(reverse("organise-terms", args=[season.slug]), sent)
    told = words_of(Notification.objects.get(user=ada, kind="terms-published"))
    assert "Version 2 of the terms" in told.title
    assert f"It counts from {day:%Y-%m-%d %H:%M} UTC" in told.text
    assert terms_to_accept(season, ada) is None
    # Who comes new accepts what will hold.
    assert terms_to_accept(season, factories.make_user()).number == 2
    Terms.objects.update(counts_from=timezone.now())
    assert terms_to_accept(season, ada).number == 2
