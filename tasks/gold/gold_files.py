"""Pack, store and number new versions of gold, and seal and delete versions."""

import hashlib
import io
import json
import secrets
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import IO, Any, cast

from django.conf import settings
from django.core.files import File
from django.db import transaction
from django.db.models.deletion import ProtectedError
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _

from citeboard.core import audit, refusals, storage
from citeboard.core.confinement import (
    UploadUnreadable,
    build_organiser_upload_limits,
    read_upload,
)
from citeboard.teams.models import User
from tasks.delivery.webhooks.services import queue_webhook_event
from tasks.gold import early, packing, publishing
from tasks.gold.content import (
    GOLD_PACKING_FUNCTION,
    hand_option_files_to_sandbox,
    store_gold_digests,
)
from tasks.gold.packing import PreparedGold, prepare_gold
from tasks.models import Gold, Phase, Task
from tasks.models.seasons import increment_board_version
from tasks.types import Index, InputRefused, Options, Problem, TaskType
from tasks.types.base import CURRENT_DIGEST_RULE
from tasks.types.digests import NONCE_BYTES, compute_salted_digest
from tasks.types.files import (
    CURRENT_PARSING_RULES_VERSION,
    NONCE_FILE_NAME,
    STARTING_KIT_FOLDER,
    InputFile,
    open_files_of_all_inputs,
    open_starting_kit_files,
)
from tasks.types.given_order import (
    has_secret_candidate_order,
    reorder_candidates_of_index,
    reorder_candidates_of_public_files,
)
from tasks.types.problems import convert_dicts_to_problems

#: This machine caches the files of the newest `MAX_CACHED_INSTANCE_INDEXES` indexes.
MAX_CACHED_INSTANCE_INDEXES = 40
#: A downloaded gold archive of more than `MAX_ARCHIVE_BYTES_IN_MEMORY` bytes is a temporary file.
MAX_ARCHIVE_BYTES_IN_MEMORY = 8 << 20


class GoldEqualsCorrectedVersion(refusals.ActionRefused):
    """An error about new gold that equals an old version of the gold that a later
    version corrected. Organisers can still publish the corrected content again by an
    explicit request.
    """

    def __init__(self, earlier: Gold) -> None:
        message = _(
            "this is the content of v%(version)s of %(task)s, which has been corrected "
            "since; confirm that it is to be published again"
        )
        super().__init__(message % {"version": earlier.number, "task": earlier.task})


@dataclass(frozen=True, kw_only=True)
class StoredGold:
    """Prepared gold whose files are stored, with the stored names as values of
    ``columns``. ``digests`` maps each digest rule to the gold's unsalted digest.
    """

    digests: dict[str, str]
    instances: int
    columns: dict[str, Any]
    contents: tuple[bytes, ...]
    reading: int = CURRENT_PARSING_RULES_VERSION
    nonce: str = ""


def load_gold(
    *, task: Task, split: str, paths: Sequence[Path], reason: str, again: bool = True
) -> tuple[Gold, bool]:
    with tempfile.TemporaryDirectory(prefix="citeboard-gold-") as folder:
        gold = Gold.objects.filter(task=task, split=split).order_by("-number").first()
        prepared = prepare_gold_by_rules_of_version(
            gold, task.task_type, paths, task.options, Path(folder)
        )
        nonce = packing.find_matching_nonce(paths, prepared.digest)
        kept = store_prepared_gold(replace(prepared, nonce=nonce))
    with transaction.atomic(), early.refuse_early_disclosure(task.season, by=None):
        return record_gold_version(
            task=task, split=split, kept=kept, reason=reason, again=again
        )


def prepare_gold_by_rules_of_version(
    present: Gold | None,
    task_type: TaskType,
    paths: Sequence[Path],
    options: Mapping[str, str],
    folder: Path,
) -> PreparedGold:
    """Read the uploaded files of gold.

    If the content equals the version ``present``, the parsing rules of this version are
    used, otherwise the newest parsing rules. Raises InputRefused.
    """
    kit = [file for path in paths for file in open_starting_kit_files(path)]
    if present is not None and present.reading_version < CURRENT_PARSING_RULES_VERSION:
        files = open_files_of_all_inputs(paths, reading=present.reading_version)
        with suppress(InputRefused):
            prepared = prepare_gold(task_type, files, options, folder, kit)
            if present.holds(prepared.digests):
                return prepared
    return prepare_gold(
        task_type, open_files_of_all_inputs(paths), options, folder, kit
    )


