"""Results are preliminary until the leads of all teams have confirmed them, or organisers end that."""

import datetime as dt

import pytest
from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils import timezone

from citeboard.core.audit import find_history_of_place, find_history_of_subjects
from citeboard.ops.accounts import collect_user_data, delete_account
from citeboard.teams.membership import add_member
from scoring.exchange.citations import build_citation_of_snapshot
from scoring.models import Evaluation, ResultConfirmation, Snapshot
from scoring.results.runs.confirming import (
    end_confirmation,
    notify_leads_of_due_phases,
    reopen_confirmation,
)
from tasks.delivery.notifications.reading import store_notification_channels
from tasks.models import Delivery, Notification, Organiser, Phase, Season, Webhook
from tasks.models.notifications import NotificationChannel, NotificationKind
from tasks.seasons.presets import clone_season
from tests import factories
from tests.kept_worlds import keep_world
from tests.scoring import boards
from tests.tasks.mailing import letters_to

pytestmark = pytest.mark.django_db
HOUR = dt.timedelta(hours=1)
PRELIMINARY = "preliminary: {} of 2 teams have confirmed"
WRONG = "Two answers of ours count as missing."


def make_confirmed():
    """Closed an hour ago: two teams with a run that counts each, an earlier one that does not, a baseline."""
    ada, bob = factories.make_user(), factories.make_user()
    now = timezone.now()
    phase = boards.make_phase(
        board="everyone", confirms_results=True, opens=now - 9 * HOUR, closes=now - HOUR
    )
    first, second = (
        boards.make_team(phase, "Ada", ada),
        boards.make_team(phase, "Bob", bob),
    )
    boards.scored_run(phase, first, 0.6, system="ours")
    boards.scored_run(phase, first, 0.4, system="worse")
    boards.scored_run(phase, second, 0.5, system="theirs")
    boards.scored_run(phase, None, 0.3, system="base")
    return phase, ada, bob


@pytest.fixture(scope="module")
def kept(django_db_setup, django_db_blocker):
    return keep_world(make_confirmed, django_db_blocker)


@pytest.fixture
def world(db, kept):
    return kept()


@pytest.fixture
def phase(world):
    return world[0]


@pytest.fixture
def ada(world):
    return world[1]


@pytest.fixture
def bob(world):
    return world[2]


@pytest.fixture
def organiser(phase):
    found = factories.make_user()
    Organiser.objects.create(season=phase.task.season, user=found)
    return found


def run(phase, system="ours"):
    return phase.submissions.get(system=system)


def say(client, user, submission, how="confirm", **said):
    client.force_login(user)
    return client.post(
        reverse(f"submission-{how}", args=[submission.pk]), said, follow=True
    )


def told(client, phase) -> dict:
    client.logout()
    return client.get(reverse("api:leaderboard", args=[phase.pk])).json()[
        "confirmation"
    ]


def organise(client, phase, name, **said):
    where = reverse(f"organise-{name}", args=[phase.task.season.slug, phase.pk])
    return client.post(where, said, follow=True)


def test_every_form_of_the_board_says_that_it_is_preliminary_until_all_have_confirmed(
    client, phase, ada, bob
):
    addresses = [
        boards.address(name, phase) for name in ("board", "board-csv", "board-json")
    ]
    addresses.append(reverse("api:leaderboard", args=[phase.pk]))
    addresses.append(
        reverse("overview-paper-file", args=[phase.task.season.slug, "results.md"])
    )

    def bodies() -> list[str]:
        client.logout()
        return [client.get(where).getvalue().decode().lower() for where in addresses]

    assert all(PRELIMINARY.format(0) in body for body in bodies())
    assert say(client, ada, run(phase)).status_code == 200
    assert all(PRELIMINARY.format(1) in body for body in bodies())
    say(client, bob, run(phase, "theirs"))
    assert all("official" in body and "preliminary" not in body for body in bodies())
    last = ResultConfirmation.objects.get(submission=run(phase, "theirs"))
    assert told(client, phase)["official_since"] == last.at.isoformat().replace(
        "+00:00", "Z"
    )


def test_a_board_that_is_cited_on_a_german_page_is_kept_in_english(client, phase):
    client.get(
        boards.address("board", phase) + "cite/", headers={"Accept-Language": "de"}
    )
    kept = Snapshot.objects.get(occasion=Snapshot.Occasion.CITED).content
    assert kept["results"]["words"] == PRELIMINARY.format(0)


