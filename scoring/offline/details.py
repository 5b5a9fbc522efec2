"""How a run came to its numbers, unit by unit: what the metrics tell of it, kept beside the matrices and read
one at a time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from scoring.metrics import Metric

Details = Mapping[str, Mapping[str, Any]]
_TEXT, _ENDS = "details", "details_ends"


def details_of(metrics: Sequence[Metric], answers: Sequence[Any]) -> dict[str, dict[str, Any]]:
    """By unit what the metrics tell, each statistic once."""
    found: dict[str, dict[str, Any]] = {}
    for metric in {metric.statistic: metric for metric in reversed(metrics)}.values():
        for unit, own in metric.details(answers).items():
            found.setdefault(unit, {}).update(own)
    return found


def packed(details: Details, unit_names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """As arrays: the units' texts one behind the other, and where each ends.

    Nothing where there are no details.
    """
    if not details:
        return {}
    texts = [
        json.dumps(details[name], ensure_ascii=False).encode() if name in details else b""
        for name in unit_names
    ]
    return {
        _TEXT: np.frombuffer(b"".join(texts), dtype=np.uint8),
        _ENDS: np.cumsum([len(text) for text in texts], dtype=np.int64),
    }


def load_page(
    source: Path | IO[bytes], start: int, count: int
) -> tuple[list[tuple[str, dict[str, Any]]], int]:
    """So many units of which something is told, in their order from ``start``; and how many there are."""
    with np.load(source, allow_pickle=False) as kept:
        if _TEXT not in kept.files:
            return [], 0
        names, ends = json.loads(kept["texts"].tobytes())["unit_names"], kept[_ENDS].tolist()
        begins = [0, *ends[:-1]]
        places = [place for place in range(len(names)) if begins[place] < ends[place]]
        texts = kept[_TEXT]
        chosen = places[start : start + count]
        return [
            (names[place], json.loads(texts[begins[place] : ends[place]].tobytes())) for place in chosen
        ], len(places)


def described_units(source: Path | IO[bytes]) -> list[str]:
    """The units of which something is told, in their order."""
    with np.load(source, allow_pickle=False) as kept:
        if _TEXT not in kept.files:
            return []
        names, ends = json.loads(kept["texts"].tobytes())["unit_names"], kept[_ENDS].tolist()
        return [name for name, begin, end in zip(names, [0, *ends[:-1]], ends, strict=True) if begin < end]


def load_details(source: Path | IO[bytes], unit: str) -> dict[str, Any] | None:
    """What is told of one unit, from a file of statistics; None where nothing is."""
    with np.load(source, allow_pickle=False) as kept:
        names = json.loads(kept["texts"].tobytes())["unit_names"]
        if _TEXT not in kept.files or unit not in names:
            return None
        place, ends = names.index(unit), kept[_ENDS]
        text = kept[_TEXT][ends[place - 1] if place else 0 : ends[place]].tobytes()
    found: dict[str, Any] | None = json.loads(text) if text else None
    return found
