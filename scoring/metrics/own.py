"""Metrics that organisers define in the `measures.py` of a task folder.

Each class of `measures.py` defines one metric. Attributes of a class in `measures.py`
are read when the task is declared. Methods of a class in `measures.py` run only through
the function set by `own_measures.set_measure_computation`. By default no code runs. Each method call is
executed twice with a newly loaded file, and both executions must return the same
values.
"""

import pickle
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

# Uploaded `measures.py` files may use these modules.
# A sandboxed process cannot import modules after its start.
import numpy.linalg
import numpy.random

from scoring.metrics.base import Floats, Metric, WeightedMetric
from scoring.metrics.official import ProgramCall, run_program_unconfined
from tasks.types.base import MeasureCredits
from tasks.types.declared import own_measures

#: A sandboxed process reads the pickled call and writes values under these file names.
CALL_FILE, VALUES_FILE = "call", "values"
SANDBOXED_FUNCTION = "scoring.metrics.own:answer"


@dataclass(frozen=True, kw_only=True)
class MeasureCall:
    """A method call. The class ``called`` of `measures.py` is instantiated as the
    metric ``name`` of the rule set.
    """

    text: str
    called: str
    name: str
    rules: str
    given: Mapping[str, Any]
    method: str
    arguments: tuple[Any, ...]


@contextmanager
def trust_measures_code() -> Iterator[None]:
    """Allow the code of `measures.py` files to run in this process while the context
    manager is active.
    """
    before = own_measures.MeasureComputation.compute
    own_measures.set_measure_computation(compute_twice)
    try:
        yield
    finally:
        own_measures.set_measure_computation(before)


def compute_twice(call: MeasureCall | ProgramCall) -> Floats:
    """Execute a method of the organisers' code twice, and raise MeasureFailed if the
    values differ. Raises MeasureFailed.
    """
    if isinstance(call, ProgramCall):
        return run_program_unconfined(call)
    try:
        first, second = _call_measure_method(call), _call_measure_method(call)
    except MemoryError:
        raise
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [
            frame.lineno
            for frame in frames
            if frame.filename == own_measures.MEASURES_FILE_NAME
        ]
        line = lines[-1] if lines else getattr(error, "lineno", None)
        raise _build_crash_error(call, type(error).__name__, line) from error
    if not np.array_equal(first, second, equal_nan=True):
        raise _build_nondeterminism_error(call)
    return first


def _call_measure_method(call: MeasureCall) -> Floats:
    name = f"citeboard_measures_{own_measures.compute_measures_digest(call.text)[:16]}"
    try:
        kind = getattr(own_measures.execute_as_module(call.text, name), call.called)
        given = {"given": call.given} if "given" in signature(kind).parameters else {}
        metric = kind(call.name, call.rules, **given)
        return np.array(getattr(metric, call.method)(*call.arguments), dtype=np.float64)
    finally:
        sys.modules.pop(name, None)


def _build_crash_error(
    call: MeasureCall, kind: str, line: int | None
) -> own_measures.MeasureFailed:
    return own_measures.make_measure_failure(
        f"“{call.called}” ended in {kind} when {call.method} was computed", line=line
    )


def _build_nondeterminism_error(call: MeasureCall) -> own_measures.MeasureFailed:
    message = f"{call.method} of “{call.called}” gives other numbers when it is computed again"
    return own_measures.make_measure_failure(
        message, "the same for the same gold and answers"
    )


