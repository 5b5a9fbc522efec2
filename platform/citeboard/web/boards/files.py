"""Files with the rows of a board, snapshots of boards, and preview images."""

import re
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.cache import caches
from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.timezone import now
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_safe

from citeboard.core.api import allow_any_origin
from citeboard.core.instants import format_day
from citeboard.core.words import as_sentence
from citeboard.web.pages import (
    Answer,
    download_response,
    phase_readers,
    season_readers,
    task_readers,
)
from scoring.exchange.citations import (
    Citation,
    cite_paper,
    cite_run,
    cite_season,
    cite_snapshot,
    cite_task,
)
from scoring.exchange.figure_files import convert_svg, image_formats
from scoring.exchange.formats import (
    board_as_hugging_face,
    board_download_response,
    board_file_response,
    render_rank_badge,
)
from scoring.exchange.results import ExportedResults
from scoring.figures.share_card import CardRow, draw_share_card
from scoring.human.data_sheet import (
    answered_sections,
    data_sheet_as_json,
    data_sheet_as_markdown,
)
from scoring.models import Paper, Sheet, Snapshot, SnapshotLimitReached
from scoring.results.board import (
    confirming,
    differences,
    exports,
    formatting,
    human_columns,
    public_results,
)
from scoring.results.board.cache import CACHE_SECONDS, cached_phase_page, digest_of
from scoring.results.board.leaders import class_leaders_of
from scoring.results.board.query import (
    BoardQuery,
    LatexTableQuery,
    requested_board_with_scores,
    select_and_sort_rows,
)
from scoring.results.board.snapshots import (
    readable_snapshot,
    save_cited_snapshot,
    save_snapshot,
)
from scoring.results.board.standings import (
    Board,
    Row,
    board_and_row_of_run,
    cached_board,
)
from scoring.results.board.visibility import (
    Audience,
    Visibility,
    audience_of,
    freeze_time_for,
    shows_teams,
    visibility_of,
)
from scoring.results.comparison.contenders import SeveralRunsQuery
from tasks.gold.secrecy import with_embargoes
from tasks.models import (
    Phase,
    Registration,
    Season,
    Submission,
    Task,
    run_cards,
    seasons,
)
from tasks.seasons.access import phase_for, season_for


@allow_any_origin
@require_safe
def board_export(
    request: HttpRequest, season: str, task: str, phase: str, suffix: str
) -> HttpResponse:
    board, rows = _board_and_rows(request, season, task, phase)
    return board_file_response(
        ExportedResults(board, rows, LatexTableQuery.of(request.GET)), suffix
    )


CLASS_SCORE_WRITERS = {"csv": exports.classes_csv, "json": exports.classes_json}


@allow_any_origin
@require_safe
def classes_file(
    request: HttpRequest, season: str, task: str, phase: str, form: str
) -> HttpResponse:
    board = _board_of_first_runs(request, season, task, phase)
    return board_download_response(
        CLASS_SCORE_WRITERS[form](board), board, f"classes.{form}"
    )


@require_safe
def export_class_tables_as_latex(
    request: HttpRequest, season: str, task: str, phase: str
) -> HttpResponse:
    """Return the table of scores by class in LaTeX, for the same query parameters as
    the page.
    """
    board = _board_of_first_runs(request, season, task, phase)
    query = BoardQuery.of(request.GET)
    dimension, metric = differences.select_dimension_and_metric(board, query)
    if not metric:
        raise Http404(_("No run has been scored by class yet."))
    chosen = differences.select_board_rows(board, query.systems)
    wanted = [dimension]
    if query.dimension == differences.ALL_DIMENSIONS:
        wanted = [
            own
            for own in differences.offered_dimensions(board)
            if metric in differences.class_metrics_of(board, own)
        ]
    choice = LatexTableQuery.of(request.GET)
    tables = [
        exports.classes_latex(
            board,
            differences.class_table(board, chosen, own, metric),
            class_leaders_of(board, own, metric).significant,
            choice,
        )
        for own in wanted
    ]
    name = "classes.tex" if len(tables) > 1 else f"{wanted[0]}.tex"
    return board_download_response("\n".join(tables), board, name)


@require_safe
def export_for_hugging_face(
    request: HttpRequest, season: str, task: str, phase: str
) -> HttpResponse:
    """Return the results of a board in the format of the Hugging Face Hub.

    `?dataset=OWNER/NAME` sets the benchmark.
    """
    results = ExportedResults(
        *_board_and_rows(request, season, task, phase), LatexTableQuery.of(request.GET)
    )
    dataset = request.GET.get("dataset", "")
    if dataset and not re.fullmatch(seasons.HUB_DATASET_PATTERN, dataset):
        raise BadRequest(
            _(
                "A data set of the Hub is named by its owner and name, such as owner/name."
            )
        )
    return board_download_response(
        board_as_hugging_face(results, dataset), results.board, "hugging-face.zip"
    )


def _board_and_rows(
    request: HttpRequest, season: str, task: str, phase: str
) -> tuple[Board, list[Row]]:
    found = phase_for(request.user, season, task, phase)
    query = BoardQuery.of(request.GET)
    board = requested_board_with_scores(
        found, request.user, query, audience_of(found, request.user)
    )
    return board, select_and_sort_rows(board, query)


