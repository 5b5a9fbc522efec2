"""Import and export entailment labels, and resume the jobs that wait for labels.

A scoring job that waits has a row in the database for each pair without a label. When a
label is imported, the row of its pair is deleted and the job resumes. After the job has
resumed, the scorer reports the pairs that still have no label. An import looks for
waiting jobs after its commit, and a job looks for labels after its own commit, so that
no label is missed.
"""

import datetime as dt
import gzip
import json
import secrets
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from django.core.files.base import File
from django.db import transaction
from django.db.models import Count, Exists, Min, OuterRef, Q, QuerySet, Sum
from django.db.models.functions import Length
from django.utils import timezone

from citeboard.core import storage
from citeboard.core.commits import after_commit
from citeboard.teams.models import User
from scoring.metrics import entailment
from scoring.models import (
    Judge,
    Judgement,
    JudgementImport,
    PendingLabels,
    PendingPair,
)
from scoring.worker.child import PairsPending
from scoring.worker.ledger import (
    GivenRows,
    Imported,
    in_parts,
    look_up,
    read_file,
    rows_of,
    share,
    store,
)
from scoring.worker.local_copies import storage_in_use
from tasks.jobs import engine
from tasks.models import Job, Season
from tasks.types.judge_views import first_judge, further_judges
from tasks.types.ledger import ENTAILS, NO_LABEL, YES, GivenLabel, settled

#: The length of the column ``items`` if the premise is identified by a SHA-1 digest.
WITH_SHA1 = 40 + 1 + 64


def import_labels(
    *,
    path: Path,
    filename: str,
    by: User | None,
    season: Season | None = None,
    model: str = "",
) -> Imported:
    """Store the labels of an uploaded file and resume the jobs that wait for these
    labels. Raises FileRefused.
    """
    given = read_file(path, filename, model, by)
    stored = store(given, season=season, by=by)
    return replace(stored, resumed=go_on(stored, given))


def go_on(stored: Imported, given: GivenRows) -> int:
    is_unsure = given.summary.has_sha1 and stored.added > 0
    return resume_waiting(stored.judge, is_unsure=is_unsure)


def share_labels(*, season: Season, model: str, by: User) -> Imported:
    """Make a model's labels in one season available to all seasons, and resume the jobs
    that wait for these labels.

    The function shares either all labels or no label.
    """
    [*_others, shared] = shared_all = share(
        season=season, name=model, kind=ENTAILS, by=by
    )
    resumed = sum(
        resume_waiting(one.judge, is_unsure=has_sha1(one.source)) for one in shared_all
    )
    added, known = (
        sum(getattr(one, name) for one in shared_all) for name in ("added", "known")
    )
    return replace(shared, added=added, known=known, resumed=resumed)


def has_sha1(source: JudgementImport) -> bool:
    """Return True if some labels of the import identify the premise by a SHA-1 digest."""
    older = source.judgements.alias(length=Length("items"))
    return older.filter(length=WITH_SHA1).exists()


def models_of_season(season: Season) -> list[str]:
    """Return the names of all judges in the options of the season's tasks."""
    found = [
        name
        for task in season.tasks.all()
        for name in (first_judge(task.options), *further_judges(task.rules))
    ]
    return list(dict.fromkeys(name for name in found if name))


def label_lines(deciding: Sequence[Judge]) -> Iterator[str]:
    """For each pair, yield the label that scoring uses as a line of a label file, one
    judge after the other.
    """
    yield entailment.kept_line(deciding[0].name)
    for place, judge in enumerate(deciding):
        rows = rows_of(judge, deciding[:place])
        has_several = rows.filter(~Q(by="") | Q(repeat__gt=0)).exists()
        for some in in_parts(
            rows.values_list("pk", "items", "label").iterator(chunk_size=5000)
        ):
            counted = _settled_rows(judge, some) if has_several else some
            for _pk, items, label in counted:
                if label != NO_LABEL:
                    yield label_line(items, label)


