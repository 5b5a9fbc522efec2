"""How a run came to its numbers, unit by unit: what the metrics tell of it, kept beside the matrices and read
one at a time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib.format import read_array_header_1_0, read_magic
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray

from scoring.metrics import Metric

Details = Mapping[str, Mapping[str, Any]]
_TEXT, _ENDS = "details", "details_ends"
#: How the texts of a file of statistics begin.
_NAMES = '{"unit_names": '
_DECODER = json.JSONDecoder()


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
        told = _told(kept)
        chosen = told[start : start + count]
        texts = _read(kept, [(begin, end) for _, begin, end in chosen])
        return [(name, json.loads(text)) for (name, _, _), text in zip(chosen, texts, strict=True)], len(told)


def described_units(source: Path | IO[bytes]) -> list[str]:
    """The units of which something is told, in their order."""
    with np.load(source, allow_pickle=False) as kept:
        return [name for name, _, _ in _told(kept)]


def load_details(source: Path | IO[bytes], unit: str) -> dict[str, Any] | None:
    """What is told of one unit, from a file of statistics; None where nothing is."""
    with np.load(source, allow_pickle=False) as kept:
        parts = [(begin, end) for name, begin, end in _told(kept) if name == unit]
        return next(map(json.loads, _read(kept, parts)), None)


def _told(kept: NpzFile) -> list[tuple[str, int, int]]:
    """The units of which something is told, each with where its text begins and ends."""
    if _TEXT not in kept.files:
        return []
    ends = kept[_ENDS].tolist()
    places = zip(_unit_names(kept), [0, *ends[:-1]], ends, strict=True)
    return [(name, begin, end) for name, begin, end in places if begin < end]


def _unit_names(kept: NpzFile) -> list[str]:
    """They come first among the texts; behind them are the classes of every row, which are not decoded."""
    names: list[str] = _DECODER.raw_decode(kept["texts"].tobytes().decode(), len(_NAMES))[0]
    return names


def _read(kept: NpzFile, parts: Sequence[tuple[int, int]]) -> Iterator[bytes]:
    """These parts of the texts, in their order. Nothing behind the last of them is unpacked."""
    if not parts:
        return
    assert kept.zip is not None, "it is open"
    with kept.zip.open(f"{_TEXT}.npy") as texts:
        read_magic(texts)
        read_array_header_1_0(texts)
        head = texts.tell()
        for begin, end in parts:
            texts.seek(head + begin)
            yield texts.read(end - begin)
