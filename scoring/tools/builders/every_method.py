"""A run of every method that a built season has something for, with every window."""

from __future__ import annotations

from pathlib import Path

from scoring.tools.baselines.retrieval_methods import BASELINES, QUERIES, possible
from tasks.types.baselines import Baseline
from tasks.types.files import open_inputs


def every_method(gold: Path) -> dict[str, Baseline]:
    """By what the board calls it."""
    [system] = BASELINES
    return {
        f"{method.name}, {window}": system.with_options({"method": method.name, "window": window})
        for method in possible(open_inputs([gold]))
        for window in QUERIES
    }
