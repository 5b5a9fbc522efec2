"""Measures of a folder's `measures.py`, of those that ship with Citeboard: known by their digests."""

import hashlib
import sys
from types import ModuleType

#: SHA-256 of the files that are trusted: reference-verification.
TRUSTED = frozenset({"bb677d24085a7147df82ad42ae75af30b28e12192b74b96fd8b6e85f1c91de6e"})
#: What they import, and what it is called there that they are written for.
HOME, WRITTEN_FOR = "scoring.metrics", "scoring" + ".metrics"


def is_trusted(text: str) -> bool:
    return hashlib.sha256(text.encode()).hexdigest() in TRUSTED


def module_of(text: str) -> str:
    """The name of the module of a trusted file, which is run the first time."""
    assert is_trusted(text), "nothing else is run here"
    name = f"citeboard_measures_{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    if name not in sys.modules:
        module = ModuleType(name)
        exec(compile(text.replace(WRITTEN_FOR, HOME), "measures.py", "exec"), module.__dict__)  # noqa: S102
        sys.modules[name] = module
    return name
