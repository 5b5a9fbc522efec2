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

from citeboard.core.api import readable_anywhere
from citeboard.core.instants import written_day
from citeboard.core.words import sentence
from citeboard.web.pages import (
    Answer,
    attachment,
    phase_readers,
    season_readers,
    task_readers,
)
from scoring.exchange.citations import (
    Citation,
    of_paper,
    of_run,
    of_season,
    of_snapshot,
    of_task,
)
from scoring.exchange.figure_files import converted, file_forms
from scoring.exchange.formats import as_file, as_hugging_face, badge, board_file
from scoring.exchange.results import Results
from scoring.figures.share_card import CardRow, share_card
from scoring.human.data_sheet import as_json, as_markdown, sections
from scoring.models import CitedTooOften, Paper, Sheet, Snapshot
from scoring.results.board import (
    confirming,
    differences,
    exports,
    formatting,
    human_columns,
    public_results,
)
from scoring.results.board.cache import SECONDS, digest_of, phase_page
from scoring.results.board.leaders import leaders_of
from scoring.results.board.query import (
    BoardQuery,
    TableChoice,
    board_with_scores,
    chosen_rows,
)
from scoring.results.board.snapshots import keep, keep_cited, snapshot_for
from scoring.results.board.standings import (
    Board,
    Row,
    cached_standings,
    standing_of,
)
from scoring.results.board.visibility import (
    Audience,
    Visibility,
    audience_of,
    frozen_at,
    shows_teams,
    visibility_of,
)
from scoring.results.comparison.contenders import SeveralQuery
from tasks.gold.secrecy import looked_up
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


@readable_anywhere
@require_safe
def board_export(
    request: HttpRequest, season: str, task: str, phase: str, suffix: str
) -> HttpResponse:
    board, rows = _board_and_rows(request, season, task, phase)
    return board_file(Results(board, rows, TableChoice.of(request.GET)), suffix)


CLASSES = {"csv": exports.classes_csv, "json": exports.classes_json}


@readable_anywhere
@require_safe
def classes_file(
    request: HttpRequest, season: str, task: str, phase: str, form: str
) -> HttpResponse:
    board = _with_systems(request, season, task, phase)
    return as_file(CLASSES[form](board), board, f"classes.{form}")


@require_safe
def classes_tex(
    request: HttpRequest, season: str, task: str, phase: str
) -> HttpResponse:
    """Return the table of scores by class in LaTeX, for the same query parameters as
    the page.
    """
    board = _with_systems(request, season, task, phase)
    query = BoardQuery.of(request.GET)
    dimension, metric = differences.shown_classes(board, query)
    if not metric:
        raise Http404(_("No run has been scored by class yet."))
    chosen = differences.chosen_systems(board, query.systems)
    wanted = [dimension]
    if query.dimension == differences.EVERY:
        wanted = [
            own
            for own in differences.offered_dimensions(board)
            if metric in differences.metrics_of(board, own)
        ]
    choice = TableChoice.of(request.GET)
    tables = [
        exports.classes_latex(
            board,
            differences.class_table(board, chosen, own, metric),
            leaders_of(board, own, metric).significant,
            choice,
        )
        for own in wanted
    ]
    name = "classes.tex" if len(tables) > 1 else f"{wanted[0]}.tex"
    return as_file("\n".join(tables), board, name)


@require_safe
def board_hugging_face(
    request: HttpRequest, season: str, task: str, phase: str
) -> HttpResponse:
    """Return the results of a board in the format of the Hugging Face Hub.

    `?dataset=OWNER/NAME` sets the benchmark.
    """
    results = Results(
        *_board_and_rows(request, season, task, phase), TableChoice.of(request.GET)
    )
    dataset = request.GET.get("dataset", "")
    if dataset and not re.fullmatch(seasons.HUB_DATASET, dataset):
        raise BadRequest(
            _(
                "A data set of the Hub is named by its owner and name, such as owner/name."
            )
        )
    return as_file(as_hugging_face(results, dataset), results.board, "hugging-face.zip")


def _board_and_rows(
    request: HttpRequest, season: str, task: str, phase: str
) -> tuple[Board, list[Row]]:
    found = phase_for(request.user, season, task, phase)
    query = BoardQuery.of(request.GET)
    board = board_with_scores(
        found, request.user, query, audience_of(found, request.user)
    )
    return board, chosen_rows(board, query)


def _with_systems(request: HttpRequest, season: str, task: str, phase: str) -> Board:
    board, _rows = _board_and_rows(request, season, task, phase)
    board = board.of_first_runs
    return replace(board, rows=board.systems)


SVG = "image/svg+xml"


@readable_anywhere
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

    def body() -> str:
        board = cached_standings(phase, None, audience=Audience.PUBLIC)
        own = [
            row
            for row in board.rows
            if row.team_slug == slug
            and system in ("", public_results.system_slug(row.system))
        ]
        return badge(board, next((row for row in own if row.rank is not None), None))

    return phase_page(
        request, phase, Audience.PUBLIC, (slug, system), body, content_type=SVG
    )


FORMS = {"md": as_markdown, "json": as_json}


@phase_readers.page("boards/data_sheet.html")
def data_sheet(request: HttpRequest, phase: Phase) -> Answer:
    return {
        "sections": sections(_published_sheet_or_404(request, phase)),
        "forms": list(FORMS),
    }


