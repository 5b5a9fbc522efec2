"""Metrics that the official program of a task computes. The metric of an official
program is one number for a whole run, without intervals, tests or values of classes.
"""

import math
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from scoring.metrics.base import Floats, Metric, Parameters, Requirement
from scoring.metrics.official_run import (
    PROGRAM_FOLDER as FOLDER,
    place_program,
    read_program_scores,
)
from tasks.types.declared import own_measures
from tasks.types.declared.official_program import (
    LINES_FILE_FORMAT,
    MAX_VALUES_PER_LINE,
    PROGRAM_FILE_NAME,
    ProgramInputLayout,
    list_imported_modules,
    list_missing_packages,
    parse_program_json,
)
from tasks.types.forms.shapes import convert_label_to_text
from tasks.types.jsonlines import format_as_json_lines
from tasks.types.problems import Problem, SoftwareUnavailable
from tasks.types.tables import TableFormat, format_table

#: Packages of the site that official programs may import, keyed by module name.
PACKAGE_BY_MODULE = {
    "nltk": "nltk",
    "pandas": "pandas",
    "rouge_score": "rouge-score",
    "sacrebleu": "sacrebleu",
    "scipy": "scipy",
    "sklearn": "scikit-learn",
}
#: Time limit of an official program in the offline scorer, in seconds.
MAX_PROGRAM_SECONDS = 600
ProgramScores = Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class ProgramCall:
    """A call of an official program, with the files that the program reads for the gold
    and one run's answers.
    """

    text: str
    columns: tuple[str, ...]
    gold: tuple[str, bytes]
    answers: tuple[str, bytes]
    called: str = "the official program"


class ProgramFailed(own_measures.MeasureFailed):
    """The official program returned no valid numbers. The problem names
    `program.json`.
    """


def build_program_failure(message: str, expected: str = "") -> ProgramFailed:
    """Return the exception for a failed official program. The message must contain no
    output of the program.
    """
    return ProgramFailed(
        [Problem(file=PROGRAM_FILE_NAME, message=message, expected=expected)]
    )


def build_nondeterminism_failure() -> ProgramFailed:
    """Return the exception for an official program whose second execution gave other
    values than the first.
    """
    message = "the official program gives other numbers when it runs again"
    return build_program_failure(message, "the same for the same gold and answers")


def parse_program_scores(call: ProgramCall, scores: ProgramScores) -> Floats:
    """Return the numbers that the official program wrote, as an array of shape
    (columns,). Raises ProgramFailed.
    """
    if not scores:
        raise build_program_failure(
            "the official program left no numbers", "scores.json or scores.txt"
        )
    for column in call.columns:
        value = scores.get(column)
        if value is None or not math.isfinite(value):
            found = "no number" if value is None else "no finite number"
            raise build_program_failure(
                f"the official program left {found} under “{column}”"
            )
    return np.array([scores[column] for column in call.columns], dtype=np.float64)


def run_program_unconfined(call: ProgramCall) -> Floats:
    """Run the official program twice with the permissions of this process, without a
    sandbox. Raises ProgramFailed.
    """
    first, second = _run_program_once(call), _run_program_once(call)
    if not np.array_equal(first, second):
        raise build_nondeterminism_failure()
    return first


