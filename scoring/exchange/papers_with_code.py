"""The JSON that Papers with Code exchanged its tables in: tasks, their data sets, and a table of each.

https://github.com/paperswithcode/sota-extractor. A metric goes by its name where all rows share its column
key, by the whole key otherwise; the data set's description says which key each name stands for.
"""

from __future__ import annotations

import json
from typing import Any

from scoring.board.standings import Row
from scoring.exchange.results import Results


def as_papers_with_code(results: Results) -> str:
    return json.dumps([described(results)], ensure_ascii=False, indent=1)


def described(results: Results) -> dict[str, Any]:
    columns = results.board.columns
    return {
        "task": str(results.task.task_type.title),
        "description": results.task.summary,
        "categories": [],
        "synonyms": [],
        "subtasks": [],
        "source_link": {"title": results.title, "url": results.address},
        "datasets": [
            {
                "dataset": results.title,
                "description": "\n".join(f"{column.name} = {column.key}" for column in columns),
                "dataset_links": [{"title": str(results.task), "url": results.task_address}],
                "dataset_citations": [],
                "subdatasets": [],
                "sota": {
                    "metrics": [column.name for column in columns],
                    "rows": [_row(results, row) for row in results.rows],
                },
            }
        ],
    }


def _row(results: Results, row: Row) -> dict[str, Any]:
    return {
        "model_name": f"{row.system} ({row.display_name})",
        "paper_title": "",
        "paper_url": "",
        "paper_date": f"{row.submitted_at:%Y-%m-%d}",
        "code_links": [],
        "model_links": [{"title": results.title, "url": results.address_of(row)}],
        "metrics": {column.name: value for column, _, value in results.numbers(row)},
        "uses_additional_data": False,
    }
