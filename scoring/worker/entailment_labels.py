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
from citeboard.core.commits import call_after_commit
from citeboard.core.refusals import ActionRefused
from citeboard.teams.models import User
from scoring.metrics import entailment
from scoring.models import (
    Judge,
    Judgement,
    JudgementImport,
    PendingLabels,
    PendingPair,
)
from scoring.worker.child import PairsWithoutEntailmentLabels
from scoring.worker.ledger import (
    JudgementImportResult,
    ParsedJudgements,
    find_unwithdrawn_judgements,
    look_up_labels,
    read_judgement_file,
    share_judge_with_all_seasons,
    split_into_batches,
    store_judgements,
)
from scoring.worker.local_copies import convert_storage_errors
from tasks.jobs import engine
from tasks.models import Job, Season
from tasks.types.judge_views import list_judges_of_rule_sets_and_views
from tasks.types.ledger import (
    ASSIGNS_KIND,
    ENTAILS_KIND,
    JUDGEMENT_KINDS_BY_NAME,
    KINDS_THAT_ALLOW_NO_LABEL,
    NO_VALID_LABEL,
    ORGANISERS_PSEUDONYM,
    SUPPORTS_KIND,
    ItemToJudge,
    RecordedLabel,
    compute_text_digest,
    decide_label,
)
from tasks.types.stored_judges import (
    LedgerJudge,
    format_label_file_header,
    format_label_line,
    list_ledger_judges,
)

#: The length of the column ``items`` if the premise is identified by a SHA-1 digest.
ITEMS_LENGTH_WITH_SHA1_PREMISE = 40 + 1 + 64
#: The ledger may have items of these kinds under digests of several forms of a text.
LABEL_KINDS_WITH_SEVERAL_ITEM_FORMS = (SUPPORTS_KIND, ASSIGNS_KIND)
#: JUDGEMENT_DESCRIPTIONS has a clause for each kind of label, which says what a judge decides.
JUDGEMENT_DESCRIPTIONS = {
    ENTAILS_KIND: "whether passages entail claims",
    SUPPORTS_KIND: "how far documents support sentences",
    ASSIGNS_KIND: "which nuggets reports contain",
}


def import_labels(
    *,
    path: Path,
    filename: str,
    by: User | None,
    season: Season | None = None,
    model: str = "",
) -> JudgementImportResult:
    """Store the labels of an uploaded file and resume the jobs that wait for these
    labels. Raises UploadedFileRefused.
    """
    given = read_judgement_file(path, filename, model, by)
    stored = store_judgements(given, season=season, by=by)
    return replace(stored, resumed=resume_jobs_after_import(stored, given))


def resume_jobs_after_import(
    stored: JudgementImportResult, given: ParsedJudgements
) -> int:
    has_other_forms = (
        given.summary.has_sha1
        or given.summary.kind in LABEL_KINDS_WITH_SEVERAL_ITEM_FORMS
    )
    return resume_jobs_waiting_for_judge(
        stored.judge, is_unsure=has_other_forms and stored.added > 0
    )


def share_labels(
    *, season: Season, model: str, by: User, kind: str = ""
) -> JudgementImportResult:
    """Make a judge's labels of one kind in one season available to all seasons, and
    resume the jobs that wait for these labels.

    The function shares either all labels of the kind or no label. ``kind`` may be empty
    if the season's tasks take labels of one kind from the judge. Raises Refused if the
    kind is missing, and Judge.DoesNotExist if there are no labels.
    """
    asked = {
        one.kind for one in list_stored_judges_of_season(season) if one.name == model
    }
    if not kind and len(asked) > 1:
        words = _(
            "the tasks take labels of several kinds from this judge; name the kind: %(kinds)s"
        )
        raise ActionRefused(words % {"kinds": ", ".join(sorted(asked))})
    if not kind and asked:
        [kind] = asked
    if kind not in asked:
        raise Judge.DoesNotExist
    shared_all = share_judge_with_all_seasons(
        season=season, name=model, kind=kind, by=by
    )
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
    return source.judge.kind in LABEL_KINDS_WITH_SEVERAL_ITEM_FORMS or has_sha1_labels(
        source
    )


