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
from citeboard.core.words import format_as_sentence
from citeboard.web.pages import (
    ViewResult,
    build_download_response,
    phase_reader_pages,
    season_reader_pages,
    task_reader_pages,
)
from scoring.exchange.citations import (
    Citation,
    build_citation_of_paper,
    build_citation_of_run,
    build_citation_of_season,
    build_citation_of_snapshot,
    build_citation_of_task,
)
from scoring.exchange.figure_files import convert_svg, list_image_formats
from scoring.exchange.formats import (
    board_as_hugging_face,
    build_board_download_response,
    build_board_file_response,
    render_rank_badge,
)
from scoring.exchange.results import BoardRowsForExport
from scoring.figures.share_card import CardRow, draw_share_card
from scoring.human.data_sheet import (
    data_sheet_as_json,
    data_sheet_as_markdown,
    group_answers_by_section,
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
from scoring.results.board.cache import (
    PAGE_CACHE_SECONDS,
    hash_cache_key_values,
    load_or_render_phase_page,
)
from scoring.results.board.leaders import load_class_leaders
from scoring.results.board.query import (
    BoardQuery,
    LatexTableQuery,
    load_requested_board_with_scores,
    select_and_sort_rows,
)
from scoring.results.board.snapshots import (
    find_readable_snapshot,
    save_cited_snapshot,
    save_snapshot,
)
from scoring.results.board.standings import (
    Board,
    BoardRow,
    find_board_and_row_of_run,
    load_cached_board,
)
from scoring.results.board.visibility import (
    Audience,
    BoardVisibility,
    determine_audience,
    determine_board_visibility,
    find_freeze_time_for_audience,
    shows_teams,
)
from scoring.results.comparison.contenders import SeveralRunsQuery
from tasks.gold.secrecy import load_phases_with_embargoes
from tasks.models import (
    Phase,
    Registration,
    Season,
    Submission,
    Task,
    run_cards,
    seasons,
)
from tasks.seasons.access import get_visible_phase_or_404, get_visible_season_or_404


@allow_any_origin
@require_safe
def download_board(
    request: HttpRequest, season: str, task: str, phase: str, suffix: str
) -> HttpResponse:
    board, rows = _find_board_and_displayed_rows(request, season, task, phase)
    return build_board_file_response(
        BoardRowsForExport(board, rows, LatexTableQuery.of(request.GET)), suffix
    )


CLASS_SCORE_WRITERS = {
    "csv": exports.class_scores_as_csv,
    "json": exports.class_scores_as_json,
}


@allow_any_origin
@require_safe
def download_class_scores(
    request: HttpRequest, season: str, task: str, phase: str, form: str
) -> HttpResponse:
    board = _find_board_with_first_runs_only(request, season, task, phase)
    return build_board_download_response(
        CLASS_SCORE_WRITERS[form](board), board, f"classes.{form}"
    )


@require_safe
def export_class_tables_as_latex(
    request: HttpRequest, season: str, task: str, phase: str
) -> HttpResponse:
    """Return the table of scores by class in LaTeX, for the same query parameters as
    the page.
    """
    board = _find_board_with_first_runs_only(request, season, task, phase)
    query = BoardQuery.of(request.GET)
    dimension, metric = differences.select_dimension_and_metric(board, query)
    if not metric:
        raise Http404(_("No run has been scored by class yet."))
    chosen = differences.select_board_rows(board, query.systems)
    wanted = [dimension]
    if query.dimension == differences.ALL_DIMENSIONS:
        wanted = [
            own
            for own in differences.list_selectable_dimensions(board)
            if metric in differences.list_metrics_with_class_values(board, own)
        ]
    choice = LatexTableQuery.of(request.GET)
    tables = [
        exports.class_table_as_latex(
            board,
            differences.build_scores_by_class_table(board, chosen, own, metric),
            load_class_leaders(board, own, metric).significant,
            choice,
        )
        for own in wanted
    ]
    name = "classes.tex" if len(tables) > 1 else f"{wanted[0]}.tex"
    return build_board_download_response("\n".join(tables), board, name)


@require_safe
def export_for_hugging_face(
    request: HttpRequest, season: str, task: str, phase: str
) -> HttpResponse:
    """Return the results of a board in the format of the Hugging Face Hub.

    `?dataset=OWNER/NAME` sets the benchmark.
    """
    results = BoardRowsForExport(
        *_find_board_and_displayed_rows(request, season, task, phase),
        LatexTableQuery.of(request.GET),
    )
    dataset = request.GET.get("dataset", "")
    if dataset and not re.fullmatch(seasons.HUB_DATASET_PATTERN, dataset):
        raise BadRequest(
            _(
                "A data set of the Hub is named by its owner and name, such as owner/name."
            )
        )
    return build_board_download_response(
        board_as_hugging_face(results, dataset), results.board, "hugging-face.zip"
    )


def _find_board_and_displayed_rows(
    request: HttpRequest, season: str, task: str, phase: str
) -> tuple[Board, list[BoardRow]]:
    found = get_visible_phase_or_404(request.user, season, task, phase)
    query = BoardQuery.of(request.GET)
    board = load_requested_board_with_scores(
        found, request.user, query, determine_audience(found, request.user)
    )
    return board, select_and_sort_rows(board, query)


def _find_board_with_first_runs_only(
    request: HttpRequest, season: str, task: str, phase: str
) -> Board:
    board, _rows = _find_board_and_displayed_rows(request, season, task, phase)
    board = board.with_first_runs_only
    return replace(board, rows=board.systems)


SVG_CONTENT_TYPE = "image/svg+xml"


@allow_any_origin
@phase_reader_pages.page()
def show_team_badge(
    request: HttpRequest, phase: Phase, slug: str, system: str = ""
) -> ViewResult:
    """Return a badge with the current rank of a team, or of one system of the team."""
    if determine_board_visibility(phase, Audience.PUBLIC) == BoardVisibility.NOTHING:
        raise Http404(_("The ranks of this board are not published."))
    if not shows_teams(phase, Audience.PUBLIC):
        raise Http404(_("Whose the systems of this board are is not published."))
    get_object_or_404(
        Registration.objects.approved(), season=phase.task.season_id, team__slug=slug
    )

    def render_badge() -> str:
        board = load_cached_board(phase, None, audience=Audience.PUBLIC)
        own = [
            row
            for row in board.rows
            if row.team_slug == slug
            and system in ("", public_results.build_system_slug(row.system))
        ]
        return render_rank_badge(
            board, next((row for row in own if row.rank is not None), None)
        )

    return load_or_render_phase_page(
        request,
        phase,
        Audience.PUBLIC,
        (slug, system),
        render_badge,
        content_type=SVG_CONTENT_TYPE,
    )


DATA_SHEET_WRITERS = {"md": data_sheet_as_markdown, "json": data_sheet_as_json}


@phase_reader_pages.page("boards/data_sheet.html")
def show_data_sheet(request: HttpRequest, phase: Phase) -> ViewResult:
    return {
        "sections": group_answers_by_section(_published_sheet_or_404(request, phase)),
        "forms": list(DATA_SHEET_WRITERS),
    }


@phase_reader_pages.page()
def download_data_sheet(request: HttpRequest, phase: Phase, form: str) -> ViewResult:
    name = f"{phase.task.season.slug}-{phase.task.slug}-{phase.slug}-human-evaluation.{form}"
    return build_download_response(
        DATA_SHEET_WRITERS[form](_published_sheet_or_404(request, phase)), name
    )


def _published_sheet_or_404(request: HttpRequest, phase: Phase) -> Sheet:
    """Return the published sheet for human evaluation of a phase.

    Raises Http404 if the phase has no published sheet or the user may not see scores.
    """
    audience = determine_audience(phase, request.user)
    sheet = human_columns.find_newest_published_rating_sheet(
        phase, find_freeze_time_for_audience(phase, audience)
    )
    if (
        sheet is None
        or determine_board_visibility(phase, audience) != BoardVisibility.SCORES
    ):
        raise Http404(_("No human evaluation stands on this board."))
    return sheet


@require_GET
@phase_reader_pages.page()
def store_and_show_snapshot(request: HttpRequest, phase: Phase) -> ViewResult:
    """Store a snapshot of the requested board and redirect to the snapshot's URL."""
    query, audience = (
        BoardQuery.of(request.GET),
        determine_audience(phase, request.user),
    )
    board = load_requested_board_with_scores(phase, request.user, query, audience)
    address = (phase.task.season.slug, phase.task.slug, phase.slug)
    try:
        stored = save_snapshot(board, Snapshot.Occasion.CITED)
    except SnapshotLimitReached as refused:
        messages.error(request, format_as_sentence(refused))
        return redirect("board", *address)
    if stored is None:
        raise Http404(_("Nothing stands on this board that could be cited."))
    return redirect("snapshot", *address, stored.short)


@phase_reader_pages.page("boards/snapshot.html")
def show_snapshot(request: HttpRequest, phase: Phase, digest: str) -> ViewResult:
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
        "errata": confirming.list_visible_errata(
            phase, determine_audience(phase, request.user), stored.created_at
        ),
        "citation": build_citation_of_snapshot(stored),
        "heads": [
            formatting.display_name_of_metric(column["metric"]) for column in columns
        ],
        "keys": [column["key"] for column in columns],
        "lines": [
            _build_result_row(row, columns, is_compared=content["compared"])
            for row in content["rows"]
        ],
    }


