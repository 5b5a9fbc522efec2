"""A client of Citeboard's sites, by the standard library: `Site(address, token)`, and the command's half that
talks to a site.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scoring.client.library import Board, Phase, Run, Season, Site, Table

__all__ = ["Board", "Phase", "Run", "Season", "Site", "Table"]


def __getattr__(name: str) -> Any:
    """Imported when it is asked for, since the command is to begin at once."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from scoring.client import library

    return getattr(library, name)
