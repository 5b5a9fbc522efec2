"""Write a season's archive to a new folder.

If writing fails, the archive's folder does not exist.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import mimetypes
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote

from django.contrib.auth.models import AnonymousUser
from django.core.files import File
from django.db.models import Q
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext_noop

from citeboard.api.own_runs import serialize_evaluations
from citeboard.api.receipts import serialize_receipts
from citeboard.archive.battles import find_public_battles
from citeboard.archive.estimates import write_estimates
from citeboard.background.kinds import JobOutcome, record_progress
from citeboard.core import storage
from citeboard.web.guides import build_site_wheel
from scoring.exchange import linked_data, results
from scoring.figures import as_svg
from scoring.models import (
    BackgroundJob,
    Comparison,
    Evaluation,
    Judge,
    SystemComparison,
)
from scoring.offline import compare, verify
from scoring.receipts import log
from scoring.results.board import charts, exports, manual_scores
from scoring.results.board.standings import (
    Board,
    BoardRow,
    ScoreCell,
    compute_board,
    expand_rows_to_runs,
)
from scoring.results.board.visibility import Audience, BoardVisibility, shows_teams
from scoring.worker import background, entailment_labels, local_copies
from scoring.worker.ledger import iterate_judgement_file_lines
from tasks.gold.gold_files import open_gold_archive
from tasks.gold.secrecy import ContentKind, can_disclose_gold, get_embargoes_of_phase
from tasks.models import Gold, Phase, Season, Submission, Task
from tasks.types import InputRefused
from tasks.types.cited_reports.judgements import (
    JudgementsOfKind,
    read_judgements_of_option,
)
from tasks.types.cited_reports.options import JUDGEMENT_KINDS_BY_OPTION
from tasks.types.declared.folder import TASK_CARD_FILE_NAME
from tasks.types.positional_citations.options import PARSER_OPTION
from tasks.types.positional_citations.parsing import read_parses_from_file
from tasks.types.stored_judges import list_ledger_judges

#: The folder TASKS_FOLDER of an archive contains the files of declared tasks.
TASKS_FOLDER = "tasks"
#: The folder LEDGER_FOLDER of an archive contains the judgements of the season's judges.
LEDGER_FOLDER = "ledger"


@dataclass(frozen=True)
class ArchiveSummary:
    """The contents of a season's archive.

    ``withheld`` contains the phases whose runs and gold are not in the archive.
    """

    boards: int
    runs: int
    gold: int
    files: int
    withheld: Sequence[str]


def write_archive(
    season: Season, folder: Path, *, version: str, with_gold: bool
) -> ArchiveSummary:
    """Write the archive of a season to a new folder.

    ``with_gold`` is True if the organisers release the gold. Raises FileExistsError if
    the folder exists.
    """
    if folder.exists():
        raise FileExistsError(
            f"{folder} exists; an archive is written into a new folder"
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    log.create_or_extend_receipt_log()
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        base = Path(scratch) / "archive"
        written = _SeasonArchiveWriter(season, base, with_gold=with_gold).write(version)
        base.rename(folder)
    return written


def prepare_archive(job: BackgroundJob) -> JobOutcome:
    with tempfile.TemporaryDirectory(prefix="citeboard-archive-") as scratch:
        record_progress(job, 0, gettext_noop("writing the archive"))
        folder = Path(scratch) / f"{job.season.slug}-archive"
        written = write_archive(job.season, folder, **job.given)
        record_progress(job, 0.8, gettext_noop("packing the archive"))
        packed = Path(shutil.make_archive(str(folder), "zip", scratch, folder.name))
        with local_copies.convert_storage_errors(), packed.open("rb") as content:
            name = storage.statistics_file_storage.save(
                background.make_random_storage_name("zip"), File(content)
            )
        facts = {**asdict(written), "bytes": packed.stat().st_size}
    return JobOutcome(lambda: facts, file=name)


class _SeasonArchiveWriter:
    def __init__(self, season: Season, base: Path, *, with_gold: bool) -> None:
        self.season, self.base, self.with_gold = season, base, with_gold
        self.tasks = list(season.tasks.prefetch_related("phases"))
        phases = list(
            Phase.objects.filter(task__season=season).select_related("task__season")
        )
        self.boards = {phase.pk: list(find_public_boards(phase)) for phase in phases}
        self.shown = [board for boards in self.boards.values() for board in boards]
        battles = {phase.pk: find_public_battles(phase) for phase in phases}
        self.battles = {pk: board for pk, board in battles.items() if board}
        # The archive contains only runs on public boards, as other runs are private.
        numbers = {
            row.submission
            for board in self.shown
            for row in expand_rows_to_runs(board.board.rows)
        }
        standing = Submission.objects.filter(pk__in=numbers).select_related(
            "team", "phase__task__season"
        )
        self.runs = list(standing.order_by("pk"))
        golds = Gold.objects.filter(evaluations__submission__in=self.runs)
        self.golds = list(golds.distinct().order_by("pk"))
        # The archive omits runs and gold of phases whose data a later phase could use.
        at = timezone.now()
        self.withheld = [
            phase
            for phase in phases
            if phase.is_frozen()
            or not (phase.closes <= at or phase.shows_instances)
            or not get_embargoes_of_phase(phase).is_free_of_embargo(
                ContentKind.INSTANCES
            )
        ]
        self.option_files = ArchivedOptionFiles(base, season)

    def write(self, version: str) -> ArchiveSummary:
        for name in ("boards", "tests", "runs", "scores", "receipts", "gold", "wheel"):
            (self.base / name).mkdir(parents=True)
        # Readers can verify the archive with the scorer, a Python wheel in the archive.
        wheel = build_site_wheel()
        (self.base / "wheel" / wheel.name).write_bytes(wheel.content)
        facts: dict[str, Any] = {
            "format": verify.ARCHIVE_FORMAT,
            "format_version": verify.ARCHIVE_FORMAT_VERSION,
            "version": version,
            "written": timezone.now().isoformat(),
            "wheel": wheel.name,
            "season": {
                "slug": self.season.slug,
                "title": self.season.title,
                "licence": self.season.licence,
            },
            "tasks": [self._write_task(task) for task in self.tasks],
            "runs": [self._write_run(run) for run in self.runs],
            **self._write_judgements(),
            **self._write_estimates(),
        }
        for board in self.shown:
            self._write_board(board)
        for battles in self.battles.values():
            battles.write(self.base, self.season)
        self._write_text(
            verify.LOG_FILE_NAME,
            _format_json_file(
                {
                    "head": log.read_signed_log_head(),
                    "keys": log.describe_signing_keys(),
                }
            ),
        )
        self._write_description(facts, version)
        files = list(_list_files_with_digests(self.base))
        self._write_text(
            verify.CHECKSUMS_FILE_NAME,
            "".join(f"{digest}  {name}\n" for name, _, digest in files),
        )
        return ArchiveSummary(
            boards=len(self.shown),
            runs=len(list((self.base / "runs").iterdir())),
            gold=len(list((self.base / "gold").iterdir())),
            files=len(files) + 1,
            withheld=[f"{phase.task.slug}/{phase.slug}" for phase in self.withheld],
        )

    def _write_description(self, facts: Mapping[str, Any], version: str) -> None:
        season, today = self.season, timezone.now().date()
        context = {
            "season": season,
            "facts": facts,
            "boards": self.shown,
            "battles": list(self.battles.values()),
        }
        self._write_text("index.html", render_to_string("archive/index.html", context))
        self._write_text("style.css", render_to_string("archive/style.css"))
        self._write_text("README.md", render_to_string("archive/README.md", context))
        self._write_text(verify.SEASON_FILE_NAME, _format_json_file(facts))
        self._write_text("CITATION.cff", format_citation_file(season, version, today))
        self._write_text(
            ".zenodo.json",
            _format_json_file(build_zenodo_metadata(season, version, today)),
        )
        self._write_text(
            "ro-crate-metadata.json",
            _format_json_file(
                build_ro_crate_metadata(
                    season, list(_list_files_with_digests(self.base)), today
                )
            ),
        )

    def _write_task(self, task: Task) -> dict[str, Any]:
        return {
            "slug": task.slug,
            "title": task.title,
            "type": task.type,
            "folder": self._write_task_folder(task),
            "rules": task.rules,
            "phases": [
                {
                    "slug": phase.slug,
                    "title": phase.title,
                    "split": phase.split,
                    "opens": phase.opens.isoformat(),
                    "closes": phase.end and phase.end.isoformat(),
                    "draw": self._find_sample_commitment(phase),
                    "boards": [board.json_path for board in self.boards[phase.pk]],
                    **self._write_battles(phase),
                }
                for phase in task.phases.all()
            ],
            "gold": [
                self._write_gold(task, gold)
                for gold in self.golds
                if gold.task_id == task.pk
            ],
        }

    def _write_battles(self, phase: Phase) -> dict[str, Any]:
        board = self.battles.get(phase.pk)
        return {"battles": board.paths_by_file_type} if board else {}

    def _write_task_folder(self, task: Task) -> str | None:
        """Write the task card of a declared task, and its files that affect scores.

        The archive omits the example data of the task.
        """
        declared = task.task_type.declared
        if declared is None:
            return None
        folder = f"{TASKS_FOLDER}/{task.slug}"
        (self.base / folder).mkdir(parents=True)
        files = declared.scoring_files
        if TASK_CARD_FILE_NAME in declared.files:
            files[TASK_CARD_FILE_NAME] = declared.files[TASK_CARD_FILE_NAME]
        for name, text in files.items():
            self._write_text(f"{folder}/{name}", text)
        return folder

    def _write_gold(self, task: Task, gold: Gold) -> dict[str, Any]:
        name = f"gold/{task.slug}-{gold.split}-v{gold.number}{PurePosixPath(gold.file).suffix}"
        facts = {
            "split": gold.split,
            "number": gold.number,
            "sha256": gold.digest,
            "digest_rule": gold.digest_rule,
            "reading_version": gold.reading_version,
            "instances": gold.instances,
            "rows": None,
            "reason": gold.reason,
        }
        if not self._can_include_gold(gold):
            return {**facts, "file": None}
        with open_gold_archive(gold) as source, (self.base / name).open("wb") as file:
            shutil.copyfileobj(source, file)
        opened = {
            "rows": gold.rows,
            "plain_sha256": gold.plain_digest,
            "nonce": gold.nonce,
        }
        return {**facts, **opened, "file": name}

    def _write_judgements(self) -> dict[str, Any]:
        """Write the judgements of the season's judges.

        Judgements reveal gold, so archives without gold do not contain them.
        """
        judges = Judge.objects.filter(season=self.season, decided__gt=0).order_by("pk")
        if not all(map(self._can_include_gold, self.golds)) or not judges:
            return {}
        (self.base / LEDGER_FOLDER).mkdir()
        written = []
        for number, judge in enumerate(judges, start=1):
            # A model's name may contain characters that a file name may not contain.
            name = f"{LEDGER_FOLDER}/{number}-{judge.kind}-{slugify(judge.name)[:60]}.jsonl"
            with (self.base / name).open("w", encoding="utf-8") as file:
                file.writelines(iterate_judgement_file_lines([judge]))
            written.append(
                {
                    "kind": judge.kind,
                    "judge": judge.name,
                    "digest": judge.digest,
                    "rows": judge.decided,
                    "file": name,
                }
            )
        return {"judgements": written}

    def _write_estimates(self) -> dict[str, Any]:
        """Write the published estimated scores of phases.

        The board and the gold of each phase must be in the archive.
        """
        withheld = {phase.pk for phase in self.withheld}
        phases = [
            board.board.phase
            for boards in self.boards.values()
            for board in boards[:1]
            if board.board.phase.pk not in withheld
        ]
        given = [
            phase
            for phase in phases
            if all(
                self._can_include_gold(gold)
                for gold in self.golds
                if (gold.task_id, gold.split) == (phase.task_id, phase.split)
            )
        ]
        return write_estimates(self.base, given, {run.pk for run in self.runs})

    def _find_sample_commitment(self, phase: Phase) -> dict[str, str] | None:
        """Return the commitment to the random sample of a phase's public instances.

        If the archive contains the gold, the commitment includes the nonce.
        """
        if not phase.part_nonce:
            return None
        golds = [
            gold
            for gold in self.golds
            if (gold.task_id, gold.split) == (phase.task_id, phase.split)
        ]
        is_open = bool(golds) and all(map(self._can_include_gold, golds))
        nonce = {"nonce": phase.part_nonce} if is_open else {}
        return {"commitment": phase.draw_commitment, **nonce}

    def _can_include_gold(self, gold: Gold) -> bool:
        """Return True if the archive may contain this version of gold.

        An archive may contain public gold. An archive may contain other gold only if
        the organisers release the gold and no later phase uses the gold.
        """
        withheld = {(phase.task_id, phase.split) for phase in self.withheld}
        if gold.sealed_at or (gold.task_id, gold.split) in withheld:
            return False
        phases = Phase.objects.filter(
            task=gold.task_id, split=gold.split
        ).select_related("task__season")
        if any(can_disclose_gold(phase, gold.pk) for phase in phases):
            return True
        free = (
            get_embargoes_of_phase(phase).is_free_of_embargo(
                ContentKind.INSTANCES, version=gold.pk
            )
            for phase in phases
        )
        return self.with_gold and all(free)

    def _write_run(self, run: Submission) -> dict[str, Any]:
        scores = f"scores/{run.pk}.json"
        printed = serialize_evaluations(run, Audience.PUBLIC)
        self._write_text(
            scores,
            _format_json_file([self._replace_option_paths(*pair) for pair in printed]),
        )
        suffix = PurePosixPath(run.filename).suffix.lower()
        receipts = f"receipts/{run.pk}.json"
        self._write_text(
            receipts,
            _format_json_file(
                serialize_receipts(run, Audience.PUBLIC, has_scores=True, is_own=False)
            ),
        )
        name = f"runs/{run.pk}{suffix if suffix.isascii() and suffix[1:].isalnum() else ''}"
        # The archive omits human runs, because the answers in human runs are the gold.
        has_file = (
            run.file
            and run.kind != Submission.Kind.HUMAN
            and run.phase not in self.withheld
        )
        return {
            "id": run.pk,
            "task": run.phase.task.slug,
            "phase": run.phase.slug,
            "team": self._find_public_team_name(run),
            "system": run.system,
            "kind": run.kind,
            "description": run.description if self._is_team_named(run) else "",
            "file": self._copy_stored_file(storage.run_file_storage, run.file, name)
            if has_file
            else None,
            "sha256": run.sha256,
            "scores": scores,
            "receipts": receipts,
        }

    def _find_public_team_name(self, run: Submission) -> str | None:
        if run.team is None or not run.phase.shows_teams:
            return None
        if self._is_team_named(run):
            return run.team.name
        return self.season.registrations.get(team=run.team).pseudonym

    def _is_team_named(self, run: Submission) -> bool:
        return run.team is None or shows_teams(run.phase, Audience.PUBLIC)

    def _replace_option_paths(
        self, kept: Evaluation, printed: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the scorer's output for an evaluation, in which the paths of option
        files are paths in the archive.
        """
        options = kept.submission.phase.task.task_type.validate_options(kept.options)
        # Labels reveal gold, so only archives with the gold contain labels.
        is_given = any(
            gold.digest == kept.gold.digest and self._can_include_gold(gold)
            for gold in self.golds
        )
        return {**printed, "files": self.option_files.of(options) if is_given else {}}

    def _write_board(self, board: ArchivedBoard) -> None:
        rows = board.board.rows
        self._write_text(
            board.json_path,
            exports.board_as_json(
                board.board, rows, manual_scores.load_team_figures_by_run(rows)
            ),
        )
        tests = _serialize_pairwise_tests(board.board) | _serialize_tests_of_seed_means(
            board.board
        )
        self._write_text(
            verify.format_tests_path(board.json_path), _format_json_file(tests)
        )
        has_chart = board.board.ranking is not None
        if has_chart:
            self._write_text(board.chart_path, board.render_chart())
        context = {
            "season": self.season,
            "shown": board,
            "board": board.board,
            "chart": PurePosixPath(board.chart_path).name,
            "has_chart": has_chart,
        }
        self._write_text(
            board.page_path, render_to_string("archive/board.html", context)
        )

    def _copy_stored_file(
        self, kept: storage.FolderStorage, name: str, path: str
    ) -> str:
        with kept.open(name) as source, (self.base / path).open("wb") as file:
            shutil.copyfileobj(source, file)
        return path

    def _write_text(self, name: str, text: str) -> None:
        (self.base / name).write_text(text, encoding="utf-8")


