"""Larger inputs than in the suite, and the worst ratio of everything that took long enough to tell."""

import itertools
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

import django

django.setup()

from citeboard.core.markdown import render_markdown  # noqa: E402
from tasks.types import task_types  # noqa: E402
from tests.growth import doors, readers, texts  # noqa: E402
from tests.growth.functions import text_functions  # noqa: E402
from tests.growth.measuring import MAX_RATIO, Growth, growth, steps  # noqa: E402
from tests.growth.shapes import shapes  # noqa: E402

LARGE, MIDDLE = 1 << 16, 1 << 13
Case = tuple[str, Callable[[object], object], Callable[[int], object], int]


def cases() -> Iterator[Case]:
    for task_type in task_types().values():
        read, read_gold = readers.reading(task_type), readers.reading_gold(task_type)
        for name, made in readers.many(task_type):
            yield f"{task_type.slug}: {name}", read, made, LARGE
        for shape, make in shapes():
            for name, made in readers.hostile_contents(make):
                yield f"{task_type.slug}: {shape}: {name}", read, made, LARGE
            for name, made in readers.hostile_fields(task_type, make):
                yield f"{task_type.slug}: {shape}: {name}", read, made, MIDDLE
            for name, made in readers.hostile_gold(task_type, make):
                yield f"{task_type.slug}: {shape}: {name}", read_gold, made, MIDDLE


def text_cases() -> Iterator[Case]:
    for kind, read_text in texts.READERS.items():
        for shape, make in shapes():
            for name, made in texts.shaped(kind, make):
                yield f"{shape}: {name}", read_text, made, MIDDLE
    for name, function in (
        *text_functions(),
        ("Markdown", render_markdown.__wrapped__),
    ):
        for shape, make in shapes():
            yield f"{name}: {shape}", function, make, MIDDLE


def at_the_door(folder: Path) -> Iterator[tuple[str, Growth]]:
    """Each doubling of each file that somebody sends, from a tenth of a megabyte to sixteen."""
    types = list(task_types().values())
    found = itertools.chain(
        *(doors.runs(each, folder) for each in types),
        *map(doors.gold, types),
        doors.others(folder),
    )
    for name, read, made in found:
        for step in steps(read, made, doors.SMALLEST, doors.LARGEST):
            yield name, step


def main() -> int:
    measured: list[tuple[str, Growth]] = []
    with tempfile.TemporaryDirectory() as folder:
        doubled = list(at_the_door(Path(folder)))
    measured += [(name, step) for name, step in doubled if step.ratio is not None]
    print(
        f"{len(doubled):,} doublings of files that people send, {len(measured):,} with a ratio"
    )
    measured.sort(key=lambda each: -(each[1].ratio or 0))
    for name, found in measured[:10]:
        print(f"{found.ratio:.2f}  {found.seconds:.2f} s at {found.size:,}  {name}")
    count = 0
    for name, work, made, largest in itertools.chain(cases(), text_cases()):
        count += 1
        found = growth(work, made, largest)
        if found.ratio is not None:
            measured.append((name, found))
    measured.sort(key=lambda each: -(each[1].ratio or 0))
    print(
        f"{count:,} shapes, {len(measured):,} took long enough for a ratio; the worst:"
    )
    for name, found in measured[:10]:
        print(f"{found.ratio:.2f}  {found.seconds:.2f} s at {found.size:,}  {name}")
    beyond = sum(not found.is_bounded for _, found in measured)
    print(f"{beyond} beyond {MAX_RATIO}")
    return int(beyond > 0)


if __name__ == "__main__":
    sys.exit(main())
