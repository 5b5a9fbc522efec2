"""A season's terms: published in versions, accepted before data are given out, and who accepted what."""

import csv
import datetime as dt
import io

import pytest
from django.urls import reverse
from django.utils import timezone, translation

from citeboard.core.audit import find_history_of_place
from citeboard.core.instants import format_utc_minute
from citeboard.ops.accounts import collect_user_data, delete_account
from citeboard.teams.countries import countries
from citeboard.teams.membership import add_member
from citeboard.teams.models import Token
from tasks.delivery.notifications.wording import write_notification_text
from tasks.models import Notification, Registration, Submission, Terms
from tasks.registration.entries import accept_terms, find_terms_to_accept, publish_terms
from tasks.seasons.file.export import export_season
from tests import factories
from tests.web.reading import text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def organiser():
    return factories.make_user(name="Olga", email="olga@example.org")


@pytest.fixture
def phase(organiser):
    return factories.make_phase(
        task=factories.make_task(season=factories.make_season(organiser=organiser))
    )


@pytest.fixture
def season(phase):
    return phase.task.season


@pytest.fixture
def terms(season, organiser):
    return publish_terms(
        season=season, text="Do not pass the **data** on.", by=organiser
    )


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
    return client.post(
        reverse("terms", args=[season.slug]), {"version": number}, follow=True
    )


def test_without_terms_the_data_are_there_for_everybody(client, phase):
    assert data_of(client, phase) == 200


def test_the_data_are_given_to_whoever_has_accepted_the_terms(
    client, phase, season, terms, ada
):
    for _ in range(2):
        refused = client.get(inputs(phase))
        assert refused.status_code == 403
        assert "Accept version 1 of the terms" in text_of(refused)
        client.force_login(ada)
    task_page = text_of(
        client.get(reverse("task", args=[season.slug, phase.task.slug]))
    )
    assert "inputs after the terms are accepted" in task_page
    assert "Do not pass the data on." in text_of(
        client.get(reverse("terms", args=[season.slug]))
    )
    assert f"You have accepted the terms of {season}." in text_of(
        accept(client, season)
    )
    assert data_of(client, phase) == 200
    assert "you accepted them" in text_of(
        client.get(reverse("terms", args=[season.slug]))
    )


def test_looking_at_the_terms_accepts_nothing_and_a_visitor_signs_in_first(
    client, phase, season, terms
):
    client.get(reverse("terms", args=[season.slug]))
    sent_to = client.post(reverse("terms", args=[season.slug]), {"version": 1})
    assert sent_to["Location"].startswith(reverse("account_login"))
    assert not terms.acceptances.exists()


def test_organisers_get_the_data_of_their_season_without_accepting(
    client, phase, terms, organiser
):
    client.force_login(organiser)
    assert data_of(client, phase) == 200


def test_a_new_version_is_accepted_again_and_an_old_one_no_more(
    client, phase, season, terms, ada, organiser
):
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
    entering = client.post(
        reverse("enter", args=[season.slug]), {"team": team.slug}, follow=True
    )
    assert entering.redirect_chain[-1][0] == reverse("terms", args=[season.slug])
    assert "Accept version 1 of the terms" in text_of(entering)
    assert not Registration.objects.filter(team=team).exists()
    accept(client, season)
    client.post(reverse("enter", args=[season.slug]), {"team": team.slug})
    assert Registration.objects.filter(team=team).exists()


def test_whoever_sends_or_checks_a_run_accepts_the_terms_first(
    client, phase, season, terms, ada
):
    factories.make_team(season=season, lead=ada)
    client.force_login(ada)
    where = reverse("upload", args=[season.slug, phase.task.slug, phase.slug])
    together = reverse("season-upload", args=[season.slug])
    for address, do in (
        (where, "submit"),
        (where, "check"),
        (together, "submit"),
        (together, "check"),
    ):
        run = io.BytesIO(factories.run_bytes())
        run.name = "run.jsonl"
        said = text_of(
            client.post(
                address, {"run": run, "system": "Ours", "kind": "primary", "do": do}
            )
        )
        assert "Accept version 1 of the terms" in said, (address, do)
    assert not Submission.objects.exists()