def _serialize_pairwise_tests(board: Board) -> dict[str, Any]:
    runs = {
        row.evaluation: row.submission
        for row in board.rows
        if row.rank is not None and not row.runs
    }
    metric = board.ranking.metric if board.ranking else ""
    rows = Comparison.objects.filter(first__in=runs, second__in=runs, metric=metric)
    columns = ("first", "second", *compare.TEST_RESULT_FIELDS, "test", "trials", "seed")
    tests = [
        {**row, "first": runs[row["first"]], "second": runs[row["second"]]}
        for row in rows.order_by("first", "second").values(*columns)
    ]
    return {"metric": metric, "tests": tests}


def _serialize_tests_of_seed_means(board: Board) -> dict[str, Any]:
    """Return the statistical tests that compare a board's means over random seeds.

    The mapping is empty if the board has no means over random seeds. In each test,
    ``first`` and ``second`` are runs that represent the two compared systems.
    """
    if not board.has_seed_means or board.ranking is None:
        return {}
    ranked = [row for row in board.rows if row.rank is not None]
    of_digest = {row.system_digest: row.submission for row in ranked}
    means = [row.system_digest for row in ranked if row.runs]
    rows = SystemComparison.objects.filter(
        Q(first__in=means) | Q(second__in=means),
        phase=board.phase,
        metric=board.ranking.metric,
    )
    tests = [
        {
            "first": of_digest[row["first"]],
            "second": of_digest[row["second"]],
            **{name: row[name] for name in verify.MEAN_TEST_RESULT_FIELDS},
        }
        for row in rows.values("first", "second", *verify.MEAN_TEST_RESULT_FIELDS)
        if row["first"] in of_digest and row["second"] in of_digest
    ]
    tests.sort(key=lambda test: (test["first"], test["second"]))
    return {"tests_of_means": tests}