@phase_readers.page()
def data_sheet_file(request: HttpRequest, phase: Phase, form: str) -> Answer:
    name = f"{phase.task.season.slug}-{phase.task.slug}-{phase.slug}-human-evaluation.{form}"
    return attachment(FORMS[form](_published_sheet_or_404(request, phase)), name)


def _published_sheet_or_404(request: HttpRequest, phase: Phase) -> Sheet:
    """Return the published sheet for human evaluation of a phase.

    Raises Http404 if the phase has no published sheet or the user may not see scores.
    """
    audience = audience_of(phase, request.user)
    sheet = human_columns.published_sheet(phase, frozen_at(phase, audience))
    if sheet is None or visibility_of(phase, audience) != Visibility.SCORES:
        raise Http404(_("No human evaluation stands on this board."))
    return sheet


@require_GET
@phase_readers.page()
def cite(request: HttpRequest, phase: Phase) -> Answer:
    """Store a snapshot of the requested board and redirect to the snapshot's URL."""
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
        "errata": confirming.errata_for(
            phase, audience_of(phase, request.user), stored.created_at
        ),
        "citation": of_snapshot(stored),
        "heads": [formatting.metric_label(column["metric"]) for column in columns],
        "keys": [column["key"] for column in columns],
        "lines": [
            _results_csv_row(row, columns, is_compared=content["compared"])
            for row in content["rows"]
        ],
    }


@readable_anywhere
@phase_readers.page()
def snapshot_json(request: HttpRequest, phase: Phase, digest: str) -> Answer:
    """Return a snapshot of a board as JSON. The digest in the URL covers exactly the
    bytes of the snapshot.
    """
    stored = kept_at(request, phase, digest)
    return attachment(stored.text, f"board-{stored.short}.json")


def kept_at(request: HttpRequest, phase: Phase, digest: str) -> Snapshot:
    """Return a snapshot of a board by its digest.

    Raises Http404 if the snapshot does not exist, or if it shows more than the user may
    see.
    """
    stored = snapshot_for(request.user, phase, digest)
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
        "marks": [words for _, words in run_cards.marks_of(row.get("card", {}))],
        "is_team": competes and row["kind"] != Submission.Kind.CONTRASTIVE,
        "numbers": numbers,
    }


@season_readers.page()
def season_bib(request: HttpRequest, season: Season) -> Answer:
    return _bibtex_response(of_season(season))


@task_readers.page()
def task_bib(request: HttpRequest, task: Task) -> Answer:
    return _bibtex_response(of_task(task))


@phase_readers.page()
def run_bib(request: HttpRequest, phase: Phase, submission: int) -> Answer:
    its_place = standing_of(phase, request.user, submission)
    if its_place is None:
        raise Http404(_("No row of this board is of that run."))
    board, row = its_place
    return _bibtex_response(
        of_run(
            board,
            row,
            keep_cited(board),
            confirmation=confirming.confirmation_of(board),
        )
    )


@phase_readers.page()
def snapshot_bib(request: HttpRequest, phase: Phase, digest: str) -> Answer:
    return _bibtex_response(of_snapshot(kept_at(request, phase, digest)))


@require_safe
def paper_bib(request: HttpRequest, key: str) -> HttpResponse:
    return _bibtex_response(of_paper(get_object_or_404(Paper, key=key)))


def _bibtex_response(citation: Citation) -> HttpResponse:
    return HttpResponse(
        citation.bibtex, content_type="application/x-bibtex; charset=utf-8"
    )


@require_safe
def board_card(
    request: HttpRequest, season: str, task: str, phase: str
) -> HttpResponse:
    """Return the preview image of a board. If the query names one or two runs, the
    preview image shows these runs.
    """
    found = phase_for(None, season, task, phase)
    runs = SeveralQuery.of(request.GET).runs
    places = (
        public_results.public_places(found, runs)
        if runs
        else public_results.public_top(found)
    )
    metric = next((place.metric for place in places if place.metric), "")
    heading = metric and _("%(metric)s with its 95 %% interval") % {"metric": metric}
    facts = f"{found.task.season.title}, {found.title}"
    foot = f"{settings.BASE_URL}, {written_day(now())}"
    verdict = None if runs else public_results.public_verdict(found)
    return _png_response(
        share_card(
            found.task.title,
            facts,
            heading,
            [_card_row(place) for place in places],
            foot,
            verdict.text if verdict else "",
        )
    )


@require_safe
def season_card(request: HttpRequest, season: str) -> HttpResponse:
    """Return the preview image of a season. The preview image of a season shows the
    first row of each public board.
    """
    found = season_for(None, season)
    phases = looked_up(
        Phase.objects.filter(task__season=found).select_related("task__season")
    )
    rows = [
        CardRow(
            rank="",
            name=f"{phase.task.title}, {phase.title}",
            beside=" ".join([place.system, place.team or ""]).strip(),
            text=_card_row(place).text,
        )
        for phase in phases
        for place in public_results.public_first_places(phase)[:1]
    ]
    facts, heading = _("Shared tasks on citations"), _("First on its boards")
    return _png_response(
        share_card(found.title, facts, heading, rows, settings.BASE_URL)
    )


def _card_row(place: public_results.Placing) -> CardRow:
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
    if "png" not in file_forms():
        raise Http404(_("Pictures cannot be made here."))
    key = f"share-card:{digest_of(svg)}"
    picture = caches["pages"].get_or_set(
        key, lambda: converted(svg.encode(), "png", scale=1.0), SECONDS
    )
    response = HttpResponse(picture, content_type="image/png")
    response["Cache-Control"] = "public, max-age=600"
    return response
