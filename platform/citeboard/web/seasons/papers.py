"""Pages with published results, a season's overview paper, and teams over all tasks."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from citeboard.background.kinds import (
    current_or_queued_paper,
    is_current,
    stored_paper_job,
    unfinished_paper_job,
)
from citeboard.core import api, storage
from citeboard.core.query import chosen_value
from citeboard.core.storage.downloads import download
from citeboard.core.words import localize_separators
from citeboard.web.pages import (
    Answer,
    PageDecorators,
    download_response,
    phase_context,
    season_readers,
    task_readers,
)
from scoring.exchange import citations, figure_files
from scoring.exchange.overview_paper import OverviewPaper, PaperParameters
from scoring.exchange.results import ZIP_CONTENT_TYPE
from scoring.models import Paper, Reported, ReportedTable
from scoring.results.board import exports, standings
from scoring.results.board.differences import class_metrics_of, offered_dimensions
from scoring.results.board.formatting import (
    dimension_label,
    metric_label,
    rank_range_text,
)
from scoring.results.board.public_results import (
    ABSENCE_RULES,
    ABSENCES_COUNT_LAST,
    OverallRanking,
    overall_ranking_of_season as overall_table,
)
from scoring.results.publications import published as printed
from scoring.results.publications.reproduced import (
    conclusions_on_boards,
    has_recomputed_tables,
    reproduced_tables_of,
)
from tasks.models import Season, Task
from tasks.seasons.access import may_help, season_for


def _published_results_or_404(task: Task) -> printed.PublishedResults:
    results = printed.published_results_of(task)
    if results.is_empty:
        raise Http404(_("No published results are known of this task."))
    return results


@task_readers.page("publications/published.html")
def published(request: HttpRequest, task: Task) -> Answer:
    results, query = (
        _published_results_or_404(task),
        printed.PublishedQuery.of(request.GET),
    )
    classes = [printed.class_table_context(table, query) for table in results.by_class]
    figures = {
        f"{kind}-{position}": table[key]
        for position, table in enumerate(classes, start=1)
        for kind, key in (("heat-map", "heat"), ("bars", "bars"))
    }
    if query.figure:
        return figure_files.figure_response(figures, query.figure)
    return {
        "papers": results.papers,
        "headlines": [printed.headline(table, query) for table in results.headlines],
        "by_class": classes,
        "figures": figures,
        "figure_address": lambda name: query.with_(figure=name),
        "several": len(results.by_class) > 1,
        "measures": printed.measure_choices(results.by_class, query),
        "others": [_printed_table(other.table) for other in results.others],
        "conclusions": printed.check_conclusions(
            {table.table.pk: table.table for table in results.tables}.values()
        ),
        "phases": task.phases.all(),
    }


PUBLISHED_FILE_WRITERS = {"csv": printed.published_csv, "json": printed.published_json}


@api.allow_any_origin
@task_readers.page()
def published_file(request: HttpRequest, task: Task, form: str) -> Answer:
    return download_response(
        PUBLISHED_FILE_WRITERS[form](_published_results_or_404(task)),
        f"{task.season.slug}-{task.slug}-published.{form}",
    )


@season_readers.page("publications/reproduced.html")
def reproduced(request: HttpRequest, season: Season) -> Answer:
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
        for table in reproduced_tables_of(task, request.user)
    ]
    figures = {
        f"reproduced-chart-{position}": table.bars
        for position, table in enumerate(tables, start=1)
        if table.phase and len(table.lines) > 1
    }
    if wanted := request.GET.get("figure"):
        return figure_files.figure_response(figures, wanted)
    return {
        "tables": tables,
        "conclusions": conclusions_on_boards(tables),
        "figures": figures,
        "figure_address": lambda name: f"?figure={name}",
    }


@require_safe
def papers(request: HttpRequest) -> HttpResponse:
    papers = list(Paper.objects.prefetch_related("tables"))
    tables = (table for paper in papers for table in paper.tables.all())
    failing = [claim for claim in printed.check_conclusions(tables) if claim.fails]
    context = {"papers": papers, "failing": failing}
    return render(request, "publications/papers.html", context)


@require_safe
def paper(request: HttpRequest, key: str) -> HttpResponse:
    paper = get_object_or_404(Paper, key=key)
    tables = list(paper.tables.all())
    context = {
        "paper": paper,
        "tables": list(map(_printed_table, tables)),
        "conclusions": printed.check_conclusions(tables),
        "citation": citations.cite_paper(paper),
    }
    return render(request, "publications/paper.html", context)


def _printed_table(table: ReportedTable) -> dict[str, Any]:
    rows = printed.published_rows_of(table, Reported.objects.filter(table=table))
    return printed.printed_table_context(
        table, rows, printed.printed_measures_of(table)
    )


@season_readers.page("seasons/overview_paper.html")
def overview_paper(request: HttpRequest, season: Season) -> Answer:
    """Show tables, charts and numbers for the season's overview paper.

    The page contains only data that the user may see.
    """
    query = PaperParameters.of(request.GET)
    paper = OverviewPaper.of(season, request.user, query)
    made, moving = stored_paper_job(paper), unfinished_paper_job(paper)
    choices = [
        (
            _("what I may see"),
            query.with_(for_everybody=False),
            not query.for_everybody,
        ),
        (
            _("what everybody may see"),
            query.with_(for_everybody=True),
            query.for_everybody,
        ),
    ]
    return {
        "parts": [
            {"part": part, **(_results_tables(part.board) if part.board else {})}
            for part in paper.parts
        ],
        "has_boards": bool(paper.boards),
        "choices": choices if may_help(request.user, season) else [],
        "carried": query.with_().removesuffix("?"),
        "made": made,
        "is_current": made is not None and is_current(made, paper),
        "jobs": [moving] if moving else [],
    }


def _results_tables(board: standings.Board) -> dict[str, Any]:
    dimensions, kind = offered_dimensions(board), board.phase.task.task_type
    metrics = {
        metric: metric_label(metric, kind)
        for name in dimensions
        for metric in class_metrics_of(board, name)
    }
    columns = []
    for column in board.columns_main_first:
        label = metric_label(column.metric, kind)
        columns.append(
            (
                column.name,
                label if column.name == column.metric else f"{label} ({column.name})",
            )
        )
    return {
        **phase_context(board.phase),
        "rules": board.rules,
        "columns": columns,
        "main": {column.name for column in board.main},
        "dimensions": [(name, dimension_label(name)) for name in dimensions],
        "metrics": list(metrics.items()),
        "rows": board.systems,
    }


@season_readers.form("", fields=())
def archive(request: HttpRequest, season: Season) -> Answer:
    """Return the stored zip archive of the overview paper.

    A POST request creates a new zip archive if the season has changed since the stored
    archive.
    """
    query = PaperParameters.of(request.GET)
    paper = OverviewPaper.of(season, request.user, query)
    if request.method == "POST":
        return redirect("background-job", current_or_queued_paper(paper).pk)
    made = stored_paper_job(paper)
    if made is None:
        page = reverse("overview-paper", args=[season.slug])
        return redirect(f"{page}{query.with_().removesuffix('?')}#zip")
    name = f"{season.slug}-overview-paper.zip"
    return download(
        request,
        storage.statistics,
        made.file,
        filename=name,
        content_type=ZIP_CONTENT_TYPE,
    )


@season_readers.page()
def one_file(request: HttpRequest, season: Season, rest: str) -> Answer:
    file = OverviewPaper.of(
        season, request.user, PaperParameters.of(request.GET)
    ).files.get(rest)
    if file is None:
        raise Http404(_("There is no such file for this season's overview paper."))
    return download_response(file.written(), f"{season.slug}-{rest.replace('/', '-')}")


OVERALL_FILE_WRITERS = {
    "csv": exports.overall_ranking_csv,
    "json": exports.overall_ranking_json,
    "tex": exports.overall_ranking_latex,
}


def _ranked_season_or_404(user: object, season: str) -> Season:
    ranked = season_for(user, season)
    if not ranked.shows_overall:
        raise Http404(_("This season does not rank teams over its tasks."))
    return ranked


ranked_seasons = PageDecorators(
    _ranked_season_or_404,
    "season",
    context=lambda season: {"season": season},
    is_public=True,
)


@ranked_seasons.page("seasons/overall.html")
def overall(request: HttpRequest, season: Season) -> Answer:
    """Show the teams over all tasks of the season, if the organisers enabled this
    page.
    """
    table = _requested_overall_board(request, season)
    lines = []
    for row in table.rows:
        places = [board.places.get(row.slug) for board in table.boards]
        words = [
            rank_range_text(place.low, place.high) if place else "" for place in places
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


def _requested_overall_board(request: HttpRequest, season: Season) -> OverallRanking:
    absences = chosen_value(request.GET, "absences", ABSENCE_RULES)
    return overall_table(season, counts_absences=absences == ABSENCES_COUNT_LAST)


@api.allow_any_origin
@ranked_seasons.page()
def overall_file(request: HttpRequest, season: Season, form: str) -> Answer:
    return download_response(
        OVERALL_FILE_WRITERS[form](season, _requested_overall_board(request, season)),
        f"{season.slug}-overall.{form}",
    )
