"""The page of a run on a board, with all scores of the run and the signatures of the
scores.
"""

import datetime as dt
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.models import Q
from django.http import FileResponse, Http404, HttpRequest, HttpResponseBase
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.translation import gettext as _, gettext_lazy
from django.views.decorators.http import require_safe

from citeboard.core import storage
from citeboard.core.storage.downloads import serve_opened_file, serve_stored_file
from citeboard.teams.api import find_user_of_request
from citeboard.web.guides import find_site_wheel_name
from citeboard.web.pages import ViewResult, build_phase_context, phase_reader_pages
from scoring.exchange import citations, data_sets
from scoring.exchange.results import (
    build_absolute_site_address,
    list_season_task_and_phase_slugs,
)
from scoring.human.outcome import load_published_ratings_of_run
from scoring.models import Evaluation, Receipt, Score
from scoring.results.board import (
    cache,
    counting,
    gold_changes,
    open_gold,
    public_results,
    standings,
    visibility,
)
from scoring.results.board.confirming import compute_confirmation_of_board
from scoring.results.board.formatting import display_name_of_metric
from scoring.results.board.gold_keys import build_gold_key
from scoring.results.board.query import BoardQuery
from scoring.results.comparison.reading import determine_instance_rights_to_run
from scoring.results.runs import claims, results
from scoring.stats.signature import format_score_command
from scoring.tools.baselines import baselines
from tasks.gold.gold_files import open_gold_archive
from tasks.models import Gold, Phase, Submission, run_cards
from tasks.registration.entries import get_newest_terms
from tasks.seasons.access import get_visible_phase_or_404
from tasks.types.ledger import ASSIGNS_KIND, ENTAILS_KIND, SUPPORTS_KIND
from tasks.types.stored_judges import list_ledger_judges

#: MISSING_LABELS_EXPLANATIONS says why readers cannot recompute scores, by the kind of the scores' labels.
MISSING_LABELS_EXPLANATIONS = {
    ENTAILS_KIND: gettext_lazy(
        "the entailment labels that decided it are the season's own"
    ),
    SUPPORTS_KIND: gettext_lazy(
        "the support labels that decided it are the season's own"
    ),
    ASSIGNS_KIND: gettext_lazy(
        "the nugget labels that decided it are the season's own"
    ),
}


def _describe_seed_of_system(board: standings.Board, submission: int) -> str:
    mean = board.mean_of(submission)
    return _("a seed of %(system)s") % {"system": mean.system} if mean else ""


@phase_reader_pages.page("boards/standing.html")
def show_run_on_board(
    request: HttpRequest, phase: Phase, submission: int
) -> ViewResult:
    its_place = standings.find_board_and_row_of_run(phase, request.user, submission)
    if its_place is None:
        raise Http404(_("No row of this board is of that run."))
    board, row = its_place
    run = Submission.objects.get(pk=submission)
    run.phase = phase
    groups = [
        *_find_scores_by_rule_set(board, run),
        *load_published_ratings_of_run(phase, run, board.frozen_at),
    ]
    shows_instances = determine_instance_rights_to_run(run, request.user) is not None
    wanted = request.GET.get("score")
    if wanted is not None:
        numbers = [
            number
            for _rules, group in groups
            for number in group
            if str(number.id) == wanted
        ]
        if not numbers:
            raise Http404(_("This row has no such number."))
        context = {
            "number": numbers[0],
            "row": row,
            "board": board,
            "shows_instances": shows_instances,
        }
        return render(request, "boards/_number.html", context)
    confirmation = compute_confirmation_of_board(board)
    return {
        "board": board,
        "row": row,
        "run": run,
        "shows_teams": visibility.shows_teams(phase, board.audience),
        "run_card": run_cards.list_filled_card_fields(row.card),
        "has_public_page": bool(row.team_slug)
        and public_results.shows_named_public_teams(phase),
        "system_slug": public_results.build_system_slug(row.system),
        "groups": groups,
        "place": board.place_of(row) or _describe_seed_of_system(board, submission),
        "recomputations": build_recomputation_commands(
            phase, request.user, run, board.gold
        ),
        "has_receipts": Receipt.objects.filter(
            evaluation__submission=submission
        ).exists(),
        "gives_gold": open_gold.may_download_gold(phase, request.user),
        "labels_link": _find_label_download_link_text(phase, request.user),
        "confirmation": confirmation,
        "citation": citations.build_citation_of_run(
            board, row, confirmation=confirmation
        ),
        "site": settings.BASE_URL,
        "shows_instances": shows_instances,
        "shows_claims": visibility.may_see_claims(run, request.user, stands=True)
        and any(
            map(
                claims.has_visible_claims,
                Evaluation.objects.filter(submission=run).prefetch_related("scores"),
            )
        ),
        "has_threshold": run.built_in in baselines()
        and bool(baselines()[run.built_in].sweep),
    }


