"""Whether what a season says of its licence is a licence that programs know."""

from __future__ import annotations

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

ADDRESS = "https://spdx.org/licenses/{}.html"


def spdx(licence: str) -> str | None:
    """The SPDX expression as it is written there; None for other words.

    >>> spdx("cc-by-4.0"), spdx("for research only")
    ('CC-BY-4.0', None)
    """
    try:
        return str(canonicalize_license_expression(licence))
    except InvalidLicenseExpression:
        return None


def licence_address(licence: str) -> str | None:
    """Where the text of a single licence stands; None for expressions of several and for other words."""
    known = spdx(licence)
    return ADDRESS.format(known) if known and " " not in known else None
