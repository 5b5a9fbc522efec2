"""Draws that come out the same each time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from random import Random
from typing import Any


def chance(*names: object) -> Random:
    """Of its own for each thing that is drawn, so that one more of them changes no other."""
    return Random(" ".join(map(str, names)))  # noqa: S311  (nothing here is a secret)


def write_lines(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps(record, ensure_ascii=False) for record in records)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