def _board_of_first_runs(
    request: HttpRequest, season: str, task: str, phase: str
) -> Board:
    board, _rows = _board_and_rows(request, season, task, phase)
    board = board.with_first_runs_only
    return replace(board, rows=board.systems)


SVG_CONTENT_TYPE = "image/svg+xml"


@allow_any_origin
@phase_readers.page()
def team_badge(
    request: HttpRequest, phase: Phase, slug: str, system: str = ""
) -> Answer:
    """Return a badge with the current rank of a team, or of one system of the team."""
    if visibility_of(phase, Audience.PUBLIC) == Visibility.NOTHING:
        raise Http404(_("The ranks of this board are not published."))
    if not shows_teams(phase, Audience.PUBLIC):
        raise Http404(_("Whose the systems of this board are is not published."))
    get_object_or_404(
        Registration.objects.approved(), season=phase.task.season_id, team__slug=slug
    )

    def render_badge() -> str:
        board = cached_board(phase, None, audience=Audience.PUBLIC)
        own = [
            row
            for row in board.rows
            if row.team_slug == slug
            and system in ("", public_results.system_slug(row.system))
        ]
        return render_rank_badge(
            board, next((row for row in own if row.rank is not None), None)
        )

    return cached_phase_page(
        request,
        phase,
        Audience.PUBLIC,
        (slug, system),
        render_badge,
        content_type=SVG_CONTENT_TYPE,
    )


DATA_SHEET_WRITERS = {"md": data_sheet_as_markdown, "json": data_sheet_as_json}


@phase_readers.page("boards/data_sheet.html")
def data_sheet(request: HttpRequest, phase: Phase) -> Answer:
    return {
        "sections": answered_sections(_published_sheet_or_404(request, phase)),
        "forms": list(DATA_SHEET_WRITERS),
    }


@phase_readers.page()
def data_sheet_file(request: HttpRequest, phase: Phase, form: str) -> Answer:
    name = f"{phase.task.season.slug}-{phase.task.slug}-{phase.slug}-human-evaluation.{form}"
    return download_response(
        DATA_SHEET_WRITERS[form](_published_sheet_or_404(request, phase)), name
    )


def _published_sheet_or_404(request: HttpRequest, phase: Phase) -> Sheet:
    """Return the published sheet for human evaluation of a phase.

    Raises Http404 if the phase has no published sheet or the user may not see scores.
    """
    audience = audience_of(phase, request.user)
    sheet = human_columns.newest_published_rating_sheet(
        phase, freeze_time_for(phase, audience)
    )
    if sheet is None or visibility_of(phase, audience) != Visibility.SCORES:
        raise Http404(_("No human evaluation stands on this board."))
    return sheet


@require_GET
@phase_readers.page()
def cite(request: HttpRequest, phase: Phase) -> Answer:
    """Store a snapshot of the requested board and redirect to the snapshot's URL."""
    query, audience = BoardQuery.of(request.GET), audience_of(phase, request.user)
    board = requested_board_with_scores(phase, request.user, query, audience)
    address = (phase.task.season.slug, phase.task.slug, phase.slug)
    try:
        stored = save_snapshot(board, Snapshot.Occasion.CITED)
    except SnapshotLimitReached as refused:
        messages.error(request, as_sentence(refused))
        return redirect("board", *address)
    if stored is None:
        raise Http404(_("Nothing stands on this board that could be cited."))
    return redirect("snapshot", *address, stored.short)


@phase_readers.page("boards/snapshot.html")
def snapshot(request: HttpRequest, phase: Phase, digest: str) -> Answer:
    stored = snapshot_or_404(request, phase, digest)
    content = stored.content
    # The file of the board omits columns without any number.
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
        "errata": confirming.visible_errata(
            phase, audience_of(phase, request.user), stored.created_at
        ),
        "citation": cite_snapshot(stored),
        "heads": [formatting.metric_label(column["metric"]) for column in columns],
        "keys": [column["key"] for column in columns],
        "lines": [
            _results_csv_row(row, columns, is_compared=content["compared"])
            for row in content["rows"]
        ],
    }


@allow_any_origin
@phase_readers.page()
def snapshot_json(request: HttpRequest, phase: Phase, digest: str) -> Answer:
    """Return a snapshot of a board as JSON. The digest in the URL covers exactly the
    bytes of the snapshot.
    """
    stored = snapshot_or_404(request, phase, digest)
    return download_response(stored.text, f"board-{stored.short}.json")


def snapshot_or_404(request: HttpRequest, phase: Phase, digest: str) -> Snapshot:
    """Return a snapshot of a board by its digest.

    Raises Http404 if the snapshot does not exist, or if it shows more than the user may
    see.
    """
    stored = readable_snapshot(request.user, phase, digest)
    if stored is None:
        raise Http404(_("No board is kept at this address, or it is not published."))
    return stored


