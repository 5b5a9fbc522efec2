"""Mails are in the language of who reads them, and what is kept is in English, whoever does it."""

import datetime as dt

import pytest
from django.core import mail
from django.utils import translation

from citeboard.core.audit import find_history_of_place
from citeboard.teams.membership import invite_by_mail
from tasks.delivery.notifications import wording
from tasks.jobs.mails import send_due_mails
from tasks.models import Phase, Season, Submission
from tasks.registration.entries import (
    TeamEntryRefused,
    change_entry,
    change_entry_list,
    take_back_entry,
)
from tasks.seasons.announcements import announce
from tasks.seasons.phase_acts import change_board, set_board_freeze
from tasks.submissions.run_acts import cancel_run, describe_run, give_tries
from tests.factories import (
    make_phase,
    make_season,
    make_submission,
    make_task,
    make_team,
    make_user,
)

pytestmark = pytest.mark.django_db

LATER = dt.datetime(2091, 5, 8, 12, tzinfo=dt.UTC)


@pytest.fixture
def organiser():
    return make_user(name="Olga")


@pytest.fixture
def phase(organiser):
    season = make_season(organiser=organiser, title="The season")
    task = make_task(season=season, title="1A")
    return make_phase(task=task, title="End", runs_per_day=5)


@pytest.fixture
def team(phase):
    return make_team(season=phase.task.season, name="Owls")


@pytest.mark.parametrize(
    ("chosen", "language"), [("de", "de"), ("en", "en"), ("", "en")]
)
def test_a_mail_is_in_the_language_that_its_reader_has_chosen(
    monkeypatch, phase, organiser, chosen, language
):
    ada = make_user(name="Ada", language=chosen)
    make_team(season=phase.task.season, lead=ada)
    announce(season=phase.task.season, text="Read this", by=organiser)
    monkeypatch.setattr(
        wording, "_", lambda words: f"{translation.get_language()}: {words}"
    )
    with translation.override("de" if language == "en" else "en"):
        send_due_mails()
    (letter,) = mail.outbox
    assert letter.subject == f"[Citeboard] {language}: Announcement of The season"


def test_an_invitation_is_in_the_language_of_who_invites(team):
    lead = make_user(name="Ada", language="de")
    invite_by_mail(
        team=make_team(name="Eulen", lead=lead), address="bob@example.net", by=lead
    )
    send_due_mails()
    (letter,) = mail.outbox
    assert letter.subject == "[Citeboard] Ada lädt Sie in das Team Eulen ein"
    assert "Shared Tasks" in letter.body


def _enter(phase: Phase, team, by) -> None:
    change_entry(season=phase.task.season, entry=Season.EntryPolicy.APPROVAL, by=by)


def _list(phase: Phase, team, by) -> None:
    change_entry_list(
        season=phase.task.season, addresses="@example.org\nada@example.com", by=by
    )


def _give_tries(phase: Phase, team, by) -> None:
    give_tries(phase=phase, team=team, tries=2, reason="The site was away", by=by)


def _show_board(phase: Phase, team, by) -> None:
    change_board(
        phase=phase, board="organisers", board_from=LATER, board_then="everyone", by=by
    )


def _freeze(phase: Phase, team, by) -> None:
    set_board_freeze(phase=phase, frozen_from=LATER, frozen_until=None, by=by)


def _cancel(phase: Phase, team, by) -> None:
    cancel_run(make_submission(phase=phase, team=team, system="BM25"), by)


def _describe(phase: Phase, team, by) -> None:
    run = make_submission(phase=phase, team=team, system="BM25")
    describe_run(
        submission=run, description="", links=[], by=by, card={"training_data": "none"}
    )


@pytest.mark.parametrize(
    ("act", "kept"),
    [
        (_enter, "made entering by approval of an organiser"),
        (_list, "changed the list of who may enter to 2 lines"),
        (_give_tries, "gave 2 more tries to Owls in 1A, End: The site was away"),
        (
            _show_board,
            "changed who sees the board of 1A, End: organisers only, from 8 May 2091, 12:00 UTC everyone",
        ),
        (
            _freeze,
            "changed when the board of 1A, End is frozen: from 8 May 2091, 12:00 UTC until it is revealed",
        ),
        (_cancel, "cancelled run 1 (BM25) of Owls in End"),
        (_describe, "described run 1 (BM25) of Owls in End"),
    ],
)
def test_the_history_is_kept_in_english_whatever_language_a_page_has(
    phase, team, organiser, act, kept
):
    with translation.override("de"):
        act(phase, team, organiser)
    newest = find_history_of_place(phase.task.season).first()
    assert newest.words == kept
    assert all(change["key"].isascii() for change in newest.changes)


def test_why_a_run_was_taken_back_is_kept_in_english(phase, team):
    ada = make_user(name="Ada")
    run = make_submission(phase=phase, team=team)
    with translation.override("de"):
        cancel_run(run, ada)
    assert Submission.objects.get(pk=run.pk).reason == "Cancelled by Ada."


def test_a_refusal_that_a_page_shows_names_what_it_names_in_every_language(
    phase, team, organiser
):
    make_submission(phase=phase, team=team)
    for language in ("en", "de"):
        with (
            translation.override(language),
            pytest.raises(TeamEntryRefused, match=r"Owls.*The season"),
        ):
            take_back_entry(registration=team.registrations.get(), by=organiser)
