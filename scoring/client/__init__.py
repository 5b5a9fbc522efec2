"""A client for Citeboard sites: the class `Site(address, token)`, and the commands that
connect to a site.

Only the standard library is needed.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scoring.client.library import Board, Phase, Run, Season, Site, Table

__all__ = ["Board", "Phase", "Run", "Season", "Site", "Table"]


def __getattr__(name: str) -> Any:
    """Import the library lazily, so that commands start quickly."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from scoring.client import library

    return getattr(library, name)
