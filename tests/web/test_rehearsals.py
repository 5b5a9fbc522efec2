"""What organisers do is shown before it is done: what follows for whom; and taken back within ten minutes."""

import datetime as dt
from contextlib import closing, suppress
from threading import Thread

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import OperationalError, connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from citeboard.acts import effects
from citeboard.core import audit
from citeboard.core.instants import ENDLESS_PHASE_END, format_utc_minute
from citeboard.core.models import AuditEntry
from citeboard.teams.models import Token
from scoring.models import Evaluation
from scoring.results.board.standings import compute_board
from tasks.delivery.notifications.wording import write_notification_text
from tasks.models import (
    Delivery,
    ExtraTries,
    Gold,
    Job,
    Notification,
    Phase,
    Registration,
    Season,
    Terms,
    Webhook,
)
from tasks.seasons.phase_acts import move_phase
from tasks.submissions.run_acts import acknowledge_failure
from tests import factories
from tests.api.conftest import API
from tests.api.sending import score
from tests.background.background import work_off
from tests.scoring import boards
from tests.web.reading import text_of
from tests.web.test_gold_pages import REASON, archive, make_runs

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
END = timezone.now() + dt.timedelta(days=90)
LATER = f"{END:%Y-%m-%d %H:%M} UTC"


@pytest.fixture
def organiser():
    return factories.make_user(name="Olga")


@pytest.fixture
def browser(organiser) -> Client:
    """One that goes on only where the test does."""
    client = Client()
    client.force_login(organiser)
    return client


@pytest.fixture
def phase(organiser) -> Phase:
    """With a team, whose lead is told of dates and limits."""
    season = factories.make_season(organiser=organiser, title="The season", slug="one")
    task = factories.make_task(season=season, slug="1a", title="Spans")
    phase = factories.make_phase(
        task=task, slug="test", title="Test", split="test", runs_per_day=3
    )
    factories.make_team(season=season)
    return phase


def form_of(client, where) -> dict:
    """What a browser would send back that has changed nothing."""
    form, sent = client.get(where).context["form"], {}
    for name, field in form.fields.items():
        value = field.prepare_value(form.get_initial_for_field(field, name))
        if value not in (None, False):
            sent[name] = sent[f"initial-{name}"] = (
                value if isinstance(value, list) else str(value)
            )
    return sent


def go_on(client, where, asked, **typed):
    sent = dict(asked.context["posted"])
    return client.post(
        where, {**sent, "rehearsed": asked.context["rehearsal"].digest, **typed}
    )


def settings_of(phase) -> str:
    return reverse("organise-settings-phase", args=["one", phase.pk])


def take_back(client, action) -> str:
    entry = AuditEntry.objects.get(action=action)
    return text_of(
        client.post(reverse("organise-undo", args=["one", entry.pk]), follow=True)
    )


def test_what_changes_nothing_for_anybody_is_saved_at_once(browser, phase):
    where = settings_of(phase)
    assert (
        browser.post(
            where, {**form_of(browser, where), "title": "The test"}
        ).status_code
        == 302
    )
    assert Phase.objects.get().title == "The test"


def test_what_changes_something_is_asked_once_with_who_is_told_in_which_words(
    browser, phase
):
    # A run that waits to be scored is not scored again.
    factories.make_submission(phase=phase, team=Registration.objects.get().team)
    where = settings_of(phase)
    asked = browser.post(
        where, {**form_of(browser, where), "closes": LATER, "runs_per_day": "2"}
    )
    assert asked.status_code == 409
    said = text_of(asked)
    assert "Nothing has been done yet" in said
    assert "Rescored" not in said
    moved = f"Spans, Test closes at {format_utc_minute(END)}"
    assert f"1 person, 1 by e-mail, at once: {moved}" in said
    assert (
        "1 person, 1 by e-mail, after ten minutes: How many runs a team may submit to Spans, Test was"
        in said
    )
    assert "tasks.1a.phases.test.runs_per_day : 3 → 2" in said
    assert not Notification.objects.exists()
    assert Phase.objects.get().runs_per_day == 3
    assert go_on(browser, where, asked).status_code == 302
    assert Phase.objects.get().runs_per_day == 2
    assert Notification.objects.count() == 2


