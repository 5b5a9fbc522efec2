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
from tasks.types.guarded.encodings import (
    NOT_UTF8_MESSAGE,
    WITHOUT_BYTE_ORDER_MARK,
    detect_kind_of_binary_file,
)
from tasks.types.problems import (
    InputRefused,
    Problem,
    ProblemList,
    select_fatal_problems,
    sort_problems,
)
from tasks.types.registry import task_types
from tasks.types.run_forms import (
    PLAIN_TEXT_KIND,
    RunFormatSignature,
    begins_like_json,
    detect_kind_of_text,
    read_first_bytes,
    split_nonempty_first_lines,
)
from tasks.types.tables import TABLE_FORMATS_BY_SUFFIX as TABLE_SUFFIXES

#: The file type of at most `MAX_FILES_INSPECTED` faulty files per run is determined.
MAX_FILES_INSPECTED = 20
MIN_PROBLEMS_OF_WRONG_FILE = 3
#: `WRONG_TASK_MESSAGE_END` ends the message about a run that belongs to another task type.
WRONG_TASK_MESSAGE_END = "is this the right task?"
#: If at least the share `MIN_SHARE_OF_EMPTY_ANSWERS` of answers is empty, one warning is shown.
MIN_SHARE_OF_EMPTY_ANSWERS = 0.1


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
    rest = problems.rest() if isinstance(problems, ProblemList) else []
    problems = [*problems, *_iterate_encoding_warnings(files)]
    if not select_fatal_problems(problems):
        problems = [*problems, *_find_empty_answer_problems(task_type, answers, index)]
    if select_fatal_problems(problems):
        problems = _merge_wrong_file_problems(task_type, files, problems, index)
    return answers, sort_problems(
        problem if problem.file or not name else replace(problem, file=name)
        for problem in [*problems, *rest]
    )


def _iterate_encoding_warnings(files: Files) -> Iterator[Problem]:
    """Yield a warning for each file of a run that is in UTF-16 or UTF-32 according to
    its byte order mark.
    """
    for file in files[:MAX_FILES_INSPECTED]:
        if name := file.encoding_by_byte_order_mark:
            message = (
                f"the file is in {name} and was read as that, by its byte order mark"
            )
            yield file.make_problem(message, fatal=False)


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
    elif empty and empty >= MIN_SHARE_OF_EMPTY_ANSWERS * len(filled):
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
        problem.file
        for problem in problems
        if problem.message.startswith(NOT_UTF8_MESSAGE)
    }
    wrong = {problem.file for problem in select_fatal_problems(problems)} - misread
    kinds = {}
    if form := task_type.run_form:
        for file in [file for file in files if file.shown in wrong][
            :MAX_FILES_INSPECTED
        ]:
            if message := _describe_wrong_file(file, form, counts[file.shown], index):
                kinds[file.shown] = file.make_problem(message, form.described)
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
    file: InputFile, form: RunFormatSignature, problems: int, index: Index
) -> str:
    """Return a message about the kind of the file if the file is not a run of the task
    type. Return an empty text if the file may be a faulty run, whose problems should be
    listed one by one.
    """
    beginning = read_first_bytes(file)
    if not beginning:
        return ""
    if kind := detect_kind_of_binary_file(beginning, file.suffix):
        # The parser has a better message for UTF-16 without a byte order mark.
        is_text = kind.endswith(WITHOUT_BYTE_ORDER_MARK)
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
        return f"this looks like a run for {' or '.join(fitting)}; {WRONG_TASK_MESSAGE_END}"
    kind = detect_kind_of_text(beginning)
    return (
        f"this looks like {kind}"
        if kind and (kind != PLAIN_TEXT_KIND or problems >= MIN_PROBLEMS_OF_WRONG_FILE)
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
    if not begins_like_json(beginning):
        return False
    names: set[str] = set()
    for key in _INDEX_KEYS_OF_IDS:
        value = index.get(key, ())
        for name in value:
            names |= set(value[name]) if key == "datasets" else {name}
    named = (
        _JSON_ID_PATTERN.search(line.decode(errors="replace"))
        for line in split_nonempty_first_lines(beginning)
    )
    return any(one is not None and one[1] in names for one in named)


_JSON_ID_PATTERN = re.compile(r'"[\w-]*id"\s*:\s*"?([^",}]+)', re.IGNORECASE)