def store_uploaded_gold(
    *,
    task: Task,
    path: Path,
    filename: str,
    by: User | None,
    reading: int = CURRENT_PARSING_RULES_VERSION,
    encoding: str = "",
) -> StoredGold:
    """Read an uploaded gold file in a sandboxed process and store the gold."""
    with prepare_uploaded_gold(
        task.task_type,
        task.options,
        path,
        filename,
        by,
        reading=reading,
        encoding=encoding,
    ) as prepared:
        # Only an export of a complete season may contain a nonce.
        return store_prepared_gold(replace(prepared, nonce=""))


@contextmanager
def prepare_uploaded_gold(
    chosen: TaskType,
    options: Options,
    path: Path,
    filename: str,
    by: User | None,
    *,
    reading: int = CURRENT_PARSING_RULES_VERSION,
    encoding: str = "",
    inputs: int = 0,
) -> Iterator[PreparedGold]:
    """Yield gold that a sandboxed process has read and packed. The packed files are
    removed at the end of the block. Raises InputRefused.

    If ``inputs`` is not 0, the uploaded file is an archive with this number of separate
    inputs. The files of each input are in a folder whose name is the input's number.
    """
    handed = hand_option_files_to_sandbox(chosen, options)
    arguments = {
        # All files of a declared task are passed, since participants get some of them.
        "task_type": json.dumps(dict(chosen.declared.files))
        if chosen.declared
        else chosen.slug,
        "options": handed.options,
        "filename": filename,
        "reading": reading,
        "encoding": encoding,
        "inputs": inputs,
    }
    limits = build_organiser_upload_limits()
    try:
        with read_upload(
            GOLD_PACKING_FUNCTION,
            path,
            arguments,
            owner=by,
            limits=limits,
            files=handed.files,
        ) as done:
            if problems := convert_dicts_to_problems(done.result["problems"]):
                raise InputRefused(problems)
            for name in packing.PACKED_FILE_NAMES:
                done.file(name)
            names = (
                "digests",
                "instances",
                "statistics",
                "findings",
                "trivial",
                "nonce",
                "rows",
                "reading",
            )
            facts = {name: done.result[name] for name in names}
            yield PreparedGold(folder=done.folder, **facts)
    except UploadUnreadable as unreadable:
        raise InputRefused(
            [Problem(file=filename, message=str(unreadable))]
        ) from unreadable


def store_prepared_gold(prepared: PreparedGold) -> StoredGold:
    folder = prepared.folder
    # Names of files are visible in URLs, so an HMAC of the gold's digest is the name.
    named = salted_hmac("tasks.gold.files", prepared.digest, algorithm="sha256")
    digest = named.hexdigest()
    stored = {
        "file": packing.GOLD,
        "index": packing.INDEX_FILE_NAME,
        "public": packing.PUBLIC_ARCHIVE_NAME,
    }
    place = f"{digest[:2]}/{digest}"
    columns: dict[str, Any] = {
        column: _store_gold_file(folder / name, place)
        for column, name in stored.items()
    }
    kept = ("statistics", "findings", "trivial", "rows")
    columns |= {name: getattr(prepared, name) for name in kept}
    contents = tuple(
        (folder / name).read_bytes()
        for name in (
            packing.INSTANCE_DIGESTS_FILE_NAME,
            packing.HELD_DIGESTS_FILE_NAME,
            packing.PAPER_DIGESTS_FILE_NAME,
        )
    )
    return StoredGold(
        digests=prepared.digests,
        instances=prepared.instances,
        columns=columns,
        contents=contents,
        reading=prepared.reading,
        nonce=prepared.nonce,
    )


