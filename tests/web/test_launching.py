"""A season's calendar in one table, its checklist, and what is done for all of its tasks at once."""

import datetime as dt
import shutil
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from citeboard.core.audit import find_history_of_place
from citeboard.ops import launching
from citeboard.teams.models import Team, User
from tasks.models import Gold, Phase, Season, Submission
from tasks.models.seasons import SEASON_DATE_FIELDS
from tasks.registration.entries import publish_terms
from tests.factories import (
    make_gold,
    make_phase,
    make_season,
    make_task,
    make_user,
    write_corpus,
)
from tests.web.reading import text_of

pytestmark = pytest.mark.django_db
ORGANISE = "/seasons/ours/organise/"
MAY = dt.datetime(2031, 5, 1, 11, 59, tzinfo=dt.UTC)


@pytest.fixture
def season(client):
    olga = make_user(name="Olga", email="olga@example.org")
    client.force_login(olga)
    season = make_season(
        organiser=olga, slug="ours", title="Ours", is_public=False, time_zone="AoE"
    )
    for slug in ("one", "two"):
        task = make_task(season=season, slug=slug, title=slug.capitalize())
        make_phase(
            task=task, slug="final", title="Final", with_gold=False, time_zone="AoE",
            opens=MAY, closes=MAY + dt.timedelta(10), inputs_from=MAY - dt.timedelta(2),
        )  # fmt: skip
    return season


def filled(client) -> dict[str, object]:
    """What the calendar's form begins with."""
    form = client.get(f"{ORGANISE}calendar/").context["form"]
    names = [
        *SEASON_DATE_FIELDS,
        *(f"{key}.{name}" for key in form.phases for name in ("opens", "closes")),
    ]
    return {name: form[name].value() or "" for name in names}


def times(slug: str) -> tuple:
    phase = Phase.objects.get(task__slug=slug, slug="final")
    return phase.inputs_from, phase.opens, phase.closes


@pytest.mark.both_databases
def test_all_dates_are_changed_in_one_table(client, season):
    given = filled(client)
    assert given["tasks.one.phases.final.opens"] == "2031-04-30 23:59"
    given |= {
        "tasks.one.phases.final.closes": "2031-05-20 23:59",
        "workshop_at": "2031-09-01 09:00 UTC",
    }
    assert client.post(f"{ORGANISE}calendar/", given).status_code == 302
    assert times("one")[2] == dt.datetime(2031, 5, 21, 11, 59, tzinfo=dt.UTC)
    assert times("two")[2] == MAY + dt.timedelta(10)
    assert Season.objects.get().workshop_at == dt.datetime(
        2031, 9, 1, 9, 0, tzinfo=dt.UTC
    )
    [entry] = find_history_of_place(season).filter(action="settings-changed")
    assert {change["key"] for change in entry.changes} - {"tasks.two.position"} == {
        "tasks.one.phases.final.closes", "season.workshop_at"
    }  # fmt: skip


@pytest.mark.both_databases
def test_what_is_ticked_moves_together_with_all_that_hangs_on_it(client, season):
    Season.objects.update(papers_until=MAY)
    given = filled(client) | {
        "chosen": ["tasks.one.phases.final", "papers_until"], "days": "7", "do": "move",
    }  # fmt: skip
    assert client.post(f"{ORGANISE}calendar/", given).status_code == 302
    week = dt.timedelta(7)
    assert times("one") == (
        MAY - dt.timedelta(2) + week,
        MAY + week,
        MAY + dt.timedelta(10) + week,
    )
    assert times("two") == (MAY - dt.timedelta(2), MAY, MAY + dt.timedelta(10))
    assert Season.objects.get().papers_until == MAY + week


@pytest.mark.both_databases
def test_a_phase_is_copied_into_other_tasks_with_its_settings(client, season):
    extra = make_phase(
        task=season.tasks.get(slug="one"), slug="practice", title="Practice", with_gold=False, split="dev",
        runs_per_day=7, opens=MAY - dt.timedelta(9), closes=MAY, board="organisers",
    )  # fmt: skip
    given = filled(client) | {
        "chosen": "tasks.one.phases.practice",
        "into": "two",
        "do": "copy",
    }
    assert client.post(f"{ORGANISE}calendar/", given).status_code == 302
    copy = Phase.objects.get(task__slug="two", slug="practice")
    for name in ("title", "split", "runs_per_day", "opens", "closes", "board"):
        assert getattr(copy, name) == getattr(extra, name)
    answer = client.post(f"{ORGANISE}calendar/", filled(client) | given)
    assert answer.status_code == 422
    assert "two has a phase “practice” already." in text_of(answer)


