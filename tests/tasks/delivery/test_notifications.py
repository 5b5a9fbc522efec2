"""Every e-mail as text, who gets it, and that none is lost or sent of what its reader may not know."""

import datetime as dt
from smtplib import SMTPRecipientsRefused

import pytest
from django.core import mail
from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone

from citeboard.core.audit import find_history_of_place
from citeboard.ops.accounts import collect_user_data
from scoring.human.sheets import add_annotator_by_email, remove_annotator
from tasks.delivery.notifications.events import (
    PhaseDeadlineAndLimits,
    notify_phase_changed,
    send_deadline_reminders,
)
from tasks.delivery.notifications.reading import store_notification_channels
from tasks.delivery.webhooks.services import delay_messages_until_undo_ends
from tasks.jobs import engine, leases, mails
from tasks.jobs.mails import (
    load_outgoing_mail_state,
    requeue_failed_mails,
    send_due_mails,
)
from tasks.models import Job, Notification, Phase, Season, Submission
from tasks.models.notifications import NotificationChannel, NotificationKind
from tasks.registration.entries import (
    approve_team_entry,
    refuse_team_entry,
    register_team,
)
from tasks.seasons.announcements import announce
from tasks.seasons.organisers import add_organiser
from tasks.seasons.phase_acts import move_phase
from tasks.submissions.run_acts import disqualify_run, give_tries
from tests import factories
from tests.scoring import boards, sheets
from tests.tasks.mailing import letters_to, refuse_connections

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

CLOSES = dt.datetime(2091, 5, 8, 21, 59, tzinfo=dt.UTC)
BOARD = "https://board.example.org/seasons/the-season/1a/final/"


@pytest.fixture(autouse=True)
def _address(settings):
    settings.BASE_URL = "https://board.example.org"


@pytest.fixture
def organiser():
    return factories.make_user(name="Olga")


@pytest.fixture
def ada():
    return factories.make_user(name="Ada")


@pytest.fixture
def phase(organiser):
    season = factories.make_season(
        organiser=organiser, slug="the-season", title="The season"
    )
    task = factories.make_task(season=season, slug="1a", title="Task 1A")
    return factories.make_phase(task=task, slug="final", title="Final", closes=CLOSES)


@pytest.fixture
def team(phase, ada):
    return factories.make_team(
        season=phase.task.season, lead=ada, name="Night Shift", slug="night-shift"
    )


def claimed(run: Submission) -> Job:
    return engine.claim_job(run.jobs.get().pk, "worker")


def scored(run: Submission) -> Job:
    job = claimed(run)
    assert leases.complete_job(job, lambda: None)
    return job


def wants_mail(person, kind: NotificationKind) -> None:
    store_notification_channels(user=person, wanted={kind: NotificationChannel.MAIL})


def test_six_mails_in_ten_minutes_become_one_but_for_those_about_dates(
    phase, team, ada, organiser
):
    """The first goes at once, and what comes within ten minutes after it goes together."""
    phase.runs_per_day = 3
    phase.save()
    announce(season=phase.task.season, text="Welcome.", by=organiser)
    assert send_due_mails() == 1
    for number in range(1, 6):
        announce(season=phase.task.season, text=f"News {number}.", by=organiser)
    give_tries(phase=phase, team=team, tries=2, reason="An outage.", by=organiser)
    assert send_due_mails() == 0
    send_deadline_reminders(CLOSES - dt.timedelta(hours=1))
    assert send_due_mails() == 1
    assert "closes at" in mail.outbox[-1].subject
    later = timezone.now() - dt.timedelta(minutes=11)
    Job.all_kinds.filter(state="done").update(finished_at=later)
    Job.all_kinds.filter(state="queued").update(due_at=timezone.now())
    assert send_due_mails() == 1
    letter = mail.outbox[-1]
    assert letter.to == [ada.email]
    assert letter.subject == "[Citeboard] Announcement of The season, and 5 more"
    assert [
        letter.body.count(words) for words in ("News 1.", "News 5.", "An outage.")
    ] == [1, 1, 1]
    assert letter.body.count("/unsubscribe/") == 2
    assert send_due_mails() == 0
    assert not Job.all_kinds.exclude(state="done").filter(kind="mail").exists()


