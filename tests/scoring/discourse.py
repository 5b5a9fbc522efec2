"""Small gold and runs of citation text generation whose sentences bring their labels along."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

Labels = Mapping[str, Sequence[str]]
ABSTRACT = "A parser of sentences is described."


def write_gold(
    folder: Path, datasets: Mapping[str, Sequence[Labels | None]]
) -> list[Path]:
    """A file for each data set, an instance for each of its labels, named `lu-00`, `lu-01`, …"""
    return [
        write_lines(
            folder / f"{dataset}.jsonl",
            [
                {
                    "id": f"{dataset}-{number:02d}",
                    "input": [ABSTRACT],
                    "target": f"The parser of [0] has been used for all texts of {dataset} {number}.",
                    **({"labels": labels} if labels is not None else {}),
                }
                for number, labels in enumerate(own)
            ],
        )
        for dataset, own in datasets.items()
    ]


def write_run(
    path: Path,
    datasets: Mapping[str, Sequence[Labels | None]],
    text: str = "We use the parser of [0] here.",
) -> Path:
    lines = [
        {
            "id": f"{dataset}-{number:02d}",
            "prediction": text,
            **({"labels": labels} if labels is not None else {}),
        }
        for dataset, own in datasets.items()
        for number, labels in enumerate(own)
    ]
    return write_lines(path, lines)


def write_lines(path: Path, lines: Sequence[object]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


def intents(*labels: str) -> dict[str, list[str]]:
    return {"intent": list(labels)}
