"""The rows of a board as files."""

from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from citeboard.core.api import readable_anywhere
from scoring.board import exports
from scoring.board.cache import phase_page
from scoring.board.differences import (
    EVERY,
    chosen_systems,
    class_table,
    metrics_of,
    offered_dimensions,
    shown_classes,
)
from scoring.board.human_columns import published_sheet
from scoring.board.leaders import leaders_of
from scoring.board.public_results import system_slug
from scoring.board.query import BoardQuery, TableChoice, board_with_scores, chosen_rows
from scoring.board.standings import Board, Row, standings
from scoring.board.visibility import Audience, Visibility, audience_of, frozen_at, shows_teams, visibility_of
from scoring.exchange.formats import DATASET, JSON, ZIP, as_file, as_hugging_face, badge, board_file
from scoring.exchange.results import Results
from scoring.human.data_sheet import as_json, as_markdown, sections
from scoring.models import Sheet
from scoring.web.pages import Answer, attachment, phase_readers
from tasks.models import Phase, Registration
from tasks.seasons.access import phase_for


@readable_anywhere
@require_safe
def board_export(request: HttpRequest, season: str, task: str, phase: str, suffix: str) -> HttpResponse:
    return board_file(_results(request, season, task, phase), suffix)


@readable_anywhere
@require_safe
def classes_csv(request: HttpRequest, season: str, task: str, phase: str) -> HttpResponse:
    board = _with_systems(request, season, task, phase)
    return as_file(exports.classes_csv(board), "text/csv; charset=utf-8", board, "classes.csv")


@readable_anywhere
@require_safe
def classes_json(request: HttpRequest, season: str, task: str, phase: str) -> HttpResponse:
    board = _with_systems(request, season, task, phase)
    return as_file(exports.classes_json(board), JSON, board, "classes.json")


@require_safe
def classes_tex(request: HttpRequest, season: str, task: str, phase: str) -> HttpResponse:
    """The table of the page whose query this is."""
    board = _with_systems(request, season, task, phase)
    query = BoardQuery.of(request.GET)
    dimension, metric = shown_classes(board, query)
    if not metric:
        raise Http404(_("No run has been scored by class yet."))
    chosen = chosen_systems(board, query.systems)
    wanted = [dimension]
    if query.dimension == EVERY:
        wanted = [own for own in offered_dimensions(board) if metric in metrics_of(board, own)]
    choice = TableChoice.of(request.GET)
    tables = [
        exports.classes_latex(
            board, class_table(board, chosen, own, metric), leaders_of(board, own, metric).significant, choice
        )
        for own in wanted
    ]
    name = "classes.tex" if len(tables) > 1 else f"{wanted[0]}.tex"
    return as_file("\n".join(tables), "application/x-tex; charset=utf-8", board, name)


@require_safe
def board_hugging_face(request: HttpRequest, season: str, task: str, phase: str) -> HttpResponse:
    """With `?dataset=OWNER/NAME` results name that benchmark of the Hub."""
    results = _results(request, season, task, phase)
    dataset = request.GET.get("dataset", "")
    if dataset and not DATASET.fullmatch(dataset):
        raise BadRequest(_("A data set of the Hub is named by its owner and name, such as owner/name."))
    return as_file(as_hugging_face(results, dataset), ZIP, results.board, "hugging-face.zip")


def _results(request: HttpRequest, season: str, task: str, phase: str) -> Results:
    return Results(*_exported(request, season, task, phase), TableChoice.of(request.GET))


def _exported(request: HttpRequest, season: str, task: str, phase: str) -> tuple[Board, list[Row]]:
    found = phase_for(request.user, season, task, phase)
    query = BoardQuery.of(request.GET)
    board = board_with_scores(found, request.user, query, audience_of(found, request.user))
    return board, chosen_rows(board, query)


def _with_systems(request: HttpRequest, season: str, task: str, phase: str) -> Board:
    board, _rows = _exported(request, season, task, phase)
    board.rows = board.systems
    return board


SVG = "image/svg+xml"


@readable_anywhere
@require_safe
def team_badge(request: HttpRequest, season: str, task: str, phase: str, slug: str) -> HttpResponse:
    """The rank of the run that counts for a team now, under the rules that rank."""
    return _badge(request, _public_phase(request, season, task, phase), slug)


@readable_anywhere
@require_safe
def system_badge(
    request: HttpRequest, season: str, task: str, phase: str, slug: str, system: str
) -> HttpResponse:
    """The rank of one system of a team, where it stands on the board."""
    return _badge(request, _public_phase(request, season, task, phase), slug, system)


def _public_phase(request: HttpRequest, season: str, task: str, phase: str) -> Phase:
    """A phase whose board says to everybody who stands where. Raises Http404."""
    found = phase_for(request.user, season, task, phase)
    if visibility_of(found, Audience.PUBLIC) == Visibility.NOTHING:
        raise Http404(_("The ranks of this board are not published."))
    if not shows_teams(found, Audience.PUBLIC):
        raise Http404(_("Whose the systems of this board are is not published."))
    return found


def _badge(request: HttpRequest, phase: Phase, team: str, system: str = "") -> HttpResponse:
    get_object_or_404(Registration.objects.approved(), season=phase.task.season_id, team__slug=team)

    def body() -> str:
        board = standings(phase, None, audience=Audience.PUBLIC)
        own = [row for row in board.rows if row.team_slug == team and system in ("", system_slug(row.system))]
        return badge(board, next((row for row in own if row.rank is not None), None))

    return phase_page(request, phase, Audience.PUBLIC, (team, system), body, content_type=SVG)


FORMS = {"md": ("text/markdown; charset=utf-8", as_markdown), "json": ("application/json", as_json)}


@phase_readers.page("boards/data_sheet.html")
def data_sheet(request: HttpRequest, phase: Phase) -> Answer:
    sheet = _sheet(request, phase)
    return {"sections": sections(sheet), "forms": list(FORMS)}


@phase_readers.page()
def data_sheet_file(request: HttpRequest, phase: Phase, form: str) -> Answer:
    content_type, written = FORMS[form]
    name = f"{phase.task.season.slug}-{phase.task.slug}-{phase.slug}-human-evaluation.{form}"
    return attachment(written(_sheet(request, phase)), content_type, name)


def _sheet(request: HttpRequest, phase: Phase) -> Sheet:
    """Raises Http404."""
    audience = audience_of(phase, request.user)
    sheet = published_sheet(phase, frozen_at(phase, audience))
    if sheet is None or visibility_of(phase, audience) != Visibility.SCORES:
        raise Http404(_("No human evaluation stands on this board."))
    return sheet