def test_mails_of_acts_of_ten_minutes_that_can_be_taken_back_become_one(
    phase, team, ada, organiser
):
    """However many acts follow: none waits for longer than ten minutes after it could be taken back."""
    acts, sent = {0: "a", 3: "b", 8: "c", 9: "d", 11: "e", 15: "f", 24: "g"}, {}
    for minute in range(60):
        if minute in acts:
            with delay_messages_until_undo_ends():
                announce(
                    season=phase.task.season, text=f"News {acts[minute]}.", by=organiser
                )
        if send_due_mails():
            sent[minute] = [
                name
                for name in acts.values()
                if f"News {name}." in mail.outbox[-1].body
            ]
        passed = dt.timedelta(minutes=1)
        Notification.objects.update(created_at=F("created_at") - passed)
        Job.all_kinds.update(
            due_at=F("due_at") - passed, finished_at=F("finished_at") - passed
        )
    assert sent == {19: ["a", "b", "c", "d"], 29: ["e", "f"], 39: ["g"]}


def test_a_mail_that_another_process_sends_at_the_moment_is_waited_for(
    phase, team, ada, organiser
):
    for number in range(2):
        announce(season=phase.task.season, text=f"News {number}.", by=organiser)
    first = engine.claim_job(Notification.objects.order_by("pk")[0].job_id, "another")
    assert send_due_mails() == 0
    assert engine.end_lease(first, state="done", finished_at=timezone.now())
    Job.all_kinds.filter(state="queued").update(due_at=timezone.now())
    assert send_due_mails() == 0
    assert Job.all_kinds.get(state="queued").due_at > timezone.now() + dt.timedelta(
        minutes=9
    )


def test_a_scored_run_is_told_on_the_site_and_by_mail_to_who_wants_it(phase, team, ada):
    wants_mail(ada, NotificationKind.SCORED)
    mate = factories.make_user()
    team.memberships.create(user=mate)
    run = factories.make_submission(phase=phase, team=team, system="Owl")
    scored(run)
    assert letters_to(ada) == [
        (
            "[Citeboard] Run 1, “Owl”, of Night Shift was scored\n\n"
            "Run 1, “Owl”, of Night Shift was scored.\n\n"
            "Every answer was compared with the gold of Task 1A, Final. The page of "
            "the run shows the scores that you may see.\n\n"
            f"https://board.example.org/submissions/{run.pk}/"
        )
    ]
    assert letters_to(mate) == []
    assert Notification.objects.get(user=mate).kind == NotificationKind.SCORED


def test_a_failed_run_is_told_with_its_reason(phase, team, ada):
    run = factories.make_submission(phase=phase, team=team, system="Owl")
    leases.fail_job(claimed(run), "The scorer ran out of memory.")
    assert letters_to(ada) == [
        (
            "[Citeboard] Run 1, “Owl”, of Night Shift could not be scored\n\n"
            "Run 1, “Owl”, of Night Shift could not be scored.\n\n"
            "The scorer ran out of memory.\n\nThe page of the run says what you can do.\n\n"
            f"https://board.example.org/submissions/{run.pk}/"
        )
    ]


def test_a_run_that_is_refused_after_it_was_sent_is_told(phase, team, ada):
    run = factories.make_submission(phase=phase, team=team, system="Owl")
    problem = {
        "file": "run.jsonl",
        "line": 5,
        "message": "not JSON",
        "expected": "JSON",
        "fatal": True,
    }
    leases.fail_job(claimed(run), "The run has a problem.", [problem])
    assert letters_to(ada) == [
        (
            "[Citeboard] Run 1, “Owl”, of Night Shift was refused\n\n"
            "Run 1, “Owl”, of Night Shift was refused.\n\n"
            "The file was checked after it was submitted, and cannot be scored as it "
            "is. The page of the run lists every problem by line. It has not used up a "
            "try.\n\n"
            f"https://board.example.org/submissions/{run.pk}/"
        )
    ]


def test_runs_that_are_scored_again_are_told_once_for_all_of_a_team(phase, team, ada):
    jobs = [scored(factories.make_submission(phase=phase, team=team)) for _ in range(2)]
    for job in jobs:
        leases.restart_job(job)
        leases.complete_job(engine.claim_job(job.pk, "worker"), lambda: None)
    # As long as the gold could be taken back nothing of it is sent.
    assert letters_to(ada) == []
    Job.all_kinds.filter(kind="mail").update(due_at=timezone.now())
    assert letters_to(ada) == [
        (
            "[Citeboard] Runs of Night Shift in Task 1A, Final were rescored\n\n"
            "Runs of Night Shift in Task 1A, Final were rescored.\n\n"
            "Gold, options and rules are the same as before. Nothing has to be submitted again.\n\n"
            "https://board.example.org/runs/"
        )
    ]


