"""Programs of confined processes that read labels and gold; plain Python, with JSON values in and out."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from citeboard.core.confined import UPLOAD
from scoring.metrics.entailment import read_entailment_labels
from scoring.tools.baselines.clsumm import annotated_by_several
from tasks.types import InputRefused, task_type
from tasks.types.files import open_input
from tasks.types.problems import as_values


def labels(given: Mapping[str, Any]) -> dict[str, Any]:
    try:
        read = read_entailment_labels(Path(UPLOAD), shown=given["filename"])
    except InputRefused as refused:
        return {"model": "", "labels": [], "problems": as_values(refused.problems)}
    rows = [
        [*key, entailed, *read.places[key]] for key, entailed in read.entailed.items()
    ]
    return {"model": read.model, "labels": rows, "problems": []}


def has_several_annotators(given: Mapping[str, Any]) -> bool:
    files = open_input(Path(UPLOAD), shown="gold.zip", reading=given["reading"])
    return bool(
        annotated_by_several(
            task_type(given["task_type"]).read_gold(files, given["options"])
        )
    )
