"""What was given, the gold and the answer of single instances, kept beside a run's matrices so that a page
can show them without reading a run or gold.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from tasks.types.shown import ShownInstance

#: Characters of each text.
MAX_TEXT = 3_000
#: Of one run in all; what comes behind is not kept.
MAX_BYTES = 6_000_000
_TEXT, _ENDS = "instances", "instances_ends"


def packed_instances(instances: Iterable[ShownInstance]) -> dict[str, NDArray[Any]]:
    """As arrays: the instances one behind the other, and where each ends. Texts without an end are cut."""
    texts: list[bytes] = []
    size = 0
    for instance in instances:
        text = json.dumps(asdict(_cut(instance)), ensure_ascii=False).encode("utf-8", "replace")
        size += len(text)
        if size > MAX_BYTES:
            break
        texts.append(text)
    if not texts:
        return {}
    return {
        _TEXT: np.frombuffer(b"".join(texts), dtype=np.uint8),
        _ENDS: np.cumsum([len(text) for text in texts], dtype=np.int64),
    }


def _cut(instance: ShownInstance) -> ShownInstance:
    def short(text: str) -> str:
        return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT].rstrip()} …"

    return replace(
        instance,
        given=short(instance.given),
        gold=short(instance.gold),
        answer=short(instance.answer),
        judged=tuple((outcome, short(sentence)) for outcome, sentence in instance.judged),
    )


def load_instances(source: Path | IO[bytes]) -> dict[str, ShownInstance]:
    """By name, in their order; nothing where a run was scored before they were kept."""
    with np.load(source, allow_pickle=False) as kept:
        if _TEXT not in kept.files:
            return {}
        text, ends = kept[_TEXT].tobytes(), kept[_ENDS].tolist()
    own = (json.loads(text[begin:end]) for begin, end in zip([0, *ends[:-1]], ends, strict=True))
    return {values["name"]: _shown(values) for values in own}


def _shown(values: dict[str, Any]) -> ShownInstance:
    judged = tuple((outcome, sentence) for outcome, sentence in values.pop("judged", ()))
    return ShownInstance(**values, judged=judged)
