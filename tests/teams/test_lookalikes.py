"""Names that look alike, of teams, systems and accounts, by the skeletons of Unicode's UTS 39."""

import importlib

import pytest
from django.apps import apps
from django.core.exceptions import ValidationError
from django.urls import reverse

from citeboard.core.lookalikes import skeleton
from citeboard.teams.models import Team, User
from tasks.models import Submission
from tests import factories
from tests.tasks.test_submit import submit
from tests.web.reading import text_of
from tests.web.test_accounts import sign_up

pytestmark = pytest.mark.django_db
#: With Cyrillic letters in their places.
ADA, BERT = "\u0410da Lovel\u0430ce", "\u0412ERT"


@pytest.mark.parametrize(
    ("name", "other"),
    [
        (ADA, "Ada Lovelace"), ("\u0420\u0430y\u0440al", "Paypal"), ("BiIl", "Bill"), ("g00gle", "gOOgle"),
        ("modern", "modem"), ("\U0001d401\U0001d404RT", "BERT"), ("Al\u200bpha", "Alpha"),
        ("e\u0301", "\u00e9"), ("\u0391\u0392", "AB"), ("Night  Shift", "night shift"),
    ],
)  # fmt: skip
def test_names_that_look_alike_have_one_skeleton(name, other):
    assert skeleton(name) == skeleton(other)


@pytest.mark.parametrize(
    "pair", [("Ada", "Eda"), ("mail", "mall"), ("Größe", "Grosse"), ("R2", "R3")]
)
def test_names_that_look_different_have_two(pair):
    assert len(set(map(skeleton, pair))) == 2


@pytest.mark.both_databases
def test_a_team_is_not_called_like_another_in_other_letters(client):
    factories.make_team(name="Alpha", slug="other")
    client.force_login(factories.make_user())
    page = client.post(reverse("teams"), {"name": "\u0391lpha"})
    assert (
        "another team has this name, or one very much like it" in text_of(page).lower()
    )
    assert Team.objects.count() == 1


@pytest.mark.both_databases
def test_an_account_is_not_called_like_another_in_other_letters_and_people_may_share_a_name(
    client,
):
    person = factories.make_user(name="Ada Lovelace")
    assert "name that looks like this one in other letters" in text_of(
        sign_up(client, name=ADA)
    )
    assert not User.objects.filter(name=ADA).exists()
    sign_up(client, email="second@example.org", name="Ada Lovelace")
    assert User.objects.filter(name="Ada Lovelace").count() == 2
    client.force_login(person)
    profile = {"name": ADA, "language": "en"}
    assert client.post(reverse("account-name"), profile).status_code == 422
    sent = client.post(
        "/api/v1/account/", {"name": ADA}, content_type="application/json"
    )
    assert sent.status_code in (400, 422)
    assert "other letters" in sent.content.decode()
    User.objects.exclude(pk=person.pk).delete()
    assert client.post(reverse("account-name"), profile).status_code == 302


@pytest.mark.both_databases
def test_a_system_is_not_called_like_that_of_others_in_other_letters():
    phase = factories.make_phase()
    team, other = (factories.make_team(season=phase.task.season) for _ in range(2))
    submit(phase, team, system="BERT")
    # A team may look like itself.
    assert submit(phase, team, system=BERT).system == BERT
    with pytest.raises(ValidationError, match="in other letters"):
        submit(phase, other, system=BERT)
    # Who takes a name of ASCII's look keeps nobody from that name.
    assert submit(phase, other, system="BERT").system == "BERT"


@pytest.mark.both_databases
def test_names_that_there_are_already_are_compared_too():
    factories.make_team(name="Alpha")
    factories.make_submission()
    for rows, field in ((User, "name"), (Team, "name"), (Submission, "system")):
        rows.objects.update(**{f"{field}_skeleton": ""})
    importlib.import_module(
        "citeboard.teams.migrations.0009_names_that_look_alike"
    ).fill_in(apps, None)
    importlib.import_module("tasks.migrations.0043_systems_that_look_alike").fill_in(
        apps, None
    )
    for rows, field in ((User, "name"), (Team, "name"), (Submission, "system")):
        for row in rows.objects.all():
            assert (
                getattr(row, f"{field}_skeleton") == skeleton(getattr(row, field)) != ""
            )
