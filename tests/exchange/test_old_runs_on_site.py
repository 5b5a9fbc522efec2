"""Runs of another platform, scored again by a background job: pages, API, command."""

import io

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.urls import reverse

from citeboard.core.models import AuditEntry
from citeboard.teams.models import Team, Token
from scoring.exchange.bundles import scored_again
from scoring.exchange.bundles.importing import (
    create_drafted_season,
    draft_season_from_bundle,
)
from scoring.models import (
    IS_RANKING_SCORE,
    BackgroundJob,
    ManualMeasure,
    ManualScore,
    Score,
)
from scoring.results.board import manual_scores
from tasks.jobs import interruptions
from tasks.models import Organiser, Phase, Registration, Submission
from tests import factories
from tests.background.background import followed, work_off
from tests.exchange.bundles import ANSWERS, GOLD, codabench, lines, packed
from tests.web.reading import text_of
from tests.web.test_declaring import worked_off

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.fixture
def olga(client):
    olga = factories.make_user(email="olga@example.org", name="Olga", is_staff=True)
    client.force_login(olga)
    return olga


@pytest.fixture
def phase(tmp_path, olga) -> Phase:
    path = tmp_path / "bundle.zip"
    path.write_bytes(packed(codabench()))
    with draft_season_from_bundle(path, "bundle.zip", by=olga, slug="pets") as draft:
        create_drafted_season(draft, filename="bundle.zip", by=olga)
    return Phase.objects.get(slug="practice")


def address(phase) -> str:
    return reverse("organise-old-runs", args=["pets", phase.pk])


def zipped(files) -> SimpleUploadedFile:
    return SimpleUploadedFile("old.zip", packed(files))


def send(client, phase, files):
    return client.post(address(phase), {"file": zipped(files)})


def told(client, phase, files) -> str:
    return text_of(followed(client, send(client, phase, files)))


def sent_runs():
    runs = Submission.objects.filter(team__isnull=False)
    return runs.order_by("team__name", "number")


SCORES = "Team;Submission;acc;note\nNorth;one;0.75;x\nnorth;two;1.0;\nSouth;;0.5;\nEast;;1;\n"
RUNS = {
    "runs/scores.csv": SCORES,
    "runs/North/one.zip": packed({"answers.txt": lines(ANSWERS)}),
    "runs/North/two.zip": packed({"answers.txt": lines(GOLD)}),
    "runs/South.zip": packed({"deep/answers.txt": lines([*GOLD[:-1], "dog"])}),
    "runs/West.zip": packed({"answers.txt": "cat\n"}),
}


def test_old_runs_are_scored_again_by_team_with_their_old_scores_beside(client, phase):
    assert client.get(address(phase)).status_code == 200
    answer = send(client, phase, RUNS)
    assert not sent_runs().exists()
    assert f'href="{answer.url}"' in client.get(address(phase)).content.decode()
    page = text_of(followed(client, answer))
    assert "3 runs queued. 1 run not taken. Beside the board: acc, as it was." in page
    assert "no file with 8 answers" in page
    assert "team “East”" in page
    job = BackgroundJob.objects.get()
    assert [problem["file"] for problem in job.problems] == ["scores.csv", "West/West"]
    worked_off()
    runs = sent_runs()
    assert [(run.team.name, run.system, run.status) for run in runs] == [
        ("North", "one", "scored"),
        ("North", "two", "scored"),
        ("South", "South", "scored"),
    ]
    assert [row["run"] for row in job.result["runs"]] == [run.pk for run in runs]
    accuracy = Score.objects.filter(IS_RANKING_SCORE)
    values = dict(accuracy.values_list("evaluation__submission", "value"))
    assert [values[run.pk] for run in runs] == [0.75, 1.0, 0.875]
    old = dict(ManualScore.objects.values_list("submission", "value"))
    assert [old[run.pk] for run in runs] == [0.75, 1.0, 0.5]
    measure = ManualScore.objects.first().measure
    assert (measure.name, measure.source) == ("acc, as it was", "scores.csv of old.zip")
    assert not Team.objects.filter(name="North", members__isnull=False).exists()
    again = told(client, phase, RUNS)
    assert "no runs queued. 3 runs were there before." in again.lower()
    assert runs.count() == 3
    assert AuditEntry.objects.filter(action="runs-scored-again").count() == 1


def test_the_same_zip_twice_is_one_job(client, phase):
    content = packed(RUNS)
    first, second = (
        client.post(address(phase), {"file": SimpleUploadedFile("old.zip", content)})
        for _ in range(2)
    )
    assert second.url == first.url
    assert BackgroundJob.objects.count() == 1


