"""A site of an earlier release is upgraded by `migrate` alone and shows what it showed."""

import hashlib
import json
import lzma
import math
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from citeboard.demo.prepare import WITH_CARE
from tests.conftest import migrate
from tests.upgrade.work_under_way import add_work, expected, in_site, jobs_of

HERE = Path(__file__).resolve().parent
RELEASES = sorted(
    path.name for path in HERE.iterdir() if (path / "numbers.json.xz").exists()
)
#: Numbers that are computed when they are asked for; another processor may round the last digit otherwise.
DIGITS = 1e-12


def changes(before, now, where: str = "") -> list[str]:
    """What is gone or has another value; what is new is no change."""
    if isinstance(before, dict) and isinstance(now, dict):
        gone = [f"{where}/{key} is gone" for key in before if key not in now]
        return gone + [
            line
            for key in before
            if key in now
            for line in changes(before[key], now[key], f"{where}/{key}")
        ]
    if isinstance(before, list) and isinstance(now, list):
        if len(before) != len(now):
            return [f"{where} has {len(now)} entries and had {len(before)}"]
        pairs = enumerate(zip(before, now, strict=True))
        return [
            line for place, pair in pairs for line in changes(*pair, f"{where}/{place}")
        ]
    if (
        isinstance(before, float)
        and isinstance(now, float)
        and math.isclose(before, now, rel_tol=DIGITS)
    ):
        return []
    return [] if before == now else [f"{where} is {now!r} and was {before!r}"]


@pytest.mark.parametrize("release", RELEASES)
def test_a_site_of_an_earlier_release_shows_the_same_numbers_after_migrate(
    release, tmp_path
):
    shutil.unpack_archive(HERE / release / "site.tar.xz", tmp_path, **WITH_CARE)
    if release == "0.3.0":
        in_site(tmp_path, add_work)
    reader = [sys.executable, str(HERE / "read_numbers.py"), str(tmp_path)]
    told = subprocess.run(reader, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    with lzma.open(HERE / release / "numbers.json.xz") as file:
        before = json.load(file)
    assert len(before["boards"]) > 5
    now = json.loads(told.stdout)
    # Two rows are told apart where both say so: ends are as they were or wider. There are no groups any more.
    for board, same in zip(before["boards"], now["boards"], strict=True):
        for row, other in zip(board["rows"], same["rows"], strict=True):
            old_rank, low, high, _group = row.pop("ranks")
            rank, new_low, new_high = other.pop("ranks")
            assert rank == old_rank
            assert low is None or new_low <= low <= high <= new_high
    assert changes(before, now) == []
    if release == "0.3.0":
        assert in_site(tmp_path, jobs_of) == expected()
    # An empty database is not brought there step by step, and comes to the same.
    empty = tmp_path / "empty.sqlite3"
    migrate(f"sqlite:///{empty}")
    assert contents(empty) == contents(tmp_path / "citeboard.sqlite3")


def contents(path: Path) -> dict[str, object]:
    """Tables with columns, keys and constraints in any order, indexes, and the rows that migrations write."""
    with closing(sqlite3.connect(path)) as database:
        rows = database.execute(
            "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL"
        ).fetchall()
        named = {name: sql for kind, name, sql in rows if kind != "table"}
        for name, sql in ((name, sql) for kind, name, sql in rows if kind == "table"):
            columns = database.execute(f"PRAGMA table_info('{name}')").fetchall()
            keys = database.execute(f"PRAGMA foreign_key_list('{name}')").fetchall()
            parts = sql[sql.index("(") + 1 : sql.rindex(")")]
            named[name] = (
                sorted(column[1:] for column in columns),
                sorted(key[2:] for key in keys),
                sorted(
                    re.findall(
                        r"CONSTRAINT \S+ (?:CHECK|UNIQUE) .*?(?=, CONSTRAINT|, \"|$)",
                        parts,
                    )
                ),
                sorted(re.findall(r'"(\w+)"[^,]* UNIQUE', parts)),
            )
        applied = database.execute("SELECT app, name FROM django_migrations").fetchall()
        epochs = database.execute("SELECT number FROM core_schemaepoch").fetchall()
    assert len(named) > 100
    return {**named, "migrations": sorted(applied), "epochs": epochs}


def test_a_number_that_is_gone_or_another_is_found():
    before = {"boards": [{"rank": 1, "value": 0.5}], "runs": {}}
    assert (
        changes(before, {"boards": [{"rank": 1, "value": 0.5, "more": 1}], "runs": {}})
        == []
    )
    assert changes(before, {"boards": [{"rank": 2, "value": 0.6}], "runs": {}}) == [
        "/boards/0/rank is 2 and was 1",
        "/boards/0/value is 0.6 and was 0.5",
    ]
    assert changes(before, {"boards": []}) == [
        "/runs is gone",
        "/boards has 0 entries and had 1",
    ]


def test_a_migration_that_was_released_is_never_changed_or_removed():
    root = HERE.parent.parent
    released = json.loads((HERE / "migrations.json").read_text())
    assert len(released) >= 4
    now = {
        name: hashlib.sha256((root / name).read_bytes()).hexdigest()
        if (root / name).exists()
        else "gone"
        for name in released
    }
    assert now == released