@pytest.mark.parametrize(
    ("before", "words"),
    [
        ("gold", "They are scored against version 1 of the gold."),
        ("options_digest", "Options of the task were changed."),
        ("rules", "The rules of the task were changed."),
    ],
)
def test_what_is_told_of_runs_that_are_scored_again_names_what_changed(
    phase, team, ada, before, words
):
    job = scored(factories.make_submission(phase=phase, team=team))
    same = {
        "submission": job.submission,
        "gold": job.gold,
        "rules": job.rules,
        "options_digest": "d",
    }
    Job.objects.filter(pk=job.pk).update(options_digest="d")
    other = boards.make_gold(phase, 2) if before == "gold" else "other"
    ended = {"state": "done", "finished_at": job.created_at - dt.timedelta(hours=1)}
    Job.objects.create(**{**same, before: other}, **ended)
    leases.restart_job(job)
    leases.complete_job(engine.claim_job(job.pk, "worker"), lambda: None)
    Job.all_kinds.filter(kind="mail").update(due_at=timezone.now())
    [letter] = letters_to(ada)
    assert f"were rescored.\n\n{words} Nothing has to be submitted again." in letter


def test_a_deadline_within_48_hours_is_told_once(phase, team, ada):
    assert send_deadline_reminders(CLOSES - dt.timedelta(hours=49)) == 0
    assert send_deadline_reminders(CLOSES - dt.timedelta(hours=47)) == 1
    assert send_deadline_reminders(CLOSES - dt.timedelta(hours=46)) == 0
    assert letters_to(ada) == [
        (
            "[Citeboard] Task 1A, Final closes at 8 May 2091, 21:59 UTC (8 May 2091, 09:59 AoE)\n\n"
            "Task 1A, Final closes at 8 May 2091, 21:59 UTC (8 May 2091, 09:59 AoE).\n\n"
            f"Runs whose upload begins before that count.\n\n{BOARD}"
        )
    ]


def test_an_extension_is_told_to_participants_and_not_to_who_made_it(
    phase, team, ada, organiser
):
    move_phase(
        phase=phase,
        opens=phase.opens,
        closes=CLOSES + dt.timedelta(days=2),
        by=organiser,
    )
    assert letters_to(ada) == [
        (
            "[Citeboard] Task 1A, Final closes at 10 May 2091, 21:59 UTC (10 May 2091, 09:59 AoE) now\n\n"
            "Task 1A, Final closes at 10 May 2091, 21:59 UTC (10 May 2091, 09:59 AoE) now.\n\n"
            f"Before, it was 8 May 2091, 21:59 UTC (8 May 2091, 09:59 AoE).\n\n{BOARD}"
        )
    ]
    assert letters_to(organiser) == []


def test_a_change_of_limits_is_told(phase, team, ada):
    before = PhaseDeadlineAndLimits.of(phase)
    phase.runs_per_day, phase.runs_in_total = 3, 20
    notify_phase_changed(phase, before, at=timezone.now(), by=None)
    notify_phase_changed(
        phase, PhaseDeadlineAndLimits.of(phase), at=timezone.now(), by=None
    )
    assert letters_to(ada) == [
        (
            "[Citeboard] How many runs a team may submit to Task 1A, Final was changed\n\n"
            "How many runs a team may submit to Task 1A, Final was changed.\n\n"
            f"It was any number; it is 3 runs a day and 20 runs in total now.\n\n{BOARD}"
        )
    ]


def test_more_tries_and_an_excluded_run_are_told_with_their_reasons(
    phase, team, ada, organiser
):
    Phase.objects.filter(pk=phase.pk).update(runs_in_total=5)
    phase.refresh_from_db()
    give_tries(
        phase=phase, team=team, tries=2, reason="The site was away.", by=organiser
    )
    run = factories.make_submission(phase=phase, team=team, system="Owl")
    disqualify_run(run, organiser, "It used the test gold.")
    assert letters_to(ada) == [
        (
            "[Citeboard] Night Shift may submit 2 more runs to Task 1A, Final\n\n"
            "Night Shift may submit 2 more runs to Task 1A, Final.\n\n"
            f"The organisers say: The site was away.\n\n{BOARD}"
        ),
        (
            "[Citeboard] Run 1, “Owl”, of Night Shift was disqualified\n\n"
            "Run 1, “Owl”, of Night Shift was disqualified.\n\n"
            "The organisers say: It used the test gold.\n\n"
            f"https://board.example.org/submissions/{run.pk}/"
        ),
    ]


