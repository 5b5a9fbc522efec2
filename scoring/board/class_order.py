"""The order of classes: numbers, years and ranges ascend, others stand as the gold has them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from scoring.stats.breakdown import NO_CLASS

#: `2014`, `20 to 49`, `4 or more`, `fewer than 50 words`, `<5`; but no name that holds digits, `C90-2039`.
_NUMBERED = re.compile(r"(?:[^\W\d_]+ )*[<>≤≥]?\s?\d+(?:\.\d+)?(?![\d.]*\w*-\w*[A-Za-z])")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_BELOW = re.compile(r"(?:fewer|less|under|below|up to)\b|[<≤]", re.IGNORECASE)


def natural_order(labels: Sequence[str]) -> list[str]:
    """The same labels; what belongs to no class stands last."""
    named = [label for label in labels if label != NO_CLASS]
    rest = [label for label in labels if label == NO_CLASS]
    if all(map(_NUMBERED.match, named)):
        named.sort(
            key=lambda label: ([float(number) for number in _NUMBER.findall(label)], not _BELOW.match(label))
        )
    return named + rest
