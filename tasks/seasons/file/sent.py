"""Load a season from an uploaded zip archive. Only sandboxed processes parse the files
of the archive.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO

from django.utils.translation import gettext as _

from citeboard.core.confinement import (
    UploadUnreadable,
    build_organiser_upload_limits,
    read_upload,
)
from citeboard.teams.models import User
from tasks.gold import packing
from tasks.gold.gold_files import prepare_uploaded_gold
from tasks.models import Gold, Season
from tasks.seasons.file import entries, plan as plans, zip_reader
from tasks.seasons.file.load import (
    SeasonLoadResult,
    apply_parsed_season_file,
    load_declared_types_of_season,
    parse_season_file_with_slug,
)
from tasks.seasons.file.tables import CheckedTable
from tasks.seasons.own_measures import (
    MeasuresRefused,
    store_uploaded_measures,
    store_uploaded_program,
)
from tasks.submissions.run_card import check_run_in_sandbox
from tasks.submissions.uploads import UploadedRunFile
from tasks.types import InputRefused, Options, Problem, TaskType, task_types
from tasks.types.declared.folder import (
    SAMPLE_FOLDER_NAME,
    TOML,
    read_declaration,
    read_texts_of_folder,
)
from tasks.types.declared.official_program import PROGRAM_FILE_NAME
from tasks.types.declared.own_measures import MEASURES_FILE_NAME
from tasks.types.files import CURRENT_PARSING_RULES_VERSION
from tasks.types.guarded.limits import TextUnreadable
from tasks.types.guarded.toml_reader import read_toml
from tasks.types.problems import convert_dicts_to_problems

UNPACK_FUNCTION = "tasks.seasons.file.zip_reader:unpack_season_archive"
#: The function of `scoring` has a dotted name, as `tasks` must not import `scoring`.
CHECK_TASK_FOLDER_FUNCTION = "scoring.offline.proposing:check_folder"
ZIP_SIGNATURE = b"PK\x03\x04"
LoadSeasonFunction = Callable[..., SeasonLoadResult]


@contextmanager
def open_season_zip(
    path: Path, filename: str, *, by: User | None, slug: str | None = ""
) -> Iterator[LoadSeasonFunction]:
    """Yield a function that loads the season and takes the decisions of the user. The
    function must be called within the block, because the unpacked files are removed at
    the end of the block. Raises InputRefused.

    ``slug`` is the slug of the existing season to update, or empty for a new season. If
    ``slug`` is None, the season file determines if the season is new.
    """
    with tempfile.TemporaryDirectory(prefix="citeboard-season-") as scratch:
        folder = Path(scratch) / "season"
        _unpack_in_sandbox(path, filename, folder, by)
        content = (folder / zip_reader.NAME).read_bytes()
        if slug is None:
            slug = _find_slug_of_existing_season(content)
        files = UploadedSeasonArchive(folder, Path(scratch), slug, by)

        def load_decided_season(
            *,
            decisions: plans.ConflictDecisions = plans.NO_DECISIONS,
            reason: str = "",
            dry_run: bool = False,
        ) -> SeasonLoadResult:
            files.missing.clear()
            entry = parse_season_file_with_slug(content, slug, files)
            if files.brings_files:
                for table, key, name in files.missing:
                    message = _("there is no %(name)s") % {"name": name}
                    table.add_problem_at_key(key, message, _("a file of the archive"))
            return apply_parsed_season_file(
                entry, reason=reason, decisions=decisions, dry_run=dry_run, by=by
            )

        yield load_decided_season


def _unpack_in_sandbox(
    path: Path, filename: str, folder: Path, by: User | None
) -> None:
    given, limits = {"filename": filename}, build_organiser_upload_limits()
    try:
        with read_upload(UNPACK_FUNCTION, path, given, owner=by, limits=limits) as done:
            if problems := convert_dicts_to_problems(done.result["problems"]):
                raise InputRefused(problems)
            for number, name in enumerate(done.result["names"]):
                _copy_unpacked_file(
                    done.file(zip_reader.make_unpacked_file_name(number)), folder, name
                )
    except UploadUnreadable as unreadable:
        raise InputRefused(
            [Problem(file=filename, message=str(unreadable))]
        ) from unreadable


def _copy_unpacked_file(part: Path, folder: Path, name: str) -> None:
    copy, words = folder / name, _("another file or folder has this place")
    if not copy.resolve().is_relative_to(folder.resolve()):
        raise InputRefused([Problem(file=name, message=words)])
    try:
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(part, copy)
    except (NotADirectoryError, FileExistsError, IsADirectoryError) as fault:
        raise InputRefused([Problem(file=name, message=words)]) from fault


def _find_slug_of_existing_season(content: bytes) -> str:
    """Return the slug that the season file states, if the site has a season with this
    slug. Return an empty text if the season is new or the season file is invalid.
    """
    try:
        slug = read_toml(content.decode("utf-8-sig"))["season"]["slug"]
    except (UnicodeDecodeError, TextUnreadable, KeyError, TypeError):
        return ""
    is_there = isinstance(slug, str) and Season.objects.filter(slug=slug).exists()
    return slug if is_there else ""


class UploadedSeasonArchive(entries.UploadedSeasonFile):
    """The unpacked files of a zip archive that contains a season. If the archive
    contains no gold or baselines, the gold and baselines of the site are kept.
    """

    is_sent = True

    def __init__(self, folder: Path, scratch: Path, slug: str, by: User | None) -> None:
        super().__init__(load_declared_types_of_season(slug))
        self.folder, self._scratch, self._slug, self._by = folder, scratch, slug, by
        self.missing: list[tuple[CheckedTable, str, str]] = []
        self.brings_files = False
        # A test run precedes the load, and the files are parsed only once for both.
        self._types: dict[str, TaskType] = {}
        self._gold: dict[tuple[str, ...], packing.PreparedGold] = {}
        self._runs: dict[tuple[str, ...], Sequence[Problem]] = {}

    def file(self, table: CheckedTable, key: str, name: str) -> Path | None:
        # Only the keys `paths`, `run` and `card` can name files of the archive.
        # Published results and files of options must already be on the site's machine.
        if key not in ("paths", "run", "card"):
            return None
        path = self.folder / name
        is_inside = "\0" not in name and path.resolve().is_relative_to(
            self.folder.resolve()
        )
        if name and is_inside and not path.exists():
            self.missing.append((table, key, name))
            return None
        found = entries.SeasonFileFolders.file(self, table, key, name)
        self.brings_files = self.brings_files or found is not None
        return found

    def find_declared_task_type(
        self, table: CheckedTable, name: str
    ) -> TaskType | None:
        present = self.types.get(str(table.values.get("slug")))
        path = (self.folder / name).resolve()
        is_inside = path.is_relative_to(self.folder.resolve())
        if not is_inside or not (path / TOML).is_file():
            return super().find_declared_task_type(table, name)
        if name not in self._types:
            try:
                self._types[name] = self._read_declared_task_type(
                    read_texts_of_folder(path), present
                )
            except MeasuresRefused as refused:
                table.add_problem_at_key("type", str(refused))
                return None
            except InputRefused as refused:
                shown = name.removeprefix("./")
                table.findings.problems += [
                    replace(problem, file=f"{shown}/{Path(problem.file or '').name}")
                    for problem in refused.problems
                ]
                return None
        return self._types[name]

    def _read_declared_task_type(
        self, files: dict[str, str], present: TaskType | None
    ) -> TaskType:
        if (
            present
            and present.declared
            and _has_same_declaration_files(files, present.declared.files)
        ):
            return present
        if MEASURES_FILE_NAME in files:
            season = Season.objects.filter(slug=self._slug).first()
            store_uploaded_measures(
                files[MEASURES_FILE_NAME], by=self._by, season=season
            )
        if PROGRAM_FILE_NAME in files:
            season = Season.objects.filter(slug=self._slug).first()
            store_uploaded_program(files[PROGRAM_FILE_NAME], by=self._by, season=season)
        given = {
            "files": files,
            **({"runs_measures": True} if MEASURES_FILE_NAME in files else {}),
        }
        limits, path = build_organiser_upload_limits(), self.folder / zip_reader.NAME
        try:
            with read_upload(
                CHECK_TASK_FOLDER_FUNCTION, path, given, owner=self._by, limits=limits
            ) as done:
                problems = convert_dicts_to_problems(done.result)
        except UploadUnreadable as unreadable:
            problems = [Problem(file=TOML, message=str(unreadable))]
        if problems:
            raise InputRefused(problems)
        task_type = read_declaration(files, parses_program=False)
        assert task_type.declared is not None
        if (slug := task_type.declared.name) in task_types():
            message = f"“{slug}” is a built-in type"
            raise InputRefused(
                [Problem(file=TOML, message=message, expected="another slug")]
            )
        return task_type

    def prepare_gold_from_paths(
        self,
        present: Gold | None,
        task_type: TaskType,
        paths: Sequence[Path],
        options: Options,
    ) -> packing.PreparedGold:
        """Return packed gold. If the gold equals the version ``present``, the parsing
        rules of this version are used, otherwise the newest parsing rules. Raises
        InputRefused.
        """
        if (
            present is not None
            and present.reading_version < CURRENT_PARSING_RULES_VERSION
        ):
            earlier = present.reading_version
            with suppress(InputRefused):
                prepared = self._prepare_gold(task_type, paths, options, earlier)
                if present.holds(prepared.digests):
                    return prepared
        return self._prepare_gold(
            task_type, paths, options, CURRENT_PARSING_RULES_VERSION
        )

    def _prepare_gold(
        self, task_type: TaskType, paths: Sequence[Path], options: Options, reading: int
    ) -> packing.PreparedGold:
        texts = str(sorted(options.items())), str(reading)
        key = (task_type.slug, *texts, *map(str, paths))
        if key not in self._gold:
            place = self._scratch / f"gold-{len(self._gold)}"
            place.mkdir()
            path, shown = paths[0], paths[0].relative_to(self.folder).as_posix()
            inputs = len(paths) if len(paths) > 1 or path.is_dir() else 0
            if inputs:
                path = place / "gold.zip"
                packing.write_zip_archive(path, _iterate_archive_members(paths))
                shown = "gold.zip"
            with prepare_uploaded_gold(
                task_type,
                options,
                path,
                shown,
                self._by,
                reading=reading,
                inputs=inputs,
            ) as prepared:
                packed = place / "packed"
                packed.mkdir()
                for name in packing.PACKED_FILE_NAMES:
                    shutil.copyfile(prepared.folder / name, packed / name)
            self._gold[key] = replace(prepared, folder=packed)
        return self._gold[key]

    def find_run_problems(
        self,
        task_type: TaskType,
        run: Path,
        index: Path,
        options: Options,
        reading: int,
    ) -> Sequence[Problem]:
        texts = str(sorted(options.items())), str(reading)
        key = (task_type.slug, *texts, str(run), str(index))
        if key not in self._runs:
            upload = UploadedRunFile(run, run.relative_to(self.folder).as_posix())
            found = check_run_in_sandbox(
                upload,
                task_type=task_type,
                index=index,
                reading=reading,
                options=options,
                sender=None,
            )
            self._runs[key] = found.problems
        return self._runs[key]


def _has_same_declaration_files(
    files: Mapping[str, str], present: Mapping[str, str]
) -> bool:
    """Return True if ``files`` are the same as the task folder ``present``. Without a
    sample in ``files``, the sample in ``present`` is ignored.
    """
    if any(name.startswith(f"{SAMPLE_FOLDER_NAME}/") for name in files):
        return files == present
    rest = {
        name: text
        for name, text in present.items()
        if not name.startswith(f"{SAMPLE_FOLDER_NAME}/")
    }
    return dict(files) == rest


def _open_binary_file(path: Path) -> IO[bytes]:
    return path.open("rb")


def _iterate_archive_members(
    paths: Sequence[Path],
) -> Iterator[tuple[str, Callable[[], IO[bytes]]]]:
    """Yield the archive members for the files below each path. The name of a member
    starts with the number of its path.
    """
    for number, path in enumerate(paths):
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file():
                inside = file.relative_to(path.parent).as_posix()
                yield f"{number}/{inside}", partial(_open_binary_file, file)