def _find_scores_by_rule_set(
    board: standings.Board, run: Submission
) -> list[tuple[str, Sequence[results.ExplainedScore]]]:
    task = board.phase.task
    assert board.gold is not None
    newest = _find_evaluations_by_rule_set(board.gold, run, board.frozen_at)
    groups = [
        (
            rules,
            list(
                results.explain_scores(
                    _find_scores_of_evaluation(own),
                    own,
                    task.type,
                    run.filename_without_team_details,
                )
            ),
        )
        for rules in task.rules
        if (own := newest.get(rules))
    ]
    left_out = _find_metrics_without_value(board, groups)
    return [
        (rules, [number for number in numbers if number.metric not in left_out])
        for rules, numbers in groups
    ]


def _find_metrics_without_value(
    board: standings.Board,
    groups: Sequence[tuple[str, Sequence[results.ExplainedScore]]],
) -> set[str]:
    """Return the metrics for which no run of the phase has a value.

    For example, a metric has no value if it needs a list of stop words and the task
    lacks the list.
    """
    empty = {
        number.metric
        for _rules, numbers in groups
        for number in numbers
        if results.has_only_undefined_scores({"numbers": [number]})
    }
    if not empty:
        return empty
    scores = Score.objects.filter(
        evaluation__phase=board.phase,
        evaluation__gold=board.gold,
        shared__metric__in=empty,
    )
    has_value = scores.filter(Q(value__isnull=False) | Q(is_infinite=True))
    return empty - set(has_value.values_list("shared__metric", flat=True))


def _find_evaluations_by_rule_set(
    gold: Gold, run: Submission, at: dt.datetime | None = None
) -> dict[str, Evaluation]:
    found = Evaluation.objects.filter(gold=gold, submission=run).order_by("id")
    return {
        own.rules: own
        for own in found
        if at is None or (own.replaced_at or own.created_at) <= at
    }


def _find_scores_of_evaluation(evaluation: Evaluation) -> list[Score]:
    scores = list(Score.objects.filter(evaluation=evaluation))
    for score in scores:
        score.evaluation = evaluation
    return scores


GOLD, CHECK_ENVIRONMENT_NAME = "gold.zip", "citeboard-check"


@require_safe
def download_gold(
    request: HttpRequest, season: str, task: str, phase: str, number: int
) -> HttpResponseBase:
    """Return the file of a version of the gold, if the gold is released."""
    person = find_user_of_request(request)
    found = get_visible_phase_or_404(person, season, task, phase)
    own = Gold.objects.filter(
        task=found.task_id, split=found.split, number=number
    ).first()
    if own is None or not open_gold.may_download_gold(found, person, own):
        raise Http404(_("The gold of this phase is not released."))
    name = f"{season}-{task}-{own.split}-gold-v{number}.zip"
    return serve_opened_file(
        request,
        f"{own.file} {own.nonce}",
        partial(open_gold_archive, own),
        filename=name,
        content_type="application/zip",
    )


@require_safe
def download_run(
    request: HttpRequest, season: str, task: str, phase: str, submission: int
) -> HttpResponseBase:
    """Return the file of a run on the board, if the gold is released."""
    person = find_user_of_request(request)
    found = get_visible_phase_or_404(person, season, task, phase)
    run = open_gold.find_run_released_with_gold(found, person, submission)
    if run is None:
        raise Http404(_("The runs of this board are not released."))
    name = f"{season}-{task}-{run.pk}-{run.filename_without_team_details}"
    return serve_stored_file(
        request,
        storage.run_file_storage,
        run.file,
        filename=name,
        content_type="application/octet-stream",
    )


#: The text of the link to the labels of each kind.
LABEL_DOWNLOAD_LINK_TEXTS = {
    ENTAILS_KIND: gettext_lazy("the entailment labels"),
    SUPPORTS_KIND: gettext_lazy("the support labels"),
    ASSIGNS_KIND: gettext_lazy("the nugget labels"),
}


def _find_label_download_link_text(phase: Phase, viewer: object) -> str:
    """Return the text of the link to the labels of judges, or an empty text if the
    viewer may not download the labels.
    """
    judges = data_sets.find_downloadable_label_judges(phase, viewer)
    if len(judges) > 1:
        return _("the labels of the judges")
    return str(LABEL_DOWNLOAD_LINK_TEXTS[judges[0][0].kind]) if judges else ""


@require_safe
def download_entailment_labels(
    request: HttpRequest, season: str, task: str, phase: str
) -> HttpResponseBase:
    """Return the labels of a judge that the board's scores use.

    The labels are available only if every phase that uses these labels has released
    inputs and gold.
    """
    person = find_user_of_request(request)
    found = get_visible_phase_or_404(person, season, task, phase)
    judges = data_sets.find_downloadable_label_judges(found, person)
    if not judges:
        raise Http404(
            _(
                "The labels of this phase are not released. They are where "
                "a site keeps them and every phase that they decide releases its "
                "inputs and its gold."
            )
        )
    out = tempfile.TemporaryFile()  # noqa: SIM115  (the answer closes it)
    data_sets.write_labels_archive(out, found, judges)
    out.seek(0)
    return FileResponse(
        out, as_attachment=True, filename=f"{season}-{task}-{phase}-labels.zip"
    )


