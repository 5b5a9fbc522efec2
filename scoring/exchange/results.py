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
from scoring.results.board.exports import DEFAULT_TABLE_CHOICE
from scoring.results.board.query import LatexTableQuery
from scoring.results.board.standings import Board, Cell, Column, Row
from tasks.gold.packing import ZIP_EPOCH
from tasks.models import Phase, Task


def site_address(name: str, *args: object) -> str:
    """Return the absolute URL of a page of this site, which starts with the setting
    CITEBOARD_BASE_URL.

    The URL does not depend on the `Host` header of the request.
    """
    return f"{settings.BASE_URL}{reverse(name, args=args)}"


def phase_slugs(phase: Phase) -> tuple[str, str, str]:
    return phase.task.season.slug, phase.task.slug, phase.slug


@dataclass(frozen=True)
class ExportedResults:
    """The rows of a board that an exported file contains.

    The export includes baselines and the row of human annotators, unless the reader
    hides these rows.
    """

    board: Board
    rows: Sequence[Row]
    choice: LatexTableQuery = DEFAULT_TABLE_CHOICE

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
        return site_address("board", *phase_slugs(self.phase))

    @property
    def task_address(self) -> str:
        return site_address("task", self.task.season.slug, self.task.slug)

    def address_of(self, row: Row) -> str:
        return site_address("standing", *phase_slugs(self.phase), row.submission)

    def numbers(self, row: Row) -> Iterator[tuple[Column, Cell, float]]:
        """Yield the finite values of a board row, each with its column and cell.

        Some export formats cannot represent infinite or undefined values.
        """
        for column in self.board.columns:
            if (
                cell := row.scores.get(column.name)
            ) is not None and cell.value is not None:
                yield column, cell, cell.value

    @cached_property
    def _scores_by_run_and_column(self) -> dict[tuple[int, str], Score]:
        scores = Score.objects.filter(
            evaluation__in=[row.evaluation for row in self.rows]
        )
        return {
            (score.evaluation_id, score.column): score
            for score in scores.select_related("evaluation")
        }

    def score_of(self, row: Row, column: Column) -> Score | None:
        return self._scores_by_run_and_column.get((row.evaluation, column.key))


def hub_leaderboard_name(split: str, metric: str) -> str:
    """Return the name of a leaderboard on the Hugging Face Hub, which must be the same
    in `eval.yaml` and in the `.eval_results` files of models.
    """
    return f"{split}_{metric}"


ZIP_CONTENT_TYPE = "application/zip"
CONTENT_TYPES = {
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


def content_type_of(name: str) -> str:
    """Return the HTTP content type for a file name, based on the extension."""
    return CONTENT_TYPES[name.rpartition(".")[2]]


_UNSAFE_NAME_CHARACTERS = re.compile(r"[^A-Za-z0-9._-]+")


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


def as_yaml(content: object) -> str:
    return str(yaml.safe_dump(content, sort_keys=False, allow_unicode=True))


def file_name(text: str) -> str:
    """Return a file name without unsafe characters for a name that a user chose.

    >>> file_name("../Ünder water, v2")
    'Under-water-v2'
    """
    plain = normalize("NFKD", text).encode("ascii", "ignore").decode()
    return _UNSAFE_NAME_CHARACTERS.sub("-", plain).strip("-.") or "system"
