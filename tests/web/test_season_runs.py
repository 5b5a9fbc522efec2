"""All runs of a season as CSV, and the counting ones of a phase as files."""

import csv
import io
import zipfile

import pytest
from django.db import connection
from django.urls import reverse

from tasks.models import Organiser, Submission
from tests import factories
from tests.scoring import boards

pytestmark = pytest.mark.django_db


@pytest.fixture
def phase():
    return factories.make_phase(board="nobody")


@pytest.fixture
def organiser(client, phase):
    found = factories.make_user()
    Organiser.objects.create(season=phase.task.season, user=found)
    client.force_login(found)
    return found


def scored(phase, team, value, **fields):
    run = factories.make_submission(phase=phase, team=team, status="scored", **fields)
    boards.score(run, value, gold=phase.task.gold.get())
    return run


@pytest.mark.both_databases
def test_every_run_has_a_line_with_its_state_and_number(client, phase, organiser):
    team = factories.make_team(season=phase.task.season)
    scored(
        phase,
        team,
        0.25,
        system="=HYPERLINK(1)",
        exclusion="hidden",
        exclusion_reason="Asked for.",
    )
    factories.make_submission(phase=phase, team=team, status="cancelled")
    where = reverse("organise-runs-csv", args=[phase.task.season.slug])
    rows = list(csv.DictReader(io.StringIO(client.get(where).getvalue().decode())))
    assert [row["status"] for row in rows] == ["cancelled", "scored"]
    assert (rows[1]["value"], rows[1]["exclusion"], rows[1]["team"]) == (
        "0.25",
        "hidden",
        team.slug,
    )
    assert not rows[1]["system"].startswith("=")
    filtered = client.get(f"{where}?status=scored").getvalue().decode()
    assert filtered.count("\r\n") == 2
    assert (
        client.get(f"/api/v1/seasons/{phase.task.season.slug}/runs/")
        .getvalue()
        .decode()
        .count("\r\n")
        == 3
    )


def test_the_number_of_a_line_is_of_the_newest_gold_and_the_rules_that_rank(
    client, phase, organiser
):
    older = phase.task.gold.get()
    team = factories.make_team(season=phase.task.season)
    runs = [scored(phase, team, value) for value in (0.25, 0.5, 0.75)]
    newer = factories.make_gold(phase=phase, citances=factories.CITANCES[:-1])
    boards.score(runs[0], 0.125, gold=newer)
    boards.score(runs[1], 0.375, gold=newer, rules="official")
    boards.score(runs[1], 0.625, gold=older, rules="official")
    assert numbers(client, phase) == ["0.75", "0.5", "0.125"]


def test_a_run_that_is_another_meanwhile_leaves_the_others_their_numbers(
    client, phase, organiser
):
    team = factories.make_team(season=phase.task.season)
    _, changed, _ = (scored(phase, team, value) for value in (0.25, 0.5, 0.75))

    def change(execute, sql, *rest):
        if sql.startswith('SELECT "tasks_submission"'):
            Submission.objects.filter(pk=changed.pk).update(status="withdrawn")
        return execute(sql, *rest)

    with connection.execute_wrapper(change):
        assert numbers(client, phase, status="scored") == ["0.75", "0.25"]


def numbers(client, phase, **asked):
    where = reverse("organise-runs-csv", args=[phase.task.season.slug])
    text = client.get(where, asked).getvalue().decode()
    return [row["value"] for row in csv.DictReader(io.StringIO(text))]


def test_the_zip_holds_the_files_that_count_and_no_others(client, phase, organiser):
    season = phase.task.season
    one, two = factories.make_team(season=season), factories.make_team(season=season)
    scored(phase, one, 0.2)
    best = scored(
        phase, one, 0.6, content=factories.run_bytes() + b"\n", system="../The best"
    )
    scored(phase, two, 0.9, exclusion="disqualified")
    where = reverse("organise-counting-zip", args=[season.slug, phase.pk])
    for address in (where, f"/api/v1/phases/{phase.pk}/counting-runs/"):
        with zipfile.ZipFile(io.BytesIO(client.get(address).getvalue())) as archive:
            [name] = archive.namelist()
            assert name == f"{one.slug}/{best.number}-The-best.jsonl"
            assert archive.read(name) == factories.run_bytes() + b"\n"
