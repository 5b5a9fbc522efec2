"""The official scoring program of a task, which `program.json` stores with its files
and its command.

This module does not run the program, but parses its Python 3 source to find resources
that the sandbox does not provide.
"""

import ast
import importlib.util
import json
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any

from tasks.types.base import PROGRAM_METRIC_PREFIX
from tasks.types.declared.keys import TomlTable
from tasks.types.declared.own_measures import compute_measures_digest
from tasks.types.guarded.json_reader import read_json
from tasks.types.problems import Problem
from tasks.types.references import MetricRef

PROGRAM_FILE_NAME = "program.json"
#: `PROGRAM_TABLE_KEY` is the name of the table in `task.toml` that describes the official program.
#: A measure in `task.toml` selects an output column of the program by `PROGRAM_COLUMN_KEY`.
PROGRAM_TABLE_KEY, PROGRAM_COLUMN_KEY = "program", "column"
OFFICIAL_MEASURE_CLASS = "scoring.metrics.official:OfficialMeasure"
#: `OFFICIAL_NAME_SUFFIXES` contains the suffix for names of official scores in each language.
OFFICIAL_NAME_SUFFIXES = {"": "official program", "de": "offizielles Programm"}
LINES_FILE_FORMAT = "lines"
PROGRAM_FILE_FORMATS = (LINES_FILE_FORMAT, "csv", "tsv", "jsonl")
MAX_PROGRAM_FILES, MAX_PROGRAM_BYTES, MAX_PROGRAM_COLUMNS, MAX_VALUES_PER_LINE = (
    200,
    2 << 20,
    20,
    100,
)
#: `MAX_PYTHON_CHARACTERS` limits the characters of Python code in an official program.
#: Python's parser needs up to five hundred times the memory of the source text.
MAX_PYTHON_CHARACTERS = 1 << 19
_PYTHON_COMMAND_PATTERN = re.compile(r"(?:.*/)?python(\d(?:\.\d+)?)?")
COLUMN_NAME_PATTERN = re.compile(r"[\w.@+ -]{1,60}")
_GPU_USE_PATTERN = re.compile(
    r"\.cuda\(|cuda:\d|['\"]cuda['\"]|CUDA_VISIBLE_DEVICES|nvidia-smi"
)
#: `_PROCESS_MODULES` lists modules that start processes, which the sandbox forbids.
#: `_NETWORK_MODULES` lists modules that use the network, which the sandbox forbids.
_PROCESS_MODULES = frozenset({"subprocess", "multiprocessing", "pty", "concurrent"})
_NETWORK_MODULES = frozenset(
    {"socket", "requests", "urllib", "urllib3", "http", "ftplib", "smtplib", "httpx"}
)
_OS_PROCESS_FUNCTIONS = re.compile(
    r"(?:system|popen|fork|forkpty|exec\w*|spawn\w*|posix_spawnp?)"
)
_GPU_MODULES = frozenset({"cupy", "pycuda", "numba"})


@dataclass(frozen=True)
class OfficialProgram:
    """The official scoring program of a shared task. ``command`` contains the path of
    the Python script and the script's arguments.
    """

    text: str
    command: tuple[str, ...]
    files: Mapping[str, str]

    @property
    def digest(self) -> str:
        return compute_measures_digest(self.text)

    @property
    def entry(self) -> str:
        """Return the path of the Python script that the program's command runs."""
        return _find_script_path(self.command, self.files)


@dataclass(frozen=True, kw_only=True)
class ProgramInputLayout:
    """The layout of the gold and answer files that the official scoring program reads.
    ``gold`` is the name of the gold file in `input/ref`, and ``answers`` is the name of
    the answer file in `input/res`.

    If ``files`` is `lines`, each line of a file contains the values of ``width``
    instances, or one label as a one-hot vector of ``width`` numbers. If ``files`` is
    not `lines`, each file is a table with the columns ``id`` (the number of the
    instance, from 1) and ``field``.
    """

    gold: str
    answers: str
    columns: tuple[str, ...]
    files: str = LINES_FILE_FORMAT
    width: int = 1
    id: str = "id"
    field: str = "label"

    def to_json_values(self) -> dict[str, Any]:
        return {**vars(self), "columns": list(self.columns)}


