"""A board as a file in every format that there is, by the last part of its address."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from django.http import Http404, HttpResponse

from scoring.board.exports import as_csv, as_json
from scoring.board.latex import as_latex
from scoring.board.snapshots import keep_cited
from scoring.board.standings import Board
from scoring.board.table_choice import UnknownColumn
from scoring.board.team_reported import figures_of
from scoring.board.visibility import is_public
from scoring.exchange.citations import as_bibtex
from scoring.exchange.every_eval_ever import as_every_eval_ever
from scoring.exchange.hugging_face import as_hugging_face
from scoring.exchange.ir_metadata import as_ir_metadata
from scoring.exchange.papers_with_code import as_papers_with_code
from scoring.exchange.results import Results

ZIP = "application/zip"
JSON = "application/json"


def cited(results: Results) -> str:
    """What is cited is kept, and the entries lead there."""
    return as_bibtex(results, keep_cited(results.board))


@dataclass(frozen=True)
class Format:
    content_type: str
    written: Callable[[Results], str | bytes]


FORMATS: Mapping[str, Format] = {
    "csv": Format("text/csv; charset=utf-8", lambda own: as_csv(own.board, own.rows, figures_of(own.rows))),
    "json": Format(JSON, lambda own: as_json(own.board, own.rows, figures_of(own.rows))),
    "tex": Format("application/x-tex; charset=utf-8", lambda own: as_latex(own.board, own.rows, own.choice)),
    "bib": Format("application/x-bibtex; charset=utf-8", cited),
    "papers-with-code.json": Format(JSON, as_papers_with_code),
    "every-eval-ever.zip": Format(ZIP, as_every_eval_ever),
    "hugging-face.zip": Format(ZIP, lambda own: as_hugging_face(own, "")),
    "ir-metadata.zip": Format(ZIP, as_ir_metadata),
}


def board_file(results: Results, name: str) -> HttpResponse:
    """The board in the format of this name. Raises Http404 where a column is asked for that it has not."""
    chosen = FORMATS[name]
    try:
        content = chosen.written(results)
    except UnknownColumn as unknown:
        raise Http404(str(unknown)) from unknown
    return as_file(content, chosen.content_type, results.board, name)


def as_file(content: str | bytes, content_type: str, board: Board, suffix: str) -> HttpResponse:
    response = HttpResponse(content, content_type=content_type)
    name = f"{board.phase.task.season.slug}-{board.phase.task.slug}-{board.phase.slug}.{suffix}"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    if is_public(board.phase):
        response["Cache-Control"] = "no-cache"
    return response
