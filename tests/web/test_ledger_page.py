"""The organisers' page on the ledger: import, export and withdraw judgements."""

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from citeboard.core.models import AuditEntry
from citeboard.teams.models import Token
from scoring.models import Judge, Judgement, JudgementImport
from scoring.worker.entailment_labels import import_labels
from scoring.worker.ledger import share_judge_with_all_seasons
from scoring.worker.score import score
from tasks.models import Job
from tests.background.background import followed, work_off
from tests.factories import make_user
from tests.scoring.citing import (
    MODEL,
    citing_phase,
    citing_run,
    decided,
    write_lines,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]
ROWS = [
    {"kind": "supports", "judge": "nli"},
    {"texts": ["It rains.", "Oslo\nIt rains in Oslo."], "label": "full"},
]


@pytest.fixture
def organiser(client):
    person = make_user()
    client.force_login(person)
    return person


@pytest.fixture
def phase(tmp_path, organiser):
    return citing_phase(
        tmp_path / "phase", organiser=organiser, board="everyone", shows_instances=True
    )


def address(phase, name: str = "organise-ledger") -> str:
    return reverse(name, args=[phase.task.season.slug])


def sent(lines) -> SimpleUploadedFile:
    content = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
    return SimpleUploadedFile("rows.jsonl", content)


def bring(client, phase, lines, **more):
    answer = client.post(address(phase), {"file": sent(lines), **more})
    return followed(client, answer).content.decode()


def withdraw(client, phase, number: object, reason: str = "A wrong prompt."):
    given = {"number": number, "reason": reason}
    return client.post(address(phase, "organise-ledger-withdraw"), given, follow=True)


def test_an_organiser_brings_judgements_and_reads_them_again(client, phase):
    assert "There are no judgements yet." in client.get(address(phase)).content.decode()
    assert "1 label of nli added." in bring(client, phase, ROWS)
    told = client.get(address(phase)).content.decode()
    assert "1 judgement of nli, supports, from rows.jsonl" in told
    rows = address(phase, "organise-ledger-rows")
    answer = client.get(rows, {"judge": "nli", "kind": "supports"})
    lines = [json.loads(line) for line in answer.getvalue().splitlines()]
    assert lines[0] == ROWS[0]
    assert (len(lines[1]["items"]), lines[1]["label"]) == (2, "full")
    assert client.get(rows, {"judge": "nli", "kind": "assigns"}).status_code == 404


def test_a_file_that_is_none_is_refused_by_its_line(client, phase):
    told = bring(client, phase, [ROWS[0], {**ROWS[1], "label": "good"}])
    assert "This file cannot be taken. Nothing was stored." in told
    assert "“label” is “good”" in told
    unnamed = [{"kind": "supports"}, ROWS[1]]
    assert "it does not say whose labels these are" in bring(client, phase, unnamed)
    assert "1 label of nli added." in bring(client, phase, unnamed, judge="nli")


def test_a_withdrawn_import_is_stated_on_page_run_and_board(client, phase, organiser):
    bring(client, phase, decided())
    run = citing_run(phase)
    for job in Job.objects.filter(submission=run):
        score(job.pk)
    [source] = JudgementImport.objects.all()
    told = withdraw(client, phase, source.pk).content.decode()
    assert "The import is withdrawn. 1 run rested on it." in told
    assert "withdrawn" in told
    assert AuditEntry.objects.first().actor == organiser
    note = "Judgements behind 1 run were withdrawn: A wrong prompt."
    task = phase.task
    board = reverse("board", args=[task.season.slug, task.slug, phase.slug])
    for page in (board, reverse("submission", args=[run.pk])):
        assert note in client.get(page).content.decode()
    again = withdraw(client, phase, source.pk).content.decode()
    assert "this import is withdrawn already" in again.lower()


def test_nobody_withdraws_imports_of_others(client, phase, tmp_path):
    other = citing_phase(tmp_path / "other", organiser=make_user())
    judges = [
        Judge.objects.create(kind="supports", name="nli", season=season)
        for season in (other.task.season, None)
    ]
    for judge in judges:
        source = JudgementImport.objects.create(
            judge=judge, filename="f", sha256="0" * 64, added=0, known=0
        )
        assert withdraw(client, phase, source.pk).status_code == 404
    assert withdraw(client, phase, "x").status_code in (200, 404)
    assert not JudgementImport.objects.exclude(withdrawn_at=None).exists()


def test_a_program_brings_and_withdraws_by_token(client, phase, organiser):
    token = Token.objects.create_token(user=organiser, name="ledger")[1]
    headers = {"Authorization": f"Token {token}"}
    path = reverse("api:ledger", args=[phase.task.season.slug])
    answer = client.post(path, {"file": sent(ROWS)}, headers=headers)
    assert answer.status_code == 202, answer.content
    [job] = work_off()
    assert (job.result["added"], job.result["judge"]) == (1, "nli")
    [source] = JudgementImport.objects.all()
    path = reverse("api:withdraw-import", args=[phase.task.season.slug])
    given = {"number": source.pk, "reason": "A test."}
    answer = client.post(path, given, "application/json", headers=headers)
    assert answer.json() == {"runs": 0, "frozen": 0}


def test_an_organiser_learns_nothing_of_the_seasons_behind_shared_rows(
    client, phase, tmp_path
):
    other = citing_phase(tmp_path / "other", organiser=make_user())
    path = write_lines(tmp_path / "rows.jsonl", decided())
    import_labels(path=path, filename="rows.jsonl", by=None, season=other.task.season)
    Judgement.objects.update(rationale="The gold says so.")
    share_judge_with_all_seasons(
        season=other.task.season, name=MODEL, kind="entails", by=make_user()
    )
    run = citing_run(citing_phase(tmp_path / "third", organiser=make_user()))
    for job in Job.objects.filter(submission=run):
        score(job.pk)
    assert JudgementImport.objects.filter(judge__season=None, used_by__isnull=False)
    page = client.get(address(phase)).content.decode()
    assert "from another season; no runs used it" in page
    assert other.task.season.slug not in page
    rows = client.get(
        address(phase, "organise-ledger-rows"), {"judge": MODEL, "kind": "entails"}
    ).getvalue()
    assert b"sha256:" in rows
    assert b"gold" not in rows
