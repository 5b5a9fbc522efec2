"""A season from a preset, in the browser and by token."""

import json

import pytest
from django.urls import reverse

from citeboard.core.audit import find_history_of_place
from citeboard.teams.models import Token, User
from tasks.models import Organiser, Season
from tasks.seasons.presets import PRESETS_BY_SLUG
from tests.api.conftest import API
from tests.factories import make_season, make_task, make_user
from tests.going_on import GoesOn
from tests.web.reading import text_of

pytestmark = pytest.mark.django_db
GIVEN = {
    "title": "Ours",
    "slug": "ours",
    "task_type": "clsumm-1a",
    "time_zone": "Europe/Rome",
}
DATES = {
    "opens": "2026-05-01 00:00",
    "evaluation": "2026-06-01 00:00 AoE",
    "closes": "2026-06-08 23:59 AoE",
}


@pytest.fixture
def staff(client):
    person = make_user(name="Stella", is_staff=True)
    client.force_login(person)
    return person


def test_a_season_like_semeval_practises_evaluates_in_the_dark_and_goes_on(
    client, staff
):
    assert "Like SemEval" in text_of(client.get("/new-season/"))
    answer = client.post("/new-season/semeval/", {**GIVEN, **DATES})
    assert (answer.status_code, answer["Location"]) == (
        302,
        "/seasons/ours/organise/launch/",
    )
    season = Season.objects.get(slug="ours")
    assert not season.is_public
    assert Organiser.objects.get(season=season).user == staff
    practice, evaluation, post = season.tasks.get().phases.all()
    assert practice.opens.isoformat() == "2026-04-30T22:00:00+00:00"
    assert practice.closes == evaluation.opens
    assert (evaluation.board, evaluation.counting, evaluation.runs_in_total) == (
        "organisers",
        "last",
        5,
    )
    assert evaluation.closes.isoformat() == "2026-06-09T11:59:00+00:00"
    assert (post.has_end, post.split, post.board) == (False, "test", "everyone")
    assert (
        find_history_of_place(season)[0].words
        == "made Ours from the preset “Like SemEval”"
    )


@pytest.mark.parametrize("slug", PRESETS_BY_SLUG)
def test_every_preset_makes_a_season_that_its_settings_page_shows(client, staff, slug):
    years = {
        name: f"{2030 + place}-01-01 00:00"
        for place, name in enumerate(PRESETS_BY_SLUG[slug].dates)
    }
    assert client.post(f"/new-season/{slug}/", {**GIVEN, **years}).status_code == 302
    page = client.get("/seasons/ours/organise/settings/")
    assert page.status_code == 200
    assert Season.objects.get().tasks.get().phases.count() == len(
        PRESETS_BY_SLUG[slug].phases
    )


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("closes", "2026-05-20 00:00", "is not after the date before it"),
        ("opens", "soon", "Soon"),
        ("time_zone", "Mars", "is not a time zone"),
        ("slug", "Our Season", "cannot stand in an address"),
        ("slug", "taken", "there is a season “taken” already"),
        ("title", "", "This field is required"),
    ],
)
def test_what_is_wrong_stands_at_its_field(client, staff, field, value, words):
    Season.objects.create(slug="taken", title="Taken", is_public=True)
    answer = client.post("/new-season/semeval/", {**GIVEN, **DATES, field: value})
    assert answer.status_code == 422
    assert words.lower() in str(answer.context["form"].errors[field]).lower()
    assert Season.objects.count() == 1


def test_staff_give_others_the_right_to_create_seasons_and_take_it_away(client, staff):
    User.objects.filter(pk=staff.pk).update(is_superuser=True)
    person, other = make_user(name="Petra"), GoesOn()
    other.force_login(person)

    def give_or_take() -> None:
        chosen = {"action": "right_to_create_seasons", "_selected_action": [person.pk]}
        client.post(reverse("admin:teams_user_changelist"), chosen)

    assert other.get("/new-season/").status_code == 404
    give_or_take()
    assert "/new-season/" in other.get("/").content.decode()
    assert other.post("/new-season/semeval/", {**GIVEN, **DATES}).status_code == 302
    assert other.get("/seasons/ours/organise/").status_code == 200
    assert (
        find_history_of_place(person).first().words
        == "gave Petra the right to create seasons"
    )
    give_or_take()
    assert other.get("/new-season/").status_code == 404
    assert other.get("/seasons/ours/organise/").status_code == 200