def test_an_announcement_is_told_to_participants(phase, team, ada, organiser):
    announce(season=phase.task.season, text="We **extend**.", by=organiser)
    assert letters_to(ada) == [
        (
            "[Citeboard] Announcement of The season\n\n"
            "Announcement of The season.\n\nWe **extend**.\n\nhttps://board.example.org/seasons/the-season/"
        )
    ]


def test_an_account_that_was_closed_meanwhile_gets_no_mail(phase, team, ada, organiser):
    announce(season=phase.task.season, text="We extend.", by=organiser)
    ada.is_active = False
    ada.save()
    assert letters_to(ada) == []


def test_a_team_that_asks_and_what_is_decided_are_told(phase, ada, organiser):
    season = phase.task.season
    Season.objects.filter(pk=season.pk).update(registration="approval")
    team = factories.make_team(lead=ada, name="Night Shift")
    entry = register_team(season=season, team=team, by=ada, message="We are new.")
    assert letters_to(organiser) == [
        (
            "[Citeboard] Night Shift asks to take part in The season\n\n"
            "Night Shift asks to take part in The season.\n\nIt says: We are new.\n\n"
            "https://board.example.org/seasons/the-season/organise/teams/"
        )
    ]
    approve_team_entry(registration=entry, by=organiser)
    refuse_team_entry(
        registration=entry, by=organiser, reason="It has a member of the jury."
    )
    assert letters_to(ada) == [
        (
            "[Citeboard] Night Shift takes part in The season\n\n"
            "Night Shift takes part in The season.\n\nAn organiser has decided.\n\n"
            "https://board.example.org/seasons/the-season/"
        ),
        (
            "[Citeboard] Night Shift does not take part in The season\n\n"
            "Night Shift does not take part in The season.\n\n"
            "An organiser has decided. The organisers say: It has a member of the jury.\n\n"
            "https://board.example.org/seasons/the-season/"
        ),
    ]


def test_who_is_made_a_helper_is_told(phase, ada, organiser):
    add_organiser(season=phase.task.season, user=ada, by=organiser, role="helper")
    assert letters_to(ada) == [
        (
            "[Citeboard] You are a helper of The season now\n\n"
            "You are a helper of The season now.\n\nIts pages for organisers are open to you.\n\n"
            "https://board.example.org/seasons/the-season/organise/"
        )
    ]


def test_who_shall_rate_is_told_and_not_any_more_once_they_shall_not(
    phase, ada, organiser
):
    run = factories.make_submission(phase=phase)
    sheet = sheets.make_sheet(phase, {"r-1": {run: "A text."}}, annotators=[])
    other = factories.make_user()
    add_annotator_by_email(sheet=sheet, email=ada.email, by=organiser)
    remove_annotator(
        annotator=add_annotator_by_email(sheet=sheet, email=other.email, by=organiser),
        by=organiser,
    )
    assert letters_to(ada) == [
        (
            "[Citeboard] Texts of Task 1A, Final wait for your ratings\n\n"
            "Texts of Task 1A, Final wait for your ratings.\n\n"
            "You see texts without the names of the systems that wrote them, and rate each.\n\n"
            f"https://board.example.org/annotate/{sheet.pk}/"
        )
    ]
    assert letters_to(other) == []


def test_a_mail_says_nothing_of_outcomes_that_the_phase_keeps_to_itself(
    phase, team, ada
):
    wants_mail(ada, NotificationKind.SCORED)
    scored(factories.make_submission(phase=phase, team=team))
    # It was written while they were told; now they are not.
    Phase.objects.filter(pk=phase.pk).update(board="organisers", own_scores="nothing")
    assert letters_to(ada) == []
    assert Notification.objects.get(user=ada).job.state == "cancelled"
    scored(factories.make_submission(phase=Phase.objects.get(pk=phase.pk), team=team))
    assert Notification.objects.count() == 1


def test_who_has_left_the_team_reads_no_more_of_it(phase, team, ada):
    mate = factories.make_user()
    place = team.memberships.create(user=mate)
    wants_mail(mate, NotificationKind.SCORED)
    scored(factories.make_submission(phase=phase, team=team))
    place.delete()
    assert letters_to(mate) == []