@pytest.mark.parametrize("end", [interruptions.WorkerStopping, RuntimeError])
def test_a_job_that_begins_again_queues_no_run_twice_and_counts_all(
    client, phase, monkeypatch, end
):
    page = send(client, phase, RUNS).url
    submit, taken = scored_again.submit_earlier_run, []

    def one_and_no_more(**given):
        if taken:
            raise end
        taken.append(submit(**given))
        return taken[0]

    monkeypatch.setattr(scored_again, "submit_earlier_run", one_and_no_more)
    [job] = work_off()
    assert (job.state, sent_runs().count()) == ("queued", 1)
    assert not ManualMeasure.objects.exists()
    monkeypatch.setattr(scored_again, "submit_earlier_run", submit)
    [job] = work_off()
    assert (job.state, sent_runs().count()) == ("done", 3)
    assert "3 runs queued. 1 run not taken." in text_of(client.get(page))
    assert {row["run"] for row in job.result["runs"]} == {run.pk for run in sent_runs()}
    assert AuditEntry.objects.filter(action="runs-scored-again").count() == 1


def test_a_run_that_another_job_stores_meanwhile_is_there_once(
    client, phase, monkeypatch
):
    submit = scored_again.submit_earlier_run

    def after_another_job(**given):
        submit(**{**given, "idempotency_key": f"another{given['idempotency_key']}"})
        return submit(**given)

    monkeypatch.setattr(scored_again, "submit_earlier_run", after_another_job)
    page = told(client, phase, RUNS)
    assert "no runs queued. 3 runs were there before." in page.lower()
    assert sent_runs().count() == 3


def test_a_run_is_refused_by_line(client, phase):
    table = "".join(
        f'{{"id": "{number}", "label": "{label}"}}\n'
        for number, label in enumerate([*GOLD[:-1], "horse"], 1)
    )
    page = told(client, phase, {"North/a.jsonl": table, "South/b.txt": lines(GOLD)})
    assert "1 run queued. 1 run not taken." in page
    [problem] = BackgroundJob.objects.get().problems
    assert (problem["file"], problem["line"]) == ("North/North", 8)
    assert "horse" in problem["message"]
    assert not Team.objects.filter(name="North").exists()


def test_an_organiser_who_left_queues_nothing(client, phase, olga):
    send(client, phase, RUNS)
    Organiser.objects.filter(user=olga).delete()
    olga.is_staff = False
    olga.save()
    [job] = work_off()
    assert (job.state, sent_runs().count()) == ("failed", 0)


def test_old_scores_for_which_there_is_no_room_are_told_and_the_runs_stay(
    client, phase, monkeypatch
):
    monkeypatch.setattr(manual_scores, "MAX_MEASURES_PER_PHASE", 0)
    page = told(client, phase, RUNS)
    assert "3 runs queued. 1 run not taken." in page
    assert "acc, as it was: the phase has 0 measures" in page
    assert sent_runs().count() == 3


def test_a_program_follows_the_job(client, phase, olga):
    _, secret = Token.objects.create_token(user=olga, name="test", scope="write")
    by = {"Authorization": f"Token {secret}"}
    where = reverse("api:old-runs", args=[phase.pk])
    answer = client.post(where, {"file": zipped(RUNS)}, headers=by)
    assert (answer.status_code, answer.json()["kind"]) == (202, "old-runs")
    work_off()
    job = client.get(answer.headers["Location"], headers=by).json()
    assert job["state"] == "done"
    assert [run["team"] for run in job["runs"]] == ["North", "North", "South"]
    assert [problem["file"] for problem in job["problems"]] == [
        "scores.csv",
        "West/West",
    ]


def test_the_name_of_a_team_elsewhere_on_the_site_is_refused(client, phase):
    factories.make_team(name="South")
    page = told(client, phase, {"South.zip": RUNS["runs/South.zip"]})
    assert "another team has this name" in page
    assert not sent_runs().exists()
    assert not Registration.objects.filter(season__slug="pets").exists()


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"scores.csv": "name,acc\na,1\n", "a.txt": "x"}, "no column names the team"),
        ({"scores.csv": "team,acc\na,1\n"}, "there are no runs"),
        ({"../a.txt": "x"}, "leads out of the archive"),
    ],
)
def test_a_zip_of_runs_that_cannot_be_read_takes_none(client, phase, files, expected):
    page = told(client, phase, files)
    assert "This file cannot be taken. Nothing was stored." in page
    assert expected in page
    assert BackgroundJob.objects.get().state == "failed"


def test_the_command_scores_a_folder_again(tmp_path, phase):
    folder = tmp_path / "old"
    folder.mkdir()
    (folder / "South.zip").write_bytes(RUNS["runs/South.zip"])
    (folder / "scores.csv").write_text("team,acc\nSouth,0.5\n")
    out = io.StringIO()
    named = ("pets", phase.task.slug, "practice")
    by = ("--organiser", "olga@example.org")
    call_command("score_old_runs", *named, folder, *by, stdout=out)
    assert out.getvalue() == "1 run queued\nbeside the board: acc, as it was\n"
    with pytest.raises(CommandError, match="no phase “pets/x/practice”"):
        call_command("score_old_runs", "pets", "x", "practice", folder, *by)
