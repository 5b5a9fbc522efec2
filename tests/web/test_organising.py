"""Organisers' pages: what needs attention, runs, phases, the announcement and what was done."""

import datetime as dt
import re

import pytest
from django.urls import reverse
from django.utils import timezone

from citeboard.core.models import AuditEntry
from scoring.models import Comparison
from scoring.results.board.comparisons import save_comparisons
from tasks.models import Gold, Job, Phase, Registration, Season, Submission, WorkerGroup
from tasks.models.seasons import increment_board_version
from tasks.seasons.cards import TaskCard
from tasks.types import task_types
from tests import factories
from tests.scoring import boards
from tests.web.reading import text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def organiser(client):
    person = factories.make_user(name="Olga")
    client.force_login(person)
    return person


@pytest.fixture
def phase(organiser):
    return boards.make_phase(
        season=factories.make_season(organiser=organiser, title="The season")
    )


def read(client, name, season, query="", *arguments) -> str:
    return text_of(client.get(reverse(name, args=[season.slug, *arguments]) + query))


def attention(client, phase) -> str:
    return read(client, "organise", phase.task.season)


def test_a_season_in_order_asks_for_nothing(client, phase):
    phase.task.options = {"stopwords": "/data/words.txt"}
    phase.task.save()
    boards.scored_run(phase, boards.make_team(phase, "Night Shift"), 0.5)
    assert "Boards without a baseline 1" in attention(client, phase)
    boards.scored_run(phase, None, 0.3, system="base")
    assert "Nothing. Runs that fail" in attention(client, phase)


@pytest.mark.both_databases
def test_what_has_no_card_and_boards_whose_first_rank_says_nothing_are_told(
    client, phase
):
    runs = [
        boards.scored_run(phase, boards.make_team(phase, name), value, system=name)
        for name, value in (("Owl", 0.5), ("Elk", 0.4))
    ]
    said = attention(client, phase)
    assert "no card" not in said
    assert "legible first rank" not in said
    Phase.objects.update(card_required=["model", "method"])
    runs[0].card, runs[0].description = {"model": "open"}, "A method."
    runs[0].save()
    first, second = (run.evaluations.get() for run in runs)
    facts = {
        "metric": "overlap_f1_micro",
        "test": "exact",
        "trials": 1024,
        "units": 10,
        "difference": 0.1,
    }
    for p, is_told in ((0.4, True), (0.001, False)):
        save_comparisons([Comparison(first=first, second=second, p=p, **facts)])
        increment_board_version(phase.pk)
        said = attention(client, phase)
        assert ("Any of 2 ranked systems may be first. " in said) == is_told
    assert "1 scored run without all that the phase requires of run cards." in said


def test_a_declared_task_without_a_card_is_told(client, phase, monkeypatch):
    monkeypatch.setattr(
        "citeboard.web.organise.attention.get_task_card", lambda task: TaskCard("")
    )
    assert (
        f"{phase.task} It has no card, so that nobody reads what is asked"
        in attention(client, phase)
    )


@pytest.mark.parametrize("slug", sorted(task_types()))
def test_tasks_of_any_type_are_looked_at(client, phase, slug):
    rules = list(task_types()[slug].rules)
    factories.make_task(
        season=phase.task.season, title="Another", type=slug, rules=rules, options={}
    )
    assert "What needs attention" in attention(client, phase)


def test_metrics_that_can_have_no_value_are_told_with_what_they_lack(client, phase):
    task = phase.task
    task.rules = ["corrected", "official-2017"]
    task.save()
    assert (
        "Under official-2017 6 metrics can have no value, since the task does not give the option stopwords."
        in (attention(client, phase))
    )
    task.options = {"stopwords": "/data/words.txt"}
    task.save()
    assert "can have no value" not in attention(client, phase)


@pytest.mark.both_databases
def test_failed_runs_stand_first_with_their_reasons(client, phase):
    team = boards.make_team(phase, "Night Shift")
    boards.make_run(
        phase,
        team,
        status="failed",
        system="Owl",
        reason="The scorer ran out of memory.",
    )
    page = attention(client, phase)
    assert "Runs that failed 1" in page
    assert "Owl, run" in page
    assert "The scorer ran out of memory." in page
    scored = boards.scored_run(phase, team, 0.5)
    # As it is marked when a later one is scored.
    Submission.objects.filter(status="failed").update(has_failed=False)
    assert "Runs that failed" not in attention(client, phase)
    client.post(
        reverse("submission-withdraw", args=[scored.pk]),
        {"reason": "Its team asked for it."},
    )
    assert "Runs that failed 1" in attention(client, phase)


