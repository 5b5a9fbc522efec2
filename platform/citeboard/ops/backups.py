"""Make a backup of a running site, and restore a site from a backup.

A backup first takes a snapshot of the database and then copies the stored files that
the snapshot names. Files in the storage of the site never change. If a file is missing,
the site may have replaced the file after the snapshot, for example by a rescoring. The
backup then starts again with a new snapshot of the database. If the current database
also names the missing file, the site has lost the file. The program verifies each
backup before a restore.
"""

import datetime as dt
import hashlib
import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files import File
from django.core.files.storage import default_storage
from django.core.management import call_command
from django.db import connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.db.models import F
from django.utils.crypto import salted_hmac

from citeboard.core import storage
from citeboard.core.database import find_unknown_migrations, read_schema_state
from citeboard.core.models import save_time_of_last_run
from citeboard.core.release import compute_release_digest
from citeboard.ops.pruning import ReferencedFile, list_referenced_files
from citeboard.teams.models import Team, User
from scoring.exchange.mounted import (
    MOUNTED_ARCHIVES_FOLDER_NAME as ARCHIVES,
    list_mounted_archives,
)
from scoring.models import BoardOrder
from scoring.results.board.standings import Board, compute_board
from scoring.results.board.visibility import Audience
from tasks.jobs import tallies
from tasks.models import Phase, Season

BACKUP_FILES_FOLDER = "files"
#: The `LastDone` row with the name LAST_BACKUP_ROW_NAME contains the time of the last backup.
LAST_BACKUP_ROW_NAME = "backup"
#: A backup fails if files are replaced during each of MAX_SNAPSHOT_ATTEMPTS database snapshots.
MAX_SNAPSHOT_ATTEMPTS = 5


