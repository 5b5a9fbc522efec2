"""Create the folders, variables and files that an official program expects, and read
the scores that the program writes.

Codabench uses `/app/program`, `/app/input/ref`, `/app/input/res` and `/app/output`.
CodaLab passes these four folders as environment variables. The sandbox has no folder
`/app`. String literals of the official program that start with `/app` are therefore
rewritten to a folder of the sandbox.
"""

import ast
import math
import os
import re
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.types.declared.official_program import OfficialProgram
from tasks.types.guarded.json_reader import read_json

#: Folders of an official program below the folder that replaces `/app`.
PROGRAM_FOLDER, INPUT_FOLDER, OUTPUT_FOLDER = "program", "input", "output"
REFERENCE_FOLDER, RESULT_FOLDER = f"{INPUT_FOLDER}/ref", f"{INPUT_FOLDER}/res"
#: Codabench reads `scores.json`; both platforms read `scores.txt`.
SCORES_JSON_FILE, SCORES_TEXT_FILE = "scores.json", "scores.txt"
MAX_SCORES_FILE_BYTES = 1 << 20
MAX_ABSOLUTE_SCORE = 1e308
PROGRAM_FOLDERS = (PROGRAM_FOLDER, INPUT_FOLDER, OUTPUT_FOLDER, "shared", "tmp")
_APP_FOLDER_PATTERN = re.compile(r"\A/app(?=/|\Z)")
_NAME_VALUE_PATTERN = re.compile(
    r"[ \t]*([^:=\n]{1,80}?)[ \t]*[:=][ \t]*(\S{1,60})[ \t]*"
)
_SHELL_VARIABLE_PATTERN = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


@dataclass(frozen=True)
class PlacedProgram:
    """The entry file, arguments and environment variables of an official program whose
    files and inputs have been written.
    """

    entry: str
    arguments: Sequence[str]
    variables: Mapping[str, str]


def place_program(
    program: OfficialProgram,
    app: Path,
    seen_as: str,
    *,
    gold: tuple[str, bytes],
    answers: tuple[str, bytes],
) -> PlacedProgram:
    """Write official program, gold and answers to the new folder ``app``. ``seen_as``
    is the path of the folder ``app`` inside a sandbox.
    """
    for name in PROGRAM_FOLDERS:
        (app / name).mkdir(parents=True)
    for folder, (name, content) in ((REFERENCE_FOLDER, gold), (RESULT_FOLDER, answers)):
        path = app / folder / name
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
    for name, text in program.files.items():
        path = app / PROGRAM_FOLDER / name
        path.parent.mkdir(parents=True, exist_ok=True)
        own = replace_app_folder(text, seen_as) if name.endswith(".py") else text
        path.write_text(own, encoding="utf-8")
    variables = {name: f"{seen_as}/{name}" for name in PROGRAM_FOLDERS}
    variables["hidden"] = f"{seen_as}/{REFERENCE_FOLDER}"
    variables["submission"] = f"{seen_as}/{RESULT_FOLDER}"

    def replace_variables(word: str) -> str:
        word = _SHELL_VARIABLE_PATTERN.sub(
            lambda found: variables.get(found[1] or found[2], ""), word
        )
        return _APP_FOLDER_PATTERN.sub(lambda _: seen_as, word)

    return PlacedProgram(
        entry=f"{seen_as}/{PROGRAM_FOLDER}/{program.entry}",
        arguments=[replace_variables(word) for word in program.command[1:]],
        variables=variables | _build_environment_variables(variables["tmp"]),
    )


def replace_app_folder(source: str, app: str) -> str:
    """Return Python source in which ``app`` replaces `/app` at the start of string
    literals.
    """
    if "/app" not in source:
        return source
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = _APP_FOLDER_PATTERN.sub(lambda _: app, node.value)
    return ast.unparse(tree)


def _build_environment_variables(temporary: str) -> dict[str, str]:
    return {
        "HOME": temporary,
        "LANG": "C.UTF-8",
        "MPLCONFIGDIR": temporary,
        "PATH": os.defpath,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "TMPDIR": temporary,
    }


def read_program_scores(app: Path) -> dict[str, float]:
    """Return the numbers that the official program wrote, keyed by name, or an empty
    mapping if the program wrote no valid file.
    """
    output = app / OUTPUT_FOLDER
    if text := _read_regular_file(output / SCORES_JSON_FILE):
        try:
            values = read_json(text, constant=float)
        except (ValueError, RecursionError):
            values = None
        if isinstance(values, dict):
            return select_finite_numbers(values)
    found: dict[str, float] = {}
    for line in (_read_regular_file(output / SCORES_TEXT_FILE) or "").splitlines()[
        :1000
    ]:
        if pair := _NAME_VALUE_PATTERN.fullmatch(line):
            try:
                found[pair[1].strip()] = float(pair[2])
            except ValueError:
                continue
    return found


def select_finite_numbers(values: Mapping[str, Any]) -> dict[str, float]:
    """Return the numbers among the values that the official program wrote. Infinite
    values become NaN.
    """
    return {
        str(name): float(value) if abs(value) < MAX_ABSOLUTE_SCORE else math.nan
        for name, value in values.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }


def _read_regular_file(path: Path) -> str:
    """Return the text of a regular file, or an empty text for other paths. Symbolic
    links are not followed.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return ""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return ""
    with os.fdopen(descriptor, "rb") as file:
        return file.read(MAX_SCORES_FILE_BYTES).decode("utf-8", "replace")
