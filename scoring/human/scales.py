"""What the annotators of a sheet are asked, as it is kept with the sheet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tasks.models import Phase
from tasks.types.human_evaluation import Scale


def scales_of(phase: Phase) -> dict[str, Any]:
    """The task's own, by criterion."""
    human_evaluation = phase.task.task_type.human_evaluation
    return as_values(human_evaluation.scales) if human_evaluation else {}


def as_values(scales: Mapping[str, Scale]) -> dict[str, Any]:
    return {
        name: {"question": scale.question, "levels": list(scale.levels)} for name, scale in scales.items()
    }
