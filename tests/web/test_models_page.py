"""The organiser's page on models: what is missing, who waits for which labels, and bringing them."""

import datetime as dt
import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils.timezone import now

from citeboard.core.models import AuditEntry
from citeboard.ops.doctor import FindingState, run_health_checks
from scoring.models import Judgement, JudgementImport
from scoring.worker.score import score
from tasks.jobs.sweeper import sweep_jobs
from tasks.models import Job
from tests.background.background import followed
from tests.factories import make_phase, make_season, make_task, make_user
from tests.scoring.citing import (
    CLAIM,
    MODEL,
    OSLO,
    citing_phase,
    citing_run,
    decided,
    entailment_label,
)

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def organiser(client):
    person = make_user()
    client.force_login(person)
    return person


@pytest.fixture
def phase(tmp_path, organiser):
    return citing_phase(tmp_path / "phase", organiser=organiser)


def work(run) -> None:
    for job in Job.objects.filter(submission=run, state=Job.State.QUEUED):
        score(job.pk)


def address(phase, name: str = "organise-models") -> str:
    return reverse(name, args=[phase.task.season.slug])


def bring(client, phase, lines, model: str = MODEL):
    content = "".join(
        f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines
    ).encode()
    file = SimpleUploadedFile("labels.jsonl", content)
    return followed(client, client.post(address(phase), {"model": model, "file": file}))


def downloaded(client, phase, name: str = "organise-pairs", **query) -> list[dict]:
    response = client.get(address(phase, name), query)
    assert "attachment" in response["Content-Disposition"]
    return [json.loads(line) for line in response.getvalue().splitlines()]


def test_each_task_says_what_it_needs_and_what_is_missing(client, organiser, tmp_path):
    season = make_season(organiser=organiser)
    common = {"season": season, "type": "positional-citations", "rules": ["corrected"]}
    make_task(
        **common,
        title="Lacking",
        options={"parser": "no_such_pipeline", "entailment": "model:nowhere"},
    )
    make_task(season=season, title="Plain")
    told = client.get(reverse("organise-models", args=[season.slug])).content.decode()
    for words in (
        'spaCy pipeline <code class="path">no_such_pipeline</code>',
        "the spaCy pipeline no_such_pipeline is not installed",
        'entailment model <code class="path">nowhere</code>',
        "no further packages or models",
    ):
        assert words in told, words


def test_what_is_there_says_from_where_and_with_which_digest(client, organiser, shared):
    pytest.importorskip("spacy")
    folder = shared / "spacy" / "en_test_sm"
    season = make_season(organiser=organiser)
    options = {"parser": str(folder), "entailment": "word-overlap"}
    make_task(
        season=season, type="positional-citations", rules=["corrected"], options=options
    )
    told = client.get(reverse("organise-models", args=[season.slug])).content.decode()
    assert str(folder) in told
    assert "en_core_web_test-0.1.0-" in told


@pytest.mark.both_databases
def test_a_waiting_run_stands_there_with_its_pending_pairs(client, phase):
    run = citing_run(phase)
    work(run)
    told = client.get(address(phase)).content.decode()
    assert "6 pairs of 1 scoring to be decided" in told
    assert reverse("submission", args=[run.pk]) in told
    assert len(downloaded(client, phase)) == 6
    assert len(downloaded(client, phase, next="")) == 2
    assert len(downloaded(client, phase, run=run.pk)) == 6
    assert (
        downloaded(client, phase, run="x")
        == downloaded(client, phase, model="another")
        == []
    )


@pytest.mark.both_databases
def test_an_organiser_brings_labels_and_the_run_goes_on(client, phase, organiser):
    run = citing_run(phase)
    work(run)
    told = bring(client, phase, decided()).content.decode()
    assert f"6 labels of {MODEL} added. 1 scoring continued." in told
    page = client.get(address(phase)).content.decode()
    assert "No run waits for a label." not in page, "it waits until it is scored"
    work(run)
    assert "No run waits for a label." in client.get(address(phase)).content.decode()
    run.refresh_from_db()
    assert run.status == "scored"
    assert JudgementImport.objects.get().imported_by == organiser
    assert AuditEntry.objects.get().words == f"brought 6 labels of {MODEL}"
    lines = downloaded(client, phase, "organise-labels", model=MODEL)
    assert lines[0] == {"model": MODEL, "kept": True}
    assert {line["premise_sha256"] for line in lines[1:]} == {
        each["premise_sha256"] for each in decided()
    }


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (["nonsense"], "not JSON"),
        ([entailment_label(OSLO, CLAIM, 3)], "the label is 3"),
        (
            [{"model": "<script>", **entailment_label(OSLO, CLAIM, 1)}],
            "these are labels of “&lt;script&gt;”",
        ),
    ],
)
def test_a_bad_file_is_refused_by_line_and_leaves_nothing(client, phase, lines, found):
    told = bring(client, phase, lines).content.decode()
    assert "This file cannot be taken. Nothing was stored." in told
    assert found in told
    assert not Judgement.objects.exists()