def record_gold_version(
    *,
    task: Task,
    split: str,
    kept: StoredGold,
    reason: str,
    again: bool = True,
    anew: bool = False,
) -> tuple[Gold, bool]:
    """Return the version of gold with the content of ``kept``, and True if the version
    is new. If ``anew`` is True, always create a version, because the same content will
    now give other scores.
    """
    with transaction.atomic():
        # The lock keeps simultaneous loads from creating two versions with one number.
        Task.objects.select_for_update().get(pk=task.pk)
        versions = Gold.objects.filter(task=task, split=split).select_related("task")
        present = versions.order_by("-number").first()
        if present is not None and present.holds(kept.digests) and not anew:
            if (
                present.has_same_order_as(kept.digests)
                and present.reading_version == kept.reading
            ):
                key = present.nonce, present.reading_version
                columns = kept.columns | _store_candidates_in_secret_order(
                    task, kept.columns, *key
                )
                Gold.objects.filter(pk=present.pk).update(**columns)
                present.refresh_from_db()
                store_gold_digests(present, *kept.contents)
            elif columns := _store_archives_with_new_kit(kept, present):
                Gold.objects.filter(pk=present.pk).update(**columns)
                present.refresh_from_db()
            return present, False
        earlier = next((gold for gold in versions if gold.holds(kept.digests)), None)
        if earlier is not None and not (again or anew):
            raise GoldEqualsCorrectedVersion(earlier)
        number = present.number + 1 if present else 1
        facts = {
            **_make_public_digest_fields(task.season_id, kept),
            "digests": kept.digests,
            "reading_version": kept.reading,
            "instances": kept.instances,
            "reason": reason,
            **kept.columns,
        }
        key = facts["nonce"], facts["reading_version"]
        facts |= _store_candidates_in_secret_order(task, facts, *key)
        new = Gold.objects.create(task=task, split=split, number=number, **facts)
        store_gold_digests(new, *kept.contents)
        for phase in Phase.objects.filter(task=task, split=split).order_by("pk"):
            increment_board_version(phase.pk)
        named = {"task": task.slug, "split": split, "version": new.number}
        queue_webhook_event("gold-published", f"gold-{new.pk}", task.season_id, **named)
        publishing.compare_publications_on_commit()
    return new, True


def _store_candidates_in_secret_order(
    task: Task, columns: Mapping[str, Any], nonce: str, reading: int
) -> dict[str, str]:
    """Store the index and the public inputs again with candidates in an order that the
    secret nonce of the gold determines. Return the names of the stored files.
    """
    task_type = task.task_type
    if not has_secret_candidate_order(task_type, nonce, reading):
        return {}
    with tempfile.TemporaryDirectory(prefix="citeboard-gold-") as folder:
        index, public = (
            Path(folder) / packing.INDEX_FILE_NAME,
            Path(folder) / packing.PUBLIC_ARCHIVE_NAME,
        )
        with storage.gold_file_storage.open(columns["index"], "rb") as stored:
            ordered = reorder_candidates_of_index(json.load(stored), nonce)
        text = json.dumps(ordered, ensure_ascii=False, separators=(",", ":"))
        index.write_text(text, encoding="utf-8")
        with (
            storage.gold_file_storage.open(columns["public"], "rb") as stored,
            zipfile.ZipFile(stored) as archive,
        ):
            names = archive.namelist()
            kit = [name for name in names if name.startswith(f"{STARTING_KIT_FOLDER}/")]
            given = [(name, archive.read(name)) for name in names if name not in kit]
            packing.write_zip_archive(
                public,
                [
                    *(
                        (name, partial(io.BytesIO, content))
                        for name, content in reorder_candidates_of_public_files(
                            task_type, given, nonce
                        )
                    ),
                    *((name, partial(archive.open, name)) for name in kit),
                ],
            )
        place = columns["file"].rpartition("/")[0]
        return {
            "index": _store_gold_file(index, place),
            "public": _store_gold_file(public, place),
        }


def _store_archives_with_new_kit(kept: StoredGold, present: Gold) -> dict[str, str]:
    """Store the archives of a version again with the additional files for participants
    from ``kept``. The gold of ``kept`` has the same content in another order. Return
    the names of the stored files. Raises InputRefused.
    """
    if _read_kit_checksums(kept.columns["public"]) == read_kit_checksums_of_gold(
        present
    ):
        return {}
    place = present.file.rpartition("/")[0]
    columns = {}
    with (
        tempfile.TemporaryDirectory(prefix="citeboard-gold-") as folder,
        _open_stored_files(kept.columns["public"]) as given,
    ):
        kit = [
            file for file in given if file.name.startswith(f"{STARTING_KIT_FOLDER}/")
        ]
        for column, base in (
            ("file", packing.GOLD),
            ("public", packing.PUBLIC_ARCHIVE_NAME),
        ):
            path = Path(folder) / base
            with _open_stored_files(getattr(present, column)) as stored:
                own = [
                    file
                    for file in stored
                    if not file.name.startswith(f"{STARTING_KIT_FOLDER}/")
                ]
                if column == "file":
                    packing.refuse_unsafe_kit(kit, own, Path(folder))
                files = [(file.name, file.open) for file in (*own, *kit)]
                packing.write_zip_archive(path, files)
            columns[column] = _store_gold_file(path, place)
    return columns


