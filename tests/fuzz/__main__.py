"""Try many files and print what became of them, by task type."""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tasks.types import task_types
from tests.fuzz import kinds
from tests.fuzz.trying import Subject, tried


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--files", type=int, default=105_000, help="how many, of all types together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=60, help="end after so many, whatever is left")
    given = parser.parse_args()
    begin, done = time.monotonic(), 0
    with tempfile.TemporaryDirectory() as scratch:
        subjects = [Subject(task_type, Path(scratch)) for task_type in task_types().values()]
        for _ in tried(subjects, given.files, given.seed):
            done += 1
            if time.monotonic() - begin > given.minutes * 60:
                break
    print(f"{'task type':<24} {'refused':>8} {'scored':>8}")
    for subject in subjects:
        print(f"{subject.task_type.slug:<24} {subject.counts['refused']:>8,} {subject.counts['scored']:>8,}")
    with tempfile.TemporaryDirectory() as scratch:
        others = kinds.tried(Path(scratch), given.files // 40, given.seed)
    print(f"{'gold and other kinds':<24} {others['refused']:>8,} {others['read']:>8,}")
    done += others.total()
    print(f"{done:,} files in {time.process_time():.0f} s of CPU; no traceback and no hang")
    return int(done < given.files)


if __name__ == "__main__":
    sys.exit(main())
