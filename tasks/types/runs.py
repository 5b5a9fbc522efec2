"""Reading a run of any task type: the one way in for the site, the API and the command line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from tasks.types.base import Index, Options, TaskType
from tasks.types.files import InputFile
from tasks.types.problems import InputRefused, Problem, Problems, fatal, in_order
from tasks.types.registry import task_types
from tasks.types.run_forms import PLAIN_TEXT, beginning_of, binary_kind, text_kind

#: So many files of a run are looked at for what else they may be.
MAX_FILES_LOOKED_AT = 20
MIN_STRAY_LINES = 3


def read_run(
    task_type: TaskType, files: Sequence[InputFile], index: Index, options: Options, *, name: str = ""
) -> tuple[Any, list[Problem]]:
    """The answers, and everything that is wrong with the files in the order of files and lines.

    The answers are only meant where nothing is fatal. A problem of no file is one of ``name``, which is what
    the author calls the run.
    """
    try:
        answers, problems = task_type.read_run(files, index, options)
    except InputRefused as refused:
        answers, problems = None, refused.problems
    rest = problems.rest() if isinstance(problems, Problems) else []
    if fatal(problems):
        problems = _with_kinds_told(task_type, files, problems)
    return answers, in_order(
        problem if problem.file or not name else replace(problem, file=name) for problem in [*problems, *rest]
    )


def _with_kinds_told(
    task_type: TaskType, files: Sequence[InputFile], problems: Sequence[Problem]
) -> list[Problem]:
    """One sentence instead of many for each file that is no run of this type at all."""
    wrong = {problem.file for problem in fatal(problems)}
    looked_at = [file for file in files if file.shown in wrong][:MAX_FILES_LOOKED_AT]
    told = {file.shown: problem for file in looked_at for problem in _kind_told(task_type, file, problems)}
    if not told:
        return list(problems)
    return [*told.values(), *(problem for problem in problems if problem.file and problem.file not in told)]


def _kind_told(task_type: TaskType, file: InputFile, problems: Sequence[Problem]) -> Iterator[Problem]:
    form = task_type.run_form
    beginning = beginning_of(file)
    if form is None or not beginning:
        return
    expected = form.described
    if kind := binary_kind(beginning):
        yield Problem(file=file.shown, message=f"this is {kind}, which holds no answers", expected=expected)
    elif form.fits(beginning):
        return
    elif others := [slug for slug, other in task_types().items() if _fits(other, beginning)]:
        message = f"this looks like a run for {' or '.join(others)}; is this the right task?"
        yield Problem(file=file.shown, message=message, expected=expected)
    elif (kind := text_kind(beginning)) and (kind != PLAIN_TEXT or _has_several(file, problems)):
        yield Problem(file=file.shown, message=f"this looks like {kind}", expected=expected)


def _has_several(file: InputFile, problems: Sequence[Problem]) -> bool:
    """A few lines that the text form cannot have are better told one by one."""
    return sum(problem.file == file.shown for problem in problems) >= MIN_STRAY_LINES


def _fits(task_type: TaskType, beginning: bytes) -> bool:
    return task_type.run_form is not None and task_type.run_form.fits(beginning)