def test_a_season_is_made_from_a_preset_by_token(client, staff):
    header = {
        "HTTP_AUTHORIZATION": f"Token {Token.objects.create_token(user=staff, name='mine')[1]}"
    }
    where = f"{API}/new-season/trec/"
    dates = {
        "inputs": "2026-05-01 00:00",
        "opens": "2026-05-02 00:00",
        "closes": "2026-05-01 23:00",
    }
    refused = client.post(where, {**GIVEN, "dates": json.dumps(dates)}, **header)
    assert (refused.status_code, refused.json()["faults"][0]["key"]) == (422, "closes")
    dates["closes"], olga = "2026-06-01 23:00", make_user(email="olga@example.org")
    unknown = client.post(
        where,
        {**GIVEN, "dates": json.dumps(dates), "organisers": "no@example.org"},
        **header,
    )
    assert (unknown.status_code, list(unknown.json()["errors"])) == (
        400,
        ["organisers"],
    )
    given = {**GIVEN, "dates": json.dumps(dates), "organisers": "olga@example.org"}
    made = client.post(where, given, **header)
    assert (made.status_code, made.json()["slug"]) == (201, "ours")
    assert Season.objects.get().tasks.get().phases.get().counting == "priority"
    assert {row.user for row in Season.objects.get().organisers.all()} == {staff, olga}


def test_several_tasks_of_types_and_of_last_year_get_the_same_dates(client, staff):
    organiser = make_user(email="olga@example.org")
    last = make_season(slug="last-year")
    make_task(
        season=last,
        slug="spans",
        title="Identification",
        rules=["official-2017"],
        min_class_size=3,
    )
    answer = client.post(
        "/new-season/semeval/",
        {
            **GIVEN, **DATES,
            "task_type": ["clsumm-1a", "clsumm-1b", "last-year/spans"],
            "organisers": "olga@example.org",
            "results_at": "2026-06-20 23:59 AoE",
            "workshop_at": "2026-09-01 09:00",
        },
    )  # fmt: skip
    assert answer.status_code == 302
    season = Season.objects.get(slug="ours")
    assert [task.slug for task in season.tasks.all()] == [
        "clsumm-1a",
        "clsumm-1b",
        "spans",
    ]
    assert {
        tuple(task.phases.values_list("slug", "opens", "closes"))
        for task in season.tasks.all()
    } == {tuple(season.tasks.first().phases.values_list("slug", "opens", "closes"))}
    again = season.tasks.get(slug="spans")
    assert (again.title, again.rules, again.min_class_size) == (
        "Identification",
        ["official-2017"],
        3,
    )
    assert {row.user for row in season.organisers.all()} == {staff, organiser}
    assert season.results_at.isoformat() == "2026-06-21T11:59:00+00:00"
    assert list(season.dates) == ["results_at", "workshop_at"]


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        (
            "organisers",
            "nobody@example.org",
            "Nobody has an account with the address nobody@example.org",
        ),
        ("task_type", "no-such", "no-such is not one of the available choices"),
        ("papers_until", "2026-05-30 00:00", "is not after the date before it"),
    ],
)
def test_what_is_wrong_with_who_what_and_when_stands_there_too(
    client, staff, field, value, words
):
    answer = client.post("/new-season/semeval/", {**GIVEN, **DATES, field: value})
    assert words in str(answer.context["form"].errors[field])
    assert not Season.objects.exists()


def test_a_task_that_a_season_does_not_have_is_named_and_that_of_others_is_not_there(
    client, staff
):
    make_season(slug="last-year")
    header = {
        "HTTP_AUTHORIZATION": f"Token {Token.objects.create_token(user=staff, name='mine')[1]}"
    }
    dates = json.dumps({"opens": "2026-05-01 00:00"})
    given = {**GIVEN, "dates": dates, "task_type": "clsumm-1a, last-year/none"}
    refused = client.post(f"{API}/new-season/open/", given, **header)
    assert refused.status_code == 422
    assert "“last-year” has no task “none”" in refused.json()["faults"][0]["message"]
    assert client.post(
        f"{API}/new-season/open/", {**given, "task_type": "elsewhere/none"}, **header
    ).status_code == 404  # fmt: skip
