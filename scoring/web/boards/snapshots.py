"""Boards as they stood: keeping one to cite it, and the pages of those that were stored."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_safe

from citeboard.core.api import readable_anywhere
from citeboard.core.words import sentence
from scoring.board.confirming import confirmation_of, errata_for
from scoring.board.formatting import interval, metric_label, rank_text, shown
from scoring.board.query import BoardQuery, board_with_scores
from scoring.board.snapshots import keep, keep_cited, snapshot_for
from scoring.board.standings import standing_of
from scoring.board.visibility import audience_of
from scoring.exchange.citations import Citation, of_paper, of_run, of_season, of_snapshot, of_task
from scoring.models import CitedTooOften, Paper, Snapshot
from scoring.web.pages import Answer, attachment, phase_readers, season_readers, task_readers
from tasks.models import Phase, Season, Submission, Task
from tasks.models.run_cards import marks_of


@require_GET
@phase_readers.page()
def cite(request: HttpRequest, phase: Phase) -> Answer:
    """Keeps the board that the address asks for, as it stands, and leads to where it is stored."""
    query, audience = BoardQuery.of(request.GET), audience_of(phase, request.user)
    board = board_with_scores(phase, request.user, query, audience)
    address = (phase.task.season.slug, phase.task.slug, phase.slug)
    try:
        stored = keep(board, Snapshot.Occasion.CITED)
    except CitedTooOften as refused:
        messages.error(request, sentence(refused))
        return redirect("board", *address)
    if stored is None:
        raise Http404(_("Nothing stands on this board that could be cited."))
    return redirect("snapshot", *address, stored.short)


@phase_readers.page("boards/snapshot.html")
def snapshot(request: HttpRequest, phase: Phase, digest: str) -> Answer:
    stored = kept_at(request, phase, digest)
    content = stored.content
    # Those with a number in some row.
    columns = [
        column
        for column in content["columns"]
        if any(
            (cell := row["scores"].get(column["name"]))
            and (cell["value"] is not None or cell.keys() & {"infinite", "withheld"})
            for row in content["rows"]
        )
    ]
    return {
        "kept": stored,
        "errata": errata_for(phase, audience_of(phase, request.user), stored.created_at),
        "citation": of_snapshot(stored),
        "heads": [metric_label(column["metric"]) for column in columns],
        "keys": [column["key"] for column in columns],
        "lines": [_line(row, columns, is_compared=content["compared"]) for row in content["rows"]],
    }


@readable_anywhere
@phase_readers.page()
def snapshot_json(request: HttpRequest, phase: Phase, digest: str) -> Answer:
    """Byte by byte what the digest is of."""
    stored = kept_at(request, phase, digest)
    return attachment(stored.text, "application/json", f"board-{stored.short}.json")


def kept_at(request: HttpRequest, phase: Phase, digest: str) -> Snapshot:
    """Raises Http404 where none is, and where the viewer might not see so much of the board."""
    stored = snapshot_for(request.user, phase, digest)
    if stored is None:
        raise Http404(_("No board is kept at this address, or it is not published."))
    return stored


def _line(row: dict[str, Any], columns: list[dict[str, Any]], *, is_compared: bool) -> dict[str, Any]:
    competes = row["kind"] not in Submission.TEAMLESS
    owner = str(row["team"] or _("a team")) if competes else str(Submission.Kind(row["kind"]).label)
    contrastive = _("contrastive") if row["kind"] == Submission.Kind.CONTRASTIVE else ""
    return {
        "submission": row["submission"],
        "rank": rank_text(row["rank"], row["rank_low"], row["rank_high"], is_compared=is_compared),
        "system": row["system"],
        "team": ", ".join(filter(None, (owner, contrastive))),
        "marks": [words for _, words in marks_of(row.get("card", {}))],
        "is_team": competes and row["kind"] != Submission.Kind.CONTRASTIVE,
        "numbers": [_number(row["scores"].get(column["name"]), column["scale"]) for column in columns],
    }


def _number(cell: dict[str, Any] | None, scale: float) -> tuple[str, str]:
    if cell is None:
        return "", ""
    why = cell.get("withheld", "")
    value = shown(cell["value"], scale, is_infinite=cell.get("infinite", False), withheld=why)
    return value, interval(cell["low"], cell["high"], scale)


@season_readers.page()
def season_bib(request: HttpRequest, season: Season) -> Answer:
    return _bibtex(of_season(season))


@task_readers.page()
def task_bib(request: HttpRequest, task: Task) -> Answer:
    return _bibtex(of_task(task))


@phase_readers.page()
def run_bib(request: HttpRequest, phase: Phase, submission: int) -> Answer:
    its_place = standing_of(phase, request.user, submission)
    if its_place is None:
        raise Http404(_("No row of this board is of that run."))
    board, row = its_place
    return _bibtex(of_run(board, row, keep_cited(board), confirmation=confirmation_of(board)))


@phase_readers.page()
def snapshot_bib(request: HttpRequest, phase: Phase, digest: str) -> Answer:
    return _bibtex(of_snapshot(kept_at(request, phase, digest)))


@require_safe
def paper_bib(request: HttpRequest, key: str) -> HttpResponse:
    return _bibtex(of_paper(get_object_or_404(Paper, key=key)))


def _bibtex(citation: Citation) -> HttpResponse:
    return HttpResponse(citation.bibtex, content_type="application/x-bibtex; charset=utf-8")
