"""Built-in baseline systems. The built-in baselines are deterministic, read only the
public inputs, and write runs.
"""

import difflib
from dataclasses import replace
from functools import cache
from importlib.util import find_spec

from tasks.types import TaskType, task_types
from tasks.types.baselines import Baseline
from tasks.types.references import import_referenced_object

__all__ = [
    "Baseline",
    "UnknownBaseline",
    "baseline",
    "baselines",
    "find_baselines_of_task_type",
    "is_papers_package_installed",
]

#: Modules outside this package must not import it, because installations may lack it.
PAPERS_PACKAGE = "scoring.papers"
PAPERS_MISSING_ADVICE = "what reproduces the five papers is not installed here; the image `full` and a checkout have it"  # noqa: E501
#: Task types whose gold may contain the answers of several annotators.
TASK_TYPES_WITH_HUMAN_LINE = ("clsumm-1a", "clsumm-1b", "clsumm-2")


class UnknownBaseline(LookupError):
    pass


def is_papers_package_installed() -> bool:
    return find_spec(PAPERS_PACKAGE) is not None


@cache
def baselines() -> dict[str, Baseline]:
    """Return all built-in baselines by name, in alphabetical order.

    Each baseline has a list of the task types for which it can produce runs.
    """
    by_name: dict[str, Baseline] = {}
    with_papers = is_papers_package_installed()
    for slug, task_type in task_types().items():
        for reference in task_type.baselines:
            if reference.startswith(f"{PAPERS_PACKAGE}.") and not with_papers:
                continue
            for baseline in import_referenced_object(reference):
                others = (
                    by_name[baseline.name].task_types
                    if baseline.name in by_name
                    else ()
                )
                by_name[baseline.name] = replace(baseline, task_types=(*others, slug))
    return dict(sorted(by_name.items()))


def find_baselines_of_task_type(task_type: TaskType) -> dict[str, Baseline]:
    """Return the baselines that can produce runs for a task type, by name. A task that
    organisers declare in a file has its own set of baselines.
    """
    if task_type.declared:
        return {baseline.name: baseline for baseline in task_type.declared.baselines}
    return {
        name: found
        for name, found in baselines().items()
        if task_type.slug in found.task_types
    }


def baseline(name: str, task_type: TaskType | None = None) -> Baseline:
    """Return the baseline with the given name. A task type that organisers declare has
    baselines of its own. Raises UnknownBaseline.
    """
    known = (
        find_baselines_of_task_type(task_type)
        if task_type and task_type.declared
        else baselines()
    )
    try:
        return known[name]
    except KeyError:
        close = difflib.get_close_matches(name, known, n=1)
        near = f" (did you mean {close[0]}?)" if close else ""
        names = ", ".join(known) or "none"
        more = "" if is_papers_package_installed() else f"; {PAPERS_MISSING_ADVICE}"
        raise UnknownBaseline(
            f"there is no baseline “{name}”; there are {names}{near}{more}"
        ) from None