def test_what_was_shown_of_another_state_is_shown_anew(browser, phase):
    where = settings_of(phase)
    asked = browser.post(where, {**form_of(browser, where), "runs_per_day": "2"})
    factories.make_team(season=phase.task.season)
    again = go_on(browser, where, asked)
    assert again.status_code == 409
    assert "Meanwhile something has changed" in text_of(again)
    assert go_on(browser, where, again).status_code == 302
    assert Phase.objects.get().runs_per_day == 2


@pytest.mark.django_db(transaction=True)
def test_what_others_change_during_a_rehearsal_is_no_effect_of_it(phase, monkeypatch):
    if connection.vendor != "sqlite":
        pytest.skip("READ COMMITTED reads what others commit meanwhile")
    take = effects._SeasonSnapshot.of

    def release_gold() -> None:
        with closing(connection), suppress(OperationalError):
            connection.cursor().execute("PRAGMA busy_timeout = 0")
            Phase.objects.update(gold_is_public=True)

    def take_while_gold_is_released(season: Season) -> effects._SeasonSnapshot:
        snapshot = take(season)
        other = Thread(target=release_gold)
        other.start()
        other.join()
        return snapshot

    monkeypatch.setattr(effects._SeasonSnapshot, "of", take_while_gold_is_released)
    found = effects.simulate_action_effects(phase.task.season, lambda: None)
    assert not found.affects_other_people


def test_who_will_see_what_they_do_not_see_now_is_told(browser, phase):
    Phase.objects.update(
        board="organisers", closes=timezone.now() - dt.timedelta(hours=1)
    )
    where = reverse("organise-reveal", args=["one", phase.pk])
    asked = browser.post(where)
    assert "visitors, participants" in text_of(asked)
    assert "the scores of all of Spans, test, now; before: never" in text_of(asked)
    assert Phase.objects.get().board == "organisers"
    assert go_on(browser, where, asked).status_code == 302
    assert Phase.objects.get().board == "everyone"


def test_another_way_of_counting_shows_the_ranks_that_follow(browser, phase):
    first, second = boards.make_team(phase, "Ada"), boards.make_team(phase, "Bob")
    boards.scored_run(phase, first, 0.6, system="best")
    boards.scored_run(phase, first, 0.4, system="last")
    boards.scored_run(phase, second, 0.5, system="theirs")
    where = settings_of(phase)
    asked = browser.post(where, {**form_of(browser, where), "counting": "last"})
    ranks = [
        (row.system, row.before, row.after)
        for row in asked.context["rehearsal"].effects.scores.moved
    ]
    assert ranks == [("best", "1", ""), ("theirs", "2", "1"), ("last", "", "2")]
    assert "last Ada not on the board 2 (0.4000)" in text_of(asked)


def test_other_scores_at_the_same_ranks_are_shown_too(browser, phase):
    run = boards.scored_run(phase, boards.make_team(phase, "Ada"), 0.6, system="owl")
    boards.score(run, 0.3, rules="official-2017")
    where = reverse("organise-settings-task", args=["one", phase.task.pk])
    asked = browser.post(
        where, {**form_of(browser, where), "rules": "official-2017\ncorrected"}
    )
    (row,) = asked.context["rehearsal"].effects.scores.moved
    assert (row.before, row.score_before, row.after, row.score_after) == (
        "1",
        "0.6000",
        "1",
        "0.3000",
    )


@pytest.mark.parametrize("part", ["season", "phase"])
def test_what_is_hidden_from_those_who_see_it_now_is_asked(browser, phase, part):
    where = (
        settings_of(phase)
        if part == "phase"
        else reverse("organise-settings-season", args=["one"])
    )
    change = {"board": "organisers"} if part == "phase" else {"is_public": ""}
    asked = browser.post(where, {**form_of(browser, where), **change})
    words = (
        "the scores of all of Spans, test"
        if part == "phase"
        else "that there is The season"
    )
    assert (
        words
        in text_of(asked).partition("Who will not see any more what they see now")[2]
    )
    # Of a hidden season nothing else has to be said.
    assert (
        part == "phase"
        or len(asked.context["rehearsal"].effects.disclosure.unseen) == 1
    )
    assert go_on(browser, where, asked).status_code == 302
    hidden = (Season.objects.get().is_public, Phase.objects.get().board)
    assert hidden == ((True, "organisers") if part == "phase" else (False, "everyone"))


