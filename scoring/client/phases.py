"""Which phase is meant: by its number, or by the names in its address."""

from __future__ import annotations

from typing import Any

from scoring.client.refusals import Refused
from scoring.client.site import Site


def phase_id(site: Site, named: str) -> int:
    """Raises Refused with the names there are."""
    if named.isdecimal():
        return int(named)
    season, _, rest = named.partition("/")
    task_slug, _, phase_slug = rest.partition("/")
    if not (season and task_slug):
        raise Refused(f"“{named}” names no phase; expected its number or SEASON/TASK/PHASE")
    tasks = {task["slug"]: task for task in site.get(f"seasons/{season}/")["tasks"]}
    if task_slug not in tasks:
        raise Refused(f"season {season} has no task “{task_slug}”; it has {', '.join(tasks)}")
    phases = tasks[task_slug]["phases"]
    fitting = [
        phase
        for phase in phases
        if phase["slug"] == phase_slug or (not phase_slug and (phase["is_open"] or len(phases) == 1))
    ]
    if len(fitting) != 1:
        has = ", ".join(phase["slug"] for phase in phases)
        raise Refused(f"“{named}” names {len(fitting)} phases; {season}/{task_slug} has {has}")
    number: int = fitting[0]["id"]
    return number


def phase_detail(site: Site, named: str) -> dict[str, Any]:
    """The phase as the API describes it, its task by slug."""
    phase = site.get(f"phases/{phase_id(site, named)}/")
    task = site.get(f"tasks/{phase['task']}/")
    return {**phase, "task": task["slug"], "type": task["type"]}


def require_priorities(site: Site, phase: int, kind: str) -> None:
    """Raises Refused, before anything is sent, where a run of this kind has no priority in the phase."""
    if kind != "primary":
        raise Refused(f"--priority is for primary runs; a {kind} run has no priority")
    found = phase_detail(site, str(phase))
    if found.get("counting") != "priority":
        raise Refused(
            f"runs have no priority in {found['season']}/{found['task']}/{found['slug']}, whose counting is "
            f"“{found.get('counting')}”; leave --priority out"
        )
