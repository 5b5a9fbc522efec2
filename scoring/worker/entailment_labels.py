"""Import and export labels of pairs, and resume the jobs that wait for labels.

A label says whether a passage entails a claim, how far a document supports a sentence,
or whether a report contains a nugget. The options of the task determine the kinds of
its labels.

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
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import IO, Any

from django.core.files.base import File
from django.db import transaction
from django.db.models import Count, Exists, F, Min, OuterRef, Q, QuerySet, Sum
from django.db.models.functions import Length
from django.utils import timezone
from django.utils.translation import gettext as _

from citeboard.core import storage
from citeboard.core.commits import after_commit
from citeboard.core.refusals import Refused
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
    ImportResult,
    ParsedJudgements,
    look_up_labels,
    read_judgement_file,
    share_judge,
    split_into_batches,
    store_judgements,
    unwithdrawn_judgements_of,
)
from scoring.worker.local_copies import storage_in_use
from tasks.jobs import engine
from tasks.models import Job, Season
from tasks.types.judge_views import judges_asked
from tasks.types.ledger import (
    ASSIGNS,
    ENTAILS,
    KINDS,
    LEAVING_OUT,
    NO_LABEL,
    ORGANISERS,
    SUPPORTS,
    AskedItem,
    GivenLabel,
    digest_of,
    settled,
)
from tasks.types.stored_judges import (
    StoredJudge,
    first_line,
    label_line,
    stored_judges,
)

#: The length of the column ``items`` if the premise is identified by a SHA-1 digest.
SHA1_ITEMS_LENGTH = 40 + 1 + 64
#: The ledger may have items of these kinds under digests of several forms of a text.
KINDS_WITH_SEVERAL_FORMS = (SUPPORTS, ASSIGNS)
#: JUDGEMENT_DESCRIPTIONS has a clause for each kind of label, which says what a judge decides.
JUDGEMENT_DESCRIPTIONS = {
    ENTAILS: "whether passages entail claims",
    SUPPORTS: "how far documents support sentences",
    ASSIGNS: "which nuggets reports contain",
}


def import_labels(
    *,
    path: Path,
    filename: str,
    by: User | None,
    season: Season | None = None,
    model: str = "",
) -> ImportResult:
    """Store the labels of an uploaded file and resume the jobs that wait for these
    labels. Raises FileRefused.
    """
    given = read_judgement_file(path, filename, model, by)
    stored = store_judgements(given, season=season, by=by)
    return replace(stored, resumed=resume_jobs_after_import(stored, given))


def resume_jobs_after_import(stored: ImportResult, given: ParsedJudgements) -> int:
    has_other_forms = (
        given.summary.has_sha1 or given.summary.kind in KINDS_WITH_SEVERAL_FORMS
    )
    return resume_jobs_waiting_for_judge(
        stored.judge, is_unsure=has_other_forms and stored.added > 0
    )


def share_labels(
    *, season: Season, model: str, by: User, kind: str = ""
) -> ImportResult:
    """Make a judge's labels of one kind in one season available to all seasons, and
    resume the jobs that wait for these labels.

    The function shares either all labels of the kind or no label. ``kind`` may be empty
    if the season's tasks take labels of one kind from the judge. Raises Refused if the
    kind is missing, and Judge.DoesNotExist if there are no labels.
    """
    asked = {one.kind for one in judges_of_season(season) if one.name == model}
    if not kind and len(asked) > 1:
        words = _(
            "the tasks take labels of several kinds from this judge; name the kind: %(kinds)s"
        )
        raise Refused(words % {"kinds": ", ".join(sorted(asked))})
    if not kind and asked:
        [kind] = asked
    if kind not in asked:
        raise Judge.DoesNotExist
    shared_all = share_judge(season=season, name=model, kind=kind, by=by)
    shared = shared_all[-1]
    resumed = sum(
        resume_jobs_waiting_for_judge(
            one.judge, is_unsure=_has_labels_in_other_forms(one.source)
        )
        for one in shared_all
    )
    added, known = (
        sum(getattr(one, name) for one in shared_all) for name in ("added", "known")
    )
    return replace(shared, added=added, known=known, resumed=resumed)


def _has_labels_in_other_forms(source: JudgementImport) -> bool:
    return source.judge.kind in KINDS_WITH_SEVERAL_FORMS or has_sha1_labels(source)


def has_sha1_labels(source: JudgementImport) -> bool:
    """Return True if some labels of the import identify the premise by a SHA-1 digest."""
    older = source.judgements.alias(length=Length("items"))
    return older.filter(length=SHA1_ITEMS_LENGTH).exists()


def judge_names_of_season(season: Season) -> list[str]:
    """Return the names of all judges in the options of the season's tasks."""
    return list(dict.fromkeys(judge.name for judge in judges_of_season(season)))


