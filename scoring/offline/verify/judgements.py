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
from scoring.offline.ledger import iterate_numbered_judgements, read_judgements
from scoring.offline.verify.files import find_archived_file
from scoring.offline.verify.report import VerificationReport
from tasks.types.ledger import (
    ENTAILED_LABEL,
    ENTAILS_KIND,
    NOT_ENTAILED_LABEL,
    RecordedLabel,
    decide_label,
)
from tasks.types.problems import raise_if_any_problem_is_fatal
from tasks.types.stored_judges import list_ledger_judges


def check_judgements(
    archive: Path,
    season: Mapping[str, Any],
    evaluations: Iterable[Mapping[str, Any]],
    verified: VerificationReport,
) -> None:
    """Compare the labels in each archived file of judgements with the labels from which
    scores were computed.

    No judge is called. Judgements of the season take precedence over shared judgements,
    so the scores must use all judgements of the season.
    """
    said: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for entry in season.get("judgements", ()):
        labels = dict(_iterate_settled_labels(archive, entry, verified))
        said[entry["kind"], entry["judge"]] |= labels
    if not said:
        return
    files = {
        name for evaluation in evaluations for name in _iterate_label_files(evaluation)
    }
    for kind, file in sorted(files):
        judge, given = _read_labels(kind, find_archived_file(archive, file))
        counts = said.get((kind, judge), {})
        others = [
            items
            for items, label in given.items()
            if (counted := counts.get(items)) and counted != label
        ]
        if others:
            verified.differs(
                f"{file}: {len(others)} labels are not what the rows of “{judge}” say"
            )


def _read_labels(kind: str, path: Path) -> tuple[str, dict[str, str]]:
    """Return the judge of a label file and the file's labels, keyed by items."""
    if kind == ENTAILS_KIND:
        read = read_entailment_labels(path)
        entailed = read.entailed.items()
        return read.model, {
            " ".join(key): ENTAILED_LABEL if value else NOT_ENTAILED_LABEL
            for key, value in entailed
        }
    with tempfile.TemporaryFile("w+", encoding="utf-8") as rows:
        summary = read_judgements(path, path.name, rows)
        raise_if_any_problem_is_fatal(summary.problems)
        rows.seek(0)
        return summary.judge, {
            row.items: row.label for _, row in iterate_numbered_judgements(rows)
        }


def _iterate_settled_labels(
    archive: Path, entry: Mapping[str, Any], verified: VerificationReport
) -> Iterator[tuple[str, str]]:
    by_items: dict[str, list[RecordedLabel]] = defaultdict(list)
    with tempfile.TemporaryFile("w+", encoding="utf-8") as rows:
        summary = read_judgements(
            find_archived_file(archive, entry["file"]), str(entry["file"]), rows
        )
        for problem in summary.problems:
            verified.differs(str(problem))
        if summary.rows != entry["rows"]:
            verified.differs(
                f"{entry['file']} has {summary.rows} rows in place of {entry['rows']}"
            )
        rows.seek(0)
        for _line, row in iterate_numbered_judgements(rows):
            by_items[row.items].append(RecordedLabel(row.by, row.repeat, row.label))
    for items, item in by_items.items():
        yield items, decide_label(entry["kind"], item).label


def _iterate_label_files(evaluation: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the kind and the name of each file with labels of the ledger."""
    for judge in list_ledger_judges(evaluation["options"]):
        if file := evaluation["files"].get(judge.option):
            yield judge.kind, file
