"""Compare the archived judgements of texts with the labels from which the archived
scores were computed.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from scoring.metrics.entailment import read_entailment_labels
from scoring.offline.ledger import placed_rows, read_judgements
from scoring.offline.verify.files import existing
from scoring.offline.verify.report import Verified
from tasks.types.ledger import ENTAILS, YES, GivenLabel, settled
from tasks.types.positional_citations.options import ENTAILMENT


def check_judgements(
    archive: Path,
    season: Mapping[str, Any],
    evaluations: Iterable[Mapping[str, Any]],
    verified: Verified,
) -> None:
    """Compare the labels in each archived file of judgements with the labels from which
    scores were computed.

    No judge is called. Judgements of the season take precedence over shared judgements,
    so the scores must use all judgements of the season.
    """
    said: dict[str, dict[str, str]] = defaultdict(dict)
    for entry in season.get("judgements", ()):
        labels = dict(_settled(archive, entry, verified))
        if entry["kind"] == ENTAILS:
            said[entry["judge"]] |= labels
    if not said:
        return
    for file in sorted(
        {name for evaluation in evaluations for name in _label_files(evaluation)}
    ):
        given = read_entailment_labels(existing(archive, file))
        counts = said.get(given.model, {})
        others = [
            key
            for key, entailed in given.entailed.items()
            if (label := counts.get(" ".join(key))) and (label == YES) != entailed
        ]
        if others:
            verified.differs(
                f"{file}: {len(others)} labels are not what the rows of "
                f"“{given.model}” say"
            )


def _settled(
    archive: Path, entry: Mapping[str, Any], verified: Verified
) -> Iterator[tuple[str, str]]:
    by_items: dict[str, list[GivenLabel]] = defaultdict(list)
    with tempfile.TemporaryFile("w+", encoding="utf-8") as rows:
        summary = read_judgements(
            existing(archive, entry["file"]), str(entry["file"]), rows
        )
        for problem in summary.problems:
            verified.differs(str(problem))
        if summary.rows != entry["rows"]:
            verified.differs(
                f"{entry['file']} has {summary.rows} rows in place of {entry['rows']}"
            )
        rows.seek(0)
        for _line, row in placed_rows(rows):
            by_items[row.items].append(GivenLabel(row.by, row.repeat, row.label))
    for items, item in by_items.items():
        yield items, settled(entry["kind"], item).label


def _label_files(evaluation: Mapping[str, Any]) -> Iterator[str]:
    if file := evaluation["files"].get(ENTAILMENT.name):
        yield file
