"""What pages, files and the API say of numbers that are not told, and organisers of what scores can tell."""

import csv
import datetime as dt
import io
import json
import re
from dataclasses import replace

import pytest
from django.urls import reverse
from django.utils import timezone

from scoring.results.board import snapshots
from scoring.results.board.leak_budget import compute_leak_budget_of_phase
from scoring.worker.rescoring import request_rescoring_of_stale_phases
from tasks.models import Phase
from tests.api.conftest import API
from tests.api.sending import score
from tests.declared.small_tasks import (
    INTENTS,
    SMALL_TASKS,
    SmallTask,
    declare,
    publish_gold,
)
from tests.factories import (
    answers,
    make_gold,
    make_phase,
    make_season,
    make_submission,
    make_task,
    make_team,
    make_user,
    run_bytes,
)
from tests.web.reading import text_of

pytestmark = pytest.mark.django_db

TOPICS = tuple(f"D01-00{number}" for number in range(10, 20))
RANKING = "overlap_f1_micro"


@pytest.fixture
def people():
    return {"organiser": make_user(), "lead": make_user()}


def limited(people, rank_by="", **fields):
    season = make_season(organiser=people["organiser"])
    phase = make_phase(
        task=make_task(season=season, rank_by=rank_by), with_gold=False, **fields
    )
    make_gold(phase=phase, topics=TOPICS)
    team = make_team(season=season, lead=people["lead"])
    runs = []
    for right in (4, 5):
        records = answers(topics=TOPICS[:right]) + answers(
            topics=TOPICS[right:], sentences=("4",)
        )
        runs.append(make_submission(phase=phase, team=team, content=run_bytes(records)))
        score(runs[-1])
    return phase, runs


def board(phase, end=""):
    task = phase.task
    return f"/seasons/{task.season.slug}/{task.slug}/{phase.slug}/{end}"


def test_a_number_that_is_not_told_is_null_with_its_reason_wherever_it_stands(
    client, people
):
    phase, (first, second) = limited(people, ladder=True, counting="last")
    client.force_login(people["lead"])
    [told] = client.get(f"{API}/submissions/{second.pk}/").json()["evaluations"]
    words = "not better than the team's best by more than a standard error"
    own = told["metrics"][RANKING]
    assert (own["value"], own["low"], own["high"], own["withheld"]) == (
        None,
        None,
        None,
        words,
    )
    other = told["metrics"]["overlap_precision_micro"]
    assert other["value"] is None
    assert other["withheld"].startswith("while runs are taken only the ranking metric")
    assert told["breakdowns"] == {}
    [row] = client.get(f"{API}/phases/{phase.pk}/leaderboard/").json()["rows"]
    assert row["scores"][RANKING] == {
        "value": None,
        "withheld": words,
        "low": None,
        "high": None,
    }
    [kept] = client.get(board(phase, "board.json")).json()["rows"]
    assert kept["scores"][RANKING] == row["scores"][RANKING]
    [line] = csv.DictReader(
        io.StringIO(client.get(board(phase, "board.csv")).content.decode())
    )
    assert (line[RANKING], line[f"{RANKING}_low"]) == ("withheld", "")
    assert "withheld" in text_of(client.get(board(phase)))
    page = text_of(client.get(reverse("submission", args=[second.pk])))
    assert f"Withheld: {words}." in page
    assert "only organisers see it" not in page
    compared = client.get(board(phase, f"compare/?a={first.pk}&b={second.pk}"))
    assert "nothing by which two of them could be compared" in text_of(compared)
    client.force_login(people["organiser"])
    assert "only organisers see it" in text_of(
        client.get(reverse("submission", args=[second.pk]))
    )


def probable(small: SmallTask, right: int) -> bytes:
    """Return a run whose confidence is .9 in instances of which so many are right."""
    lines = [json.loads(line) for line in small.run(small.answers(right)).splitlines()]
    for line in lines:
        chances = dict.fromkeys(INTENTS, 0.05) | {line["label"]: 0.9}
        line["probabilities"] = chances
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


@pytest.mark.parametrize("ladder", [False, True])
def test_bins_of_confidence_are_not_told_where_the_number_that_ranks_is_withheld(
    client, people, ladder, tmp_path
):
    declared = SMALL_TASKS["labels"]
    small = replace(declared, toml=declared.toml.replace('"brier_score"', '"ece"'))
    season = make_season(organiser=people["organiser"])
    task = declare(small, season)
    phase = make_phase(task=task, with_gold=False, ladder=ladder, counting="last")
    publish_gold(phase, small.gold_files(), tmp_path / "gold")
    team = make_team(season=season, lead=people["lead"])
    for right in (12, 13):
        content = probable(small, right)
        run = make_submission(phase=phase, team=team, content=content)
        score(run)
    client.force_login(people["lead"])
    page = text_of(client.get(reverse("submission", args=[run.pk])))
    assert ("Withheld: not better" in page) == ladder
    assert ("Expected calibration error" in page) != ladder


def test_the_budget_counts_the_bins_of_confidence(tmp_path):
    numbers, small = [], SMALL_TASKS["labels"]
    for measure in ("brier_score", "ece"):
        toml = small.toml.replace('"brier_score"', f'"{measure}"')
        season = make_season(organiser=make_user())
        task = declare(replace(small, toml=toml), season)
        phase = make_phase(task=task, with_gold=False)
        publish_gold(phase, small.gold_files(), tmp_path / measure)
        own = [
            item
            for item in compute_leak_budget_of_phase(phase).items
            if item.phase == phase
        ]
        numbers.append(own[0].numbers)
    assert numbers == [7, 7 + 10 + 2]


