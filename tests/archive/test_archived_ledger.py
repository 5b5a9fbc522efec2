"""The ledger of a season in its archive: rows, labels behind scores, and the replay of both."""

import hashlib
import json

import pytest
from django.utils.timezone import now

from scoring.worker.entailment_labels import import_labels
from scoring.worker.score import score
from scoring.worker.withdrawal import withdraw_import
from tasks.models import Job, Phase
from tests.archive.test_archive import export, first, over, verified
from tests.scoring.citing import (
    MODEL,
    PAIRS,
    citing_phase,
    citing_run,
    decided,
    write_lines,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]


@pytest.fixture
def phase(tmp_path):
    return citing_phase(tmp_path / "phase", board="everyone", shows_instances=True)


def bring(tmp_path, phase, lines):
    path = write_lines(tmp_path / "rows.jsonl", lines)
    season = phase.task.season
    return import_labels(path=path, filename="rows.jsonl", by=None, season=season)


def archived(tmp_path, phase):
    season = phase.task.season.slug
    over(season)
    return export(tmp_path / "archive", "--with-gold", season=season)


def work(run) -> None:
    for job in Job.objects.filter(submission=run, state=Job.State.QUEUED):
        score(job.pk)


def replace_in(path, before: str, after: str) -> None:
    """Change a file of an archive and its checksum."""
    root = path.parent.parent
    old = hashlib.sha256(path.read_bytes()).hexdigest()
    path.write_text(path.read_text().replace(before, after, 1))
    sums = root / "SHA256SUMS"
    new = hashlib.sha256(path.read_bytes()).hexdigest()
    sums.write_text(sums.read_text().replace(old, new))


def test_votes_are_archived_row_by_row_and_their_labels_are_replayed(
    phase, tmp_path, capsys
):
    votes = [
        {"texts": list(pair), "label": label, "by": by}
        for pair in PAIRS
        for by, label in (("p1", "yes"), ("p2", "yes"), ("p3", "no"))
    ]
    bring(tmp_path, phase, [{"kind": "entails", "judge": MODEL}, *votes])
    run = citing_run(phase)
    work(run)
    folder = archived(tmp_path, phase)
    [entry] = json.loads((folder / "season.json").read_text())["judgements"]
    assert (entry["judge"], entry["rows"]) == (MODEL, len(votes))
    assert entry["file"] == "ledger/1-entails-tiny0123456789ab.jsonl"
    labels = first(folder, "labels/*.jsonl").read_text().splitlines()
    assert len(labels) == 1 + len(PAIRS)
    assert "It rains" not in (folder / entry["file"]).read_text()
    assert any(line.endswith(" 0 not checked") for line in verified(capsys, folder, 0))
    replace_in(folder / entry["file"], '"yes", "by": "p1"', '"no", "by": "p1"')
    told = verified(capsys, folder, 1)
    words = f"1 labels are not what the rows of “{MODEL}” say"
    assert any(words in line for line in told)


def test_a_frozen_board_s_numbers_are_computed_from_judgements_withdrawn_since(
    phase, tmp_path, capsys
):
    done = bring(tmp_path, phase, decided())
    run = citing_run(phase)
    work(run)
    Phase.objects.filter(pk=phase.pk).update(frozen_from=now(), frozen_until=now())
    withdraw_import(source=done.source, reason="A test.", by=None)
    work(run)
    folder = archived(tmp_path, phase)
    receipts = json.loads(first(folder, "receipts/*.json").read_text())
    assert receipts[0]["withdrawn_judgements"][0]["reason"] == "A test."
    assert any(line.endswith(" 0 not checked") for line in verified(capsys, folder, 0))


def test_a_view_by_a_further_judge_is_replayed_with_its_own_labels(
    phase, tmp_path, capsys
):
    phase.task.rules = ["corrected", "corrected@judge-b"]
    phase.task.save()
    bring(tmp_path, phase, decided())
    by_rome = decided(entailed=lambda premise: int("Rome" in premise), model="judge-b")
    bring(tmp_path, phase, by_rome)
    run = citing_run(phase)
    work(run)
    folder = archived(tmp_path, phase)
    heads = [
        json.loads(path.read_text().splitlines()[0])
        for path in folder.glob("labels/*.jsonl")
    ]
    assert {MODEL, "judge-b"} <= {head.get("model") for head in heads}
    assert any(line.endswith(" 0 not checked") for line in verified(capsys, folder, 0))
