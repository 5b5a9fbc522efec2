"""Boards as they stood: keeping one to cite it, and the pages of those that were stored."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_safe

from citeboard.core.api import readable_anywhere
from citeboard.core.words import sentence
from scoring.board.confirming import confirmation_of, errata_for
from scoring.board.names import metric_label
from scoring.board.numbers import interval, ranks, shown
from scoring.board.query import BoardQuery, board_with_scores
from scoring.board.snapshots import keep, keep_cited, snapshot_for
from scoring.board.standings import standing_of
from scoring.board.visibility import audience_of
from scoring.exchange.citations import Citation, of_paper, of_run, of_season, of_snapshot, of_task
from scoring.models import CitedTooOften, Paper, Snapshot
from scoring.web.pages import Answer, phase_readers
from tasks.models import Phase, Submission
from tasks.models.run_cards import marks_of
from tasks.seasons.access import phase_for, season_for, task_for


@require_GET
def cite(request: HttpRequest, season: str, task: str, phase: str) -> HttpResponse:
    """Keeps the board that the address asks for, as it stands, and leads to where it is stored."""
    found = phase_for(request.user, season, task, phase)
    board = board_with_scores(
        found, request.user, BoardQuery.of(request.GET), audience_of(found, request.user)
    )
    try:
        stored = keep(board, Snapshot.Occasion.CITED)
    except CitedTooOften as refused:
        messages.error(request, sentence(refused))
        return redirect("board", season, task, phase)
    if stored is None:
        raise Http404(_("Nothing stands on this board that could be cited."))
    return redirect("snapshot", season, task, phase, stored.short)


@phase_readers.page("boards/snapshot.html")
def snapshot(request: HttpRequest, phase: Phase, digest: str) -> Answer:
    stored = kept_at(request, phase, digest)
    content = stored.content
    columns = _columns(content)
    return {
        "kept": stored,
        "errata": errata_for(phase, audience_of(phase, request.user), stored.created_at),
        "citation": of_snapshot(stored),
        "heads": [metric_label(column["metric"]) for column in columns],
        "keys": [column["key"] for column in columns],
        "lines": [_line(row, columns, is_compared=content["compared"]) for row in content["rows"]],
    }


@readable_anywhere
@require_safe
def snapshot_json(request: HttpRequest, season: str, task: str, phase: str, digest: str) -> HttpResponse:
    """Byte by byte what the digest is of."""
    stored = kept_at(request, phase_for(request.user, season, task, phase), digest)
    response = HttpResponse(stored.text, content_type="application/json")
    response["Content-Disposition"] = f'attachment; filename="board-{stored.short}.json"'
    return response


def kept_at(request: HttpRequest, phase: Phase, digest: str) -> Snapshot:
    """Raises Http404 where none is, and where the viewer might not see so much of the board."""
    stored = snapshot_for(request.user, phase, digest)
    if stored is None:
        raise Http404(_("No board is kept at this address, or it is not published."))
    return stored


def _columns(content: dict[str, Any]) -> list[dict[str, Any]]:
    """Those with a number in some row."""
    return [
        column
        for column in content["columns"]
        if any(_has_number(row["scores"].get(column["name"])) for row in content["rows"])
    ]


def _has_number(cell: dict[str, Any] | None) -> bool:
    return cell is not None and (cell["value"] is not None or cell.get("infinite", False))


def _line(row: dict[str, Any], columns: list[dict[str, Any]], *, is_compared: bool) -> dict[str, Any]:
    competes = row["kind"] not in Submission.TEAMLESS
    contrastive = _("contrastive") if row["kind"] == Submission.Kind.CONTRASTIVE else ""
    return {
        "submission": row["submission"],
        "rank": ranks(row["rank_low"], row["rank_high"]) if is_compared else str(row["rank"] or ""),
        "system": row["system"],
        "team": ", ".join(filter(None, (_owner(row), contrastive))),
        "marks": [words for _, words in marks_of(row.get("card", {}))],
        "is_team": competes and row["kind"] != Submission.Kind.CONTRASTIVE,
        "numbers": [_number(row["scores"].get(column["name"]), column["scale"]) for column in columns],
    }


def _owner(row: dict[str, Any]) -> str:
    if row["kind"] in Submission.TEAMLESS:
        return str(Submission.Kind(row["kind"]).label)
    return str(row["team"] or _("a team"))


def _number(cell: dict[str, Any] | None, scale: float) -> tuple[str, str]:
    """The value and its interval."""
    if cell is None:
        return "", ""
    value = shown(cell["value"], scale, is_infinite=cell.get("infinite", False))
    return value, interval(cell["low"], cell["high"], scale)


@require_safe
def season_bib(request: HttpRequest, season: str) -> HttpResponse:
    return _bibtex(of_season(season_for(request.user, season)))


@require_safe
def task_bib(request: HttpRequest, season: str, task: str) -> HttpResponse:
    return _bibtex(of_task(task_for(request.user, season, task)))


@require_safe
def run_bib(request: HttpRequest, season: str, task: str, phase: str, submission: int) -> HttpResponse:
    found = standing_of(phase_for(request.user, season, task, phase), request.user, submission)
    if found is None:
        raise Http404(_("No row of this board is of that run."))
    board, row = found
    return _bibtex(of_run(board, row, keep_cited(board), confirmation=confirmation_of(board)))


@require_safe
def snapshot_bib(request: HttpRequest, season: str, task: str, phase: str, digest: str) -> HttpResponse:
    return _bibtex(of_snapshot(kept_at(request, phase_for(request.user, season, task, phase), digest)))


@require_safe
def paper_bib(request: HttpRequest, key: str) -> HttpResponse:
    return _bibtex(of_paper(get_object_or_404(Paper, key=key)))


def _bibtex(citation: Citation) -> HttpResponse:
    return HttpResponse(citation.bibtex, content_type="application/x-bibtex; charset=utf-8")