def _run_program_once(call: ProgramCall) -> Floats:
    program = parse_program_json(call.text)
    with tempfile.TemporaryDirectory(prefix="citeboard-program-") as folder:
        app = Path(folder).resolve() / "app"
        placed = place_program(
            program, app, str(app), gold=call.gold, answers=call.answers
        )
        command = [sys.executable, "-s", placed.entry, *placed.arguments]
        try:
            done = subprocess.run(
                command,
                cwd=app / FOLDER,
                env=dict(placed.variables),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=MAX_PROGRAM_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as reason:
            raise build_program_failure(
                f"the official program took more than {MAX_PROGRAM_SECONDS} s"
            ) from reason
        except OSError as reason:
            raise build_program_failure(
                "the official program could not be started"
            ) from reason
        if done.returncode != 0:
            raise build_program_failure(
                f"the official program ended with the exit code {done.returncode}"
            )
        return parse_program_scores(call, read_program_scores(app))


class OfficialMeasure(Metric):
    """A value that the official program writes under the key ``column``.

    Every matrix row contains the number of rows and the values of all columns. The
    value is defined only for the whole split, and is NaN for parts of the split and for
    classes. If the official program reads one answer per line, the value is NaN if the
    run lacks an answer. The metric has no interval and no test.
    """

    shape = "program"
    is_decomposable = False
    is_exchangeable = False
    is_valid_in_one_label = False
    has_honest_interval = False

    def __init__(
        self,
        name: str,
        rules: str,
        *,
        text: str,
        layout: Mapping[str, Any],
        column: str,
        higher_is_better: bool = True,
        scale: float = 1,
    ) -> None:
        super().__init__(name, rules)
        self.text, self.higher_is_better, self.scale = text, higher_is_better, scale
        self.layout = ProgramInputLayout(
            **{**layout, "columns": tuple(layout["columns"])}
        )
        self._place = 1 + self.layout.columns.index(column)
        self.statistic = f"official:{own_measures.compute_measures_digest(text)[:12]}"
        self.fixed = {"program": own_measures.compute_measures_digest(text)[:12]}
        self.ends = (-math.inf, math.inf)

    @cached_property
    def packages(self) -> tuple[str, ...]:  # type: ignore[override]
        """Return the installed packages that the official program imports, for the
        signature.
        """
        heads = {
            name.partition(".")[0]
            for name in list_imported_modules(parse_program_json(self.text))
        }
        return tuple(
            PACKAGE_BY_MODULE[head]
            for head in sorted(heads & PACKAGE_BY_MODULE.keys())
            if _is_package_installed(head)
        )

    def requirements(self) -> Sequence[Requirement]:
        """Return the packages that the official program imports and that are not
        installed.
        """
        return tuple(
            Requirement(kind="package", name=name, missing=_format_missing_module(name))
            for name in list_missing_packages(parse_program_json(self.text))
        )

    @property
    def parameters(self) -> Parameters:
        return self.fixed

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        """Return an array (n, 1 + columns) with the number of rows, 0 if the value is
        undefined, and the official program's numbers.
        """
        if missing := list_missing_packages(parse_program_json(self.text)):
            raise SoftwareUnavailable(_format_missing_module(missing[0]))
        stats = np.zeros((len(gold), 1 + len(self.layout.columns)))
        files = format_program_inputs(self.layout, gold, answers)
        if files is not None:
            call = ProgramCall(
                text=self.text,
                columns=self.layout.columns,
                gold=(self.layout.gold, files[0]),
                answers=(self.layout.answers, files[1]),
            )
            stats[:, 0] = len(gold)
            stats[:, 1:] = own_measures.MeasureComputation.compute(call)
        return stats

    def aggregate(self, sums: Floats) -> Floats:
        """Return NaN, because sums of rows have no meaning."""
        return np.full(sums.shape[:-1], np.nan)

    def total(self, rows: Floats) -> float:
        is_whole = len(rows) > 0 and rows[0, 0] == len(rows)
        return float(rows[0, self._place]) if is_whole else math.nan


def _is_package_installed(module: str) -> bool:
    try:
        metadata.version(PACKAGE_BY_MODULE[module])
    except metadata.PackageNotFoundError:
        return False
    return True


def _format_missing_module(module: str) -> str:
    return f"the official program imports {module}, which is not installed"


def format_program_inputs(
    layout: ProgramInputLayout, gold: Sequence[Any], answers: Sequence[Any]
) -> tuple[bytes, bytes] | None:
    """Return the contents of the gold file and the answer file, or None if the official
    program's format cannot represent the run.
    """
    sides = [list(map(_convert_for_program, side)) for side in (gold, answers)]
    if any(value is None for value in sides[0]):
        return None
    if layout.files != LINES_FILE_FORMAT:
        names = range(1, len(gold) + 1)
        return _format_instance_table(layout, names, sides[0]), _format_instance_table(
            layout, names, sides[1]
        )
    if any(value is None for value in sides[1]):
        return None
    is_vector = layout.width > 1 and all(map(_is_label, gold))
    write = _format_one_hot_lines if is_vector else _format_values_as_lines
    return write(layout, sides[0]), write(layout, sides[1])


def _is_label(value: Any) -> bool:
    return isinstance(value, str)


def _convert_for_program(value: Any) -> str | float | None:
    """Return the label, number or text that the official program reads as one answer.
    Return None for a missing answer and for a gold value with several references.
    """
    if value is None or getattr(value, "is_left_out", False):
        return None
    if getattr(value, "is_answer", True) is False:
        return None
    if isinstance(value, tuple):
        return str(value[0]) if len(value) == 1 else None
    return str(value) if isinstance(value, str) else float(value)


def _format_value(value: str | float | None) -> str:
    """Return a value of the gold or run as one line of text. Whole numbers have no
    decimal point.
    """
    text = value if isinstance(value, str) else convert_label_to_text(value)
    return re.sub(r"[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+", " ", text)


def _format_values_as_lines(
    layout: ProgramInputLayout, values: Sequence[str | float | None]
) -> bytes:
    cells = list(map(_format_value, values))
    rows = (
        cells[start : start + layout.width]
        for start in range(0, len(cells), layout.width)
    )
    return "".join(f"{' '.join(row)}\n" for row in rows).encode()


def _format_one_hot_lines(
    layout: ProgramInputLayout, values: Sequence[str | float | None]
) -> bytes:
    """Return a one-hot vector for each label, one vector per line."""
    lines = []
    for value in values:
        places = ["0"] * layout.width
        label = _format_value(value)
        # Python's `int` raises an error for numbers with thousands of digits.
        is_short = len(label) <= len(str(MAX_VALUES_PER_LINE))
        if is_short and label.isdecimal() and 1 <= int(label) <= layout.width:
            places[int(label) - 1] = "1"
        lines.append(f"{' '.join(places)}\n")
    return "".join(lines).encode()


def _format_instance_table(
    layout: ProgramInputLayout,
    names: Sequence[int],
    values: Sequence[str | float | None],
) -> bytes:
    """Return the instances with a gold or answered value as a table or as JSON lines."""
    rows = [
        {layout.id: str(name), layout.field: value}
        for name, value in zip(names, values, strict=True)
        if value is not None
    ]
    if layout.files == "jsonl":
        return format_as_json_lines(rows)
    cells = [
        {**row, layout.field: _format_value(row[layout.field]).replace("\t", " ")}
        for row in rows
    ]
    form = TableFormat(layout.files)
    return format_table(cells, (layout.id, layout.field), form).encode()
