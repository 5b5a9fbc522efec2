"""Read the probabilities of labels that a run may state besides an answer, under the key
`probabilities`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from tasks.types.text import json_kind

FIELD = "probabilities"
#: A sum of probabilities may differ from 1 by this tolerance, because of rounding.
TOLERANCE = 0.001

Probabilities = Mapping[str, float]


class ProbabilitiesRefused(ValueError):
    """The probabilities on a line are invalid. The error contains a message and the
    expected form.
    """

    def __init__(self, message: str, expected: str) -> None:
        super().__init__(message)
        self.message, self.expected = message, expected


class LabelWithProbabilities(str):
    """A label with the run's probabilities. Comparisons of the label with texts use
    only the name of the label.

    Labels that are missing in ``probabilities`` have probability 0. ``confidence`` is
    the run's confidence in the label, or None. If ``is_left_out`` is True, confusion
    matrices exclude the instance. ``is_answer`` is True if the run answers the instance
    or abstains. ``record`` is the whole line of the run, if a measure needs the line.
    """

    __slots__ = ("confidence", "is_answer", "is_left_out", "probabilities", "record")
    probabilities: Probabilities | None
    confidence: float | None
    is_left_out: bool
    is_answer: bool
    record: Mapping[str, Any]

    def __new__(
        cls,
        label: str,
        probabilities: Probabilities | None = None,
        *,
        confidence: float | None = None,
        is_left_out: bool = False,
        is_answer: bool = True,
        record: Mapping[str, Any] | None = None,
    ) -> Self:
        label_text = super().__new__(cls, label)
        label_text.probabilities, label_text.confidence = probabilities, confidence
        label_text.is_left_out, label_text.is_answer = is_left_out, is_answer
        label_text.record = record or {}
        return label_text


def read_probabilities(
    record: Mapping[str, Any],
    labels: Sequence[str],
    label_of: Callable[[str], str | None] = str,
) -> Probabilities | None:
    """Return the probability of each label, or None if the line has no probabilities.

    The function ``label_of`` maps a spelling to a label, or to None. Raises
    ProbabilitiesRefused.
    """
    values = record.get(FIELD)
    if values is None:
        return None
    if not isinstance(values, dict):
        example = f'an object such as {{"{labels[0]}": 0.8, "{labels[-1]}": 0.2}}'
        raise ProbabilitiesRefused(f"“{FIELD}” is {json_kind(values)}", example)
    probabilities: dict[str, float] = {}
    for spelling, value in values.items():
        label = label_of(spelling)
        if label is None or label not in labels:
            message = f"“{spelling[:100]}” in “{FIELD}” is no label"
            raise ProbabilitiesRefused(message, f"one of {', '.join(labels)}")
        if label in probabilities:
            raise ProbabilitiesRefused(
                f"“{FIELD}” has {label} twice", "one probability for each label"
            )
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ProbabilitiesRefused(
                f"the probability of {label} is {json_kind(value)}", "a number"
            )
        if not 0 <= value <= 1:
            shown = (
                f"{value:.4g}"
                if isinstance(value, float)
                else "a whole number beyond 0 and 1"
            )
            raise ProbabilitiesRefused(
                f"the probability of {label} is {shown}", "a number from 0 to 1"
            )
        probabilities[label] = float(value)
    total = math.fsum(probabilities.values())
    if abs(total - 1) > TOLERANCE:
        raise ProbabilitiesRefused(
            f"“{FIELD}” sum to {total:.4g}", f"a sum of 1, to {TOLERANCE}"
        )
    return probabilities
