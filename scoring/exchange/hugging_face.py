"""Hugging Face evaluation results: `.eval_results/NAME.yaml` for the repository of each system's model.

https://huggingface.co/docs/hub/eval-results. A result names a benchmark of the Hub; a season that is none
there is named by its own address, and a reader who knows better says `?dataset=`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

from scoring.board.standings import Row
from scoring.exchange.packed import file_name, packed
from scoring.exchange.results import Results

#: What the Hub calls a data set: its owner and its name.
DATASET = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")


def as_hugging_face(results: Results, dataset: str = "") -> bytes:
    return packed(_files(results, dataset or f"{results.task.season.slug}/{results.task.slug}"))


def _files(results: Results, dataset: str) -> Iterator[tuple[str, str]]:
    name = file_name(f"{results.task.season.slug}-{results.task.slug}-{results.phase.slug}")
    for row in results.rows:
        if entries := entries_of(results, row, dataset):
            folder = f"{row.team_slug or row.kind}/{row.submission}-{file_name(row.system)}"
            content = yaml.safe_dump(entries, sort_keys=False, allow_unicode=True)
            yield f"{folder}/.eval_results/{name}.yaml", content


def entries_of(results: Results, row: Row, dataset: str) -> list[dict[str, Any]]:
    """One for each number: the metric's name is the task within the benchmark, the column key its note."""
    return [
        {
            "dataset": {"id": dataset, "task_id": f"{results.phase.split}_{column.metric}"},
            "value": value,
            "date": row.submitted_at.isoformat(),
            "source": {"url": results.address_of(row), "name": results.title},
            "notes": column.key,
        }
        for column, _, value in results.numbers(row)
    ]
