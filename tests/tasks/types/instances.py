"""Instances of citation texts of our own, as small as they can be, and runs for them."""

import json
from collections.abc import Mapping
from pathlib import Path

RIVERS = {
    "id": "rivers-00",
    "input": ["Rivers carry sand."],
    "target": "Rivers carry sand [0].",
}
DUNES = {
    "id": "dunes-00",
    "input": ["<abs> We map dunes. </abs>", "", "Wind moves dunes."],
    "target": "Dunes move with the wind [1]9.",
}


def write_lines(path: Path, *lines: Mapping) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    )
    return path


def write_gold(folder: Path) -> Path:
    """Two data sets of one instance each, a file for each."""
    write_lines(folder / "gold" / "rivers.jsonl", RIVERS)
    write_lines(folder / "gold" / "dunes.jsonl", DUNES)
    return folder / "gold"


def write_run(folder: Path, texts: Mapping[str, str], name: str = "run.jsonl") -> Path:
    return write_lines(
        folder / name, *({"id": key, "prediction": text} for key, text in texts.items())
    )