@contextmanager
def _open_stored_files(name: str) -> Iterator[list[InputFile]]:
    with (
        storage.gold_file_storage.open(name, "rb") as stored,
        zipfile.ZipFile(stored) as archive,
    ):
        yield [
            InputFile(inside, inside, partial(archive.open, inside))
            for inside in archive.namelist()
        ]


def read_kit_checksums_of_gold(gold: Gold) -> dict[str, tuple[int, int]]:
    """Return the size and checksum of each additional file for participants, by file
    name.

    Return an empty dictionary if the archive of the inputs is missing or damaged.
    """
    return _read_kit_checksums(gold.public)


def _read_kit_checksums(name: str) -> dict[str, tuple[int, int]]:
    try:
        with (
            storage.gold_file_storage.open(name, "rb") as stored,
            zipfile.ZipFile(stored) as archive,
        ):
            members = archive.infolist()
    except (OSError, zipfile.BadZipFile):
        return {}
    return {
        member.filename: (member.file_size, member.CRC)
        for member in members
        if member.filename.startswith(f"{STARTING_KIT_FOLDER}/")
    }


@lru_cache(maxsize=256)
def _has_archive_starting_kit(name: str) -> bool:
    with (
        storage.gold_file_storage.open(name, "rb") as stored,
        zipfile.ZipFile(stored) as archive,
    ):
        return any(
            inside.startswith(f"{STARTING_KIT_FOLDER}/")
            for inside in archive.namelist()
        )


def has_starting_kit(gold: Gold) -> bool:
    """Return True if the archive of the inputs also contains additional files for
    participants. Return False if the archive is missing or damaged.
    """
    try:
        return _has_archive_starting_kit(gold.public)
    except (OSError, zipfile.BadZipFile):
        return False


def open_public_inputs_without_kit(gold: Gold) -> IO[bytes]:
    """Return the archive of the inputs without the additional files. Command-line
    clients of release 0.3.0 would treat additional files as inputs.
    """
    archive = tempfile.NamedTemporaryFile(prefix="citeboard-inputs-")  # noqa: SIM115  (the caller closes it)
    with _open_stored_files(gold.public) as files:
        own = [
            file
            for file in files
            if not file.name.startswith(f"{STARTING_KIT_FOLDER}/")
        ]
        packing.write_zip_archive(
            Path(archive.name), [(file.name, file.open) for file in own]
        )
    return cast("IO[bytes]", archive)


def record_kit_change(
    gold: Gold, before: Mapping[str, tuple[int, int]], by: User | None
) -> None:
    """Record in the history of the season that the additional files of a version were
    changed.
    """
    kit = read_kit_checksums_of_gold(gold)
    if kit == before:
        return
    facts = {"version": gold.number, "task": gold.task, "files": len(kit)}
    place = gold.task.season
    audit.record_action("kit-changed", actor=by, subject=gold, place=place, facts=facts)


def _make_public_digest_fields(season: int, kept: StoredGold) -> dict[str, Any]:
    """Return the public key (digest) of a new version of gold. Versions with equal
    content in one season have the same public key.

    Different seasons have different keys, so that equal keys do not reveal equal gold.
    An exported season contains the nonce, so that the public key stays the same.
    """
    known = Gold.objects.filter(task__season=season).order_by("pk")
    same = next((gold for gold in known if gold.holds(kept.digests)), None)
    if same is not None:
        names = ("digest", "digest_rule", "nonce")
        return {name: getattr(same, name) for name in names}
    nonce = kept.nonce or secrets.token_hex(NONCE_BYTES)
    digest = compute_salted_digest(kept.digests[str(CURRENT_DIGEST_RULE)], nonce)
    return {"digest": digest, "digest_rule": CURRENT_DIGEST_RULE, "nonce": nonce}


def open_gold_archive(gold: Gold) -> IO[bytes]:
    """Return the archive of the gold including the nonce. The caller must check that
    the user may see the gold and the nonce.
    """
    archive = tempfile.SpooledTemporaryFile(MAX_ARCHIVE_BYTES_IN_MEMORY)  # noqa: SIM115  (the caller closes it)
    with storage.gold_file_storage.open(gold.file) as stored:
        shutil.copyfileobj(stored, archive)
    if gold.nonce:
        with zipfile.ZipFile(archive, "a") as packed:
            member = zipfile.ZipInfo(NONCE_FILE_NAME, packing.ZIP_EPOCH)
            member.external_attr = packing.REGULAR_FILE_ATTRIBUTES
            packed.writestr(member, f"{gold.nonce}\n{gold.salted_digest}\n")
    archive.seek(0)
    return archive


