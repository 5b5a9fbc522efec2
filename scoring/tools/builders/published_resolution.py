"""The printed Table 1 of Duma and Klein, by our names of its methods and windows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from tasks.types.problems import InputRefused, Problem

TABLE = "Table 1"
#: By the id of a printed system the method that it is.
METHODS = {
    "full-text": "full text",
    "title-abstract": "title and abstract",
    "passage250": "passage 250",
    "passage350": "passage 350",
    "passage400": "passage 400",
    "inlink-context10": "inlink context 10",
    "inlink-context20": "inlink context 20",
    "inlink-context30": "inlink context 30",
    "inlink-context-20-full-text": "inlink context 20 + full text",
    "inlink-context-20-title-abstract": "inlink context 20 + title and abstract",
    "inlink-context-20-passage250": "inlink context 20 + passage 250",
    "inlink-context-10-passage350": "inlink context 10 + passage 350",
    "inlink-context-20-passage350": "inlink context 20 + passage 350",
}
#: Accuracies by method and window.
Printed = Mapping[tuple[str, str], float]
NOTHING: Printed = {}


def read_printed(path: Path) -> Printed:
    """Raises InputRefused where the file is of another paper."""
    try:
        tables = json.loads(path.read_bytes())["tables"]
        rows = next(table["rows"] for table in tables if table["id"] == TABLE)
        return {
            (METHODS[row["system_id"]], str(row["window"]).replace(" ", "-")): float(
                row["values"]["accuracy"]
            )
            for row in rows
        }
    except (OSError, ValueError, KeyError, TypeError, StopIteration) as fault:
        expected = "examples/citation-resolution-2014/duma-klein-2014.json"
        message = f"has no {TABLE} of methods and windows"
        raise InputRefused([Problem(file=str(path), message=message, expected=expected)]) from fault