def _list_files_with_digests(base: Path) -> Iterator[tuple[str, int, str]]:
    for path in sorted(base.rglob("*")):
        if path.is_file():
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            yield path.relative_to(base).as_posix(), path.stat().st_size, digest


def _format_json_file(content: object) -> str:
    return exports.format_as_json(content) + "\n"


@dataclass(frozen=True)
class ArchivedBoard:
    board: Board
    name: str

    @property
    def json_path(self) -> str:
        return f"boards/{self.name}.json"

    @property
    def page_path(self) -> str:
        return f"boards/{self.name}.html"

    @property
    def chart_path(self) -> str:
        return f"boards/{self.name}.svg"

    @property
    def lines(self) -> list[tuple[str, BoardRow, list[str]]]:
        board = self.board
        return [
            (
                board.format_rank_of_row(row),
                row,
                [
                    _format_board_cell(row.scores.get(column.name))
                    for column in board.columns
                ],
            )
            for row in board.rows_with_seed_runs
        ]

    def render_chart(self) -> str:
        figure = charts.build_ranking_chart(self.board)
        assert figure is not None
        return as_svg(figure)


def _format_board_cell(cell: ScoreCell | None) -> str:
    if cell is None:
        return ""
    value = {"": "undefined", "inf": "infinite"}.get(cell.word, cell.word)
    value = value if cell.value is None else str(cell.value)
    return value if cell.low is None else f"{value} [{cell.low}, {cell.high}]"


