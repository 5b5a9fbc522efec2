"""Prepare the selected rows of a board, with their URLs and signatures, as the input of
every export format.
"""

import io
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from unicodedata import normalize

import yaml
from django.conf import settings
from django.urls import reverse

from scoring.exchange.figure_files import IMAGE_CONTENT_TYPES
from scoring.models import Score
from scoring.results.board.exports import DEFAULT_LATEX_TABLE_QUERY
from scoring.results.board.query import LatexTableQuery
from scoring.results.board.standings import Board, BoardRow, BoardScoreColumn, ScoreCell
from tasks.gold.packing import ZIP_EPOCH
from tasks.models import Phase, Task


def build_absolute_site_address(name: str, *args: object) -> str:
    """Return the absolute URL of a page of this site, which starts with the setting
    CITEBOARD_BASE_URL.

    The URL does not depend on the `Host` header of the request.
    """
    return f"{settings.BASE_URL}{reverse(name, args=args)}"


def list_season_task_and_phase_slugs(phase: Phase) -> tuple[str, str, str]:
    return phase.task.season.slug, phase.task.slug, phase.slug


@dataclass(frozen=True)
class BoardRowsForExport:
    """The rows of a board that an exported file contains.

    The export includes baselines and the row of human annotators, unless the reader
    hides these rows.
    """

    board: Board
    rows: Sequence[BoardRow]
    choice: LatexTableQuery = DEFAULT_LATEX_TABLE_QUERY

    @property
    def phase(self) -> Phase:
        return self.board.phase

    @property
    def task(self) -> Task:
        return self.phase.task

    @property
    def title(self) -> str:
        """Return the board's title, such as `CL-Summ 2014, Task 1A, Test`."""
        return f"{self.task.season}, {self.task}, {self.phase}"

    @property
    def address(self) -> str:
        return build_absolute_site_address(
            "board", *list_season_task_and_phase_slugs(self.phase)
        )

    @property
    def task_address(self) -> str:
        return build_absolute_site_address(
            "task", self.task.season.slug, self.task.slug
        )

    def build_address_of_row(self, row: BoardRow) -> str:
        return build_absolute_site_address(
            "standing", *list_season_task_and_phase_slugs(self.phase), row.submission
        )

    def numbers(
        self, row: BoardRow
    ) -> Iterator[tuple[BoardScoreColumn, ScoreCell, float]]:
        """Yield the finite values of a board row, each with its column and cell.

        Some export formats cannot represent infinite or undefined values.
        """
        for column in self.board.columns:
            if (
                cell := row.scores.get(column.name)
            ) is not None and cell.value is not None:
                yield column, cell, cell.value

    @cached_property
    def _stored_scores_by_run_and_column(self) -> dict[tuple[int, str], Score]:
        scores = Score.objects.filter(
            evaluation__in=[row.evaluation for row in self.rows]
        )
        return {
            (score.evaluation_id, score.column): score
            for score in scores.select_related("evaluation")
        }

    def find_stored_score(
        self, row: BoardRow, column: BoardScoreColumn
    ) -> Score | None:
        return self._stored_scores_by_run_and_column.get((row.evaluation, column.key))


def build_hub_leaderboard_name(split: str, metric: str) -> str:
    """Return the name of a leaderboard on the Hugging Face Hub, which must be the same
    in `eval.yaml` and in the `.eval_results` files of models.
    """
    return f"{split}_{metric}"


ZIP_CONTENT_TYPE = "application/zip"
CONTENT_TYPES_BY_EXTENSION = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "jsonl": "application/x-ndjson; charset=utf-8",
    "tex": "application/x-tex; charset=utf-8",
    "bib": "application/x-bibtex; charset=utf-8",
    "md": "text/markdown; charset=utf-8",
    "yml": "application/yaml; charset=utf-8",
    "toml": "application/toml; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "zip": ZIP_CONTENT_TYPE,
    **IMAGE_CONTENT_TYPES,
}


def find_content_type(name: str) -> str:
    """Return the HTTP content type for a file name, based on the extension."""
    return CONTENT_TYPES_BY_EXTENSION[name.rpartition(".")[2]]


_UNSAFE_FILE_NAME_PATTERN = re.compile(r"[^A-Za-z0-9._-]+")


def build_zip(files: Iterable[tuple[str, str | bytes]]) -> bytes:
    """Return a zip archive of the files, whose bytes are the same for the same files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in files:
            archive.writestr(build_zip_entry(name), content)
    return out.getvalue()


def build_zip_entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, ZIP_EPOCH)
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


def format_as_yaml(content: object) -> str:
    return str(yaml.safe_dump(content, sort_keys=False, allow_unicode=True))


def make_safe_file_name(text: str) -> str:
    """Return a file name without unsafe characters for a name that a user chose.

    >>> make_safe_file_name("../Ünder water, v2")
    'Under-water-v2'
    """
    plain = normalize("NFKD", text).encode("ascii", "ignore").decode()
    return _UNSAFE_FILE_NAME_PATTERN.sub("-", plain).strip("-.") or "system"
