"""A site of 0.3.0 whose season hides its gold, beside a dark season of another organiser on the same gold."""

import sqlite3
from typing import Any

#: The demo's reader organises the other season.
RIVAL = 3
OF_OTHERS = "other/1a/evaluation"
EVALUATION = 2


def hide_gold(site: sqlite3.Connection) -> None:
    site.execute("UPDATE tasks_phase SET shows_instances = 0")
    [task] = site.execute("SELECT task_id FROM tasks_phase WHERE id = 2").fetchone()
    [demo] = site.execute("SELECT id FROM tasks_season").fetchone()
    season = copy(site, "tasks_season", demo, slug="other", title="Another season")
    same = copy(site, "tasks_task", task, season_id=season)
    dark = {"board": "nobody", "own_scores": "nothing"}
    copy(site, "tasks_phase", EVALUATION, task_id=same, **dark)
    [gold] = site.execute(
        "SELECT id FROM tasks_gold WHERE task_id = ?", (task,)
    ).fetchone()
    earlier = "2026-01-01 00:00:00"
    copy(site, "tasks_gold", gold, task_id=same, created_at=earlier)
    copy(site, "tasks_organiser", 1, user_id=RIVAL, season_id=season)


def copy(site: sqlite3.Connection, table: str, row: int, **changes: Any) -> int:
    """Copy a row with changes and return the number of the copy."""
    cursor = site.execute(f"SELECT * FROM {table} WHERE id = ?", (row,))  # noqa: S608
    names = [column[0] for column in cursor.description]
    values = dict(zip(names, cursor.fetchone(), strict=True)) | changes
    del values["id"]
    columns = ", ".join(f'"{name}"' for name in values)
    marks = ", ".join("?" * len(values))
    statement = f"INSERT INTO {table} ({columns}) VALUES ({marks})"  # noqa: S608
    number = site.execute(statement, tuple(values.values())).lastrowid
    assert number is not None
    return number