def _results_csv_row(
    row: dict[str, Any], columns: list[dict[str, Any]], *, is_compared: bool
) -> dict[str, Any]:
    competes = row["kind"] not in Submission.TEAMLESS
    owner = (
        str(row["team"] or _("a team"))
        if competes
        else str(Submission.Kind(row["kind"]).label)
    )
    contrastive = _("contrastive") if row["kind"] == Submission.Kind.CONTRASTIVE else ""
    numbers = []
    for column in columns:
        value = around = ""
        if cell := row["scores"].get(column["name"]):
            told = {
                "is_infinite": cell.get("infinite", False),
                "withheld": cell.get("withheld", ""),
            }
            value = formatting.shown(cell["value"], column["scale"], **told)
            around = formatting.interval(cell["low"], cell["high"], column["scale"])
        numbers.append((value, around))
    return {
        "submission": row["submission"],
        "rank": formatting.rank_text(
            row["rank"], row["rank_low"], row["rank_high"], is_compared=is_compared
        ),
        "system": row["system"],
        "team": ", ".join(filter(None, (owner, contrastive))),
        "marks": [
            words for _, words in run_cards.warning_labels_of_card(row.get("card", {}))
        ],
        "is_team": competes and row["kind"] != Submission.Kind.CONTRASTIVE,
        "numbers": numbers,
    }


@season_readers.page()
def season_bib(request: HttpRequest, season: Season) -> Answer:
    return _bibtex_response(cite_season(season))


@task_readers.page()
def task_bib(request: HttpRequest, task: Task) -> Answer:
    return _bibtex_response(cite_task(task))


@phase_readers.page()
def run_bib(request: HttpRequest, phase: Phase, submission: int) -> Answer:
    its_place = board_and_row_of_run(phase, request.user, submission)
    if its_place is None:
        raise Http404(_("No row of this board is of that run."))
    board, row = its_place
    return _bibtex_response(
        cite_run(
            board,
            row,
            save_cited_snapshot(board),
            confirmation=confirming.confirmation_of(board),
        )
    )


@phase_readers.page()
def snapshot_bib(request: HttpRequest, phase: Phase, digest: str) -> Answer:
    return _bibtex_response(cite_snapshot(snapshot_or_404(request, phase, digest)))


@require_safe
def download_paper_bibtex(request: HttpRequest, key: str) -> HttpResponse:
    return _bibtex_response(cite_paper(get_object_or_404(Paper, key=key)))


def _bibtex_response(citation: Citation) -> HttpResponse:
    return HttpResponse(
        citation.bibtex, content_type="application/x-bibtex; charset=utf-8"
    )


@require_safe
def show_board_preview_image(
    request: HttpRequest, season: str, task: str, phase: str
) -> HttpResponse:
    """Return the preview image of a board. If the query names one or two runs, the
    preview image shows these runs.
    """
    found = phase_for(None, season, task, phase)
    runs = SeveralRunsQuery.of(request.GET).runs
    places = (
        public_results.public_placings_of_runs(found, runs)
        if runs
        else public_results.top_public_placings(found)
    )
    metric = next((place.metric for place in places if place.metric), "")
    heading = metric and _("%(metric)s with its 95 %% interval") % {"metric": metric}
    facts = f"{found.task.season.title}, {found.title}"
    foot = f"{settings.BASE_URL}, {format_day(now())}"
    verdict = None if runs else public_results.public_verdict(found)
    return _png_response(
        draw_share_card(
            found.task.title,
            facts,
            heading,
            [_preview_image_row(place) for place in places],
            foot,
            verdict.text if verdict else "",
        )
    )


@require_safe
def show_season_preview_image(request: HttpRequest, season: str) -> HttpResponse:
    """Return the preview image of a season. The preview image of a season shows the
    first row of each public board.
    """
    found = season_for(None, season)
    phases = with_embargoes(
        Phase.objects.filter(task__season=found).select_related("task__season")
    )
    rows = [
        CardRow(
            rank="",
            name=f"{phase.task.title}, {phase.title}",
            beside=" ".join([place.system, place.team or ""]).strip(),
            text=_preview_image_row(place).text,
        )
        for phase in phases
        for place in public_results.public_first_places(phase)[:1]
    ]
    facts, heading = _("Shared tasks on citations"), _("First on its boards")
    return _png_response(
        draw_share_card(found.title, facts, heading, rows, settings.BASE_URL)
    )


def _preview_image_row(place: public_results.PublicPlacing) -> CardRow:
    return CardRow(
        rank=place.ranks,
        name=place.system,
        beside=", ".join(filter(None, [place.team, place.seed_words])),
        text=place.number,
        value=place.cell.value if place.cell else None,
        low=place.cell.low if place.cell else None,
        high=place.cell.high if place.cell else None,
        is_baseline=place.is_baseline,
    )


def _png_response(svg: str) -> HttpResponse:
    if "png" not in image_formats():
        raise Http404(_("Pictures cannot be made here."))
    key = f"share-card:{digest_of(svg)}"
    picture = caches["pages"].get_or_set(
        key, lambda: convert_svg(svg.encode(), "png", scale=1.0), CACHE_SECONDS
    )
    response = HttpResponse(picture, content_type="image/png")
    response["Cache-Control"] = "public, max-age=600"
    return response
