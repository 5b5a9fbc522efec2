"""Provide the released gold and the runs that are released with the gold, so that
anybody can reproduce the scores.
"""

from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.utils.translation import gettext as _

from scoring.results.board import standings, visibility
from tasks.gold.secrecy import (
    are_inputs_free_of_embargo,
    can_disclose_gold,
    load_phases_with_embargoes,
)
from tasks.models import Gold, Phase, Submission, Task
from tasks.seasons.access import can_download_inputs, can_organise_season


def may_download_gold(
    phase: Phase, viewer: object, version: Gold | None = None
) -> bool:
    """Return True if the phase releases the gold to the viewer, and no other phase that
    shares parts of the gold has an embargo.
    """
    if (
        visibility.determine_board_visibility(
            phase, visibility.determine_audience(phase, viewer)
        )
        != visibility.BoardVisibility.SCORES
    ):
        return False
    return can_disclose_gold(
        phase, version.pk if version else None
    ) and can_download_inputs(viewer, phase)


def build_gold_commitments(phase: Phase, gold: Gold | None) -> dict[str, Any] | None:
    """Return the public commitments to the gold and to the random sample of its public
    part. The nonces of the commitments are None until the gold is public.
    """
    if gold is None:
        return None
    is_open = may_download_gold(phase, AnonymousUser(), gold)
    return {
        "gold": gold.salted_digest,
        "gold_nonce": gold.nonce if is_open else None,
        "draw": phase.draw_commitment,
        "draw_nonce": phase.part_nonce if is_open and phase.part_nonce else None,
    }


def find_run_released_with_gold(
    phase: Phase, viewer: object, submission: int
) -> Submission | None:
    if (
        not may_download_gold(phase, viewer)
        or standings.find_board_and_row_of_run(phase, viewer, submission) is None
    ):
        return None
    run = Submission.objects.get(pk=submission)
    # The answers of human annotators are gold and not a run.
    return run if run.file and run.kind != Submission.Kind.HUMAN else None


def may_read_instances(
    phase: Phase, audience: visibility.Audience, viewer: object
) -> bool:
    """Return True if the viewer may read the gold and the answers of all systems on the
    board.
    """
    return audience == visibility.Audience.ORGANISER or may_download_gold(phase, viewer)


INSTANCE_COUNT_NAMES = (
    "long_inputs",
    "long_outputs",
    "printed_self_references",
    "self_references",
)


def describe_visible_splits(task: Task, viewer: object) -> list[dict[str, Any]]:
    """Return descriptions of a task's splits with their gold. Organisers get all
    splits, whereas other viewers get only released inputs and released gold.
    """
    is_organiser = can_organise_season(viewer, task.season)
    phases: dict[str, list[Phase]] = {}
    for phase in load_phases_with_embargoes(task.phases.select_related("task__season")):
        phases.setdefault(phase.split, []).append(phase)
    splits = []
    for split, group in phases.items():
        gold = Gold.objects.current(group[0])
        if gold is None or not (
            is_organiser or any(are_inputs_free_of_embargo(phase) for phase in group)
        ):
            continue
        has_gold = is_organiser or any(
            may_download_gold(phase, viewer) for phase in group
        )
        lines = []
        for row in gold.statistics:
            inputs, own = row["inputs"], row["gold"] if has_gold else {}
            counts = {**inputs, **own}
            shares = {
                name: 100 * counts[name] / counts["instances"]
                for name in INSTANCE_COUNT_NAMES
                if name in counts
            }
            label = _("all data sets") if row["name"] is None else row["name"]
            lines.append(
                {"label": label, "inputs": inputs, "gold": own, "shares": shares}
            )
        splits.append(
            {"split": split, "gold": gold, "has_gold": has_gold, "lines": lines}
        )
    return splits
