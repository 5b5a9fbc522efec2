"""Pages that show a single tab of a board, and the files of its figures."""

from dataclasses import replace
from http import HTTPStatus

from django.http import HttpRequest
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import reverse

from citeboard.web.boards.page_query import BoardPageParameters
from citeboard.web.boards.tabs import BOARD_TABS, build_tab_context
from citeboard.web.pages import (
    View,
    ViewResult,
    build_phase_context,
    phase_reader_pages,
)
from scoring.exchange.figure_files import find_figure_content_type, render_figure
from scoring.results.board import cache
from scoring.results.board.query import load_requested_board_with_scores
from scoring.results.board.visibility import determine_audience
from tasks.models import Phase


def build_single_tab_view(name: str) -> View:
    [tab] = [tab for tab in BOARD_TABS if tab.page == name]

    def show_single_tab(request: HttpRequest, phase: Phase) -> ViewResult:
        query = BoardPageParameters.of(request.GET)
        viewer, audience = request.user, determine_audience(phase, request.user)
        if query.figure in tab.tables:
            page, _label = tab.tables[query.figure]
            place = [phase.task.season.slug, phase.task.slug, phase.slug]
            return redirect(
                reverse(page, args=place) + replace(query, figure="").of_files
            )

        def render_tab_or_figure() -> str | bytes:
            board = load_requested_board_with_scores(phase, viewer, query, audience)
            context = build_tab_context(tab, phase, board, query, viewer)
            if query.figure:
                return render_figure(context.get("figures", {}), query.figure)
            context |= {**build_phase_context(phase), "tab": tab}
            context["board_query"] = query.build_query_string(view=tab.name)
            return render_to_string("boards/tab.html", context, request)

        content_type = (
            find_figure_content_type(query.figure)
            if query.figure
            else cache.HTML_CONTENT_TYPE
        )
        seen = tab.seen(phase, viewer)
        answer = cache.load_or_render_phase_page(
            request,
            phase,
            audience,
            query,
            render_tab_or_figure,
            *seen,
            content_type=content_type,
        )
        if query.figure and answer.status_code == HTTPStatus.OK:
            name = f'attachment; filename="{query.figure}"'
            answer["Content-Disposition"] = name
        return answer

    show_single_tab.__doc__ = tab.context.__doc__
    return phase_reader_pages.page()(show_single_tab)
