"""The matrices that every number of a run follows from, kept in one compressed file beside it."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib.format import read_array_header_1_0, read_magic
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray

from scoring.metrics import Metric
from scoring.metrics.base import Floats
from scoring.offline.evaluate import Scores
from tasks.types import Pairs
from tasks.types.base import ShownInstance
from tasks.types.columns import Classes


@dataclass(frozen=True, kw_only=True)
class Measurements:
    """What one run has: a matrix for each statistic, the number of each row's unit, and the units' names."""

    matrices: Mapping[str, Floats]
    units: NDArray[np.intp]
    unit_names: Sequence[str]

    def of_rows(self, statistic: str, rows: NDArray[np.intp]) -> Measurements:
        """These rows of one matrix, such as those of a class, and the units that they belong to."""
        occurring, units = np.unique(self.units[rows], return_inverse=True)
        return Measurements(
            matrices={statistic: self.matrices[statistic][rows]},
            units=units,
            unit_names=[self.unit_names[unit] for unit in occurring],
        )


@dataclass(frozen=True, kw_only=True)
class Statistics(Measurements):
    """A run's matrices by statistic, each instance's unit, and its classes by dimension."""

    features: dict[str, Sequence[tuple[str, ...]]]


def save_statistics(
    path: Path,
    scores: Scores,
    pairs: Pairs,
    details: Details | None = None,
    instances: Iterable[ShownInstance] = (),
) -> None:
    columns = {name: own for name, own in pairs.features.items() if isinstance(own, Classes)}
    texts = {
        "unit_names": scores.unit_names,
        "features": {name: list(own) for name, own in pairs.features.items() if name not in columns},
        "labels": {name: own.labels for name, own in columns.items()},
    }
    arrays: dict[str, NDArray[Any]] = {
        f"statistic:{name}": matrix for name, matrix in scores.statistics.items()
    }
    arrays |= {f"classes:{name}": own.codes for name, own in columns.items()}
    arrays |= packed(details or {}, scores.unit_names)
    arrays |= packed_instances(instances)
    if pairs.names is not None:
        arrays["names"] = _as_bytes(list(pairs.names))
    with path.open("wb") as file:
        np.savez_compressed(file, units=scores.units, texts=_as_bytes(texts), **arrays)  # type: ignore[arg-type]


def load_statistics(source: Path | IO[bytes], only: Collection[str] | None = None) -> Statistics:
    """With ``only`` the matrices of these names alone, since the others may be large."""
    with np.load(source, allow_pickle=False) as kept:
        texts = json.loads(kept["texts"].tobytes())
        names = (name.partition(":")[2] for name in kept.files if name.startswith("statistic:"))
        return Statistics(
            matrices={name: kept[f"statistic:{name}"] for name in names if only is None or name in only},
            units=kept["units"],
            unit_names=texts["unit_names"],
            features={
                **{name: [tuple(own) for own in labels] for name, labels in texts["features"].items()},
                **{
                    name: Classes(own, kept[f"classes:{name}"])
                    for name, own in texts.get("labels", {}).items()
                },
            },
        )


def load_names(source: Path | IO[bytes]) -> list[str] | None:
    """What the instance of each row is called; None where the task type names none."""
    with np.load(source, allow_pickle=False) as kept:
        return json.loads(kept["names"].tobytes()) if "names" in kept.files else None


def _as_bytes(content: object) -> NDArray[np.uint8]:
    return np.frombuffer(json.dumps(content, ensure_ascii=False).encode(), dtype=np.uint8)


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
    return _joined(texts, _TEXT, _ENDS)


def _joined(texts: Sequence[bytes], text: str, ends: str) -> dict[str, NDArray[Any]]:
    """The texts one behind the other, and where each ends."""
    return {
        text: np.frombuffer(b"".join(texts), dtype=np.uint8),
        ends: np.cumsum([len(own) for own in texts], dtype=np.int64),
    }


def load_page(
    source: Path | IO[bytes], start: int, count: int
) -> tuple[list[tuple[str, dict[str, Any]]], int]:
    """So many units of which something is told, in their order from ``start``; and how many there are."""
    with np.load(source, allow_pickle=False) as kept:
        units = _described(kept)
        chosen = units[start : start + count]
        texts = _read(kept, [(begin, end) for _, begin, end in chosen])
        return [(name, json.loads(text)) for (name, _, _), text in zip(chosen, texts, strict=True)], len(
            units
        )


def described_units(source: Path | IO[bytes]) -> list[str]:
    """The units of which something is told, in their order."""
    with np.load(source, allow_pickle=False) as kept:
        return [name for name, _, _ in _described(kept)]


def load_details(source: Path | IO[bytes], unit: str) -> dict[str, Any] | None:
    """What is told of one unit, from a file of statistics; None where nothing is."""
    with np.load(source, allow_pickle=False) as kept:
        parts = [(begin, end) for name, begin, end in _described(kept) if name == unit]
        return next(map(json.loads, _read(kept, parts)), None)


def _described(kept: NpzFile) -> list[tuple[str, int, int]]:
    """The units of which something is told, each with where its text begins and ends."""
    if _TEXT not in kept.files:
        return []
    ends = kept[_ENDS].tolist()
    # The names come first among the texts; behind them are the classes of every row, which are not decoded.
    names: list[str] = _DECODER.raw_decode(kept["texts"].tobytes().decode(), len(_NAMES))[0]
    places = zip(names, [0, *ends[:-1]], ends, strict=True)
    return [(name, begin, end) for name, begin, end in places if begin < end]


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


#: Characters of each text.
MAX_TEXT = 3_000
#: Of one run in all; what comes behind is not kept.
MAX_BYTES = 6_000_000
_INSTANCES, _INSTANCES_ENDS = "instances", "instances_ends"


def packed_instances(instances: Iterable[ShownInstance]) -> dict[str, NDArray[Any]]:
    """As arrays: the instances one behind the other, and where each ends. Texts without an end are cut."""

    def short(text: str) -> str:
        return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT].rstrip()} …"

    texts: list[bytes] = []
    size = 0
    for instance in instances:
        cut = replace(
            instance,
            given=short(instance.given),
            gold=short(instance.gold),
            answer=short(instance.answer),
            judged=tuple((outcome, short(sentence)) for outcome, sentence in instance.judged),
        )
        text = json.dumps(asdict(cut), ensure_ascii=False).encode("utf-8", "replace")
        size += len(text)
        if size > MAX_BYTES:
            break
        texts.append(text)
    return _joined(texts, _INSTANCES, _INSTANCES_ENDS) if texts else {}


def load_instances(source: Path | IO[bytes]) -> dict[str, ShownInstance]:
    """By name, in their order; nothing where a run was scored before they were kept."""
    with np.load(source, allow_pickle=False) as kept:
        if _INSTANCES not in kept.files:
            return {}
        text, ends = kept[_INSTANCES].tobytes(), kept[_INSTANCES_ENDS].tolist()
    instances = {}
    for begin, end in zip([0, *ends[:-1]], ends, strict=True):
        values = json.loads(text[begin:end])
        judged = tuple((outcome, sentence) for outcome, sentence in values.pop("judged", ()))
        instances[values["name"]] = ShownInstance(**values, judged=judged)
    return instances
