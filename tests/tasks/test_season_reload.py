"""A season that was changed on the site is not set back by its file unless somebody says so."""

import datetime as dt
import json

import pytest
from django.core.management import CommandError
from django.urls import reverse

from citeboard.core.audit import find_history_of_place
from citeboard.teams.models import User
from tasks.gold.gold_files import load_gold
from tasks.models import Gold, Organiser, Phase, Season, SeasonFile
from tasks.registration.entries import change_entry
from tasks.seasons.file.export import export_season
from tasks.seasons.organisers import add_organiser, remove_organiser
from tasks.seasons.phase_acts import close_now, move_phase
from tests.factories import make_user, write_corpus
from tests.tasks.seasons import conflicts, edit, keys_told, load, refusals, write_season

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
NOTHING = ["season small: nothing to change"]
LATER = dt.datetime(2091, 1, 1, tzinfo=dt.UTC)
CLOSES = "tasks.1a.phases.practice.closes"


@pytest.fixture
def folder(tmp_path):
    make_user(email="ada@example.org")
    folder = write_season(tmp_path / "season")
    load(folder)
    return folder


@pytest.fixture
def organiser():
    return make_user(name="Olga")


def practice() -> Phase:
    return Phase.objects.get(slug="practice")


def extend(by) -> None:
    move_phase(phase=practice(), opens=practice().opens, closes=LATER, by=by)


def test_an_extension_that_was_given_in_the_site_is_not_revoked_by_a_reload(
    folder, organiser
):
    extend(organiser)
    before = (
        list(Season.objects.values()),
        list(Phase.objects.values()),
        find_history_of_place(Season.objects.get()).count(),
    )
    says = "the file says 2090-01-01T00:00:00Z, which said 2090-01-01T00:00:00Z before"
    assert conflicts(folder) == [
        f"{CLOSES}: changed on the site to 2091-01-01T00:00:00Z; {says}"
    ]
    after = (
        list(Season.objects.values()),
        list(Phase.objects.values()),
        find_history_of_place(Season.objects.get()).count(),
    )
    assert after == before


def test_a_phase_that_was_closed_in_the_site_is_not_opened_by_a_reload(
    folder, organiser
):
    close_now(phase=practice(), by=organiser)
    assert conflicts(folder)[0].startswith(f"{CLOSES}: changed on the site to ")
    assert not practice().is_open()


def test_with_a_conflict_what_the_file_has_changed_elsewhere_waits_too(
    folder, organiser
):
    extend(organiser)
    edit(folder, ('title = "A small season"', 'title = "Another"'))
    assert len(conflicts(folder)) == 1
    assert Season.objects.get().title == "A small season"


def test_named_keys_take_what_the_file_says(folder, organiser):
    extend(organiser)
    change_entry(season=Season.objects.get(), entry="closed", by=organiser)
    assert len(conflicts(folder, apply=[CLOSES])) == 1
    assert practice().closes == LATER
    load(folder, apply=[CLOSES, "season.registration"])
    assert (practice().closes.year, Season.objects.get().registration) == (2090, "open")
    assert load(folder) == NOTHING


def test_all_keys_take_what_the_file_says(folder, organiser):
    extend(organiser)
    assert keys_told(folder, apply=["all"]) == [
        f"{CLOSES}: 2091-01-01T00:00:00Z → 2090-01-01T00:00:00Z"
    ]
    assert practice().closes.year == 2090


def test_a_key_can_keep_what_the_site_has_while_the_rest_is_loaded(folder, organiser):
    extend(organiser)
    edit(folder, ('title = "A small season"', 'title = "Another"'))
    load(folder, keep=[CLOSES])
    assert (practice().closes, Season.objects.get().title) == (LATER, "Another")
    assert len(conflicts(folder)) == 1


def test_a_file_that_says_what_the_site_says_is_no_conflict(folder, organiser):
    extend(organiser)
    edit(folder, ("closes = 2090-01-01T00:00:00Z", "closes = 2091-01-01T00:00:00Z"))
    assert load(folder) == NOTHING
    edit(folder, ("closes = 2091-01-01T00:00:00Z", "closes = 2092-01-01T00:00:00Z"))
    assert keys_told(folder) == [
        f"{CLOSES}: 2091-01-01T00:00:00Z → 2092-01-01T00:00:00Z"
    ]


def test_a_dry_run_shows_both_kinds_of_change_and_makes_none(folder, organiser, capsys):
    extend(organiser)
    edit(folder, ("runs_per_day = 3", "runs_per_day = 4"))
    before = list(Phase.objects.values())
    assert keys_told(folder, dry_run=True) == [
        "tasks.1a.phases.practice.runs_per_day: 3 → 4"
    ]
    assert f"{CLOSES}: changed on the site" in capsys.readouterr().err
    assert list(Phase.objects.values()) == before