def test_tables_badges_and_citations_say_that_results_are_preliminary_and_then_no_more(
    client, phase, ada, bob
):
    own = run(phase)
    task = phase.task
    place = [task.season.slug, task.slug, phase.slug]
    badge = reverse("team-badge", args=[*place, "ada"])
    files = [boards.address(name, phase) for name in ("board-tex", "board-bib")]
    files += [reverse("standing-bib", args=[*place, own.pk]), badge]
    files += [
        reverse("overview-paper-file", args=[task.season.slug, name])
        for name in (
            "systems.bib",
            f"boards/{task.slug}-{phase.slug}-{task.ranking_rules}.tex",
        )
    ]
    german = {"Accept-Language": "de"}

    def bodies() -> list[str]:
        client.logout()
        return [
            client.get(where, headers=german).getvalue().decode() for where in files
        ]

    assert all("preliminary" in body for body in bodies())
    tex, bib, of_run, picture, *_ = bodies()
    said = "Results are preliminary: 0 of 2 teams have confirmed"
    assert f"\n% {said}\n" in tex
    assert f"Phase. {said}. " in tex.replace(str(phase), "Phase")
    assert bib.count(said) == 4
    assert said in of_run
    assert "0.6500 · preliminary" in picture
    cited = boards.address("board", phase) + "?view=cite"
    pages = [cited, reverse("standing", args=[*place, own.pk])]
    assert all(
        said in client.get(where, headers=german).content.decode() for where in pages
    )
    tag = client.get(badge)["ETag"]
    assert client.get(badge, headers={"If-None-Match": tag}).status_code == 304

    say(client, ada, own)
    client.logout()
    assert client.get(badge, headers={"If-None-Match": tag}).status_code == 200
    say(client, bob, run(phase, "theirs"))
    assert not any("preliminary" in body.lower() for body in bodies())
    tex, bib, of_run, picture, *_ = bodies()
    assert "\n% Results are official since " in tex
    [caption] = [line for line in tex.splitlines() if line.startswith("\\caption")]
    assert "official" not in caption
    assert bib.count("Results are official since ") == 4
    assert "0.6500" in picture


def test_files_keep_the_form_of_an_instant_and_pages_show_it_in_words(
    client, phase, ada, bob
):
    say(client, ada, run(phase))
    say(client, bob, run(phase, "theirs"))
    last = dt.datetime(2026, 5, 1, 12, 30, tzinfo=dt.UTC)
    ResultConfirmation.objects.update(at=last)
    Phase.objects.update(version=80)
    written = "official since 2026-05-01 12:30 UTC"
    assert told(client, phase)["words"] == written
    board_json = client.get(boards.address("board-json", phase)).json()
    assert board_json["results"]["words"] == written
    assert written in client.get(boards.address("board-csv", phase)).content.decode()
    in_words = "official since 1 May 2026, 12:30 UTC"
    assert in_words in client.get(boards.address("board-tex", phase)).content.decode()
    client.get(boards.address("board", phase) + "cite/")
    kept = Snapshot.objects.latest("pk")
    assert kept.content["results"]["words"] == written
    assert f"Results were {in_words}" in build_citation_of_snapshot(kept).note


def test_a_caption_of_one_s_own_stays_and_the_comment_says_it(client, phase):
    tex = (
        client.get(boards.address("board-tex", phase), {"caption": "Ours."})
        .getvalue()
        .decode()
    )
    assert "\\caption{Ours.}" in tex
    assert "% Results are preliminary" in tex


def test_the_number_of_teams_is_in_no_file_where_it_is_hidden(client, phase):
    Phase.objects.update(shows_run_counts=False)
    for name in ("board-tex", "board-bib"):
        body = client.get(boards.address(name, phase)).getvalue().decode()
        assert "Results are preliminary: not every team has confirmed" in body


def test_what_is_cited_of_a_kept_board_is_what_it_said_then(client, phase, ada, bob):
    kept = client.get(boards.address("board", phase) + "cite/").url
    say(client, ada, run(phase))
    say(client, bob, run(phase, "theirs"))
    cited = client.get(f"{kept}board.bib").content.decode()
    assert "Results were preliminary: 0 of 2 teams have confirmed" in cited