def test_a_scored_run_that_could_not_be_scored_again_is_told(client, phase):
    run = boards.scored_run(
        phase,
        boards.make_team(phase, "Night Shift"),
        0.5,
        system="Owl",
        has_failed=True,
    )
    newer = boards.make_gold(phase, 2)
    Job.objects.create(
        submission=run, gold=newer, rules="corrected", options_digest="d", sets_status=True, state="failed",
        reason="The gold has no topic.", finished_at=timezone.now(),
    )  # fmt: skip
    page = attention(client, phase)
    assert "Scored runs that could not be rescored 1" in page
    assert "under corrected, gold v2: The gold has no topic." in page


@pytest.mark.both_databases
def test_runs_that_wait_and_runs_that_nobody_begins_are_told(client, phase):
    team = boards.make_team(phase, "Night Shift")
    boards.make_run(
        phase, team, status="waiting", system="Owl", reason="A model is missing."
    )
    boards.make_run(phase, team, status="queued", system="Fresh")
    assert "Fresh" not in attention(client, phase)
    Submission.objects.filter(system="Fresh").update(
        status_since=timezone.now() - dt.timedelta(hours=1)
    )
    page = attention(client, phase)
    assert "A model is missing." in page
    assert "Nobody has begun to score it" in page


def test_a_queue_that_nothing_is_taken_from_is_told_at_once(client, phase):
    task = factories.make_task(season=phase.task.season, queue="gpu")
    factories.make_submission(phase=factories.make_phase(task=task))
    assert "Queue gpu 1 run in it: no worker is running." in attention(client, phase)
    WorkerGroup.objects.create(
        name="host:1:", queues=["light"], workers=1, seen_at=timezone.now()
    )
    assert "Queue gpu 1 run in it: no worker serves the queue gpu." in attention(
        client, phase
    )
    WorkerGroup.objects.create(
        name="host:2:", queues=[], workers=1, seen_at=timezone.now()
    )
    assert "Queue gpu" not in attention(client, phase)


def test_a_phase_without_gold_and_a_board_behind_its_gold_are_told(client, phase):
    factories.make_phase(task=phase.task, with_gold=False, split="blind", title="Blind")
    boards.scored_run(phase, boards.make_team(phase, "Night Shift"), 0.5)
    boards.make_gold(phase, 2)
    page = attention(client, phase)
    assert "The split “blind” has no gold, so that no run is accepted." in page
    assert "The board rests on gold v1; 1 run has not been scored against v2." in page


def test_teams_that_wait_and_teams_without_a_score_are_told(client, phase):
    boards.make_team(phase, "Silent")
    waiting = factories.make_team(name="Newcomers")
    Registration.objects.create(
        season=phase.task.season, team=waiting, is_approved=False
    )
    page = attention(client, phase)
    assert "Newcomers asks to take part" in page
    assert "Silent no run that could be scored" in page


@pytest.mark.both_databases
def test_a_long_list_says_how_much_is_left_out(client, phase):
    for number in range(10):
        boards.make_run(
            phase, boards.make_team(phase, f"Team {number}"), status="failed"
        )
    page = attention(client, phase)
    assert "Runs that failed 10" in page
    assert "And 2 more" in page


def systems(client, season, query="") -> list[str]:
    page = client.get(reverse("organise-runs", args=[season.slug]) + query)
    return [line["run"].system for line in page.context["lines"]]


@pytest.mark.both_databases
def test_runs_are_filtered_by_phase_task_state_team_and_text(client, phase):
    season = phase.task.season
    other = boards.make_phase(season=season)
    owls, bats = boards.make_team(phase, "Owls"), boards.make_team(phase, "Bats")
    boards.scored_run(phase, owls, 0.5, system="a")
    boards.make_run(phase, bats, status="failed", system="b")
    boards.make_run(other, bats, status="queued", system="c")
    boards.scored_run(phase, None, 0.1, system="base")
    assert systems(client, season) == ["base", "c", "b", "a"]
    for query, found in {
        f"?phase={other.pk}": ["c"],
        f"?task={phase.task.slug}": ["base", "b", "a"],
        "?status=failed": ["b"],
        "?team=bats": ["c", "b"],
        "?team=baselines": ["base"],
        "?q=OWL": ["a"],
        "?team=bats&status=queued": ["c"],
        "?phase=nonsense": [],
        "?status=scored&team=bats": [],
    }.items():
        assert systems(client, season, query) == found, query
    assert "0.5000" in read(client, "organise-runs", season)


