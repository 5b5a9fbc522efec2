"""What the site asks or shows before organisers lose something to a mistake."""

import datetime as dt

import pytest
from django.core import mail
from django.urls import reverse
from django.utils import timezone

from citeboard.core import confinement
from citeboard.core.audit import find_history_of_place
from tasks.gold.early import confirm_disclosure
from tasks.models import Notification, Organiser, Phase, Season
from tasks.seasons.file.load import change_settings
from tasks.seasons.phase_acts import change_board
from tasks.seasons.presets import clone_season
from tests import factories
from tests.scoring import boards
from tests.web.reading import text_of
from tests.web.test_declaring import begun, lines, place, saved, sentences

pytestmark = pytest.mark.django_db


@pytest.fixture
def olga(client):
    olga = factories.make_user(name="Olga", is_staff=True)
    client.force_login(olga)
    return olga


@pytest.fixture
def season(olga) -> Season:
    return factories.make_season(organiser=olga, slug="one", title="One")


def remove(client, organiser: Organiser, **more):
    where = reverse("organise-person-remove", args=["one", organiser.pk])
    return client.post(where, more, follow=True)


def test_the_last_organiser_stays_with_a_season_that_has_runs_staff_or_not(
    client, olga, season
):
    phase = factories.make_phase(task=factories.make_task(season=season))
    factories.make_submission(phase=phase)
    refused = remove(client, season.organisers.get())
    assert "needs an organiser; add another one first" in text_of(refused)
    assert season.organisers.count() == 1


def test_who_is_removed_is_shown_first_told_by_mail_and_brought_back(
    client, olga, season
):
    eve = factories.make_user(name="Eve")
    row = Organiser.objects.create(season=season, user=eve, role="helper")
    shown = remove(client, row, rehearsed="other")
    assert shown.status_code == 409
    assert "You do not organise One any more" in text_of(shown)
    assert season.organisers.filter(user=eve).exists()
    remove(client, row)
    assert not season.organisers.filter(user=eve).exists()
    told = Notification.objects.get(user=eve)
    assert told.job_id
    entry = find_history_of_place(season).get(action="helper-removed")
    client.post(reverse("organise-undo", args=["one", entry.pk]))
    assert season.organisers.get(user=eve).role == "helper"
    assert not Notification.objects.filter(user=eve, job__state="queued").exists()
    assert not mail.outbox


def test_who_becomes_an_organiser_in_my_place_is_shown_before_it_is_done(
    client, olga, season
):
    eve = factories.make_user(name="Eve", email="eve@example.org")
    given = {"email": eve.email, "role": "hand-over"}
    where = reverse("organise-people", args=["one"])
    shown = client.post(where, {**given, "rehearsed": "other"})
    assert shown.status_code == 409
    page = text_of(shown)
    assert "Nothing has been done yet." in page
    assert "made Eve an organiser" in page
    assert "removed Olga as an organiser" in page
    assert [row.user for row in season.organisers.all()] == [olga]
    assert not Notification.objects.exists()
    client.post(where, given)
    assert [row.user for row in season.organisers.all()] == [eve]


FIRST, LATER = ("everyone", "scores", True), ("organisers", "nothing", False)


@pytest.mark.parametrize(("first", "later"), [(FIRST, LATER), (LATER, FIRST)])
def test_a_clone_tells_no_more_than_its_season_told_at_first_or_tells_now(
    olga, season, first, later
):
    names = ("board", "own_scores", "shows_instances")
    phase = factories.make_phase(
        task=factories.make_task(season=season),
        with_gold=False,
        **dict(zip(names, first, strict=True)),
    )
    prefix = f"tasks.{phase.task.slug}.phases.{phase.slug}"
    values = {
        f"{prefix}.{name}": value for name, value in zip(names, later, strict=True)
    }
    with confirm_disclosure(str(phase.task), "The board opens earlier."):
        change_settings(season=season, values=values, by=olga)
    made = clone_season(season=season, slug="next", title="Next", by=olga)
    [cloned] = Phase.objects.filter(task__season=made)
    assert tuple(getattr(cloned, name) for name in names) == LATER


def test_a_board_that_was_opened_by_hand_waits_for_its_day_in_the_clone(olga, season):
    day = timezone.now() + dt.timedelta(days=5)
    phase = factories.make_phase(
        task=factories.make_task(season=season),
        with_gold=False,
        board="organisers",
        board_from=day,
        board_then="everyone",
    )
    with confirm_disclosure(str(phase.task), "The board opens earlier."):
        change_board(
            phase=phase, board="everyone", board_from=None, board_then="", by=olga
        )
    made = clone_season(season=season, slug="next", title="Next", by=olga)
    [cloned] = Phase.objects.filter(task__season=made)
    assert (cloned.board, cloned.board_then) == ("organisers", "everyone")


