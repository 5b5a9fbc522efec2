"""Count equal, different and unchecked numbers while an archive is verified."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

#: Archived and recomputed values must agree to VALUE_DIGITS significant digits.
#: Interval bounds must agree to INTERVAL_DIGITS significant digits.
#: Values that a model computes must agree to MODEL_DECIMALS decimals.
VALUE_DIGITS, INTERVAL_DIGITS, MODEL_DECIMALS = 12, 10, 5


@dataclass
class VerificationReport:
    equal: int = 0
    unequal: int = 0
    #: ``differing`` contains a message for each different number or other fault.
    differing: list[str] = field(default_factory=list)
    #: ``unchecked`` maps a reason for not checking values to the number of values.
    unchecked: Counter[str] = field(default_factory=Counter)
    #: ``witnessed`` maps a package and version to the number of confirmed values.
    witnessed: Counter[str] = field(default_factory=Counter)
    #: ``unwitnessed`` maps a missing package to the number of values it could confirm.
    unwitnessed: Counter[str] = field(default_factory=Counter)
    #: ``digests`` contains names and recomputed digests of gold files.
    #: ``draws`` counts the random samples whose commitment is valid.
    digests: set[str] = field(default_factory=set)
    draws: int = 0
    receipts: int = 0
    without_receipt: int = 0
    keys: set[str] = field(default_factory=set)

    @property
    def checked(self) -> int:
        return self.equal + self.unequal

    def differs(self, line: str) -> None:
        """Report a fault of the archive that does not concern a single number."""
        if line not in self.differing:
            self.differing.append(line)

    def compare(
        self,
        place: str,
        archived: Mapping[str, Any],
        expected: Mapping[str, Any],
        *,
        is_model: bool = False,
    ) -> None:
        """Compare archived and recomputed numbers by name, where a number that only one
        mapping contains counts as different.
        """
        for name in dict.fromkeys([*archived, *expected]):
            one, other = archived.get(name), expected.get(name)
            if is_equal_number(name, one, other, is_model=is_model):
                self.equal += 1
            else:
                self.unequal += 1
                self.differing.append(
                    f"{place} {name}: the archive has {one}, computed again it is {other}"
                )

    def summary(self) -> list[str]:
        """Return the report on the archive as lines about differences, unchecked
        numbers and receipts, and a last line with the number of equal numbers.
        """
        counted = {
            **{f"not checked, {why}": count for why, count in self.unchecked.items()},
            **{
                f"the package {name} gives the same": count
                for name, count in self.witnessed.items()
            },
            **{
                f"the package {name} is not installed and witnesses nothing": count
                for name, count in self.unwitnessed.items()
            },
        }
        lines = list(self.differing)
        lines += [
            f"{text}: {count} numbers" for text, count in counted.items() if count
        ]
        lines += [f"receipts are signed by {key}" for key in sorted(self.keys)]
        if self.receipts:
            lines.append(
                f"the site has signed these numbers: {self.receipts} receipts hold"
            )
        if self.without_receipt:
            lines.append(f"no receipt: {self.without_receipt} scorings")
        lines.append(
            f"{self.equal} of {self.checked} numbers equal, {self.unchecked.total()} not checked"
        )
        return lines

    def as_dict(self) -> dict[str, Any]:
        return {
            "numbers": self.checked,
            "equal": self.equal,
            "differing": self.differing,
            "unchecked": dict(+self.unchecked),
            "witnessed": dict(self.witnessed),
            "unwitnessed": dict(self.unwitnessed),
            "digests": sorted(self.digests),
            "draws": self.draws,
            "receipts": self.receipts,
            "without_receipt": self.without_receipt,
            "keys": sorted(self.keys),
        }


def is_equal_number(
    part: str, one: object, other: object, *, is_model: bool = False
) -> bool:
    """Return True if two numbers are equal to the precision that is required for this
    kind of number.
    """
    if not isinstance(one, int | float) or not isinstance(other, int | float):
        return one is None and other is None
    if part == "n":
        return one == other
    if is_model:
        return one == other or abs(one - other) < 10.0**-MODEL_DECIMALS
    digits = INTERVAL_DIGITS if part in ("low", "high") else VALUE_DIGITS
    return math.isclose(one, other, rel_tol=10.0**-digits, abs_tol=10.0**-digits)