def find_public_boards(phase: Phase) -> Iterator[ArchivedBoard]:
    for rules in phase.task.rules:
        board = compute_board(phase, AnonymousUser(), rules, audience=Audience.PUBLIC)
        if board.visibility == BoardVisibility.SCORES and board.rows:
            yield ArchivedBoard(board, f"{phase.task.slug}-{phase.slug}-{rules}")


RO_CRATE_PROFILE_ADDRESS = "https://w3id.org/ro/crate/1.1"
#: The JSON-LD context of this RO-Crate version lacks the schema.org term `sha256`.
RO_CRATE_CHECKSUM_CONTEXT = {"sha256": "https://schema.org/sha256"}
MEDIA_TYPES_BY_FILE_EXTENSION = {
    ".jsonl": "application/jsonl",
    ".md": "text/markdown",
    ".cff": "application/yaml",
    ".whl": "application/zip",
}


def format_citation_file(season: Season, version: str, on: dt.date) -> str:
    lines = {
        "cff-version": "1.2.0",
        "message": exports.format_as_json("If you use this archive, please cite it."),
        "type": "dataset",
        "title": exports.format_as_json(f"{season.title}: runs, boards and scores"),
        "authors": "\n  - name: "
        + exports.format_as_json(f"The organisers and participants of {season.title}"),
        "version": exports.format_as_json(version),
        "date-released": exports.format_as_json(on.isoformat()),
    }
    return "".join(f"{name}: {value}\n" for name, value in lines.items())


