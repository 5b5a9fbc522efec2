"""The page of a judge of a board, with the judge's description and the judge's
agreement with other judges and people.
"""

from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from citeboard.web.boards.judges import (
    build_agreement_context,
    build_judge_page_href,
)
from citeboard.web.boards.page_query import BoardPageParameters
from citeboard.web.pages import ViewResult, phase_reader_pages
from scoring.results.board.formatting import (
    display_name_of_metric,
    format_score,
    format_score_with_interval,
)
from scoring.results.board.judge_facts import JudgeOfBoard, find_judge_of_board
from scoring.results.board.judges import (
    KIND_NAMES,
    asked_judge,
    build_judge_page_query,
)
from scoring.results.board.people_and_judge import PeopleJudgeComparison
from scoring.results.board.query import load_requested_board_with_scores
from scoring.results.board.visibility import determine_audience
from scoring.stats.confusion import ConfusionMatrices
from tasks.models import Phase


@phase_reader_pages.page("boards/judge.html")
def show_judge(request: HttpRequest, phase: Phase) -> ViewResult:
    """Show a judge of a board, with the judge's agreement with others. The parameter
    `judge` is the key of a judge, by default of the first judge.
    """
    query, audience = (
        BoardPageParameters.of(request.GET),
        determine_audience(phase, request.user),
    )
    board = load_requested_board_with_scores(phase, request.user, query, audience)
    asked = asked_judge(phase, query.rules, query.judge) if query.judge else None
    found = find_judge_of_board(board, request.user, asked)
    if found is None:
        raise Http404(_("No judge decides this board."))
    return {"judge": found, **_build_judge_context(found)}


def _build_judge_context(found: JudgeOfBoard) -> dict[str, Any]:
    has_several_kinds = len(found.judge.kinds) > 1
    return {
        "has_several_kinds": has_several_kinds,
        "kinds": ", ".join(str(KIND_NAMES[kind]) for kind in found.judge.kinds),
        "others": [
            {
                "judge": one.judge,
                "href": build_judge_page_href(found.board, one.judge.key),
                "kind": KIND_NAMES[one.kind],
                **build_agreement_context(one.agreement),
            }
            for one in found.agreements_with_other_judges
        ],
        "parts": [
            {
                "kind": KIND_NAMES[part.judge.kind],
                "href": build_judge_page_href(found.board, part.judge.key),
                "pairs": part.pairs,
                "repeats": part.repeats,
            }
            for part in found.parts
        ],
        "boards": [
            {"phase": phase, "href": _build_board_href(phase, found)}
            for phase in found.boards
        ],
        "with_people": [
            {
                "kind": KIND_NAMES[part.judge.kind] if has_several_kinds else "",
                "measures": _measures_with_agreement(part),
                "labels": _build_label_agreement_context(part.with_people)
                if part.with_people
                else None,
            }
            for part in found.parts
            if any(one.agreement is not None for one in part.estimated)
        ],
    }


def _build_board_href(phase: Phase, found: JudgeOfBoard) -> str:
    """Return the address of a board with scores by the judge. Boards of the same task
    keep the rule set.
    """
    query = build_judge_page_query(found.board, found.judge.key)
    if phase.task_id != found.phase.task_id:
        query.pop("rules", None)
    task = phase.task
    address = reverse("board", args=[task.season.slug, task.slug, phase.slug])
    return f"{address}?{urlencode(query)}"


def _measures_with_agreement(found: JudgeOfBoard) -> list[dict[str, Any]]:
    return [
        {
            "measure": display_name_of_metric(measure.column.metric),
            "share": format_score(measure.agreement),
        }
        for measure in found.estimated
        if measure.agreement is not None
    ]


def _build_label_agreement_context(found: PeopleJudgeComparison) -> dict[str, Any]:
    confusion = found.confusion
    interval = found.interval
    return {
        "judgements": confusion.judgements,
        "same": confusion.same,
        "kappa": format_score_with_interval(found.kappa, interval),
        "has_kappa": found.kappa is not None,
        "names": confusion.labels,
        "rows": [
            {"label": label, "counts": counts}
            for label, counts in zip(
                confusion.labels, confusion.counts.tolist(), strict=True
            )
        ],
        "parts": [
            {"system": "", "lines": _compute_sensitivity_by_label(confusion)},
            *(
                {
                    "system": system.row.system,
                    "team": system.row.team,
                    "lines": _compute_sensitivity_by_label(system.confusion),
                }
                for system in found.systems
            ),
        ],
    }


def _compute_sensitivity_by_label(confusion: ConfusionMatrices) -> list[dict[str, Any]]:
    return [
        {
            "label": label,
            "by_people": confusion.by_people(label),
            "sensitivity": format_score(confusion.sensitivity(label)),
            "specificity": format_score(confusion.specificity(label)),
        }
        for label in confusion.labels
    ]
