"""Management commands print the problems of files, one line per problem, and then a
line with the consequence.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from django.core.management.base import BaseCommand, CommandError

from tasks.models import Phase, Season
from tasks.types import InputRefused
from tasks.types.problems import (
    Problem,
    counted,
    merge_with_further_lines,
    select_problems_to_list,
)

EMBARGO_BREACH_OPTION_HELP = (
    "the task's name, where something may be known of its gold before its time; "
    "--reason says why"
)
#: A command ends with the exit code REFUSED_INPUT_EXIT_CODE if its input is refused.
REFUSED_INPUT_EXIT_CODE = 2


def format_problem_lines(problems: Sequence[Problem]) -> list[str]:
    shown, more = select_problems_to_list(problems)
    lines = (
        f"{problem}{others.words}"
        for problem, others in merge_with_further_lines(shown)
    )
    return [*lines, *([f"and {more} more problems"] if more else [])]


def get_season_or_command_error(slug: str) -> Season:
    if (season := Season.objects.filter(slug=slug).first()) is None:
        raise CommandError(f"there is no season “{slug}”")
    return season


def get_phase_or_command_error(*, season: str, task: str, phase: str) -> Phase:
    """Return the phase with the slugs of season, task and phase. Raises CommandError if
    the phase does not exist.
    """
    phases = Phase.objects.select_related("task__season")
    found = phases.filter(
        slug=phase, task__slug=task, task__season__slug=season
    ).first()
    if found is None:
        name = f"{season}/{task}/{phase}"
        raise CommandError(
            f"there is no phase “{name}”", returncode=REFUSED_INPUT_EXIT_CODE
        )
    return found


@contextmanager
def convert_to_command_error(
    *kinds: type[Exception], words: str = "{}"
) -> Iterator[None]:
    try:
        yield
    except kinds as reason:
        raise CommandError(words.replace("{}", str(reason))) from reason


@contextmanager
def report_refused_input(command: BaseCommand, *, otherwise: str) -> Iterator[None]:
    try:
        yield
    except InputRefused as refused:
        for line in format_problem_lines(refused.problems):
            command.stderr.write(line)
        count = counted(refused.problems)
        message = f"{count} problem{'' if count == 1 else 's'}; {otherwise}"
        raise CommandError(message, returncode=REFUSED_INPUT_EXIT_CODE) from refused