def _settled_rows(
    judge: Judge, rows: Sequence[tuple[int, str, str]]
) -> Iterator[tuple[int, str, str]]:
    pairs = {items for _pk, items, _label in rows}
    found = dict(look_up([judge], pairs))
    firsts = set(
        Judgement.objects.standing()
        .filter(judge=judge, items__in=pairs)
        .values("items")
        .annotate(first=Min("pk"))
        .values_list("first", flat=True)
    )
    for pk, items, _label in rows:
        if pk in firsts:
            yield pk, items, found[items].settled.label


def archived_label_lines(deciding: Sequence[Judge]) -> Iterator[str]:
    """Yield the lines of `label_lines`, and then lines with withdrawn labels of pairs
    that have no other label.

    Boards that were frozen before the labels were withdrawn still use the labels.
    """
    yield from label_lines(deciding)
    standing = Judgement.objects.standing().filter(
        judge__in=deciding, items=OuterRef("items")
    )
    gone = (
        Judgement.objects.filter(judge__in=deciding, is_standing=False)
        .exclude(Exists(standing))
        .order_by("items", "pk")
    )
    rows = gone.values_list("items", "by", "repeat", "label")
    for items, of_items in groupby(rows.iterator(chunk_size=5000), itemgetter(0)):
        # Keep only the last withdrawn label of each person and repetition.
        said = {(by, repeat): label for _items, by, repeat, label in of_items}
        label = settled(ENTAILS, [GivenLabel(*one, said[one]) for one in said]).label
        if label != NO_LABEL:
            yield label_line(items, label)


def label_line(items: str, label: str) -> str:
    """Return the line of a label file with the label of a pair."""
    premise, hypothesis = items.split()
    digest = "premise_sha256" if len(premise) == len(hypothesis) else "premise_sha1"
    value = {
        digest: premise,
        "hypothesis_sha256": hypothesis,
        "entailed": int(label == YES),
    }
    return f"{json.dumps(value)}\n"


#: After this time, a periodic task resumes waiting jobs that no import has resumed.
PATIENCE = dt.timedelta(days=1)


def wait_for_labels(job: Job, found: PairsPending, pairs: Path) -> bool:
    """Let the scoring job wait until the pairs that the scorer reported have labels.
    Return False if another worker took over the job.
    """
    deciding = deciding_judges(job)
    assert deciding, f"job {job.pk} asks for no kept labels"
    # The file of pairs is stored beside the run's statistics until the job has ended.
    name = f"{job.submission_id}/job-{job.pk}-pairs-{secrets.token_hex(4)}.jsonl.gz"
    packed = pairs.with_suffix(".gz")
    with pairs.open("rb") as lines, gzip.open(packed, "wb") as out:
        shutil.copyfileobj(lines, out)
    with storage_in_use(), packed.open("rb") as content:
        name = storage.statistics.save(name, File(content))
    is_kept = False
    try:
        with transaction.atomic():
            reason = (
                f"{found.pending} of {found.pairs} pairs pending: whether passages entail claims is "
                f"decided by {deciding[0]}, outside of this site. Scoring goes on by itself when the last "
                "label is there."
            )
            if is_kept := engine.defer(job, reason, until=timezone.now() + PATIENCE):
                _replace(job, deciding[0], found.pairs, name, pairs)
    finally:
        if not is_kept:
            storage.statistics.delete(name)
    for judge in deciding:
        resume_waiting(judge)
    return is_kept


def deciding_judges(job: Job) -> list[Judge]:
    """Return the judges whose labels the job uses, with the judge of the highest
    precedence first.

    If the season has no judge with the name of the job's judge, create one, which has
    the highest precedence.
    """
    name = entailment.stored_model(job.options)
    if name is None:
        return []
    season = job.submission.phase.task.season
    if not Judge.objects.filter(name=name, season=season, kind=ENTAILS).exists():
        Judge.objects.get_or_create(kind=ENTAILS, name=name, digest="", season=season)
    return list(Judge.objects.deciding(name, season))


