"""Every Eval Ever, schema 0.2.2: one JSON record for each system, in the folders of its datastore.

https://github.com/evaleval/every_eval_ever. What its schema has no field for (the column key, the signature)
stands in the `additional_details` and `details` that it leaves to the source.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

from scoring.board.names import metric_label
from scoring.board.standings import Cell, Column, Row
from scoring.exchange.packed import file_name, packed
from scoring.exchange.results import Results

SCHEMA = "0.2.2"
LEVEL = 0.95
UNITS = {1: "proportion", 100: "percent"}


def as_every_eval_ever(results: Results) -> bytes:
    return packed(_files(results))


def _files(results: Results) -> Iterator[tuple[str, str]]:
    folder = file_name(f"{results.task.season.slug}-{results.task.slug}")
    for row in results.rows:
        record = described(results, row)
        if record["evaluation_results"]:
            name = uuid.uuid5(uuid.NAMESPACE_URL, record["evaluation_id"])
            text = json.dumps(record, ensure_ascii=False, indent=1)
            yield f"data/{folder}/{record['model_info']['id']}/{name}.json", text


def described(results: Results, row: Row) -> dict[str, Any]:
    """The record of one system, at the moment at which its board last changed."""
    phase, season = results.phase, results.task.season
    model = f"{row.team_slug or row.kind}/{file_name(row.system)}"
    at = f"{phase.updated_at.timestamp():.6f}"
    return {
        "schema_version": SCHEMA,
        "evaluation_id": f"{season.slug}/{results.task.slug}/{phase.slug}/{row.submission}/{model}/{at}",
        "evaluation_timestamp": row.submitted_at.isoformat(),
        "retrieved_timestamp": at,
        "source_metadata": {
            "source_name": results.title,
            "source_type": "evaluation_run",
            "source_organization_name": str(season),
            "source_organization_url": results.address,
            "evaluator_relationship": "third_party" if row.competes else "first_party",
        },
        "eval_library": {
            "name": "citeboard",
            "version": "unknown",
            "additional_details": {"task_type": results.task.type, "rules": results.board.rules or ""},
        },
        "model_info": {
            "name": row.system,
            "id": model,
            "developer": row.display_name,
            "additional_details": {
                "kind": row.kind,
                "submission": str(row.submission),
                "page": results.address_of(row),
                **({} if row.rank is None else {"rank": str(row.rank)}),
            },
        },
        "evaluation_results": [
            _result(results, row, column, cell, value)
            for column, cell, value in results.numbers(row)
            # The schema wants to know which way is up, and a number that only describes has none.
            if column.higher_is_better is not None
        ],
    }


def _result(results: Results, row: Row, column: Column, cell: Cell, value: float) -> dict[str, Any]:
    score = results.score_of(row, column)
    unit = UNITS.get(int(column.scale))
    return {
        "evaluation_result_id": f"{row.submission}/{column.name}",
        "evaluation_name": results.title,
        "source_data": {
            "dataset_name": f"{results.task.season}, {results.task}",
            "source_type": "url",
            "url": [results.task_address],
        },
        "metric_config": {
            "metric_id": f"citeboard.{column.metric}",
            "metric_name": metric_label(column.metric),
            **({"metric_unit": unit} if unit else {}),
            "lower_is_better": not column.higher_is_better,
            "additional_details": {"column_key": column.key},
        },
        "score_details": {
            "score": value,
            **({"details": {"signature": score.signature}} if score else {}),
            **_uncertainty(cell, score.n if score else None),
        },
    }


def _uncertainty(cell: Cell, n: int | None) -> dict[str, Any]:
    if cell.low is None or cell.high is None:
        return {}
    interval = {"lower": cell.low, "upper": cell.high, "confidence_level": LEVEL}
    counted = {} if n is None else {"num_samples": n}
    return {"uncertainty": {"confidence_interval": interval, **counted}}