@pytest.mark.parametrize("part", ["season", "phase"])
def test_names_of_teams_that_are_shown_or_hidden_are_asked(browser, phase, part):
    where = (
        settings_of(phase)
        if part == "phase"
        else reverse("organise-settings-season", args=["one"])
    )
    name, hides, shows = (
        ("shows_teams", "", "on") if part == "phase" else ("anonymous_until", LATER, "")
    )
    words = "Everybody: which teams the runs of Spans, Test, are of"
    asked = browser.post(where, {**form_of(browser, where), name: hides})
    assert asked.context["rehearsal"].effects.disclosure.unseen == [words]
    assert go_on(browser, where, asked).status_code == 302
    asked = browser.post(where, {**form_of(browser, where), name: shows})
    assert asked.context["rehearsal"].effects.disclosure.seen == [words]


def test_a_season_file_sent_by_a_program_is_rehearsed_and_asks_before_it_touches_what_is_confirmed(
    client, phase, organiser
):
    Phase.objects.update(
        confirms_results=True, closes=timezone.now() - dt.timedelta(hours=1)
    )
    Phase.objects.update(
        confirmation_ended_at=timezone.now(), confirmation_ended_because="Done."
    )
    boards.scored_run(phase, boards.make_team(phase, "Ada"), 0.6)
    client.force_login(organiser)
    content = client.get(reverse("organise-toml", args=["one"])).content.decode()
    changed = f'{content}counting = "last"\n'

    def load(query="", **form):
        file = SimpleUploadedFile("season.toml", changed.encode())
        return client.post(
            f"{API}/seasons/one/file/{query}", {"file": file, "apply": "all", **form}
        )

    told = load(dry_run="true").json()["rehearsal"]
    assert (told["asks_for_name"], told["confirmed"]) == (
        True,
        ["the results of Spans, Test, are official"],
    )
    refused = load()
    assert (
        refused.status_code,
        "touches what is settled" in refused.json()["detail"],
    ) == (409, True)
    assert Phase.objects.get().counting == "best"
    assert load("?let_out_task=The season&let_out_reason=Agreed.").status_code == 200
    assert Phase.objects.get().counting == "last"
    assert AuditEntry.objects.filter(action="went-on").exists()


def test_what_touches_confirmed_results_asks_for_the_name_and_a_reason(browser, phase):
    Phase.objects.update(
        confirms_results=True, closes=timezone.now() - dt.timedelta(hours=1)
    )
    Phase.objects.update(
        confirmation_ended_at=timezone.now(), confirmation_ended_because="Done."
    )
    where = settings_of(phase)
    boards.scored_run(phase, boards.make_team(phase, "Ada"), 0.6, system="best")
    asked = browser.post(where, {**form_of(browser, where), "counting": "last"})
    assert "the results of Spans, Test, are official" in text_of(asked)
    assert go_on(browser, where, asked).status_code == 409
    typed = {"let_out_task": "The season", "let_out_reason": " "}
    assert go_on(browser, where, asked, **typed).status_code == 409
    typed = {"let_out_task": "The season", "let_out_reason": "The call said so."}
    assert go_on(browser, where, asked, **typed).status_code == 302
    (entry,) = AuditEntry.objects.filter(action="went-on")
    assert "The call said so." in entry.words


def test_what_lets_something_out_before_its_time_is_asked_once(browser, phase):
    Phase.objects.update(board="organisers")
    where = reverse("organise-reveal", args=["one", phase.pk])
    asked = browser.post(where)
    assert "reveal something before its time" in text_of(asked)
    typed = {"let_out_task": "Spans", "let_out_reason": "All teams agreed."}
    assert go_on(browser, where, asked, **typed).status_code == 302
    assert Phase.objects.get().board == "everyone"


