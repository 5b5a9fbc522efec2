"""Tables of a publication kept as CSV, and a TOML file that describes them, in the form of the JSON file.

What they say is judged there, as everything else is; here is only what cannot be read as a table.
"""

from __future__ import annotations

import csv
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from scoring.publications.printed_form import SCHEMA

#: Columns that are no figures, besides those by which rows are told apart.
PLAIN = ("system", "system_id", "note")
#: What is printed where there is no figure.
NOTHING = {"", "-", "–", "—", "n/a", "N/A"}
_NUMBER = r"[+\-−]?(?:\d[\d,]*(?:\.\d*)?|\.\d+)"
_PRINTED = re.compile(
    rf"(?P<less><?)\s*(?P<value>{_NUMBER})\s*%?(?P<mark>[*†‡]*)"
    rf"(?:\s*(?:±\s*|\(\s*)(?P<deviation>{_NUMBER})\s*\)?)?(?P<after>[*†‡]*)"
)


def content_of(path: Path, largest: int) -> dict[str, Any]:
    """What the JSON file would hold. Raises OSError or ValueError, which names the file and the line."""
    told = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    tables = told.pop("tables", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise ValueError("“tables” is not a list of [[tables]]")
    return {
        "schema": told.pop("schema", SCHEMA),
        "paper": told.pop("paper", {}),
        "tables": [_table(path.parent, dict(table), largest) for table in tables],
        **told,
    }


def _table(folder: Path, table: dict[str, Any], largest: int) -> dict[str, Any]:
    """The described table with the rows of its `file`; metrics are its other columns."""
    name = table.pop("file", None)
    if not isinstance(name, str) or PurePosixPath(name).name != name:
        raise ValueError(f"“file” of a table is {name!r}; expected the name of a CSV file beside this one")
    if (folder / name).stat().st_size > largest:
        raise ValueError(f"{name} has more than {largest:,} bytes")
    features = [*PLAIN, *_names(table.get("row_key")), *_names(table.pop("features", []))]
    head, lines = _read(folder / name)
    metrics = [column for column in head if column not in features]
    described = table.pop("metrics", {})
    if not isinstance(described, dict) or not all(isinstance(own, dict) for own in described.values()):
        raise ValueError(f"“metrics” of {name}: expected [tables.metrics.COLUMN] with what is other in it")
    if unknown := [column for column in described if column not in metrics]:
        raise ValueError(f"{name} has no column “{unknown[0]}”; it has {', '.join(metrics)}")
    common = {key: table.pop(key) for key in ("scale", "higher_is_better") if key in table}
    return {
        **table,
        "metrics": [{"name": column, **common, **described.get(column, {})} for column in metrics],
        "rows": [_row(number, line, metrics, name) for number, line in enumerate(lines, start=1)],
    }


def _names(value: object) -> list[str]:
    """Of columns; what else stands there is refused with the rest of the table."""
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


def _read(path: Path) -> tuple[list[str], list[dict[str, str]]]:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        reader = csv.reader(stream, strict=True)
        try:
            head = [column.strip() for column in next(reader, [])]
            if twice := [column for column, count in Counter(head).items() if count > 1 or not column]:
                raise ValueError(f"{path.name}:1: the column “{twice[0]}” is there twice or has no name")
            lines = []
            for cells in reader:
                if cells and len(cells) != len(head):
                    raise ValueError(
                        f"{path.name}:{reader.line_num}: {len(cells)} cells; the head has {len(head)}"
                    )
                if cells:
                    lines.append(dict(zip(head, map(str.strip, cells), strict=True)))
        except csv.Error as fault:
            raise ValueError(f"{path.name}:{reader.line_num}: {fault}") from fault
    return head, lines


def _row(number: int, line: Mapping[str, str], metrics: list[str], file: str) -> dict[str, Any]:
    row: dict[str, Any] = {"row": number}
    row |= {name: text or None for name, text in line.items() if name not in metrics}
    row = {name: value for name, value in row.items() if value is not None or name == "system"}
    row |= {
        "values": {},
        "printed": {},
        "deviations": {},
        "printed_deviations": {},
        "marks": {},
        "less_than": {},
    }
    for metric in metrics:
        for field, value in _figure(line[metric], f"{file}, entry {number}, {metric}"):
            row[field][metric] = value
    return row


def _figure(text: str, place: str) -> Iterator[tuple[str, Any]]:
    """A figure as it is printed: `0.320`, `32.0*`, `0.32 ± 0.01`, `0.32 (0.01)`, `<0.01`."""
    if text in NOTHING:
        yield from (("values", None), ("printed", ""))
        return
    found = _PRINTED.fullmatch(text)
    if found is None:
        raise ValueError(
            f"{place}: “{text[:40]}” is no figure; expected such as 0.32, 32.0*, 0.32 ± 0.01, <0.01"
        )
    value = _number(found["value"])
    yield "values", None if found["less"] else value
    yield "printed", f"{found['less']}{found['value']}"
    if found["less"]:
        yield "less_than", value
    if found["deviation"]:
        yield "deviations", _number(found["deviation"])
        yield "printed_deviations", found["deviation"]
    if mark := found["mark"] + found["after"]:
        yield "marks", mark


def _number(printed: str) -> float:
    return float(printed.replace(",", "").replace("−", "-"))