def make_gold_digest_change(before: Gold | None, after: Gold) -> audit.SettingChange:
    key = f"tasks.{after.task.slug}.gold.{after.split}"
    return audit.SettingChange(key, before.digest if before else None, after.digest)


def load_instance_index_of_gold(gold: Gold) -> Index:
    """Return the gold's index of instances that validates uploaded runs. All callers
    share the index and must not change the index.
    """
    return _read_instance_index(gold.index)


@lru_cache(maxsize=8)
def _read_instance_index(name: str) -> Index:
    with storage.gold_file_storage.open(name, "rb") as stored:
        index: Index = json.load(stored)
    return index


def get_cached_index_path(gold: Gold) -> Path:
    folder: Path = settings.DATA_DIR / "checks" / "indexes"
    path = folder / f"{hashlib.sha256(gold.index.encode()).hexdigest()[:32]}.json"
    if path.exists():
        return path
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as draft:
        storage.copy_to_local_folder(
            storage.gold_file_storage, gold.index, Path(draft)
        ).rename(path)
    for old in sorted(folder.glob("*.json"), key=lambda copy: copy.stat().st_mtime)[
        :-MAX_CACHED_INSTANCE_INDEXES
    ]:
        old.unlink(missing_ok=True)
    return path


def _store_gold_file(path: Path, folder: str) -> str:
    with path.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    name = f"{folder}/{path.stem}-{digest[:16]}{path.suffix}"
    if storage.gold_file_storage.exists(name):
        if storage.gold_file_storage.size(name) == path.stat().st_size:
            return name
        storage.gold_file_storage.delete(name)
    with path.open("rb") as content:
        return storage.gold_file_storage.save(name, File(content))


def seal_gold(*, gold: Gold, reason: str, by: User) -> Gold:
    """Seal the gold, so that only organisers can get the files and instances, even if a
    phase publishes the gold.
    """
    with transaction.atomic():
        sealed = _lock_gold_for_change(gold, reason)
        if sealed.sealed_at is not None:
            return sealed
        prefix = f"tasks.{sealed.task.slug}.gold.{sealed.split}."
        changes = audit.update_row_and_list_changes(
            sealed, {"sealed_at": timezone.now()}, prefix
        )
        _record_gold_change("gold-sealed", sealed, reason, by, changes)
    return sealed


def delete_gold(*, gold: Gold, reason: str, by: User) -> Gold:
    """Delete the files of a gold version unless another version uses these files. If a
    split has phases, the newest version of the split cannot be deleted.
    """
    with transaction.atomic():
        with early.refuse_early_disclosure(gold.task.season, by=by):
            deleted = _lock_gold_for_change(gold, reason)
            of_split = Gold.objects.filter(task=deleted.task_id, split=deleted.split)
            phases = Phase.objects.filter(task=deleted.task_id, split=deleted.split)
            if (
                not of_split.filter(number__gt=deleted.number).exists()
                and phases.exists()
            ):
                raise refusals.ActionRefused(
                    _("phases are scored by v%(number)s") % {"number": deleted.number}
                )
            try:
                Gold.objects.filter(pk=deleted.pk).delete()
            except ProtectedError as counting:
                message = _("runs were scored with v%(number)s; seal it instead")
                raise refusals.ActionRefused(
                    message % {"number": deleted.number}
                ) from counting
        _record_gold_change("gold-deleted", deleted, reason, by)
    return deleted


def _lock_gold_for_change(gold: Gold, reason: str) -> Gold:
    if not reason.strip():
        raise refusals.ActionRefused(_("say why"))
    Task.objects.select_for_update().get(pk=gold.task_id)
    return Gold.objects.select_related("task__season").get(pk=gold.pk)


def _record_gold_change(
    key: str,
    gold: Gold,
    reason: str,
    by: User,
    changes: list[audit.SettingChange] | None = None,
) -> None:
    for phase in Phase.objects.filter(task=gold.task_id, split=gold.split).order_by(
        "pk"
    ):
        increment_board_version(phase.pk)
    facts = {
        "version": gold.number,
        "task": f"{gold.task}, {gold.split}",
        "reason": reason.strip(),
    }
    audit.record_action(
        key,
        actor=by,
        subject=gold,
        place=gold.task.season,
        facts=facts,
        changes=changes or [],
    )