def write_backup(
    target: Path, *, with_secret: bool = True, is_incremental: bool = False
) -> "BackupManifest":
    """Write a complete backup of the site to an empty or missing folder.

    After an error, the target folder is unchanged. Raises BackupNotPossible.

    An incremental backup is complete too, but shares unchanged files with the newest
    backup in the same parent folder by hard links.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise BackupNotPossible(
            f"{target} is there already; a backup is written where nothing is"
        )
    state = read_schema_state()
    if state.missing or state.unknown:
        raise BackupNotPossible(
            f"the database is not of this release ({len(state.missing)} migrations are missing, "
            f"{len(state.unknown)} unknown); make the backup with the release that it is of"
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    earlier = (
        next(iter(_list_backup_folders(target.parent)), None)
        if is_incremental
        else None
    )
    draft = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        manifest = _write_backup_files(
            draft, state.applied, with_secret=with_secret, earlier=earlier
        )
        os.sync()
        draft.rename(target)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    save_time_of_last_run(
        LAST_BACKUP_ROW_NAME, dt.datetime.fromisoformat(manifest.made_at)
    )
    return manifest


def _list_backup_folders(folder: Path) -> list[Path]:
    dated = []
    for path in folder.iterdir():
        if (path / MANIFEST_FILE).is_file():
            with suppress(BackupNotPossible):
                dated.append((read_manifest(path).made_at, path))
    return [path for _, path in sorted(dated, reverse=True)]


def remove_older_backups(target: Path, keep: int) -> list[Path]:
    old = [
        folder
        for folder in _list_backup_folders(target.parent)[keep:]
        if folder != target
    ]
    for folder in old:
        shutil.rmtree(folder)
    return old


def _write_backup_files(
    draft: Path, migrations: list[str], *, with_secret: bool, earlier: Path | None
) -> "BackupManifest":
    made_at = dt.datetime.now(dt.UTC)
    linked = read_manifest(earlier).files if earlier else {}
    for _ in range(MAX_SNAPSHOT_ATTEMPTS):
        made_at = dt.datetime.now(dt.UTC)
        (draft / BACKUP_FILES_FOLDER).mkdir(exist_ok=True)
        with read_database_snapshot():
            database = write_database_backup(draft)
            named = set(list_referenced_files())
            boards = compute_board_digests()
        if earlier is not None:
            for file in named:
                _hard_link_unchanged_file(
                    file,
                    linked.get(f"{BACKUP_FILES_FOLDER}/{file.name}"),
                    earlier / BACKUP_FILES_FOLDER,
                    draft / BACKUP_FILES_FOLDER,
                )
        absent = {
            file for file in named if not _copy_file(file, draft / BACKUP_FILES_FOLDER)
        }
        lost = absent & set(list_referenced_files()) if absent else absent
        if absent == lost:
            break
        shutil.rmtree(draft / TABLE_DUMPS_FOLDER, ignore_errors=True)
    else:
        raise BackupNotPossible(
            f"files were replaced during each of {MAX_SNAPSHOT_ATTEMPTS} snapshots; try again later"
        )
    # The backup deletes damaged copies, and files that only an earlier snapshot names.
    wanted = {draft / BACKUP_FILES_FOLDER / file.name for file in named - lost}
    for path in [
        path
        for path in (draft / BACKUP_FILES_FOLDER).rglob("*")
        if path.is_file() and path not in wanted
    ]:
        path.unlink()
    # Mounted archives never change, so the backup copies archives as whole folders.
    for archive in list_mounted_archives():
        shutil.copytree(archive.folder, draft / ARCHIVES / archive.slug)
    manifest = BackupManifest(
        release=compute_release_digest(),
        made_at=made_at.isoformat(timespec="milliseconds"),
        database=database,
        migrations=migrations,
        boards=boards,
        secret=write_secret_key(draft, is_wanted=with_secret),
        secret_print=compute_secret_key_fingerprint(settings.SECRET_KEY),
        lost=sorted(file.name for file in lost),
        files=compute_digests_in_folder(draft),
    )
    text = json.dumps(asdict(manifest), ensure_ascii=False, indent=1)
    (draft / MANIFEST_FILE).write_text(f"{text}\n", encoding="utf-8")
    if wrong := describe_differences(
        read_manifest(draft), compute_digests_in_folder(draft)
    ):
        raise BackupNotPossible(f"what was written reads back otherwise: {wrong[0]}")
    return manifest


def _hard_link_unchanged_file(
    file: ReferencedFile, there: tuple[int, str] | None, earlier: Path, folder: Path
) -> None:
    path = folder / file.name
    with suppress(OSError):
        if (
            there
            and compute_size_and_digest(earlier / file.name) == there
            and default_storage.size(file.name) == there[0]
        ):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.hardlink_to(earlier / file.name)


def _copy_file(file: ReferencedFile, folder: Path) -> bool:
    path = folder / file.name
    is_known = path.exists() and (path.stat().st_nlink > 1 or file.sha256)
    if is_known and compute_size_and_digest(path)[1].startswith(file.sha256):
        return True
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    try:
        with default_storage.open(file.name, "rb") as stored, path.open("wb") as copy:
            while part := stored.read(READ_CHUNK_BYTES):
                digest.update(part)
                copy.write(part)
    except FileNotFoundError:
        path.unlink(missing_ok=True)
        return False
    return digest.hexdigest().startswith(file.sha256)


MANIFEST_FILE = "manifest.json"
#: This release writes and reads backups of the format version BACKUP_FORMAT_VERSION.
BACKUP_FORMAT_VERSION = 1
READ_CHUNK_BYTES = 1 << 20


class BackupNotPossible(Exception):
    pass


@dataclass(frozen=True, kw_only=True)
class BackupManifest:
    """The manifest of a backup, which describes the site and lists all files.

    ``files`` maps the path of every other file in the backup to its size and SHA-256.
    """

    release: str
    made_at: str
    database: Mapping[str, Any]
    migrations: Sequence[str]
    boards: Mapping[str, str]
    secret: str
    secret_print: str
    lost: Sequence[str]
    files: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    form: int = BACKUP_FORMAT_VERSION

    @property
    def size(self) -> int:
        return sum(size for size, _ in self.files.values())


def read_manifest(folder: Path) -> BackupManifest:
    path = folder / MANIFEST_FILE
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        if facts["form"] != BACKUP_FORMAT_VERSION:
            raise BackupNotPossible(
                f"{path}: a backup of form {facts['form']}; this release reads form {BACKUP_FORMAT_VERSION}"
            )
        facts["files"] = {
            name: (int(size), str(digest))
            for name, (size, digest) in facts["files"].items()
        }
        return BackupManifest(**facts)
    except FileNotFoundError:
        raise BackupNotPossible(
            f"{folder} is no backup: it has no {MANIFEST_FILE}"
        ) from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as reason:
        raise BackupNotPossible(
            f"{path} cannot be read as a manifest: {reason}"
        ) from reason


def compute_digests_in_folder(folder: Path) -> dict[str, tuple[int, str]]:
    paths = (
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() or path.is_symlink()
    )
    named = ((path.relative_to(folder).as_posix(), path) for path in paths)
    return {
        name: compute_size_and_digest(path)
        for name, path in named
        if name != MANIFEST_FILE
    }


def compute_size_and_digest(path: Path) -> tuple[int, str]:
    with path.open("rb") as file:
        return path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest()


def describe_differences(
    manifest: BackupManifest, there: Mapping[str, tuple[int, str]]
) -> list[str]:
    lines = [f"{name} is missing" for name in manifest.files if name not in there]
    for name, (size, digest) in there.items():
        if name not in manifest.files:
            lines.append(f"{name} is not listed")
        elif (size, digest) != manifest.files[name]:
            expected, wanted = manifest.files[name]
            lines.append(
                f"{name}: {size} bytes, SHA-256 {digest[:12]}…; expected {expected}, {wanted[:12]}…"
            )
    return lines


def compute_board_digests() -> dict[str, str]:
    return {
        f"{phase.task.season.slug}/{phase.task.slug}/{phase.slug}, {rules}": _compute_board_digest(
            compute_board(phase, None, rules, audience=Audience.ORGANISER)
        )
        for phase in Phase.objects.select_related("task__season").order_by("pk")
        for rules in phase.task.rules
    }


def _compute_board_digest(board: Board) -> str:
    names = {column.name: column.metric for column in board.columns}
    rows = []
    for row in board.rows:
        scores = sorted((names[name], *cell[1:]) for name, cell in row.scores.items())
        ranks = [row.rank, row.rank_low, row.rank_high]
        rows.append([row.submission, row.system, row.team, row.kind, ranks, scores])
    facts = [[column.metric for column in board.columns], rows]
    return hashlib.sha256(json.dumps(facts, ensure_ascii=False).encode()).hexdigest()


SQLITE_BACKUP_FILE = "database.sqlite3"
TABLE_DUMPS_FOLDER = "database"


@contextmanager
def read_database_snapshot() -> Iterator[None]:
    """Read one snapshot of the database in the block, without blocking writers."""
    if connection.vendor == "postgresql":
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield
        return
    # An IMMEDIATE transaction would block all writers of SQLite.
    before = connection.transaction_mode  # type: ignore[attr-defined]  # (SQLite only)
    connection.ensure_connection()
    connection.transaction_mode = "DEFERRED"  # type: ignore[attr-defined]
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT COUNT(*) FROM sqlite_schema")
            cursor.fetchone()
            yield
    finally:
        connection.transaction_mode = before  # type: ignore[attr-defined]


def write_database_backup(folder: Path) -> dict[str, Any]:
    if connection.vendor == "postgresql":
        (folder / TABLE_DUMPS_FOLDER).mkdir(exist_ok=True)
        tables = {}
        with connection.cursor() as cursor:
            for table in _list_tables_of_release():
                columns = [
                    row.name
                    for row in connection.introspection.get_table_description(
                        cursor, table
                    )
                ]
                tables[table] = columns
                statement = f"COPY {_build_copy_target_sql(table, columns)} TO STDOUT"
                with (
                    (folder / TABLE_DUMPS_FOLDER / f"{table}.copy").open("wb") as file,
                    cursor.copy(statement) as rows,
                ):
                    for part in rows:
                        file.write(part)
        return {"vendor": "postgresql", "tables": tables}
    with closing(sqlite3.connect(folder / SQLITE_BACKUP_FILE)) as copy:
        connection.connection.backup(copy)
        # Without a write-ahead log, the copy of SQLite's database is a single file.
        copy.execute("PRAGMA journal_mode=DELETE")
        [(state,)] = copy.execute("PRAGMA integrity_check(1)").fetchall()
        if state != "ok" or copy.execute("PRAGMA foreign_key_check").fetchone():
            raise BackupNotPossible(f"the copy of the database is damaged: {state}")
    return {"vendor": "sqlite"}


def _recreate_tables(migrations: list[str]) -> None:
    with connection.cursor() as cursor:
        for table in _list_existing_site_tables():
            cursor.execute(f"DROP TABLE {_quote_table_name(table)} CASCADE")
    wanted = {
        (app, name)
        for app, _dot, name in (migration.partition(".") for migration in migrations)
    }
    executor = MigrationExecutor(connection)
    # Receivers of `post_migrate` would create rows that the backup already contains.
    nodes = executor.loader.graph.node_map
    executor.migrate(
        [
            key
            for key in wanted
            if not any(child.key in wanted for child in nodes[key].children)
        ]
    )


def _load_tables(folder: Path, tables: dict[str, list[str]]) -> None:
    with connection.cursor() as cursor:
        # Tables load in alphabetical order, so foreign keys are checked at the end.
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")
        # The backup also contains the rows that migrations insert.
        cursor.execute(f"TRUNCATE {', '.join(map(_quote_table_name, tables))}")
        for table, columns in tables.items():
            statement = f"COPY {_build_copy_target_sql(table, columns)} FROM STDIN"
            with (
                (folder / f"{table}.copy").open("rb") as file,
                cursor.copy(statement) as rows,
            ):
                shutil.copyfileobj(file, rows, READ_CHUNK_BYTES)
            for sequence in connection.introspection.get_sequences(cursor, table):
                column = _quote_table_name(sequence["column"])
                cursor.execute(
                    f"SELECT setval(%s, COALESCE(MAX({column}), 1), MAX({column}) IS NOT NULL)"  # noqa: S608
                    f" FROM {_quote_table_name(table)}",
                    [sequence["name"]],
                )


def _list_tables_of_release() -> list[str]:
    models = connection.introspection.django_table_names(
        only_existing=True, include_views=False
    )
    return sorted(
        {
            *models,
            *({"django_migrations"} & set(connection.introspection.table_names())),
        }
    )


def _list_existing_site_tables() -> list[str]:
    """Return the database tables of the site, including unknown tables of a newer
    release.

    The function recognises tables of a newer release by the name of an app with
    migrations as a prefix.
    """
    own, there = _list_tables_of_release(), connection.introspection.table_names()
    if "django_migrations" not in there:
        return own
    with connection.cursor() as cursor:
        cursor.execute("SELECT DISTINCT app FROM django_migrations")
        prefixes = tuple(f"{app}_" for (app,) in cursor.fetchall())
    return sorted({*own, *(table for table in there if table.startswith(prefixes))})


def _build_copy_target_sql(table: str, columns: list[str]) -> str:
    return f"{_quote_table_name(table)} ({', '.join(map(_quote_table_name, columns))})"


def _quote_table_name(name: str) -> str:
    return connection.ops.quote_name(name)


KEY_FILE = "secret-key"
KEY_INCLUDED = "included"


def write_secret_key(folder: Path, *, is_wanted: bool) -> str:
    if is_secret_key_in_environment():
        return "absent: the environment gives it"
    if not is_wanted:
        return "absent: it was left out"
    shutil.copyfile(settings.DATA_DIR / KEY_FILE, folder / KEY_FILE)
    return KEY_INCLUDED


def is_secret_key_in_environment() -> bool:
    return bool(settings.ENVIRONMENT.values.get("CITEBOARD_SECRET_KEY", "").strip())


def compute_secret_key_fingerprint(key: str) -> str:
    return salted_hmac(
        "citeboard.backup", "the secret key", secret=key, algorithm="sha256"
    ).hexdigest()


#: A restore adds PHASE_VERSION_INCREMENT to the version numbers of all pages.
#: Browsers and caches may have pages with higher version numbers than the backup.
PHASE_VERSION_INCREMENT = 1_000_000


def restore_backup(
    folder: Path, *, overwrite: bool = False
) -> tuple[BackupManifest, list[str], bool]:
    """Replace the data of this site by a backup.

    Returns the manifest of the backup, the names of files and boards that differ from
    the manifest, and True if the site's secret key differs from the backup's.
    """
    manifest = verify_backup(folder)
    if not overwrite and (here := describe_existing_data()):
        raise BackupNotPossible(
            f"this system is not empty: it has {here}; nothing was changed"
        )
    for path in sorted(
        path for path in (folder / BACKUP_FILES_FOLDER).rglob("*") if path.is_file()
    ):
        name = path.relative_to(folder / BACKUP_FILES_FOLDER).as_posix()
        if _compute_stored_file_digest(name) == compute_size_and_digest(path)[1]:
            continue
        default_storage.delete(name)
        with path.open("rb") as content:
            stored_name = default_storage.save(name, File(content))
        if (
            stored_name != name
            or _compute_stored_file_digest(name) != compute_size_and_digest(path)[1]
        ):
            raise BackupNotPossible(
                f"the storage keeps {name} otherwise than given; the database is as before"
            )
    if manifest.database["vendor"] == "postgresql":
        with transaction.atomic():
            _recreate_tables(list(manifest.migrations))
            _load_tables(folder / TABLE_DUMPS_FOLDER, manifest.database["tables"])
            if "tasks.0060_tallied" in manifest.migrations:
                tallies.create_counting_triggers(connection)
    else:
        connection.ensure_connection()
        with closing(sqlite3.connect(folder / SQLITE_BACKUP_FILE)) as copy:
            copy.backup(connection.connection)
        connection.close()
    shutil.rmtree(settings.DATA_DIR / ARCHIVES, ignore_errors=True)
    if (folder / ARCHIVES).is_dir():
        shutil.copytree(folder / ARCHIVES, settings.DATA_DIR / ARCHIVES)
    if manifest.secret == KEY_INCLUDED and not is_secret_key_in_environment():
        draft = settings.DATA_DIR / f".{KEY_FILE}.restored"
        draft.unlink(missing_ok=True)
        draft.touch(0o600, exist_ok=False)
        draft.write_bytes((folder / KEY_FILE).read_bytes())
        draft.rename(settings.DATA_DIR / KEY_FILE)
        has_other_key = False
    else:
        has_other_key = (
            compute_secret_key_fingerprint(settings.SECRET_KEY) != manifest.secret_print
        )
    call_command("migrate", interactive=False, verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)
    Phase.objects.update(version=F("version") + PHASE_VERSION_INCREMENT)
    BoardOrder.objects.update(
        version=F("version") + PHASE_VERSION_INCREMENT,
        revision=F("revision") + PHASE_VERSION_INCREMENT,
    )
    return manifest, list(_find_differing_boards(manifest)), has_other_key


def verify_backup(folder: Path) -> BackupManifest:
    manifest = read_manifest(folder)
    if wrong := describe_differences(manifest, compute_digests_in_folder(folder)):
        more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        raise BackupNotPossible(
            f"the backup is damaged: {wrong[0]}{more}; nothing was changed"
        )
    if manifest.database["vendor"] != connection.vendor:
        raise BackupNotPossible(
            f"the backup is of {manifest.database['vendor']}, and DATABASE_URL names a {connection.vendor} "
            "database; nothing was changed"
        )
    if unknown := find_unknown_migrations(list(manifest.migrations)):
        raise BackupNotPossible(
            f"the backup is of a newer release, with migrations that this one does not have ({unknown[0]}); "
            "nothing was changed"
        )
    return manifest


def describe_existing_data() -> str:
    tables = connection.introspection.table_names()
    for model in (User, Team, Season):
        if model._meta.db_table in tables and model._default_manager.exists():  # noqa: SLF001  (public by name)
            return str(model._meta.verbose_name_plural)  # noqa: SLF001  (the same)
    entry = next(
        (entry for folder in storage.FOLDER_STORAGES for entry in folder.entries("")),
        None,
    )
    return f"files in its storage, such as {entry.name}" if entry else ""


def _find_differing_boards(manifest: BackupManifest) -> Iterator[str]:
    lost = set(manifest.lost)
    for file in list_referenced_files():
        stored = _compute_stored_file_digest(file.name)
        if file.name not in lost and (
            stored is None or not stored.startswith(file.sha256)
        ):
            yield f"the file {file.name}"
    boards = compute_board_digests()
    for name in [
        *manifest.boards,
        *(name for name in boards if name not in manifest.boards),
    ]:
        if boards.get(name) != manifest.boards.get(name):
            yield f"the board {name}"


def _compute_stored_file_digest(name: str) -> str | None:
    with suppress(FileNotFoundError), default_storage.open(name, "rb") as stored:
        return hashlib.file_digest(stored, "sha256").hexdigest()
    return None