def format_program_json(command: str, files: Mapping[str, str]) -> str:
    """Return the text of a `program.json` that stores the command and the files of a
    scoring program.
    """
    values = {"command": command, "files": dict(sorted(files.items()))}
    return json.dumps(values, ensure_ascii=False, indent=1) + "\n"


def is_program_json(text: str) -> bool:
    """Return True if the text is a `program.json`, and False if the text is a
    `measures.py`.
    """
    return text.lstrip().startswith("{") and not _find_program_faults(text)


@lru_cache(maxsize=32)
def parse_program_json(text: str) -> OfficialProgram:
    """Return the official scoring program from the text of a `program.json` that has
    been validated earlier.
    """
    values = read_json(text)
    words = shlex.split(values["command"])[1:]
    return OfficialProgram(text, tuple(words), values["files"])


def validate_program_json(
    text: str, shown: str, faults: list[Problem], *, parses_code: bool = True
) -> OfficialProgram | None:
    """Return the official scoring program from the text of a `program.json`. If the
    text is not a valid `program.json`, record the faults and return None.
    """
    found = _find_program_faults(text)
    if parses_code and not found:
        found = _find_syntax_faults(parse_program_json(text))
    faults += [
        Problem(file=shown, message=message, expected=expected)
        for message, expected in found
    ]
    return None if found else parse_program_json(text)


def _find_program_faults(text: str) -> list[tuple[str, str]]:
    expected = (
        '{"command": "python3 score.py $input $output", "files": {"score.py": …}}'
    )
    if len(text) > MAX_PROGRAM_BYTES:
        return [
            (f"more than {MAX_PROGRAM_BYTES >> 20} MB", "a program without its data")
        ]
    try:
        values = read_json(text)
    except (ValueError, RecursionError):
        return [("no JSON", expected)]
    if not isinstance(values, dict) or set(values) != {"command", "files"}:
        return [("another object", expected)]
    command, files = values["command"], values["files"]
    if not isinstance(command, str) or not isinstance(files, dict):
        return [("another object", expected)]
    if len(files) > MAX_PROGRAM_FILES or not all(
        isinstance(content, str) and is_plain_path(name) and "\0" not in content
        for name, content in files.items()
    ):
        return [("“files” are no texts by path", f"at most {MAX_PROGRAM_FILES} files")]
    if inside := _find_file_inside_file(files):
        return [(f"“{inside}” is a file and a folder", "other names of files")]
    if sum(map(len, _select_python_files(files).values())) > MAX_PYTHON_CHARACTERS:
        return [(f"more than {MAX_PYTHON_CHARACTERS >> 10} KB of Python", "less code")]
    return [*_find_command_faults(command, files)]


def _find_file_inside_file(files: Mapping[str, str]) -> str:
    folders = {str(folder) for name in files for folder in PurePosixPath(name).parents}
    return min(folders & files.keys(), default="")


def _select_python_files(files: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in files.items() if name.endswith(".py")}


