"""Labels of sentences that gold or a run may carry: citation intents and CORWA discourse tags, in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tasks.types.records import well_formed
from tasks.types.text import json_kind

INTENT, CORWA = "intent", "corwa"
KINDS = (INTENT, CORWA)
MAX_LABEL, MAX_LABELS = 100, 10_000

#: By kind one label for each sentence; a kind that is not given is not there.
Labels = Mapping[str, tuple[str, ...]]


def read_labels(value: Any) -> Labels:
    """What stands under ``labels`` and has no faults."""
    return {kind: tuple(map(well_formed, own)) for kind, own in (value or {}).items()}


def label_faults(value: Any) -> Iterator[tuple[str, str]]:
    """What was found and what was expected, for each fault of what stands under ``labels``."""
    if value is None:
        return
    expected = f"an object with lists of texts under {' and '.join(f'“{kind}”' for kind in KINDS)}"
    if not isinstance(value, dict):
        yield f"“labels” is {json_kind(value)}", expected
        return
    for kind, own in value.items():
        if kind not in KINDS:
            yield f"“labels” has “{kind[:MAX_LABEL]}”", expected
        elif not isinstance(own, list) or not all(isinstance(label, str) for label in own):
            yield f"the {kind} labels are {json_kind(own)}, not all of it texts", expected
        elif len(own) > MAX_LABELS:
            yield f"{len(own):,} {kind} labels", f"at most {MAX_LABELS:,}"
        elif any(len(label) > MAX_LABEL for label in own):
            yield f"a {kind} label of more than {MAX_LABEL} characters", "short names"
