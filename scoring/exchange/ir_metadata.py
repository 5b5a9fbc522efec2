"""`ir_metadata` of each run on a board, as YAML: what this site knows of it, and nothing made up.

https://www.ir-metadata.org. Reading it is `tasks.submissions.ir_metadata`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from scoring.board.standings import Row
from scoring.exchange.packed import file_name, packed
from scoring.exchange.results import Results
from tasks.models import Submission
from tasks.submissions.ir_metadata import RUN_CARD


def as_ir_metadata(results: Results) -> bytes:
    return packed(_files(results))


def _files(results: Results) -> Iterator[tuple[str, str]]:
    runs = Submission.objects.in_bulk([row.submission for row in results.rows])
    for row in results.rows:
        if row.is_human:
            continue
        said = runs[row.submission].description if row.says_who else ""
        content = yaml.safe_dump(described(results, row, said), sort_keys=False, allow_unicode=True)
        yield f"{row.submission}-{file_name(row.system)}.yaml", content


def described(results: Results, row: Row, description: str) -> Mapping[str, Any]:
    season, board = results.task.season, results.board
    return {
        "tag": row.system,
        "actor": {"team": row.display_name, "role": "experimenter"},
        "method": {"description": description} if description else {},
        **_of_card(row.card),
        "research goal": {
            "venue": {"name": str(season)},
            "evaluation": {"reported measures": [column.key for column, _, _ in results.numbers(row)]},
            "publication": {"url": row.card.get("paper") or results.address_of(row)},
        },
        "data": {
            "test collection": {
                "name": f"{season}, {results.task}, {results.phase.split}",
                "source": results.task_address,
                **({"qrels digest": f"sha256:{board.gold.digest}"} if board.gold else {}),
            }
        },
    }


def _of_card(card: Mapping[str, str]) -> Mapping[str, Any]:
    """The code where everybody looks for it, and the whole card under the name by which it is read here."""
    code = {"implementation": {"source": {"repository": card["code"]}}} if "code" in card else {}
    return {**code, RUN_CARD: dict(card)} if card else {}