def test_a_program_is_told_by_a_dry_run_and_nothing_is_done(client, phase, organiser):
    sent = {"settings": {"tasks.1a.phases.test.runs_per_day": 2}}
    _token, secret = Token.objects.create_token(user=organiser, name="program")
    headers = {"Authorization": f"Token {secret}"}
    where = f"{API}/seasons/one/settings/"
    said = client.post(
        f"{where}?dry_run=true", sent, "application/json", headers=headers
    )
    assert said.status_code == 200
    told = said.json()
    assert (told["asks"], told["asks_for_name"], told["told"][0]["people"]) == (
        True,
        False,
        1,
    )
    assert told["told"][0]["kind"] == "limits-changed"
    assert told["jobs"] == []
    assert Phase.objects.get().runs_per_day == 3
    assert (
        client.post(where, sent, "application/json", headers=headers).status_code == 200
    )
    assert Phase.objects.get().runs_per_day == 2


def test_a_program_follows_by_jobs_the_scores_that_new_gold_would_give(
    client, tmp_path
):
    organiser, phase, _runs = make_runs()
    client.force_login(organiser)
    sent = {"reason": REASON, "file": archive(tmp_path)}
    told = client.post(f"{API}/tasks/{phase.task_id}/gold/?dry_run=true", sent).json()
    best, rest = told["jobs"]
    work_off()
    assert [client.get(job).json()["state"] for job in (best, rest)] == ["done", "done"]
    scores = client.get(best).json()["scores"]
    assert sorted((row["system"], row["rank"], row["place"]) for row in scores) == [
        ("Always 1", "1", "2"),
        ("Always 4", "2", "1"),
    ]
    assert Gold.objects.count() == 1


def test_new_gold_is_compared_with_the_version_before_and_its_file_is_not_asked_for_again(
    tmp_path,
):
    organiser, phase, runs = make_runs()
    browser = Client()
    browser.force_login(organiser)
    where = reverse("organise-gold", args=[phase.task.season.slug])
    sent = {
        "split": f"{phase.task_id}/{phase.split}",
        "reason": REASON,
        "file": archive(tmp_path),
    }
    asked = browser.post(where, sent)
    (step,) = asked.context["rehearsal"].effects.scores.gold
    counts = step.counts
    assert (counts.same, counts.answered, counts.added, counts.gone) == (2, 2, 0, 0)
    assert "2 runs" in asked.context["rehearsal"].effects.scores.scored[0]
    assert Gold.objects.count() == 1
    assert "It waits for a worker" in text_of(asked)
    best, rest = work_off()
    assert rest.result["scores"] == []
    tried = {
        row["system"]: (row["rank"], row["place"], row["why"])
        for row in best.result["scores"]
    }
    assert tried == {"Always 1": ("1", "2", ""), "Always 4": ("2", "1", "")}
    assert "Always 4" in text_of(browser.get(reverse("background-job", args=[best.pk])))
    assert go_on(browser, where, asked).status_code == 302
    assert [gold.number for gold in Gold.objects.all()] == [1, 2]
    for run in runs.values():
        score(run)
    assert compute_board(phase, None).gold.number == 2
    Season.objects.update(slug="one")
    said = take_back(browser, "gold-added")
    assert "Taken back: made gold v2" in said
    assert compute_board(phase, None).gold.number == 1
    assert [evaluation.gold.number for evaluation in Evaluation.objects.all()] == [1, 1]
    assert not Job.objects.filter(state="queued").exists()


def test_mails_and_webhooks_wait_as_long_as_an_act_can_be_taken_back_but_those_about_dates(
    browser, phase
):
    Webhook.objects.create(
        season=phase.task.season, url="https://hook.example.org/", nonce="n"
    )
    where = settings_of(phase)
    asked = browser.post(
        where, {**form_of(browser, where), "closes": LATER, "runs_per_day": "2"}
    )
    go_on(browser, where, asked)
    waits = {
        told.kind: told.job.due_at - told.created_at
        for told in Notification.objects.all()
    }
    assert waits == {
        "deadline-moved": dt.timedelta(),
        "limits-changed": dt.timedelta(minutes=10),
    }
    assert Delivery.objects.get().job.due_at > timezone.now() + dt.timedelta(minutes=9)
    assert "It can be taken back until" in text_of(
        browser.get(reverse("organise-phases", args=["one"]))
    )
    closes = Phase.objects.get().closes
    take_back(browser, "phase-changed")
    phase.refresh_from_db()
    assert (phase.runs_per_day, phase.closes < closes) == (3, True)
    kinds = list(Notification.objects.values_list("kind", flat=True))
    # That of the limits is gone with its mail; of the date a second one says what it is now.
    assert kinds == ["deadline-moved", "deadline-moved"]
    assert AuditEntry.objects.filter(action="taken-back").exists()


