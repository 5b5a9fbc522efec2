"""Delete stored data that the site no longer needs, and run the regular sweeps."""

import datetime as dt
import logging
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from django.conf import settings
from django.contrib.sessions.models import Session
from django.core.files.storage import default_storage
from django.db import connections, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.deletion import ProtectedError
from django.utils import timezone
from django.utils.translation import gettext as _

from citeboard.core import audit, storage
from citeboard.core.models import Limit
from citeboard.core.outages import (
    DATABASE_SERVICE,
    find_outage,
    log_database_error,
    log_outage,
    log_recovery,
)
from citeboard.core.refusals import ActionRefused
from citeboard.core.storage import FolderStorage
from citeboard.core.words import count_with_noun
from citeboard.core.writability import delete_old_heartbeats
from citeboard.teams.membership import delete_expired_invitations
from citeboard.teams.models import User
from scoring import models
from scoring.receipts import log as receipts
from scoring.results.board import (
    comparison_state as board_orders,
    monthly_ranks,
    snapshots,
)
from scoring.results.runs.confirming import notify_leads_of_due_phases
from scoring.worker import background, rescoring
from scoring.worker.local_copies import remove_leftovers
from tasks.delivery.notifications.events import send_deadline_reminders
from tasks.gold import drafts
from tasks.gold.content import compute_missing_gold_digests
from tasks.gold.publishing import compare_new_publications
from tasks.jobs.deliveries import send_due_deliveries
from tasks.jobs.engine import list_orphaned_jobs
from tasks.jobs.interruptions import DATABASE_ERRORS
from tasks.jobs.mails import send_due_mails
from tasks.jobs.sweeper import sweep_jobs
from tasks.models import (
    Delivery,
    Gold,
    Job,
    Notification,
    Phase,
    Season,
    Submission,
    Task,
)
from tasks.models.notifications import NotificationKind
from tasks.seasons import history
from tasks.submissions.uploads import MIN_FILE_AGE_FOR_REMOVAL, remove_abandoned_files

#: A transaction deletes at most MAX_ROWS_PER_TRANSACTION rows, so that other transactions wait briefly.
MAX_ROWS_PER_TRANSACTION = 500


@dataclass(frozen=True, kw_only=True)
class PruningResult:
    what: str
    count: int
    size: int = 0


#: ROWS_DELETABLE_BY_AGE contains the notifications and deliveries that operators may delete by age.
#: ROWS_DELETABLE_BY_AGE excludes requests to confirm results, which the site would send again.
ROWS_DELETABLE_BY_AGE: dict[str, QuerySet[Any]] = {
    "notifications": Notification.objects.exclude(
        kind=NotificationKind.CONFIRM
    ).exclude(job__state__in=Job.MOVING),
    "deliveries": Delivery.objects.exclude(job__state__in=Job.MOVING),
}


def delete_unneeded_data(
    *, dry_run: bool, days: Mapping[str, int] | None = None
) -> Iterator[PruningResult]:
    """Delete unneeded rows and files of the site, and yield the number of deleted items
    of each kind.

    ``days`` maps keys of ROWS_DELETABLE_BY_AGE to the maximum age of the rows in days.
    """
    now = timezone.now()
    for what, number in (days or {}).items():
        old = ROWS_DELETABLE_BY_AGE[what].filter(
            created_at__lt=now - dt.timedelta(days=number)
        )
        yield _delete_rows(
            f"{what} older than {count_with_noun(number, 'day')}", old, dry_run=dry_run
        )
    yield _delete_rows(
        "expired sessions", Session.objects.filter(expire_date__lt=now), dry_run=dry_run
    )
    yield _delete_rows(
        "expired counts",
        Limit.objects.filter(expires_at__lt=now.timestamp()),
        dry_run=dry_run,
    )
    yield _delete_rows("orphaned jobs", list_orphaned_jobs(), dry_run=dry_run)
    old = find_superseded_evaluations()
    matrices = {}
    for name in list(old.values_list("statistics", flat=True)):
        with suppress(FileNotFoundError):
            matrices[build_storage_path(storage.statistics_file_storage, name)] = (
                storage.statistics_file_storage.size(name)
            )
    of_old = {"evaluation__in": old.values("pk")}
    pairs = Q(first__in=old.values("pk")) | Q(second__in=old.values("pk"))
    yield _delete_rows(
        "superseded breakdowns",
        models.Breakdown.objects.filter(**of_old),
        dry_run=dry_run,
    )
    yield _delete_rows(
        "superseded comparisons",
        models.Comparison.objects.filter(pairs),
        dry_run=dry_run,
    )
    yield PruningResult(
        what="superseded statistics", count=len(matrices), size=sum(matrices.values())
    )
    if not dry_run:
        # No row may name a missing file, so the column is cleared before the deletion.
        # If a deletion is interrupted, a later pruning deletes the orphaned file.
        for pk, name in list(old.values_list("pk", "statistics")):
            if models.Evaluation.objects.filter(pk=pk, statistics=name).update(
                statistics=""
            ):
                storage.statistics_file_storage.delete(name)
    # Only old files are deleted, because running requests may need newer files.
    left = {
        build_storage_path(folder, entry.name): entry.size
        for folder in storage.FOLDER_STORAGES
        for entry in folder.entries("")
        if entry.modified < now - MIN_FILE_AGE_FOR_REMOVAL
        and not _is_unconfirmed_draft_file(folder, entry.name)
    }
    # Rows are read after the files were listed, so the list lacks files of newer rows.
    spared = {file.name for file in list_referenced_files()} | matrices.keys()
    without_row = {name: size for name, size in left.items() if name not in spared}
    yield PruningResult(
        what="orphaned files", count=len(without_row), size=sum(without_row.values())
    )
    if not dry_run:
        for name in without_row:
            default_storage.delete(name)