def test_before_a_run_is_disqualified_its_ranks_are_shown(client, olga, season):
    phase = factories.make_phase(task=factories.make_task(season=season))
    for name, value in (("one", 0.6), ("two", 0.4)):
        team = factories.make_team(season=season, name=name)
        run = boards.scored_run(phase, team, 1 - value, system=name)
    where = reverse("submission-disqualify", args=[run.pk])
    asked = client.post(where, {"reason": "By mistake.", "rehearsed": "other"})
    assert asked.status_code == 409
    moved = {
        row.system: (row.before, row.after)
        for row in asked.context["rehearsal"].effects.scores.moved
    }
    assert moved == {"two": ("1", ""), "one": ("2", "1")}
    run.refresh_from_db()
    assert not run.exclusion
    client.post(where, {"reason": "By mistake."})
    run.refresh_from_db()
    assert run.exclusion == "disqualified"


def test_a_declaration_stays_readable_where_its_gold_cannot_be_read(
    client, olga, monkeypatch
):
    factories.make_season(organiser=olga, slug="one", is_public=False)
    saved(client, begun(client, lines(sentences())))
    [task] = Season.objects.get().tasks.all()

    def fails(*given, **more):
        raise confinement.UploadUnreadable("the process has failed")

    monkeypatch.setattr(confinement, "read_upload", fails)
    shown = client.get(place(task.pk))
    assert shown.status_code == 200
    assert "the process has failed" in text_of(shown)


def test_the_question_before_a_freeze_says_which_phase_still_shows_the_scores(
    client, olga, season
):
    task = factories.make_task(season=season, title="Spans")
    shows = factories.make_phase(task=task, title="Open")
    hides = factories.make_phase(task=task, title="Final")
    soon = timezone.now() + dt.timedelta(days=2)
    where = reverse("organise-freeze", args=["one", hides.pk])
    asked = client.post(
        where, {"frozen_from": f"{soon:%Y-%m-%d %H:%M}", "frozen_until": ""}
    )
    if asked.status_code != 409:
        where = reverse("organise-freeze-now", args=["one", hides.pk])
        asked = client.post(where)
    assert f"Spans, {shows.title} shows the scores of all also then" in text_of(asked)


def shown_form(client, where):
    """Return the form of a page, and the fields that a browser sends of it."""
    form = client.get(where).context["form"]
    shown = {}
    for name, field in form.fields.items():
        value = field.prepare_value(form[name].value())
        if value not in (None, False):
            shown[name] = value
        if field.show_hidden_initial:
            shown[form.add_initial_prefix(name)] = "" if value is None else value
    return form, shown


def test_a_newer_text_of_several_lines_is_replaced_when_it_is_saved_again(
    client, olga, season
):
    where = reverse("organise-settings-season", args=["one"])
    form, shown = shown_form(client, where)
    Season.objects.update(summary="Theirs,\nof two lines")
    mine = {**shown, "summary": "Mine"}
    asked = client.post(where, mine)
    assert asked.status_code == 422
    hidden = form.add_initial_prefix("summary")
    kept = asked.context["form"].data[hidden]
    assert kept == "Theirs,\nof two lines"
    assert client.post(where, {**mine, hidden: kept}).status_code in (302, 409)


def test_a_value_that_somebody_else_has_saved_meanwhile_is_named_before_it_is_replaced(
    client, olga, season
):
    phase = factories.make_phase(
        task=factories.make_task(season=season), title="Final", with_gold=False
    )
    where = reverse("organise-settings-phase", args=["one", phase.pk])
    form, shown = shown_form(client, where)
    Phase.objects.update(title="Final A")
    mine = {**shown, "title": "Final B"}
    asked = client.post(where, mine)
    assert asked.status_code == 422
    assert "changed it meanwhile to “Final A”" in text_of(asked)
    assert Phase.objects.get().title == "Final A"
    again = {**mine, form.add_initial_prefix("title"): "Final A"}
    assert 'value="Final A"' in asked.content.decode()
    assert client.post(where, again).status_code == 302
    assert Phase.objects.get().title == "Final B"
    # A field that nobody else has touched is saved as before.
    other = {**again, "title": "Final B", form.add_initial_prefix("title"): "Final B"}
    assert client.post(where, {**other, "runs_per_day": "4"}).status_code == 302


def test_a_date_that_somebody_else_has_changed_meanwhile_is_named_before_it_is_replaced(
    client, olga, season
):
    may = dt.datetime(2031, 5, 1, tzinfo=dt.UTC)
    task = factories.make_task(season=season, slug="cite")
    dates = {"opens": may, "closes": may + dt.timedelta(9), "with_gold": False}
    for slug in ("dev", "final"):
        factories.make_phase(task=task, slug=slug, time_zone="UTC", **dates)
    where = reverse("organise-calendar", args=["one"])
    form, shown = shown_form(client, where)
    # Two others have moved both closing times, and I have changed one of them.
    Phase.objects.update(closes=may + dt.timedelta(19))
    mine = {**shown, "tasks.cite.phases.dev.closes": "2031-05-15 00:00"}
    asked = client.post(where, mine)
    assert asked.status_code == 422
    assert "changed it meanwhile to “2031-05-20 00:00”" in text_of(asked)
    hidden = form.add_initial_prefix("tasks.cite.phases.dev.closes")
    again = {**mine, hidden: asked.context["form"].data[hidden]}
    assert client.post(where, again).status_code == 302
    assert dict(Phase.objects.values_list("slug", "closes")) == {
        "dev": may + dt.timedelta(14),
        "final": may + dt.timedelta(19),
    }