def test_a_program_takes_back_what_a_person_has_done_and_a_second_time_is_refused(
    browser, phase
):
    where = settings_of(phase)
    go_on(
        browser,
        where,
        browser.post(where, {**form_of(browser, where), "runs_per_day": "2"}),
    )
    entry = AuditEntry.objects.get(action="phase-changed")
    address = f"/api/v1/seasons/one/history/{entry.pk}/undo/"
    told = browser.post(address)
    assert (told.status_code, told.json()["detail"].startswith("Taken back: ")) == (
        200,
        True,
    )
    phase.refresh_from_db()
    assert phase.runs_per_day == 3
    again = browser.post(address)
    assert (again.status_code, again.json()["detail"]) == (
        409,
        "This cannot be taken back any more.",
    )


def test_a_clone_is_shown_before_it_is_made_with_phases_dates_and_who_sees_what(
    browser, phase, organiser
):
    Phase.objects.update(
        board="organisers",
        opens="2031-03-01T00:00Z",
        closes="2031-03-09T12:00Z",
        time_zone="UTC",
    )
    where, sent = (
        reverse("organise-clone", args=["one"]),
        {"title": "Two", "slug": "two", "days": "10"},
    )
    asked = browser.post(where, sent)
    assert asked.status_code == 409
    said = text_of(asked)
    assert (
        "The draft of Two Nothing has been done yet. Nobody but its organisers sees the draft"
        in said
    )
    assert "Spans, Test 11 Mar 2031, 00:00 19 Mar 2031, 12:00 organisers only" in said
    assert "it is not not released" in said
    _token, secret = Token.objects.create_token(user=organiser, name="program")
    told = Client().post(
        f"{API}/seasons/one/clone/?dry_run=true",
        sent,
        headers={"Authorization": f"Token {secret}"},
    )
    assert (told.status_code, told.json()["made"][0]["board"]) == (
        200,
        "organisers only",
    )
    assert list(Season.objects.values_list("slug", flat=True)) == ["one"]
    assert AuditEntry.objects.filter(action="season-cloned").count() == 0
    assert go_on(browser, where, asked)["Location"] == "/seasons/two/organise/"


def test_a_season_from_a_preset_is_shown_before_it_is_made(browser, organiser):
    organiser.__class__.objects.update(is_staff=True)
    sent = {
        "title": "Ours",
        "slug": "ours",
        "task_type": "clsumm-1a",
        "time_zone": "UTC",
    }
    sent |= {"opens": "2031-01-01 00:00"}
    asked = browser.post("/new-season/open/", sent)
    assert "Leaderboard 1 Jan 2031, 00:00 no end everyone" in text_of(asked)
    assert not Season.objects.exists()
    assert (
        go_on(browser, "/new-season/open/", asked)["Location"]
        == "/seasons/ours/organise/launch/"
    )


@pytest.mark.parametrize("prefix", ["season", "tasks.1a.phases.test"])
def test_a_dry_run_deletes_nothing(browser, phase, organiser, prefix):
    """What can be rehearsed is, and what cannot is refused, whatever the operation is."""
    _token, secret = Token.objects.create_token(user=organiser, name="program")
    where = f"{API}/seasons/one/settings/{prefix}/?dry_run=true"
    told = Client().delete(where, headers={"Authorization": f"Token {secret}"})
    assert told.status_code == (400 if prefix == "season" else 200)
    assert Phase.objects.filter(pk=phase.pk).exists()


