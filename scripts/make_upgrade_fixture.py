"""Makes the fixture of the upgrade test for a release of this tree: a small site and what it shows.

Usage: python scripts/make_upgrade_fixture.py VERSION

Writes `tests/upgrade/VERSION/`: `site.tar.xz` with the database and the files of the demo season, scored and
compared, and `numbers.json.xz` with every number that its pages show. New migrations and their digests are
added to `tests/upgrade/migrations.json`. Run again for the same release, it adds new migrations alone.
"""

import hashlib
import json
import lzma
import shutil
import subprocess
import sys
import tarfile
import tempfile
from copy import copy
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.upgrade.read_numbers import set_up

UPGRADE = ROOT / "tests" / "upgrade"
#: What a site cannot make again by itself.
KEPT = ("citeboard.sqlite3", "files")


def main() -> None:
    [version] = sys.argv[1:]
    if not (UPGRADE / version).exists():
        make_fixture(UPGRADE / version)
    add_migrations()


def make_fixture(target: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="citeboard-fixture-") as folder:
        make_site(Path(folder))
        pack(Path(folder), target)


def pack(site: Path, target: Path) -> None:
    """Written once the numbers are read, so that a failure leaves no half of a fixture."""
    archive = site / "site.tar.xz"
    with tarfile.open(archive, "w:xz") as writer:
        for name in KEPT:
            writer.add(site / name, name, filter=without_owner)
    reader = [sys.executable, str(UPGRADE / "read_numbers.py"), str(site)]
    numbers = json.loads(
        subprocess.run(reader, check=True, stdout=subprocess.PIPE, text=True).stdout
    )
    target.mkdir()
    shutil.copy(archive, target)
    with lzma.open(target / "numbers.json.xz", "wt", encoding="utf-8") as file:
        json.dump(numbers, file, ensure_ascii=False)
    print(
        f"{target.relative_to(ROOT)}: {len(numbers['boards'])} boards, {len(numbers['runs'])} runs"
    )


def without_owner(member: tarfile.TarInfo) -> tarfile.TarInfo:
    # Python 3.11.0 to 3.11.3 have no TarInfo.replace.
    anonymous = copy(member)
    anonymous.uid = anonymous.gid = 0
    anonymous.uname = anonymous.gname = ""
    return anonymous


def make_site(folder: Path) -> None:
    """The demo season, every run scored and every board compared; the queue is empty."""
    set_up(folder)
    from django.core.management import call_command
    from django.db import connection
    from django_q.models import OrmQ

    from citeboard.demo.prepare import create_demo, finish_demo
    from scoring.worker.score import score
    from tasks.models import Job, Phase

    call_command("migrate", verbosity=0)
    create_demo()
    finish_demo()
    while job := Job.objects.filter(state=Job.State.QUEUED).first():
        score(job.pk)
    for phase in Phase.objects.select_related("task"):
        for rules in phase.task.rules:
            compare(phase.pk, rules)
    OrmQ.objects.all().delete()
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        cursor.execute("VACUUM")
    connection.close()


def compare(phase: int, rules: str) -> None:
    from scoring.results.board.comparison_state import (
        get_or_create_board_order,
        queue_board_comparison,
    )
    from tasks.jobs.work import claim_and_do_job_by_id
    from tasks.models import Phase

    while (
        get_or_create_board_order(phase, rules).version
        != Phase.objects.get(pk=phase).version
    ):
        queue_board_comparison(phase, rules)
        claim_and_do_job_by_id(get_or_create_board_order(phase, rules).job_id)


def add_migrations() -> None:
    path = UPGRADE / "migrations.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    for migration in sorted(
        [*ROOT.glob("*/migrations/0*.py"), *ROOT.glob("platform/*/*/migrations/0*.py")]
    ):
        digest = hashlib.sha256(migration.read_bytes()).hexdigest()
        known.setdefault(migration.relative_to(ROOT).as_posix(), digest)
    path.write_text(json.dumps(known, indent=1) + "\n")


if __name__ == "__main__":
    main()