def judges_of_season(season: Season) -> list[StoredJudge]:
    """Return the distinct judges of the season's tasks, with the kind of their labels."""
    judges = (
        judge
        for task in season.tasks.all()
        for judge in judges_asked(task.rules, task.options)
    )
    return list(dict.fromkeys(judges))


def select_judges(judges: Iterable[StoredJudge]) -> Q:
    """Return the condition that selects rows of `Judge` or `PhaseJudge` with the name and
    the kind of one of the judges.
    """
    condition = Q(pk__in=())
    for judge in judges:
        condition |= Q(name=judge.name, kind=judge.kind)
    return condition


def annotate_left_out(imports: QuerySet[JudgementImport]) -> QuerySet[JudgementImport]:
    """Annotate imports with ``is_left_out``, which is True if organisers of a season left
    pairs out, so that the import has no label.
    """
    labels = Judgement.objects.filter(source=OuterRef("pk")).exclude(
        by=ORGANISERS, label=NO_LABEL
    )
    return imports.annotate(
        is_left_out=Q(added__gt=0, judge__season__isnull=False) & ~Exists(labels)
    )


def label_file_lines(deciding: Sequence[Judge]) -> Iterator[str]:
    """For each pair, yield the label that scoring uses as a line of a label file, one
    judge after the other.
    """
    yield first_line(deciding[0].kind, deciding[0].name)
    for place, judge in enumerate(deciding):
        rows = unwithdrawn_judgements_of(judge, deciding[:place])
        has_several = rows.filter(~Q(by="") | Q(repeat__gt=0)).exists()
        for some in split_into_batches(
            rows.values_list("pk", "items", "label").iterator(chunk_size=5000)
        ):
            if has_several:
                yield from _settled_lines(judge, some)
                continue
            for _pk, items, label in some:
                if label != NO_LABEL:
                    yield label_line(judge.kind, items, label)


def _settled_lines(judge: Judge, rows: Sequence[tuple[int, str, str]]) -> Iterator[str]:
    pairs = {items for _pk, items, _label in rows}
    found = dict(look_up_labels([judge], pairs))
    firsts = set(
        Judgement.objects.standing()
        .filter(judge=judge, items__in=pairs)
        .values("items")
        .annotate(first=Min("pk"))
        .values_list("first", flat=True)
    )
    for pk, items, _label in rows:
        decided = found[items].settled
        if pk in firsts and decided.is_final(judge.kind):
            yield label_line(judge.kind, items, decided.label)


