"""What a season file says of each row of the site: by the prefix of its keys, field by field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import Field, Model

from tasks.models import Phase, Season, Task
from tasks.seasons.file.entries import PhaseEntry, SeasonEntry, TaskEntry

#: The values of one row's fields.
Facts = dict[str, Any]
SEASON = "season"
#: Fields whose key in the file is not their name without ``is_``.
_KEYS = {
    "allows_several_teams": "several_teams",
    "shows_overall": "overall",
    "gold_is_public": "gold_public",
}


def task_prefix(task: str) -> str:
    return f"tasks.{task}"


def phase_prefix(task: str, phase: str) -> str:
    return f"tasks.{task}.phases.{phase}"


def gold_key(task: str, split: str) -> str:
    return f"tasks.{task}.gold.{split}"


def terms_key() -> str:
    return f"{SEASON}.terms"


def organiser_key(address: str) -> str:
    return f"{SEASON}.organisers.{address.lower()}"


def key_of(prefix: str, field: str) -> str:
    """What the file calls a field, such as `season.public`."""
    return f"{prefix}.{_KEYS.get(field, field.removeprefix('is_'))}"


def season_facts(entry: SeasonEntry) -> Facts:
    return {
        "title": entry.title,
        "summary": entry.summary,
        "licence": entry.licence,
        "is_public": entry.is_public,
        "registration": entry.registration,
        "entry_list": "\n".join(entry.entry_list),
        "max_team_size": entry.max_team_size,
        "members_until": entry.members_until,
        "merge_until": entry.merge_until,
        "anonymous_until": entry.anonymous_until,
        "time_zone": entry.time_zone,
        "allows_several_teams": entry.allows_several_teams,
        "shows_overall": entry.shows_overall,
    }


def task_facts(entry: TaskEntry, position: int, published: list[dict[str, Any]]) -> Facts:
    return {
        "title": entry.title,
        "type": entry.type,
        "summary": entry.summary,
        "rules": list(entry.rules),
        "options": entry.options,
        "is_reported_only": entry.is_reported_only,
        "min_class_size": entry.min_class_size,
        "queue": entry.queue,
        "max_seconds": entry.max_seconds,
        "max_memory_mb": entry.max_memory_mb,
        "published": published,
        "position": position,
    }


def phase_facts(entry: PhaseEntry, position: int) -> Facts:
    return {
        "title": entry.title,
        "split": entry.split,
        "opens": entry.opens,
        "closes": entry.closes,
        "inputs_from": entry.inputs_from,
        "late_until": entry.late_until,
        "time_zone": entry.time_zone,
        "runs_per_day": entry.runs_per_day,
        "runs_in_total": entry.runs_in_total,
        "board": entry.board,
        "board_from": entry.board_from,
        "board_then": entry.board_then,
        "frozen_from": entry.frozen_from,
        "frozen_until": entry.frozen_until,
        "own_scores": entry.own_scores,
        "shows_teams": entry.shows_teams,
        "shows_run_counts": entry.shows_run_counts,
        "counting": entry.counting,
        "priority_runs": entry.priority_runs,
        "shows_contrastive": entry.shows_contrastive,
        "confirms_results": entry.confirms_results,
        "shows_instances": entry.shows_instances,
        "gold_is_public": entry.gold_is_public,
        "gold_from": entry.gold_from,
        "card_required": list(entry.card_required),
        "position": position,
    }


def facts_of(entry: SeasonEntry, placements: Mapping[str, list[dict[str, Any]]]) -> dict[str, Facts]:
    """By prefix, in the order of the file. ``placements`` are the published tables of each task."""
    found = {SEASON: season_facts(entry)}
    for position, task in enumerate(entry.tasks):
        facts = task_facts(task, position, placements.get(task.slug, []))
        # What other files than the season file would say stays as the site has it.
        unread = {"published", *(["summary"] if "card" in task.table else [])} if entry.is_alone else set()
        found[task_prefix(task.slug)] = {name: own for name, own in facts.items() if name not in unread}
        for place, phase in enumerate(task.phases):
            found[phase_prefix(task.slug, phase.slug)] = phase_facts(phase, place)
    return found


def rows_of(season: Season, *, held: bool = True) -> dict[str, Model]:
    """The site's rows by the same prefixes, held until the transaction ends."""
    rows: dict[str, Model] = {SEASON: season}
    tasks = Task.objects.filter(season=season).order_by("pk")
    for task in tasks.select_for_update(of=("self",)) if held else tasks:
        rows[task_prefix(task.slug)] = task
    phases = Phase.objects.filter(task__season=season).select_related("task__season").order_by("pk")
    for phase in phases.select_for_update(of=("self",)) if held else phases:
        rows[phase_prefix(phase.task.slug, phase.slug)] = phase
    return rows


def default_of(prefix: str, field: str) -> Any:
    """What a field holds where nobody has said anything of it."""
    model = Phase if ".phases." in prefix else Task if prefix.startswith("tasks.") else Season
    known = model._meta.get_field(field)  # noqa: SLF001  (documented)
    assert isinstance(known, Field)
    return known.get_default()
