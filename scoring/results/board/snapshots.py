"""Store snapshots of boards when a board is cited, when its gold gets a new version,
and at the end of a phase.
"""

from django.db import transaction
from django.db.models import Case, Exists, F, OuterRef, Q, QuerySet, Subquery, When
from django.utils import translation
from django.utils.timezone import now

from citeboard.core.middleware import ENGLISH_LANGUAGE_CODE
from scoring.models import Evaluation, FrozenBoard, Snapshot, SnapshotLimitReached
from scoring.results.board.counting import (
    RunShownOnBoard,
    find_gold_on_board,
    find_gold_on_board_at,
    find_runs_shown_on_board,
    has_final_scores_for_some_runs,
)
from scoring.results.board.exports import board_as_json
from scoring.results.board.manual_scores import load_team_figures_by_run
from scoring.results.board.standings import Board, compute_board
from scoring.results.board.visibility import (
    Audience,
    BoardVisibility,
    determine_audience,
    determine_board_visibility,
    determine_visibility_by_settings,
    find_freeze_time_for_audience,
    shows_teams,
)
from tasks.models import Gold, Phase, Submission, seasons

#: A board will change soon if some of its runs have a state in RUN_STATES_BEFORE_RESULT.
#: RUN_STATES_BEFORE_RESULT has no state of waiting for labels, because such runs may wait for ever.
RUN_STATES_BEFORE_RESULT = (
    Submission.Status.CHECKING,
    Submission.Status.QUEUED,
    Submission.Status.SCORING,
)


def save_snapshot(board: Board, occasion: Snapshot.Occasion) -> Snapshot | None:
    """Store a snapshot of the board as its audience sees the board.

    The function computes the board again, because the viewer's board may contain the
    hidden name of the viewer's team. Raises SnapshotLimitReached.
    """
    if board.gold is None or not board.rows:
        return None
    is_as_of_now = board.frozen_at == find_freeze_time_for_audience(
        board.phase, Audience.PUBLIC
    )
    is_everybodys = (
        is_as_of_now
        and determine_board_visibility(board.phase, Audience.PUBLIC) == board.visibility
    )
    audience = Audience.PUBLIC if is_everybodys else Audience.ORGANISER
    board = compute_board(
        board.phase, None, board.rules, gold=board.gold, audience=audience, by=board.by
    )
    has_scores = board.visibility == BoardVisibility.SCORES
    # All readers share a snapshot, so its language is always English.
    with translation.override(ENGLISH_LANGUAGE_CODE):
        content = board_as_json(
            board,
            board.rows,
            load_team_figures_by_run(board.rows) if has_scores else {},
            has_verdict=False,
        )
    return Snapshot.objects.keep(
        content,
        phase=board.phase,
        audience=audience,
        occasion=occasion,
        has_scores=has_scores,
        has_names=shows_teams(board.phase, audience),
        rules=board.rules,
        gold=board.gold,
        version=board.phase.version,
        frozen_at=board.frozen_at,
    )


def save_cited_snapshot(board: Board) -> Snapshot | None:
    try:
        return save_snapshot(board, Snapshot.Occasion.CITED)
    except SnapshotLimitReached:
        return None


def find_readable_snapshot(viewer: object, phase: Phase, short: str) -> Snapshot | None:
    """Return the board's snapshot whose digest starts with this prefix, or the first of
    several such snapshots.
    """
    snapshots = _find_readable_snapshots(
        phase, determine_audience(phase, viewer)
    ).filter(digest__startswith=short)
    return snapshots.order_by("created_at", "id").first()


def list_readable_uncited_snapshots(phase: Phase, audience: Audience) -> list[Snapshot]:
    return list(
        _find_readable_snapshots(phase, audience)
        .exclude(occasion=Snapshot.Occasion.CITED)
        .defer("packed")
    )


def _find_readable_snapshots(phase: Phase, audience: Audience) -> QuerySet[Snapshot]:
    """Return the snapshots whose content the audience may see by the current settings
    of the phase and by the settings at the time of the snapshot.
    """
    shown = determine_visibility_by_settings(phase, audience)
    snapshots = phase.snapshots.select_related("gold")
    if shown == BoardVisibility.NOTHING:
        return snapshots.none()
    if shown == BoardVisibility.RANKS:
        snapshots = snapshots.filter(has_scores=False)
    if not shows_teams(phase, audience):
        snapshots = snapshots.filter(has_names=False)
    if (at := find_freeze_time_for_audience(phase, audience)) is not None:
        snapshots = snapshots.filter(Q(created_at__lte=at) | Q(frozen_at__lte=at))
    return (
        snapshots
        if audience == Audience.ORGANISER
        else snapshots.filter(audience=Audience.PUBLIC)
    )