def label_file_lines_with_withdrawn(deciding: Sequence[Judge]) -> Iterator[str]:
    """Yield the lines of `label_file_lines`, and then lines with withdrawn labels of pairs
    that have no other label.

    Boards that were frozen before the labels were withdrawn still use the labels.
    """
    yield from label_file_lines(deciding)
    standing = Judgement.objects.standing().filter(
        ~Q(label=NO_LABEL) | Q(by=ORGANISERS),
        judge__in=deciding,
        items=OuterRef("items"),
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
        kind = deciding[0].kind
        decided = settled(kind, [GivenLabel(*one, said[one]) for one in said])
        if decided.is_final(kind):
            yield label_line(kind, items, decided.label)


#: After this time, a periodic task resumes waiting jobs that no import has resumed.
PATIENCE = dt.timedelta(days=1)


@dataclass(frozen=True)
class _PairsOfJudge:
    """The pairs without a label that one judge decides, as a stored file.

    ``asked`` is the number of all pairs of the run that the judge decides.
    """

    deciding: Sequence[Judge]
    path: Path
    name: str
    asked: int


def wait_for_labels(
    job: Job, found: PairsPending, pairs: Path, decided: Mapping[str, int]
) -> bool:
    """Let the scoring job wait until the pairs that the scorer reported have labels.
    Return False if another worker took over the job.

    ``decided`` has the number of final labels of each kind that the scorer received.
    """
    judges = {judge.kind: judge for judge in stored_judges(job.options)}
    waits_for = []
    is_kept = False
    try:
        for kind, path in _by_kind(pairs).items():
            deciding = deciding_judges(job, judges[kind])
            asked = found.pairs
            if len(judges) > 1:
                asked = sum(1 for _pair in read_pending_pairs(path)) + decided[kind]
            waits_for.append(
                _PairsOfJudge(deciding, path, _store_pairs(job, path), asked)
            )
        with transaction.atomic():
            reason = _reason(found, waits_for, judges)
            if is_kept := engine.defer_job(
                job, reason, until=timezone.now() + PATIENCE
            ):
                _replace_pending_labels(job, waits_for)
    finally:
        if not is_kept:
            for one in waits_for:
                storage.statistics.delete(one.name)
    for one in waits_for:
        for judge in one.deciding:
            resume_jobs_waiting_for_judge(judge)
    return is_kept


def _by_kind(pairs: Path) -> dict[str, Path]:
    """Split a file of pairs by the kind of the labels that the pairs lack."""
    paths: dict[str, Path] = {}
    with pairs.open("rb") as lines, ExitStack() as stack:
        files: dict[str, IO[bytes]] = {}
        for line in lines:
            kind = json.loads(line).get("kind", ENTAILS)
            if kind not in files:
                paths[kind] = pairs.with_suffix(f".{kind}")
                files[kind] = stack.enter_context(paths[kind].open("wb"))
            files[kind].write(line)
    return paths


def _store_pairs(job: Job, pairs: Path) -> str:
    """Store a file of pairs beside the run's statistics until the job has ended."""
    name = f"{job.submission_id}/job-{job.pk}-pairs-{secrets.token_hex(4)}.jsonl.gz"
    packed = pairs.with_name(f"{pairs.name}.gz")
    with pairs.open("rb") as lines, gzip.open(packed, "wb") as out:
        shutil.copyfileobj(lines, out)
    with storage_in_use(), packed.open("rb") as content:
        return storage.statistics.save(name, File(content))


def _reason(
    found: PairsPending, waits_for: Sequence[_PairsOfJudge], kinds: Container[str]
) -> str:
    """Return the message for the team. ``kinds`` are those of all judges of the task."""
    judges = [one.deciding[0] for one in waits_for]
    pending = f"{found.pending} of {found.pairs} pairs pending"
    if ASSIGNS in kinds:
        # The number of nuggets is part of the gold, and would follow from the number of
        # all pairs even if the run waits for other pairs only.
        pending = "Pairs pending"
    decides = " and ".join(
        f"{JUDGEMENT_DESCRIPTIONS[judge.kind]} is decided by {judge}"
        for judge in judges
    )
    return (
        f"{pending}: {decides}, outside of this site. Scoring goes on by itself when the last label is "
        "there."
    )


def deciding_judges(job: Job, named: StoredJudge) -> list[Judge]:
    """Return the judges whose labels of one kind the job uses, with the judge of the
    highest precedence first.

    If the season has no judge with the name of the job's judge, create one, which has
    the highest precedence.
    """
    season = job.submission.phase.task.season
    same: dict[str, Any] = {"name": named.name, "kind": named.kind, "season": season}
    if not Judge.objects.filter(**same).exists():
        Judge.objects.get_or_create(**same, digest="")
    return list(Judge.objects.deciding(named.name, season, named.kind))


def read_pending_pairs(path: Path) -> Iterator[AskedItem]:
    """Yield the pairs without a label that a scorer has written to a file."""
    # `splitlines` would also split at other line separators inside of passages.
    with path.open(encoding="utf-8", newline="\n") as lines:
        yield from map(asked_item_of_line, map(json.loads, lines))


def asked_item_of_line(value: Mapping[str, Any]) -> AskedItem:
    """Return the pair of a line with texts, with the digests of its other forms."""
    kind = value.get("kind", ENTAILS)
    texts = tuple(value[role] for role in KINDS[kind].items)
    others = tuple(value.get("others", ()))
    if kind == ENTAILS:
        premise, hypothesis = texts
        others = (f"{entailment.sha1(premise)} {digest_of(hypothesis)}",)
    return AskedItem(kind, texts, others, unit=value.get("unit", ""))


def resume_jobs_waiting_for_judge(judge: Judge, *, is_unsure: bool = False) -> int:
    """Delete the rows of pairs that have received a label of the judge, and resume the
    jobs that waited for these pairs. Return the number of resumed jobs.
    """
    said = Judgement.objects.standing().filter(items=OuterRef("items"))
    undecided = Q(label=NO_LABEL)
    if judge.kind in LEAVING_OUT:
        # Organisers who give a pair no label leave the pair out.
        undecided &= ~Q(by=ORGANISERS)
    decided = said.filter(judge=judge).exclude(undecided)
    # Skip pairs for which a judge of higher precedence has answered without a label.
    # If a skipped pair resumed a job, the job would wait again at once.
    first = said.filter(
        _has_higher_precedence(judge), judge__name=judge.name, judge__kind=judge.kind
    )
    with transaction.atomic():
        struck = PendingPair.objects.filter(
            Exists(decided), ~Exists(first), waits__in=_pending_labels_of_judge(judge)
        )
        concerned = set(struck.values_list("waits__job", flat=True).distinct())
        struck.delete()
    waiting = Job.objects.filter(
        pending_labels__in=_pending_labels_of_judge(judge), state=Job.State.WAITING
    )
    if not is_unsure:
        waiting = waiting.filter(pk__in=concerned)
    resumed = sum(engine.resume_waiting_job(job) for job in waiting.order_by("pk"))
    # Delete the rows of jobs that were scored or cancelled meanwhile.
    for ended in _pending_labels_of_judge(judge).exclude(job__state__in=Job.MOVING):
        storage.statistics.delete(ended.file)
        ended.delete()
    return resumed


def _has_higher_precedence(judge: Judge) -> Q:
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


def count_open_pairs(waiting: QuerySet[PendingLabels]) -> int:
    return waiting.aggregate(all=Sum("left"))["all"] or 0


def count_open_pairs_by_kind(
    waiting: QuerySet[PendingLabels],
) -> Sequence[Mapping[str, Any]]:
    """For each kind of labels, return the numbers of open pairs and of scoring jobs."""
    return list(
        PendingLabels.objects.filter(pk__in=waiting.values("pk"))
        .values(kind=F("judge__kind"))
        .annotate(pairs=Count("open_pairs"), jobs=Count("job", distinct=True))
        .order_by("kind")
    )


def read_open_pairs(
    waiting: Sequence[PendingLabels], *, is_next_only: bool = False
) -> Iterator[dict[str, str]]:
    shown: set[tuple[str, str]] = set()
    for row in waiting:
        still_open = set(row.open_pairs.values_list("items", flat=True))
        with (
            storage.statistics.open(row.file) as kept,
            gzip.open(kept, "rt", encoding="utf-8") as lines,
        ):
            for line in lines:
                value = json.loads(line)
                pair = asked_item_of_line(value)
                if (
                    (pair.kind, pair.items) in shown
                    or pair.items not in still_open
                    or (is_next_only and not value["next"])
                ):
                    continue
                shown.add((pair.kind, pair.items))
                # Pairs of claims keep the form that `python -m scoring decide` reads.
                named = {} if pair.kind == ENTAILS else {"kind": pair.kind}
                yield {**named, **pair.by_role}


def _pending_labels_of_judge(judge: Judge) -> QuerySet[PendingLabels]:
    waiting = PendingLabels.objects.filter(
        judge__name=judge.name, judge__kind=judge.kind
    )
    if judge.season_id is None:
        return waiting
    return waiting.filter(job__submission__phase__task__season=judge.season_id)


def _replace_pending_labels(job: Job, waits_for: Sequence[_PairsOfJudge]) -> None:
    before = PendingLabels.objects.filter(job=job)
    since = min((row.since for row in before), default=timezone.now())
    for row in before:
        after_commit(storage.statistics.delete, row.file)
    before.delete()
    for one in waits_for:
        waits = PendingLabels.objects.create(
            job=job,
            judge=one.deciding[0],
            pairs=one.asked,
            file=one.name,
            since=since,
        )
        for some in split_into_batches(read_pending_pairs(one.path)):
            PendingPair.objects.bulk_create(
                PendingPair(waits=waits, items=pair.items) for pair in some
            )
