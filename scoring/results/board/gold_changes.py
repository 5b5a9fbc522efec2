"""Compare the ranks and scores on a board before and after a new version of the gold."""

from typing import Any

from django.utils.translation import gettext as _

from scoring.models import Evaluation
from scoring.results.board.formatting import display_name_of_metric, format_score
from scoring.results.board.standings import Board, BoardRow, compute_board
from scoring.results.board.visibility import Audience
from tasks.models import Gold, Phase, Submission


def list_board_changes_between_golds(
    before: Board, after: Board
) -> list[dict[str, Any]]:
    """Return the changes of rank and score of each row of the board between two
    versions of the gold. Rows of teams are matched by the name of the team, because the
    new board may count another run of the team. Rows of baselines are matched by the
    name of the system.
    """
    all_stand = after.phase.counting in (
        Phase.CountedRunsRule.ALL,
        Phase.CountedRunsRule.PRIORITY,
    )
    old = {_build_row_match_key(row, all_stand=all_stand): row for row in before.rows}
    new = {_build_row_match_key(row, all_stand=all_stand): row for row in after.rows}
    keys = [*new, *(key for key in old if key not in new)]
    scale = next(
        (board.ranking.scale for board in (after, before) if board.ranking), 1.0
    )

    def find_ranking_value(row: BoardRow | None, board: Board) -> float | None:
        cell = row.scores.get(board.ranking.name) if row and board.ranking else None
        return cell.value if cell else None

    rows = []
    for key in keys:
        was, now = old.get(key), new.get(key)
        row = new[key] if key in new else old[key]
        first, last = find_ranking_value(was, before), find_ranking_value(now, after)
        rank_before, rank_after = (
            before.format_rank_of_row(was) if was else "",
            after.format_rank_of_row(now) if now else "",
        )
        moved = ""
        if (
            rank_before != rank_after
            and was
            and now
            and was.rank is not None
            and now.rank is not None
        ):
            rises = (now.rank, now.rank_high or 0) < (was.rank, was.rank_high or 0)
            moved = _("up") if rises else _("down")
        rows.append(
            {
                "system": row.system,
                "team": row.display_name,
                "rank_before": rank_before,
                "rank_after": rank_after,
                "moved": moved,
                "before": "" if first is None else format_score(first, scale),
                "after": "" if last is None else format_score(last, scale),
                "difference": ""
                if first is None or last is None
                else format_score(last - first, scale),
            }
        )
    return rows


def _build_row_match_key(
    row: BoardRow, *, all_stand: bool
) -> tuple[str | int | None, str]:
    if row.is_competing and (all_stand or row.is_contrastive or row.team_slug is None):
        return row.submission, ""
    return (row.team_slug, "") if row.team_slug else (None, row.system)


def find_score_change_of_run(
    submission: Submission, newest: Evaluation, viewer: object
) -> dict[str, Any] | None:
    """Return the change of a run's score between two versions of the gold, or None if
    the run was scored on one version only. The result only contains ranks that the
    viewer may see.
    """
    older = Evaluation.objects.filter(submission=submission, rules=newest.rules)
    older = older.filter(gold__number__lt=newest.gold.number).order_by(
        "-gold__number", "-pk"
    )
    earlier = older.select_related("gold").prefetch_related("scores").first()
    if earlier is None:
        return None
    first, last = (
        next(iter(evaluation.scores.all()), None) for evaluation in (earlier, newest)
    )
    if first is None or last is None:
        return None
    before, after = (
        format_score(one.value, one.scale, is_infinite=one.is_infinite)
        for one in (first, last)
    )
    return {
        "metric_label": display_name_of_metric(last.metric),
        "before": before,
        "after": after,
        "is_changed": before != after,
        "old": earlier.gold,
        "new": newest.gold,
        "rank_before": _find_rank_on_gold(submission, earlier, viewer),
        "rank_after": _find_rank_on_gold(submission, newest, viewer),
    }


def _find_rank_on_gold(
    submission: Submission, evaluation: Evaluation, viewer: object
) -> str:
    board = compute_board(
        submission.phase, viewer, evaluation.rules, gold=evaluation.gold
    )
    return next(
        (
            board.format_rank_of_row(row)
            for row in board.rows
            if submission.pk in [run.submission for run in row.runs or [row]]
        ),
        "",
    )


def compute_boards_before_and_after_gold(
    phase: Phase, viewer: object, gold: Gold, rules: str | None, audience: Audience
) -> list[Board]:
    """Return the board on the previous version of the gold and the board on this
    version, or no boards for the first version.
    """
    earlier = Gold.objects.filter(
        task=gold.task_id, split=gold.split, number__lt=gold.number
    )
    before = earlier.order_by("-number").first()
    versions = (before, gold) if before else ()
    return [
        compute_board(phase, viewer, rules, gold=version, audience=audience)
        for version in versions
    ]
