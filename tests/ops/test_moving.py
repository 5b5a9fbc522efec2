"""A site moves from SQLite to PostgreSQL with every row, or not at all."""

import shutil

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from citeboard.demo.prepare import SAFE_TAR_EXTRACTION_OPTIONS
from tests.own_database import empty_system, manage

pytestmark = pytest.mark.both_databases

DIGESTS = (
    "from citeboard.ops.backups import compute_board_digests; "
    "print(sorted(compute_board_digests().items()))"
)
NEW = "from citeboard.teams.models import Team; print(Team.objects.create(name='After', slug='after').pk)"


@pytest.mark.worker
def test_a_moved_site_has_every_row_and_shows_the_same_boards(root, tmp_path):
    if connection.vendor != "postgresql":
        pytest.skip("a site moves to PostgreSQL")
    site = tmp_path / "site"
    shutil.unpack_archive(
        root / "tests/upgrade/0.3.0/site.tar.xz", site, **SAFE_TAR_EXTRACTION_OPTIONS
    )
    with empty_system(tmp_path / "empty") as there:
        moved = {
            **there,
            "CITEBOARD_DATA_DIR": str(site),
            "CITEBOARD_INSECURE_HTTP": "yes",
        }
        here = {**moved, "DATABASE_URL": f"sqlite:///{site}/citeboard.sqlite3"}
        assert manage(here, "move_database", there["DATABASE_URL"]).stderr.endswith(
            "behind; run `manage.py migrate` first\n"
        )
        assert manage(here, "migrate").returncode == 0
        told = manage(here, "move_database", there["DATABASE_URL"])
        assert (told.returncode, told.stderr) == (0, "")
        assert "rows are there and are what they were" in told.stdout
        boards = manage(here, "shell", "--no-imports", "-c", DIGESTS).stdout
        assert boards.count("evaluation") > 1
        assert manage(moved, "shell", "--no-imports", "-c", DIGESTS).stdout == boards
        # Keys go on behind those that came.
        assert int(manage(moved, "shell", "--no-imports", "-c", NEW).stdout) > 1
        again = manage(here, "move_database", there["DATABASE_URL"])
        assert again.returncode == 1
        assert "Nothing is moved: the new database has tables already" in again.stderr


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("address", "why"),
    [
        (
            "sqlite:////nowhere.sqlite3",
            "the new database is SQLite; expected PostgreSQL",
        ),
        ("mysql://host/name", "expected an address such as postgres://"),
    ],
)
def test_no_other_database_is_moved_to(address, why):
    if connection.vendor != "sqlite":
        why = "this site's database is PostgreSQL already"
    with pytest.raises(CommandError, match=why):
        call_command("move_database", address)
