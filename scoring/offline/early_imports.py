"""What a process imports before it is confined, since baselines could not do so later."""

from contextlib import suppress

with suppress(ImportError):
    import bm25s  # noqa: F401