def test_a_page_that_a_reader_has_is_made_anew_once_a_team_has_confirmed(
    client, phase, ada
):
    where = boards.address("board", phase)
    tag = client.get(where)["ETag"]
    assert client.get(where, headers={"If-None-Match": tag}).status_code == 304
    say(client, ada, run(phase))
    client.logout()
    assert client.get(where, headers={"If-None-Match": tag}).status_code == 200


def test_nothing_is_said_where_teams_are_not_asked_and_before_the_phase_has_closed(
    client, phase, ada
):
    Phase.objects.update(confirms_results=False)
    assert told(client, phase) is None
    answer = say(client, ada, run(phase))
    assert "does not ask teams" in answer.content.decode()
    Phase.objects.update(confirms_results=True, closes=timezone.now() + HOUR)
    assert told(client, phase) is None
    assert (
        "preliminary"
        not in client.get(boards.address("board", phase)).content.decode().lower()
    )
    assert "has closed" in say(client, ada, run(phase)).content.decode()
    assert not ResultConfirmation.objects.exists()


def test_the_lead_confirms_and_members_read(client, phase, ada):
    mate = factories.make_user()
    add_member(team=run(phase).team, user=mate)
    client.force_login(mate)
    page = client.get(reverse("submission", args=[run(phase).pk])).content.decode()
    assert "The lead of Ada confirms or contests it" in page
    assert "Confirm this result" not in page
    assert say(client, mate, run(phase)).status_code == 403
    for act in ("api:confirm", "api:contest"):
        where = reverse(act, args=[run(phase).pk])
        assert client.post(where, {"message": WRONG}).status_code == 403
    client.force_login(ada)
    assert (
        "Confirm this result"
        in client.get(reverse("submission", args=[run(phase).pk])).content.decode()
    )
    say(client, ada, run(phase))
    client.force_login(mate)
    assert (
        "Ada confirmed it"
        in client.get(reverse("submission", args=[run(phase).pk])).content.decode()
    )


def test_nobody_confirms_for_another_team(client, phase, bob, organiser):
    assert say(client, bob, run(phase)).status_code == 404
    assert say(client, organiser, run(phase)).status_code == 404
    assert say(client, bob, run(phase, "base")).status_code == 404
    assert not ResultConfirmation.objects.exists()


def test_only_a_run_that_counts_is_confirmed(client, phase, ada):
    answer = say(client, ada, run(phase, "worse"))
    assert "does not count on the board" in answer.content.decode()
    page = client.get(
        reverse("submission", args=[run(phase, "worse").pk])
    ).content.decode()
    assert "Is this result right?" not in page


def test_a_contested_result_is_read_by_organisers_and_its_team_and_by_nobody_else(
    client, phase, ada, bob, organiser
):
    answer = say(client, ada, run(phase), "contest", message=WRONG)
    assert WRONG in answer.content.decode()
    assert told(client, phase)["confirmed"] == 0
    client.force_login(bob)
    board = client.get(boards.address("board", phase)).content.decode()
    assert WRONG not in board
    assert "contest" not in board
    client.force_login(organiser)
    season = phase.task.season.slug
    for where in (
        reverse("organise-confirmation", args=[season, phase.pk]),
        reverse("organise", args=[season]),
    ):
        assert WRONG in client.get(where).content.decode()
    # The team changes its mind.
    say(client, ada, run(phase))
    assert told(client, phase)["confirmed"] == 1


@pytest.mark.parametrize(
    ("message", "words"),
    [("", "say what is wrong"), ("  ", "say what is wrong"), ("x" * 2001, "2001")],
)
def test_a_result_is_contested_with_words(client, phase, ada, message, words):
    answer = say(client, ada, run(phase), "contest", message=message)
    assert words in answer.content.decode().lower()
    assert not ResultConfirmation.objects.exists()


@pytest.mark.both_databases
def test_the_database_keeps_no_contest_without_a_message(phase):
    said = {
        "submission": run(phase),
        "gold": phase.task.gold.get(),
        "numbers": "n",
        "state": "contested",
    }
    with pytest.raises(IntegrityError), transaction.atomic():
        ResultConfirmation.objects.create(**said)


