"""The tracks whose rules a task can apply to runs, read from `tracks.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

#: `REPORT_FINDING_CATEGORIES` lists categories of findings on one report, in the order of checks.
#: `RUN_FINDING_CATEGORIES` lists categories of findings on a whole run.
REPORT_FINDING_CATEGORIES = (
    "empty_answer",
    "metadata",
    "metadata_recommended",
    "run_id_length",
    "citation_format",
    "blank_sentence",
    "citation_count",
    "reference_index",
    "citation_score",
    "docid_pattern",
    "references_present",
    "references_missing",
    "references_duplicate",
    "references_undeclared",
    "references_max",
    "references_uncited",
    "length",
)
RUN_FINDING_CATEGORIES = (
    "missing_topics",
    "new_topics",
    "duplicate_topics",
    "narrative",
)
FINDING_CATEGORIES = (*REPORT_FINDING_CATEGORIES, *RUN_FINDING_CATEGORIES)
#: A report cites documents by position, by id, or by id with a score.
#: The positions refer to the report's list of references.
CITATIONS_BY_POSITION, CITATIONS_BY_ID, CITATIONS_BY_ID_WITH_SCORE = (
    "rag24",
    "neuclir",
    "ragtime",
)
#: `LENGTH_LIMIT_OF_TOPIC` is the value of the rule `length` if each topic sets a maximum length.
LENGTH_LIMIT_OF_TOPIC = "topic"
#: Reports that belong to no track follow the rules of `NO_TRACK`.
NO_TRACK = "none"


@dataclass(frozen=True, kw_only=True)
class EvaluationTrack:
    """The rules of a track (a shared task of a conference) in one year. Comments in
    `tracks.toml` explain the fields of a track.
    """

    forms: tuple[str, ...]
    warnings: tuple[str, ...]
    references: Literal["cited_only", "retrieval_list", "none", "ignore"] = "ignore"
    metadata: tuple[str, ...] = ()
    recommended: tuple[str, ...] = ()
    exact_narrative: bool = False
    run_id: int | None = None
    pattern: str = ""
    max_references: int | None = None
    max_citations: int | None = None
    unit: Literal["words", "chars"] = "words"
    length: int | str | None = None


def _make_track(table: dict[str, object]) -> EvaluationTrack:
    values = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in table.items()
    }
    return EvaluationTrack(**values)  # type: ignore[arg-type]


#: The tracks are loaded at import, as a sandboxed process cannot open files later.
TRACKS_BY_NAME = {
    name: _make_track(table)
    for name, table in tomllib.loads(
        Path(__file__).with_name("tracks.toml").read_text(encoding="utf-8")
    ).items()
}