def test_a_dry_run_of_a_new_season_writes_nothing(tmp_path):
    folder = write_season(tmp_path / "season")
    assert "tasks.1a.phases.final: new" in load(folder, dry_run=True)
    assert not Season.objects.exists()


def test_gold_that_was_fixed_in_the_site_is_not_set_back_by_a_reload(folder, tmp_path):
    corpus = write_corpus(
        tmp_path / "fixed", citances=(("D05-0001", "3", ["4"], "Aim_Citation"),)
    )
    load_gold(task=practice().task, split="test", paths=[corpus], reason="A fix.")
    assert conflicts(folder)[0].startswith(
        "tasks.1a.gold.test: changed on the site to "
    )
    load(folder, keep=["tasks.1a.gold.test"])
    assert Gold.objects.count() == 2
    assert "is not that of version 2" in refusals(folder, apply=["all"])[0]
    load(folder, apply=["all"], reason="The fix was wrong.")
    assert Gold.objects.order_by("-number").first().reason == "The fix was wrong."


def test_an_organiser_who_was_removed_in_the_site_does_not_come_back_by_a_reload(
    folder, organiser
):
    ada = Organiser.objects.get()
    add_organiser(season=ada.season, user=organiser, by=organiser)
    remove_organiser(organiser=ada, by=organiser)
    assert conflicts(folder)[0].startswith(
        "season.organisers.ada@example.org: changed on the site to false"
    )
    assert [person.user for person in Organiser.objects.all()] == [organiser]


def roles() -> dict[str, str]:
    return dict(Organiser.objects.values_list("user__email", "role"))


def test_who_is_left_out_of_the_file_is_removed_and_who_moves_to_the_helpers_becomes_one(
    folder, client
):
    season, ada = Season.objects.get(), "ada@example.org"
    for name in ("ben", "eve", "sam"):
        make_user(email=f"{name}@example.org")
    path = folder / "season.toml"
    line = next(
        line for line in path.read_text().splitlines() if line.startswith("organisers")
    )

    def say(organisers, helpers):
        lists = (
            f"organisers = {json.dumps(organisers)}\nhelpers = {json.dumps(helpers)}"
        )
        path.write_text(path.read_text().replace(say.last, lists))
        say.last = lists

    say.last = line
    say([ada, "ben@example.org"], ["eve@example.org"])
    load(folder)
    assert roles() == {
        ada: "organiser",
        "ben@example.org": "organiser",
        "eve@example.org": "helper",
    }
    add_organiser(
        season=season,
        user=User.objects.get(email="sam@example.org"),
        by=None,
        role="helper",
    )
    say([ada], ["ben@example.org"])
    load(folder)
    assert roles() == {
        ada: "organiser",
        "ben@example.org": "helper",
        "sam@example.org": "helper",
    }
    exported = export_season(season).text
    assert 'organisers = ["ada@example.org"]' in exported
    assert 'helpers = ["ben@example.org", "sam@example.org"]' in exported
    for name, statuses in {
        "ada": (200, 200),
        "ben": (200, 404),
        "eve": (404, 404),
    }.items():
        client.force_login(User.objects.get(email=f"{name}@example.org"))
        places = [
            reverse(place, args=[season.slug])
            for place in ("organise", "organise-settings")
        ]
        assert tuple(client.get(place).status_code for place in places) == statuses, (
            name
        )
    say([], [])
    load(folder)
    assert ada in roles()


def test_what_no_file_has_said_is_the_sites(folder):
    """Such as a season that was made in the browser, or before the site remembered files."""
    SeasonFile.objects.all().delete()
    assert load(folder) == NOTHING
    SeasonFile.objects.all().delete()
    edit(folder, ("runs_per_day = 3", "runs_per_day = 4"))
    assert conflicts(folder) == [
        "tasks.1a.phases.practice.runs_per_day: changed on the site to 3; the file says 4"
    ]


def test_a_setting_that_came_with_a_later_release_was_at_its_default(folder):
    file = SeasonFile.objects.get()
    del file.values["season.licence"]
    file.save()
    edit(folder, ('slug = "small"', 'slug = "small"\nlicence = "cc0-1.0"'))
    assert keys_told(folder) == ["season.licence: empty → CC0-1.0"]


def test_a_key_that_the_file_does_not_have_is_refused(folder):
    with pytest.raises(
        CommandError, match=r"the file says nothing of season.titel; nothing was loaded"
    ):
        load(folder, apply=["season.titel"])


def test_a_load_stands_in_the_history_with_what_it_changed(folder, organiser):
    extend(organiser)
    load(folder, apply=["all"])
    entry = find_history_of_place(Season.objects.get())[0]
    assert (entry.action, entry.actor_name) == ("season-loaded", "The site's operator")
    assert entry.changes == [
        {
            "key": CLOSES,
            "before": "2091-01-01T00:00:00Z",
            "after": "2090-01-01T00:00:00Z",
        }
    ]
