"""Management commands print the problems of files, one line per problem, and then a
line with the consequence.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from django.core.management.base import BaseCommand, CommandError

from tasks.models import Phase, Season
from tasks.types import InputRefused
from tasks.types.problems import Problem, alike, capped, counted

LET_OUT = "the task's name, where something may be known of its gold before its time; --reason says why"
#: A command ends with the exit code REFUSED if its input is refused.
REFUSED = 2


def told(problems: Sequence[Problem]) -> list[str]:
    shown, more = capped(problems)
    lines = (f"{problem}{others.words}" for problem, others in alike(shown))
    return [*lines, *([f"and {more} more problems"] if more else [])]


def season_named(slug: str) -> Season:
    if (season := Season.objects.filter(slug=slug).first()) is None:
        raise CommandError(f"there is no season “{slug}”")
    return season


def phase_named(*, season: str, task: str, phase: str) -> Phase:
    """Return the phase with the slugs of season, task and phase. Raises CommandError if
    the phase does not exist.
    """
    phases = Phase.objects.select_related("task__season")
    found = phases.filter(
        slug=phase, task__slug=task, task__season__slug=season
    ).first()
    if found is None:
        name = f"{season}/{task}/{phase}"
        raise CommandError(f"there is no phase “{name}”", returncode=REFUSED)
    return found


@contextmanager
def refusing(*kinds: type[Exception], words: str = "{}") -> Iterator[None]:
    try:
        yield
    except kinds as reason:
        raise CommandError(words.replace("{}", str(reason))) from reason


@contextmanager
def problems_told(command: BaseCommand, *, otherwise: str) -> Iterator[None]:
    try:
        yield
    except InputRefused as refused:
        for line in told(refused.problems):
            command.stderr.write(line)
        count = counted(refused.problems)
        message = f"{count} problem{'' if count == 1 else 's'}; {otherwise}"
        raise CommandError(message, returncode=REFUSED) from refused