def has_sha1_labels(source: JudgementImport) -> bool:
    """Return True if some labels of the import identify the premise by a SHA-1 digest."""
    older = source.judgements.alias(length=Length("items"))
    return older.filter(length=ITEMS_LENGTH_WITH_SHA1_PREMISE).exists()


def list_judge_names_of_season(season: Season) -> list[str]:
    """Return the names of all judges in the options of the season's tasks."""
    return list(
        dict.fromkeys(judge.name for judge in list_stored_judges_of_season(season))
    )


def list_stored_judges_of_season(season: Season) -> list[LedgerJudge]:
    """Return the distinct judges of the season's tasks, with the kind of their labels."""
    judges = (
        judge
        for task in season.tasks.all()
        for judge in list_judges_of_rule_sets_and_views(task.rules, task.options)
    )
    return list(dict.fromkeys(judges))


def build_judge_filter(judges: Iterable[LedgerJudge]) -> Q:
    """Return the condition that selects rows of `Judge` or `PhaseJudge` with the name and
    the kind of one of the judges.
    """
    condition = Q(pk__in=())
    for judge in judges:
        condition |= Q(name=judge.name, kind=judge.kind)
    return condition


def annotate_imports_left_out_of_season(
    imports: QuerySet[JudgementImport],
) -> QuerySet[JudgementImport]:
    """Annotate imports with ``is_left_out``, which is True if organisers of a season left
    pairs out, so that the import has no label.
    """
    labels = Judgement.objects.filter(source=OuterRef("pk")).exclude(
        by=ORGANISERS_PSEUDONYM, label=NO_VALID_LABEL
    )
    return imports.annotate(
        is_left_out=Q(added__gt=0, judge__season__isnull=False) & ~Exists(labels)
    )


def iterate_label_file_lines(deciding: Sequence[Judge]) -> Iterator[str]:
    """For each pair, yield the label that scoring uses as a line of a label file, one
    judge after the other.
    """
    yield format_label_file_header(deciding[0].kind, deciding[0].name)
    for place, judge in enumerate(deciding):
        rows = find_unwithdrawn_judgements(judge, deciding[:place])
        has_several = rows.filter(~Q(by="") | Q(repeat__gt=0)).exists()
        for some in split_into_batches(
            rows.values_list("pk", "items", "label").iterator(chunk_size=5000)
        ):
            if has_several:
                yield from _iterate_lines_of_final_labels(judge, some)
                continue
            for _pk, items, label in some:
                if label != NO_VALID_LABEL:
                    yield format_label_line(judge.kind, items, label)


def _iterate_lines_of_final_labels(
    judge: Judge, rows: Sequence[tuple[int, str, str]]
) -> Iterator[str]:
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
            yield format_label_line(judge.kind, items, decided.label)


