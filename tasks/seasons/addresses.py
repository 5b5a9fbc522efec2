"""What commands call tasks and phases: by number, or by the path that their pages have."""

from __future__ import annotations

from tasks.models import Phase, Task


class NoSuchPlace(LookupError):
    """Nothing has this name; the message lists what there is."""


def task_at(address: str) -> Task:
    """``7`` or ``season/task``."""
    tasks = Task.objects.select_related("season")
    season, _, slug = address.strip("/").partition("/")
    found = (
        tasks.filter(pk=int(address)) if _is_number(address) else tasks.filter(season__slug=season, slug=slug)
    )
    if task := found.first():
        return task
    known = ", ".join(f"{task.season.slug}/{task.slug}" for task in tasks.order_by("pk"))
    raise NoSuchPlace(f"there is no task “{address}”; there are {known or 'none yet'}")


def phase_at(address: str) -> Phase:
    """``7`` or ``season/task/phase``."""
    phases = Phase.objects.select_related("task__season")
    if _is_number(address):
        found = phases.filter(pk=int(address))
    else:
        season, task, slug = (*address.strip("/").split("/"), "", "")[:3]
        found = phases.filter(task__season__slug=season, task__slug=task, slug=slug)
    if phase := found.first():
        return phase
    known = ", ".join(
        f"{phase.task.season.slug}/{phase.task.slug}/{phase.slug}" for phase in phases.order_by("pk")
    )
    raise NoSuchPlace(f"there is no phase “{address}”; there are {known or 'none yet'}")


def _is_number(address: str) -> bool:
    """Whether a database could have such a number; others are looked for as names, and not found."""
    return address.isascii() and address.isdigit() and len(address) < 19
