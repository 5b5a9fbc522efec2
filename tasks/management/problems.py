"""How commands tell what is wrong with files: one line each, then one that says what follows from it."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management.base import BaseCommand, CommandError

from tasks.types import InputRefused
from tasks.types.problems import capped, counted

LET_OUT = "the task's name, where something may be known of its gold before its time; --reason says why"
#: As the offline scorer ends on refused input.
REFUSED = 2


@contextmanager
def problems_told(command: BaseCommand, *, otherwise: str) -> Iterator[None]:
    try:
        yield
    except InputRefused as refused:
        shown, more = capped(refused.problems)
        for problem in shown:
            command.stderr.write(str(problem))
        if more:
            command.stderr.write(f"and {more} more problems")
        count = counted(refused.problems)
        raise CommandError(
            f"{count} problem{'' if count == 1 else 's'}; {otherwise}", returncode=REFUSED
        ) from refused