def test_a_confirmation_falls_when_the_run_has_other_numbers(client, phase, ada, bob):
    say(client, ada, run(phase))
    say(client, bob, run(phase, "theirs"))
    evaluation = run(phase).evaluations.get()
    evaluation.scores.update(value=0.61)
    Phase.objects.update(version=50)
    assert told(client, phase)["words"] == PRELIMINARY.format(1)
    client.force_login(ada)
    page = client.get(reverse("submission", args=[run(phase).pk])).content.decode()
    assert "they wait to be confirmed anew" in page
    say(client, ada, run(phase))
    assert told(client, phase)["official_since"] is not None


def test_a_gold_fix_lets_those_fall_whose_numbers_it_changes(client, phase, ada, bob):
    say(client, ada, run(phase))
    say(client, bob, run(phase, "theirs"))
    gold = boards.make_gold(phase, 2, "Two answers were wrong.")
    boards.score(run(phase), 0.6, gold=gold)
    Phase.objects.update(version=60)
    answer = say(client, bob, run(phase, "theirs"))
    assert "being scored against gold v2" in answer.content.decode()
    boards.score(run(phase, "theirs"), 0.55, gold=gold)
    boards.score(run(phase, "worse"), 0.4, gold=gold)
    boards.score(run(phase, "base"), 0.3, gold=gold)
    Phase.objects.update(version=70)
    assert told(client, phase)["words"] == PRELIMINARY.format(1)
    client.force_login(bob)
    assert (
        "confirmed anew"
        in client.get(
            reverse("submission", args=[run(phase, "theirs").pk])
        ).content.decode()
    )


@pytest.mark.both_databases
def test_numbers_that_came_while_the_lead_read_the_page_are_not_confirmed(
    client, phase, ada
):
    client.force_login(ada)
    page = client.get(reverse("submission", args=[run(phase).pk])).content.decode()
    seen = page.partition('name="seen" value="')[2].partition('"')[0]
    assert len(seen) == 64
    Evaluation.objects.get(submission=run(phase)).scores.update(value=0.2)
    answer = say(client, ada, run(phase), seen=seen)
    assert "have changed since you read them" in answer.content.decode()
    assert not ResultConfirmation.objects.exists()


@pytest.mark.parametrize(
    "change",
    [{"status": "withdrawn"}, {"exclusion": "hidden"}, {"exclusion": "disqualified"}],
)
def test_what_stands_on_no_board_is_not_waited_for(client, phase, ada, change):
    say(client, ada, run(phase))
    phase.submissions.filter(system="theirs").update(**change)
    Phase.objects.update(version=80)
    assert told(client, phase)["words"].startswith("official since")


def test_a_team_that_does_not_see_its_scores_yet_cannot_confirm(
    client, phase, ada, organiser
):
    Phase.objects.update(board="organisers", own_scores="scored")
    answer = say(client, ada, run(phase))
    assert "do not see the scores of their runs yet" in answer.content.decode()
    assert 'name="seen"' not in answer.content.decode()
    assert not ResultConfirmation.objects.exists()
    assert told(client, phase) is None
    client.force_login(organiser)
    answer = client.get(reverse("api:leaderboard", args=[phase.pk])).json()
    assert answer["confirmation"]["words"] == PRELIMINARY.format(0)


def test_while_a_board_is_frozen_nothing_is_confirmed_and_others_read_nothing_of_it(
    client, phase, ada, organiser
):
    Phase.objects.update(frozen_from=timezone.now() - HOUR / 2)
    answer = say(client, ada, run(phase))
    assert "results are confirmed once it is revealed" in answer.content.decode()
    assert told(client, phase) is None
    client.force_login(organiser)
    answer = client.get(reverse("api:leaderboard", args=[phase.pk])).json()
    assert answer["confirmation"]["words"] == PRELIMINARY.format(0)
    Phase.objects.update(frozen_until=timezone.now() - HOUR / 4)
    say(client, ada, run(phase))
    assert told(client, phase)["words"] == PRELIMINARY.format(1)


def test_where_the_number_of_teams_is_hidden_it_is_not_told(client, phase, ada):
    Phase.objects.update(shows_run_counts=False)
    say(client, ada, run(phase))
    found = told(client, phase)
    assert (found["confirmed"], found["teams"]) == (None, None)
    assert found["words"] == "preliminary: not every team has confirmed"
    for name in ("board", "board-csv"):
        assert (
            PRELIMINARY.format(1)
            not in client.get(boards.address(name, phase)).content.decode().lower()
        )