def test_under_the_ladder_the_metric_is_told_by_which_the_task_ranks(client, people):
    phase, (first, _) = limited(
        people, rank_by="overlap_f1_macro", ladder=True, counting="best"
    )
    client.force_login(people["lead"])
    [told] = client.get(f"{API}/submissions/{first.pk}/").json()["evaluations"]
    assert told["metrics"]["overlap_f1_macro"]["value"] is not None
    assert told["metrics"][RANKING]["withheld"].startswith(
        "while runs are taken only the ranking metric"
    )
    [row] = client.get(f"{API}/phases/{phase.pk}/leaderboard/").json()["rows"]
    assert (row["rank"], row["scores"]["overlap_f1_macro"]["value"] is None) == (
        1,
        False,
    )


def test_everybody_reads_what_the_scores_of_a_phase_are_of(client, people):
    phase, _ = limited(people, public_part=30)
    page = text_of(client.get(board(phase)))
    assert "Scores are of a public part, 30 % of the split." in page
    assert "When the phase has ended, runs are ranked by the rest." in page
    [column] = [
        one
        for one in client.get(board(phase, "board.json")).json()["columns"]
        if one["name"] == RANKING
    ]
    assert "|part:public-30-" in column["key"]


def test_at_the_end_the_board_as_it_stood_stays_until_all_runs_are_of_the_private_part(
    client, people
):
    phase, runs = limited(people, public_part=30, counting="all")
    Phase.objects.update(closes=timezone.now() - dt.timedelta(minutes=1))
    assert snapshots.save_due_snapshots() == 1
    assert request_rescoring_of_stale_phases() == 1
    [before] = client.get(board(phase, "board.json")).json()["columns"][:1]
    assert "|part:public-30-" in before["key"]
    score(runs[0])
    assert client.get(board(phase, "board.json")).status_code == 404
    assert client.get(f"{API}/phases/{phase.pk}/leaderboard/").json()["rows"] == []
    page = client.get(board(phase))
    assert "is shown once all of them are" in text_of(page)
    kept = phase.snapshots.get()
    assert board(phase, f"snapshots/{kept.short}/") in page.content.decode()
    as_it_stood = client.get(board(phase, f"snapshots/{kept.short}/board.json")).json()
    assert all("|part:public-30-" in column["key"] for column in as_it_stood["columns"])
    assert snapshots.save_due_snapshots() == 0
    score(runs[1])
    columns = client.get(board(phase, "board.json")).json()["columns"]
    assert all("|part:private-30-" in column["key"] for column in columns)
    assert snapshots.save_due_snapshots() == 1


def test_the_settings_of_a_phase_say_how_much_its_scores_can_tell_and_warn(
    client, people
):
    phase, _ = limited(people, runs_per_day=3)
    client.force_login(people["organiser"])
    address = reverse(
        "organise-settings-phase", args=[phase.task.season.slug, phase.pk]
    )
    page = text_of(client.get(address))
    assert "Warning: A team has 93 tries until the end, or within a year" in page
    assert "of the 20 secret instances" in page
    phase.public_part = 30
    phase.save()
    page = text_of(client.get(address))
    assert "The 6 instances of the public part count as known." in page
    assert "Warning:" not in page
    other = make_phase(
        task=phase.task, split=phase.split, with_gold=False, runs_in_total=5
    )
    page = text_of(client.get(address))
    assert "Warning:" in page
    assert re.search(
        r"Other phases on this content tell up to [\d ]+ bits more, once their scores are shown",
        page,
    )
    other.delete()
    phase.board = "organisers"
    phase.save()
    assert "What scores can reveal" not in text_of(client.get(address))


def test_what_registered_teams_are_told_together_is_counted_and_warned_of_alike(
    client, people, monkeypatch
):
    phase, _ = limited(people)
    phase.runs_in_total = 1
    phase.save()
    client.force_login(people["organiser"])
    slug = phase.task.season.slug
    addresses = [reverse("organise-secrecy", args=[slug])]
    addresses.append(reverse("organise-settings-phase", args=[slug, phase.pk]))
    told = r"tells at most (\d+) bits .* The 3 teams that are registered learn at most (\d+) bits together"
    for enough, warns in ((1000.0, False), (20.0, True)):
        monkeypatch.setattr(
            "scoring.results.board.leak_budget.DANGEROUS_BITS_PER_INSTANCE", enough
        )
        for _number in range(3 - phase.task.season.registrations.count()):
            make_team(season=phase.task.season)
        for page in (text_of(client.get(each)) for each in addresses):
            one, all_of_them = map(int, re.search(told, page).groups())
            assert 2 * one < all_of_them <= 3 * one
            assert ("Warning:" in page) is warns, one
            assert (f"of them together reach the {enough * 20:g} bits" in page) is warns


def test_a_share_above_all_of_it_is_refused_at_its_field(client, people):
    phase, _ = limited(people)
    client.force_login(people["organiser"])
    season = phase.task.season
    key = f"tasks.{phase.task.slug}.phases.{phase.slug}.public_part"
    refused = client.post(
        f"{API}/seasons/{season.slug}/settings/",
        {"settings": f'{{"{key}": 100}}'},
        follow=False,
    )
    assert refused.status_code == 422
    assert "1 to 99" in refused.content.decode()


@pytest.mark.both_databases
def test_runs_to_another_phase_on_the_same_gold_use_up_tries_where_a_phase_says_so(
    people,
):
    from tasks.submissions.submit import compute_remaining_quota

    phase, runs = limited(people, runs_in_total=5)
    after = timezone.now() + dt.timedelta(days=40)
    other = make_phase(
        task=phase.task, split=phase.split, runs_in_total=5, closes=after
    )
    assert compute_remaining_quota(other, runs[0].team).left == 5
    other.shares_tries = True
    assert compute_remaining_quota(other, runs[0].team).left == 3