def build_zenodo_metadata(
    season: Season, version: str, on: dt.date
) -> Mapping[str, Any]:
    return {
        "title": f"{season.title}: runs, boards and scores",
        "upload_type": "dataset",
        "description": season.summary or season.title,
        "creators": [{"name": f"The organisers and participants of {season.title}"}],
        "publication_date": on.isoformat(),
        "version": version,
        "keywords": ["citation research", "shared task", "leaderboard", "evaluation"],
        "notes": f"Licence: {season.licence or 'not stated'}",
    }


def build_ro_crate_metadata(
    season: Season, files: Sequence[tuple[str, int, str]], on: dt.date
) -> Mapping[str, Any]:
    organisers = {
        "@id": "#organisers",
        "@type": "Organization",
        "name": f"Organisers of {season.title}",
        "url": results.build_absolute_site_address("season", season.slug),
    }
    licence = {
        "@id": linked_data.find_licence_address(season.licence) or "#licence",
        "@type": "CreativeWork",
        "name": season.licence or "not stated",
    }
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": season.title,
        "description": season.summary or season.title,
        "datePublished": on.isoformat(),
        "license": {"@id": licence["@id"]},
        "author": {"@id": organisers["@id"]},
        "publisher": {"@id": organisers["@id"]},
        "hasPart": [{"@id": quote(name)} for name, _, _ in files],
    }
    about = {
        "@id": "ro-crate-metadata.json",
        "@type": "CreativeWork",
        "conformsTo": {"@id": RO_CRATE_PROFILE_ADDRESS},
        "about": {"@id": "./"},
    }
    parts = [
        {
            "@id": quote(name),
            "@type": "File",
            "name": name,
            "encodingFormat": MEDIA_TYPES_BY_FILE_EXTENSION.get(name[name.rfind(".") :])
            or mimetypes.guess_type(name)[0]
            or "application/octet-stream",
            "contentSize": str(size),
            "sha256": digest,
        }
        for name, size, digest in files
    ]
    return {
        "@context": [f"{RO_CRATE_PROFILE_ADDRESS}/context", RO_CRATE_CHECKSUM_CONTEXT],
        "@graph": [about, root, organisers, licence, *parts],
    }


