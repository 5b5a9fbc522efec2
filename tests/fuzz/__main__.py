"""Try many files and print what became of them, by task type and by kind of file."""

import argparse
import logging
import os
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

import django

django.setup()

from django.conf import settings  # noqa: E402
from django.test.utils import get_runner  # noqa: E402

from tasks.types import task_types  # noqa: E402
from tests.fuzz import kinds  # noqa: E402
from tests.fuzz.trying import Subject, tried  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument(
        "--files", type=int, default=105_000, help="how many, of all types together"
    )
    parser.add_argument(
        "--of-each", type=int, help="of each kind beside, else a twentieth of that"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--minutes", type=float, default=60, help="end after so many, whatever is left"
    )
    given = parser.parse_args()
    begin, done = time.monotonic(), 0
    of_each = given.files // 20 if given.of_each is None else given.of_each
    with tempfile.TemporaryDirectory() as scratch:
        subjects = [
            Subject(task_type, Path(scratch)) for task_type in task_types().values()
        ]
        for _ in tried(subjects, given.files, given.seed):
            done += 1
            if time.monotonic() - begin > given.minutes * 60:
                break
    print(f"{'task type':<24} {'refused':>8} {'scored':>8}")
    for subject in subjects:
        print(
            f"{subject.task_type.slug:<24} {subject.counts['refused']:>8,} {subject.counts['scored']:>8,}"
        )
    print(f"{'kind of file':<24} {'refused':>8} {'read':>8}")
    with tempfile.TemporaryDirectory() as scratch:
        found = kinds.kinds(Path(scratch))
        found[kinds.ARCHIVE] = kinds.Kind(
            kinds.ARCHIVE, kinds.Archive(archive(Path(scratch)), Path(scratch)).try_one
        )
        for name, kind in found.items():
            # One takes as long as many of another kind: its runs are scored.
            counts = kinds.tried(
                kind, of_each // 10 if name == kinds.ARCHIVE else of_each, given.seed
            )
            print(f"{name:<24} {counts['refused']:>8,} {counts['read']:>8,}")
            done += counts.total()
    print(
        f"{done:,} files in {time.process_time():.0f} s of CPU; no traceback and no hang"
    )
    return int(done < given.files)


def archive(scratch: Path) -> Path:
    """Of a season with two runs, from a database of its own."""
    from tests.archive.test_archive import export, make_phase, over

    logging.disable(logging.INFO)
    get_runner(settings)(verbosity=0, interactive=False).setup_databases()
    make_phase()
    over("past")
    return export(scratch / "exported", "--with-gold")


if __name__ == "__main__":
    sys.exit(main())
