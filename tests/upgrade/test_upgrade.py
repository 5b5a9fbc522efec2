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
from collections.abc import Collection
from contextlib import closing
from pathlib import Path

import pytest

from citeboard.demo.prepare import SAFE_TAR_EXTRACTION_OPTIONS
from tests.conftest import migrate
from tests.once import made_once
from tests.upgrade.hidden_gold import OF_OTHERS, RIVAL, hide_gold
from tests.upgrade.work_under_way import (
    add_work,
    expected,
    in_site,
    jobs_of,
)

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


def upgraded(release: str) -> tuple[Path, dict]:
    """Return the folder of an upgraded site and every number that it shows."""

    def upgrade(made: Path) -> None:
        site = made / "site"
        site.mkdir()
        shutil.unpack_archive(
            HERE / release / "site.tar.xz", site, **SAFE_TAR_EXTRACTION_OPTIONS
        )
        if release == "0.3.0":
            in_site(site, add_work)
            in_site(site, hide_gold)
        numbers = printed_by("read_numbers.py", site)
        (made / "numbers.json").write_text(json.dumps(numbers))

    made = made_once(f"upgraded-{release}", upgrade)
    return made / "site", json.loads((made / "numbers.json").read_text())


def printed_by(script: str, folder: Path) -> dict:
    command = [sys.executable, str(HERE / script), str(folder)]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    return json.loads(told.stdout)


def numbers_before(release: str) -> dict:
    with lzma.open(HERE / release / "numbers.json.xz") as file:
        return json.load(file)


def settled_boards(site: sqlite3.Connection) -> set[str]:
    """Return the phases whose boards keep their sentences, as `read_numbers.py` names them."""
    rows = site.execute(
        "SELECT season.slug || '/' || task.slug || '/' || phase.slug FROM scoring_boardorder board"
        " JOIN tasks_phase phase ON phase.id = board.phase_id JOIN tasks_task task ON task.id = phase.task_id"
        " JOIN tasks_season season ON season.id = task.season_id WHERE board.settled_at IS NOT NULL"
    )
    return {name for (name,) in rows}


def without_leaders(boards: list[dict], spared: Collection[str] = ()) -> None:
    """Drop the leaders of classes: workers find them again, and a tie at 0 or 1 leads no more."""
    for board in boards:
        if board["phase"] not in spared:
            for table in board["classes"].values():
                table.pop("leaders", None)


@pytest.mark.slow
@pytest.mark.parametrize("release", RELEASES)
def test_a_site_of_an_earlier_release_shows_the_same_numbers_after_migrate(
    release, contents_of_new_site
):
    folder, now = upgraded(release)
    before = numbers_before(release)
    assert len(before["boards"]) > 5
    boards = [board for board in now["boards"] if board["phase"] != OF_OTHERS]
    # Two rows are told apart where both say so: ends are as they were or wider. There are no groups any more.
    for board, same in zip(before["boards"], boards, strict=True):
        for row, other in zip(board["rows"], same["rows"], strict=True):
            # A fourth number of fixtures before 0.4.0 is the group.
            old_rank, low, high = row.pop("ranks")[:3]
            rank, new_low, new_high = other.pop("ranks")
            assert rank == old_rank
            assert low is None or new_low <= low <= high <= new_high
    without_leaders(before["boards"], spared=in_site(folder, settled_boards))
    assert changes(before, now | {"boards": boards}) == []
    if release == "0.3.0":
        assert in_site(folder, jobs_of) == expected()
    assert contents_of_new_site == contents(folder / "citeboard.sqlite3")


@pytest.fixture(scope="module")
def contents_of_new_site() -> dict[str, object]:
    """An empty database is not brought there step by step, and comes to the same."""
    made = made_once("new-site", lambda made: migrate(f"sqlite:///{made}/site.sqlite3"))
    return contents(made / "site.sqlite3")


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


@pytest.fixture(scope="module")
def noticed() -> dict:
    """Return what the people of a running season notice, each by its name in `running_season`."""
    site, _numbers = upgraded("0.3.0")

    def run(made: Path) -> None:
        own = shutil.copytree(site, made / "site")
        told = printed_by("running_season.py", own)
        (made / "noticed.json").write_text(json.dumps(told))

    made = made_once("running-season", run)
    return json.loads((made / "noticed.json").read_text())


@pytest.mark.slow
class TestSecretsOfARunningSeason:
    """What organisers, teams and readers of a season of 0.3.0 notice whose gold stays hidden."""

    def test_boards_and_own_scores_stay_though_a_dark_season_has_the_same_gold(
        self, noticed
    ):
        numbers = numbers_before("0.3.0")["boards"]
        before = [each for each in numbers if each["phase"] == "demo/1a/evaluation"]
        for board in (*before, *noticed["boards"]):
            for row in board["rows"]:
                del row["ranks"]
        without_leaders(before)
        assert changes(before, noticed["boards"]) == []
        assert noticed["rows for visitors"] == len(before[0]["rows"])
        assert noticed["own scores"]

    def test_staff_decide_on_the_two_seasons_and_both_organisers_are_told(
        self, noticed
    ):
        assert noticed["claims"] == ["open"]
        assert noticed["told of shared texts"] == [1, RIVAL]

    def test_gold_keeps_its_key_and_the_board_shows_one_that_nobody_can_guess(
        self, noticed
    ):
        assert noticed["old key"] == noticed["plain digest"] != noticed["new key"]
        assert noticed["new key on the board"]
        assert noticed["old key is called guessable"]

    def test_a_misspelt_field_of_an_upload_is_a_warning_and_the_run_joins_the_board(
        self, noticed
    ):
        assert (noticed["upload"], noticed["run"]) == (201, "scored")
        [warning] = noticed["warnings"]
        assert "“desciption” is unknown" in warning["message"]
        assert warning["expected"] == "“description”"
        # A measure of a newer version has its own column until the earlier runs are scored again.
        newer = re.compile(r"\|unicode:nfc|\|v:\d+")
        columns, earlier = (
            {
                rules: sorted(newer.sub("", name) for name in names)
                for rules, names in noticed[key].items()
            }
            for key in ("columns", "earlier columns")
        )
        assert columns == earlier

    def test_a_misspelt_switch_or_field_of_an_act_is_refused(self, noticed):
        assert noticed["a switch"] == 400
        assert noticed["is open"]
        status, detail = noticed["an unknown field"]
        assert status == 400
        assert "“untli” is unknown here" in detail

    def test_organisers_read_the_sum_of_bits_and_their_phases_go_on(self, noticed):
        assert "5 teams that collude exceed the budget" in noticed["settings"]
        assert "What is set stays" in noticed["settings"]

    def test_a_later_phase_beyond_the_budget_takes_a_name_and_a_reason(self, noticed):
        status, told = noticed["later phase"]
        assert (status, told["lets_out"][0]["what"]) == (409, "budget")
        status, told = noticed["with a reason"]
        assert (status, "phase 1a/post: created" in told["changes"]) == (200, True)

    def test_no_part_is_drawn_by_the_upgrade_and_new_parts_by_a_secret(self, noticed):
        assert set(noticed["draws"]) == {""}
        assert noticed["its draw"] == "public-30"
        assert len(noticed["its secret"]) == 64


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
