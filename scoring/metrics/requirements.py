"""What a metric cannot do without besides this program, such as models, and whether it is on this machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tasks.types.unavailable import Unavailable


@dataclass(frozen=True, kw_only=True)
class Requirement:
    """``missing`` says what is not on this machine and what to do about it; empty where it is there.

    ``place`` is where it lies, ``version`` its version or the beginning of its digest.
    """

    kind: str
    name: str
    place: str = ""
    version: str = ""
    missing: str = ""

    @property
    def is_there(self) -> bool:
        return not self.missing


def looked_for(kind: str, name: str, look: Callable[[], tuple[str, str]]) -> Requirement:
    """``look`` gives place and version, or raises Unavailable; it loads nothing."""
    try:
        place, version = look()
    except Unavailable as missing:
        return Requirement(kind=kind, name=name, missing=str(missing))
    return Requirement(kind=kind, name=name, place=place, version=version)
