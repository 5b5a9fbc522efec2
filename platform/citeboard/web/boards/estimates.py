"""Estimated scores of a board, as a tab and as files."""

from typing import Any

from django.http import Http404, HttpRequest
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _, gettext_lazy

from citeboard.core.api import allow_any_origin
from citeboard.web.boards.page_query import BoardPageParameters
from citeboard.web.pages import ViewResult, phase_reader_pages
from scoring.exchange.results import find_content_type
from scoring.results.board import cache
from scoring.results.board.estimates import (
    EstimatesOfBoard,
    MetricWithEstimates,
    PublishedEstimates,
    ScoreEstimate,
    find_published_estimates_of_board,
    get_kind_of_labels,
)
from scoring.results.board.formatting import (
    display_name_of_metric,
    format_interval,
    format_score,
)
from scoring.results.board.judges import KIND_NAMES
from scoring.results.board.query import load_requested_board_with_scores
from scoring.results.board.standings import Board
from scoring.results.board.visibility import determine_audience
from tasks.models import Phase

#: TOO_FEW_LABELS_MESSAGES_BY_REASON maps the reason for a missing estimate in the database to a sentence.
TOO_FEW_LABELS_MESSAGES_BY_REASON = {
    "topics": gettext_lazy("too few topics"),
    "labels": gettext_lazy("too few labels"),
    "labels of a kind": gettext_lazy("too few labels of one kind"),
}
ESTIMATE_FILE_WRITERS = {
    "json": EstimatesOfBoard.as_json,
    "csv": EstimatesOfBoard.as_csv,
}


def build_estimates_tab_context(
    board: Board, query: BoardPageParameters, viewer: object
) -> dict[str, Any]:
    """Return the context of the tab with estimated scores.

    The estimates combine the judge's labels with people's labels of a sample, for each
    kind of labels.
    """
    found = find_published_estimates_of_board(board)
    if found is None:
        raise Http404(_("No estimated scores are published of this board."))
    return {
        "kinds": [
            {
                "name": KIND_NAMES[get_kind_of_labels(own.sheet)],
                "of": own.sheet.get_of_display(),
                "labels": own.sheet.labels,
                "measures": build_estimates_context(own),
            }
            for own in found.kinds
        ],
        "season": board.phase.task.season,
        "task": board.phase.task,
        "phase": board.phase,
    }


def build_estimates_context(found: PublishedEstimates) -> list[dict[str, Any]]:
    return [
        {
            "label": display_name_of_metric(measure.column.metric),
            "lines": [_build_estimate_row(measure, line) for line in measure.lines],
            "differences": [
                _build_estimate_row(measure, line) for line in measure.differences
            ],
            "agreement": format_score(measure.agreement),
            "saves_little": measure.saves_little,
        }
        for measure in found.measures
    ]


def _build_estimate_row(
    measure: MetricWithEstimates, line: ScoreEstimate
) -> dict[str, Any]:
    facts, scale = line.facts, measure.column.scale
    worth = facts["worth"]
    return {
        "system": line.row.system,
        "team": line.row.team,
        "other": line.other.system if line.other else "",
        "judge": format_score(facts["judge"], scale),
        "estimated": format_score(facts["estimated"], scale)
        if line.is_estimated
        else "",
        "ends": format_interval(facts["low"], facts["high"], scale)
        if line.is_estimated
        else "",
        "labels": facts["labels"],
        "worth": "" if worth is None else f"{worth:.0f}",
        "too_few": TOO_FEW_LABELS_MESSAGES_BY_REASON.get(facts.get("too_few", ""), ""),
    }


@allow_any_origin
@phase_reader_pages.page()
def download_estimated_scores(
    request: HttpRequest, phase: Phase, form: str
) -> ViewResult:
    """Return the estimated scores of a board as JSON or CSV."""
    audience, viewer = determine_audience(phase, request.user), request.user
    query = BoardPageParameters.of(request.GET)
    name = f"{phase.task.season.slug}-{phase.task.slug}-{phase.slug}-estimates.{form}"

    def render_estimates_file() -> str:
        found = find_published_estimates_of_board(
            load_requested_board_with_scores(phase, viewer, query, audience)
        )
        if found is None:
            raise Http404(_("No estimated scores are published of this board."))
        return ESTIMATE_FILE_WRITERS[form](found)

    response = cache.load_or_render_phase_page(
        request,
        phase,
        audience,
        query,
        render_estimates_file,
        f"estimates.{form}",
        content_type=find_content_type(name),
    )
    response["Content-Disposition"] = content_disposition_header(
        as_attachment=True, filename=name
    )
    return response
