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
from citeboard.core.storage.downloads import download, download_opened
from citeboard.teams.api import user_of_request
from citeboard.web.guides import build_site_wheel
from citeboard.web.pages import Answer, phase_context, phase_readers
from scoring.exchange import citations, data_sets
from scoring.exchange.results import phase_slugs, site_address
from scoring.human.outcome import rated
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
from scoring.results.board.confirming import confirmation_of
from scoring.results.board.formatting import metric_label
from scoring.results.board.gold_keys import gold_key_of
from scoring.results.board.query import BoardQuery
from scoring.results.comparison.reading import instance_rights_to_run
from scoring.results.runs import claims, results
from scoring.stats.signature import offline_command
from scoring.tools.baselines import baselines
from tasks.gold.gold_files import open_gold_archive
from tasks.models import Gold, Phase, Submission, run_cards
from tasks.registration.entries import current_terms
from tasks.seasons.access import phase_for
from tasks.types.ledger import ASSIGNS, ENTAILS, SUPPORTS
from tasks.types.stored_judges import stored_judges

#: LACKING says why readers cannot recompute scores, by the kind of the scores' labels.
LACKING = {
    ENTAILS: gettext_lazy("the entailment labels that decided it are the season's own"),
    SUPPORTS: gettext_lazy("the support labels that decided it are the season's own"),
    ASSIGNS: gettext_lazy("the nugget labels that decided it are the season's own"),
}


def _describe_seed_of_system(board: standings.Board, submission: int) -> str:
    mean = board.mean_of(submission)
    return _("a seed of %(system)s") % {"system": mean.system} if mean else ""