def iterate_label_file_lines_with_withdrawn(deciding: Sequence[Judge]) -> Iterator[str]:
    """Yield the lines of `iterate_label_file_lines`, and then lines with withdrawn labels of pairs
    that have no other label.

    Boards that were frozen before the labels were withdrawn still use the labels.
    """
    yield from iterate_label_file_lines(deciding)
    standing = Judgement.objects.standing().filter(
        ~Q(label=NO_VALID_LABEL) | Q(by=ORGANISERS_PSEUDONYM),
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
        decided = decide_label(kind, [RecordedLabel(*one, said[one]) for one in said])
        if decided.is_final(kind):
            yield format_label_line(kind, items, decided.label)


#: After this time, a periodic task resumes waiting jobs that no import has resumed.
MAX_WAIT_FOR_LABELS = dt.timedelta(days=1)


@dataclass(frozen=True)
class _UnlabelledPairsOfJudge:
    """The pairs without a label that one judge decides, as a stored file.

    ``asked`` is the number of all pairs of the run that the judge decides.
    """

    deciding: Sequence[Judge]
    path: Path
    name: str
    asked: int


def wait_for_labels(
    job: Job,
    found: PairsWithoutEntailmentLabels,
    pairs: Path,
    decided: Mapping[str, int],
) -> bool:
    """Let the scoring job wait until the pairs that the scorer reported have labels.
    Return False if another worker took over the job.

    ``decided`` has the number of final labels of each kind that the scorer received.
    """
    judges = {judge.kind: judge for judge in list_ledger_judges(job.options)}
    waits_for = []
    is_kept = False
    try:
        for kind, path in _split_pairs_file_by_label_kind(pairs).items():
            deciding = find_deciding_judges(job, judges[kind])
            asked = found.pairs
            if len(judges) > 1:
                asked = sum(1 for _pair in iterate_pending_pairs(path)) + decided[kind]
            waits_for.append(
                _UnlabelledPairsOfJudge(
                    deciding, path, _store_pairs_file(job, path), asked
                )
            )
        with transaction.atomic():
            reason = _build_waiting_message(found, waits_for, judges)
            if is_kept := engine.defer_job(
                job, reason, until=timezone.now() + MAX_WAIT_FOR_LABELS
            ):
                _replace_pending_labels(job, waits_for)
    finally:
        if not is_kept:
            for one in waits_for:
                storage.statistics_file_storage.delete(one.name)
    for one in waits_for:
        for judge in one.deciding:
            resume_jobs_waiting_for_judge(judge)
    return is_kept


def _split_pairs_file_by_label_kind(pairs: Path) -> dict[str, Path]:
    """Split a file of pairs by the kind of the labels that the pairs lack."""
    paths: dict[str, Path] = {}
    with pairs.open("rb") as lines, ExitStack() as stack:
        files: dict[str, IO[bytes]] = {}
        for line in lines:
            kind = json.loads(line).get("kind", ENTAILS_KIND)
            if kind not in files:
                paths[kind] = pairs.with_suffix(f".{kind}")
                files[kind] = stack.enter_context(paths[kind].open("wb"))
            files[kind].write(line)
    return paths


def _store_pairs_file(job: Job, pairs: Path) -> str:
    """Store a file of pairs beside the run's statistics until the job has ended."""
    name = f"{job.submission_id}/job-{job.pk}-pairs-{secrets.token_hex(4)}.jsonl.gz"
    packed = pairs.with_name(f"{pairs.name}.gz")
    with pairs.open("rb") as lines, gzip.open(packed, "wb") as out:
        shutil.copyfileobj(lines, out)
    with convert_storage_errors(), packed.open("rb") as content:
        return storage.statistics_file_storage.save(name, File(content))


def _build_waiting_message(
    found: PairsWithoutEntailmentLabels,
    waits_for: Sequence[_UnlabelledPairsOfJudge],
    kinds: Container[str],
) -> str:
    """Return the message for the team. ``kinds`` are those of all judges of the task."""
    judges = [one.deciding[0] for one in waits_for]
    pending = f"{found.pending} of {found.pairs} pairs pending"
    if ASSIGNS_KIND in kinds:
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


def find_deciding_judges(job: Job, named: LedgerJudge) -> list[Judge]:
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


def iterate_pending_pairs(path: Path) -> Iterator[ItemToJudge]:
    """Yield the pairs without a label that a scorer has written to a file."""
    # `splitlines` would also split at other line separators inside of passages.
    with path.open(encoding="utf-8", newline="\n") as lines:
        yield from map(parse_asked_item, map(json.loads, lines))


def parse_asked_item(value: Mapping[str, Any]) -> ItemToJudge:
    """Return the pair of a line with texts, with the digests of its other forms."""
    kind = value.get("kind", ENTAILS_KIND)
    texts = tuple(value[role] for role in JUDGEMENT_KINDS_BY_NAME[kind].items)
    others = tuple(value.get("others", ()))
    if kind == ENTAILS_KIND:
        premise, hypothesis = texts
        others = (
            f"{entailment.compute_sha1(premise)} {compute_text_digest(hypothesis)}",
        )
    return ItemToJudge(kind, texts, others, unit=value.get("unit", ""))


def resume_jobs_waiting_for_judge(judge: Judge, *, is_unsure: bool = False) -> int:
    """Delete the rows of pairs that have received a label of the judge, and resume the
    jobs that waited for these pairs. Return the number of resumed jobs.
    """
    said = Judgement.objects.standing().filter(items=OuterRef("items"))
    undecided = Q(label=NO_VALID_LABEL)
    if judge.kind in KINDS_THAT_ALLOW_NO_LABEL:
        # Organisers who give a pair no label leave the pair out.
        undecided &= ~Q(by=ORGANISERS_PSEUDONYM)
    decided = said.filter(judge=judge).exclude(undecided)
    # Skip pairs for which a judge of higher precedence has answered without a label.
    # If a skipped pair resumed a job, the job would wait again at once.
    first = said.filter(
        _build_higher_precedence_condition(judge),
        judge__name=judge.name,
        judge__kind=judge.kind,
    )
    with transaction.atomic():
        struck = PendingPair.objects.filter(
            Exists(decided),
            ~Exists(first),
            waits__in=_find_pending_labels_of_judge(judge),
        )
        concerned = set(struck.values_list("waits__job", flat=True).distinct())
        struck.delete()
    waiting = Job.objects.filter(
        pending_labels__in=_find_pending_labels_of_judge(judge), state=Job.State.WAITING
    )
    if not is_unsure:
        waiting = waiting.filter(pk__in=concerned)
    resumed = sum(engine.resume_waiting_job(job) for job in waiting.order_by("pk"))
    # Delete the rows of jobs that were scored or cancelled meanwhile.
    for ended in _find_pending_labels_of_judge(judge).exclude(
        job__state__in=Job.MOVING
    ):
        storage.statistics_file_storage.delete(ended.file)
        ended.delete()
    return resumed


def _build_higher_precedence_condition(judge: Judge) -> Q:
    later = Q(judge__season=judge.season_id, judge__pk__gt=judge.pk)
    if judge.season_id is not None:
        return later
    season = OuterRef("waits__job__submission__phase__task__season")
    return later | Q(judge__season=season)


def find_jobs_waiting_for_labels() -> QuerySet[PendingLabels]:
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


def iterate_open_pairs(
    waiting: Sequence[PendingLabels], *, is_next_only: bool = False
) -> Iterator[dict[str, str]]:
    shown: set[tuple[str, str]] = set()
    for row in waiting:
        still_open = set(row.open_pairs.values_list("items", flat=True))
        with (
            storage.statistics_file_storage.open(row.file) as kept,
            gzip.open(kept, "rt", encoding="utf-8") as lines,
        ):
            for line in lines:
                value = json.loads(line)
                pair = parse_asked_item(value)
                if (
                    (pair.kind, pair.items) in shown
                    or pair.items not in still_open
                    or (is_next_only and not value["next"])
                ):
                    continue
                shown.add((pair.kind, pair.items))
                # Pairs of claims keep the form that `python -m scoring decide` reads.
                named = {} if pair.kind == ENTAILS_KIND else {"kind": pair.kind}
                yield {**named, **pair.texts_by_role}


def _find_pending_labels_of_judge(judge: Judge) -> QuerySet[PendingLabels]:
    waiting = PendingLabels.objects.filter(
        judge__name=judge.name, judge__kind=judge.kind
    )
    if judge.season_id is None:
        return waiting
    return waiting.filter(job__submission__phase__task__season=judge.season_id)


def _replace_pending_labels(
    job: Job, waits_for: Sequence[_UnlabelledPairsOfJudge]
) -> None:
    before = PendingLabels.objects.filter(job=job)
    since = min((row.since for row in before), default=timezone.now())
    for row in before:
        call_after_commit(storage.statistics_file_storage.delete, row.file)
    before.delete()
    for one in waits_for:
        waits = PendingLabels.objects.create(
            job=job,
            judge=one.deciding[0],
            pairs=one.asked,
            file=one.name,
            since=since,
        )
        for some in split_into_batches(iterate_pending_pairs(one.path)):
            PendingPair.objects.bulk_create(
                PendingPair(waits=waits, items=pair.items) for pair in some
            )