def build_recomputation_commands(
    phase: Phase, viewer: object, run: Submission, gold: Gold | None
) -> list[dict[str, str]]:
    """Return a command that recomputes a run's scores, for each rule set.

    If nobody can recompute the scores, the mapping contains the reason as ``lacking``
    instead of a command.
    """
    if (
        gold is None
        or open_gold.find_run_released_with_gold(phase, viewer, run.pk) is None
    ):
        return []
    by_rules = _find_evaluations_by_rule_set(gold, run)
    recomputed = []
    for rules in phase.task.rules:
        evaluation = by_rules.get(rules)
        score = (
            next(iter(_find_scores_of_evaluation(evaluation)), None)
            if evaluation
            else None
        )
        if evaluation is None or score is None:
            continue
        named = [
            name
            for name, value in evaluation.options.items()
            if Path(value).is_absolute()
        ]
        if judges := list_ledger_judges(evaluation.options):
            lacking = "; ".join(
                str(MISSING_LABELS_EXPLANATIONS[judge.kind]) for judge in judges
            )
        elif named:
            lacking = _("it rests on a file of the season: %(names)s") % {
                "names": ", ".join(named)
            }
        else:
            command = format_score_command(
                phase.task.type,
                rules=rules,
                options=evaluation.options,
                signature=score.signature,
                gold=[GOLD],
                run=run.filename_without_team_details,
                key=build_gold_key(gold).command_line_options,
                draw=phase.part_nonce,
            )
            whole = _build_recomputation_command(phase, run, gold, command)
            recomputed.append({"rules": rules, "command": whole})
            continue
        recomputed.append({"rules": rules, "lacking": lacking})
    return recomputed


def _build_recomputation_command(
    phase: Phase, run: Submission, gold: Gold, command: str
) -> str:
    wheel = build_absolute_site_address("client-file", find_site_wheel_name())
    scorer = command.removeprefix("python -m scoring")
    gold_address = build_absolute_site_address(
        "gold", *list_season_task_and_phase_slugs(phase), gold.number
    )
    run_address = build_absolute_site_address(
        "standing-run", *list_season_task_and_phase_slugs(phase), run.pk
    )
    needs_account = get_newest_terms(phase.task.season) is not None
    header = '-H "Authorization: Token $TOKEN" ' if needs_account else ""
    return " &&\n".join(
        [
            (
                f"curl -fsSL {header}-o {GOLD} {gold_address} "
                f"-o {run.filename_without_team_details} {run_address}"
            ),
            f"python3 -m venv {CHECK_ENVIRONMENT_NAME}",
            f"{CHECK_ENVIRONMENT_NAME}/bin/pip install -q 'citeboard[score] @ {wheel}'",
            f"{CHECK_ENVIRONMENT_NAME}/bin/citeboard{scorer}",
        ]
    )


@phase_reader_pages.page()
def show_gold_changes(request: HttpRequest, phase: Phase) -> ViewResult:
    """Compare the board of a phase before and after a new version of the gold.

    By default, the function compares the boards before and after the newest version of
    the gold.
    """
    audience = visibility.determine_audience(phase, request.user)
    if (
        visibility.determine_board_visibility(phase, audience)
        == visibility.BoardVisibility.NOTHING
    ):
        raise Http404(_("The board of this phase is not published."))
    query = BoardQuery.of(request.GET)

    def render_gold_changes() -> str:
        return render_to_string(
            "boards/changes.html",
            _build_gold_change_context(phase, request, query, audience),
            request,
        )

    return cache.load_or_render_phase_page(
        request, phase, audience, query, render_gold_changes
    )


def _build_gold_change_context(
    phase: Phase, request: HttpRequest, query: BoardQuery, audience: visibility.Audience
) -> dict[str, Any]:
    versions = list(
        Gold.objects.filter(task=phase.task_id, split=phase.split).order_by("-number")
    )
    at = visibility.find_freeze_time_for_audience(phase, audience)
    stood = counting.find_gold_on_board_at(phase, at) if at else None
    if at is not None:
        versions = [
            version
            for version in versions
            if stood is not None and version.number <= stood.number
        ]
    wanted = query.gold or (versions[0].number if versions else None)
    gold = next((version for version in versions if version.number == wanted), None)
    if gold is None:
        raise Http404(_("There is no such version of the gold of this phase."))
    try:
        two = gold_changes.compute_boards_before_and_after_gold(
            phase, request.user, gold, query.rules, audience
        )
    except standings.UnknownRuleSet as unknown:
        raise Http404(str(unknown)) from unknown
    context: dict[str, Any] = {
        **build_phase_context(phase),
        "gold": gold,
        "versions": [
            (version, query.build_query_string(gold=version.number))
            for version in versions
        ],
    }
    if not two:
        return context
    before, after = two
    lines = gold_changes.list_board_changes_between_golds(before, after)
    return context | {
        "before": before.gold,
        "rules": after.rules,
        "rule_sets": query.choices("rules", phase.task.rules, after.rules),
        "lines": lines,
        "moved": sum(bool(line["moved"]) for line in lines),
        "metric": display_name_of_metric(after.ranking.metric) if after.ranking else "",
        "left": counting.find_unfinished_runs_on_gold(phase, gold).count(),
    }