def test_labels_of_a_model_that_no_task_asks_for_are_not_taken(client, phase):
    assert (
        bring(client, phase, decided(model="another"), model="another").status_code
        == 422
    )
    assert not Judgement.objects.exists()


@pytest.mark.both_databases
def test_pairs_of_other_seasons_stay_there(client, phase, tmp_path):
    work(citing_run(citing_phase(tmp_path / "other")))
    assert downloaded(client, phase) == []
    assert "No run waits for a label." in client.get(address(phase)).content.decode()


def test_a_season_without_such_tasks_offers_no_import(client, organiser):
    phase = make_phase(task=make_task(season=make_season(organiser=organiser)))
    assert "Import labels" not in client.get(address(phase)).content.decode()
    assert (
        client.get(address(phase, "organise-labels"), {"model": MODEL}).status_code
        == 404
    )


def test_the_doctor_names_missing_models_and_waiting_labels(phase):
    work(citing_run(phase))
    phase.task.options = {**phase.task.options, "parser": "no_such_pipeline"}
    phase.task.save()
    [models, entailment_labels] = run_health_checks(["models", "labels"])
    assert (models.state, "no_such_pipeline" in models.found) == (
        FindingState.ODD,
        True,
    )
    assert (entailment_labels.state, entailment_labels.found) == (
        FindingState.ODD,
        f"6 pairs of 1 scorings wait for {MODEL}",
    )


def test_a_run_waits_for_a_missing_pipeline_and_goes_on_when_it_is_there(
    client, phase, tmp_path, shared
):
    pytest.importorskip("spacy")
    elsewhere = tmp_path / "pipeline"
    phase.task.options = {"parser": str(elsewhere), "entailment": "word-overlap"}
    phase.task.save()
    run = citing_run(phase)
    work(run)
    run.refresh_from_db()
    assert run.status == "waiting"
    assert run.reason.startswith(
        f"It cannot be scored yet: the spaCy pipeline {elsewhere} is not installed"
    )
    [models] = run_health_checks(["models"])
    assert (models.state, "1 jobs wait" in models.found) == (FindingState.BAD, True)
    assert "missing" in client.get(address(phase)).content.decode()
    elsewhere.symlink_to(shared / "spacy" / "en_test_sm")

    assert sweep_jobs(now() + dt.timedelta(minutes=5)).resumed == 1
    work(run)
    run.refresh_from_db()
    assert run.status == "scored"
    assert (
        "parser:en_core_web_test-0.1.0"
        in run.evaluations.get().scores.get(shared__metric="aliice_f1").column
    )


def test_a_machine_without_programs_for_models_says_which_it_lacks(
    client, organiser, monkeypatch
):
    """As the image's target `slim` is, in which neither torch nor transformers are installed."""
    monkeypatch.setattr("scoring.metrics.local_models.find_spec", lambda name: None)
    season = make_season(organiser=organiser)
    options = {"bertscore_model": "roberta-large"}
    make_task(
        season=season,
        type="citation-text",
        rules=["corrected"],
        title="Texts",
        options=options,
    )
    told = client.get(reverse("organise-models", args=[season.slug])).content.decode()
    assert "<strong>missing</strong>" in told
    assert "torch and transformers must be installed" in told


def test_a_slim_image_has_none_of_the_programs_for_models(root):
    held = {
        line.partition("==")[0]
        for line in (root / "requirements-site.lock").read_text().splitlines()
    }
    assert (
        held & {"torch", "transformers", "spacy", "bert-score", "lexrank", "summa"}
        == set()
    )
    assert {"django", "numpy", "scikit-learn"} <= held