def _is_unconfirmed_draft_file(folder: FolderStorage, name: str) -> bool:
    """Return True if a stored file belongs to an unconfirmed draft of a task.

    A regular sweep, not the pruning, deletes expired drafts.
    """
    return folder is storage.gold_file_storage and name.startswith(
        f"{drafts.DRAFT_FOLDER}/"
    )


def find_superseded_evaluations() -> QuerySet[models.Evaluation]:
    newer = models.Evaluation.objects.filter(
        submission=OuterRef("submission"),
        rules=OuterRef("rules"),
        gold__number__gt=OuterRef("gold__number"),
    )
    return (
        models.Evaluation.objects.filter(Exists(newer))
        .exclude(statistics="")
        .order_by("pk")
    )


def _delete_rows(what: str, rows: QuerySet[Any], *, dry_run: bool) -> PruningResult:
    count = rows.count()
    while not dry_run and (
        some := list(rows.values_list("pk", flat=True)[:MAX_ROWS_PER_TRANSACTION])
    ):
        rows.model._default_manager.filter(pk__in=some).delete()  # noqa: SLF001  (public by name)
    return PruningResult(what=what, count=count)


MODEL_FILE_COLUMNS = (
    (Submission, "file", storage.run_file_storage),
    (Gold, "file", storage.gold_file_storage),
    (Gold, "index", storage.gold_file_storage),
    (Gold, "public", storage.gold_file_storage),
    (models.Evaluation, "statistics", storage.statistics_file_storage),
    (models.JudgedRun, "file", storage.statistics_file_storage),
    (models.EstimateSheet, "file", storage.statistics_file_storage),
    (models.EstimateSheet, "people", storage.statistics_file_storage),
    (models.PendingLabels, "file", storage.statistics_file_storage),
    (models.BackgroundJob, "file", storage.statistics_file_storage),
)
#: The name of a gold file ends with the first 16 digits of its checksum.
#: In a gold file's name, a suffix after the checksum avoids a duplicate name.
_FILE_NAME_CHECKSUM_PATTERN = re.compile(r"-([0-9a-f]{16})(?:_\w+)?\.\w+$")


class ReferencedFile(NamedTuple):
    name: str
    sha256: str


def list_referenced_files() -> Iterator[ReferencedFile]:
    for model, column, folder in MODEL_FILE_COLUMNS:
        wanted = (column, "sha256") if hasattr(model, "sha256") else (column,)
        rows = model._default_manager.exclude(**{column: ""}).order_by()  # noqa: SLF001  (public by name)
        for name, *digest in rows.values_list(*wanted).iterator():
            in_name = (
                _FILE_NAME_CHECKSUM_PATTERN.search(name)
                if folder is storage.gold_file_storage
                else None
            )
            yield ReferencedFile(
                build_storage_path(folder, name),
                digest[0] if digest else in_name[1] if in_name else "",
            )


def build_storage_path(folder: FolderStorage, name: str) -> str:
    return f"{folder.folder}/{name}"


def delete_task(*, task: Task, by: User) -> bool:
    """Delete a task, and return True if gold or baseline runs were deleted with the
    task, which nobody can take back.
    """
    phases = Phase.objects.filter(task=task)
    with transaction.atomic():
        gold = Gold.objects.filter(task=task)
        has_more = _delete_gold_and_baseline_runs(task.season, phases, gold)
        history.delete_task(task=task, by=by)
    return has_more


def delete_phase(*, phase: Phase, by: User) -> bool:
    """Delete a phase, and return True if baseline runs were deleted with the phase,
    which nobody can take back.
    """
    with transaction.atomic():
        phases = Phase.objects.filter(pk=phase.pk)
        has_more = _delete_gold_and_baseline_runs(
            phase.task.season, phases, Gold.objects.none()
        )
        history.delete_phase(phase=phase, by=by)
    return has_more


def _delete_gold_and_baseline_runs(
    season: Season, phases: QuerySet[Phase], gold: QuerySet[Gold]
) -> bool:
    """Delete the gold and the baseline runs of phases in a draft season.

    The function deletes nothing if the season was ever public or if teams have
    submitted runs. Returns True if the function deleted any rows.

    The receipts of a deleted run are also deleted, but the log of receipts keeps the
    entries.
    """
    season = Season.objects.select_for_update().get(pk=season.pk)
    runs = Submission.objects.filter(phase__in=phases)
    if season.is_public or season.was_public or runs.exclude(team=None).exists():
        return False
    has_more = runs.exists() or gold.exists()
    try:
        with transaction.atomic():
            models.Snapshot.objects.filter(phase__in=phases).delete()
            runs.delete()
            gold.delete()
    except ProtectedError:
        return False
    return has_more


