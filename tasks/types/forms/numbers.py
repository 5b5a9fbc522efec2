"""Regression tasks, in which the answer to each instance is a number, such as a
similarity or a rating.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from statistics import fmean, median
from typing import Any

from tasks.types.base import Index
from tasks.types.forms.instances import (
    JSON_FILE_FORMATS,
    FaultRecorder,
    InstanceTask,
    get_value_at_path,
)
from tasks.types.jsonlines import AnswerForm, AnswerLine
from tasks.types.tables import RunTableColumns
from tasks.types.text import describe_json_type_or_missing

AVERAGING_FUNCTIONS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "mean": fmean,
    "median": median,
}
#: A number may differ from a multiple of the step by at most `STEP_TOLERANCE`.
STEP_TOLERANCE = 1e-9
#: Numbers above `MAX_NUMBER` are refused, because sums of their squares would overflow.
MAX_NUMBER = 1e150


@dataclass(frozen=True, kw_only=True)
class NumberTask(InstanceTask):
    """A regression task, in which answers are numbers from ``least`` to ``most``. If
    ``step`` is set, gold numbers are multiples of ``step`` above ``least``.

    The gold of an instance may be a list with the numbers of several annotators.
    ``reduce`` states whether the mean or the median of the annotators' numbers is the
    gold number. A run without a number for every instance is refused, because metrics
    have no default for a missing number.
    """

    least: float | None = None
    most: float | None = None
    step: float | None = None
    reduce: str = "mean"

    @property
    def gold_bands(self) -> tuple[str, ...]:
        """Return the names of dimensions (breakdowns of scores) that divide instances
        by the gold number.
        """
        own = (
            dimension for dimension in self.dimensions if dimension.field == self.field
        )
        return tuple(one.name for one in own if not (one.reading or one.joined))

    @property
    def example(self) -> Any:
        return 0.5 if self.least is None else self.least

    @property
    def levels(self) -> tuple[float, ...]:
        """Return all possible gold numbers, if the task defines ``least``, ``most`` and
        ``step``.
        """
        if self.least is None or self.most is None or not self.step:
            return ()
        return tuple(
            self.least + self.step * place
            for place in range(self._count_scale_steps(self.most) + 1)
        )

    def gold_of(self, record: Mapping[str, Any], fault: FaultRecorder) -> Any:
        value = get_value_at_path(record, self.field)
        values = value if isinstance(value, list) else [value]
        if not values:
            fault(f"“{self.field}” is empty", "a number, or a list of numbers")
            return None
        is_text = self.files not in JSON_FILE_FORMATS
        numbers = [
            self._parse_answer_number(value, self.field, fault, is_text=is_text)
            for value in values
        ]
        known = [number for number in numbers if number is not None]
        return (
            AVERAGING_FUNCTIONS[self.reduce](known)
            if len(known) == len(values)
            else None
        )

    def parse_answer(self, line: AnswerLine, name: str, index: Index) -> Any:
        # The numbers in a run need not be multiples of the step.
        # For example, a run may contain means over the predictions of several systems.
        return self._parse_answer_number(
            line.value.get(self.run_answer_key),
            self.run_answer_key,
            line.wrong,
            has_steps=False,
        )

    def format_gold(self, gold: Any) -> str:
        return f"{gold:.6g}"

    @property
    def columns(self) -> RunTableColumns:
        return self._make_run_table_columns(numbers=frozenset({self.run_answer_key}))

    @property
    def form(self) -> AnswerForm:
        return replace(super().form, needs_all=True)

    def _parse_answer_number(
        self,
        value: Any,
        key: str,
        fault: FaultRecorder,
        *,
        is_text: bool = False,
        has_steps: bool = True,
    ) -> float | None:
        if is_text and isinstance(value, str):
            with suppress(ValueError):
                value = float(value)
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not abs(value) < MAX_NUMBER
        ):
            fault(f"“{key}” is {describe_json_type_or_missing(value)}", "a number")
            return None
        low, high = self.least, self.most
        if (low is not None and value < low) or (high is not None and value > high):
            ends = [
                f"from {low:g}" if low is not None else "",
                f"to {high:g}" if high is not None else "",
            ]
            fault(f"“{key}” is {value:g}", f"a number {' '.join(filter(None, ends))}")
            return None
        if (
            has_steps
            and self.step
            and abs(self._count_scale_steps(value) * self.step + (low or 0) - value)
            > STEP_TOLERANCE
        ):
            fault(f"“{key}” is {value:g}", f"a number in steps of {self.step:g}")
            return None
        return float(value)

    def _count_scale_steps(self, value: float) -> int:
        return round((value - (self.least or 0)) / (self.step or 1))