def test_organisers_end_it_with_a_reason_and_begin_it_anew(
    client, phase, ada, organiser
):
    client.force_login(organiser)
    assert (
        "The reason"
        in organise(client, phase, "confirmation-end", reason="").content.decode()
    )
    assert told(client, phase)["official_since"] is None
    client.force_login(organiser)
    page = organise(
        client, phase, "confirmation-end", reason="Asked twice."
    ).content.decode()
    assert "Asked twice." in page
    assert told(client, phase)["words"].startswith("official since")
    assert "ended the confirmation" in say(client, ada, run(phase)).content.decode()
    client.force_login(organiser)
    organise(client, phase, "confirmation-reopen")
    assert told(client, phase)["words"] == PRELIMINARY.format(0)
    actions = [entry.action for entry in find_history_of_place(phase.task.season)[:2]]
    assert actions == ["confirmation-reopened", "confirmation-ended"]


def test_organisers_see_who_has_confirmed_and_who_is_missing(
    client, phase, ada, organiser
):
    say(client, ada, run(phase))
    client.force_login(organiser)
    where = reverse("organise-confirmation", args=[phase.task.season.slug, phase.pk])
    page = client.get(where).content.decode()
    assert "1 of 2 teams confirmed" in page
    assert "missing" in page
    assert (
        where
        in client.get(
            reverse("organise-phases", args=[phase.task.season.slug])
        ).content.decode()
    )
    found = client.get(reverse("api:confirmation", args=[phase.pk])).json()
    assert {one["team"]: one["state"] for one in found["results"]} == {
        "ada": "confirmed",
        "bob": "missing",
    }


def test_programs_confirm_contest_and_end_it_too(client, phase, ada, organiser):
    client.force_login(ada)
    done = client.post(reverse("api:contest", args=[run(phase).pk]), {"message": WRONG})
    assert (done.status_code, done.json()["state"], done.json()["message"]) == (
        200,
        "contested",
        WRONG,
    )
    seen = {"seen": done.json()["numbers"]}
    done = client.post(reverse("api:confirm", args=[run(phase).pk]), seen)
    assert (done.status_code, done.json()["state"], done.json()["message"]) == (
        200,
        "confirmed",
        "",
    )
    assert (
        client.post(
            reverse("api:confirm", args=[run(phase).pk]), {"seen": "other"}
        ).status_code
        == 409
    )
    client.force_login(organiser)
    done = client.post(
        reverse("api:end-confirmation", args=[phase.pk]), {"reason": "Asked twice."}
    )
    assert (done.status_code, done.json()["ended_because"]) == (200, "Asked twice.")
    done = client.post(reverse("api:reopen-confirmation", args=[phase.pk]))
    assert (done.status_code, done.json()["official_since"]) == (200, None)


@pytest.mark.both_databases
def test_what_is_said_once_more_is_written_once_and_each_change_stands_in_the_history(
    client, phase, ada
):
    say(client, ada, run(phase), "contest", message=WRONG)
    say(client, ada, run(phase))
    say(client, ada, run(phase))
    entries = [
        entry
        for entry in find_history_of_subjects(run(phase))
        if entry.action.startswith("result-")
    ]
    assert sorted(entry.action for entry in entries) == [
        "result-confirmed",
        "result-contested",
    ]
    last = next(entry for entry in entries if entry.action == "result-confirmed")
    assert {
        change["key"]: (change["before"], change["after"]) for change in last.changes
    } == {
        "result": ("contested", "confirmed"),
        "message": (WRONG, None),
    }


@pytest.mark.both_databases
def test_what_a_person_said_is_among_their_own_data_and_stays_without_them(
    client, phase, ada, organiser
):
    say(client, ada, run(phase))
    [said] = collect_user_data(ada)["confirmed_results"]
    assert (said["run"], said["state"]) == (run(phase).pk, "confirmed")
    delete_account(ada)
    assert ResultConfirmation.objects.get().by is None
    client.force_login(organiser)
    where = reverse("organise-confirmation", args=[phase.task.season.slug, phase.pk])
    assert "by a deleted account" in client.get(where).content.decode()


