"""Pages that a process or a browser keeps, after something has changed: as though nothing had been kept."""

import re

import pytest
from django.core.cache import caches
from django.urls import reverse

from citeboard.ops.accounts import delete_account
from citeboard.teams.membership import add_member, remove_member
from tasks.models import Gold, Organiser, Phase, Season
from tasks.models.seasons import increment_board_version, increment_board_versions
from tasks.seasons.announcements import announce
from tasks.seasons.history import delete_phase
from tasks.seasons.organisers import add_organiser, remove_organiser
from tests.access.table import address
from tests.going_on import GoesOn
from tests.scoring import boards

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
READERS = ("visitor", "reader", "member", "organiser")
PAGES = ("home", "season", "board")


def _posted(who: str, name: str, **form):
    def change(scene) -> None:
        season, phase = scene.phase.task.season, scene.phase
        place = (
            [scene.run.pk] if name.startswith("submission") else [season.slug, phase.pk]
        )
        client = GoesOn()
        client.force_login(scene.people[who])
        assert client.post(reverse(name, args=place), form).status_code == 302

    return change


def _organises(role: str):
    """Somebody of the team whose run stands on the board."""
    return lambda scene: add_organiser(
        season=scene.phase.task.season,
        user=scene.people["mate"],
        role=role,
        by=scene.people["organiser"],
    )


def _helper_goes(scene) -> None:
    helper = Organiser.objects.get(
        season=scene.phase.task.season, user=scene.people["helper"]
    )
    remove_organiser(organiser=helper, by=scene.people["organiser"])


def _is_scored(scene) -> None:
    """Another run of the team, as the worker says it."""
    run = boards.make_run(scene.phase, scene.team)
    boards.score(run, 0.99, gold=Gold.objects.current(scene.phase))
    increment_board_version(scene.phase.pk, scene.team.pk)


def _updated(model, **wanted):
    def change(scene) -> None:
        model.objects.update(**wanted)
        increment_board_versions(scene.phase.task.season)

    return change


CHANGES = {
    "a run is scored": _is_scored,
    "another clock": _updated(Phase, time_zone="Asia/Tokyo"),
    "another title": _updated(Season, title="The season of another title"),
    "the run is withdrawn": _posted(
        "member", "submission-withdraw", reason="a mistake"
    ),
    "the run is hidden": _posted("organiser", "submission-hide", reason="a copy"),
    "the phase is closed": _posted("organiser", "organise-close"),
    "the board is frozen": _posted("organiser", "organise-freeze-now"),
    "an erratum": _posted("organiser", "organise-errata", text="Read it with care."),
    "a member organises": _organises("organiser"),
    "a member helps": _organises("helper"),
    "a helper goes": _helper_goes,
    "a member goes": lambda scene: remove_member(
        team=scene.team, user=scene.people["mate"], by=scene.people["member"]
    ),
    "a reader comes": lambda scene: add_member(
        team=scene.team, user=scene.people["reader"]
    ),
    "a phase is deleted": lambda scene: delete_phase(
        phase=scene.later, by=scene.people["organiser"]
    ),
    "an account is deleted": lambda scene: delete_account(
        user=scene.people["stranger"]
    ),
    "an announcement": lambda scene: announce(
        season=scene.phase.task.season, text="News", by=scene.people["organiser"]
    ),
}


def forget() -> None:
    for name in ("pages", "boards", "results"):
        caches[name].clear()


def said(page) -> str:
    # A token of a form is masked anew for each page, and where *now* stands on a line of time moves on.
    moving = r'name="csrfmiddlewaretoken" value="\w+"|<(line|text) class="now"[^>]*>'
    return re.sub(moving, "", page.content.decode())


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES)
def test_a_page_is_as_though_nothing_had_been_kept_once_it_changes(scene, change):
    browsers = {role: GoesOn() for role in READERS}
    for role, browser in browsers.items():
        if scene.people[role] is not None:
            browser.force_login(scene.people[role])
    kept = {
        (role, name): browser.get(address(name, scene))
        for role, browser in browsers.items()
        for name in PAGES
    }
    CHANGES[change](scene)
    shown = {}
    for (role, name), before in kept.items():
        known = {"If-None-Match": before["ETag"]} if "ETag" in before else {}
        after = browsers[role].get(address(name, scene), headers=known)
        shown[role, name] = said(before if after.status_code == 304 else after)
    for (role, name), page in shown.items():
        forget()
        assert page == said(browsers[role].get(address(name, scene))), (role, name)
