"""Import, export, share and withdraw judgements in the judgement ledger, and mark
scores that new judgements make outdated.

The judgements of a file are stored together and can only be withdrawn together.
Judgements are written in batches, so that large files need little memory.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import os
import tempfile
import weakref
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from django.db import connection, transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from numpy.typing import NDArray

from citeboard.core import audit
from citeboard.core.commits import call_after_commit
from citeboard.core.database import update_planner_statistics
from citeboard.core.refusals import ActionRefused
from citeboard.teams.models import User
from scoring.models import Judge, Judgement, JudgementImport, UsedJudgements
from scoring.models.ledger import hash_items_to_eight_bytes
from scoring.offline.ledger import (
    JudgementFileSummary,
    NumberedJudgement,
    format_header_line,
    format_row_line,
    iterate_numbered_judgements,
    read_judgements,
)
from scoring.worker.local_copies import (
    UploadedFileRefused,
    parse_upload_in_confined_process,
)
from scoring.worker.reading import EXPORTED_ROWS_FILE_NAME
from tasks.models import Season
from tasks.models.seasons import increment_board_version
from tasks.submissions.uploads import make_safe_filename
from tasks.types import Problem
from tasks.types.ledger import (
    ENTAILED_LABEL,
    ENTAILS_KIND,
    MAX_JUDGE_NAME_CHARACTERS,
    NO_VALID_LABEL,
    ORGANISERS_PSEUDONYM,
    DecidedLabel,
    Judgement as Row,
    RecordedLabel,
    decide_label,
)
from tasks.types.problems import ProblemList, TooManyProblems

#: Rows per SQL statement.
ROWS_PER_SQL_STATEMENT = 500
#: Number of new judgements after which the statistics of the query planner are updated.
MIN_NEW_ROWS_FOR_ANALYZE = 10_000
SAME_JUDGEMENT_FIELDS = {name: OuterRef(name) for name in ("items", "by", "repeat")}


BatchItem = TypeVar("BatchItem")


def split_into_batches(
    values: Iterable[BatchItem], size: int = ROWS_PER_SQL_STATEMENT
) -> Iterator[list[BatchItem]]:
    """Split an iterable into batches."""
    left = iter(values)
    while part := list(islice(left, size)):
        yield part


@dataclass(frozen=True, kw_only=True)
class JudgementImportResult:
    """The result of an import, with the judge, the row of the import, and the numbers
    of new judgements, of judgements that existed already, and of resumed runs.
    """

    judge: Judge
    source: JudgementImport
    added: int
    known: int
    resumed: int = 0


class ParsedJudgements:
    """The judgements of a parsed file, which are stored in a temporary file. The
    temporary file is closed when the object is garbage-collected.
    """

    def __init__(
        self, handle: int, summary: JudgementFileSummary, *, filename: str, sha256: str
    ) -> None:
        self.summary, self.filename, self.sha256 = summary, filename, sha256
        self._handle, self._skips_unlabelled = handle, False
        weakref.finalize(self, os.close, handle)

    def labelled(self) -> ParsedJudgements:
        """Return only the rows that have a label, because people may leave lines of a
        form empty.
        """
        rows = ParsedJudgements(
            os.dup(self._handle),
            self.summary,
            filename=self.filename,
            sha256=self.sha256,
        )
        rows._skips_unlabelled = True
        return rows

    def __iter__(self) -> Iterator[NumberedJudgement]:
        with os.fdopen(os.dup(self._handle), "rb") as lines:
            lines.seek(0)
            for placed in iterate_numbered_judgements(lines):
                if not (self._skips_unlabelled and placed.row.label == NO_VALID_LABEL):
                    yield placed


def read_judgement_file(
    path: Path, filename: str, judge: str, by: User | None
) -> ParsedJudgements:
    """Parse an uploaded file of judgements. Raises UploadedFileRefused.

    ``judge`` is the name of the judge if the file itself names no judge.
    """
    handle, summary = (
        _read_judgement_file_confined(path, filename, by)
        if by
        else _read_judgement_file_unconfined(path, filename)
    )
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    given = ParsedJudgements(handle, summary, filename=filename, sha256=sha256)
    problems = summary.problems or _find_judge_name_problems(given, judge)
    if problems:
        raise UploadedFileRefused(problems)
    given.summary = replace(summary, judge=summary.judge or judge)
    return given


def _find_judge_name_problems(given: ParsedJudgements, judge: str) -> list[Problem]:
    said, message, expected = given.summary, "", ""
    name = said.judge or judge
    if not said.rows:
        message = _("there is no label in it")
        expected = _("one JSON object on each line")
    elif not name:
        message = _("it does not say whose labels these are")
        expected = _("“model” on its lines, or the model's name beside the file")
    elif judge and said.judge and judge != said.judge:
        message = _("these are labels of “%(model)s”") % {"model": said.judge}
        expected = _("those of “%(model)s”") % {"model": judge}
    elif (
        len(name) > MAX_JUDGE_NAME_CHARACTERS
        or not name.isprintable()
        or name != name.strip()
    ):
        message = _("the model's name cannot be stored")
        expected = _("at most %(number)s printable characters") % {
            "number": MAX_JUDGE_NAME_CHARACTERS
        }
    if not message:
        return []
    return [Problem(file=given.filename, message=message, expected=expected)]


def _read_judgement_file_unconfined(
    path: Path, filename: str
) -> tuple[int, JudgementFileSummary]:
    handle, name = tempfile.mkstemp(prefix="citeboard-rows-")
    Path(name).unlink()
    with os.fdopen(os.dup(handle), "w", encoding="utf-8") as out:
        return handle, read_judgements(path, filename, out)


def _read_judgement_file_confined(
    path: Path, filename: str, by: User
) -> tuple[int, JudgementFileSummary]:
    program = "scoring.worker.reading:judgements"
    with parse_upload_in_confined_process(program, path, filename, by) as done:
        handle = os.open(done.file(EXPORTED_ROWS_FILE_NAME), os.O_RDONLY)
        return handle, JudgementFileSummary(**done.result)


def import_judgements(
    *, path: Path, filename: str, by: User | None, season: Season | None, judge: str
) -> JudgementImportResult:
    """Store the judgements of a file, except judgements that exist already. If a
    judgement of the file contradicts a stored judgement, nothing is stored. Raises
    UploadedFileRefused.
    """
    return store_judgements(
        read_judgement_file(path, filename, judge, by), season=season, by=by
    )


def store_judgements(
    given: ParsedJudgements, *, season: Season | None, by: User | None
) -> JudgementImportResult:
    """Store the new judgements of a parsed file. Raises UploadedFileRefused if a judgement of
    the file contradicts a stored judgement.
    """
    said = given.summary
    same: dict[str, Any] = {
        "kind": said.kind,
        "name": said.judge,
        "digest": said.digest,
    }
    with transaction.atomic():
        Judge.objects.get_or_create(**same, season=season)
        # Lock the rows of the judges, so that concurrent imports for these judges wait.
        judges = list(
            Judge.objects.select_for_update()
            .of_season_or_shared(season)
            .filter(**same)
            .order_by(F("season_id").asc(nulls_last=True))
        )
        source = create_judgement_import(judges[0], given.filename, given.sha256, by)
        added = known = 0
        contradictions = ProblemList()
        try:
            for rows in split_into_batches(given):
                before = _load_stored_labels(judges, rows)
                contradictions += _iterate_contradictions(rows, before, given.filename)
                new = [
                    placed.row
                    for placed in rows
                    if _build_judgement_key(placed.row) not in before
                ]
                known += len(rows) - len(new)
                added += len(new)
                if not contradictions:
                    _insert_new_judgements(source, new)
        except TooManyProblems as many:
            raise UploadedFileRefused(many.problems) from many
        if contradictions:
            raise UploadedFileRefused(contradictions)
        _update_import_counts(source, added=added, known=known)
        if added and season is not None:
            facts = {"labels": added, "model": judges[0]}
            audit.record_action(
                "labels-imported", actor=by, subject=source, place=season, facts=facts
            )
    judges[0].refresh_from_db()
    return JudgementImportResult(
        judge=judges[0], source=source, added=added, known=known
    )


def create_judgement_import(
    judge: Judge, filename: str, sha256: str, by: User | None
) -> JudgementImport:
    return JudgementImport.objects.create(
        judge=judge,
        filename=make_safe_filename(filename),
        sha256=sha256,
        added=0,
        known=0,
        imported_by=by,
    )


def append_judgements(source: JudgementImport, rows: Sequence[Row]) -> None:
    """In the caller's transaction, add judgements to an import that is not closed yet.

    Judgements that are stored already are skipped. Raises Refused if the import was
    withdrawn meanwhile.
    """
    judge = Judge.objects.select_for_update().get(pk=source.judge_id)
    source.refresh_from_db()
    if source.withdrawn_at is not None:
        raise ActionRefused(_("the import of its judgements was withdrawn"))
    stored = Judgement.objects.standing().filter(
        judge=judge, items__in={row.items for row in rows}
    )
    keys = set(stored.values_list("items", "by", "repeat"))
    new = [row for row in rows if _build_judgement_key(row) not in keys]
    _insert_new_judgements(source, new)
    source.added += len(new)
    source.save(update_fields=["added"])
    Judge.objects.filter(pk=judge.pk).update(
        decided=F("decided") + len(new), version=F("version") + 1
    )


def close_judgement_import(source: JudgementImport) -> None:
    """Store the digest of an import's judgements, and mark the scores that these
    judgements make outdated.
    """
    digest = hashlib.sha256()
    rows = source.judgements.order_by("pk").values_list(
        "items", "by", "repeat", "label"
    )
    for row in rows.iterator(chunk_size=5000):
        digest.update(f"{' '.join(map(str, row))}\n".encode())
    source.sha256 = digest.hexdigest()
    source.save(update_fields=["sha256"])
    if source.added:
        _mark_scores_outdated(source)


JUDGEMENT_COLUMNS = (
    "judge_id",
    "source_id",
    "items",
    "by",
    "repeat",
    "label",
    "score",
    "rationale",
    "at",
    "cost",
    "is_standing",
)


def _insert_new_judgements(source: JudgementImport, rows: Sequence[Row]) -> None:
    table = connection.ops.quote_name(Judgement._meta.db_table)  # noqa: SLF001  (public by name)
    columns = ", ".join(map(connection.ops.quote_name, JUDGEMENT_COLUMNS))
    places = ", ".join(["%s"] * len(JUDGEMENT_COLUMNS))
    statement = f"INSERT INTO {table} ({columns}) VALUES ({places})"  # noqa: S608  (names of ours)
    with connection.cursor() as cursor:
        cursor.executemany(
            statement,
            [
                (
                    source.judge_id,
                    source.pk,
                    row.items,
                    row.by,
                    row.repeat,
                    row.label,
                    row.score,
                    row.rationale,
                    _database_date_time(row.at),
                    row.cost,
                    True,
                )
                for row in rows
            ],
        )


def _database_date_time(text: str | None) -> Any:
    if text is None:
        return None
    return connection.ops.adapt_datetimefield_value(dt.datetime.fromisoformat(text))


def _update_import_counts(source: JudgementImport, *, added: int, known: int) -> None:
    source.added, source.known = added, known
    source.save(update_fields=["added", "known"])
    if added:
        Judge.objects.filter(pk=source.judge_id).update(
            decided=F("decided") + added, version=F("version") + 1
        )
        if added >= MIN_NEW_ROWS_FOR_ANALYZE:
            call_after_commit(update_planner_statistics, Judgement._meta.db_table)  # noqa: SLF001  (public by name)
        # Imports look for scores, and scorers for imports, after their own commits.
        call_after_commit(_mark_scores_outdated, source)


JudgementKey = tuple[str, str, int]


def _build_judgement_key(row: Row | Judgement) -> JudgementKey:
    return row.items, row.by, row.repeat


def _load_stored_labels(
    judges: Sequence[Judge], rows: Sequence[NumberedJudgement]
) -> dict[JudgementKey, str]:
    if not any(judge.decided for judge in judges):
        return {}
    found = Judgement.objects.standing().filter(
        judge__in=judges, items__in={placed.row.items for placed in rows}
    )
    wanted = {_build_judgement_key(placed.row) for placed in rows}
    known: dict[int, dict[JudgementKey, str]] = defaultdict(dict)
    for judge, items, by, repeat, label in found.values_list(
        "judge", "items", "by", "repeat", "label"
    ):
        if (items, by, repeat) in wanted:
            known[judge][items, by, repeat] = label
    merged: dict[JudgementKey, str] = {}
    for kept in reversed(judges):
        merged |= known[kept.pk]
    return merged


def _iterate_contradictions(
    rows: Sequence[NumberedJudgement], known: Mapping[JudgementKey, str], filename: str
) -> Iterator[Problem]:
    for line, row in rows:
        label = known.get(_build_judgement_key(row), row.label)
        if label == row.label:
            continue
        message = _("these items are stored as “%(label)s”") % {"label": label}
        expected = _("what a judge has said once; a further answer has “repeat”")
        if row.kind == ENTAILS_KIND and not row.by:
            message = _("this pair is stored as %(label)s") % {
                "label": int(label == ENTAILED_LABEL)
            }
            expected = _(
                "what a model has decided once; another model goes by another name"
            )
        yield Problem(file=filename, line=line, message=message, expected=expected)


def share_judge_with_all_seasons(
    *, season: Season, name: str, kind: str, by: User
) -> list[JudgementImportResult]:
    """Make a judge's judgements in one season available to all seasons. Raises
    UploadedFileRefused.

    Either all of the judge's judgements are shared, or none.
    """
    own = list(Judge.objects.filter(name=name, kind=kind, season=season).order_by("pk"))
    if not own:
        raise Judge.DoesNotExist
    with transaction.atomic():
        return [_share_judgements(judge, season, by) for judge in own]


def _share_judgements(own: Judge, season: Season, by: User) -> JudgementImportResult:
    same: dict[str, Any] = {
        "kind": own.kind,
        "name": own.name,
        "digest": own.digest,
        "season": None,
    }
    Judge.objects.get_or_create(**same)
    shared = Judge.objects.select_for_update().get(**same)
    # Organisers decide for their own season which pairs are left out.
    rows = (
        Judgement.objects.standing().filter(judge=own).exclude(by=ORGANISERS_PSEUDONYM)
    )
    there = Judgement.objects.standing().filter(judge=shared, **SAME_JUDGEMENT_FIELDS)
    otherwise = there.filter(~Q(label=OuterRef("label")))
    if contradicted := rows.filter(Exists(otherwise)).count():
        message = _(
            "%(number)s of these labels contradict those that all seasons share"
        )
        message %= {"number": contradicted}
        raise UploadedFileRefused(
            [Problem(message=message, expected=_("what a model has decided once"))]
        )
    known = rows.filter(Exists(there)).count()
    digest = hashlib.sha256()
    digest.update(format_header_line(own.kind, own.name, own.digest).encode())
    for _judge, said in iterate_judgements_of_judges([own]):
        if said.by != ORGANISERS_PSEUDONYM:
            digest.update(format_row_line(said).encode())
    source = create_judgement_import(
        shared, f"labels of {season.slug}", digest.hexdigest(), by
    )
    added = last = 0
    new = rows.exclude(Exists(there)).order_by("pk")
    while some := list(new.filter(pk__gt=last)[:ROWS_PER_SQL_STATEMENT]):
        added, last = added + len(some), some[-1].pk
        for row in some:
            row.pk, row.judge, row.source = None, shared, source
            # A rationale may quote gold that organisers of other seasons may not see.
            row.rationale = ""
        Judgement.objects.bulk_create(some)
    _update_import_counts(source, added=added, known=known)
    facts = {"labels": added, "model": shared}
    audit.record_action(
        "labels-shared", actor=by, subject=source, place=season, facts=facts
    )
    return JudgementImportResult(judge=shared, source=source, added=added, known=known)


def withdraw_judgements(
    *,
    source: JudgementImport,
    reason: str,
    by: User | None,
    season: Season | None = None,
) -> None:
    """Withdraw an import of judgements, and record this in the history of the season or
    of the judge.
    """
    with transaction.atomic():
        judge = Judge.objects.select_for_update().get(pk=source.judge_id)
        source.refresh_from_db()
        if source.withdrawn_at is not None:
            raise ActionRefused(_("this import is withdrawn already"))
        if sheet := source.sheets.published().first():
            words = _("these are judgements of sheet %(sheet)s; unpublish the sheet")
            raise ActionRefused(words % {"sheet": sheet.pk})
        now = timezone.now()
        source.withdrawn_at, source.withdrawn_by, source.reason = now, by, reason
        source.save(update_fields=["withdrawn_at", "withdrawn_by", "reason"])
        gone = source.judgements.filter(is_standing=True).update(is_standing=False)
        Judge.objects.filter(pk=judge.pk).update(
            decided=F("decided") - gone, version=F("version") + 1
        )
        used = UsedJudgements.objects.filter(imports=source, is_current=True)
        phases = set(used.values_list("evaluation__phase", flat=True))
        used.filter(outdated_at=None).update(outdated_at=now)
        for phase in phases:
            increment_board_version(phase)
        place = season or judge.season
        if place is not None:
            facts = {"labels": gone, "model": judge, "why": reason}
            audit.record_action(
                "judgements-withdrawn",
                actor=by,
                subject=source,
                place=place,
                facts=facts,
            )


def iterate_judgement_file_lines(judges: Sequence[Judge]) -> Iterator[str]:
    """Yield the judgements of the judges that are not withdrawn, as lines of a file.
    Judgements of the season itself come before judgements that all seasons share.

    If the judges have different prompts or models, each line has the digest that
    identifies its judge.
    """
    if not judges:
        return
    digests = {judge.digest for judge in judges}
    first = judges[0]
    yield format_header_line(
        first.kind, first.name, first.digest if len(digests) == 1 else ""
    )
    for judge, row in iterate_judgements_of_judges(judges):
        yield format_row_line(
            row, **({"digest": judge.digest} if len(digests) > 1 else {})
        )


def iterate_judgements_of_judges(
    judges: Sequence[Judge],
) -> Iterator[tuple[Judge, Row]]:
    """Yield the judgements of the judges, one judge after the other.

    If several judges have judged the same texts, yield only the judgements of the first
    of these judges.
    """
    for place, judge in enumerate(judges):
        rows = find_unwithdrawn_judgements(judge, judges[:place]).values_list(
            "items", "by", "repeat", "label", "score", "rationale", "at", "cost"
        )
        for items, by, repeat, label, score, rationale, at, cost in rows.iterator(
            chunk_size=5000
        ):
            said = Row(
                kind=judge.kind,
                judge=judge.name,
                digest=judge.digest,
                items=items,
                by=by,
                repeat=repeat,
                label=label,
                score=score,
                rationale=rationale,
                at=at.isoformat() if at else None,
                cost=cost,
            )
            yield judge, said


def find_unwithdrawn_judgements(
    judge: Judge, before: Sequence[Judge]
) -> QuerySet[Judgement]:
    """Return the judgements of a judge that are not withdrawn. Leave out judgements of
    texts that a judge in ``before`` has also judged.
    """
    rows = Judgement.objects.standing().filter(judge=judge).order_by("pk")
    if not before:
        return rows
    earlier = Judgement.objects.standing().filter(
        judge__in=before, items=OuterRef("items")
    )
    return rows.exclude(Exists(earlier))


@dataclass(frozen=True)
class LabelDecision:
    """The judgements of one pair of texts, with the label that results from them and
    with their imports.
    """

    judge: int
    settled: DecidedLabel
    rows: tuple[RecordedLabel, ...]
    imports: frozenset[int]


def look_up_labels(
    deciding: Sequence[Judge], items: Iterable[str]
) -> Iterator[tuple[str, LabelDecision]]:
    """For each pair of texts that at least one of the judges has judged, yield the
    resulting label.

    If several judges have judged a pair, the first of these judges decides the label.
    A decision of organisers to leave a pair out belongs to all of these judges. The
    pairs are looked up in batches.
    """
    places = {judge.pk: place for place, judge in enumerate(deciding)}
    for some in split_into_batches(items):
        rows = Judgement.objects.standing().filter(judge__in=places, items__in=some)
        by_items: dict[str, dict[int, list[tuple[RecordedLabel, int]]]] = defaultdict(
            lambda: defaultdict(list)
        )
        for judge, of, by, repeat, label, source in rows.values_list(
            "judge", "items", "by", "repeat", "label", "source"
        ):
            by_items[of][judge].append((RecordedLabel(by, repeat, label), source))
        for of, by_judge in by_items.items():
            replied = [
                judge
                for judge, said in by_judge.items()
                if any(one.by != ORGANISERS_PSEUDONYM for one, _source in said)
            ]
            first = min(replied or by_judge, key=places.__getitem__)
            left_out = [
                (one, source)
                for judge, said in by_judge.items()
                for one, source in said
                if judge != first and one.by == ORGANISERS_PSEUDONYM
            ]
            used = by_judge[first] + left_out
            given = [one for one, _source in used]
            yield (
                of,
                LabelDecision(
                    judge=first,
                    settled=decide_label(deciding[places[first]].kind, given),
                    rows=tuple(sorted(given)),
                    imports=frozenset(source for _given, source in used),
                ),
            )


def _mark_scores_outdated(source: JudgementImport) -> None:
    judge = source.judge
    used = UsedJudgements.objects.filter(
        kind=judge.kind, name=judge.name, is_current=True, outdated_at=None
    )
    if judge.season_id is not None:
        used = used.filter(evaluation__phase__task__season=judge.season_id)
    if not used.exists():
        return
    rows = source.judgements.order_by("pk").values_list("items", flat=True)
    new = np.unique(
        np.concatenate(
            [
                hash_items_to_eight_bytes(some)
                for some in split_into_batches(rows.iterator(chunk_size=5000), 5000)
            ]
        )
    )
    now = timezone.now()
    phases = set()
    for one in used.select_related("evaluation__phase__task__season").iterator():
        concerned = np.intersect1d(new, np.frombuffer(bytes(one.items), np.uint64))
        if len(concerned) and _changes_any_used_label(source, concerned, one):
            UsedJudgements.objects.filter(pk=one.pk).update(outdated_at=now)
            phases.add(one.evaluation.phase_id)
    with transaction.atomic():
        for phase in phases:
            increment_board_version(phase)


def _changes_any_used_label(
    source: JudgementImport, concerned: NDArray[np.uint64], used: UsedJudgements
) -> bool:
    wanted = set(concerned.tolist())
    season = used.evaluation.phase.task.season
    deciding = list(Judge.objects.deciding(used.name, season, used.kind))
    rows = source.judgements.values_list("items", flat=True).iterator(chunk_size=5000)
    for some in split_into_batches(rows):
        digests = hash_items_to_eight_bytes(some).tolist()
        own = [
            items
            for items, digest in zip(some, digests, strict=True)
            if digest in wanted
        ]
        if any(
            found.judge == source.judge_id
            for _of, found in look_up_labels(deciding, own)
        ):
            return True
    return False
