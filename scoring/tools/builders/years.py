"""The year of a cited paper, from its entry in a reference list."""

from __future__ import annotations

import re

#: Digits that look like years stand in these as well.
_ADDRESSES = re.compile(
    r"https?://\S+|\bdoi:?\s*\S+|\b10\.\d{4,9}/\S+|\barxiv:\s*\S+|\b\d{4}\.\d{4,5}\b|\{\{[^{}]*\}\}",
    re.IGNORECASE,
)
_YEAR = r"(?:1[89]|20)\d\d"
_BRACKETED = re.compile(rf"[(\[]\s*({_YEAR})[a-z]?\s*[)\]]")
_BARE = re.compile(rf"(?<![\d.])({_YEAR})(?!\d|[-–]\d)")


def year_in(reference: str, *, latest: int | None) -> int | None:
    """The last year in brackets, or else the last that is printed; addresses and numbers of preprints aside.

    Nothing later than the citing paper can be the year of the cited one.
    """
    text = _ADDRESSES.sub(" ", reference)
    for pattern in (_BRACKETED, _BARE):
        years = [int(year) for year in pattern.findall(text)]
        possible = [year for year in years if latest is None or year <= latest]
        if possible:
            return possible[-1]
    return None
