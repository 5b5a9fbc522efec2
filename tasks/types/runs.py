"""Read and validate a run of any task type. The website, the API and the commands all
use the function `read_run` for this purpose.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from tasks.types.base import Index, Options, TaskType
from tasks.types.files import Files, InputFile
from tasks.types.guarded.encodings import NOT_UTF8, UNMARKED, binary_kind
from tasks.types.problems import InputRefused, Problem, Problems, fatal, in_order
from tasks.types.registry import task_types
from tasks.types.run_forms import (
    PLAIN_TEXT,
    RunForm,
    beginning_of,
    first_lines,
    is_json,
    text_kind,
)
from tasks.types.tables import SUFFIXES as TABLE_SUFFIXES

#: The file type of at most `MAX_FILES_LOOKED_AT` faulty files per run is determined.
MAX_FILES_LOOKED_AT = 20
MIN_STRAY_LINES = 3
#: `RIGHT_TASK` ends the message about a run that belongs to another task type.
RIGHT_TASK = "is this the right task?"
#: If at least the share `MANY_EMPTY` of answers is empty, one warning is shown.
MANY_EMPTY = 0.1


def read_run(
    task_type: TaskType, files: Files, index: Index, options: Options, *, name: str = ""
) -> tuple[Any, list[Problem]]:
    """Return the answers of a run, and all problems of the run's files sorted by file
    and line. The answers are valid only if no problem is fatal.

    ``name`` is the name that the author gave to the run. A problem that belongs to no
    file gets the name of the run as its file name.
    """
    try:
        answers, problems = task_type.read_run(files, index, options)
    except InputRefused as refused:
        answers, problems = None, refused.problems
    rest = problems.rest() if isinstance(problems, Problems) else []
    problems = [*problems, *_iterate_encoding_warnings(files)]
    if not fatal(problems):
        problems = [*problems, *_find_empty_answer_problems(task_type, answers, index)]
    if fatal(problems):
        problems = _merge_wrong_file_problems(task_type, files, problems, index)
    return answers, in_order(
        problem if problem.file or not name else replace(problem, file=name)
        for problem in [*problems, *rest]
    )


def _iterate_encoding_warnings(files: Files) -> Iterator[Problem]:
    """Yield a warning for each file of a run that is in UTF-16 or UTF-32 according to
    its byte order mark.
    """
    for file in files[:MAX_FILES_LOOKED_AT]:
        if name := file.marked_encoding:
            message = (
                f"the file is in {name} and was read as that, by its byte order mark"
            )
            yield file.problem(message, fatal=False)


def _find_empty_answer_problems(
    task_type: TaskType, answers: Any, index: Index
) -> Iterator[Problem]:
    """Yield an error if all answers of a run are empty, or a warning if many of them
    are empty.
    """
    filled = list(task_type.filled(answers, index))
    empty = filled.count(False)
    if empty == len(filled):
        found = f": {empty:,} answers are empty or not allowed" if empty else ""
        message = f"the run answers no instance of the split{found}"
        yield Problem(message=message, expected="an answer with something in it")
    elif empty and empty >= MANY_EMPTY * len(filled):
        yield Problem(
            message=f"{empty:,} of {len(filled):,} answers are empty or not allowed",
            fatal=False,
        )


def _merge_wrong_file_problems(
    task_type: TaskType, files: Files, problems: Sequence[Problem], index: Index
) -> list[Problem]:
    """Replace all problems of a file that is not a run of the task type by one message
    about the kind of the file.
    """
    counts = Counter(problem.file for problem in problems)
    misread = {
        problem.file for problem in problems if problem.message.startswith(NOT_UTF8)
    }
    wrong = {problem.file for problem in fatal(problems)} - misread
    kinds = {}
    if form := task_type.run_form:
        for file in [file for file in files if file.shown in wrong][
            :MAX_FILES_LOOKED_AT
        ]:
            if message := _describe_wrong_file(file, form, counts[file.shown], index):
                kinds[file.shown] = file.problem(message, form.described)
    if not kinds:
        return list(problems)
    return [
        *kinds.values(),
        *(
            problem
            for problem in problems
            if problem.file and problem.file not in kinds
        ),
    ]


def _describe_wrong_file(
    file: InputFile, form: RunForm, problems: int, index: Index
) -> str:
    """Return a message about the kind of the file if the file is not a run of the task
    type. Return an empty text if the file may be a faulty run, whose problems should be
    listed one by one.
    """
    beginning = beginning_of(file)
    if not beginning:
        return ""
    if kind := binary_kind(beginning, file.suffix):
        # The parser has a better message for UTF-16 without a byte order mark.
        is_text = kind.endswith(UNMARKED)
        return "" if is_text else f"this is {kind}, not a run file"
    is_table = form.columns and file.suffix in TABLE_SUFFIXES
    is_own = form.is_own(beginning) or is_table
    if is_own or _contains_instance_ids(beginning, index):
        return ""
    others = task_types().items()
    if fitting := [
        slug
        for slug, other in others
        if other.run_form and other.run_form.fits(beginning)
    ]:
        return f"this looks like a run for {' or '.join(fitting)}; {RIGHT_TASK}"
    kind = text_kind(beginning)
    return (
        f"this looks like {kind}"
        if kind and (kind != PLAIN_TEXT or problems >= MIN_STRAY_LINES)
        else ""
    )


#: `_INDEX_KEYS_OF_IDS` lists keys under which a task's index may contain ids of instances.
#: The ids in the index are a list, keys of a mapping, or one list per data set.
_INDEX_KEYS_OF_IDS = ("instances", "passages", "datasets")


def _contains_instance_ids(beginning: bytes, index: Index) -> bool:
    """Return True if the first lines of a JSON file contain the id of an instance of
    the task. A file that contains the id of an instance is treated as a faulty run of
    the task.
    """
    if not is_json(beginning):
        return False
    names: set[str] = set()
    for key in _INDEX_KEYS_OF_IDS:
        value = index.get(key, ())
        for name in value:
            names |= set(value[name]) if key == "datasets" else {name}
    named = (
        _JSON_ID_PATTERN.search(line.decode(errors="replace"))
        for line in first_lines(beginning)
    )
    return any(one is not None and one[1] in names for one in named)


_JSON_ID_PATTERN = re.compile(r'"[\w-]*id"\s*:\s*"?([^",}]+)', re.IGNORECASE)