def _find_command_faults(
    command: str, files: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    python = _PYTHON_COMMAND_PATTERN.fullmatch(words[0]) if words else None
    if python is None:
        yield f"“{command[:80]}” is another command", "python3 FILE ARGS"
        return
    if (python[1] or "").startswith("2"):
        yield f"“{command[:80]}” is Python 2", "python3 FILE ARGS"
        return
    if not _find_script_path(words[1:], files):
        yield f"“{command[:80]}” runs no file of the program", "python3 FILE ARGS"


def _find_syntax_faults(program: OfficialProgram) -> list[tuple[str, str]]:
    try:
        ast.parse(program.files[program.entry])
    except (SyntaxError, ValueError, RecursionError, MemoryError) as fault:
        reason = getattr(fault, "msg", fault)
        return [(f"{program.entry} is no Python 3: {reason}", "Python 3")]
    return []


def _find_script_path(
    words: tuple[str, ...] | list[str], files: Mapping[str, str]
) -> str:
    """Return the path of the script that the command runs. The first word after
    `python3` in the command is the path or the file name of the script.
    """
    if not words or not words[0].endswith(".py"):
        return ""
    path = re.sub(r"^(?:\$\{?program\}?|/app/program|\.)/", "", words[0])
    if path in files:
        return path
    base = PurePosixPath(path).name
    named = [name for name in files if PurePosixPath(name).name == base]
    return named[0] if len(named) == 1 else ""


def is_plain_path(name: object) -> bool:
    """Return True if the path is relative, has only common characters, and contains no
    part `.` or `..`.
    """
    return (
        isinstance(name, str)
        and 0 < len(name) <= 200
        and re.fullmatch(r"[\w .@+/-]+", name) is not None
        and all(part not in ("", ".", "..") for part in name.split("/"))
    )


def list_missing_packages(program: OfficialProgram) -> list[str]:
    """Return the packages that an official program imports and this machine does not
    have.
    """
    own = {part for name in program.files for part in _split_module_path(name)}
    names = dict.fromkeys(
        name.partition(".")[0] for name in list_imported_modules(program)
    )
    return [
        name
        for name in names
        if name not in own
        and name not in sys.stdlib_module_names
        and not _is_installed_module(name)
    ]


def _is_installed_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ValueError:
        # `find_spec` raises ValueError for a module such as `__main__` without a spec.
        return True


def _split_module_path(path: str) -> Iterator[str]:
    yield from (part.removesuffix(".py") for part in path.split("/"))


@dataclass(frozen=True)
class _ProgramUses:
    """The modules that a program's code imports, and the functions of the module `os`
    with which the code starts processes.
    """

    imports: tuple[str, ...]
    os_calls: frozenset[str]


@lru_cache(maxsize=32)
def _find_program_uses(text: str) -> _ProgramUses:
    """Parse the Python code in a `program.json` and return the imported modules and the
    process-starting functions of `os`.
    """
    imports: dict[str, None] = {}
    os_calls: set[str] = set()
    for source in _select_python_files(parse_program_json(text).files).values():
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        for node in ast.walk(tree):
            match node:
                case ast.Import(names=names):
                    imports |= dict.fromkeys(alias.name for alias in names)
                case ast.ImportFrom(module=str(module), level=0):
                    imports[module] = None
                case ast.Attribute(value=ast.Name(id="os"), attr=name):
                    os_calls.add(name)
    starting = filter(_OS_PROCESS_FUNCTIONS.fullmatch, os_calls)
    return _ProgramUses(tuple(imports), frozenset(starting))


def list_imported_modules(program: OfficialProgram) -> Sequence[str]:
    """Return the names of all modules that the program's files import."""
    return _find_program_uses(program.text).imports


def list_missing_resource_warnings(program: OfficialProgram) -> list[str]:
    """Return a warning for each resource that an official program needs and this
    machine does not provide.
    """
    names = list_imported_modules(program)
    heads = {name.partition(".")[0] for name in names}
    found = [
        f"{name} is imported and not installed here"
        for name in list_missing_packages(program)
    ]
    starting = sorted(heads & _PROCESS_MODULES)
    starting += sorted(
        f"os.{name}" for name in _find_program_uses(program.text).os_calls
    )
    if starting:
        found.append(f"it uses {', '.join(starting)}, and may start no other program")
    if speaking := sorted(heads & _NETWORK_MODULES):
        found.append(f"it imports {', '.join(speaking)}, and reaches no network")
    if heads & _GPU_MODULES or any(
        map(_GPU_USE_PATTERN.search, _select_python_files(program.files).values())
    ):
        found.append("it asks for a GPU, and gets none")
    return found


class OfficialProgramWithLayout:
    """The official scoring program in a task folder, and the layout of the program's
    input files. The method `reference` returns the metric for a column in the program's
    output.
    """

    def __init__(self, text: str, layout: ProgramInputLayout) -> None:
        self.text, self.layout = text, layout

    def reference(self, name: str, keys: TomlTable) -> MetricRef | tuple[str, str]:
        """Return the metric for an entry in a rule set, or an error message and the
        expected value.
        """
        column = keys.text(PROGRAM_COLUMN_KEY)
        is_lower = keys.read_flag("lower_is_better")
        scale = keys.number("scale", 1, least=0)
        keys.close()
        if not name.startswith(PROGRAM_METRIC_PREFIX):
            return (
                f"“{name}” is a column of the official program",
                f"{PROGRAM_METRIC_PREFIX}{name}",
            )
        if column not in self.layout.columns:
            known = ", ".join(self.layout.columns)
            return f"the official program has no column “{column}”", f"one of {known}"
        arguments = {
            "text": self.text,
            "layout": self.layout.to_json_values(),
            "column": column,
            "higher_is_better": not is_lower,
            "scale": scale or 0,
        }
        return MetricRef(name, OFFICIAL_MEASURE_CLASS, arguments)


def read_program_input_layout(
    keys: TomlTable, form: str, given: Mapping[str, Any]
) -> ProgramInputLayout | None:
    """Return the layout of the program's input files that the table [task.program] in
    `task.toml` describes. If the table [task.program] is invalid, record the faults and
    return None.
    """
    before = len(keys.faults)
    if form not in ("labels", "numbers", "text"):
        message = "tasks of labels, numbers or text"
        keys.add_problem_at_key(
            "gold", f"no program is run on the form {form}", message
        )
    if given.get("several") or given.get("any_of"):
        message = "one label for each instance"
        keys.add_problem_at_key("gold", "the program would get several labels", message)
    files = keys.choice("files", PROGRAM_FILE_FORMATS, LINES_FILE_FORMAT)
    width = keys.number("width", 1, least=1) or 1
    if (
        width > MAX_VALUES_PER_LINE
        or width != int(width)
        or (files != LINES_FILE_FORMAT and width > 1)
    ):
        message = f"a whole number up to {MAX_VALUES_PER_LINE}, of files in lines"
        keys.add_problem_at_key("width", f"“width” is {width:g}", message)
    columns = keys.texts("columns")
    for column in columns:
        if not COLUMN_NAME_PATTERN.fullmatch(column):
            keys.add_problem_at_key(
                "columns", f"“{column}” is no name of a column", "as in scores.json"
            )
    if len(columns) > MAX_PROGRAM_COLUMNS:
        keys.add_problem_at_key(
            "columns", f"{len(columns)} columns", f"at most {MAX_PROGRAM_COLUMNS}"
        )
    names = {name: keys.text(name) for name in ("gold", "answers")}
    for name, path in names.items():
        if path and not is_plain_path(path):
            keys.add_problem_at_key(
                name, f"“{path}” is no name of a file", "a name without “..”"
            )
    others = {
        name: keys.text(name, default) for name, default in _DEFAULT_TABLE_KEYS.items()
    }
    keys.close()
    if len(keys.faults) > before:
        return None
    return ProgramInputLayout(
        **names, **others, columns=columns, files=files, width=int(width)
    )


_DEFAULT_TABLE_KEYS = {"id": "id", "field": "label"}


def add_suffix_to_official_metric_names(
    rule_sets: Mapping[str, tuple[MetricRef, ...]],
    names: Mapping[str, Mapping[str, str]],
) -> dict[str, dict[str, str]]:
    """Return the display names of a task's metrics by language. Names of metrics that
    the official program computes get a suffix such as “(official program)”.
    """
    marked = {language: dict(name) for language, name in names.items()}
    columns = {
        metric.name: str(metric.arguments[PROGRAM_COLUMN_KEY])
        for metrics in rule_sets.values()
        for metric in metrics
        if metric.metric == OFFICIAL_MEASURE_CLASS
    }
    for language, mark in OFFICIAL_NAME_SUFFIXES.items() if columns else ():
        own = marked.setdefault(language, {})
        for name, column in columns.items():
            label = own.get(name) or names.get("", {}).get(name) or column
            own[name] = f"{label} ({mark})"
    return marked


def list_rule_sets_with_program_metrics(rule_sets: Mapping[str, Any]) -> frozenset[str]:
    """Return the names of the rule sets that contain a metric of the official program."""
    return frozenset(
        name
        for name, metrics in rule_sets.items()
        if any(metric.metric == OFFICIAL_MEASURE_CLASS for metric in metrics)
    )