def test_a_program_reads_and_accepts_the_terms_and_gets_the_data(
    client, phase, season, terms, ada
):
    _, secret = Token.objects.create_token(user=ada, name="a program")
    token = {"Authorization": f"Token {secret}"}
    where = f"/api/v1/seasons/{season.slug}/terms/"
    assert client.get(where).json()["text"] == "Do not pass the **data** on."
    assert data_of(client, phase, headers=token) == 403
    factories.make_team(season=season, lead=ada)
    run = io.BytesIO(factories.run_bytes())
    run.name = "run.jsonl"
    sending = client.post(
        f"/api/v1/phases/{phase.pk}/submissions/",
        {"run": run, "system": "Ours"},
        headers=token,
    )
    assert sending.status_code == 403
    assert "Accept version 1 of the terms" in sending.json()["detail"]
    assert (
        client.get(f"/api/v1/phases/{phase.pk}/", headers=token).json()["gold"] is None
    )
    assert client.post(where, {"version": 2}, headers=token).status_code == 409
    assert client.post(where, {"version": 1}, headers=token).json()["accepted_at"]
    assert data_of(client, phase, headers=token) == 200
    assert client.get(f"/api/v1/phases/{phase.pk}/", headers=token).json()["gold"]


@pytest.mark.both_databases
def test_an_organiser_publishes_terms_and_exports_who_accepted_which_version(
    client, season, organiser, ada
):
    client.force_login(organiser)
    where = reverse("organise-terms", args=[season.slug])
    assert "everybody gets the data" in text_of(client.get(where))
    assert "Write the terms." in text_of(client.post(where, {"text": " "}))
    client.post(where, {"text": "First."})
    client.force_login(ada)
    accept(client, season)
    client.force_login(organiser)
    client.post(where, {"text": "Second."})
    exported = client.get(
        reverse("organise-terms-csv", args=[season.slug])
    ).content.decode()
    [row] = csv.DictReader(io.StringIO(exported))
    acceptance = season.terms.get(number=1).acceptances.get()
    assert row == {
        "version": "1",
        "name": "Ada",
        "address": "ada@example.org",
        "accepted_at": acceptance.accepted_at.isoformat(),
        **dict.fromkeys(("affiliation", "country", "legal_name"), ""),
    }
    _, secret = Token.objects.create_token(user=organiser, name="a program")
    listed = client.get(
        f"/api/v1/seasons/{season.slug}/terms/acceptances/",
        headers={"Authorization": f"Token {secret}"},
    ).json()
    assert [(each["version"], each["name"]) for each in listed["results"]] == [
        (1, "Ada")
    ]
    assert [str(entry) for entry in find_history_of_place(season)] == [
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
    told = write_notification_text(
        Notification.objects.get(user=ada, kind="terms-published")
    )
    assert "Version 2 of the terms" in told.title
    assert f"It applies from {format_utc_minute(day)}" in told.text
    assert find_terms_to_accept(season, ada) is None
    # Who comes new accepts what will hold.
    assert find_terms_to_accept(season, factories.make_user()).number == 2
    Terms.objects.update(counts_from=timezone.now())
    assert find_terms_to_accept(season, ada).number == 2


LEGAL = "Augusta Ada King"
GIVEN = {"affiliation": "Analytical Engines", "country": "GB", "legal_name": LEGAL}


@pytest.fixture
def asking(season, terms):
    """The season asks of a person all that it may."""
    season.asks_affiliation = season.asks_country = season.asks_legal_name = True
    season.save()
    return season


def exported(client, season) -> list[dict[str, str]]:
    answer = client.get(reverse("organise-terms-csv", args=[season.slug]))
    assert answer.status_code == 200
    return list(csv.DictReader(io.StringIO(answer.content.decode())))


def test_what_the_season_asks_is_given_with_the_acceptance_and_kept_with_it(
    client, asking, ada, organiser
):
    where = reverse("terms", args=[asking.slug])
    client.force_login(ada)
    assert "United Kingdom" in text_of(client.get(where))
    refused = client.post(
        where, {"version": 1, "affiliation": "Analytical Engines", "country": "UK"}
    )
    assert refused.status_code == 422
    assert set(refused.context["form"].errors) == {"country", "legal_name"}
    assert not asking.terms.get().acceptances.exists()
    client.post(where, {"version": 1, **GIVEN})
    ada.refresh_from_db()
    assert {name: getattr(ada, name) for name in GIVEN} == GIVEN
    # Another version is filled in with what the account says by then; the first keeps what was given with it.
    described = {
        "name": "Ada",
        "affiliation": "Analytical Engines",
        "country": "IT",
        "legal_name": LEGAL,
    }
    client.post(reverse("account-name"), described)
    publish_terms(season=asking, text="Cite us.", by=organiser)
    assert '<option value="IT" selected>' in client.get(where).content.decode()
    client.post(where, {"version": 2, **GIVEN, "country": "IT"})
    client.force_login(organiser)
    rows = exported(client, asking)
    assert [(row["version"], row["country"], row["legal_name"]) for row in rows] == [
        ("2", "IT", LEGAL),
        ("1", "GB", LEGAL),
    ]


def test_what_is_not_asked_is_neither_shown_nor_accepted(client, season, terms, ada):
    client.force_login(ada)
    where = reverse("terms", args=[season.slug])
    assert "Legal name" not in text_of(client.get(where))
    assert client.post(where, {"version": 1, **GIVEN}).status_code == 400
    assert client.post(where, {"version": 1}).status_code == 302
    ada.refresh_from_db()
    assert (season.terms.get().acceptances.get().given, ada.legal_name) == ({}, "")


def test_a_program_gives_what_the_account_does_not_say(client, asking, ada):
    token = {
        "Authorization": f"Token {Token.objects.create_token(user=ada, name='a program')[1]}"
    }
    where = f"/api/v1/seasons/{asking.slug}/terms/"
    assert client.get(where, headers=token).json()["asks"] == list(GIVEN)
    assert (
        client.post("/api/v1/account/", {"country": "XX"}, headers=token).status_code
        == 400
    )
    client.post(
        "/api/v1/account/", {"country": "GB", "affiliation": "Engines"}, headers=token
    )
    refused = client.post(where, {"version": 1}, headers=token)
    assert (refused.status_code, set(refused.json()["errors"])) == (400, {"legal_name"})
    assert (
        client.post(
            where, {"version": 1, "legal_name": LEGAL}, headers=token
        ).status_code
        == 200
    )
    assert asking.terms.get().acceptances.get().given == {
        **GIVEN,
        "affiliation": "Engines",
    }
    assert client.get("/api/v1/account/", headers=token).json()["legal_name"] == LEGAL


def test_a_legal_name_is_told_to_organisers_and_its_person_alone_and_goes_with_the_account(
    client, phase, asking, ada, organiser
):
    helper, mate = factories.make_user(), factories.make_user()
    asking.organisers.create(user=helper, role="helper")
    team = factories.make_team(season=asking, lead=ada)
    add_member(team=team, user=mate)
    accept_terms(season=asking, number=1, user=ada, **GIVEN)
    pages = [
        reverse("season", args=[asking.slug]),
        reverse("team", args=[team.slug]),
        reverse("organise-history", args=[asking.slug]),
        reverse("organise-teams", args=[asking.slug]),
        reverse("organise-terms-csv", args=[asking.slug]),
        f"/api/v1/seasons/{asking.slug}/terms/acceptances/",
        f"/api/v1/teams/{team.slug}/",
    ]
    for reader in (None, mate, helper):
        client.force_login(reader) if reader else client.logout()
        for page in pages:
            answer = client.get(page)
            assert LEGAL not in answer.content.decode(), (reader, page)
    assert LEGAL not in export_season(asking).text
    client.force_login(organiser)
    assert [row["legal_name"] for row in exported(client, asking)] == [LEGAL]
    ada.refresh_from_db()
    assert collect_user_data(ada)["account"]["legal_name"] == LEGAL
    assert collect_user_data(ada)["terms"][0]["given"] == GIVEN
    delete_account(ada)
    [row] = exported(client, asking)
    assert (row["affiliation"], row["country"], row["legal_name"]) == ("", "", "")


def test_countries_are_named_in_the_readers_language_in_its_order():
    with translation.override("de"):
        named = countries()
    assert len(named) == 249
    assert ("AT", "Österreich") in named
    names = [name for _, name in named]
    assert names.index("Oman") < names.index("Österreich") < names.index("Pakistan")
    assert dict(countries())["AT"] == "Austria"
