"""The matrices that every number of a run follows from, kept in one compressed file beside it."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from scoring.offline.compare import Measurements
from scoring.offline.details import Details, packed
from scoring.offline.evaluate import Scores
from scoring.offline.instances import packed_instances
from tasks.types import Pairs
from tasks.types.columns import Classes
from tasks.types.shown import ShownInstance


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
