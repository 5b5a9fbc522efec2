"""Which version of this program runs."""

from __future__ import annotations

#: What a checkout says, which is of no version yet.
UNRELEASED = "unreleased"


def installed_version() -> str:
    from importlib import metadata

    try:
        return metadata.version("citeboard")
    except metadata.PackageNotFoundError:
        return UNRELEASED
