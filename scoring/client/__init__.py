"""Implement a client for Citeboard sites, with the class `Site(address, token)` and the
commands that connect to a site.

The client needs only the standard library.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scoring.client.library import Board, Phase, Run, Season, Site, Table

__all__ = ["Board", "Phase", "Run", "Season", "Site", "Table"]


def __getattr__(name: str) -> Any:
    """Import the library lazily, so that the commands of the client start quickly."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from scoring.client import library

    return getattr(library, name)
