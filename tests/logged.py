"""What the site writes to its log, as its own handler writes it."""

import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager

from citeboard.core.logs import JsonLineFormatter


@contextmanager
def written(*, form: str = "text") -> Iterator[io.StringIO]:
    """All that is logged in this block, by the handler that a deployment has."""
    [handler] = [
        found for found in logging.getLogger().handlers if found.name == "stderr"
    ]
    said, formatter = io.StringIO(), handler.formatter
    before = handler.setStream(said)
    if form == "json":
        handler.setFormatter(JsonLineFormatter())
    try:
        yield said
    finally:
        handler.setStream(before)
        handler.setFormatter(formatter)