def test_a_clone_is_taken_back_until_something_is_done_in_it(browser, phase):
    for slug in ("two", "three"):
        where = reverse("organise-clone", args=["one"])
        go_on(
            browser,
            where,
            browser.post(where, {"title": slug, "slug": slug, "days": "1"}),
        )
    cloned = {
        entry.subject: entry.pk
        for entry in AuditEntry.objects.filter(action="season-cloned")
    }

    def undone(title: str) -> str:
        where = reverse("organise-undo", args=["one", cloned[title]])
        return text_of(browser.post(where, follow=True))

    assert "Taken back: cloned" in undone("two")
    assert set(Season.objects.values_list("slug", flat=True)) == {"one", "three"}
    browser.post(reverse("organise-announcement", args=["three"]), {"text": "Welcome."})
    assert "Three has been changed since" in undone("three")
    assert Season.objects.filter(slug="three").exists()


def test_a_season_from_a_preset_is_taken_back_and_leads_to_the_first_page(client):
    client.force_login(factories.make_user(is_staff=True))
    given = {
        "title": "Ours",
        "slug": "ours",
        "task_type": "clsumm-1a",
        "time_zone": "UTC",
    }
    assert (
        client.post(
            "/new-season/open/", {**given, "opens": "2030-01-01 00:00"}
        ).status_code
        == 302
    )
    entry = AuditEntry.objects.get(action="season-made")
    told = client.post(reverse("organise-undo", args=["ours", entry.pk]))
    assert (told.status_code, told["Location"]) == (302, "/")
    assert not Season.objects.exists()


def test_what_a_later_act_rests_on_is_not_taken_back(browser, phase):
    where = settings_of(phase)
    go_on(
        browser,
        where,
        browser.post(where, {**form_of(browser, where), "runs_per_day": "2"}),
    )
    first = AuditEntry.objects.get(action="phase-changed")
    Phase.objects.update(runs_per_day=7)
    said = text_of(
        browser.post(reverse("organise-undo", args=["one", first.pk]), follow=True)
    )
    assert "has been changed since" in said
    assert Phase.objects.get().runs_per_day == 7


def test_after_ten_minutes_nothing_can_be_taken_back(browser, phase):
    where = settings_of(phase)
    go_on(
        browser,
        where,
        browser.post(where, {**form_of(browser, where), "runs_per_day": "2"}),
    )
    AuditEntry.objects.update(at=timezone.now() - dt.timedelta(minutes=11))
    assert "cannot be taken back any more" in take_back(browser, "phase-changed")
    assert Phase.objects.get().runs_per_day == 2


def test_terms_that_nobody_has_to_read_are_taken_back_whole(browser, phase):
    where = reverse("organise-terms", args=["one"])
    asked = browser.post(where, {"text": "For research."})
    if asked.status_code == 409:
        go_on(browser, where, asked)
    assert Terms.objects.count() == 1
    take_back(browser, "terms-published")
    assert not Terms.objects.exists()
    assert audit.find_history_of_place(phase.task.season)[0].action == "taken-back"


@pytest.fixture
def two_teams(phase):
    """Ada before Bob on a board of a phase that runs."""
    teams = [boards.make_team(phase, name) for name in ("Ada", "Bob")]
    for team, score_of_it in zip(teams, (0.6, 0.5), strict=True):
        boards.scored_run(phase, team, score_of_it, system=f"{team.name}'s")
    return teams


def decide(client, team, **sent):
    entry = Registration.objects.get(team=team)
    where = reverse("organise-decide", args=["one", entry.pk])
    return where, client.post(where, sent)


