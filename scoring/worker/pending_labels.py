"""Runs that wait for labels: what they wait for, and how they go on when it is there.

A waiting job has a row for each pair that is open. The rows go as pairs are decided; a job that has lost one
is scored again, which finds what is still open. Both who decides and who begins to wait look after they have
committed, so that one of them sees the other.
"""

import datetime as dt
import gzip
import json
import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from django.core.files.base import ContentFile
from django.db import transaction
from django.db.models import Count, Exists, OuterRef, QuerySet, Sum
from django.utils import timezone

from citeboard.core import storage
from scoring.metrics.entailment import Pair, stored_model
from scoring.models import EntailmentLabel, EntailmentModel, PendingLabels, PendingPair
from scoring.worker.child import PairsPending
from scoring.worker.local_copies import storage_in_use
from tasks.jobs import engine
from tasks.models import Job

#: A sweep tries again only so late, since whoever brings labels sees to it.
PATIENCE = dt.timedelta(days=1)
AT_ONCE = 500
STILL_WAITING = (Job.State.QUEUED, Job.State.RUNNING, Job.State.WAITING)


def wait_for_labels(job: Job, found: PairsPending, pairs: Path) -> bool:
    """Put the job off until its pairs are decided; False once the job is no longer ours."""
    model_name = stored_model(job.options)
    assert model_name is not None, f"job {job.pk} asks for no kept labels"
    season = job.submission.phase.task.season
    EntailmentModel.objects.get_or_create(name=model_name, season=season)
    deciding = list(EntailmentModel.objects.deciding(model_name, season))
    model = deciding[0]
    # A passage may hold what Unicode calls the end of a line.
    with pairs.open(encoding="utf-8", newline="\n") as kept:
        lines = [json.loads(line) for line in kept]
    content = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines).encode()
    # In the folder of the run, named like its statistics: they go when the job is scored.
    name = f"{job.submission_id}/job-{job.pk}-pairs-{secrets.token_hex(4)}.jsonl.gz"
    with storage_in_use():
        name = storage.statistics.save(name, ContentFile(gzip.compress(content)))
    is_kept = False
    try:
        with transaction.atomic():
            reason, until = reason_for(found.pending, found.pairs, model), timezone.now() + PATIENCE
            is_kept = engine.defer(job, reason, until=until)
            if is_kept:
                _replace(job, model, found.pairs, name, lines)
    finally:
        if not is_kept:
            storage.statistics.delete(name)
    for model in deciding:
        go_on(model)
    return is_kept


def reason_for(pending: int, pairs: int, model: EntailmentModel) -> str:
    return (
        f"{pending} of {pairs} pairs pending: whether passages entail claims is decided by {model}, "
        "outside of this site. Scoring goes on by itself when the last label is there."
    )


def go_on(model: EntailmentModel, *, is_unsure: bool = False) -> int:
    """Strike out what has been decided and resume the jobs that this concerns; returns how many."""
    decided = EntailmentLabel.objects.filter(
        model=model, premise=OuterRef("premise"), hypothesis=OuterRef("hypothesis")
    )
    with transaction.atomic():
        struck = PendingPair.objects.filter(Exists(decided), waits__in=_waiting_for(model))
        concerned = set(struck.values_list("waits__job", flat=True).distinct())
        struck.delete()
    waiting = Job.objects.filter(pending_labels__in=_waiting_for(model), state=Job.State.WAITING)
    if not is_unsure:
        waiting = waiting.filter(pk__in=concerned)
    resumed = sum(engine.resume(job) for job in waiting.order_by("pk"))
    # What jobs waited for that have been scored or cancelled since.
    for ended in _waiting_for(model).exclude(job__state__in=STILL_WAITING):
        storage.statistics.delete(ended.file)
        ended.delete()
    return resumed


def waiting_jobs() -> QuerySet[PendingLabels]:
    return (
        PendingLabels.objects.filter(job__state__in=STILL_WAITING)
        .annotate(left=Count("open_pairs"))
        .select_related("model", "job__gold", "job__submission__phase__task__season", "job__submission__team")
        .order_by("since", "pk")
    )


def pairs_left(waiting: QuerySet[PendingLabels]) -> int:
    return waiting.aggregate(all=Sum("left"))["all"] or 0


def open_pairs(waiting: Sequence[PendingLabels], *, is_next_only: bool = False) -> Iterator[dict[str, str]]:
    shown: set[Pair] = set()
    for row in waiting:
        still_open = set(row.open_pairs.values_list("premise", "hypothesis"))
        with storage.statistics.open(row.file) as kept, gzip.open(kept, "rt", encoding="utf-8") as lines:
            for line in lines:
                value = json.loads(line)
                pair = Pair(value["premise"], value["hypothesis"])
                if pair in shown or pair.key not in still_open or (is_next_only and not value["next"]):
                    continue
                shown.add(pair)
                yield {"premise": pair.premise, "hypothesis": pair.hypothesis}


def _waiting_for(model: EntailmentModel) -> QuerySet[PendingLabels]:
    waiting = PendingLabels.objects.filter(model__name=model.name)
    if model.season_id is None:
        return waiting
    return waiting.filter(job__submission__phase__task__season=model.season_id)


def _replace(
    job: Job, model: EntailmentModel, pairs: int, name: str, lines: Sequence[dict[str, Any]]
) -> None:
    before = PendingLabels.objects.filter(job=job).first()
    since = before.since if before else timezone.now()
    if before is not None:
        old = before.file
        before.delete()
        transaction.on_commit(lambda: storage.statistics.delete(old), robust=True)
    waits = PendingLabels.objects.create(job=job, model=model, pairs=pairs, file=name, since=since)
    keys = [Pair(line["premise"], line["hypothesis"]).key for line in lines]
    PendingPair.objects.bulk_create(
        [PendingPair(waits=waits, premise=premise, hypothesis=hypothesis) for premise, hypothesis in keys],
        batch_size=AT_ONCE,
    )