LABELS_FOLDER = "labels"


def _check_season_option_file(name: str, path: str) -> None:
    """Check the option file of a metric that belongs to a season.

    Raises InputRefused if the option file is invalid.
    """
    if name == PARSER_OPTION.name:
        read_parses_from_file([], path)
    else:
        read_judgements_of_option(
            JUDGEMENT_KINDS_BY_OPTION[name],
            path,
            JudgementsOfKind(JUDGEMENT_KINDS_BY_OPTION[name]),
        )


class ArchivedOptionFiles:
    def __init__(self, archive: Path, season: Season) -> None:
        self._archive, self._season = archive, season
        self._written: dict[tuple[str, str], str | None] = {}

    def of(self, options: Mapping[str, str]) -> dict[str, str]:
        paths = {}
        for name, value in options.items():
            if (name, value) not in self._written:
                lines = self._read_option_file_lines(name, value)
                self._written[name, value] = (
                    None if lines is None else self._write_lines(lines)
                )
            if path := self._written[name, value]:
                paths[name] = path
        return paths

    def _read_option_file_lines(self, name: str, value: str) -> Iterator[bytes] | None:
        for judge in list_ledger_judges({name: value}):
            deciding = list(
                Judge.objects.deciding(judge.name, self._season, judge.kind)
                .filter(imports__isnull=False)
                .distinct()
            )
            lines = entailment_labels.iterate_label_file_lines_with_withdrawn(deciding)
            return (line.encode() for line in lines) if deciding else None
        # Only option files of a parser or of judgements can belong to a season.
        if (
            name not in (PARSER_OPTION.name, *JUDGEMENT_KINDS_BY_OPTION)
            or not Path(value).is_file()
        ):
            return None
        if name in JUDGEMENT_KINDS_BY_OPTION and Path(value).suffix != ".jsonl":
            return None
        try:
            _check_season_option_file(name, value)
        except InputRefused:
            return None
        return iter([Path(value).read_bytes()])

    def _write_lines(self, lines: Iterator[bytes]) -> str:
        digest = hashlib.sha256()
        with tempfile.NamedTemporaryFile(dir=self._archive, delete=False) as file:
            for line in lines:
                digest.update(line)
                file.write(line)
        name = f"{LABELS_FOLDER}/{digest.hexdigest()[:16]}.jsonl"
        (self._archive / LABELS_FOLDER).mkdir(exist_ok=True)
        shutil.move(file.name, self._archive / name)
        (self._archive / name).chmod(0o644)
        return name
