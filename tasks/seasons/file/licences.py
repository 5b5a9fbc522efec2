"""Parse licences with SPDX identifiers by the Python package `packaging`."""

from django.utils.translation import gettext as _
from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression
from packaging.licenses._spdx import LICENSES

from tasks.seasons.file.tables import format_similar_name_hint

_SPDX_OPERATORS = {"AND", "OR", "WITH"}


def normalise_spdx_expression(licence: str) -> str | None:
    """Return the normalised SPDX expression of a licence, or None if the text is not an
    SPDX expression.

    >>> spdx("cc-by-4.0"), spdx("CC0 1.0"), spdx("for research only")
    ('CC-BY-4.0', 'CC0-1.0', None)
    """
    for written in (licence, "-".join(licence.split())):
        try:
            return str(canonicalize_license_expression(written))
        except InvalidLicenseExpression:
            continue
    return None


def validate_licence(text: str) -> str:
    """Return the normalised SPDX expression of a licence. A text that describes a
    licence in words is returned unchanged. Raises ValueError for an identifier that
    SPDX does not define.
    """
    words = text.split()
    known = normalise_spdx_expression(text) if words else ""
    if known is not None:
        return known
    names, joints = words[::2], set(words[1::2])
    if not joints <= _SPDX_OPERATORS:
        return text
    unknown = next(
        (name for name in names if not normalise_spdx_expression(name.strip("()"))),
        text,
    ).strip("()")
    named = {
        "name": unknown,
        "near": format_similar_name_hint(
            unknown, [row["id"] for row in LICENSES.values()]
        ),
    }
    told = _(
        "“%(name)s” is no identifier of SPDX%(near)s; one of your own is LicenseRef-NAME, or in words"
    )
    raise ValueError(told % named)