def test_next_years_season_asks_too_and_nothing_of_it_is_official(phase, organiser):
    Phase.objects.update(
        confirmation_ended_at=timezone.now(), confirmation_ended_because="Asked twice."
    )
    made = clone_season(
        season=phase.task.season, slug="next", title="Next", by=organiser
    )
    found = Phase.objects.get(task__season=made)
    assert (found.confirms_results, found.confirmation_ended_at) == (True, None)


# -- Telling leads that results wait


def waits(person, anew: str = "", *, page: str) -> str:
    asked = "Its lead confirms each result that counts, or contests it, on the page of the run."
    return (
        "[Citeboard] Results of {team} in Task 1A, Final wait to be confirmed\n\n"
        "Results of {team} in Task 1A, Final wait to be confirmed.\n\n"
        f"{anew}{asked} {{runs}}\n\nhttps://board.example.org{page}"
    ).format(**person)


ADA = {"team": "Ada", "runs": "It is run 2."}
BOB = {"team": "Bob", "runs": "It is run 1."}
ANEW = "The organisers have begun the confirmation anew; what was said of the same numbers before holds. "


@pytest.fixture
def named(phase, settings):
    settings.BASE_URL = "https://board.example.org"
    Phase.objects.update(title="Final")
    for number, system in ((1, "worse"), (2, "ours"), (1, "theirs")):
        phase.submissions.filter(system=system).update(number=number)
    phase.task.title = "Task 1A"
    phase.task.save()
    return phase


def page_of(phase, system) -> str:
    return reverse("submission", args=[run(phase, system).pk])


@pytest.mark.both_databases
def test_leads_are_told_once_when_results_wait_to_be_confirmed(
    named, ada, bob, organiser
):
    mate = factories.make_user()
    add_member(team=run(named).team, user=mate)
    hook = Webhook.objects.create(
        season=named.task.season, url="https://hook.example.org", nonce="n"
    )
    assert notify_leads_of_due_phases() == 2
    assert notify_leads_of_due_phases() == 0
    Phase.objects.update(version=50)
    assert notify_leads_of_due_phases() == 0
    assert letters_to(ada) == [waits(ADA, page=page_of(named, "ours"))]
    assert letters_to(bob) == [waits(BOB, page=page_of(named, "theirs"))]
    assert [letters_to(person) for person in (mate, organiser)] == [[], []]
    told = Delivery.objects.get(webhook=hook).payload
    assert (told["kind"], told["phase"], told["is_reopened"]) == (
        "results-to-confirm",
        named.slug,
        False,
    )
    # The event's number and its instant may have any digits.
    assert "0.6" not in str(
        {name: value for name, value in told.items() if name not in ("event", "at")}
    )


def test_a_lead_is_told_in_the_language_of_their_own(named, ada):
    ada.language = "de"
    ada.save()
    notify_leads_of_due_phases()
    [letter] = letters_to(ada)
    assert letter.startswith(
        "[Citeboard] Ergebnisse von Ada in Task 1A, Final warten auf Bestätigung"
    )
    assert "Es ist Run 2." in letter


def test_whoever_chose_so_is_told_on_the_site_alone_or_not_at_all(
    client, named, ada, bob
):
    store_notification_channels(
        user=ada, wanted={NotificationKind.CONFIRM: NotificationChannel.SITE}
    )
    store_notification_channels(
        user=bob, wanted={NotificationKind.CONFIRM: NotificationChannel.NONE}
    )
    assert notify_leads_of_due_phases() == 1
    assert [letters_to(person) for person in (ada, bob)] == [[], []]
    client.force_login(ada)
    assert "wait to be confirmed" in client.get(reverse("messages")).content.decode()


@pytest.mark.parametrize(
    "not_yet",
    [
        {"closes": timezone.now() + 24 * HOUR},
        {"confirms_results": False},
        {"board": "organisers"},
        {"board": "organisers", "own_scores": "scored"},
        {"frozen_from": timezone.now() - 2 * HOUR},
        {"confirmation_ended_at": timezone.now(), "confirmation_ended_because": "So."},
    ],
)
def test_nobody_is_told_while_nothing_can_be_confirmed_and_leads_are_once_it_can(
    named, ada, not_yet
):
    usual = {name: getattr(named, name) for name in not_yet}
    Phase.objects.update(**not_yet)
    assert notify_leads_of_due_phases() == 0
    assert letters_to(ada) == []
    Phase.objects.update(**usual)
    assert notify_leads_of_due_phases() == 2