def test_a_phase_whose_closing_time_is_taken_away_has_no_end(client, season):
    given = filled(client) | {"tasks.one.phases.final.closes": ""}
    assert client.post(f"{ORGANISE}calendar/", given).status_code == 302
    assert not Phase.objects.get(task__slug="one").has_end
    assert filled(client)["tasks.one.phases.final.closes"] == ""


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"tasks.one.phases.final.opens": "soon"}, "“soon” is not a date and time"),
        (
            {"tasks.one.phases.final.closes": "2031-04-01 00:00"},
            "which is not after it opens",
        ),
        ({"do": "move", "days": "3"}, "Choose the rows first."),
        ({"do": "move", "chosen": "tasks.one.phases.final"}, "By how many days?"),
        (
            {"do": "copy", "chosen": "tasks.one.phases.final"},
            "Choose phases, and the tasks that get them.",
        ),
    ],
)
def test_what_is_wrong_is_said_and_nothing_changes(client, season, given, words):
    before = list(Phase.objects.values_list("opens", "closes"))
    answer = client.post(f"{ORGANISE}calendar/", filled(client) | given)
    assert answer.status_code == 422
    assert words in text_of(answer)
    assert list(Phase.objects.values_list("opens", "closes")) == before


def steps(client) -> dict[str, bool]:
    return {
        step.name: step.is_done
        for step in client.get(f"{ORGANISE}launch/").context["steps"]
    }


def packed(tmp_path) -> SimpleUploadedFile:
    corpus = write_corpus(tmp_path / "gold")
    return SimpleUploadedFile(
        "gold.zip", Path(shutil.make_archive(str(corpus), "zip", corpus)).read_bytes()
    )


def test_every_line_of_the_checklist_follows_from_what_there_is(
    client, season, tmp_path, mailoutbox
):
    todo = dict.fromkeys(
        ("gold", "scored", "baselines", "terms", "mail", "walk"), False
    )
    assert steps(client) == {**todo, "secrets": True}
    names = client.get(f"{ORGANISE}launch/").context["form"].splits
    given = {name: packed(tmp_path / name) for name in names}
    assert (
        client.post(f"{ORGANISE}launch/", {**given, "reason": "The first."}).status_code
        == 302
    )
    assert Gold.objects.count() == len(names) == 2
    assert steps(client) == {**todo, "secrets": True, "gold": True, "walk": True}
    publish_terms(season=season, text="For research.", by=None)
    assert client.post(f"{ORGANISE}launch/mail/").status_code == 302
    assert [mail.to for mail in mailoutbox] == [["olga@example.org"]]
    assert client.post(f"{ORGANISE}launch/baselines/").status_code == 302
    baselines = Submission.objects.filter(kind=Submission.Kind.BASELINE)
    assert set(baselines.values_list("phase", flat=True)) == set(
        Phase.objects.values_list("pk", flat=True)
    )
    found = steps(client)
    assert found["terms"]
    assert found["mail"]
    assert not found["baselines"]
    baselines.update(status=Submission.Status.SCORED)
    assert steps(client)["baselines"]


def test_gold_is_published_for_all_splits_or_for_none(client, season, tmp_path):
    good, bad = client.get(f"{ORGANISE}launch/").context["form"].splits
    wrong = SimpleUploadedFile("gold.zip", b"nothing of the kind")
    answer = client.post(
        f"{ORGANISE}launch/", {good: packed(tmp_path), bad: wrong, "reason": "The first."}
    )  # fmt: skip
    assert answer.status_code == 422
    assert list(answer.context["form"].errors) == [bad]
    assert not Gold.objects.exists()
    assert "Choose the files that hold the gold." in text_of(
        client.post(f"{ORGANISE}launch/", {"reason": "The first."})
    )


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("registration", "closed", "takes no more teams"),
        ("registration", "list", "list"),
        ("members_until", timezone.now() - dt.timedelta(1), ""),
    ],
)
def test_a_participants_walk_says_what_stops_them_and_leaves_nothing(
    client, season, field, value, words
):
    for phase in Phase.objects.all():
        make_gold(phase=phase)
    people, teams = User.objects.count(), Team.objects.count()
    assert list(launching.find_participant_obstacles(season)) == []
    Season.objects.update(**{field: value})
    stopped = list(launching.find_participant_obstacles(Season.objects.get()))
    assert words in "".join(stopped)
    assert bool(stopped) == bool(words)
    assert (User.objects.count(), Team.objects.count()) == (people, teams)


def test_a_season_is_opened_from_its_checklist_after_what_that_shows_is_confirmed(
    client, season
):
    asked = Client.post(client, f"{ORGANISE}launch/open/")
    assert "that there is Ours, with its pages" in text_of(asked)
    assert not Season.objects.get().is_public
    shown = {"rehearsed": asked.context["rehearsal"].digest}
    assert Client.post(client, f"{ORGANISE}launch/open/", shown).status_code == 302
    assert Season.objects.get().is_public


def test_a_mail_server_that_refuses_is_quoted_and_the_line_stays_open(
    client, season, settings
):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "localhost", 1
    answer = client.post(f"{ORGANISE}launch/mail/", follow=True)
    assert "The mail server does not accept it" in text_of(answer)
    assert not steps(client)["mail"]
