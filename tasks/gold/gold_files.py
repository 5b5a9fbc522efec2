"""Gold on its way into the site: packed, kept, and numbered where it is new; sealed and deleted versions."""

import hashlib
import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files import File
from django.db import transaction
from django.db.models.deletion import ProtectedError
from django.utils import timezone
from django.utils.translation import gettext as _

from citeboard.core import audit, refusals, storage
from citeboard.core.confinement import (
    UploadUnreadable,
    limits_for_organisers,
    read_upload,
)
from citeboard.teams.models import User
from tasks.delivery.webhooks.services import queue_event
from tasks.gold import early, packing, publishing
from tasks.gold.content import PACK, note_content
from tasks.gold.packing import PreparedGold, prepare_gold
from tasks.models import Gold, Phase, Task
from tasks.models.seasons import bump_version
from tasks.types import Index, InputRefused, Problem
from tasks.types.files import open_inputs
from tasks.types.problems import from_values

#: Copies of indexes on this machine; the oldest goes first.
MAX_INDEXES = 40


class EarlierGold(refusals.Refused):
    """The content is that of a version that was corrected since; it is published again only when asked to."""

    def __init__(self, earlier: Gold) -> None:
        words = _(
            "this is the content of v%(version)s of %(task)s, which has been corrected since; say that "
            "it is to be published again"
        )
        super().__init__(words % {"version": earlier.number, "task": earlier.task})


@dataclass(frozen=True, kw_only=True)
class KeptGold:
    """Prepared gold whose files stand in the gold storage, under the names that are among ``columns``."""

    digest: str
    instances: int
    columns: dict[str, Any]
    contents: tuple[bytes, ...]


def load_gold(
    *, task: Task, split: str, paths: Sequence[Path], reason: str, again: bool = True
) -> tuple[Gold, bool]:
    with tempfile.TemporaryDirectory(prefix="citeboard-gold-") as folder:
        kept = keep_gold(
            prepare_gold(task.task_type, open_inputs(paths), task.options, Path(folder))
        )
    with transaction.atomic(), early.nothing_early(task.season, by=None):
        return record_gold(
            task=task, split=split, kept=kept, reason=reason, again=again
        )


def keep_uploaded_gold(
    *, task: Task, path: Path, filename: str, by: User | None
) -> KeptGold:
    """What a file holds that came over the web, which is read in a confined process."""
    chosen = task.task_type
    arguments = {
        # The whole of a folder: participants are given some of it.
        "task_type": json.dumps(dict(chosen.declared.files))
        if chosen.declared
        else chosen.slug,
        "options": chosen.checked_options(task.options),
        "filename": filename,
    }
    limits = limits_for_organisers()
    try:
        with read_upload(PACK, path, arguments, owner=by, limits=limits) as done:
            if problems := from_values(done.result["problems"]):
                raise InputRefused(problems)
            for name in packing.FILES:
                done.file(name)
            names = ("digest", "instances", "statistics", "findings")
            return keep_gold(
                PreparedGold(
                    folder=done.folder, **{name: done.result[name] for name in names}
                )
            )
    except UploadUnreadable as unreadable:
        raise InputRefused(
            [Problem(file=filename, message=str(unreadable))]
        ) from unreadable


def keep_gold(prepared: PreparedGold) -> KeptGold:
    digest, folder = prepared.digest, prepared.folder
    stored = {"file": packing.GOLD, "index": packing.INDEX, "public": packing.PUBLIC}
    place = f"{digest[:2]}/{digest}"
    columns: dict[str, Any] = {
        column: _kept(folder / name, place) for column, name in stored.items()
    }
    columns |= {"statistics": prepared.statistics, "findings": prepared.findings}
    contents = tuple(
        (folder / name).read_bytes()
        for name in (packing.CONTENT, packing.HELD, packing.PAPERS)
    )
    return KeptGold(
        digest=digest, instances=prepared.instances, columns=columns, contents=contents
    )


