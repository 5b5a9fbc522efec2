"""Read judgements and gold in confined processes. Arguments and results are JSON
values; Django is not imported.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from citeboard.core.confined import UPLOAD_FILE_NAME
from scoring.offline.ledger import read_judgements
from scoring.tools.baselines.clsumm import select_multiply_annotated_topics
from tasks.types import task_type
from tasks.types.files import open_input_files
from tasks.types.problems import convert_problems_to_dicts

#: Name of the file to which the confined process writes the parsed judgements.
EXPORTED_ROWS_FILE_NAME = "rows.jsonl"


def judgements(given: Mapping[str, Any]) -> dict[str, Any]:
    with Path(EXPORTED_ROWS_FILE_NAME).open("w", encoding="utf-8") as out:
        summary = read_judgements(Path(UPLOAD_FILE_NAME), given["filename"], out)
    return {**vars(summary), "problems": convert_problems_to_dicts(summary.problems)}


def has_several_annotators(given: Mapping[str, Any]) -> bool:
    files = open_input_files(
        Path(UPLOAD_FILE_NAME), shown="gold.zip", reading=given["reading"]
    )
    return bool(
        select_multiply_annotated_topics(
            task_type(given["task_type"]).read_gold(files, given["options"])
        )
    )