def answer(_arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Execute the pickled method call that is stored in the current folder."""
    call: MeasureCall = pickle.loads(Path(CALL_FILE).read_bytes())  # noqa: S301  (our own process wrote it)
    try:
        values = compute_twice(call)
    except own_measures.MeasureFailed as reason:
        cause, [problem] = reason.__cause__, reason.problems
        return {"failed": type(cause).__name__ if cause else "", "line": problem.line}
    Path(VALUES_FILE).write_bytes(values.tobytes())
    return {"shape": list(values.shape)}


def read_sandboxed_values(
    call: MeasureCall, told: Any, file: Callable[[str], Path]
) -> Floats:
    """Validate and return the values that a sandboxed process computed for a method
    call. Raises MeasureFailed.
    """
    match told:
        case {"shape": [*shape]} if all(
            isinstance(size, int) and size >= 0 for size in shape
        ):
            try:
                return np.frombuffer(
                    file(VALUES_FILE).read_bytes(), dtype=np.float64
                ).reshape(shape)
            except (OSError, ValueError) as fault:
                raise own_measures.make_measure_failure(
                    f"“{call.called}” left no numbers"
                ) from fault
        case {"failed": "", "line": None}:
            raise _build_nondeterminism_error(call)
        case {"failed": str() as kind, "line": int() | None as line} if re.fullmatch(
            r"\w{1,60}", kind
        ):
            raise _build_crash_error(call, kind, line)
    raise own_measures.make_measure_failure(f"“{call.called}” ended without an answer")


class OwnMeasure(Metric):
    """A metric that the task's organisers wrote."""

    def __init__(
        self,
        name: str,
        rules: str,
        *,
        given: Mapping[str, Any],
        text: str,
        called: str,
        facts: Mapping[str, Any],
    ) -> None:
        super().__init__(name, rules)
        self.statistic = (
            f"own:{own_measures.compute_measures_digest(text)[:12]}:{called}"
        )
        self._of: dict[str, Any] = {
            "text": text,
            "called": called,
            "name": name,
            "rules": rules,
        }
        self._of["given"] = given
        for fact, value in facts.items():
            setattr(self, fact, value)

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        stats = self._compute_method("instance_stats", list(gold), list(answers))
        if stats.ndim != 2 or len(stats) != len(gold) or not stats.shape[1]:
            wanted = f"a row for each of {len(gold)} instances"
            raise self._build_wrong_result_error(
                "instance_stats", f"{_format_shape(stats.shape)} numbers", wanted
            )
        if not np.isfinite(stats).all():
            raise self._build_wrong_result_error(
                "instance_stats", "what is no finite number", "finite numbers"
            )
        for column in getattr(self, own_measures.CARRIERS_ATTRIBUTE, None) or ():
            if not (isinstance(column, int) and 0 <= column < stats.shape[1]):
                found = f"{stats.shape[1]} columns, and `carriers` names {column!r}"
                raise self._build_wrong_result_error(
                    "instance_stats", found, "the numbers of columns"
                )
        return stats

    def marks(
        self, gold: Sequence[Any], answers: Sequence[Any]
    ) -> Sequence[MeasureCredits | None]:
        """Return the credits that the organisers' method `marks` computes, or no
        credits if the class lacks this method.
        """
        if not getattr(self, own_measures.HAS_MARKS_ATTRIBUTE, False):
            return super().marks(gold, answers)
        rows = self._compute_method("marks", list(gold), list(answers))
        if rows.ndim != 2 or len(rows) != len(gold):
            wanted = f"a row for each of {len(gold)} instances"
            raise self._build_wrong_result_error(
                "marks", f"{_format_shape(rows.shape)} numbers", wanted
            )
        if ((rows < 0) | (rows > 1)).any():
            raise self._build_wrong_result_error(
                "marks", "another number", "0 to 1, or NaN for no mark"
            )
        return [
            MeasureCredits(
                (), tuple(None if np.isnan(one) else float(one) for one in row)
            )
            for row in rows
        ]

    def aggregate(self, sums: Floats) -> Floats:
        return self._compute_values_of_shape("aggregate", sums.shape[:-1], sums)

    def _compute_values_of_shape(
        self, method: str, shape: tuple[int, ...], *arguments: Floats
    ) -> Floats:
        values = self._compute_method(method, *arguments)
        if values.shape != shape:
            raise self._build_wrong_result_error(
                method, f"{_format_shape(values.shape)} values", _format_shape(shape)
            )
        if np.isinf(values).any():
            raise self._build_wrong_result_error(
                method,
                "an infinite value",
                "a finite one, or NaN where it is undefined",
            )
        return values

    def _compute_method(self, method: str, *arguments: Any) -> Floats:
        numbers: Floats = own_measures.MeasureComputation.compute(
            MeasureCall(**self._of, method=method, arguments=arguments)
        )
        return numbers

    def _build_wrong_result_error(
        self, method: str, what: str, expected: str
    ) -> own_measures.MeasureFailed:
        return own_measures.make_measure_failure(
            f"{method} of “{self._of['called']}” gives {what}", expected
        )


class OwnWeightedMeasure(OwnMeasure, WeightedMetric):
    """A metric that the task's organisers wrote, computed from weighted rows instead of
    sums.
    """

    aggregate = WeightedMetric.aggregate

    def value(self, rows: Floats, weights: Floats) -> Floats:
        return self._compute_values_of_shape("value", weights.shape[:-1], rows, weights)


def _format_shape(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape)) or "1"
