"""The baselines that task types name, built-in or from an installed package."""

from __future__ import annotations

import difflib
from dataclasses import replace
from functools import cache

from tasks.types import task_types
from tasks.types.baselines import Baseline
from tasks.types.references import referenced


class UnknownBaseline(LookupError):
    """No baseline has this name; the message lists those that exist."""


@cache
def baselines() -> dict[str, Baseline]:
    """Every baseline by its name, in alphabetical order, with the task types that name it."""
    found: dict[str, Baseline] = {}
    for slug, task_type in task_types().items():
        for reference in task_type.baselines:
            for baseline in referenced(reference):
                others = found[baseline.name].task_types if baseline.name in found else ()
                found[baseline.name] = replace(baseline, task_types=(*others, slug))
    return dict(sorted(found.items()))


def baselines_of(task_type: str) -> list[Baseline]:
    """Those whose answers are a run for the task type, in alphabetical order."""
    return [baseline for baseline in baselines().values() if task_type in baseline.task_types]


def baseline(name: str) -> Baseline:
    try:
        return baselines()[name]
    except KeyError:
        close = difflib.get_close_matches(name, baselines(), n=1)
        near = f" (did you mean {close[0]}?)" if close else ""
        known = ", ".join(baselines())
        raise UnknownBaseline(f"there is no baseline “{name}”; there are {known}{near}") from None
