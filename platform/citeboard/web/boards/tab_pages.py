"""Pages that show a single tab of a board, and the files of its figures."""

from dataclasses import replace
from http import HTTPStatus

from django.http import HttpRequest
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import reverse

from citeboard.web.boards.page_query import PageQuery
from citeboard.web.boards.tabs import TABS, panel_context
from citeboard.web.pages import Answer, View, phase_readers, place_of
from scoring.exchange.figure_files import figure_file, figure_type
from scoring.results.board import cache
from scoring.results.board.query import board_with_scores
from scoring.results.board.visibility import audience_of
from tasks.models import Phase


def alone(name: str) -> View:
    [tab] = [tab for tab in TABS if tab.page == name]

    def view(request: HttpRequest, phase: Phase) -> Answer:
        query = PageQuery.of(request.GET)
        viewer, audience = request.user, audience_of(phase, request.user)
        if query.figure in tab.tables:
            page, _label = tab.tables[query.figure]
            place = [phase.task.season.slug, phase.task.slug, phase.slug]
            return redirect(
                reverse(page, args=place) + replace(query, figure="").of_files
            )

        def body() -> str | bytes:
            board = board_with_scores(phase, viewer, query, audience)
            context = panel_context(tab, phase, board, query, viewer)
            if query.figure:
                return figure_file(context.get("figures", {}), query.figure)
            context |= {**place_of(phase), "tab": tab}
            context["board_query"] = query.with_(view=tab.name)
            return render_to_string("boards/tab.html", context, request)

        content_type = figure_type(query.figure) if query.figure else cache.HTML
        seen = tab.seen(phase, viewer)
        answer = cache.phase_page(
            request, phase, audience, query, body, *seen, content_type=content_type
        )
        if query.figure and answer.status_code == HTTPStatus.OK:
            name = f'attachment; filename="{query.figure}"'
            answer["Content-Disposition"] = name
        return answer

    view.__doc__ = tab.context.__doc__
    return phase_readers.page()(view)