def pairs_in(path: Path) -> Iterator[entailment.Pair]:
    """Yield the pairs without a label that a scorer has written to a file."""
    # `splitlines` would also split at other line separators inside of passages.
    with path.open(encoding="utf-8", newline="\n") as lines:
        for line in lines:
            value = json.loads(line)
            yield entailment.Pair(value["premise"], value["hypothesis"])


def resume_waiting(judge: Judge, *, is_unsure: bool = False) -> int:
    """Delete the rows of pairs that have received a label of the judge, and resume the
    jobs that waited for these pairs. Return the number of resumed jobs.
    """
    said = Judgement.objects.standing().filter(items=OuterRef("items"))
    decided = said.filter(judge=judge).exclude(label=NO_LABEL)
    # Skip pairs for which a judge of higher precedence has answered without a label.
    # If a skipped pair resumed a job, the job would wait again at once.
    first = said.filter(
        _goes_before(judge), judge__name=judge.name, judge__kind=judge.kind
    )
    with transaction.atomic():
        struck = PendingPair.objects.filter(
            Exists(decided), ~Exists(first), waits__in=_waiting_for(judge)
        )
        concerned = set(struck.values_list("waits__job", flat=True).distinct())
        struck.delete()
    waiting = Job.objects.filter(
        pending_labels__in=_waiting_for(judge), state=Job.State.WAITING
    )
    if not is_unsure:
        waiting = waiting.filter(pk__in=concerned)
    resumed = sum(engine.resume(job) for job in waiting.order_by("pk"))
    # Delete the rows of jobs that were scored or cancelled meanwhile.
    for ended in _waiting_for(judge).exclude(job__state__in=Job.MOVING):
        storage.statistics.delete(ended.file)
        ended.delete()
    return resumed


def _goes_before(judge: Judge) -> Q:
    later = Q(judge__season=judge.season_id, judge__pk__gt=judge.pk)
    if judge.season_id is not None:
        return later
    season = OuterRef("waits__job__submission__phase__task__season")
    return later | Q(judge__season=season)


def waiting_jobs() -> QuerySet[PendingLabels]:
    return (
        PendingLabels.objects.filter(job__state__in=Job.MOVING)
        .annotate(left=Count("open_pairs"))
        .select_related(
            "judge",
            "job__gold",
            "job__submission__phase__task__season",
            "job__submission__team",
        )
        .order_by("since", "pk")
    )


def pairs_left(waiting: QuerySet[PendingLabels]) -> int:
    return waiting.aggregate(all=Sum("left"))["all"] or 0


def open_pairs(
    waiting: Sequence[PendingLabels], *, is_next_only: bool = False
) -> Iterator[dict[str, str]]:
    shown: set[entailment.Pair] = set()
    for row in waiting:
        still_open = set(row.open_pairs.values_list("items", flat=True))
        with (
            storage.statistics.open(row.file) as kept,
            gzip.open(kept, "rt", encoding="utf-8") as lines,
        ):
            for line in lines:
                value = json.loads(line)
                pair = entailment.Pair(value["premise"], value["hypothesis"])
                if (
                    pair in shown
                    or " ".join(pair.key) not in still_open
                    or (is_next_only and not value["next"])
                ):
                    continue
                shown.add(pair)
                yield {"premise": pair.premise, "hypothesis": pair.hypothesis}


def _waiting_for(judge: Judge) -> QuerySet[PendingLabels]:
    waiting = PendingLabels.objects.filter(
        judge__name=judge.name, judge__kind=judge.kind
    )
    if judge.season_id is None:
        return waiting
    return waiting.filter(job__submission__phase__task__season=judge.season_id)


def _replace(job: Job, judge: Judge, pairs: int, name: str, path: Path) -> None:
    before = PendingLabels.objects.filter(job=job).first()
    since = before.since if before else timezone.now()
    if before is not None:
        old = before.file
        before.delete()
        after_commit(lambda: storage.statistics.delete(old))
    waits = PendingLabels.objects.create(
        job=job, judge=judge, pairs=pairs, file=name, since=since
    )
    for some in in_parts(pairs_in(path)):
        PendingPair.objects.bulk_create(
            PendingPair(waits=waits, items=" ".join(pair.key)) for pair in some
        )
