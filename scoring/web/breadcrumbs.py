"""Where a page under a phase stands."""

from typing import Any

from tasks.models import Phase


def place_of(phase: Phase) -> dict[str, Any]:
    """What the templates of such pages address links with, `phase.html` first."""
    return {"season": phase.task.season, "task": phase.task, "phase": phase}
