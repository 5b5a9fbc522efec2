"""Read the probabilities of labels that a run may state besides an answer, under the
key `probabilities`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from tasks.types.text import describe_json_type

PROBABILITIES_FIELD = "probabilities"
#: Because of rounding, the sum of the probabilities may differ from 1 by `SUM_TOLERANCE`.
SUM_TOLERANCE = 0.001

ProbabilityByLabel = Mapping[str, float]


class InvalidProbabilities(ValueError):
    """The error for invalid probabilities on a line of a run. The error contains a
    message, and a description of valid probabilities.
    """

    def __init__(self, message: str, expected: str) -> None:
        super().__init__(message)
        self.message, self.expected = message, expected


class LabelWithProbabilities(str):
    """A label that a run predicts, with the probabilities that the run states. In
    comparisons with texts, the object is equal to the name of its label.

    A label that ``probabilities`` does not contain has the probability 0.
    ``confidence`` is the run's confidence that its label is right, or None if the run
    states no confidence. If ``is_left_out`` is True, confusion matrices do not count
    the instance, because the rule set leaves unanswered instances out. ``is_answer`` is
    False if the label only replaces a missing answer, so that the instance counts as
    unanswered. ``record`` contains all fields on the line of the run, or is empty if no
    metric needs them.
    """

    __slots__ = ("confidence", "is_answer", "is_left_out", "probabilities", "record")
    probabilities: ProbabilityByLabel | None
    confidence: float | None
    is_left_out: bool
    is_answer: bool
    record: Mapping[str, Any]

    def __new__(
        cls,
        label: str,
        probabilities: ProbabilityByLabel | None = None,
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


def parse_label_probabilities(
    record: Mapping[str, Any],
    labels: Sequence[str],
    label_of: Callable[[str], str | None] = str,
) -> ProbabilityByLabel | None:
    """Return a mapping from label to probability, or None if the record contains no
    probabilities.

    The function ``label_of`` maps the spelling of a label in the run to the label, or
    to None if the spelling is unknown. Raises InvalidProbabilities.
    """
    values = record.get(PROBABILITIES_FIELD)
    if values is None:
        return None
    if not isinstance(values, dict):
        example = f'an object such as {{"{labels[0]}": 0.8, "{labels[-1]}": 0.2}}'
        raise InvalidProbabilities(
            f"“{PROBABILITIES_FIELD}” is {describe_json_type(values)}", example
        )
    probabilities: dict[str, float] = {}
    for spelling, value in values.items():
        label = label_of(spelling)
        if label is None or label not in labels:
            message = f"“{spelling[:100]}” in “{PROBABILITIES_FIELD}” is no label"
            raise InvalidProbabilities(message, f"one of {', '.join(labels)}")
        if label in probabilities:
            raise InvalidProbabilities(
                f"“{PROBABILITIES_FIELD}” has {label} twice",
                "one probability for each label",
            )
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InvalidProbabilities(
                f"the probability of {label} is {describe_json_type(value)}", "a number"
            )
        if not 0 <= value <= 1:
            shown = (
                f"{value:.4g}"
                if isinstance(value, float)
                else "a whole number beyond 0 and 1"
            )
            raise InvalidProbabilities(
                f"the probability of {label} is {shown}", "a number from 0 to 1"
            )
        probabilities[label] = float(value)
    total = math.fsum(probabilities.values())
    if abs(total - 1) > SUM_TOLERANCE:
        raise InvalidProbabilities(
            f"“{PROBABILITIES_FIELD}” sum to {total:.4g}",
            f"a sum of 1, to {SUM_TOLERANCE}",
        )
    return probabilities