def test_nobody_is_told_of_a_season_that_is_not_public_or_while_runs_are_being_scored(
    named,
):
    Season.objects.update(is_public=False)
    assert notify_leads_of_due_phases() == 0
    Season.objects.update(is_public=True)
    named.submissions.filter(system="worse").update(status="queued")
    assert notify_leads_of_due_phases() == 0
    named.submissions.update(status="scored")
    assert notify_leads_of_due_phases() == 2


def test_a_team_is_told_whose_run_counts_later(named, bob):
    named.submissions.filter(system="theirs").update(
        exclusion="hidden", exclusion_reason="So."
    )
    assert notify_leads_of_due_phases() == 1
    named.submissions.update(exclusion="", exclusion_reason="")
    Phase.objects.update(version=60)
    assert notify_leads_of_due_phases() == 1
    assert letters_to(bob) == [waits(BOB, page=page_of(named, "theirs"))]


def test_a_run_is_not_named_once_the_phase_keeps_its_scores_to_itself(named, ada):
    notify_leads_of_due_phases()
    Phase.objects.update(board="organisers", own_scores="scored")
    [letter] = letters_to(ada)
    assert "It is run" not in letter
    assert letter.endswith("https://board.example.org/runs/")


def test_nothing_is_sent_once_the_phase_keeps_all_of_runs_to_itself_or_nobody_is_asked_any_more(
    named, ada, bob, organiser
):
    notify_leads_of_due_phases()
    Phase.objects.update(board="organisers", own_scores="nothing")
    assert letters_to(ada) == []
    Phase.objects.update(board="everyone", own_scores="")
    end_confirmation(phase=Phase.objects.get(), reason="It took long.", by=organiser)
    assert letters_to(bob) == []
    assert not Notification.objects.exists()


def test_a_board_that_is_shown_by_the_clock_lets_its_teams_be_told(named, ada):
    Phase.objects.update(
        board="organisers",
        own_scores="nothing",
        board_from=timezone.now() - HOUR,
        board_then="everyone",
    )
    notify_leads_of_due_phases()
    assert len(letters_to(ada)) == 1


def test_nothing_is_sent_once_the_board_is_hidden_by_the_clock(named, ada):
    notify_leads_of_due_phases()
    Phase.objects.update(
        board="everyone",
        own_scores="nothing",
        board_from=timezone.now() - HOUR,
        board_then="nobody",
    )
    assert letters_to(ada) == []


@pytest.mark.both_databases
def test_a_sweep_costs_one_query_once_leads_were_told(named, django_assert_num_queries):
    assert notify_leads_of_due_phases() == 2
    with django_assert_num_queries(1):
        assert notify_leads_of_due_phases() == 0


def test_leads_are_told_that_the_confirmation_was_begun_anew_and_by_whoever_did_it_not(
    client, named, ada, bob, organiser
):
    say(client, ada, run(named))
    assert notify_leads_of_due_phases() == 1
    Organiser.objects.create(season=named.task.season, user=bob)
    end_confirmation(phase=Phase.objects.get(), reason="It took long.", by=organiser)
    reopen_confirmation(phase=Phase.objects.get(), by=bob)
    assert letters_to(ada) == [waits(ADA, ANEW, page=page_of(named, "ours"))]
    assert letters_to(bob) == []
    # Once more is news again, and the sweep adds nothing to it.
    end_confirmation(phase=Phase.objects.get(), reason="It took longer.", by=organiser)
    reopen_confirmation(phase=Phase.objects.get(), by=organiser)
    assert notify_leads_of_due_phases() == 0
    assert letters_to(bob) == [waits(BOB, ANEW, page=page_of(named, "theirs"))]


def test_what_is_begun_anew_while_the_board_is_frozen_is_told_when_it_is_revealed(
    named, ada, organiser
):
    end_confirmation(phase=Phase.objects.get(), reason="It took long.", by=organiser)
    Phase.objects.update(frozen_from=timezone.now() - 2 * HOUR)
    reopen_confirmation(phase=Phase.objects.get(), by=organiser)
    assert letters_to(ada) == []
    Phase.objects.update(frozen_until=timezone.now() - HOUR)
    assert notify_leads_of_due_phases() == 2
    assert letters_to(ada) == [waits(ADA, page=page_of(named, "ours"))]