def test_runs_of_another_season_are_not_among_them(client, phase):
    elsewhere = boards.make_phase()
    boards.scored_run(elsewhere, boards.make_team(elsewhere, "Others"), 0.5)
    assert systems(client, phase.task.season) == []
    assert systems(client, phase.task.season, f"?phase={elsewhere.pk}") == []


@pytest.mark.both_databases
def test_many_runs_come_in_pages_that_keep_the_filter(
    client, phase, django_assert_max_num_queries
):
    team = boards.make_team(phase, "Owls")
    for number in range(60):
        boards.scored_run(phase, team, 0.5, system=f"s{number}")
    assert len(systems(client, phase.task.season)) == 50
    with django_assert_max_num_queries(15):
        page = client.get(
            reverse("organise-runs", args=[phase.task.season.slug])
            + "?team=owls&page=2"
        )
    assert len(page.context["lines"]) == 10
    assert 'href="?team=owls&amp;page=1"' in page.content.decode()


def test_phases_stand_on_one_line_of_time_with_the_present_marked(client, phase):
    now = timezone.now()
    factories.make_phase(
        task=phase.task,
        title="Later",
        opens=now + dt.timedelta(days=5),
        closes=now + dt.timedelta(days=9),
    )
    page = client.get(
        reverse("organise-phases", args=[phase.task.season.slug])
    ).content.decode()
    assert f'aria-label="{phase.title}: open now"' in page
    assert 'aria-label="Later: not open yet"' in page
    assert page.count('class="now"') == 3
    assert "style=" not in page


@pytest.mark.both_databases
def test_a_phase_is_closed_and_opened_at_once(client, phase):
    season = phase.task.season
    page = text_of(
        client.post(
            reverse("organise-close", args=[season.slug, phase.pk]), follow=True
        )
    )
    assert f"{phase.title}, is closed now." in page
    assert not Phase.objects.get().is_open()
    Phase.objects.update(closes=timezone.now() - dt.timedelta(minutes=1))
    page = text_of(
        client.post(reverse("organise-open", args=[season.slug, phase.pk]), follow=True)
    )
    assert "is over; give it a new end" in page
    Phase.objects.update(
        opens=timezone.now() + dt.timedelta(days=1),
        closes=timezone.now() + dt.timedelta(days=2),
    )
    client.post(reverse("organise-open", args=[season.slug, phase.pk]))
    assert Phase.objects.get().is_open()


@pytest.mark.both_databases
def test_a_phase_is_moved_in_its_own_time_zone(client, phase):
    Phase.objects.update(time_zone="Europe/Rome")
    address = reverse("organise-times", args=[phase.task.season.slug, phase.pk])
    times = {"opens": "2026-07-01T00:00", "closes": "2026-12-01T23:59"}
    assert client.post(address, times).status_code == 302
    moved = Phase.objects.get()
    assert moved.opens == dt.datetime(2026, 6, 30, 22, 0, tzinfo=dt.UTC)
    assert moved.closes == dt.datetime(2026, 12, 1, 22, 59, tzinfo=dt.UTC)
    assert moved.version == phase.version + 1


def test_the_form_for_times_takes_what_it_prints_and_anywhere_on_earth(client, phase):
    Phase.objects.update(time_zone="AoE")
    address = reverse("organise-times", args=[phase.task.season.slug, phase.pk])
    times = {"opens": "2026-07-01 00:00 UTC", "closes": "2026-12-01 23:59"}
    assert client.post(address, times).status_code == 302
    moved = Phase.objects.get()
    assert moved.opens == dt.datetime(2026, 7, 1, 0, 0, tzinfo=dt.UTC)
    assert moved.closes == dt.datetime(2026, 12, 2, 11, 59, tzinfo=dt.UTC)
    assert (
        client.post(address, times | {"closes": "2026-12-01 23:59 aoe"}).status_code
        == 302
    )
    assert Phase.objects.get().closes == moved.closes
    page = text_of(client.get(address))
    assert (
        "Times are in AoE. The phase now opens 30 Jun 2026, 12:00 AoE and closes 1 Dec 2026, 23:59 AoE"
        in page
    )
    assert (
        page.partition("Times are in")[2].partition("Change the times")[0].count("UTC")
        == 2
    )
    assert 'value="2026-12-01 23:59"' in client.get(address).content.decode()