def record_gold(
    *,
    task: Task,
    split: str,
    kept: KeptGold,
    reason: str,
    again: bool = True,
    anew: bool = False,
) -> tuple[Gold, bool]:
    """The version that holds it; ``anew`` makes one of the same content, of which other numbers follow."""
    with transaction.atomic():
        # Two loads at once would give the same number.
        Task.objects.select_for_update().get(pk=task.pk)
        versions = Gold.objects.filter(task=task, split=split).select_related("task")
        present = versions.order_by("-number").first()
        if present is not None and present.digest == kept.digest and not anew:
            Gold.objects.filter(pk=present.pk).update(**kept.columns)
            present.refresh_from_db()
            note_content(present, *kept.contents)
            return present, False
        earlier = versions.filter(digest=kept.digest).first()
        if earlier is not None and not (again or anew):
            raise EarlierGold(earlier)
        number = present.number + 1 if present else 1
        facts = {
            "digest": kept.digest,
            "instances": kept.instances,
            "reason": reason,
            **kept.columns,
        }
        new = Gold.objects.create(task=task, split=split, number=number, **facts)
        note_content(new, *kept.contents)
        for phase in Phase.objects.filter(task=task, split=split).order_by("pk"):
            bump_version(phase.pk)
        named = {"task": task.slug, "split": split, "version": new.number}
        queue_event("gold-published", f"gold-{new.pk}", task.season_id, **named)
        publishing.follow()
    return new, True


def gold_change(before: Gold | None, after: Gold) -> audit.Change:
    key = f"tasks.{after.task.slug}.gold.{after.split}"
    return audit.Change(key, before.digest if before else None, after.digest)


def index_of(gold: Gold) -> Index:
    """What checks an upload against this gold. It is shared between callers, who must not change it."""
    return _index(gold.index)


@lru_cache(maxsize=8)
def _index(name: str) -> Index:
    with storage.gold.open(name, "rb") as stored:
        index: Index = json.load(stored)
    return index


def index_file(gold: Gold) -> Path:
    folder: Path = settings.DATA_DIR / "checks" / "indexes"
    path = folder / f"{hashlib.sha256(gold.index.encode()).hexdigest()[:32]}.json"
    if path.exists():
        return path
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as draft:
        storage.local_copy(storage.gold, gold.index, Path(draft)).rename(path)
    for old in sorted(folder.glob("*.json"), key=lambda copy: copy.stat().st_mtime)[
        :-MAX_INDEXES
    ]:
        old.unlink(missing_ok=True)
    return path


def _kept(path: Path, folder: str) -> str:
    with path.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    name = f"{folder}/{path.stem}-{digest[:16]}{path.suffix}"
    if storage.gold.exists(name):
        if storage.gold.size(name) == path.stat().st_size:
            return name
        # Left by a load that was interrupted while it wrote.
        storage.gold.delete(name)
    with path.open("rb") as content:
        return storage.gold.save(name, File(content))


def seal_gold(*, gold: Gold, reason: str, by: User) -> Gold:
    """From now on nobody but organisers gets its files or its instances, whatever phases say."""
    with transaction.atomic():
        sealed = _locked(gold, reason)
        if sealed.sealed_at is not None:
            return sealed
        prefix = f"tasks.{sealed.task.slug}.gold.{sealed.split}."
        changes = audit.set_fields(sealed, {"sealed_at": timezone.now()}, prefix)
        _noted("gold-sealed", sealed, reason, by, changes)
    return sealed


def delete_gold(*, gold: Gold, reason: str, by: User) -> Gold:
    """Its files go where no other version has them; of a split with phases the newest stays."""
    with transaction.atomic():
        with early.nothing_early(gold.task.season, by=by):
            deleted = _locked(gold, reason)
            of_split = Gold.objects.filter(task=deleted.task_id, split=deleted.split)
            phases = Phase.objects.filter(task=deleted.task_id, split=deleted.split)
            if (
                not of_split.filter(number__gt=deleted.number).exists()
                and phases.exists()
            ):
                raise refusals.Refused(
                    _("phases are scored by v%(number)s") % {"number": deleted.number}
                )
            try:
                Gold.objects.filter(pk=deleted.pk).delete()
            except ProtectedError as counting:
                words = _("runs were scored with v%(number)s; seal it instead")
                raise refusals.Refused(words % {"number": deleted.number}) from counting
        _noted("gold-deleted", deleted, reason, by)
    return deleted


def _locked(gold: Gold, reason: str) -> Gold:
    if not reason.strip():
        raise refusals.Refused(_("say why"))
    Task.objects.select_for_update().get(pk=gold.task_id)
    return Gold.objects.select_related("task__season").get(pk=gold.pk)


def _noted(
    key: str,
    gold: Gold,
    reason: str,
    by: User,
    changes: list[audit.Change] | None = None,
) -> None:
    for phase in Phase.objects.filter(task=gold.task_id, split=gold.split).order_by(
        "pk"
    ):
        bump_version(phase.pk)
    facts = {
        "version": gold.number,
        "task": f"{gold.task}, {gold.split}",
        "reason": reason.strip(),
    }
    audit.record(
        key,
        actor=by,
        subject=gold,
        place=gold.task.season,
        facts=facts,
        changes=changes or [],
    )
