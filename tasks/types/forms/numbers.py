"""A number for each instance, such as a similarity or a rating: regression."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from statistics import fmean, median
from typing import Any

from tasks.types.base import Index
from tasks.types.forms.instances import JSON_FORMS, Fault, InstanceTask, at_path
from tasks.types.jsonlines import AnswerForm, Line
from tasks.types.tables import Columns
from tasks.types.text import kind_found

REDUCE: Mapping[str, Callable[[Sequence[float]], float]] = {
    "mean": fmean,
    "median": median,
}
#: How far from a step a number may be, for what was rounded.
ROUNDING = 1e-9
#: Numbers of whose squares no computer can hold the sum are none.
LARGEST = 1e150


@dataclass(frozen=True, kw_only=True)
class NumberTask(InstanceTask):
    """A number from ``least`` to ``most``, in whole ``steps`` from the least where there are any. The gold
    may be a list of what annotators gave, which ``reduce`` makes one number. A run without a number for some
    instance is refused: nothing stands in for one.
    """

    least: float | None = None
    most: float | None = None
    step: float | None = None
    reduce: str = "mean"

    @property
    def gold_bands(self) -> tuple[str, ...]:
        """Return the dimensions whose classes are bands of the gold."""
        own = (one for one in self.dimensions if one.field == self.field)
        return tuple(one.name for one in own if not (one.reading or one.joined))

    @property
    def example(self) -> Any:
        return 0.5 if self.least is None else self.least

    @property
    def levels(self) -> tuple[float, ...]:
        """Every value, where there are steps between two ends."""
        if self.least is None or self.most is None or not self.step:
            return ()
        return tuple(
            self.least + self.step * place
            for place in range(self._steps(self.most) + 1)
        )

    def gold_of(self, record: Mapping[str, Any], fault: Fault) -> Any:
        value = at_path(record, self.field)
        values = value if isinstance(value, list) else [value]
        if not values:
            fault(f"“{self.field}” is empty", "a number, or a list of numbers")
            return None
        is_text = self.files not in JSON_FORMS
        numbers = [
            self._number(own, self.field, fault, is_text=is_text) for own in values
        ]
        known = [number for number in numbers if number is not None]
        return REDUCE[self.reduce](known) if len(known) == len(values) else None

    def answer_of(self, line: Line, name: str, index: Index) -> Any:
        # A run may say more than the steps, as a mean of several systems does.
        return self._number(
            line.value.get(self.answer_key),
            self.answer_key,
            line.wrong,
            has_steps=False,
        )

    @property
    def columns(self) -> Columns:
        return self._columns(numbers=frozenset({self.answer_key}))

    @property
    def form(self) -> AnswerForm:
        return replace(super().form, needs_all=True)

    def _number(
        self,
        value: Any,
        key: str,
        fault: Fault,
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
            or not abs(value) < LARGEST
        ):
            fault(f"“{key}” is {kind_found(value)}", "a number")
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
            and abs(self._steps(value) * self.step + (low or 0) - value) > ROUNDING
        ):
            fault(f"“{key}” is {value:g}", f"a number in steps of {self.step:g}")
            return None
        return float(value)

    def _steps(self, value: float) -> int:
        return round((value - (self.least or 0)) / (self.step or 1))