def test_excluding_a_team_shows_whose_runs_leave_and_whose_ranks_move_and_is_taken_back_whole(
    browser, phase, two_teams
):
    ada, _bob = two_teams
    where, asked = decide(
        browser, ada, decision="refuse", reason="It has seen the gold."
    )
    said = text_of(asked)
    assert "refused Ada: It has seen the gold." in said
    ranks = [
        (row.system, row.before, row.after)
        for row in asked.context["rehearsal"].effects.scores.moved
    ]
    assert ranks == [("Ada's", "1", ""), ("Bob's", "2", "1")]
    assert "after ten minutes: Ada does not take part in The season" in said
    assert (
        f'href="{reverse("organise-teams", args=["one"])}" data-leaves-form>Leave it as it is'
        in asked.content.decode()
    )
    assert Registration.objects.get(team=ada).is_approved
    assert go_on(browser, where, asked).status_code == 302
    assert [row.system for row in compute_board(Phase.objects.get(), None).systems] == [
        "Bob's"
    ]
    assert Notification.objects.get().job.due_at > timezone.now() + dt.timedelta(
        minutes=9
    )
    assert "Taken back: refused Ada" in take_back(browser, "team-refused")
    assert [row.system for row in compute_board(Phase.objects.get(), None).systems] == [
        "Ada's",
        "Bob's",
    ]
    assert not Notification.objects.exists()
    entry = Registration.objects.get(team=ada)
    assert (entry.is_approved, entry.reason, entry.decided_by) == (True, "", None)


def test_letting_a_team_back_is_asked_too_and_what_it_sent_meanwhile_is_told(
    browser, phase, two_teams
):
    ada, _bob = two_teams
    where, asked = decide(browser, ada, decision="refuse", reason="By mistake.")
    go_on(browser, where, asked)
    refused = AuditEntry.objects.get(action="team-refused")
    where, asked = decide(browser, ada, decision="approve")
    ranks = [
        (row.system, row.before, row.after)
        for row in asked.context["rehearsal"].effects.scores.moved
    ]
    assert ranks == [("Bob's", "1", "2"), ("Ada's", "", "1")]
    go_on(browser, where, asked)
    anew = text_of(
        browser.post(reverse("organise-undo", args=["one", refused.pk]), follow=True)
    )
    assert "It has been decided anew since." in anew
    factories.make_submission(phase=phase, team=ada)
    assert "1 run was submitted meanwhile." in take_back(browser, "team-approved")
    assert Registration.objects.get(team=ada).reason == "By mistake."


def test_excluding_a_team_with_confirmed_results_asks_for_the_name_and_a_reason(
    browser, phase, two_teams
):
    Phase.objects.update(
        confirms_results=True, closes=timezone.now() - dt.timedelta(hours=1)
    )
    Phase.objects.update(
        confirmation_ended_at=timezone.now(), confirmation_ended_because="Done."
    )
    where, asked = decide(
        browser, two_teams[0], decision="refuse", reason="It has seen the gold."
    )
    assert "the results of Spans, Test, are official" in text_of(asked)
    assert go_on(browser, where, asked).status_code == 409
    typed = {"let_out_task": "The season", "let_out_reason": "The chairs have decided."}
    assert go_on(browser, where, asked, **typed).status_code == 302
    assert "The chairs have decided." in AuditEntry.objects.get(action="went-on").words


def test_without_a_reason_no_team_that_takes_part_is_excluded(
    browser, phase, two_teams
):
    _where, told = decide(browser, two_teams[0], decision="refuse", reason=" ")
    assert told.status_code == 302
    assert Registration.objects.filter(is_approved=True).count() == 3


def test_a_team_that_waits_is_decided_on_at_once_and_waits_again_when_that_is_taken_back(
    browser, phase
):
    team = factories.make_team(season=phase.task.season, name="Eve")
    Registration.objects.filter(team=team).update(is_approved=False)
    _where, told = decide(browser, team, decision="approve")
    assert told.status_code == 302
    assert Registration.objects.get(team=team).is_approved
    assert "Taken back: approved Eve" in take_back(browser, "team-approved")
    assert Registration.objects.get(team=team).is_waiting
    assert not Notification.objects.exists()