def delete_season(*, season: Season, by: User) -> None:
    """Delete a season with its gold, baseline runs, settings and entries of teams. The
    deletion of a season is permanent.
    """
    with transaction.atomic():
        season = Season.objects.select_for_update().get(pk=season.pk)
        if season.is_public or season.was_public:
            if season.is_public:
                message = _(
                    "%(season)s is public, and stays; its settings can make it a draft"
                )
            else:
                message = _(
                    "%(season)s was public, and stays; its settings can make it a draft"
                )
            raise ActionRefused(message % {"season": season})
        if Submission.objects.filter(
            phase__task__season=season, team__isnull=False
        ).exists():
            raise ActionRefused(
                _("%(season)s has runs of teams, which stay") % {"season": season}
            )
        facts = {"season": season, "address": season.slug}
        audit.record_action(
            "season-deleted", actor=by, subject=season, place=season, facts=facts
        )
        try:
            models.Snapshot.objects.filter(phase__task__season=season).delete()
            Submission.objects.filter(phase__task__season=season).delete()
            Gold.objects.filter(task__season=season).delete()
            season.delete()
        except ProtectedError as kept:
            names = {
                str(row._meta.verbose_name_plural)  # noqa: SLF001
                for row in kept.protected_objects
            }
            refused = _("%(season)s has what the site keeps: %(names)s")
            raise ActionRefused(
                refused % {"season": season, "names": ", ".join(sorted(names))}
            ) from kept


#: Each step of a sweep has a log message for its result.
SWEEP_STEP_MESSAGES: dict[Callable[[], object], str] = {
    sweep_jobs: "{}",
    background.delete_old_background_jobs: "{} old background jobs forgotten",
    compute_missing_gold_digests: "{} versions of gold read for what they share with others",
    compare_new_publications: "{} published versions of gold held against those of others",
    rescoring.queue_rescoring_jobs: "{} scorings queued again",
    board_orders.queue_outdated_board_comparisons: "{} boards to be compared",
    monthly_ranks.save_due_monthly_ranks: "{} rankings of the month drawn up",
    snapshots.save_due_snapshots: "{} boards kept as they stood",
    rescoring.request_rescoring_of_stale_phases: "{} phases of which other scores are told now",
    remove_leftovers: "{} folders of gone workers removed",
    remove_abandoned_files: "{} files of uploads that broke off removed",
    drafts.remove_old_gold_drafts: "{} drafts that nobody confirmed removed",
    send_deadline_reminders: "{} people reminded of a deadline",
    receipts.create_or_extend_receipt_log: "{} receipts entered in the log",
    notify_leads_of_due_phases: "{} leads told of results that wait to be confirmed",
    delete_old_heartbeats: "{} machines that are gone forgotten",
    delete_expired_invitations: "{} ended invitations forgotten",
}
#: A separate thread runs the steps in POSTING_STEP_MESSAGES, which wait for mail servers or webhooks.
POSTING_STEP_MESSAGES: dict[Callable[[], object], str] = {
    send_due_mails: "{} e-mails sent",
    send_due_deliveries: "{} events posted",
}

STORAGE_SERVICE_NAME = "storage"

Result = TypeVar("Result")

log = logging.getLogger(__name__)


def post_mails_and_events_until(ended: threading.Event) -> None:
    while not ended.is_set():
        for step in POSTING_STEP_MESSAGES:
            run_step_safely(step)
        ended.wait(settings.SWEEP_SECONDS)


def run_posting_steps() -> list[str]:
    results = (
        (run_step_safely(step), words) for step, words in POSTING_STEP_MESSAGES.items()
    )
    return [words.format(result) for result, words in results if result is not None]


def run_sweep_steps() -> list[str]:
    results = (
        (run_step_safely(step), words) for step, words in SWEEP_STEP_MESSAGES.items()
    )
    done = [words.format(result) for result, words in results if result is not None]
    if len(done) == len(SWEEP_STEP_MESSAGES):
        log_recovery(DATABASE_SERVICE)
        log_recovery(STORAGE_SERVICE_NAME)
    return done


def run_step_safely(step: Callable[[], Result]) -> Result | None:
    """Return the result of a step of the regular sweep, or None if the step failed.

    The next sweep runs a failed step again.
    """
    name = getattr(step, "__name__", "a step")
    try:
        return step()
    except DATABASE_ERRORS as reason:
        log_database_error(reason, f"sweeping is put off, {name} first")
    except Exception as reason:
        if find_outage(reason) is None:
            log.exception("Sweeping: %s failed", name)
        else:
            log_outage(
                STORAGE_SERVICE_NAME, f"sweeping is put off, {name} first: {reason}"
            )
    connections.close_all()
    return None