def test_an_event_that_is_rolled_back_tells_nobody_and_one_that_is_repeated_tells_once(
    phase, team, ada
):
    run = factories.make_submission(phase=phase, team=team)
    job = claimed(run)
    with transaction.atomic():
        leases.complete_job(job, lambda: None)
        transaction.set_rollback(True)
    assert Notification.objects.count() == 0
    assert leases.complete_job(job, lambda: None)
    assert not leases.complete_job(job, lambda: None)
    assert Notification.objects.count() == 1


def test_who_wants_to_be_told_nothing_gets_no_row_and_who_wants_no_mail_none(
    phase, team, ada, organiser
):
    store_notification_channels(
        user=ada, wanted={NotificationKind.ANNOUNCED: NotificationChannel.NONE}
    )
    mate = factories.make_user()
    team.memberships.create(user=mate)
    store_notification_channels(
        user=mate, wanted={NotificationKind.ANNOUNCED: NotificationChannel.SITE}
    )
    announce(season=phase.task.season, text="Hello.", by=organiser)
    assert letters_to(ada) == letters_to(mate) == []
    assert Notification.objects.get().user == mate


def test_a_mail_server_that_is_away_loses_nothing_and_is_shown_to_the_operator(
    phase, team, ada, organiser, monkeypatch
):
    announce(season=phase.task.season, text="Hello.", by=organiser)
    with monkeypatch.context() as away:
        refuse_connections(away)
        for _ in range(20):
            Job.all_kinds.update(due_at=timezone.now() - dt.timedelta(days=1))
            assert send_due_mails() == 0
    state = load_outgoing_mail_state()
    assert (state.waiting, state.failed) == (1, 0)
    assert state.error == "ConnectionRefusedError: no mail server"
    # It waits its time, and then goes out.
    assert send_due_mails() == 0
    Job.all_kinds.update(due_at=timezone.now() - dt.timedelta(days=1))
    assert send_due_mails() == 1
    assert load_outgoing_mail_state().waiting == 0


def test_an_address_that_is_refused_is_given_up_and_tried_again_by_hand(
    phase, team, ada, organiser, monkeypatch
):
    announce(season=phase.task.season, text="Hello.", by=organiser)
    with monkeypatch.context() as refusing:
        refuse_connections(
            refusing, SMTPRecipientsRefused({ada.email: (550, b"no such user")})
        )
        for _ in range(mails.MAX_SERVER_REFUSALS):
            Job.all_kinds.update(due_at=timezone.now() - dt.timedelta(days=1))
            send_due_mails()
    assert load_outgoing_mail_state().failed == 1
    assert (
        load_outgoing_mail_state().failures[0]["error"]
        == "The mail server refuses the address (550)."
    )
    assert requeue_failed_mails(by=organiser) == 1
    entry = find_history_of_place(organiser).get()
    assert str(entry) == "Olga queued 1 e-mail again that had been given up"
    assert requeue_failed_mails(by=organiser) == 0
    assert find_history_of_place(organiser).count() == 1
    assert len(letters_to(ada)) == 1


def test_each_mail_has_the_headers_to_unsubscribe_and_a_name_of_its_own(
    phase, team, ada, organiser
):
    announce(season=phase.task.season, text="Hello.", by=organiser)
    send_due_mails()
    [letter] = mail.outbox
    headers = letter.extra_headers
    assert headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert headers["List-Unsubscribe"].startswith(
        "<https://board.example.org/unsubscribe/"
    )
    assert headers["List-Unsubscribe"].strip("<>") in letter.body
    assert (
        headers["Message-ID"]
        == f"<notification-{Notification.objects.get().pk}@board.example.org>"
    )


def test_a_draft_tells_nobody_of_its_deadlines(phase, team, ada, organiser):
    Season.objects.filter(pk=phase.task.season_id).update(is_public=False)
    move_phase(
        phase=phase,
        opens=phase.opens,
        closes=CLOSES + dt.timedelta(days=2),
        by=organiser,
    )
    assert send_deadline_reminders(CLOSES) == 0
    assert letters_to(ada) == []


def test_messages_are_part_of_ones_own_data(phase, team, ada, organiser):
    announce(season=phase.task.season, text="Hello.", by=organiser)
    assert [told["kind"] for told in collect_user_data(ada)["messages"]] == [
        "announced"
    ]
    assert connection.needs_rollback is False