def test_extra_tries_are_told_before_they_are_given_and_taken_back_with_their_mail(
    browser, phase, two_teams
):
    ada, _bob = two_teams
    where = reverse("organise-tries", args=["one"])
    sent = {
        "team": ada.pk,
        "phase": phase.pk,
        "tries": 2,
        "reason": "The site was away.",
    }
    asked = browser.post(where, sent)
    said = text_of(asked)
    assert "Ada may submit 5 runs to Spans, Test, then; now 3" in said
    assert "after ten minutes: Ada may submit 2 more runs to Spans, Test" in said
    assert not asked.context["rehearsal"].asks_for_name
    assert not ExtraTries.objects.exists()
    go_on(browser, where, asked)
    assert ExtraTries.objects.get().tries == 2
    factories.make_submission(phase=phase, team=ada)
    assert "1 run was submitted meanwhile." in take_back(browser, "tries-given")
    assert not ExtraTries.objects.exists()
    assert not Notification.objects.exists()
    go_on(browser, where, browser.post(where, sent))
    where = reverse("organise-tries-back", args=["one", ExtraTries.objects.get().pk])
    asked = browser.post(where)
    assert "Ada may submit 2 runs to Spans, Test, then; now 4" in text_of(asked)
    assert ExtraTries.objects.exists()
    go_on(browser, where, asked)
    assert not ExtraTries.objects.exists()
    assert not Notification.objects.exists(), "nobody is told of tries that are gone"


def test_tries_in_a_phase_that_has_no_limit_any_more_are_taken_back_at_once(
    browser, phase, two_teams, organiser
):
    given = ExtraTries.objects.create(
        phase=phase, team=two_teams[0], tries=2, reason="So.", given_by=organiser
    )
    Phase.objects.filter(pk=phase.pk).update(runs_per_day=None, runs_in_total=None)
    assert (
        browser.post(reverse("organise-tries-back", args=["one", given.pk])).status_code
        == 302
    )
    assert not ExtraTries.objects.exists()


def test_a_program_is_told_what_excluding_a_team_and_extra_tries_would_do(
    phase, two_teams, organiser
):
    ada, _bob = two_teams
    _token, secret = Token.objects.create_token(user=organiser, name="program")
    headers = {"Authorization": f"Token {secret}"}
    where = f"{API}/seasons/one/registrations/{ada.slug}/decision/?dry_run=true"
    told = Client().post(
        where,
        {"decision": "refuse", "reason": "It has seen the gold."},
        headers=headers,
    )
    assert [row["after"] for row in told.json()["moved"]] == ["", "1"]
    where = f"{API}/phases/{phase.pk}/extra-tries/?dry_run=true"
    told = Client().post(
        where, {"team": ada.slug, "tries": 1, "reason": "So."}, headers=headers
    )
    assert (told.status_code, told.json()["told"][0]["kind"]) == (200, "tries-given")
    assert Registration.objects.get(team=ada).is_approved
    assert not ExtraTries.objects.exists()
    given = ExtraTries.objects.create(
        phase=phase, team=ada, tries=2, reason="So.", given_by=organiser
    )
    where = f"{API}/phases/{phase.pk}/extra-tries/{given.pk}/?dry_run=true"
    told = Client().delete(where, headers=headers)
    assert "may submit 3 runs to Spans, Test, then; now 5" in told.json()["done"][-1]
    assert ExtraTries.objects.exists()


def test_a_board_keeps_the_older_gold_while_a_run_failed_against_the_new_one(
    client, phase, organiser
):
    run = boards.scored_run(phase, boards.make_team(phase, "Ada"), 0.6, system="best")
    second = boards.make_gold(phase, number=2)
    job = Job.objects.create(
        submission=run,
        gold=second,
        rules="corrected",
        state="failed",
        finished_at=timezone.now(),
    )
    assert compute_board(Phase.objects.get(), None).gold.number == 1
    client.force_login(organiser)
    page = text_of(client.get(reverse("organise", args=["one"])))
    assert "The board stays on gold v1: 1 run failed against v2." in page
    acknowledge_failure(run=run, job=job, note="It lacks an answer.", by=organiser)
    assert compute_board(Phase.objects.get(), None).gold.number == 2


def test_an_end_that_is_none_is_told_as_none(client, phase, organiser):
    move_phase(phase=phase, opens=phase.opens, closes=ENDLESS_PHASE_END, by=organiser)
    assert (
        write_notification_text(Notification.objects.get()).title
        == "Spans, Test has no end now"
    )
    client.force_login(organiser)
    page = text_of(client.get(reverse("organise-history", args=["one"])))
    assert "→ no end" in page
    assert "2099" not in page
