"""Pages with published results, a season's overview paper, and teams over all tasks."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from citeboard.background.kinds import (
    find_or_queue_overview_paper,
    find_stored_paper_job,
    find_unfinished_paper_job,
    is_stored_paper_current,
)
from citeboard.core import api, storage
from citeboard.core.query import find_permitted_value
from citeboard.core.storage.downloads import serve_stored_file
from citeboard.core.words import localize_separators
from citeboard.web.pages import (
    PageDecorators,
    ViewResult,
    build_download_response,
    build_phase_context,
    season_reader_pages,
    task_reader_pages,
)
from scoring.exchange import citations, figure_files
from scoring.exchange.overview_paper import OverviewPaper, OverviewPaperQuery
from scoring.exchange.results import ZIP_CONTENT_TYPE
from scoring.models import Paper, Reported, ReportedTable
from scoring.results.board import exports, standings
from scoring.results.board.differences import (
    list_metrics_with_class_values,
    list_selectable_dimensions,
)
from scoring.results.board.formatting import (
    display_name_of_dimension,
    display_name_of_metric,
    format_rank_range,
)
from scoring.results.board.public_results import (
    ABSENCES_COUNT_LAST,
    OVERALL_RANKING_ABSENCE_RULES,
    OverallRanking,
    load_overall_ranking_of_season as overall_table,
)
from scoring.results.publications import published as printed
from scoring.results.publications.reproduced import (
    build_reproduced_tables,
    check_conclusions_on_boards,
    has_recomputed_tables,
)
from tasks.models import Season, Task
from tasks.seasons.access import can_help_season, get_visible_season_or_404


def _published_results_or_404(task: Task) -> printed.PublishedResults:
    results = printed.load_published_results_of_task(task)
    if results.is_empty:
        raise Http404(_("No published results are known of this task."))
    return results


@task_reader_pages.page("publications/published.html")
def show_published_results(request: HttpRequest, task: Task) -> ViewResult:
    results, query = (
        _published_results_or_404(task),
        printed.PublishedTableQuery.of(request.GET),
    )
    classes = [
        printed.build_class_table_context(table, query) for table in results.by_class
    ]
    figures = {
        f"{kind}-{position}": table[key]
        for position, table in enumerate(classes, start=1)
        for kind, key in (("heat-map", "heat"), ("bars", "bars"))
    }
    if query.figure:
        return figure_files.build_figure_response(figures, query.figure)
    return {
        "papers": results.papers,
        "headlines": [
            printed.build_leading_table_context(table, query)
            for table in results.headlines
        ],
        "by_class": classes,
        "figures": figures,
        "figure_address": lambda name: query.build_query_string(figure=name),
        "several": len(results.by_class) > 1,
        "measures": printed.build_measure_choices(results.by_class, query),
        "others": [_build_printed_table(other.table) for other in results.others],
        "conclusions": printed.check_conclusions(
            {table.table.pk: table.table for table in results.tables}.values()
        ),
        "phases": task.phases.all(),
    }


PUBLISHED_FILE_WRITERS = {
    "csv": printed.published_results_as_csv,
    "json": printed.published_results_as_json,
}


@api.allow_any_origin
@task_reader_pages.page()
def download_published_results(
    request: HttpRequest, task: Task, form: str
) -> ViewResult:
    return build_download_response(
        PUBLISHED_FILE_WRITERS[form](_published_results_or_404(task)),
        f"{task.season.slug}-{task.slug}-published.{form}",
    )


@season_reader_pages.page("publications/reproduced.html")
def show_reproduced_tables(request: HttpRequest, season: Season) -> ViewResult:
    """Compare published tables with the scores of the same systems on the season's
    boards.
    """
    tasks = list(season.tasks.select_related("season"))
    if not any(has_recomputed_tables(task) for task in tasks):
        raise Http404(
            _("Nothing of this season is recomputed beside published results.")
        )
    tables = [
        table
        for task in tasks
        if has_recomputed_tables(task)
        for table in build_reproduced_tables(task, request.user)
    ]
    figures = {
        f"reproduced-chart-{position}": table.bars
        for position, table in enumerate(tables, start=1)
        if table.phase and len(table.lines) > 1
    }
    if wanted := request.GET.get("figure"):
        return figure_files.build_figure_response(figures, wanted)
    return {
        "tables": tables,
        "conclusions": check_conclusions_on_boards(tables),
        "figures": figures,
        "figure_address": lambda name: f"?figure={name}",
    }


@require_safe
def list_papers(request: HttpRequest) -> HttpResponse:
    papers = list(Paper.objects.prefetch_related("tables"))
    tables = (table for paper in papers for table in paper.tables.all())
    failing = [claim for claim in printed.check_conclusions(tables) if claim.fails]
    context = {"papers": papers, "failing": failing}
    return render(request, "publications/papers.html", context)


@require_safe
def show_paper(request: HttpRequest, key: str) -> HttpResponse:
    paper = get_object_or_404(Paper, key=key)
    tables = list(paper.tables.all())
    context = {
        "paper": paper,
        "tables": list(map(_build_printed_table, tables)),
        "conclusions": printed.check_conclusions(tables),
        "citation": citations.build_citation_of_paper(paper),
    }
    return render(request, "publications/paper.html", context)


def _build_printed_table(table: ReportedTable) -> dict[str, Any]:
    rows = printed.build_published_rows(table, Reported.objects.filter(table=table))
    return printed.build_printed_table_context(
        table, rows, printed.load_printed_measures(table)
    )


@season_reader_pages.page("seasons/overview_paper.html")
def show_overview_paper(request: HttpRequest, season: Season) -> ViewResult:
    """Show tables, charts and numbers for the season's overview paper.

    The page contains only data that the user may see.
    """
    query = OverviewPaperQuery.of(request.GET)
    paper = OverviewPaper.of(season, request.user, query)
    made, moving = find_stored_paper_job(paper), find_unfinished_paper_job(paper)
    choices = [
        (
            _("what I may see"),
            query.build_query_string(for_everybody=False),
            not query.for_everybody,
        ),
        (
            _("what everybody may see"),
            query.build_query_string(for_everybody=True),
            query.for_everybody,
        ),
    ]
    return {
        "parts": [
            {"part": part, **(_build_results_tables(part.board) if part.board else {})}
            for part in paper.parts
        ],
        "has_boards": bool(paper.boards),
        "choices": choices if can_help_season(request.user, season) else [],
        "carried": query.build_query_string().removesuffix("?"),
        "made": made,
        "is_current": made is not None and is_stored_paper_current(made, paper),
        "jobs": [moving] if moving else [],
    }


def _build_results_tables(board: standings.Board) -> dict[str, Any]:
    dimensions, kind = list_selectable_dimensions(board), board.phase.task.task_type
    metrics = {
        metric: display_name_of_metric(metric, kind)
        for name in dimensions
        for metric in list_metrics_with_class_values(board, name)
    }
    columns = []
    for column in board.columns_in_display_order:
        label = display_name_of_metric(column.metric, kind)
        columns.append(
            (
                column.name,
                label if column.name == column.metric else f"{label} ({column.name})",
            )
        )
    return {
        **build_phase_context(board.phase),
        "rules": board.rules,
        "columns": columns,
        "main": {column.name for column in board.main},
        "dimensions": [(name, display_name_of_dimension(name)) for name in dimensions],
        "metrics": list(metrics.items()),
        "rows": board.systems,
    }


@season_reader_pages.form("", fields=())
def download_overview_paper_archive(request: HttpRequest, season: Season) -> ViewResult:
    """Return the stored zip archive of the overview paper.

    A POST request creates a new zip archive if the season has changed since the stored
    archive.
    """
    query = OverviewPaperQuery.of(request.GET)
    paper = OverviewPaper.of(season, request.user, query)
    if request.method == "POST":
        return redirect("background-job", find_or_queue_overview_paper(paper).pk)
    made = find_stored_paper_job(paper)
    if made is None:
        page = reverse("overview-paper", args=[season.slug])
        return redirect(f"{page}{query.build_query_string().removesuffix('?')}#zip")
    name = f"{season.slug}-overview-paper.zip"
    return serve_stored_file(
        request,
        storage.statistics_file_storage,
        made.file,
        filename=name,
        content_type=ZIP_CONTENT_TYPE,
    )


@season_reader_pages.page()
def download_overview_paper_file(
    request: HttpRequest, season: Season, rest: str
) -> ViewResult:
    file = OverviewPaper.of(
        season, request.user, OverviewPaperQuery.of(request.GET)
    ).files.get(rest)
    if file is None:
        raise Http404(_("There is no such file for this season's overview paper."))
    return build_download_response(
        file.written(), f"{season.slug}-{rest.replace('/', '-')}"
    )


OVERALL_FILE_WRITERS = {
    "csv": exports.overall_ranking_as_csv,
    "json": exports.overall_ranking_as_json,
    "tex": exports.overall_ranking_as_latex,
}


def _ranked_season_or_404(user: object, season: str) -> Season:
    ranked = get_visible_season_or_404(user, season)
    if not ranked.shows_overall:
        raise Http404(_("This season does not rank teams over its tasks."))
    return ranked


ranked_season_pages = PageDecorators(
    _ranked_season_or_404,
    "season",
    context=lambda season: {"season": season},
    is_public=True,
)


@ranked_season_pages.page("seasons/overall.html")
def show_overall_ranking(request: HttpRequest, season: Season) -> ViewResult:
    """Show the teams over all tasks of the season, if the organisers enabled this
    page.
    """
    table = _find_requested_overall_ranking(request, season)
    lines = []
    for row in table.rows:
        places = [board.places.get(row.slug) for board in table.boards]
        words = [
            format_rank_range(place.low, place.high) if place else ""
            for place in places
        ]
        without = [row.without.get(board.phase.pk, "") for board in table.boards]
        shares = [
            f"{100 * share:.1f}" for share in (row.share, row.share_low, row.share_high)
        ]
        lines.append(
            {
                "row": row,
                "places": words,
                "without": without,
                "shares": [*map(localize_separators, shares)],
            }
        )
    has_absences = any(len(row.places) < len(table.boards) for row in table.rows)
    return {
        "table": table,
        "lines": lines,
        "forms": list(OVERALL_FILE_WRITERS),
        "has_absences": has_absences,
    }


def _find_requested_overall_ranking(
    request: HttpRequest, season: Season
) -> OverallRanking:
    absences = find_permitted_value(
        request.GET, "absences", OVERALL_RANKING_ABSENCE_RULES
    )
    return overall_table(season, counts_absences=absences == ABSENCES_COUNT_LAST)


@api.allow_any_origin
@ranked_season_pages.page()
def download_overall_ranking(
    request: HttpRequest, season: Season, form: str
) -> ViewResult:
    return build_download_response(
        OVERALL_FILE_WRITERS[form](
            season, _find_requested_overall_ranking(request, season)
        ),
        f"{season.slug}-overall.{form}",
    )