@allow_any_origin
@phase_reader_pages.page()
def download_snapshot_json(
    request: HttpRequest, phase: Phase, digest: str
) -> ViewResult:
    """Return a snapshot of a board as JSON. The digest in the URL covers exactly the
    bytes of the snapshot.
    """
    stored = snapshot_or_404(request, phase, digest)
    return build_download_response(stored.text, f"board-{stored.short}.json")


def snapshot_or_404(request: HttpRequest, phase: Phase, digest: str) -> Snapshot:
    """Return a snapshot of a board by its digest.

    Raises Http404 if the snapshot does not exist, or if it shows more than the user may
    see.
    """
    stored = find_readable_snapshot(request.user, phase, digest)
    if stored is None:
        raise Http404(_("No board is kept at this address, or it is not published."))
    return stored


def _build_result_row(
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
            value = formatting.format_score(cell["value"], column["scale"], **told)
            around = formatting.format_interval(
                cell["low"], cell["high"], column["scale"]
            )
        numbers.append((value, around))
    return {
        "submission": row["submission"],
        "rank": formatting.format_rank(
            row["rank"], row["rank_low"], row["rank_high"], is_compared=is_compared
        ),
        "system": row["system"],
        "team": ", ".join(filter(None, (owner, contrastive))),
        "marks": [
            words
            for _, words in run_cards.list_warning_labels_of_card(row.get("card", {}))
        ],
        "is_team": competes and row["kind"] != Submission.Kind.CONTRASTIVE,
        "numbers": numbers,
    }


@season_reader_pages.page()
def download_season_bibtex(request: HttpRequest, season: Season) -> ViewResult:
    return _build_bibtex_response(build_citation_of_season(season))


@task_reader_pages.page()
def download_task_bibtex(request: HttpRequest, task: Task) -> ViewResult:
    return _build_bibtex_response(build_citation_of_task(task))


@phase_reader_pages.page()
def download_run_bibtex(
    request: HttpRequest, phase: Phase, submission: int
) -> ViewResult:
    its_place = find_board_and_row_of_run(phase, request.user, submission)
    if its_place is None:
        raise Http404(_("No row of this board is of that run."))
    board, row = its_place
    return _build_bibtex_response(
        build_citation_of_run(
            board,
            row,
            save_cited_snapshot(board),
            confirmation=confirming.compute_confirmation_of_board(board),
        )
    )


@phase_reader_pages.page()
def download_snapshot_bibtex(
    request: HttpRequest, phase: Phase, digest: str
) -> ViewResult:
    return _build_bibtex_response(
        build_citation_of_snapshot(snapshot_or_404(request, phase, digest))
    )


@require_safe
def download_paper_bibtex(request: HttpRequest, key: str) -> HttpResponse:
    return _build_bibtex_response(
        build_citation_of_paper(get_object_or_404(Paper, key=key))
    )


def _build_bibtex_response(citation: Citation) -> HttpResponse:
    return HttpResponse(
        citation.bibtex_entry, content_type="application/x-bibtex; charset=utf-8"
    )


@require_safe
def show_board_preview_image(
    request: HttpRequest, season: str, task: str, phase: str
) -> HttpResponse:
    """Return the preview image of a board. If the query names one or two runs, the
    preview image shows these runs.
    """
    found = get_visible_phase_or_404(None, season, task, phase)
    runs = SeveralRunsQuery.of(request.GET).runs
    places = (
        public_results.build_public_ranks_of_runs(found, runs)
        if runs
        else public_results.load_top_public_ranks(found)
    )
    metric = next((place.metric for place in places if place.metric), "")
    heading = metric and _("%(metric)s with its 95 %% interval") % {"metric": metric}
    facts = f"{found.task.season.title}, {found.title}"
    foot = f"{settings.BASE_URL}, {format_day(now())}"
    verdict = None if runs else public_results.load_public_verdict(found)
    return _build_png_response(
        draw_share_card(
            found.task.title,
            facts,
            heading,
            [_build_preview_image_row(place) for place in places],
            foot,
            verdict.text if verdict else "",
        )
    )


@require_safe
def show_season_preview_image(request: HttpRequest, season: str) -> HttpResponse:
    """Return the preview image of a season. The preview image of a season shows the
    first row of each public board.
    """
    found = get_visible_season_or_404(None, season)
    phases = load_phases_with_embargoes(
        Phase.objects.filter(task__season=found).select_related("task__season")
    )
    rows = [
        CardRow(
            rank="",
            name=f"{phase.task.title}, {phase.title}",
            beside=" ".join([place.system, place.team or ""]).strip(),
            text=_build_preview_image_row(place).text,
        )
        for phase in phases
        for place in public_results.load_public_first_ranks(phase)[:1]
    ]
    facts, heading = _("Shared tasks on citations"), _("First on its boards")
    return _build_png_response(
        draw_share_card(found.title, facts, heading, rows, settings.BASE_URL)
    )


def _build_preview_image_row(place: public_results.PublicRankOfRun) -> CardRow:
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


def _build_png_response(svg: str) -> HttpResponse:
    if "png" not in list_image_formats():
        raise Http404(_("Pictures cannot be made here."))
    key = f"share-card:{hash_cache_key_values(svg)}"
    picture = caches["pages"].get_or_set(
        key, lambda: convert_svg(svg.encode(), "png", scale=1.0), PAGE_CACHE_SECONDS
    )
    response = HttpResponse(picture, content_type="image/png")
    response["Cache-Control"] = "public, max-age=600"
    return response