def save_due_snapshots() -> int:
    """Store the snapshots of boards that are due, and return the number of stored
    snapshots. If a phase ends again, or shows its board later than its end, the
    function stores another snapshot.
    """
    save_frozen_boards()
    at = now()
    scored = Exists(Evaluation.objects.filter(phase=OuterRef("pk")))
    is_settled = ~Exists(
        Submission.objects.filter(
            phase=OuterRef("pk"), status__in=RUN_STATES_BEFORE_RESULT
        )
    )
    is_shown_later = When(
        board_from__gt=F("closes"), board_from__lte=at, then=F("board_from")
    )
    settled_at = Case(is_shown_later, default=F("closes"))
    settled = Phase.objects.annotate(settled_at=settled_at).filter(scored, is_settled)

    def find_phases_without_snapshot(
        phases: QuerySet[Phase], occasion: Snapshot.Occasion, since: str
    ) -> QuerySet[Phase]:
        known = Snapshot.objects.filter(phase=OuterRef("pk"), occasion=occasion)
        is_kept = Exists(known.filter(created_at__gte=OuterRef(since)))
        return phases.filter(~is_kept).select_related("task__season")

    frozen = find_phases_without_snapshot(
        find_frozen_phases(), Snapshot.Occasion.FREEZE, "frozen_from"
    )
    closed = find_phases_without_snapshot(
        settled.filter(closes__lte=at), Snapshot.Occasion.CLOSE, "settled_at"
    )
    private = Evaluation.objects.filter(
        phase=OuterRef("pk"),
        release__startswith=seasons.PUBLIC_AND_PRIVATE_PART_NAMES[1],
    )
    replaced = (
        private.exclude(replaced_at=None)
        .order_by("-replaced_at")
        .values("replaced_at")[:1]
    )
    of_parts = settled.filter(public_part__isnull=False, closes__lte=at)
    parts_released = of_parts.annotate(released_at=Subquery(replaced))
    released = find_phases_without_snapshot(
        parts_released.exclude(released_at=None), Snapshot.Occasion.CLOSE, "released_at"
    )
    revealed = find_phases_without_snapshot(
        settled.filter(frozen_until__lte=at), Snapshot.Occasion.REVEAL, "frozen_until"
    )
    due: list[tuple[Phase, Gold | None, Snapshot.Occasion]] = [
        *(
            (
                phase,
                find_gold_on_board_at(phase, phase.frozen_from or at),
                Snapshot.Occasion.FREEZE,
            )
            for phase in frozen
        ),
        *(
            (phase, find_gold_on_board(phase), Snapshot.Occasion.CLOSE)
            for phase in {*closed, *released}
        ),
        *(
            (phase, find_gold_on_board(phase), Snapshot.Occasion.REVEAL)
            for phase in revealed
        ),
    ]
    later = Gold.objects.filter(
        task=OuterRef("task"), split=OuterRef("split"), number__gt=OuterRef("number")
    )
    for gold in Gold.objects.filter(Exists(later)):
        at_gold = Snapshot.objects.filter(
            phase=OuterRef("pk"), occasion=Snapshot.Occasion.GOLD, gold=gold
        )
        on_gold = Evaluation.objects.filter(phase=OuterRef("pk"), gold=gold)
        phases = Phase.objects.filter(
            ~Exists(at_gold), Exists(on_gold), task=gold.task_id, split=gold.split
        )
        for phase in phases.select_related("task__season"):
            current = find_gold_on_board(phase)
            if current is not None and current.number > gold.number:
                due.append((phase, gold, Snapshot.Occasion.GOLD))
    total = 0
    for phase, stood_on, occasion in due:
        if stood_on is None or has_final_scores_for_some_runs(phase):
            continue
        # Store the public board, and the organisers' board if it shows more.
        shown = determine_board_visibility(phase, Audience.PUBLIC)
        audiences = [Audience.PUBLIC] if shown != BoardVisibility.NOTHING else []
        if (
            shown != BoardVisibility.SCORES or phase.is_frozen()
        ) and occasion != Snapshot.Occasion.FREEZE:
            audiences.append(Audience.ORGANISER)
        with transaction.atomic():
            boards = [
                compute_board(phase, None, rules, gold=stood_on, audience=audience)
                for rules in phase.task.rules
                for audience in audiences
            ]
            number = sum(save_snapshot(board, occasion) is not None for board in boards)
            if number:
                # A new version removes cached pages, which do not link to the snapshot.
                seasons.increment_board_version(phase.pk)
        total += number
    return total


def find_frozen_phases() -> QuerySet[Phase]:
    frozen = Phase.objects.filter(frozen_from__lte=now()).exclude(
        frozen_until__lte=now()
    )
    return frozen.select_related("task__season")


def save_frozen_boards(*phases: Phase) -> int:
    """Store which evaluations a newly frozen board shows, and return the number of
    boards. A frozen board without stored evaluations is computed from the times of
    scoring.
    """
    number = 0
    for phase in phases or tuple(find_frozen_phases()):
        at = phase.frozen_from
        if at is None:
            continue
        for rules in phase.task.rules:
            saved = FrozenBoard.objects.filter(phase=phase, rules=rules, frozen_from=at)
            gold = None if saved.exists() else find_gold_on_board_at(phase, at)
            if gold is not None:
                stood = sorted(
                    run.evaluation
                    for run in find_runs_shown_on_board(
                        RunShownOnBoard, phase, rules, gold, at
                    )
                )
                _, is_new = FrozenBoard.objects.get_or_create(
                    phase=phase,
                    rules=rules,
                    frozen_from=at,
                    defaults={"gold": gold, "evaluations": stood},
                )
                number += is_new
    return number
