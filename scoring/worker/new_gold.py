"""A new version of the gold, from a file that an organiser sends; every run is then scored against it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction

from citeboard.core import audit
from citeboard.core.refusals import Refused
from citeboard.teams.models import User
from scoring.worker.rescoring import ask_for_phase
from tasks.gold.gold_files import KeptGold, gold_change, keep_uploaded_gold, record_gold
from tasks.models import Gold, Phase, Task
from tasks.submissions.uploads import Upload
from tasks.types import InputRefused, Problem
from tasks.types.problems import capped


class GoldRefused(Refused):
    """The file is no gold of this task; nothing was kept."""

    status = 422

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = problems
        super().__init__("the file is no gold of this task")

    def answer(self) -> dict[str, object]:
        problems, more = capped(self.problems)
        return super().answer() | {"problems": [problem.as_dict() for problem in problems], "more": more}


@dataclass(frozen=True)
class NewGold:
    """The version that the file makes, whether it is new, and the phases whose runs are scored against it."""

    gold: Gold
    is_new: bool
    phases: list[Phase]


def publish_gold(
    *, splits: Sequence[tuple[Task, str]], upload: Upload, reason: str, by: User, again: bool = False
) -> list[NewGold]:
    """Make the file, or the files of an archive, the next version of each split; the same content makes none.

    Raises GoldRefused with everything that is wrong with it, and EarlierGold where a version before the
    present one holds the same and not ``again``. Then no split has a new version.
    """
    try:
        packed = [
            keep_uploaded_gold(task=task, path=upload.path, filename=upload.filename, by=by)
            for task, _ in splits
        ]
    except InputRefused as refused:
        raise GoldRefused(refused.problems) from refused
    with transaction.atomic():
        made = [
            _recorded(task, split, own, reason=reason, by=by, again=again)
            for (task, split), own in zip(splits, packed, strict=True)
        ]
    for new in made:
        if new.is_new:
            for phase in new.phases:
                ask_for_phase(phase=phase, by=by)
    return made


def _recorded(task: Task, split: str, packed: KeptGold, *, reason: str, by: User, again: bool) -> NewGold:
    before = Gold.objects.filter(task=task, split=split).order_by("-number").first()
    gold, is_new = record_gold(task=task, split=split, kept=packed, reason=reason, again=again)
    phases = list(Phase.objects.filter(task=task, split=split).select_related("task__season"))
    if is_new:
        words = f"made gold v{gold.number} of {task}: {reason}"
        change = gold_change(before, gold)
        audit.note(
            actor=by, action="gold-added", words=words, subject=gold, place=task.season, changes=[change]
        )
    return NewGold(gold, is_new, phases)
