"""Entailment labels go out with the gold of all that they decide, in the form that scorer and site read."""

import hashlib
import io
import json
import zipfile
from io import StringIO

import pytest
from django.core.management import call_command
from django.urls import reverse

from scoring.metrics.entailment import EntailmentPair, read_stored_labels
from scoring.models import Judge, Judgement, JudgementImport
from scoring.worker.entailment_labels import import_labels
from scoring.worker.score import score
from tasks.models import Phase
from tests.factories import make_phase, make_user
from tests.scoring.citing import (
    CLAIM,
    MODEL,
    OSLO,
    ROME,
    WIND,
    citing_phase,
    citing_run,
    decided,
    write_lines,
)

pytestmark = pytest.mark.django_db(transaction=True)
OPEN = {"gold_is_public": True, "shows_instances": True}


def bring(folder, lines, season=None) -> None:
    import_labels(
        path=write_lines(folder / "l.jsonl", lines),
        filename="l.jsonl",
        by=None,
        season=season,
    )


@pytest.fixture
def phase(tmp_path):
    found = citing_phase(tmp_path / "phase", **OPEN)
    bring(tmp_path, decided(), found.task.season)
    return found


def answer(client, phase):
    return client.get(
        reverse("labels", args=[phase.task.season.slug, phase.task.slug, phase.slug])
    )


@pytest.mark.both_databases
def test_anybody_downloads_labels_that_scorer_and_site_read(client, phase, tmp_path):
    with zipfile.ZipFile(io.BytesIO(answer(client, phase).getvalue())) as archive:
        archive.extractall(tmp_path / "got")
    card = json.loads((tmp_path / "got" / "labels.json").read_text())
    path = tmp_path / "got" / "labels.jsonl"
    assert card == {
        "name": f"{phase.task.season.slug}/{phase.task.slug}/{phase.slug}",
        "model": MODEL,
        "labels": len(decided()),
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
    }
    assert "It rains" not in path.read_text()
    given = read_stored_labels(path)
    assert (
        given.name,
        given.decide([EntailmentPair(OSLO, CLAIM), EntailmentPair(ROME, CLAIM)]),
    ) == (
        MODEL,
        [True, False],
    )
    Judgement.objects.all().delete()
    JudgementImport.objects.all().delete()
    Judge.objects.all().delete()
    call_command("import_labels", str(path), stdout=(out := StringIO()))
    assert f"{card['labels']} labels of {MODEL} added" in out.getvalue()


@pytest.mark.parametrize(
    "fields",
    [{"gold_is_public": False}, {"shows_instances": False}, {"board": "organisers"}],
)
def test_nobody_gets_labels_where_the_gold_is_not_given_out_and_is_told_so(
    client, phase, fields
):
    Phase.objects.update(**fields)
    client.force_login(make_user())
    refused = answer(client, phase)
    assert refused.status_code == 404
    assert (
        "every phase that they decide releases its inputs and its gold"
        in refused.content.decode()
    )


@pytest.mark.both_databases
def test_labels_wait_for_every_phase_of_the_season_that_they_decide(client, phase):
    other = make_phase(task=phase.task, split="secret", with_gold=False)
    assert answer(client, phase).status_code == 404
    Phase.objects.filter(pk=other.pk).update(**OPEN, board="organisers")
    assert answer(client, phase).status_code == 404
    Phase.objects.filter(pk=other.pk).update(board="everyone")
    assert zipfile.is_zipfile(io.BytesIO(answer(client, phase).getvalue()))


@pytest.mark.both_databases
def test_shared_labels_stay_where_another_season_that_they_decide_keeps_its_gold(
    client, phase, tmp_path
):
    bring(tmp_path, decided(("another premise", CLAIM)))
    other = citing_phase(tmp_path / "other", WIND)

    def labels() -> int:
        with zipfile.ZipFile(io.BytesIO(answer(client, phase).getvalue())) as archive:
            return json.loads(archive.read("labels.json"))["labels"]

    assert labels() == len(decided())
    Phase.objects.filter(pk=other.pk).update(**OPEN)
    assert labels() == len(decided()) + 1


@pytest.mark.both_databases
def test_none_go_out_while_another_season_keeps_the_same_gold(client, phase, tmp_path):
    other = citing_phase(tmp_path / "other", entailment="word-overlap")
    assert answer(client, phase).status_code == 404
    Phase.objects.filter(pk=other.pk).update(**OPEN)
    assert zipfile.is_zipfile(io.BytesIO(answer(client, phase).getvalue()))


def test_a_task_that_keeps_no_labels_gives_none(client, tmp_path):
    assert (
        answer(
            client, citing_phase(tmp_path / "p", entailment="word-overlap", **OPEN)
        ).status_code
        == 404
    )


def test_the_page_of_a_row_leads_to_them(client, phase):
    run = citing_run(phase)
    for job in run.jobs.all():
        score(job.pk)
    place = [phase.task.season.slug, phase.task.slug, phase.slug]
    told = client.get(reverse("standing", args=[*place, run.pk])).content.decode()
    assert f'href="{reverse("labels", args=place)}"' in told