@pytest.mark.parametrize(
    ("closes", "said"),
    [
        ("2026-06-30T00:00", "A phase closes after it opens."),
        ("tomorrow", "“tomorrow” is not a date and time"),
        ("2027-03-28T02:30", "The clocks of Europe/Rome skip 2027-03-28 02:30:00."),
        ("2026-12-01 23:59 Mars/Base", "“Mars/Base” is not a time zone"),
        ("2026-12-01 23:59+01:00 AoE", "names both an offset and a zone"),
        ("", "This field is required."),
    ],
)
def test_times_that_cannot_be_meant_change_nothing(client, phase, closes, said):
    Phase.objects.update(time_zone="Europe/Rome")
    address = reverse("organise-times", args=[phase.task.season.slug, phase.pk])
    response = client.post(address, {"opens": "2026-07-01T00:00", "closes": closes})
    assert response.status_code == 422
    assert said in text_of(response)
    assert Phase.objects.get().closes == phase.closes


def test_saving_times_as_they_are_changes_nothing(client, phase):
    address = reverse("organise-times", args=[phase.task.season.slug, phase.pk])
    form = client.get(address).context["form"]
    client.post(address, {name: form.initial[name] for name in ("opens", "closes")})
    same = Phase.objects.get()
    assert (same.opens, same.closes, same.version) == (
        phase.opens,
        phase.closes,
        phase.version,
    )
    assert not AuditEntry.objects.exists()


def test_an_announcement_stands_on_the_season_s_page_and_does_no_harm(client, phase):
    season = phase.task.season
    text = "New **deadline** <script>alert(1)</script> [x](javascript:alert(1))"
    client.post(reverse("organise-announcement", args=[season.slug]), {"text": text})
    client.logout()
    page = client.get(reverse("season", args=[season.slug])).content.decode()
    assert "New <strong>deadline</strong>" in page
    assert "alert(1)</script>" not in page
    assert not re.search(r"""href\s*=\s*["']?\s*javascript:""", page, re.IGNORECASE)


def test_an_empty_announcement_takes_it_away(client, phase):
    season = phase.task.season
    address = reverse("organise-announcement", args=[season.slug])
    client.post(address, {"text": "Something"})
    client.post(address, {"text": "  "})
    assert "Announced" not in read(client, "season", season)
    assert Season.objects.get().announced_at is None
    response = client.post(address, {"text": "x" * 5000})
    assert response.status_code == 422


def test_what_was_done_is_listed_with_who_did_it(client, phase, organiser):
    season = phase.task.season
    team = factories.make_team(name="Newcomers")
    entry = Registration.objects.create(season=season, team=team, is_approved=False)
    client.post(
        reverse("organise-decide", args=[season.slug, entry.pk]),
        {"decision": "approve"},
    )
    client.post(reverse("organise-close", args=[season.slug, phase.pk]))
    client.post(reverse("organise-announcement", args=[season.slug]), {"text": "Hello"})
    page = read(client, "organise-history", season)
    moved = f"Olga closed {phase.task.title}, {phase.title}"
    for words in ("Olga approved Newcomers", moved, "Olga announced: Hello"):
        assert words in page
    # It says so still when the person is gone.
    organiser.delete()
    assert {entry.actor_name for entry in AuditEntry.objects.all()} == {"Olga"}


def test_the_season_s_page_leads_organisers_to_theirs_and_nobody_else(client, phase):
    season = phase.task.season
    link = reverse("organise", args=[season.slug])
    assert link in client.get(reverse("season", args=[season.slug])).content.decode()
    client.force_login(factories.make_user())
    assert (
        link not in client.get(reverse("season", args=[season.slug])).content.decode()
    )


def test_a_phase_of_another_season_cannot_be_changed(client, phase):
    other = boards.make_phase()
    for name in ("organise-close", "organise-open", "organise-times"):
        address = reverse(name, args=[phase.task.season.slug, other.pk])
        assert client.post(address).status_code == 404
    assert Phase.objects.get(pk=other.pk).is_open()


def test_gold_is_on_none_of_these_pages(client, organiser):
    canary = "canary-4711"
    season = factories.make_season(organiser=organiser)
    phase = factories.make_phase(task=factories.make_task(season=season))
    Gold.objects.update(reason="A reason")
    factories.make_submission(phase=phase, status="failed", reason="It failed.")
    for gold in Gold.objects.all():
        assert canary not in gold.file
    for name in (
        "organise",
        "organise-runs",
        "organise-phases",
        "organise-teams",
        "organise-history",
    ):
        page = client.get(reverse(name, args=[season.slug])).content.decode()
        assert phase.task.gold.get().digest not in page
