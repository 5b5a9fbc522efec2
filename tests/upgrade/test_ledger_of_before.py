"""The upgrade from entailment labels to the ledger keeps all numbers, digests and files."""

import hashlib
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from citeboard.api.receipts import serialize_receipts
from scoring.models import (
    Judge,
    Judgement,
    JudgementImport,
    PendingLabels,
    PendingPair,
    UsedJudgements,
)
from scoring.results.board.visibility import Audience
from scoring.worker.entailment_labels import (
    find_jobs_waiting_for_labels,
    import_labels,
    iterate_open_pairs,
)
from scoring.worker.score import score
from tasks.jobs.leases import restart_job
from tasks.models import Job
from tests.scoring.citing import (
    MODEL,
    PAIRS,
    citing_phase,
    citing_run,
    decided,
    write_lines,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]
LEDGER = ("scoring", "0028_ledger")


def work(*runs) -> None:
    for job in Job.objects.filter(submission__in=runs, state=Job.State.QUEUED):
        score(job.pk)


def older(lines: list[dict]) -> list[dict]:
    """Return the labels of pairs by the digests in logs of evaluations."""
    pairs = zip(lines, PAIRS, strict=False)
    return [
        {
            "premise_sha1": hashlib.sha1(
                premise.encode(), usedforsecurity=False
            ).hexdigest(),
            "hypothesis": hypothesis,
            "entailed": line["entailed"],
            "model": MODEL,
        }
        for line, (premise, hypothesis) in pairs
    ]


def exported(*words: str) -> str:
    call_command("export_labels", MODEL, *words, stdout=(out := StringIO()))
    return out.getvalue()


def seen(phases, run) -> dict:
    """Return what the site shows of labels and of the numbers behind them."""
    evaluation = run.evaluations.get()
    scores = [(row.metric, row.value, row.signature) for row in evaluation.scores.all()]
    return {
        "files": [exported()]
        + [exported("--season", phase.task.season.slug) for phase in phases],
        "scores": sorted(scores),
        "digest": evaluation.labels_digest,
        "receipts": serialize_receipts(
            run, Audience.PUBLIC, has_scores=True, is_own=True
        ),
        "open": list(iterate_open_pairs(list(find_jobs_waiting_for_labels()))),
        "imports": list(
            JudgementImport.objects.order_by("pk").values_list(
                "sha256", "added", "known"
            )
        ),
        "decided": list(Judge.objects.order_by("pk").values_list("season", "decided")),
    }


def migrate_back() -> None:
    executor = MigrationExecutor(connection)
    before = [
        parent.key
        for parent in executor.loader.graph.node_map[LEDGER].parents
        if parent.key[0] == "scoring"
    ]
    executor.migrate(before)


def migrate_forward() -> None:
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())


def as_before(site: dict[str, list[dict]]) -> None:
    """Move the rows into the tables of an earlier release."""
    executor = MigrationExecutor(connection)
    applied = list(executor.loader.applied_migrations)
    apps = executor.loader.project_state(applied).apps
    rows = {
        "EntailmentModel": [
            {name: row[name] for name in ("id", "name", "season_id", "decided")}
            for row in site["Judge"]
        ],
        "LabelImport": [
            {
                "model_id": row["judge_id"],
                **{name: row[name] for name in ("id", "filename", "sha256")},
                **{name: row[name] for name in ("added", "known", "imported_by_id")},
            }
            for row in site["JudgementImport"]
        ],
        "EntailmentLabel": [
            {
                "id": row["id"],
                "model_id": row["judge_id"],
                "premise": row["items"].split()[0],
                "hypothesis": row["items"].split()[1],
                "entailed": row["label"] == "yes",
                "source_id": row["source_id"],
            }
            for row in site["Judgement"]
        ],
        "PendingLabels": [
            {
                "model_id": row["judge_id"],
                **{name: row[name] for name in ("id", "job_id", "pairs", "file")},
                "since": row["since"],
            }
            for row in site["PendingLabels"]
        ],
        "PendingPair": [
            {
                "id": row["id"],
                "waits_id": row["waits_id"],
                "premise": row["items"].split()[0],
                "hypothesis": row["items"].split()[1],
            }
            for row in site["PendingPair"]
        ],
    }
    for name, values in rows.items():
        model = apps.get_model("scoring", name)
        model.objects.bulk_create(model(**value) for value in values)


def rows_of_now() -> dict[str, list[dict]]:
    kinds = (Judge, JudgementImport, Judgement, PendingLabels, PendingPair)
    site = {kind.__name__: list(kind.objects.order_by("pk").values()) for kind in kinds}
    for kind in (UsedJudgements, *reversed(kinds)):
        kind.objects.all().delete()
    return site


@pytest.mark.slow
def test_the_labels_of_a_running_site_become_rows_and_change_nothing(tmp_path):
    phases = [citing_phase(tmp_path / name) for name in "ab"]
    runs = [citing_run(phase) for phase in phases]

    def bring(lines, season=None):
        path = write_lines(tmp_path / "labels.jsonl", lines)
        return import_labels(path=path, filename="labels.jsonl", by=None, season=season)

    own = phases[0].task.season
    bring(older(decided(*PAIRS[:2])))
    bring(decided(*PAIRS[2:4]))
    bring(decided(*PAIRS[4:]), own)
    work(*runs)
    before = seen(phases, runs[0])
    site = rows_of_now()
    assert len(site["PendingPair"]) == 2, "the run of the second season waits"
    assert {len(row["items"].split()[0]) for row in site["Judgement"]} == {40, 64}
    try:
        migrate_back()
        as_before(site)
    finally:
        migrate_forward()
    rows = Judgement.objects.order_by("pk").values()
    assert list(rows) == site["Judgement"]
    assert set(Judge.objects.values_list("kind", "digest")) == {("entails", "")}
    after = seen(phases, runs[0])
    assert after == before
    assert len(after["open"]) == 2
    assert "premise_sha1" in after["files"][0]
    assert after["files"][1].count("\n") == len(PAIRS) + 1
    # The waiting run gets scores, and a rescore of the other run gives the same numbers.
    assert bring(decided(*PAIRS[4:]), phases[1].task.season).resumed == 1
    work(runs[1])
    assert runs[1].evaluations.exists()
    assert restart_job(runs[0].jobs.get())
    work(runs[0])
    again = seen(phases, runs[0])
    assert (again["scores"], again["digest"]) == (before["scores"], before["digest"])
