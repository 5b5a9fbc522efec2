"""What a site keeps and nobody needs any more: found first, so that a dry run says what would go."""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.contrib.sessions.models import Session
from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.deletion import ProtectedError
from django.utils import timezone
from django.utils.translation import gettext as _

from citeboard.core import audit, storage
from citeboard.core.models import Limit
from citeboard.core.storage import FolderStorage
from citeboard.teams.models import User
from scoring.models import (
    BackgroundJob,
    Breakdown,
    Comparison,
    Evaluation,
    JudgedRun,
    PendingLabels,
    Snapshot,
)
from tasks.jobs.engine import orphaned
from tasks.models import Gold, Season, Submission
from tasks.seasons.history import NotDeleted
from tasks.submissions.uploads import SAFE_AGE

#: Rows that one transaction removes, so that nobody waits long for it.
AT_ONCE = 500


@dataclass(frozen=True, kw_only=True)
class Pruned:
    what: str
    count: int
    size: int = 0


def prune(*, dry_run: bool) -> Iterator[Pruned]:
    now = timezone.now()
    yield _rows("expired sessions", Session.objects.filter(expire_date__lt=now), dry_run=dry_run)
    yield _rows("expired counts", Limit.objects.filter(expires_at__lt=now.timestamp()), dry_run=dry_run)
    yield _rows("orphaned jobs", orphaned(), dry_run=dry_run)
    old = superseded()
    matrices = {}
    for name in list(old.values_list("statistics", flat=True)):
        with suppress(FileNotFoundError):
            matrices[full_name(storage.statistics, name)] = storage.statistics.size(name)
    of_old = {"evaluation__in": old.values("pk")}
    pairs = Q(first__in=old.values("pk")) | Q(second__in=old.values("pk"))
    yield _rows("superseded breakdowns", Breakdown.objects.filter(**of_old), dry_run=dry_run)
    yield _rows("superseded comparisons", Comparison.objects.filter(pairs), dry_run=dry_run)
    yield Pruned(what="superseded statistics", count=len(matrices), size=sum(matrices.values()))
    if not dry_run:
        # Row first: a file without a row is orphaned, and a row without its file would be lost.
        for pk, name in list(old.values_list("pk", "statistics")):
            if Evaluation.objects.filter(pk=pk, statistics=name).update(statistics=""):
                storage.statistics.delete(name)
    # Left alone for longer than a request lives.
    left = {
        full_name(folder, entry.name): entry.size
        for folder in storage.FOLDERS
        for entry in folder.entries("")
        if entry.modified < now - SAFE_AGE
    }
    # Asked after the files were found: a row that is written later belongs to a file that is younger.
    spared = {file.name for file in named_files()} | matrices.keys()
    without_row = {name: size for name, size in left.items() if name not in spared}
    yield Pruned(what="orphaned files", count=len(without_row), size=sum(without_row.values()))
    if not dry_run:
        for name in without_row:
            default_storage.delete(name)


def superseded() -> QuerySet[Evaluation]:
    newer = Evaluation.objects.filter(
        submission=OuterRef("submission"), rules=OuterRef("rules"), gold__number__gt=OuterRef("gold__number")
    )
    return Evaluation.objects.filter(Exists(newer)).exclude(statistics="").order_by("pk")


def _rows(what: str, rows: QuerySet[Any], *, dry_run: bool) -> Pruned:
    count = rows.count()
    while not dry_run and (some := list(rows.values_list("pk", flat=True)[:AT_ONCE])):
        rows.model._default_manager.filter(pk__in=some).delete()  # noqa: SLF001  (public by name)
    return Pruned(what=what, count=count)


COLUMNS = (
    (Submission, "file", storage.runs),
    (Gold, "file", storage.gold),
    (Gold, "index", storage.gold),
    (Gold, "public", storage.gold),
    (Evaluation, "statistics", storage.statistics),
    (JudgedRun, "file", storage.statistics),
    (PendingLabels, "file", storage.statistics),
    (BackgroundJob, "file", storage.statistics),
)
#: Names of gold end with the beginning of their checksum; a storage may have added to a name that was taken.
_CHECKSUM_IN_NAME = re.compile(r"-([0-9a-f]{16})(?:_\w+)?\.\w+$")


class NamedFile(NamedTuple):
    name: str
    sha256: str


def named_files() -> Iterator[NamedFile]:
    for model, column, folder in COLUMNS:
        has_digest = hasattr(model, "sha256")
        wanted = (column, "sha256") if has_digest else (column,)
        rows = model._default_manager.exclude(**{column: ""}).order_by()  # noqa: SLF001  (public by name)
        for name, *digest in rows.values_list(*wanted).iterator():
            in_name = _CHECKSUM_IN_NAME.search(name) if folder is storage.gold else None
            known = digest[0] if digest else in_name[1] if in_name else ""
            yield NamedFile(full_name(folder, name), known)


def full_name(folder: FolderStorage, name: str) -> str:
    return f"{folder.folder}/{name}"


def delete_season(*, season: Season, by: User) -> None:
    """With its gold, baselines, settings and entries of teams; it cannot be brought back."""
    with transaction.atomic():
        season = Season.objects.select_for_update().get(pk=season.pk)
        if season.is_public or season.was_public:
            if season.is_public:
                words = _("%(season)s is public, and stays; its settings can make it a draft")
            else:
                words = _("%(season)s was public, and stays; its settings can make it a draft")
            raise NotDeleted(words % {"season": season})
        if Submission.objects.filter(phase__task__season=season, team__isnull=False).exists():
            raise NotDeleted(_("%(season)s has runs of teams, which stay") % {"season": season})
        facts = {"season": season, "address": season.slug}
        audit.record("season-deleted", actor=by, subject=season, place=season, facts=facts)
        try:
            Snapshot.objects.filter(phase__task__season=season).delete()
            Submission.objects.filter(phase__task__season=season).delete()
            Gold.objects.filter(task__season=season).delete()
            season.delete()
        except ProtectedError as kept:
            names = {str(row._meta.verbose_name_plural) for row in kept.protected_objects}  # noqa: SLF001
            refused = _("%(season)s has what the site keeps: %(names)s")
            raise NotDeleted(refused % {"season": season, "names": ", ".join(sorted(names))}) from kept