@phase_readers.page("boards/standing.html")
def standing(request: HttpRequest, phase: Phase, submission: int) -> Answer:
    its_place = standings.board_and_row_of_run(phase, request.user, submission)
    if its_place is None:
        raise Http404(_("No row of this board is of that run."))
    board, row = its_place
    run = Submission.objects.get(pk=submission)
    run.phase = phase
    groups = [*_numbers_by_rules(board, run), *rated(phase, run, board.frozen_at)]
    shows_instances = instance_rights_to_run(run, request.user) is not None
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
    confirmation = confirmation_of(board)
    return {
        "board": board,
        "row": row,
        "run": run,
        "shows_teams": visibility.shows_teams(phase, board.audience),
        "run_card": run_cards.filled_card_fields(row.card),
        "has_public_page": bool(row.team_slug)
        and public_results.shows_named_public_teams(phase),
        "system_slug": public_results.system_slug(row.system),
        "groups": groups,
        "place": board.place_of(row) or _describe_seed_of_system(board, submission),
        "recomputations": recomputation_commands(phase, request.user, run, board.gold),
        "has_receipts": Receipt.objects.filter(
            evaluation__submission=submission
        ).exists(),
        "gives_gold": open_gold.may_have_gold(phase, request.user),
        "labels_link": _link_to_labels(phase, request.user),
        "confirmation": confirmation,
        "citation": citations.cite_run(board, row, confirmation=confirmation),
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


def _numbers_by_rules(
    board: standings.Board, run: Submission
) -> list[tuple[str, Sequence[results.ExplainedScore]]]:
    task = board.phase.task
    assert board.gold is not None
    newest = _evaluations_by_rules(board.gold, run, board.frozen_at)
    groups = [
        (
            rules,
            list(
                results.explain_scores(
                    _scores_of_evaluation(own), own, task.type, run.neutral_filename
                )
            ),
        )
        for rules in task.rules
        if (own := newest.get(rules))
    ]
    left_out = _metrics_without_value(board, groups)
    return [
        (rules, [number for number in numbers if number.metric not in left_out])
        for rules, numbers in groups
    ]


def _metrics_without_value(
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
        if results.is_undefined_line({"numbers": [number]})
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


def _evaluations_by_rules(
    gold: Gold, run: Submission, at: dt.datetime | None = None
) -> dict[str, Evaluation]:
    found = Evaluation.objects.filter(gold=gold, submission=run).order_by("id")
    return {
        own.rules: own
        for own in found
        if at is None or (own.replaced_at or own.created_at) <= at
    }


def _scores_of_evaluation(evaluation: Evaluation) -> list[Score]:
    scores = list(Score.objects.filter(evaluation=evaluation))
    for score in scores:
        score.evaluation = evaluation
    return scores


GOLD, ENVIRONMENT = "gold.zip", "citeboard-check"


@require_safe
def gold(
    request: HttpRequest, season: str, task: str, phase: str, number: int
) -> HttpResponseBase:
    """Return the file of a version of the gold, if the gold is released."""
    person = user_of_request(request)
    found = phase_for(person, season, task, phase)
    own = Gold.objects.filter(
        task=found.task_id, split=found.split, number=number
    ).first()
    if own is None or not open_gold.may_have_gold(found, person, own):
        raise Http404(_("The gold of this phase is not released."))
    name = f"{season}-{task}-{own.split}-gold-v{number}.zip"
    return download_opened(
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
    person = user_of_request(request)
    found = phase_for(person, season, task, phase)
    run = open_gold.run_released_with_gold(found, person, submission)
    if run is None:
        raise Http404(_("The runs of this board are not released."))
    name = f"{season}-{task}-{run.pk}-{run.neutral_filename}"
    return download(
        request,
        storage.runs,
        run.file,
        filename=name,
        content_type="application/octet-stream",
    )


#: The text of the link to the labels of each kind.
LINKS_TO_LABELS = {
    ENTAILS: gettext_lazy("the entailment labels"),
    SUPPORTS: gettext_lazy("the support labels"),
    ASSIGNS: gettext_lazy("the nugget labels"),
}


def _link_to_labels(phase: Phase, viewer: object) -> str:
    """Return the text of the link to the labels of judges, or an empty text if the
    viewer may not download the labels.
    """
    judges = data_sets.downloadable_label_judges(phase, viewer)
    if len(judges) > 1:
        return _("the labels of the judges")
    return str(LINKS_TO_LABELS[judges[0][0].kind]) if judges else ""


@require_safe
def download_entailment_labels(
    request: HttpRequest, season: str, task: str, phase: str
) -> HttpResponseBase:
    """Return the labels of a judge that the board's scores use.

    The labels are available only if every phase that uses these labels has released
    inputs and gold.
    """
    person = user_of_request(request)
    found = phase_for(person, season, task, phase)
    judges = data_sets.downloadable_label_judges(found, person)
    if not judges:
        raise Http404(
            _(
                "The labels of this phase are not released. They are where "
                "a site keeps them and every phase that they decide releases its "
                "inputs and its gold."
            )
        )
    out = tempfile.TemporaryFile()  # noqa: SIM115  (the answer closes it)
    data_sets.write_labels(out, found, judges)
    out.seek(0)
    return FileResponse(
        out, as_attachment=True, filename=f"{season}-{task}-{phase}-labels.zip"
    )


def recomputation_commands(
    phase: Phase, viewer: object, run: Submission, gold: Gold | None
) -> list[dict[str, str]]:
    """Return a command that recomputes a run's scores, for each rule set.

    If nobody can recompute the scores, the mapping contains the reason as ``lacking``
    instead of a command.
    """
    if gold is None or open_gold.run_released_with_gold(phase, viewer, run.pk) is None:
        return []
    by_rules = _evaluations_by_rules(gold, run)
    recomputed = []
    for rules in phase.task.rules:
        evaluation = by_rules.get(rules)
        score = (
            next(iter(_scores_of_evaluation(evaluation)), None) if evaluation else None
        )
        if evaluation is None or score is None:
            continue
        named = [
            name
            for name, value in evaluation.options.items()
            if Path(value).is_absolute()
        ]
        if judges := stored_judges(evaluation.options):
            lacking = "; ".join(str(LACKING[judge.kind]) for judge in judges)
        elif named:
            lacking = _("it rests on a file of the season: %(names)s") % {
                "names": ", ".join(named)
            }
        else:
            command = offline_command(
                phase.task.type,
                rules=rules,
                options=evaluation.options,
                signature=score.signature,
                gold=[GOLD],
                run=run.neutral_filename,
                key=gold_key_of(gold).arguments,
                draw=phase.part_nonce,
            )
            whole = _download_and_score_command(phase, run, gold, command)
            recomputed.append({"rules": rules, "command": whole})
            continue
        recomputed.append({"rules": rules, "lacking": lacking})
    return recomputed


def _download_and_score_command(
    phase: Phase, run: Submission, gold: Gold, command: str
) -> str:
    wheel = site_address("client-file", build_site_wheel().name)
    scorer = command.removeprefix("python -m scoring")
    gold_address = site_address("gold", *phase_slugs(phase), gold.number)
    run_address = site_address("standing-run", *phase_slugs(phase), run.pk)
    needs_account = current_terms(phase.task.season) is not None
    header = '-H "Authorization: Token $TOKEN" ' if needs_account else ""
    return " &&\n".join(
        [
            f"curl -fsSL {header}-o {GOLD} {gold_address} -o {run.neutral_filename} {run_address}",
            f"python3 -m venv {ENVIRONMENT}",
            f"{ENVIRONMENT}/bin/pip install -q 'citeboard[score] @ {wheel}'",
            f"{ENVIRONMENT}/bin/citeboard{scorer}",
        ]
    )


@phase_readers.page()
def changes_of_gold(request: HttpRequest, phase: Phase) -> Answer:
    """Compare the board of a phase before and after a new version of the gold.

    By default, the function compares the boards before and after the newest version of
    the gold.
    """
    audience = visibility.audience_of(phase, request.user)
    if visibility.visibility_of(phase, audience) == visibility.Visibility.NOTHING:
        raise Http404(_("The board of this phase is not published."))
    query = BoardQuery.of(request.GET)

    def render_gold_changes() -> str:
        return render_to_string(
            "boards/changes.html",
            _gold_change_context(phase, request, query, audience),
            request,
        )

    return cache.cached_phase_page(request, phase, audience, query, render_gold_changes)


def _gold_change_context(
    phase: Phase, request: HttpRequest, query: BoardQuery, audience: visibility.Audience
) -> dict[str, Any]:
    versions = list(
        Gold.objects.filter(task=phase.task_id, split=phase.split).order_by("-number")
    )
    at = visibility.freeze_time_for(phase, audience)
    stood = counting.board_gold_at(phase, at) if at else None
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
        two = gold_changes.boards_before_and_after_gold(
            phase, request.user, gold, query.rules, audience
        )
    except standings.UnknownRules as unknown:
        raise Http404(str(unknown)) from unknown
    context: dict[str, Any] = {
        **phase_context(phase),
        "gold": gold,
        "versions": [
            (version, query.with_(gold=version.number)) for version in versions
        ],
    }
    if not two:
        return context
    before, after = two
    lines = gold_changes.board_changes_between_golds(before, after)
    return context | {
        "before": before.gold,
        "rules": after.rules,
        "rule_sets": query.choices("rules", phase.task.rules, after.rules),
        "lines": lines,
        "moved": sum(bool(line["moved"]) for line in lines),
        "metric": metric_label(after.ranking.metric) if after.ranking else "",
        "left": counting.runs_without_outcome_on_gold(phase, gold).count(),
    }
